//! Plans that are broken by hand: the audit finds each fault, and nothing in sound ones.

use descheduler_cluster::{NodeId, PodId, Snapshot};
use descheduler_engine::{Eviction, Limits, Plan, PlanReport, Policy, Reason, Stage, audit};
use descheduler_testkit::{Cluster, snapshot};

use super::toys::{FIRST, Guard, on_nodes, pod, policy, shield, step};

const CLUSTER: &str = "
    node a
    node b
    node c notready
    pod p on=a
    pod q on=a
    pod r on=b
    pod s on=c
    pod x/t on=b
    pod waits
";

fn first() -> Policy {
    policy(vec![step(&FIRST, |_| ())])
}

/// The eviction of a pod from where it is.
fn eviction(snapshot: &Snapshot, name: &str) -> Eviction {
    let pod = pod(snapshot, name);
    let node = snapshot.pod(pod).node.unwrap_or(snapshot.nodes()[0]);
    let reason = Reason::new("Wrong", "by hand");
    Eviction {
        pod,
        node,
        profile: 0,
        strategy: FIRST.name,
        reason,
        destinations: Vec::new(),
        set: None,
    }
}

/// What the audit says of a plan with these evictions.
fn said(snapshot: &Snapshot, policy: &Policy, evictions: Vec<Eviction>) -> Vec<String> {
    let plan = Plan { evictions, report: PlanReport::default() };
    audit(&plan, snapshot, policy).iter().map(ToString::to_string).collect()
}

/// The same for evictions of these pods.
fn said_of(snapshot: &Snapshot, policy: &Policy, names: &str) -> Vec<String> {
    let evictions = names.split_whitespace().map(|name| eviction(snapshot, name));
    said(snapshot, policy, evictions.collect())
}

#[test]
fn a_sound_plan() {
    let snapshot = snapshot(CLUSTER);
    assert_eq!(said_of(&snapshot, &first(), ""), [""; 0]);
    assert_eq!(said_of(&snapshot, &first(), "p q r x/t"), [""; 0]);
}

#[test]
fn wrong_pods_nodes_and_names() {
    let snapshot = snapshot(CLUSTER);
    let of = |name: &str| eviction(&snapshot, name);
    let on = |name: &str, node: NodeId| Eviction { node, ..of(name) };
    let b = snapshot.nodes()[1];
    for (evictions, expected) in [
        (vec![of("p"), of("q"), of("p")], "default/p: planned twice"),
        (vec![on("p", b)], "default/p: planned from a node it is not on"),
        (vec![of("waits")], "default/waits: planned from a node it is not on"),
        (vec![of("s")], "default/s: planned from a node outside the node set"),
        (
            vec![Eviction { profile: 1, ..of("p") }],
            "default/p: planned by profile 1, which is not there",
        ),
        (
            vec![Eviction { strategy: "Other", ..of("p") }],
            "default/p: planned by Other, which its profile does not run",
        ),
    ] {
        assert_eq!(said(&snapshot, &first(), evictions), [expected]);
    }
}

#[test]
fn nodes_that_are_not_selected_or_too_few() {
    let snapshot = snapshot("node a label:pool=x\nnode b label:pool=y\npod p on=a\npod q on=b");
    let policy = on_nodes("pool=x", first());
    assert_eq!(
        said_of(&snapshot, &policy, "p q"),
        [
            "evictions are planned with 1 nodes to work on",
            "default/q: planned from a node outside the node set",
        ]
    );
    assert_eq!(said_of(&snapshot, &policy, ""), [""; 0]);
}

#[test]
fn pods_that_could_not_be_read() {
    let cluster = "node a\nnode b\npod p on=a\n| {spec: {nodeSelector: 5}}
        pod q on=a\n| {metadata: {uid: ''}}";
    let (snapshot, _) = Cluster::parse(cluster).expect("it can be read").read();
    let unread = "planned although it could not be read";
    assert_eq!(
        said_of(&snapshot, &first(), "p q"),
        [format!("default/p: {unread}"), format!("default/q: {unread}")]
    );
}

#[test]
fn limits() {
    let snapshot = snapshot(CLUSTER);
    let evictions = "p q r x/t";
    let none = Limits::default();
    for (limits, expected) in [
        (Limits { total: Some(4), per_node: Some(2), per_namespace: Some(3) }, vec![]),
        (Limits { total: Some(3), ..none }, vec!["4 evictions break the total limit "]),
        (
            Limits { per_node: Some(1), ..none },
            vec!["2 evictions break the node limit a", "2 evictions break the node limit b"],
        ),
        (
            Limits { per_namespace: Some(2), ..none },
            vec!["3 evictions break the namespace limit default"],
        ),
        (
            Limits { per_namespace: Some(0), ..none },
            vec![
                "3 evictions break the namespace limit default",
                "1 evictions break the namespace limit x",
            ],
        ),
    ] {
        let policy = Policy { limits, ..first() };
        assert_eq!(said_of(&snapshot, &policy, evictions), expected, "{limits:?}");
    }
}

#[test]
fn budgets() {
    for (words, budgets, expected) in [
        ("", "budget b everything allowed=3", vec![]),
        ("", "budget b everything allowed=2", vec!["budget b: 3 disruptions planned"]),
        ("", "budget b allowed=0", vec![]),
        ("", "budget b everything allowed=3 unprocessed", vec!["budget b: 3 disruptions planned"]),
        (
            "owner=ReplicaSet/web",
            "budget b everything maxUnavailable=3",
            vec!["budget b: 3 disruptions planned"],
        ),
        ("phase=Failed", "budget b everything allowed=0\nbudget c everything allowed=0", vec![]),
        ("phase=Pending", "budget b everything allowed=0", vec![]),
        ("phase=Succeeded", "budget b everything allowed=0", vec![]),
        (
            "phase=Unknown",
            "budget b everything allowed=0 healthy=0/1",
            vec!["budget b: 3 disruptions planned"],
        ),
        ("unready", "budget b everything allowed=0 healthy=1/1", vec![]),
        (
            "unready",
            "budget b everything allowed=0 healthy=1/2",
            vec!["budget b: 3 disruptions planned"],
        ),
        ("unready", "budget b everything allowed=0 healthy=1/2 unhealthy=AlwaysAllow", vec![]),
        (
            "",
            "budget b everything allowed=3\nbudget c everything allowed=2",
            vec![
                "default/p-1: covered by several budgets",
                "default/p-2: covered by several budgets",
                "default/p-3: covered by several budgets",
                "budget c: 3 disruptions planned",
            ],
        ),
    ] {
        let snapshot = snapshot(&format!("node a\nnode b\npod p x3 on=a {words}\n{budgets}"));
        let said = said_of(&snapshot, &first(), "p-1 p-2 p-3");
        assert_eq!(said, expected, "{words}\n{budgets}");
    }
}

#[test]
fn protections_of_either_stage() {
    let evict = "annotation:descheduler.alpha.kubernetes.io/evict";
    let cluster =
        format!("node a\nnode b\npod p on=a\npod q on=a {evict}=true\npod r on=a {evict}=false");
    let snapshot = snapshot(&cluster);
    let guarded = "planned although protected: it is guarded";
    let never = "default/r: planned although protected: its annotation \
        `descheduler.alpha.kubernetes.io/evict` is `false`";
    for (guards, expected) in [
        (vec![], vec![never.to_owned()]),
        (
            vec![Guard::of_all("A"), Guard { stage: Stage::PreEviction, ..Guard::of_all("B") }],
            vec![format!("default/p: {guarded}"), never.to_owned()],
        ),
        (
            vec![Guard { stage: Stage::PreEviction, ..Guard::of_all("A") }],
            vec![format!("default/p: {guarded}"), never.to_owned()],
        ),
        (
            vec![Guard { overruled: false, ..Guard::of_all("A") }],
            vec![
                format!("default/p: {guarded}"),
                format!("default/q: {guarded}"),
                never.to_owned(),
            ],
        ),
    ] {
        let mut policy = first();
        policy.profiles[0].shield = shield(guards);
        assert_eq!(said_of(&snapshot, &policy, "p q r"), expected);
    }
}

/// A pod may need the room that an earlier move frees, so the order of the plan counts.
#[test]
fn moves_are_made_again_in_their_order() {
    let snapshot = snapshot("node a\nnode b\npod p on=a\npod q on=b");
    let mut policy = first();
    let needs_room = |view: &descheduler_scheduler::View<'_>, pod: PodId| {
        let [a, b] = *view.snapshot().nodes() else { return false };
        view.snapshot().pod(pod).node != Some(a) || view.pods_on(b).next().is_none()
    };
    let guard = Guard { stage: Stage::PreEviction, may_go: needs_room, ..Guard::of_all("NoRoom") };
    policy.profiles[0].shield = shield(vec![guard]);
    assert_eq!(said_of(&snapshot, &policy, "q p"), [""; 0]);
    let wrong = "default/p: planned although protected: it is guarded";
    assert_eq!(said_of(&snapshot, &policy, "p q"), [wrong]);
}
