//! `capture`: the plan of what was captured is that of the cluster.

#[path = "common/api_server.rs"]
mod api_server;
#[path = "common/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use api_server::{Evictions, folder, kubeconfig, objects, serve};
use program::descheduler;
use serde_json::Value;

const NOW: &str = "2026-02-01T00:00:00Z";

fn plan_of(policy: &str, cluster: &str) -> Value {
    let output = descheduler(&format!("plan --policy {policy} -o json {cluster}"));
    let output = output.output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"))
}

fn capture(arguments: &str) -> String {
    let output = descheduler(&format!("capture {arguments}")).output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    errors
}

fn file(test: &str, name: &str) -> (PathBuf, String) {
    let path = folder(test).join(name);
    let text = path.to_string_lossy().into_owned();
    (path, text)
}

#[test]
fn a_plan_of_a_capture_is_that_of_the_cluster() {
    let forbidden = &["/apis/policy/v1/poddisruptionbudgets"];
    let kubeconfig = kubeconfig("same", &serve(&objects(), forbidden, &Evictions::default()));
    let live = plan_of("policy.yaml", &format!("--now {NOW} --kubeconfig {kubeconfig}"));
    assert!(live["evictions"].as_array().is_some_and(|all| !all.is_empty()), "{live}");
    for name in ["c.json", "c.yaml", "c.json.gz", "c.yml.gz"] {
        let (path, text) = file("same", name);
        let said = capture(&format!("{text} --now {NOW} --kubeconfig {kubeconfig}"));
        assert!(said.contains("captured ") && said.contains("--redact"), "{said}");
        assert!(said.contains("no right to read poddisruptionbudgets.policy"), "{said}");
        let is_compressed = fs::read(&path).expect("it is there").starts_with(&[0x1f, 0x8b]);
        assert_eq!(is_compressed, name.ends_with("gz"), "{name}");
        assert_eq!(plan_of("policy.yaml", &format!("--cluster {text}")), live, "{name}");
    }
    let partial = folder("same").join("c.json.partial");
    assert!(!partial.exists(), "half of a file is left");
}

#[test]
fn the_moment_and_the_version_are_those_of_the_capture() {
    let kubeconfig = kubeconfig("stamp", &serve(&objects(), &[], &Evictions::default()));
    let (_, text) = file("stamp", "c.json");
    capture(&format!("{text} --now 2026-01-20T00:00:00Z --kubeconfig {kubeconfig}"));
    let header = fs::read_to_string(&text).expect("text");
    let header = header.lines().nth(1).expect("a second line").trim_end_matches(',');
    let header: Value = serde_json::from_str(header).expect("JSON");
    assert_eq!(header["kind"], "Capture");
    assert_eq!(header["serverVersion"], "v1.36.3");
    let plan = plan_of("policy.yaml", &format!("--cluster {text}"));
    assert_eq!(plan["snapshot"]["takenAt"], "2026-01-20T00:00:00Z");
    let plan = plan_of("policy.yaml", &format!("--now {NOW} --cluster {text}"));
    assert_eq!(plan["snapshot"]["takenAt"], NOW);

    // Captured once more, and through a pipe.
    let again = descheduler(&format!("capture --cluster {text}")).output().expect("it runs");
    assert!(String::from_utf8_lossy(&again.stdout).contains("2026-01-20T00:00:00Z"));
    let stdin = descheduler("plan --policy policy.yaml -o json --cluster -").stdin(again.stdout);
    let plan: Value =
        serde_json::from_slice(&stdin.output().expect("it runs").stdout).expect("JSON");
    assert_eq!(plan["snapshot"]["takenAt"], "2026-01-20T00:00:00Z");
}

/// What a plan looks like whatever things are called: for each pod in order what is done with it, and
/// why, and how many places there are for it.
fn shape(plan: &Value) -> Vec<String> {
    let mut nodes: BTreeMap<String, usize> = BTreeMap::new();
    let mut shape = Vec::new();
    for list in ["evictions", "refusals"] {
        for one in plan[list].as_array().into_iter().flatten() {
            let count = nodes.len();
            let node = *nodes.entry(one["node"].to_string()).or_insert(count);
            let places = one["destinations"].as_array().map_or(0, Vec::len);
            let (strategy, code) = (&one["strategy"], &one["code"]);
            shape.push(format!("{list} {strategy} {code} node {node}, {places} places"));
        }
    }
    shape.push(format!("{} anomalies", plan["anomalies"].as_array().map_or(0, Vec::len)));
    shape
}

#[test]
fn a_plan_of_a_redacted_capture_has_the_same_shape() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let mut moves = 0;
    let mut seen = 0;
    for folder_of in fs::read_dir(cases).expect("cases").flatten() {
        for case in fs::read_dir(folder_of.path()).into_iter().flatten().flatten() {
            let (policy, cluster) = (case.path().join("policy.yaml"), cluster_in(&case.path()));
            let Some(cluster) = cluster.filter(|_| policy.exists()) else { continue };
            seen += 1;
            // A few of each kind say as much as all of them.
            if seen % 23 != 0 {
                continue;
            }
            let (policy, cluster) = (policy.display(), cluster.display());
            let (path, text) = file("redacted", &format!("{seen}.json"));
            capture(&format!("{text} --redact --policy {policy} --cluster {cluster}"));
            let before = plan_of(&policy.to_string(), &format!("--cluster {cluster}"));
            let after = plan_of(&policy.to_string(), &format!("--cluster {text}"));
            assert_eq!(shape(&after), shape(&before), "{cluster} with {policy}");
            moves += before["evictions"].as_array().map_or(0, Vec::len);
            fs::remove_file(path).expect("removed");
        }
    }
    assert!(moves > 10, "only {moves} moves in {seen} cases");
}

fn cluster_in(folder: &Path) -> Option<PathBuf> {
    ["cluster.yaml", "cluster.json"].map(|name| folder.join(name)).into_iter().find(|p| p.exists())
}

#[test]
fn a_redacted_capture_says_nothing_of_what_things_are_called() {
    let kubeconfig =
        kubeconfig("secret", &serve(&objects(), &["/api/v1/services"], &Evictions::default()));
    let (_, text) = file("secret", "c.yaml");
    let said = capture(&format!("{text} --redact --now {NOW} --kubeconfig {kubeconfig}"));
    assert!(!said.contains("`--redact`"), "{said}");
    let redacted = fs::read_to_string(&text).expect("text");
    let names: Vec<String> = objects()
        .iter()
        .map(|object| object["metadata"]["name"].as_str().expect("a name").to_owned())
        .filter(|name| name.len() > 2)
        .collect();
    assert!(names.len() > 3, "{names:?}");
    for name in names.iter().map(String::as_str).chain(["shop", "example.com"]) {
        assert!(!redacted.contains(name), "{name} is in {redacted}");
    }
    // Who may not read what is nobody's business either.
    assert!(redacted.contains("no right to read services"), "{redacted}");
    assert!(!redacted.contains("is forbidden"), "{redacted}");
    let (_, other) = file("secret", "d.yaml");
    capture(&format!("{other} --redact --now {NOW} --kubeconfig {kubeconfig}"));
    assert_ne!(fs::read_to_string(other).expect("text"), redacted, "chance gives other words");
}

#[test]
fn what_cannot_be_captured_leaves_nothing_behind() {
    let kubeconfig =
        kubeconfig("forbidden", &serve(&objects(), &["/api/v1/pods"], &Evictions::default()));
    let (path, text) = file("forbidden", "c.json");
    let _ = fs::remove_file(&path);
    descheduler(&format!("capture {text} --kubeconfig {kubeconfig}")).assert().code(1).stderr_eq(
        "error: cannot read pods of the cluster: the API server answers 403: /api/v1/pods is \
         forbidden\nhelp: grant the verbs `list` and `watch` on `pods` in a ClusterRole\n",
    );
    let left: Vec<_> = fs::read_dir(folder("forbidden")).expect("a folder").flatten().collect();
    assert_eq!(left.len(), 1, "more than the kubeconfig: {left:?}");
    descheduler("capture nowhere/c.json --cluster dump").assert().code(1).stderr_eq(
        "error: cannot write `nowhere/c.json`: No such file or directory (os error 2)\n",
    );
    descheduler(&format!("capture {text} --cluster nothing.json"))
        .assert()
        .code(1)
        .stderr_eq("error: cannot read `nothing.json`: No such file or directory (os error 2)\n");
    assert!(!path.exists());
}
