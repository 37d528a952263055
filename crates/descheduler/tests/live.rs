//! `--kubeconfig`: the plan of a live cluster, over a socket, is that of its objects in files.

#[path = "common/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;

use program::descheduler;
use serde_json::{Value, json};

const NOW: &str = "2026-02-01T00:00:00Z";

/// Nodes, of which one has a taint, and what stands in the folder of the other tests.
fn objects() -> Vec<Value> {
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
        serde_json::from_str(include_str!("cli/dump/pods.json")).expect("the pods are JSON");
    objects.extend(pods["items"].as_array().expect("a list").iter().cloned());
    objects
}

/// A folder for one test, and what is written into it.
fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("live-{test}"));
    fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

fn kubeconfig(test: &str, address: &str) -> String {
    let path = folder(test).join("kubeconfig");
    let text = json!({"apiVersion": "v1", "kind": "Config", "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "x", "user": {"token": "secret"}}]});
    fs::write(&path, text.to_string()).expect("the file can be written");
    path.to_string_lossy().into_owned()
}

/// Serves objects as a new API server does, and refuses some paths; returns its address.
fn serve(objects: &[Value], forbidden: &'static [&'static str]) -> String {
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
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let by_path = by_path.clone();
            thread::spawn(move || answer(stream, &by_path, forbidden));
        }
    });
    address
}

/// Answers the requests of one connection.
fn answer(mut stream: TcpStream, by_path: &BTreeMap<&str, String>, forbidden: &[&str]) {
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
        let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let known = headers.contains("authorization: bearer secret")
            && headers.contains("user-agent: descheduler/");
        let (status, body) = if !known {
            ("401 Unauthorized", json!({"message": "Unauthorized"}).to_string())
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

fn plan_of(arguments: &str) -> (Value, String) {
    let run = descheduler(&format!("plan --policy policy.yaml -o json --now {NOW} {arguments}"));
    let output = run.output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let plan = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
    (plan, errors)
}

#[test]
fn the_plan_of_a_live_cluster_is_that_of_its_objects() {
    let objects = objects();
    let file = folder("same").join("cluster.json");
    fs::write(&file, json!({"kind": "List", "items": objects}).to_string()).expect("written");
    let forbidden = &["/apis/policy/v1/poddisruptionbudgets"];
    let kubeconfig = kubeconfig("same", &serve(&objects, forbidden));
    let (of_files, _) = plan_of(&format!("--cluster {}", file.display()));
    let (live, errors) = plan_of(&format!("--kubeconfig {kubeconfig}"));
    assert!(of_files["evictions"].as_array().is_some_and(|all| !all.is_empty()), "{of_files}");
    for part in ["snapshot", "evictions", "refusals", "anomalies"] {
        assert_eq!(live[part], of_files[part], "{part}\n{errors}");
    }
    let notes = live["notes"].to_string();
    assert!(notes.contains("no right to read poddisruptionbudgets.policy"), "{notes}");
    assert!(!notes.contains("cluster files"), "{notes}");
}

#[test]
fn place_asks_a_live_cluster_too() {
    let kubeconfig = kubeconfig("place", &serve(&objects(), &[]));
    let place = format!("place --pod shop/web-1 -o json --kubeconfig {kubeconfig}");
    let output = descheduler(&place).output().expect("it runs");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["nodes"]["a"]["feasible"], false, "{answer}");
    descheduler(&place.replace("web-1", "nobody")).assert().code(1).stderr_eq(
        "error: there is no pod `shop/nobody` in the cluster at http://127.0.0.1:[..]\n...",
    );
}

#[test]
fn without_the_right_to_read_pods_there_is_no_plan() {
    let kubeconfig = kubeconfig("forbidden", &serve(&objects(), &["/api/v1/pods"]));
    let plan = format!("plan --policy policy.yaml --kubeconfig {kubeconfig}");
    descheduler(&plan).assert().code(1).stdout_eq("").stderr_eq(
        "...\nerror: cannot read pods of the cluster: the API server answers 403: /api/v1/pods is \
         forbidden\nhelp: grant the verbs `list` and `watch` on `pods` in a ClusterRole\n",
    );
}

#[test]
fn a_cluster_that_is_not_there() {
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let address = nobody.expect("a port that nobody listens on").to_string();
    let kubeconfig = kubeconfig("absent", &address);
    let plan = format!("plan --policy policy.yaml --kubeconfig {kubeconfig}");
    let output = descheduler(&plan).output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(
        errors.contains(&format!("cannot talk to the API server `http://{address}")),
        "{errors}"
    );
    assert!(errors.contains("refused"), "{errors}");
}

#[test]
fn a_kubeconfig_that_cannot_be_used() {
    let path = folder("broken").join("kubeconfig");
    fs::write(&path, "apiVersion: v1\nkind: Config\ncurrent-context: gone\n").expect("written");
    let broken = format!("plan --policy policy.yaml --kubeconfig {}", path.display());
    for plan in [broken.as_str(), "plan --policy policy.yaml --kubeconfig nowhere"] {
        let run = descheduler(plan).assert().code(1).stdout_eq("");
        run.stderr_eq("error: cannot use the kubeconfig `[..]`: [..]\n");
    }
}
