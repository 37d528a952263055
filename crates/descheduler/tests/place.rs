//! `descheduler place` as a user meets it: what is said, where, and with which exit code.
//!
//! The files lie in `cli/`. `SNAPSHOTS=overwrite cargo test -p descheduler --test place` writes
//! what the program says into this file.

#[path = "common/program.rs"]
mod program;

use snapbox::cmd::Command;
use snapbox::str;

use program::descheduler;

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

Usage: descheduler place (--cluster <PATH> | --kubeconfig <FILE>) --pod <NAMESPACE/NAME> [OPTIONS]

Options:
      --cluster <PATH>               A file or folder with objects of the cluster in YAML or JSON,
                                     or - for standard input; may be given several times
      --kubeconfig <FILE>            Instead of files: how to reach a live cluster [default: the
                                     service account, in a pod]
      --pod <NAMESPACE/NAME>         The pod, as if it had no node yet
      --cases <FILE>                 Instead of a cluster: cases in JSON, one a line or in an array,
                                     each a cluster of its own
      --scheduler-config <FILE>      What kube-scheduler is configured with [default: what it does
                                     by itself]
      --scheduler-version <VERSION>  The version of kube-scheduler: 1.34, 1.35, 1.36 or 1.37
                                     [default: 1.36, or what the live cluster has]
      --now <RFC3339>                The moment that ages are counted from [default: that of a
                                     capture, else the newest timestamp in the cluster files; live:
                                     now]
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
    let commands = [
        "place --pod a/b --cluster dump",
        "plan --policy policy.yaml --cluster dump",
        "validate packing.yaml",
    ];
    for command in commands {
        descheduler(&format!("{command} --scheduler-config scheduler_wrong.yaml"))
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
    descheduler(&format!("{plan} 1.37")).assert().code(0).stderr_eq(str![[r#"
note: no `--history` is given, so it cannot be seen whether pods move in a loop from one run to the next

"#]]);
    descheduler(&format!("{plan} v1.29.4")).assert().code(0).stderr_eq(str![[r#"
note: kube-scheduler v1.29.4 is not known (known: 1.34, 1.35, 1.36, 1.37); it is taken for 1.34
note: no `--history` is given, so it cannot be seen whether pods move in a loop from one run to the next

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
error: expected a pod with its namespace, found `web-1`
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

Usage: descheduler place (--cluster <PATH> | --kubeconfig <FILE>) --pod <NAMESPACE/NAME> [OPTIONS]

For more information, try '--help'.

"#]]);
}
