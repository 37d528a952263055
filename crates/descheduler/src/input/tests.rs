use std::io::Cursor;

use proptest::prelude::*;

use super::*;

/// Reads `text` as the file `f`, a few bytes at a time.
fn read_text(text: &[u8]) -> Result<Ingest, InputError> {
    struct Trickle<'t>(&'t [u8]);
    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let some = self.0.len().min(buffer.len()).min(7);
            buffer[..some].copy_from_slice(&self.0[..some]);
            self.0 = &self.0[some..];
            Ok(some)
        }
    }
    let mut ingest = Ingest::new();
    read_one(Trickle(text), "f", &mut ingest)?;
    Ok(ingest)
}

fn error(text: &str) -> String {
    match read_text(text.as_bytes()) {
        Ok(ingest) => panic!("no error in {text:?}, found {:?}", ingest.counts()),
        Err(error) => error.to_string(),
    }
}

/// The names of the pods in `text`, in order; anomalies are not expected.
fn pods(text: &str) -> Vec<String> {
    let ingest = read_text(text.as_bytes()).unwrap_or_else(|error| panic!("{error} in {text:?}"));
    let (snapshot, anomalies) = ingest.finish(None);
    assert_eq!(anomalies, [], "{text:?}");
    snapshot.pods().iter().map(|&pod| snapshot.pod_name(pod)).collect()
}

#[test]
fn every_shape_of_json() {
    let pod =
        |name: &str| format!(r#"{{"kind":"Pod","metadata":{{"name":"{name}","uid":"{name}"}}}}"#);
    let bare = |name: &str| format!(r#"{{"metadata":{{"name":"{name}","uid":"{name}"}}}}"#);
    let (a, b) = (pod("a"), pod("b"));
    let (bare_a, bare_b) = (bare("a"), bare("b"));
    for text in [
        format!("{a}\n{b}\n"),
        format!("{a}\r\n{b}\r\n"),
        format!("\u{feff}{a}{b}"),
        format!("  {a}\n\n{b}"),
        format!("[{a}, {b}]"),
        format!(r#"{{"apiVersion": "v1", "items": [{a}, {b}], "kind": "List"}}"#),
        format!(r#"{{"kind": "List", "metadata": {{"x": ["]"]}}, "items": [{a}, {b}]}}"#),
        format!(r#"{{"kind": "PodList", "items": [{bare_a}, {bare_b}]}}"#),
        format!(r#"{{"items": [{bare_a}, {b}], "kind": "PodList"}}"#),
        format!(r#"{{"items": [ ], "kind": "PodList"}} {a} {{"items":[{b}]}}"#),
        format!(r#"{{"items": [{{"kind": "PodList", "items": [{bare_a}]}}, {b}]}}"#),
        format!(
            "{{\n  \"kind\": \"Pod\",\n  \"items\": [1],\n  \"metadata\": {{\"name\": \"a\", \"uid\": \"q\\\"\\\\\"}}\n}}\n{b}"
        ),
    ] {
        assert_eq!(pods(&text), ["default/a", "default/b"], "{text}");
    }
    assert!(pods(r#"{"kind": "List", "items": []}"#).is_empty());
    assert!(pods(r#"{"kind": "List", "items": null}"#).is_empty());
}

#[test]
fn every_shape_of_yaml() {
    for text in [
        "kind: Pod\nmetadata: {name: a, uid: '1'}\n---\nkind: Pod\nmetadata: {name: b, uid: '2'}\n",
        "---\n---\n# nothing\n---\nkind: Pod\r\nmetadata:\r\n  name: a\r\n  uid: '1'\r\n---\r\nkind: List\r\nitems:\r\n- kind: Pod\r\n  metadata:\r\n    name: b\r\n    uid: '2'\r\n",
        "\u{feff}apiVersion: v1\nitems:\n- metadata:\n    name: a\n    uid: '1'\n- metadata: {name: b, uid: '2'}\nkind: PodList\n",
        "- {kind: Pod, metadata: {name: a, uid: '1'}}\n- {kind: Pod, metadata: {name: b, uid: '2'}}\n",
        "kind: List\nitems:\n- kind: List\n  items:\n  - &p {kind: Pod, metadata: {name: a, uid: '1'}}\n  - kind: PodList\n    items: [{metadata: {name: b, uid: '2'}}]\n",
        "kind: List\nitems:\n- &p {kind: Pod, metadata: {name: a, uid: '1'}}\n- *p\n- kind: Pod\n  metadata: {name: b, uid: '2', labels: &l {x: y}}\n  spec: {nodeSelector: *l}\n",
    ] {
        assert_eq!(pods(text), ["default/a", "default/b"], "{text}");
    }
    assert!(pods("apiVersion: v1\nitems: []\nkind: List\n").is_empty());
}

#[test]
fn scalars_of_yaml() {
    let json = |text: &str| {
        let mut out = Vec::new();
        scalar::write_plain(text, &mut out);
        String::from_utf8(out).expect("text")
    };
    for same in ["true", "1", "-1", "0", "1.5", "-0.5", "1e3", "123456789012345678901234567890"] {
        assert_eq!(json(same), same);
    }
    for (text, expected) in [
        ("", "null"),
        ("~", "null"),
        ("Null", "null"),
        ("True", "true"),
        ("FALSE", "false"),
        ("+7", "7"),
        ("0x1F", "31"),
        ("0o17", "15"),
        ("017", "15"),
        ("-0b11", "-3"),
        ("5.", "5"),
        (".5", "0.5"),
        ("089", "89"),
        ("1E+3", "1e+3"),
        ("00", "0"),
        ("0.10", "0.10"),
        ("yes", "\"yes\""),
        ("1.2.3", "\"1.2.3\""),
        ("100m", "\"100m\""),
        ("-", "\"-\""),
        (".", "\".\""),
        ("1e", "\"1e\""),
        ("0x", "\"0x\""),
        ("0x-1", "\"0x-1\""),
        (".inf", "\".inf\""),
        ("12:30", "\"12:30\""),
        ("1_000", "\"1_000\""),
        ("a\"\\\n\u{1}", r#""a\"\\\n\u0001""#),
        ("2026-01-01T00:00:00Z", "\"2026-01-01T00:00:00Z\""),
    ] {
        assert_eq!(json(text), expected, "{text}");
    }
}

#[test]
fn errors_say_where() {
    let table = [
        (
            "{\"kind\": \"List\", \"items\": [\n  {\"kind\": \"Pod\",\n   \"spec\": {",
            "f:3:13: the file ends inside an object that begins at line 2",
        ),
        ("{\"kind\": \"Pod\",\n\"a", "f:2:3: the file ends inside an object that begins at line 1"),
        (
            "{\"kind\": \"List\", \"items\": [\n  {}",
            "f:2:5: the file ends inside an object or a list that begins at line 1",
        ),
        ("{\"kind\": \"List\", \"items\": [\n  {\"a\": }]}", "f:2:9: expected value"),
        ("{\"kind\": \"List\", \"items\": [\n  {} {}]}", "f:2:6: expected `,` or `]`, found `{`"),
        ("{\"kind\": \"List\", \"items\": [{},]}", "f:1:31: expected a value, found `]`"),
        (
            "{\"kind\": \"Pod\"}\n{\"kind\": \"Pod\" \"a\": 1}\n",
            "f:2:16: expected `,` or `}`, found `\\\"`",
        ),
        ("{\"items\": [],\n \"x\": [1 2]}", "f:2:10: expected `,` or `]`"),
        ("{\"x\": {1},\n \"items\": []}", "f:1:8: key must be a string"),
        ("{\"items\": [],\n \"kind\": }", "f:2:10: expected a value, found `}`"),
        ("{kind: Pod}", "f:1:2: expected a key in quotes or `}`, found `k`"),
        ("{\"kind\": \"Pod\"}\nxyz", "f:2:1: expected an object or a list, found `x`"),
        ("{\"a\": 1\n\"b\": \"\n}", "f:2:1: expected `,` or `}`, found `\\\"`"),
        ("kind: Pod\nmetadata:\n\tname: x\n", "f:3:"),
        ("kind: Pod\nmetadata: {name: x\n", "f:"),
        ("just words", "f:1:1: expected an object or a list, found a single value"),
        ("kind: Pod\n<<: {a: b}\n", "f:2:1: merge keys"),
        ("kind: Pod\n? [a, b]\n: c\n", "f:2:3: a key must be a scalar"),
        ("a: &a [*a]\n", "f:1:8: "),
        ("a: *nowhere\n", "f:1:4: "),
    ];
    for (text, expected) in table {
        let error = error(text);
        assert!(error.starts_with(expected), "{error}\n  instead of {expected}\n  in {text:?}");
    }
    let utf16: Vec<u8> = "kind: Pod".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf16 = [&[0xff, 0xfe], utf16.as_slice()].concat();
    let error = read_text(&utf16).err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some("f:1:1: the file is UTF-16; save it as UTF-8"));
}

#[test]
fn lines_are_counted_in_files_longer_than_a_chunk() {
    let pod = format!("{{\n\"kind\": \"Pod\",\n\"x\": \"{}\"\n}}", "y".repeat(5000));
    let lines = 4 * 3000;
    let list = vec![pod; 3000].join(",\n");
    let error = error(&format!("{{\"items\": [\n{list},\n{{\"kind\" 1}}]}}"));
    assert!(error.starts_with(&format!("f:{}:9: expected `:`", lines + 2)), "{error}");
}

#[test]
fn depth_has_an_end() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let json = format!(
            "{{\"kind\": \"Pod\", \"x\": {}1{}}}",
            open.repeat(100_000),
            close.repeat(100_000)
        );
        assert!(error(&json).contains("nested more than 1000 deep"));
    }
    assert!(!error(&format!("a: {}", "[".repeat(100_000))).is_empty());
    assert!(!error(&format!("a: {}", "{a: ".repeat(100_000))).is_empty());
    let block: String = (0..2000).map(|at| format!("{}a:\n", " ".repeat(at))).collect();
    assert!(!error(&block).is_empty());
    let sequence = "- ".repeat(5000) + "a";
    assert!(!error(&sequence).is_empty());
}

#[test]
fn aliases_have_an_end() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let alias = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![alias; 10].join(", "));
    }
    assert!(error(&bomb).contains("aliases stand for more than 64 MiB"));
}

#[test]
fn files_and_folders() {
    let folder = std::env::temp_dir().join(format!("input-{}", std::process::id()));
    let deep = folder.join("sub/deeper");
    fs::create_dir_all(&deep).expect("a folder");
    let none = |error: InputError| error.to_string();
    let read_path = |path: &Path| read(&[path.to_owned()], |_, _| {});
    assert!(read_path(&folder).map_err(none).err().is_some_and(|error| error.contains("no .json")));
    let pod = |name: &str| format!("kind: Pod\nmetadata: {{name: {name}, uid: {name}}}\n");
    fs::write(folder.join("a.yaml"), pod("a")).expect("written");
    fs::write(folder.join("empty.yml"), "").expect("written");
    fs::write(folder.join("notes.txt"), "not this one").expect("written");
    fs::write(deep.join("b.YAML"), pod("b")).expect("written");
    let mut seen = (0, 0);
    let ingest =
        read(std::slice::from_ref(&folder), |done, total| seen = (done, total)).expect("a folder");
    assert_eq!(ingest.counts().get("Pod"), Some(&2));
    assert_eq!(seen.0, seen.1);
    let missing = read_path(&folder.join("gone.yaml")).map_err(none).err();
    assert!(missing.is_some_and(|error| error.contains("gone.yaml")));
    let empty = read_path(&folder.join("empty.yml")).map_err(none).err();
    assert!(empty.is_some_and(|error| error.contains("holds no objects")));
    fs::remove_dir_all(&folder).expect("removed");
}

/// Compressed, in one or more pieces as `gzip -c a b` and `cat a.gz b.gz` make them.
fn gzip(parts: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        let mut encoder = flate2::write::GzEncoder::new(bytes, flate2::Compression::fast());
        io::Write::write_all(&mut encoder, part.as_bytes()).expect("written");
        bytes = encoder.finish().expect("written");
    }
    bytes
}

#[test]
fn compressed_files_are_read_by_what_they_are() {
    let pods = |ingest: &Ingest| ingest.counts()["Pod"];
    for text in [DUMP, YAML_DUMP] {
        let whole = read_text(&gzip(&[text])).expect("it is read");
        assert_eq!(pods(&whole), pods(&read_text(text.as_bytes()).expect("it is read")));
    }
    assert_eq!(pods(&read_text(&gzip(&[DUMP, DUMP])).expect("it is read")), 2);
    let mut cut = gzip(&[DUMP]);
    cut.truncate(cut.len() / 2);
    assert!(matches!(read_text(&cut), Err(InputError::Io { .. })), "half a file is none");
}

/// A small dump of everything that is read, on several lines.
const DUMP: &str = r#"{"apiVersion": "v1", "items": [
 {"kind": "Node", "metadata": {"name": "n", "creationTimestamp": "2026-01-01T00:00:00Z"},
  "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
  "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": 110},
             "conditions": [{"type": "Ready", "status": "True"}]}},
 {"kind": "Pod", "metadata": {"name": "a", "namespace": "ns", "uid": "1", "labels": {"app": "a"},
   "ownerReferences": [{"kind": "ReplicaSet", "name": "r", "uid": "2", "controller": true}]},
  "spec": {"nodeName": "n", "priority": 5, "containers": [{"name": "c", "image": "i\u0041:1",
     "resources": {"requests": {"cpu": "100m", "memory": 1e6}}}],
     "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
       {"topologyKey": "h", "labelSelector": {"matchLabels": {"app": "a"}}}]}}},
  "status": {"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": 3}]}},
 {"kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "ns"},
  "spec": {"maxUnavailable": "50%", "selector": {"matchLabels": {"app": "a"}}}},
 {"kind": "ReplicaSet", "metadata": {"name": "r", "namespace": "ns", "uid": "2"},
  "spec": {"replicas": 2}}], "kind": "List"}
"#;

const YAML_DUMP: &str = "apiVersion: v1
items:
- kind: Pod
  metadata:
    name: a
    uid: '1'
    labels: &labels {app: a}
  spec:
    nodeSelector: *labels
    nodeName: n
    containers:
    - resources: {requests: {cpu: 100m, memory: 1Gi}}
- kind: Node
  metadata:
    name: n
    annotations:
      text: |
        several
        lines
kind: List
---
kind: Namespace
metadata: {name: ns}
";

/// What can happen to a file.
fn damaged(dump: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let length = dump.len();
    let insertions = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        "\"",
        "\\",
        ",",
        ":",
        "\r\n",
        "\u{feff}",
        "1e999",
        "-",
        "null",
        "*",
        "&a ",
        "99999999999999999999999",
        "\"kind\": \"Node\",",
        "[[[[[[[[",
        "\u{0}",
        "\\ud800",
        "- ",
        "<<: ",
        "'",
    ]);
    let edit = prop_oneof![
        (0..length, 0..8u8).prop_map(|(at, bit)| (at, None, bit)),
        (0..length, insertions).prop_map(|(at, text)| (at, Some(text), 0)),
    ];
    (prop::collection::vec(edit, 0..6), prop::option::of(0..length)).prop_map(
        move |(edits, cut)| {
            let mut bytes = dump.as_bytes().to_vec();
            for (at, text, bit) in edits {
                match text {
                    None => bytes[at] ^= 1 << bit,
                    Some(text) => drop(bytes.splice(at..at, text.bytes())),
                }
            }
            bytes.truncate(cut.unwrap_or(bytes.len()));
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn no_damage_makes_it_panic(bytes in prop_oneof![damaged(DUMP), damaged(YAML_DUMP)]) {
        if let Ok(ingest) = read_text(&bytes) {
            let (snapshot, _) = ingest.finish(None);
            for &pod in snapshot.pods() {
                let _ = (snapshot.pod_name(pod), snapshot.labels(pod), snapshot.budgets_of(pod));
            }
        }
        let mut ingest = Ingest::new();
        let at_once = read_one(Cursor::new(&bytes), "f", &mut ingest).map_err(|e| e.to_string());
        let trickled = read_text(&bytes).map(drop).map_err(|e| e.to_string());
        prop_assert_eq!(at_once.map(drop), trickled);
    }
}
