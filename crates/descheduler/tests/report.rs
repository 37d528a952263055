//! The page of a plan: everything that the plan has is on it, and nothing that a browser would run or
//! fetch.

#[path = "common/program.rs"]
mod program;

use std::fs;
use std::path::Path;

use serde_json::Value;

use program::descheduler;

/// The example of the README, from the folder of the command line's tests.
const EXAMPLE: &str =
    "--policy ../../../../examples/policy.yaml --cluster ../../../../examples/cluster.yaml";

fn stdout(arguments: &str) -> String {
    let assert = descheduler(arguments).assert().code(0);
    String::from_utf8(assert.get_output().stdout.clone()).expect("text")
}

#[test]
fn the_page_has_all_of_the_plan() {
    for mode in ["off", "feasible", "improving"] {
        let page = stdout(&format!("report {EXAMPLE} --placement {mode}"));
        let plan = stdout(&format!("plan {EXAMPLE} --placement {mode} -o json"));
        let plan: Value = serde_json::from_str(&plan).expect("JSON");
        let rows = |list: &str| plan[list].as_array().expect("a list").clone();
        assert!(!rows("evictions").is_empty(), "the example moves something");
        for row in rows("evictions").iter().chain(&rows("refusals")) {
            let text = |field: &str| row[field].as_str().expect("text").to_owned();
            let pod = format!(">{}/{}<", text("namespace"), text("name"));
            for part in [pod, text("strategy"), text("code"), text("node")] {
                assert!(page.contains(&part), "{mode}: {part} is not on the page");
            }
        }
        for row in rows("evictions") {
            for node in row["destinations"].as_array().expect("a list") {
                assert!(page.contains(node.as_str().expect("text")), "{mode}: {node}");
            }
        }
        for note in rows("notes") {
            // What is said of several strategies stands there once, with all of their names.
            let text = note["text"].as_str().expect("text");
            assert!(page.contains(text), "{mode}: {text}");
        }
    }
}

#[test]
fn nothing_from_a_cluster_is_more_than_text() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    fs::create_dir_all(&folder).expect("a folder");
    let cluster = folder.join("cluster.json");
    let odd = r#"{"kind": "List", "items": [
        {"kind": "Node", "metadata": {"name": "a<img src=x>"}},
        {"kind": "Node", "metadata": {"name": "b\u202e"}},
        {"kind": "Pod", "metadata": {"name": "<script>alert(1)</script>&", "namespace": "s\"'",
            "uid": "1", "creationTimestamp": "2020-01-01T00:00:00Z",
            "ownerReferences": [{"kind": "ReplicaSet", "name": "r", "uid": "r", "controller": true}]},
            "spec": {"nodeName": "a<img src=x>", "containers": [{"name": "c"}]},
            "status": {"phase": "Running"}},
        {"kind": "Pod", "metadata": {"name": "<i>", "namespace": "n", "uid": "2"},
            "spec": {"nodeName": 7}}]}"#;
    fs::write(&cluster, odd).expect("it can be written");
    let policy = folder.join("policy.yaml");
    let text = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n\
                - name: <p>\n  pluginConfig:\n  - name: PodLifeTime\n    args: {maxPodLifeTimeSeconds: 60}\n  \
                plugins: {deschedule: {enabled: [PodLifeTime]}}\n";
    fs::write(&policy, text).expect("it can be written");
    let flags = format!("--policy {} --cluster {}", policy.display(), cluster.display());
    let page = stdout(&format!("report {flags} --placement off --now 2026-01-01T00:00:00Z"));
    for tag in ["<script", "<img", "<i>", "\u{202e}", "href=", "url("] {
        assert!(!page.contains(tag), "{tag}:\n{page}");
    }
    for text in ["alert(1)", "1 of ", "Faults in the cluster files"] {
        assert!(page.contains(text), "{text} is missing:\n{page}");
    }
}

#[test]
fn a_file_is_there_whole_or_not_at_all() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report.html");
    let _ = fs::remove_file(&path);
    let file = path.display();
    descheduler(&format!("report {file} --policy wrong.yaml --cluster dump"))
        .assert()
        .code(1)
        .stdout_eq("");
    assert!(!path.exists(), "a policy with errors makes no page");
    descheduler(&format!("report {file} {EXAMPLE}")).assert().code(0).stdout_eq("");
    assert_eq!(fs::read_to_string(&path).expect("a page"), stdout(&format!("report {EXAMPLE}")));
    descheduler(&format!("report {file}/below {EXAMPLE}")).assert().code(1).stdout_eq("");
}
