//! The command line as a user meets it: what is said, where, and with which exit code.
//!
//! The files lie in `cli/`. `SNAPSHOTS=overwrite cargo test -p descheduler --test cli` writes what
//! the program says into this file.

#[path = "common/program.rs"]
mod program;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use snapbox::str;

use program::descheduler;

/// What plans that would evict something say without a history.
const NO_HISTORY: &str = "\
note: no `--history` is given, so it cannot be seen whether pods move in a loop from one run to the next
";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cli")
}

#[test]
fn help() {
    let help = str![[r#"
Finds pods that would be better off elsewhere, so that the scheduler can place them anew

Usage: descheduler <COMMAND>
       descheduler --policy-config-file <FILE> [OPTIONS]

Commands:
  plan        Show what would be evicted and why, and what stays and why; changes nothing
  report      Write a plan as one page of HTML that needs nothing else; changes nothing
  explain     Show what every strategy and every check says about one pod or node; changes nothing
  simulate    Show what would happen over many cycles, and whether the policy settles; changes
              nothing
  place       Show where the scheduler could put a pod now, how well, and why not elsewhere
  validate    Say what is wrong with policies, with file, line and column; needs no cluster
  convert     Print the v1alpha2 policy that a v1alpha1 policy stands for, with comments on what
              changed
  capture     Put all that plans are made from into one file that `--cluster` reads; changes nothing
  strategies  List the strategies, or show what one does, its arguments and an example
  version     Print the version
  completion  Print a script that makes a shell complete commands and flags
  help        Print this message or the help of the given subcommand(s)

Options:
  -h, --help     Print help
  -V, --version  Print version

Without a command: the service:
      --policy-config-file <FILE>
          The policy, descheduler/v1alpha2 or v1alpha1; read anew before each cycle
      --descheduling-interval <DURATION>
          From the beginning of one cycle to that of the next, as 5m; 0 for one cycle and no more
          [default: 0]
      --dry-run[=<BOOL>]
          Make plans and tell them, and change nothing
      --placement <MODE>
          What must be known about where a pod would land [default: what the policy says, else
          improving] [possible values: off, feasible, improving]
      --scheduler-config <FILE>
          What kube-scheduler is configured with [default: what it does by itself]
      --scheduler-version <VERSION>
          The version of kube-scheduler: 1.34, 1.35, 1.36 or 1.37 [default: 1.36, or what the live
          cluster has]
      --feature-gates <NAME=BOOL,...>
          Switches such as EvictionsInBackground=true, separated by commas

The connection of the service:
      --client-connection-kubeconfig <FILE>
          How to reach the cluster [default: the service account, in a pod] [alias: --kubeconfig]
      --client-connection-qps <NUMBER>
          Requests a second; 0 stands for 5, less for as many as there are [default: 0]
      --client-connection-burst <NUMBER>
          Requests that may come at once; 0 stands for 10 [default: 0]

Leader election of the service:
      --leader-elect[=<BOOL>]
          Act only while holding a lease
      --leader-elect-lease-duration <DURATION>
          How long others wait for a holder that is silent [default: 2m17s]
      --leader-elect-renew-deadline <DURATION>
          How long to act without having renewed the lease [default: 1m47s]
      --leader-elect-retry-period <DURATION>
          How long between two tries to take or renew it [default: 26s]
      --leader-elect-resource-lock <KIND>
          Only leases are there [default: leases]
      --leader-elect-resource-name <NAME>
          The name of the lease [default: descheduler]
      --leader-elect-resource-namespace <NAMESPACE>
          Its namespace [default: kube-system]

The HTTPS endpoint of the service:
      --bind-address <IP>
          Where to listen [default: 0.0.0.0]
      --secure-port <PORT>
          The port; 0 for none [default: 10258]
      --cert-dir <FOLDER>
          Accepted, and without effect, as upstream [default: apiserver.local.config/certificates]
      --tls-cert-file <FILE>
          The certificate, in PEM [default: one that is made at the start]
      --tls-private-key-file <FILE>
          Its key, in PEM
      --tls-sni-cert-key <CERT,KEY[:DOMAIN,...]>
          Another certificate and its key, with the domains that it is for; may be given several
          times
      --tls-cipher-suites <NAME,...>
          Cipher suites, by their names in Go
      --tls-curve-preferences <NUMBER,...>
          Key exchanges, by their numbers in Go
      --tls-min-version <VERSION>
          The oldest version, such as VersionTLS13 [default: VersionTLS12]
      --enable-http2[=<BOOL>]
          Serve HTTP/2, too
      --http2-max-streams-per-connection <NUMBER>
          Streams in one connection; 0 stands for 100 [default: 0]
      --disable-http2-serving[=<BOOL>]
          Accepted, and without effect: HTTP/2 is off unless `--enable-http2` is given
      --permit-port-sharing[=<BOOL>]
          Let others listen on the port (SO_REUSEPORT)
      --permit-address-sharing[=<BOOL>]
          Let others listen on the address (SO_REUSEADDR)
      --disable-metrics[=<BOOL>]
          Serve no metrics

The log of the service:
  -v, --v <LEVEL>
          How much to say [default: 0]
      --vmodule <PATTERN=LEVEL,...>
          How much to say of which files, as upstream; accepted
      --logging-format <FORMAT>
          text or json [default: text]
      --log-flush-frequency <DURATION>
          Accepted: nothing waits to be flushed [default: 5s]
      --log-text-split-stream[=<BOOL>]
          Accepted, as upstream, where it cannot be switched on
      --log-text-info-buffer-size <BYTES>
          Accepted, as upstream, where it cannot be switched on [default: 0]
      --log-json-split-stream[=<BOOL>]
          Accepted, as upstream, where it cannot be switched on
      --log-json-info-buffer-size <BYTES>
          Accepted, as upstream, where it cannot be switched on [default: 0]

Traces of the service:
      --otel-collector-endpoint <ADDRESS>      The collector, as host:port
      --otel-transport-ca-cert <FILE>          The authority behind its certificate, in PEM
      --otel-service-name <NAME>               The attribute `service.name` [default: descheduler]
      --otel-trace-namespace <NAME>            The attribute `service.namespace`
      --otel-sample-rate <NUMBER>              The share of cycles that is traced [default: 1]
      --otel-fallback-no-op-on-error[=<BOOL>]  Go on without traces when they cannot be set up

"#]];
    descheduler("--help").assert().code(0).stdout_eq(help).stderr_eq("");
}

#[test]
fn help_of_plan() {
    let help = str![[r#"
Show what would be evicted and why, and what stays and why; changes nothing

Usage: descheduler plan --policy <FILE> (--cluster <PATH> | --kubeconfig <FILE>) [OPTIONS]

Options:
      --policy <FILE>                The policy, descheduler/v1alpha2 or v1alpha1
      --cluster <PATH>               A file or folder with objects of the cluster in YAML or JSON,
                                     or - for standard input; may be given several times
      --kubeconfig <FILE>            Instead of files: how to reach a live cluster [default: the
                                     service account, in a pod]
      --now <RFC3339>                The moment that ages are counted from [default: that of a
                                     capture, else the newest timestamp in the cluster files; live:
                                     now]
      --placement <MODE>             What must be known about where a pod would land [default: what
                                     the policy says, else improving] [possible values: off,
                                     feasible, improving]
      --scheduler-config <FILE>      What kube-scheduler is configured with [default: what it does
                                     by itself]
      --scheduler-version <VERSION>  The version of kube-scheduler: 1.34, 1.35, 1.36 or 1.37
                                     [default: 1.36, or what the live cluster has]
  -o, --output <FORMAT>              How to print the plan [default: text] [possible values: text,
                                     json]
      --history <FILE>               What to remember from one run to the next, so that moves that
                                     did not help are not planned again and again; written anew by
                                     each run
      --check                        Exit with 3 when anything would be evicted
      --timings                      Say on standard error what it cost, as one line of JSON
  -h, --help                         Print help

A dump of a cluster, for --cluster; kinds that are missing are no error:
  kubectl get -A -o yaml /
      nodes,pods,namespaces,priorityclasses,pdb,pvc,pv,storageclasses,rs,rc,sts,deploy,jobs,ds,svc

Exit codes: 0 done, 1 you can fix it, 2 environment or bug; 3 with --check when there is work

"#]];
    descheduler("plan --help").assert().code(0).stdout_eq(help.clone()).stderr_eq("");
    descheduler("help plan").assert().code(0).stdout_eq(help).stderr_eq("");
}

#[test]
fn version() {
    for arguments in ["--version", "-V"] {
        descheduler(arguments).assert().code(0).stdout_eq("descheduler [..]\n").stderr_eq("");
    }
    let line = "Descheduler version {Major:0 Minor:[..] GitVersion:v0.[..]}\n";
    descheduler("version").assert().code(0).stdout_eq(line).stderr_eq("");
}

#[test]
fn completion_knows_the_commands_and_their_flags() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let output = descheduler(&format!("completion {shell}")).assert().code(0).stderr_eq("");
        let script = String::from_utf8(output.get_output().stdout.clone()).expect("a script");
        for word in ["simulate", "scheduler-config", "policy-config-file"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    let error = str![[r#"
error: invalid value 'sh' for '<SHELL>'
  [possible values: bash, elvish, fish, powershell, zsh]

For more information, try '--help'.

"#]];
    descheduler("completion sh").assert().code(1).stdout_eq("").stderr_eq(error);
}

#[test]
fn the_service_says_what_it_needs() {
    for (flags, error, help) in [
        (
            "",
            "deschedulerPolicy is nil: no policy is given",
            "name its file with `--policy-config-file`",
        ),
        (
            "--policy_config_file=policy.yaml -v=3",
            "this is no pod of a cluster, and no kubeconfig is given",
            "name one with `--kubeconfig`; `descheduler plan` makes plans from files, too",
        ),
        (
            "--policy-config-file policy.yaml --kubeconfig x --leader-elect",
            "leaderElection must be used with deschedulingInterval",
            "set `--descheduling-interval`",
        ),
        (
            "--policy-config-file policy.yaml --kubeconfig x --client-connection-qps 5",
            "burst is required to be greater than 0 when RateLimiter is not set and QPS is set to \
             greater than 0",
            "set `--client-connection-burst`",
        ),
        (
            "--feature-gates Foo=true",
            "unrecognized feature gate: Foo",
            "known: EvictionsInBackground, AllAlpha, AllBeta",
        ),
    ] {
        let expected = format!("error: {error}\nhelp: {help}\n");
        descheduler(flags).assert().code(1).stdout_eq("").stderr_eq(expected);
    }
    let lease = "--policy-config-file policy.yaml --kubeconfig x --leader-elect=true \
                 --descheduling-interval 5m";
    for (flags, error) in [
        (
            "--leader-elect-lease-duration=20s --leader-elect-renew-deadline 20s",
            "leaderElection: leaseDuration must be greater than renewDeadline",
        ),
        ("--leader-elect-resource-namespace=", "leaderElection: namespace may not be empty"),
        ("--leader-elect-resource-name=", "leaderElection: name may not be empty"),
        (
            "--leader-elect-resource-lock configmaps",
            "unable to create leader election lock: configmaps lock is removed, migrate to leases",
        ),
    ] {
        let expected = format!("error: {error}\n");
        descheduler(&format!("{lease} {flags}")).assert().code(1).stdout_eq("").stderr_eq(expected);
    }
}

#[test]
fn every_flag_of_upstream_is_accepted() {
    // As docs/spec/runtime.md section 1 lists them; the last one is what is missing then.
    let flags = "--descheduling-interval=5m --dry-run --kubeconfig=a \
        --client-connection-kubeconfig=b --client-connection-qps=-1 --client-connection-burst=0 \
        --disable-metrics --enable-http2=false --feature-gates=EvictionsInBackground=true \
        --feature-gates AllAlpha=false,AllBeta=false --otel-collector-endpoint=c:1 \
        --otel-transport-ca-cert=d --otel-service-name=e --otel-trace-namespace=f \
        --otel-sample-rate=0.5 --otel-fallback-no-op-on-error --leader-elect \
        --leader-elect-lease-duration=2m17s --leader-elect-renew-deadline=1m47s \
        --leader-elect-retry-period=26s --leader-elect-resource-lock=leases \
        --leader-elect-resource-name=g --leader-elect-resource-namespace=h --bind-address=0.0.0.0 \
        --secure-port=-1 --cert-dir=i --tls-cert-file=j --tls-private-key-file=k \
        --tls-sni-cert-key=l,m:n --tls-sni-cert-key=o,p --tls-cipher-suites=TLS_X,TLS_Y \
        --tls-curve-preferences=23,24 --tls-min-version=VersionTLS13 \
        --http2-max-streams-per-connection=100 --disable-http2-serving --permit-port-sharing=t \
        --permit-address-sharing=0 -v 3 --v=4 --vmodule=a=1 --logging-format=json \
        --log-flush-frequency=5s --log-text-split-stream --log-text-info-buffer-size=1Mi \
        --log-json-split-stream --log-json-info-buffer-size=0";
    // `--v` is `-v` again, and the last one counts; one kubeconfig is the other.
    let nil = "{\"ts\":[..],\"msg\":\"command failed\",\"err\":\"deschedulerPolicy is nil: [..]\n";
    descheduler(flags).assert().code(1).stdout_eq("").stderr_eq(nil);
}

#[test]
fn an_unknown_command() {
    descheduler("paln --policy x").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: unknown command `paln`
help: did you mean `plan`?

"#]]);
    descheduler("conquer").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: unknown command `conquer`
help: `descheduler --help` lists the commands

"#]]);
}

#[test]
fn wrong_usage_is_for_the_user_to_fix() {
    let wrong = [
        (
            "plan",
            str![[r#"
error: the following required arguments were not provided:
  --policy <FILE>

Usage: descheduler plan --policy <FILE> (--cluster <PATH> | --kubeconfig <FILE>) [OPTIONS]

For more information, try '--help'.

"#]],
        ),
        (
            "plan --policy policy.yaml",
            str![[r#"
error: neither `--cluster` nor `--kubeconfig` is given
help: name files, as `kubectl get -A -o yaml nodes,pods,..` writes them, or a kubeconfig; in a pod of the cluster neither is needed

"#]],
        ),
        (
            "plan --policy policy.yaml --cluster dump --dry-run",
            str![[r#"
error: unexpected argument '--dry-run' found

Usage: descheduler plan --policy <FILE> (--cluster <PATH> | --kubeconfig <FILE>) [OPTIONS]

For more information, try '--help'.

"#]],
        ),
        (
            "plan --policy policy.yaml --cluster dump -o yaml",
            str![[r#"
error: invalid value 'yaml' for '--output <FORMAT>'
  [possible values: text, json]

For more information, try '--help'.

"#]],
        ),
        (
            "plan --policy policy.yaml --cluster dump --now yesterday",
            str![[r#"
error: invalid value 'yesterday' for '--now <RFC3339>': expected a moment with its offset, such as 2026-01-31T12:00:00Z

For more information, try '--help'.

"#]],
        ),
        (
            "plan --policy policy.yaml --cluster dump --now 2026-01-01T00:00:00",
            str![[r#"
error: invalid value '2026-01-01T00:00:00' for '--now <RFC3339>': expected a moment with its offset, such as 2026-01-31T12:00:00Z

For more information, try '--help'.

"#]],
        ),
        (
            "plan --policy policy.yaml --cluster dump --placement perfect",
            str![[r#"
error: invalid value 'perfect' for '--placement <MODE>'
  [possible values: off, feasible, improving]

For more information, try '--help'.

"#]],
        ),
        (
            "plan --policy policy.yaml --policy-config-file policy.yaml --cluster dump",
            str![[r#"
error: the argument '--policy <FILE>' cannot be used multiple times

Usage: descheduler plan --policy <FILE> (--cluster <PATH> | --kubeconfig <FILE>) [OPTIONS]

For more information, try '--help'.

"#]],
        ),
        (
            "plan --policy policy.yaml --kubeconfig config",
            str![[r#"
error: cannot use the kubeconfig `config`: failed to read kubeconfig from '"config"': No such file or directory (os error 2)

"#]],
        ),
    ];
    for (arguments, expected) in wrong {
        descheduler(arguments).assert().code(1).stdout_eq("").stderr_eq(expected);
    }
}

#[test]
fn a_plan_for_people() {
    descheduler("plan --policy policy.yaml --cluster dump")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
2 of 6 pods would move: 2 strategies, 2 nodes relieved
the cluster as of 2026-01-01T06:00:00Z: 3 nodes, 6 pods

                               moves   kept
RemovePodsViolatingNodeTaints      1      3
RemoveDuplicates                   1      1

Moves           from  why
RemovePodsViolatingNodeTaints  1 pod
  shop/cache-1  a     does not tolerate example.com/old=true:NoSchedule

RemoveDuplicates  1 pod
  shop/web-2    b     2 of 2 replicas on b, at most 1

Kept  3 pods that a strategy would move
RemovePodsViolatingNodeTaints  3 pods
  2  DisruptionBudget  disruption budget `db` allows no disruption
                       shop/db-0, shop/db-1
  1  NoOwner           it has no owner that would recreate it
                       shop/loner

RemoveDuplicates  1 pod
  1  DisruptionBudget  disruption budget `db` allows no disruption
                       shop/db-0

Notes
  skipped 1 object of kinds that no rule looks at: 1 Ingress

"#]])
        .stderr_eq(NO_HISTORY);
}

#[test]
fn a_plan_for_programs() {
    descheduler("plan --policy-config-file policy.yaml --cluster dump --cluster odd.yaml -o json")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
{
  "apiVersion": "descheduler/plan/v1",
  "snapshot": {"takenAt": "2026-01-01T07:00:00Z", "nodes": 3, "pods": 7},
  "evictions": [
    {"namespace": "shop", "name": "cache-1", "uid": "u-cache-1", "node": "a", "profile": "default", "strategy": "RemovePodsViolatingNodeTaints", "code": "TaintNotTolerated", "reason": "does not tolerate example.com/old=true:NoSchedule", "destinations": []},
    {"namespace": "shop", "name": "web-2", "uid": "u-web-2", "node": "b", "profile": "default", "strategy": "RemoveDuplicates", "code": "DuplicateOnNode", "reason": "2 of 2 replicas on b, at most 1", "destinations": []}
  ],
  "refusals": [
    {"namespace": "shop", "name": "db-0", "node": "a", "profile": "default", "strategy": "RemovePodsViolatingNodeTaints", "code": "DisruptionBudget", "reason": "disruption budget `db` allows no disruption"},
    {"namespace": "shop", "name": "db-1", "node": "a", "profile": "default", "strategy": "RemovePodsViolatingNodeTaints", "code": "DisruptionBudget", "reason": "disruption budget `db` allows no disruption"},
    {"namespace": "shop", "name": "loner", "node": "a", "profile": "default", "strategy": "RemovePodsViolatingNodeTaints", "code": "NoOwner", "reason": "it has no owner that would recreate it"},
    {"namespace": "shop", "name": "db-0", "node": "a", "profile": "default", "strategy": "RemoveDuplicates", "code": "DisruptionBudget", "reason": "disruption budget `db` allows no disruption"}
  ],
  "anomalies": [
    {"object": "Pod shop/web-3", "problem": "`spec.containers[0].resources.requests.cpu`: expected a number and perhaps a suffix, such as 2, 0.5, 100m or 128Mi; 'l' at offset 0 is out of place", "field": "spec.containers[0].resources.requests.cpu", "file": "odd.yaml", "index": 0}
  ],
  "notes": [
    {"text": "skipped 1 object of kinds that no rule looks at: 1 Ingress"}
  ]
}

"#]])
        .stderr_eq(NO_HISTORY);
}

#[test]
fn several_cluster_files_are_one_cluster() {
    let whole = descheduler("plan --policy policy.yaml --cluster dump").output().expect("it runs");
    let parts = "--cluster dump/rest.yaml --cluster dump/pods.json --cluster dump/nodes.yaml";
    descheduler(&format!("plan --policy policy.yaml {parts} --cluster dump/pods.json"))
        .assert()
        .code(0)
        .stdout_eq(String::from_utf8(whole.stdout).expect("it is text"))
        .stderr_eq(NO_HISTORY);
}

#[test]
fn standard_input() {
    let nodes = fs::read(folder().join("dump/nodes.yaml")).expect("it is there");
    descheduler("plan --policy policy.yaml --cluster dump/pods.json --cluster - --placement off")
        .stdin(nodes)
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
4 of 6 pods would move: 2 strategies, 2 nodes relieved
the cluster as of 2026-01-01T06:00:00Z: 3 nodes, 6 pods

                               moves   kept
RemovePodsViolatingNodeTaints      3      1
RemoveDuplicates                   1      0

Moves           from  why
RemovePodsViolatingNodeTaints  3 pods
  shop/cache-1  a     does not tolerate example.com/old=true:NoSchedule
  shop/db-0     a     does not tolerate example.com/old=true:NoSchedule
  shop/db-1     a     does not tolerate example.com/old=true:NoSchedule

RemoveDuplicates  1 pod
  shop/web-2    b     2 of 2 replicas on b, at most 1

Kept  1 pod that a strategy would move
RemovePodsViolatingNodeTaints  1 pod
  1  NoOwner  it has no owner that would recreate it
              shop/loner

Notes
  the cluster files hold no PodDisruptionBudget: budgets are taken to be absent

"#]])
        .stderr_eq(NO_HISTORY);
    descheduler("plan --policy policy.yaml --cluster -")
        .stdin("")
        .assert()
        .code(1)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error: `<stdin>` holds no objects; expected the output of `kubectl get ... -o yaml` or `-o json`

"#]]);
}

#[test]
fn check_tells_whether_there_is_work() {
    let plan = "plan --policy policy.yaml --check --cluster dump/nodes.yaml";
    descheduler(plan)
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
nothing would move: the cluster files hold no pods
the cluster: 3 nodes, 0 pods

"#]])
        .stderr_eq("");
    descheduler(&format!("{plan} --cluster dump/pods.json")).assert().code(3).stderr_eq(NO_HISTORY);
}

#[test]
fn the_moment_decides_over_ages() {
    let plan = "plan --policy old.yaml --cluster dump --placement off";
    descheduler(plan)
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
nothing would move: the one strategy enabled finds no pod to move
the cluster as of 2026-01-01T06:00:00Z: 3 nodes, 6 pods

Notes
  skipped 1 object of kinds that no rule looks at: 1 Ingress

"#]])
        .stderr_eq("");
    descheduler(&format!("{plan} --now 2026-01-03T01:00:00+01:00"))
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
3 of 6 pods would move: 1 strategy, 2 nodes relieved
the cluster as of 2026-01-03T00:00:00Z: 3 nodes, 6 pods

Moves           from  why
PodLifeTime  3 pods
  shop/cache-1  a     2d old, at most 1d
  shop/web-1    b     2d old, at most 1d
  shop/web-2    b     1d18h old, at most 1d

Kept  3 pods that a strategy would move
PodLifeTime  3 pods
  2  DisruptionBudget  disruption budget `db` allows no disruption
                       shop/db-0, shop/db-1
  1  NoOwner           it has no owner that would recreate it
                       shop/loner

Notes
  skipped 1 object of kinds that no rule looks at: 1 Ingress

"#]])
        .stderr_eq(NO_HISTORY);
}

#[test]
fn how_moves_are_judged() {
    let plan = "plan --cluster dump -o json";
    for policy in ["policy.yaml", "advised.yaml"] {
        for mode in ["feasible", "Improving"] {
            descheduler(&format!("{plan} --policy {policy} --placement {mode}")).assert().code(0);
        }
    }
    descheduler(&format!("{plan} --policy improving.yaml")).assert().code(0).stderr_eq("");
    // The flag has the last word.
    descheduler(&format!("{plan} --policy improving.yaml --placement off"))
        .assert()
        .code(0)
        .stderr_eq("");
}

#[test]
fn advice_goes_to_standard_error_and_the_plan_goes_on() {
    descheduler("plan --policy advised.yaml --cluster dump/nodes.yaml --cluster dump/pods.json")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
3 of 6 pods would move: 1 strategy, 1 node relieved
the cluster as of 2026-01-01T06:00:00Z: 3 nodes, 6 pods

Moves           from  to           why
RemovePodsViolatingNodeTaints  3 pods
  shop/cache-1  a     c            does not tolerate example.com/old=true:NoSchedule
  shop/db-0     a     c            does not tolerate example.com/old=true:NoSchedule
  shop/db-1     a     b or 1 more  does not tolerate example.com/old=true:NoSchedule

Kept  1 pod that a strategy would move
RemovePodsViolatingNodeTaints  1 pod
  1  NoOwner  it has no owner that would recreate it
              shop/loner

Notes
  the cluster files hold no PodDisruptionBudget: budgets are taken to be absent

"#]])
        .stderr_eq(str![[r#"
note[not-enabled]: `RemoveDuplicates` is configured but not enabled
 --> advised.yaml:7:15
  |
7 |       - name: RemoveDuplicates
  |               ^^^^^^^^^^^^^^^^
  |
  = help: list it under `plugins` if it should run: `balance: {enabled: [RemoveDuplicates]}`

note: no `placement` is set, so pods move only where that is known to be better; `--placement off` plans as upstream does
note: no `--history` is given, so it cannot be seen whether pods move in a loop from one run to the next

"#]]);
}

#[test]
fn a_policy_with_errors() {
    descheduler("plan --policy wrong.yaml --cluster dump")
        .assert()
        .code(1)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error[missing-criterion]: one of `maxPodLifeTimeSeconds`, `states`, `conditions` and `exitCodes` of `PodLifeTime` must be given
 --> wrong.yaml:7:9
  |
7 |         args: {maxPodLifeTimeSecond: 60}
  |         ^^^^

error[unknown-argument]: unknown argument `maxPodLifeTimeSecond` of `PodLifeTime`
 --> wrong.yaml:7:16
  |
7 |         args: {maxPodLifeTimeSecond: 60}
  |                ^^^^^^^^^^^^^^^^^^^^
  |
  = help: did you mean `maxPodLifeTimeSeconds`?

error[unknown-strategy]: unknown strategy `RemoveDuplicate`
  --> wrong.yaml:10:27
   |
10 |       balance: {enabled: [RemoveDuplicate]}
   |                           ^^^^^^^^^^^^^^^
   |
   = help: did you mean `RemoveDuplicates`?

error: `wrong.yaml` cannot be used: 3 errors; nothing is planned

"#]]);
}

#[test]
fn files_that_cannot_be_read() {
    for (arguments, expected) in [
        (
            "--policy absent.yaml --cluster dump",
            str![[r#"
error: cannot read `absent.yaml`: No such file or directory (os error 2)

"#]],
        ),
        (
            "--policy dump --cluster dump",
            str![[r#"
error: cannot read `dump`: Is a directory (os error 21)

"#]],
        ),
        (
            "--policy policy.yaml --cluster absent.yaml",
            str![[r#"
error: cannot read `absent.yaml`: No such file or directory (os error 2)

"#]],
        ),
        (
            "--policy policy.yaml --cluster cut.json",
            str![[r#"
error: cut.json:3:29: the file ends inside an object that begins at line 3

"#]],
        ),
        (
            "--policy policy.yaml --cluster cut.yaml",
            str![[r#"
error: cut.yaml:3:5: while parsing a flow mapping, did not find expected ',' or '}'

"#]],
        ),
        (
            "--policy policy.yaml --cluster ../common",
            str![[r#"
error: folder `../common` holds no .json, .jsonl, .ndjson, .yaml or .yml files, compressed or not

"#]],
        ),
    ] {
        descheduler(&format!("plan {arguments}"))
            .assert()
            .code(1)
            .stdout_eq("")
            .stderr_eq(expected);
    }
}

#[test]
fn faults_are_told_and_the_plan_goes_on() {
    descheduler("plan --policy policy.yaml --cluster dump --cluster odd.yaml --cluster trick.json")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
2 of 8 pods would move: 2 strategies, 2 nodes relieved
the cluster as of 2026-01-01T07:00:00Z: 3 nodes, 8 pods

                               moves   kept
RemovePodsViolatingNodeTaints      1      3
RemoveDuplicates                   1      1

Moves           from  why
RemovePodsViolatingNodeTaints  1 pod
  shop/cache-1  a     does not tolerate example.com/old=true:NoSchedule

RemoveDuplicates  1 pod
  shop/web-2    b     2 of 2 replicas on b, at most 1

Kept  3 pods that a strategy would move
RemovePodsViolatingNodeTaints  3 pods
  2  DisruptionBudget  disruption budget `db` allows no disruption
                       shop/db-0, shop/db-1
  1  NoOwner           it has no owner that would recreate it
                       shop/loner

RemoveDuplicates  1 pod
  1  DisruptionBudget  disruption budget `db` allows no disruption
                       shop/db-0

Notes
  skipped 1 object of kinds that no rule looks at: 1 Ingress

Faults in the cluster files  2; what they concern stays
  Pod shop/web-3: `spec.containers[0].resources.requests.cpu`: expected a number and perhaps a suffix, such as 2, 0.5,
    100m or 128Mi; 'l' at offset 0 is out of place (odd.yaml, object 0)
  Pod shop/u{202e}/a/u{1b}[2Jb: `spec.nodeName`: invalid type: integer `7`, expected a string (trick.json, object 0)

"#]])
        .stderr_eq(NO_HISTORY);
}

#[test]
fn timings_are_one_line() {
    descheduler("plan --policy policy.yaml --cluster dump --timings")
        .assert()
        .code(0)
        .stderr_eq(str![[r#"
note: no `--history` is given, so it cannot be seen whether pods move in a loop from one run to the next
{"read_ms":[..],"plan_ms":[..],"audit_ms":[..],"write_ms":[..],"strategies":{"RemoveDuplicates":[..],"RemovePodsViolatingNodeTaints":[..]},"peak_rss_kib":[..]}

"#]]);
}

/// What the README shows is what its first command prints; `...` there stands for left out lines.
#[test]
fn the_sample_in_the_readme() {
    let root = folder().join("../../../..");
    let readme = fs::read_to_string(root.join("README.md")).expect("it is there");
    let mut blocks = readme.split("```");
    let command =
        blocks.find_map(|block| block.split_once("cargo run --release -- ")).expect("it is there");
    let sample = blocks.find_map(|block| block.strip_prefix("text\n")).expect("it is there");
    descheduler(command.1.trim()).current_dir(root).assert().code(0).stdout_eq(sample.to_owned());
}

/// A reader that has seen enough, as `head` has, is no error.
#[test]
fn a_reader_that_goes_away() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_descheduler"))
        .args(["plan", "--policy", "policy.yaml", "--cluster", "-", "--cluster", "dump/pods.json"])
        .current_dir(folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    // Only now can it go on.
    let nodes = fs::read(folder().join("dump/nodes.yaml")).expect("it is there");
    child.stdin.take().expect("it is piped").write_all(&nodes).expect("it listens");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), NO_HISTORY);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_is_full() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_descheduler"))
        .args(["plan", "--policy", "policy.yaml", "--cluster", "dump"])
        .current_dir(folder())
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .expect("it runs");
    snapbox::assert_data_eq!(
        String::from_utf8_lossy(&output.stderr).into_owned(),
        str![[r#"
error: cannot write to standard output: No space left on device (os error 28)

"#]]
    );
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn profiles_have_nodes_and_modes_of_their_own() {
    descheduler("plan --policy pools.yaml --cluster dump").assert().code(0).stdout_eq(str![[r#"
1 of 6 pods would move: 1 strategy, 1 node relieved
the cluster as of 2026-01-01T06:00:00Z: 3 nodes, 6 pods

                                         moves   kept
RemovePodsViolatingNodeTaints (tainted)      1      3
RemoveDuplicates (one)                       0      0

Moves           from  to why
RemovePodsViolatingNodeTaints (tainted)  1 pod
  shop/cache-1  a     c  does not tolerate example.com/old=true:NoSchedule

Kept  3 pods that a strategy would move
RemovePodsViolatingNodeTaints (tainted)  3 pods
  2  DisruptionBudget  disruption budget `db` allows no disruption
                       shop/db-0, shop/db-1
  1  NoOwner           it has no owner that would recreate it
                       shop/loner

Notes
  RemoveDuplicates (one): nothing moves: 1 of 3 nodes are ready and selected, and a pod can move only between two
  placement differs by profile: Feasible in `tainted`, Improving in `one`
  skipped 1 object of kinds that no rule looks at: 1 Ingress

"#]]);
    // The flag goes over all of them.
    let text = descheduler("plan --policy pools.yaml --cluster dump --placement off").output();
    let text = String::from_utf8(text.expect("it runs").stdout).expect("it is text");
    assert!(!text.contains("placement differs"), "{text}");
}

/// Two runs, between which the pod that was moved has come back to where it may not be.
#[test]
fn loops_across_runs_are_seen() {
    let folder = std::env::temp_dir().join(format!("cli-history-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let node = |name: &str, taints: &str| {
        format!(
            "---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\nspec: {{taints: [{taints}]}}\n\
             status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '110'}}, \
             conditions: [{{type: Ready, status: 'True'}}]}}\n"
        )
    };
    let nodes = node("a", "{key: gone, effect: NoSchedule}") + &node("b", "");
    let run = |pod: &str, created: &str, now: &str, flags: &str| {
        let pod = format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {pod}, namespace: default, uid: {pod}, \
             creationTimestamp: '{created}', ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, \
             name: web, uid: web, controller: true}}]}}\nspec: {{nodeName: a, containers: [{{name: c}}]}}\n\
             status: {{phase: Running, conditions: [{{type: Ready, status: 'True'}}]}}\n"
        );
        let cluster = folder.join("cluster.yaml");
        fs::write(&cluster, format!("{nodes}{pod}")).expect("it can be written");
        let line = format!(
            "plan --policy {} --cluster {} --now {now} --history {} {flags}",
            folder.join("policy.yaml").display(),
            cluster.display(),
            folder.join("history").display(),
        );
        descheduler(&line).output().expect("it runs")
    };
    let policy = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nplacement: {mode: Improving}\n\
                  profiles: [{name: p, pluginConfig: [{name: RemovePodsViolatingNodeTaints}], plugins: \
                  {deschedule: {enabled: [RemovePodsViolatingNodeTaints]}}}]\n";
    fs::write(folder.join("policy.yaml"), policy).expect("it can be written");
    let old = "2025-12-31T00:00:00Z";
    let first = run("web-1", old, "2026-01-01T00:00:00Z", "--check");
    assert_eq!(
        (first.status.code(), String::from_utf8_lossy(&first.stderr).as_ref()),
        (Some(3), "")
    );
    let second = run("web-2", "2026-01-01T00:00:01Z", "2026-01-01T00:05:00Z", "--check");
    let said = String::from_utf8_lossy(&second.stdout).into_owned();
    assert!(said.contains("moved once in 5 minutes without improvement"), "{said}");
    assert_eq!(
        (second.status.code(), String::from_utf8_lossy(&second.stderr).as_ref()),
        (Some(0), "")
    );
    // When the cool-down is over it is tried again.
    let third = run("web-2", "2026-01-01T00:00:01Z", "2026-01-01T00:15:00Z", "--check");
    assert_eq!(third.status.code(), Some(3));
    fs::write(folder.join("history"), "something else\n").expect("it can be written");
    let last = run("web-2", old, "2026-01-01T00:20:00Z", "");
    let said = String::from_utf8_lossy(&last.stderr).into_owned();
    assert!(said.contains("line 1: expected `descheduler-history v1`"), "{said}");
    assert_eq!((last.status.code(), last.stdout.len()), (Some(1), 0));
    fs::remove_dir_all(&folder).expect("it was there");
}
