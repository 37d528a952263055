//! `--kubeconfig`, over a socket: the plan of a live cluster is that of its objects in files, and the
//! service carries it out.

#[path = "common/api_server.rs"]
mod api_server;
#[path = "common/program.rs"]
mod program;

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use api_server::{Evictions, folder, kubeconfig, objects, serve};
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
    let kubeconfig = kubeconfig("same", &serve(&objects, forbidden, &Evictions::default()));
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
    let kubeconfig = kubeconfig("place", &serve(&objects(), &[], &Evictions::default()));
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
    let kubeconfig =
        kubeconfig("forbidden", &serve(&objects(), &["/api/v1/pods"], &Evictions::default()));
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

#[test]
fn one_cycle_carries_the_plan_out() {
    let evictions = Evictions::default();
    let address = serve(&objects(), &[], &evictions);
    let kubeconfig = kubeconfig("once", &address);
    let (plan, _) = plan_of(&format!("--kubeconfig {kubeconfig}"));
    let planned: Vec<String> = plan["evictions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|eviction| eviction["uid"].as_str().expect("a text").to_owned())
        .collect();
    let flags =
        format!("--policy_config_file=policy.yaml --secure-port=0 --kubeconfig {kubeconfig}");
    let dry = descheduler(&format!("{flags} --dry-run")).output().expect("it runs");
    let said = String::from_utf8_lossy(&dry.stderr);
    assert_eq!((dry.status.code(), dry.stdout.len()), (Some(0), 0), "{said}");
    assert!(said.contains("cycle 1 (dry run): "), "{said}");
    assert_eq!(evictions.lock().expect("whole").len(), 0, "{said}");

    let run = descheduler(&flags).output().expect("it runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!((run.status.code(), run.stdout.len()), (Some(0), 0), "{said}");
    let summary = format!("cycle 1: {} to evict", planned.len());
    assert!(said.contains(&summary), "{said}");
    // Several are in flight, so they may arrive in another order.
    let mut asked = evictions.lock().expect("whole").clone();
    let mut planned = planned;
    asked.sort();
    planned.sort();
    assert_eq!(asked, planned);
}

#[test]
fn a_cycle_whose_evictions_all_failed_is_no_success() {
    let kubeconfig =
        kubeconfig("denied", &serve(&objects(), &["pods/eviction"], &Evictions::default()));
    let run = descheduler(&format!(
        "--policy-config-file policy.yaml --kubeconfig {kubeconfig} --secure-port 0"
    ));
    run.assert().code(1).stdout_eq("").stderr_eq(
        "...\nerror: every eviction failed; the lines above say how\nhelp: grant the verb `create` \
         on `pods/eviction` in a ClusterRole, if it is that\n",
    );
}

#[test]
fn an_endpoint_that_cannot_be_had_is_told_before_anything_else() {
    let bind = || TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = |of: &TcpListener| of.local_addr().expect("an address").port();
    let taken = bind();
    let (port, free) = (port(&taken), port(&bind()));
    let listen = "error: failed to create listener: failed to listen on ";
    let choose = "help: choose another port with `--secure-port`, or 0 to serve nothing\n";
    for (flags, said) in [
        (
            format!("--secure-port {port} --bind-address 127.0.0.1"),
            format!("{listen}127.0.0.1:{port}: [..] in use [..]\n{choose}"),
        ),
        (
            "--secure-port 70000".to_owned(),
            format!("{listen}0.0.0.0:70000: listen tcp: address 70000: invalid port\n"),
        ),
        (
            format!("--secure-port {free} --tls-min-version foo"),
            "error: unknown tls version \"foo\"\n".to_owned(),
        ),
        (
            format!("--secure-port {free} --tls-cert-file /nope --tls-private-key-file /nope"),
            "error: open /nope: No such file or directory [..]\n".to_owned(),
        ),
        (
            format!("--secure-port {free} --tls-cert-file /nope"),
            "error: a certificate and its key come together: `--tls-private-key-file` is \
             missing\n"
                .to_owned(),
        ),
    ] {
        let run = format!("--policy-config-file policy.yaml --kubeconfig nowhere {flags}");
        descheduler(&run).assert().code(1).stdout_eq("").stderr_eq(said);
    }
    // Where nothing is served, nothing is looked at.
    let none = "--policy-config-file policy.yaml --kubeconfig nowhere --secure-port 0 \
                --tls-min-version foo";
    descheduler(none).assert().code(1).stderr_eq("error: cannot use the kubeconfig [..]\n");
}

#[test]
fn a_log_is_as_kubernetes_writes_it() {
    let kubeconfig = kubeconfig("log", &serve(&objects(), &[], &Evictions::default()));
    let said = |flags: &str| {
        let run = format!(
            "--policy-config-file policy.yaml --secure-port 0 --kubeconfig {kubeconfig} \
             --dry-run -v 1 {flags}"
        );
        let output = descheduler(&run).output().expect("it runs");
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(0), "{said}");
        said
    };
    let text = said("--logging-format foo --vmodule a=3");
    assert!(text.contains("note: `--logging-format foo`: known are text and json\n"), "{text}");
    assert!(text.contains("note: `--vmodule`: "), "{text}");
    let entry = text.lines().find(|line| line.contains("Evicted pod in dry run mode"));
    let entry = entry.expect("an entry");
    let (head, rest) = entry.split_once("] ").expect("a head");
    let [severity, _, pid, place] = head.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{head}")
    };
    assert!(severity.starts_with('I') && severity.len() == 5, "{head}");
    assert!(pid.parse::<u32>().is_ok() && place.starts_with("log.rs:"), "{head}");
    assert!(rest.starts_with("\"Evicted pod in dry run mode\" pod=\"shop/"), "{rest}");
    for field in [" reason=\"", " strategy=\"", " node=\"a\"", " profile=\""] {
        assert!(rest.contains(field), "{rest}");
    }

    let json = said("--logging-format json");
    let entries: Vec<Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line} of {json}")))
        .collect();
    assert!(entries.iter().all(|entry| entry["ts"].is_f64() && entry["caller"].is_string()));
    let evicted = entries.iter().find(|entry| entry["msg"] == "Evicted pod in dry run mode");
    assert_eq!(evicted.expect("an entry")["pod"]["namespace"], "shop");
    let ended = entries.iter().find(|entry| entry["cycle"] == 1).expect("the end of the cycle");
    assert!(ended["msg"].as_str().is_some_and(|text| text.starts_with("cycle 1 (dry run): ")));
    assert!(ended["planned"].as_u64().is_some_and(|planned| planned > 0), "{ended}");

    // What ends the program is an entry, too.
    let run = "--policy-config-file policy.yaml --secure-port 0 --kubeconfig nowhere";
    let output = descheduler(&format!("{run} --logging-format json")).output().expect("it runs");
    let last = String::from_utf8_lossy(&output.stderr).lines().last().map(str::to_owned);
    let last: Value = serde_json::from_str(&last.expect("a line")).expect("JSON");
    assert_eq!((output.status.code(), &last["msg"]), (Some(1), &json!("command failed")));
    assert!(last["err"].as_str().is_some_and(|err| err.contains("nowhere")), "{last}");
    assert!(last.get("v").is_none(), "{last}");
}

#[test]
fn a_loop_ends_well_when_it_is_told_to() {
    let evictions = Evictions::default();
    let address = serve(&objects(), &[], &evictions);
    let kubeconfig = kubeconfig("loop", &address);
    let mut service = Command::new(env!("CARGO_BIN_EXE_descheduler"))
        .args(["--policy-config-file=policy.yaml", "--descheduling-interval=1h", "--secure-port=0"])
        .arg(format!("--kubeconfig={kubeconfig}"))
        .current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cli"))
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut lines = BufReader::new(service.stderr.take().expect("piped")).lines();
    let is_over = |line: &std::io::Result<String>| {
        line.as_ref().is_ok_and(|line| line.contains("cycle 1: ") && line.contains(", next in "))
    };
    assert!(lines.any(|line| is_over(&line)), "it says how the cycle went");
    let kill = Command::new("kill").args(["-TERM", &service.id().to_string()]).status();
    assert!(kill.expect("it can be told").success());
    assert_eq!(service.wait().expect("it ends").code(), Some(0));
    assert!(!evictions.lock().expect("whole").is_empty());
}
