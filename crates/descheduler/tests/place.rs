//! `descheduler place` as a user meets it: what is said, where, and with which exit code.
//!
//! The files lie in `cli/`. `SNAPSHOTS=overwrite cargo test -p descheduler --test place` writes
//! what the program says into this file.

use std::path::Path;

use snapbox::cmd::Command;
use snapbox::str;

/// The program with these arguments, which hold no spaces.
fn descheduler(arguments: &str) -> Command {
    Command::new(env!("CARGO_BIN_EXE_descheduler"))
        .args(arguments.split_whitespace())
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli"))
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
}

/// Asks about a pod of the namespace `shop`.
fn place(pod: &str) -> Command {
    descheduler(&format!("place --cluster dump --cluster waiting.yaml --pod shop/{pod}"))
}

#[test]
fn help() {
    descheduler("place --help")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
Show where the scheduler could put a pod now, how well, and why not elsewhere

Usage: descheduler place --cluster <PATH> --pod <NAMESPACE/NAME> [OPTIONS]

Options:
      --cluster <PATH>               A file or folder with objects of the cluster in YAML or JSON,
                                     or - for standard input; may be given several times
      --pod <NAMESPACE/NAME>         The pod, as if it had no node yet
      --cases <FILE>                 Instead of a cluster: cases in JSON, one a line or in an array,
                                     each a cluster of its own
      --scheduler-config <FILE>      What kube-scheduler is configured with [default: what it does
                                     by itself]
      --scheduler-version <VERSION>  The version of kube-scheduler: 1.34, 1.35, 1.36 or 1.37
                                     [default: 1.36]
      --now <RFC3339>                The moment that ages are counted from [default: the newest
                                     timestamp in the cluster files]
  -o, --output <FORMAT>              How to print the answer [default: text; json for cases]
                                     [possible values: text, json]
  -h, --help                         Print help

"#]])
        .stderr_eq("");
}

#[test]
fn a_pod_without_its_present_place() {
    place("web-1")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
shop/web-1 can go to 2 of 3 nodes: `c` is best
as kube-scheduler 1.36 with the profile `default-scheduler` sees it

  node  score  taints  room  balance  images
  c       471     300    97       74       0
  b       470     300    95       75       0

Out  1 node
    1  untolerated taint example.com/old=true:NoSchedule: a

"#]])
        .stderr_eq("");
}

#[test]
fn one_node_is_enough() {
    place("large --scheduler-version 1.35")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
shop/large can go to 1 of 3 nodes: `c` is best
as kube-scheduler 1.35 with the profile `default-scheduler` sees it

  node  score  taints  room  balance  images
  c       400     300    44       56       0

Out  2 nodes
    2  Insufficient cpu: a, b; fewer pods there might help

"#]])
        .stderr_eq("");
}

#[test]
fn nowhere() {
    place("picky")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
shop/picky can go to none of 3 nodes
as kube-scheduler 1.36 with the profile `default-scheduler` sees it

Out  3 nodes
    2  node(s) didn't match Pod's node affinity/selector: b, c
    1  untolerated taint example.com/old=true:NoSchedule: a

"#]])
        .stderr_eq("");
    place("without-disk")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
shop/without-disk can go nowhere: it is turned down before any node is looked at
as kube-scheduler 1.36 with the profile `default-scheduler` sees it

  persistentvolumeclaim not found  VolumeRestrictions

"#]])
        .stderr_eq("");
    place("wrong")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
shop/wrong: the scheduler fails and tries again later
as kube-scheduler 1.36 with the profile `default-scheduler` sees it

  PreScore of NodeAffinity: `cores`: Gt and Lt need an integer, found `many`

"#]])
        .stderr_eq("");
}

#[test]
fn json() {
    place("large -o json")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
{
  "id": "shop/large",
  "scheduler": {
    "version": "1.36",
    "profile": "default-scheduler"
  },
  "winners": [
    "c"
  ],
  "sampled": false,
  "nodes": {
    "a": {
      "feasible": false,
      "code": "Unschedulable",
      "plugin": "NodeResourcesFit",
      "reason": "Insufficient cpu"
    },
    "b": {
      "feasible": false,
      "code": "Unschedulable",
      "plugin": "NodeResourcesFit",
      "reason": "Insufficient cpu"
    },
    "c": {
      "feasible": true,
      "scores": {
        "ImageLocality": 0,
        "NodeResourcesBalancedAllocation": 53,
        "NodeResourcesFit": 44,
        "TaintToleration": 300
      },
      "total": 397
    }
  }
}

"#]])
        .stderr_eq("");
    place("without-disk -o json")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
{
  "id": "shop/without-disk",
  "scheduler": {
    "version": "1.36",
    "profile": "default-scheduler"
  },
  "winners": [],
  "sampled": false,
  "preFilter": {
    "code": "UnschedulableAndUnresolvable",
    "plugin": "VolumeRestrictions",
    "reason": "persistentvolumeclaim not found"
  }
}

"#]])
        .stderr_eq("");
    place("wrong -o json")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
{
  "id": "shop/wrong",
  "scheduler": {
    "version": "1.36",
    "profile": "default-scheduler"
  },
  "winners": [],
  "sampled": false,
  "cycleError": {
    "stage": "PreScore",
    "plugin": "NodeAffinity",
    "message": "`cores`: Gt and Lt need an integer, found `many`"
  }
}

"#]])
        .stderr_eq("");
}

#[test]
fn a_scheduler_of_ones_own() {
    place("foreign --scheduler-config scheduler.yaml")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
shop/foreign can go to 3 of 3 nodes: `c` is best
as kube-scheduler 1.36 with the profile `volcano` sees it

  node  score  room  images
  c       485   485       0
  b       465   465       0
  a       445   445       0

"#]])
        .stderr_eq(str![[r#"
warning[unknown-plugin]: `Binpack` is no plugin of kube-scheduler
 --> scheduler.yaml:8:61
  |
8 |       enabled: [{name: NodeResourcesFit, weight: 5}, {name: Binpack}]
  |                                                             ^^^^^^^
  |
  = help: predictions leave it out


"#]]);
    for command in ["place --pod a/b", "plan --policy policy.yaml"] {
        let config = "--scheduler-config scheduler_wrong.yaml";
        descheduler(&format!("{command} --cluster dump {config}"))
            .assert()
            .code(1)
            .stdout_eq("")
            .stderr_eq(str![[r#"
error[unknown-field]: unknown field `profile`
 --> scheduler_wrong.yaml:3:1
  |
3 | profile:
  | ^^^^^^^
  |
  = help: did you mean `profiles`?

error[out-of-range]: `percentageOfNodesToScore` is 120, not 0 to 100
 --> scheduler_wrong.yaml:5:27
  |
5 | percentageOfNodesToScore: 120
  |                           ^^^

error: `scheduler_wrong.yaml` cannot be used: 2 errors

"#]]);
    }
    descheduler("place --cluster dump --pod a/b --scheduler-config none.yaml")
        .assert()
        .code(1)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error: cannot read `none.yaml`: No such file or directory (os error 2)

"#]]);
}

#[test]
fn versions() {
    let plan = "plan --policy policy.yaml --cluster dump --placement off --scheduler-version";
    descheduler(&format!("{plan} 1.37")).assert().code(0).stderr_eq("");
    descheduler(&format!("{plan} v1.29.4")).assert().code(0).stderr_eq(str![[r#"
note: kube-scheduler v1.29.4 is not known (known: 1.34, 1.35, 1.36, 1.37); it is taken for 1.34

"#]]);
    descheduler(&format!("{plan} newest")).assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: `--scheduler-version`: `newest` is no version
help: known: 1.34, 1.35, 1.36, 1.37

"#]]);
}

#[test]
fn pods_that_nothing_can_be_said_of() {
    place("gated").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: the pod `shop/gated` has scheduling gates, so the scheduler leaves it alone
help: ask again when `spec.schedulingGates` is empty

"#]]);
    place("foreign").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: no profile is called `volcano`, as the pod's `schedulerName` says
help: where another scheduler would put it is not known

"#]]);
    place("web-11").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: there is no pod `shop/web-11` in `dump`, `waiting.yaml`
help: did you mean `shop/web-1`?

"#]]);
    descheduler("place --cluster dump --pod web-1").assert().code(1).stdout_eq("").stderr_eq(str![
        [r#"
error: `--pod`: expected a namespace and a name, found `web-1`
help: did you mean `shop/web-1`?

"#]
    ]);
    descheduler("place --cluster dump --pod store/nothing")
        .assert()
        .code(1)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error: there is no pod `store/nothing` in `dump`

"#]]);
    descheduler("place --cluster dump").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: the following required arguments were not provided:
  --pod <NAMESPACE/NAME>

Usage: descheduler place --cluster <PATH> --pod <NAMESPACE/NAME> [OPTIONS]

For more information, try '--help'.

"#]]);
}

/// Runs cases given on standard input.
fn cases(text: &str) -> Command {
    descheduler("place --cases -").stdin(text)
}

const NODE: &str =
    r#"{"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "pods": "9"}}}"#;
const POD: &str =
    r#"{"metadata": {"name": "x", "namespace": "d", "uid": "u"}, "spec": {"containers": []}}"#;

/// A node that could hand out devices, for all that is known, might win or not be feasible.
#[test]
fn devices_are_not_known() {
    let case = |version: &str, slice: &str, allocatable: &str| {
        let node = format!(
            r#"{{"metadata": {{"name": "n", "labels": {{"gpu": "yes"}}}}, "status": {{"allocatable":
                {{"pods": "1" {allocatable}}}}}}}"#
        );
        let text = format!(
            r#"{{"id": "a", "nodes": [{node}], "pod": {{"metadata": {{"name": "p", "uid": "u"}},
                "spec": {{"containers": [{{"resources": {{"requests": {{"a.b/gpu": "1"}}}}}}]}}}},
                "deviceClasses": [{{"metadata": {{"name": "c"}},
                    "spec": {{"extendedResourceName": "a.b/gpu"}}}}],
                "resourceSlices": [{slice}]}}"#
        );
        let output = descheduler("place --cases - -o json --scheduler-version")
            .arg(version)
            .stdin(text.replace('\n', ""))
            .assert()
            .code(0);
        String::from_utf8(output.get_output().stdout.clone()).expect("it is text")
    };
    let slice = |reach: &str| format!(r#"{{"metadata": {{"name": "s"}}, "spec": {{{reach}}}}}"#);
    let unknown =
        r#""preFilter":{"code":"UnschedulableAndUnresolvable","plugin":"DynamicResources"}"#;
    let nothing =
        r#""feasible":false,"code":"UnschedulableAndUnresolvable","plugin":"DynamicResources""#;
    let selector = |value: &str| {
        format!(
            r#""nodeSelector": {{"nodeSelectorTerms": [{{"matchExpressions":
                [{{"key": "gpu", "operator": "In", "values": ["{value}"]}}]}}]}}"#
        )
    };
    for (reach, expected) in [
        (r#""nodeName": "n""#.to_owned(), unknown),
        (r#""nodeName": "other""#.to_owned(), nothing),
        (selector("yes"), unknown),
        (selector("no"), nothing),
        (r#""allNodes": true"#.to_owned(), unknown),
        (r#""perDeviceNodeSelection": true"#.to_owned(), unknown),
    ] {
        let answer = case("1.36", &slice(&reach), "");
        assert!(answer.contains(expected), "{reach}: {answer}");
    }
    // Without any slice, none may have been asked for.
    assert!(case("1.36", "", "").contains(unknown));
    // A node that has the resource itself hands out no devices for it, and before 1.36 none does.
    let here = case("1.36", &slice(r#""allNodes": true"#), r#", "a.b/gpu": "1""#);
    assert!(here.contains(r#""feasible":true"#), "{here}");
    let before = case("1.35", &slice(r#""allNodes": true"#), "");
    assert!(before.contains(r#""plugin":"NodeResourcesFit""#), "{before}");
}

/// A claim that may be given back, or that is not met yet, may be met anywhere.
#[test]
fn claims_for_devices() {
    let case = |name: &str, status: &str| {
        let text = format!(
            r#"{{"id": "a", "nodes": [{{"metadata": {{"name": "n"}}, "status": {{"allocatable":
                {{"pods": "1"}}}}}}],
                "pod": {{"metadata": {{"name": "p", "uid": "u"}}, "spec": {{"resourceClaims":
                    [{{"name": "x", "{name}": "c"}}]}}}},
                "resourceClaims": [{{"metadata": {{"name": "c", "namespace": "default"}},
                    "status": {{{status}}}}}]}}"#
        );
        let output = descheduler("place --cases - -o json").stdin(text.replace('\n', ""));
        let output = output.assert().code(0);
        String::from_utf8(output.get_output().stdout.clone()).expect("it is text")
    };
    let named = "resourceClaimName";
    let users = |users: &[&str]| {
        let users: Vec<String> =
            users.iter().map(|user| format!(r#"{{"uid": "{user}"}}"#)).collect();
        format!(r#""reservedFor": [{}]"#, users.join(","))
    };
    let full: Vec<String> = (0..256).map(|user| user.to_string()).collect();
    let full: Vec<&str> = full.iter().map(String::as_str).collect();
    let met = r#""allocation": {}"#;
    let later = r#""allocation": {"devices": {"results": [{"bindingConditions": ["ready"]}]}}"#;
    for (name, status, known) in [
        (named, format!("{met}, {}", users(&["other"])), true),
        (named, format!("{met}, {}", users(&["u"])), true),
        (named, format!("{met}, {}", users(&full[1..])), true),
        (named, format!("{met}, {}", users(&full)), false),
        (named, format!("{met}, {}", users(&[])), false),
        (named, users(&["other"]), false),
        (named, format!("{later}, {}", users(&["other"])), false),
        ("resourceClaimTemplateName", format!("{met}, {}", users(&["other"])), false),
        ("another", format!("{met}, {}", users(&["other"])), false),
    ] {
        let answer = case(name, &status);
        assert_eq!(answer.contains(r#""feasible":true"#), known, "{name} {status}: {answer}");
        assert_eq!(answer.contains(r#""plugin":"DynamicResources""#), !known, "{answer}");
    }
}

#[test]
fn cases_line_by_line_or_in_a_list() {
    let one = |id: &str| format!(r#"{{"id": "{id}", "nodes": [{NODE}], "pod": {POD}}}"#);
    let expected = str![[r#"
{"id":"a","nodes":{"n":{"feasible":true,"scores":{"ImageLocality":0,"NodeResourcesFit":100,"TaintToleration":300},"total":400}}}
{"id":"b","nodes":{"n":{"feasible":true,"scores":{"ImageLocality":0,"NodeResourcesFit":100,"TaintToleration":300},"total":400}}}

"#]];
    let lines = format!("{}\n\n{}\n", one("a"), one("b"));
    cases(&lines).assert().code(0).stdout_eq(expected.clone()).stderr_eq("");
    let list = format!("[{}, {}]", one("a"), one("b"));
    cases(&list).assert().code(0).stdout_eq(expected).stderr_eq("");
    cases("").assert().code(0).stdout_eq("").stderr_eq("");
}

#[test]
fn cases_that_make_no_sense_are_named() {
    let pod = |from: &str, to: &str| POD.replace(from, to);
    let gated = pod(r#""containers""#, r#""schedulingGates": [{"name": "g"}], "containers""#);
    let foreign = pod(r#""containers""#, r#""schedulerName": "other", "containers""#);
    let odd = pod("[]", r#"[{"resources": {"requests": {"cpu": "much"}}}]"#);
    let config = r#""config": {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "x"}, "#;
    for (case, expected) in [
        (
            format!(r#"{{"id": "a", "nodes": [], "pod": {gated}}}"#),
            str![[r#"
error: case `a`: the pod has scheduling gates, so the scheduler leaves it alone

"#]],
        ),
        (
            format!(r#"{{"id": "a", "nodes": [], "pod": {foreign}}}"#),
            str![[r#"
error: case `a`: no profile is called `other`, as the pod's `schedulerName` says

"#]],
        ),
        (
            format!(r#"{{"id": "a", "nodes": [], "pod": {odd}}}"#),
            str![[r#"
error: case `a`: `pod[0]`: Pod d/x: `spec.containers[0].resources.requests.cpu`: expected a number and perhaps a suffix, such as 2, 0.5, 100m or 128Mi; 'c' at offset 2 is out of place

"#]],
        ),
        (
            format!(r#"{{"id": "a", {config} "nodes": [], "pod": {POD}}}"#),
            str![[r#"
error: case `a`: `config` cannot be used: 1:58: expected the kind `KubeSchedulerConfiguration`, found `x`

"#]],
        ),
        (
            format!(r#"{{"id": "a", "node": [], "pod": {POD}}}"#),
            str![[r#"
error: case `a`: it is not what a case should be: unknown field `node`, expected one of `id`, `pod`, `config`, `nodes`, `pods`, `nominated`, `namespaces`, `services`, `replicaSets`, `statefulSets`, `replicationControllers`, `pvcs`, `pvs`, `storageClasses`, `csiNodes`, `csiDrivers`, `csiStorageCapacities`, `volumeAttachments`, `deviceClasses`, `resourceClaims`, `resourceSlices`, `title`, `expect`, `note` at line 1 column 18

"#]],
        ),
        (
            format!(r#"{{"nodes": [], "pod": {POD}}}"#),
            str![[r#"
error: case 1: it is not what a case should be: missing field `id` at line 1 column 107

"#]],
        ),
        (
            format!(r#"{{"id": "a", "nodes": [5], "pod": {POD}}}"#),
            str![[r#"
error: case `a`: `nodes[0]`: value without a kind: is not an object

"#]],
        ),
        (
            r#"{"id": "a", "nodes": []}"#.to_owned(),
            str![[r#"
error: case `a`: it is not what a case should be: missing field `pod` at line 1 column 24

"#]],
        ),
        (
            r#"{"id": "a", "#.to_owned(),
            str![[r#"
error: `<stdin>`: case 1: EOF while parsing an object at line 1 column 12

"#]],
        ),
    ] {
        cases(&case).assert().code(1).stdout_eq("").stderr_eq(expected);
    }
    descheduler("place --cases none.json").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: cannot read `none.json`: No such file or directory (os error 2)

"#]]);
    descheduler("place --cases - -o text").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: cases are answered in JSON only
help: use `-o json`, or leave `-o` out

"#]]);
}
