//! `--kubeconfig`: the plan of a live cluster, over a socket, is that of its objects in files.

#[path = "common/api_server.rs"]
mod api_server;
#[path = "common/program.rs"]
mod program;

use std::fs;
use std::net::TcpListener;

use api_server::{folder, kubeconfig, objects, serve};
use program::descheduler;
use serde_json::{Value, json};

const NOW: &str = "2026-02-01T00:00:00Z";

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
