//! An API server on a socket that serves what it is given.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// Nodes, of which one has a taint, and what stands in the folder of the other tests.
pub(crate) fn objects() -> Vec<Value> {
    let node = |name: &str, taints: Value| {
        json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": format!("n-{name}"),
                "labels": {"kubernetes.io/hostname": name}},
            "spec": {"taints": taints},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}]}})
    };
    let taint = json!([{"key": "example.com/old", "value": "true", "effect": "NoSchedule"}]);
    let mut objects = vec![node("a", taint), node("b", json!([])), node("c", json!([]))];
    let pods: Value =
        serde_json::from_str(include_str!("../cli/dump/pods.json")).expect("the pods are JSON");
    objects.extend(pods["items"].as_array().expect("a list").iter().cloned());
    objects
}

/// A folder for one test, and what is written into it.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("{}-{test}", env!("CARGO_CRATE_NAME")));
    fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

/// A kubeconfig that leads to an address.
pub(crate) fn kubeconfig(test: &str, address: &str) -> String {
    let path = folder(test).join("kubeconfig");
    let text = json!({"apiVersion": "v1", "kind": "Config", "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "x", "user": {"token": "secret"}}]});
    fs::write(&path, text.to_string()).expect("the file can be written");
    path.to_string_lossy().into_owned()
}

/// The UIDs that evictions were asked for with.
pub(crate) type Evictions = Arc<Mutex<Vec<String>>>;

/// Serves objects as a new API server does, refuses some paths and notes evictions; returns its
/// address.
pub(crate) fn serve(
    objects: &[Value],
    forbidden: &'static [&'static str],
    evictions: &Evictions,
) -> String {
    let mut by_path: BTreeMap<&str, String> = BTreeMap::new();
    for object in objects {
        let path = match object["kind"].as_str() {
            Some("Node") => "/api/v1/nodes",
            Some("Pod") => "/api/v1/pods",
            other => panic!("{other:?} is not served here"),
        };
        let events = by_path.entry(path).or_default();
        let _ = writeln!(events, "{}", json!({"type": "ADDED", "object": object}));
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let evictions = evictions.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (by_path, evictions) = (by_path.clone(), evictions.clone());
            thread::spawn(move || answer(stream, &by_path, forbidden, &evictions));
        }
    });
    address
}

/// Answers the requests of one connection.
fn answer(
    mut stream: TcpStream,
    by_path: &BTreeMap<&str, String>,
    forbidden: &[&str],
    evictions: &Evictions,
) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    loop {
        let (mut first, mut line) = (String::new(), String::new());
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let mut headers = String::new();
        while reader.read_line(&mut line).unwrap_or(0) > 2 {
            headers.push_str(&line.to_ascii_lowercase());
            line.clear();
        }
        let length = headers.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.trim().parse().expect("a number"))];
        reader.read_exact(&mut body).expect("the whole body");
        let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let known = headers.contains("authorization: bearer secret")
            && headers.contains("user-agent: descheduler/");
        let (status, body) = if !known {
            ("401 Unauthorized", json!({"message": "Unauthorized"}).to_string())
        } else if path.ends_with("/eviction") {
            evict(&body, forbidden, evictions)
        } else if path == "/version" {
            let version = json!({"major": "1", "minor": "36", "gitVersion": "v1.36.3",
                "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "",
                "compiler": "", "platform": ""});
            ("200 OK", version.to_string())
        } else if forbidden.contains(&path) {
            ("403 Forbidden", json!({"message": format!("{path} is forbidden")}).to_string())
        } else if path.starts_with("/apis/metrics.k8s.io/") {
            ("404 Not Found", json!({"message": "not found"}).to_string())
        } else if query.contains("sendInitialEvents") {
            let end = json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9",
                "annotations": {"k8s.io/initial-events-end": "true"}}}});
            ("200 OK", format!("{}{end}\n", by_path.get(path).map_or("", String::as_str)))
        } else if query.contains("limit=") {
            ("200 OK", page(by_path.get(path).map_or("", String::as_str), query))
        } else {
            // The watch that follows: nothing happens any more.
            return thread::park();
        };
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n");
        if stream.write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

/// Notes an eviction, or refuses it.
fn evict(body: &[u8], forbidden: &[&str], evictions: &Evictions) -> (&'static str, String) {
    if forbidden.contains(&"pods/eviction") {
        return ("403 Forbidden", json!({"message": "pods/eviction is forbidden"}).to_string());
    }
    let body: Value = serde_json::from_slice(body).expect("JSON");
    let uid = body["deleteOptions"]["preconditions"]["uid"].as_str().expect("a UID");
    evictions.lock().expect("whole").push(uid.to_owned());
    ("201 Created", json!({"kind": "Status", "status": "Success"}).to_string())
}

/// A page of a list, of two objects each, and without their kinds as in every list.
fn page(events: &str, query: &str) -> String {
    let object = |line: &str| {
        let mut event: Value = serde_json::from_str(line).expect("an event");
        let mut object = event["object"].take();
        let fields = object.as_object_mut().expect("an object");
        fields.remove("kind");
        fields.remove("apiVersion");
        object
    };
    let objects: Vec<Value> = events.lines().map(object).collect();
    let begin = query.split("continue=").nth(1).map_or(0, |at| at.parse().expect("a number"));
    let end = (begin + 2).min(objects.len());
    let next = if end < objects.len() { end.to_string() } else { String::new() };
    let metadata = json!({"resourceVersion": "9", "continue": next});
    json!({"metadata": metadata, "items": objects[begin..end]}).to_string()
}
