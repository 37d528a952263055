//! What follows from a snapshot is what reading the changed objects would give.

use super::order::render_snapshot;
use super::*;

const NODES: [&str; 2] = [
    r#"{"kind": "Node", "metadata": {"name": "n1"}}"#,
    r#"{"kind": "Node", "metadata": {"name": "n2"}}"#,
];

/// What the pods belong to, and what the nodes were measured to use.
const OTHERS: [&str; 4] = [
    r#"{"kind": "ReplicaSet", "metadata": {"name": "rs", "namespace": "ns", "uid": "u-rs"},
        "spec": {"replicas": 2}}"#,
    r#"{"kind": "PersistentVolumeClaim", "metadata": {"name": "scratch", "namespace": "ns"}}"#,
    r#"{"kind": "NodeMetrics", "metadata": {"name": "n1"}, "timestamp": "2026-01-01T00:00:00Z",
        "usage": {"cpu": "700m"}}"#,
    r#"{"kind": "NodeMetrics", "metadata": {"name": "n2"}, "timestamp": "2026-01-01T00:00:00Z",
        "usage": {"cpu": "100m"}}"#,
];

const START: Timestamp = Timestamp::constant(1_767_225_600, 0);
const LATER: Timestamp = Timestamp::constant(1_767_225_660, 0);

/// A pod that has run on a node since some moment, or waits.
fn member(name: &str, label: &str, created: Timestamp, node: &str) -> String {
    let owner = r#""ownerReferences": [{"kind": "ReplicaSet", "name": "rs", "uid": "u-rs",
        "controller": true}]"#;
    let metadata =
        format!(r#", "creationTimestamp": "{created}", "labels": {{"app": "{label}"}}, {owner}"#);
    let state = match node {
        "" => r#", "status": {"phase": "Pending"}"#.to_owned(),
        _ => format!(
            r#", "spec": {{"nodeName": "{node}"}}, "status": {{"phase": "Running", "startTime":
            "{created}", "conditions": [{{"type": "Ready", "status": "True", "lastTransitionTime":
            "{created}"}}]}}"#
        ),
    };
    pod(name, &metadata, &state)
}

fn budget(allowed: i64) -> String {
    format!(
        r#"{{"kind": "PodDisruptionBudget", "metadata": {{"name": "web", "namespace": "ns"}},
        "spec": {{"minAvailable": 1, "selector": {{"matchLabels": {{"app": "web"}}}}}},
        "status": {{"disruptionsAllowed": {allowed}, "currentHealthy": {}, "desiredHealthy": 1}}}}"#,
        allowed + 1
    )
}

fn cluster(pods: &[String], allowed: i64) -> Snapshot {
    let budget = budget(allowed);
    let objects = NODES.into_iter().chain(OTHERS).chain(pods.iter().map(String::as_str));
    read(&objects.chain([&*budget]).collect::<Vec<_>>()).0
}

fn find(snapshot: &Snapshot, name: &str) -> PodId {
    let pods = snapshot.pods().iter().copied();
    pods.into_iter().find(|&id| *snapshot.pod(id).name == *name).expect("the pod")
}

fn node(snapshot: &Snapshot, name: &str) -> NodeId {
    let nodes = snapshot.nodes().iter().copied();
    nodes.into_iter().find(|&id| *snapshot.node(id).name == *name).expect("the node")
}

/// A pod in place of another, as that one is but for its name and its node.
fn like(snapshot: &Snapshot, of: PodId, name: &str, node: Option<NodeId>) -> Arrival {
    let old = snapshot.pod(of);
    Arrival {
        of,
        name: name.into(),
        uid: format!("u-{name}").into(),
        labels: snapshot.labels(of).into(),
        spec: Arc::clone(&old.spec),
        requests: Arc::clone(&old.requests),
        scored: old.scored,
        scored_held: old.scored_held,
        created: LATER,
        node,
    }
}

#[test]
fn pods_come_and_go_as_if_read_anew() {
    let before = cluster(
        &[
            member("a", "web", START, "n1"),
            member("b", "web", START, "n1"),
            member("waits", "job", START, ""),
            member("z", "db", START, "n2"),
        ],
        1,
    );
    let (a, waits) = (find(&before, "a"), find(&before, "waits"));
    let (n1, n2) = (node(&before, "n1"), node(&before, "n2"));
    let mut labelled = like(&before, find(&before, "z"), "y", None);
    labelled.labels = before.labels(waits).into();
    let come = vec![like(&before, a, "c", Some(n2)), labelled];
    let gone = vec![a, find(&before, "z")];
    let changes = Changes { now: LATER, gone, bound: vec![(waits, n1)], come };
    let after = Ingest::next(before, changes);

    let mut ran = member("waits", "job", LATER, "n1");
    ran = ran.replacen(&LATER.to_string(), &START.to_string(), 1);
    let read = cluster(
        &[
            member("b", "web", START, "n1"),
            member("c", "web", LATER, "n2"),
            ran,
            member("y", "job", LATER, ""),
        ],
        1,
    );
    assert_eq!(render_snapshot(&after), render_snapshot(&read));
}

#[test]
fn budgets_are_reckoned_anew() {
    let before = cluster(&[member("a", "web", START, "n1"), member("b", "web", START, "n2")], 1);
    let (a, b) = (find(&before, "a"), find(&before, "b"));
    let come = vec![like(&before, a, "c", None)];
    let changes = Changes { now: LATER, gone: vec![a], bound: Vec::new(), come };
    let after = Ingest::next(before.clone(), changes);
    let allowance = |snapshot: &Snapshot| {
        let [budget] = *snapshot.budgets_of(find(snapshot, "b")) else { panic!("one budget") };
        snapshot.budget(budget).allowance
    };
    // Of two pods one must be healthy, and the one that waits is not.
    assert_eq!(allowance(&after), Allowance::Known { disruptions: 0, healthy: true });
    let come = vec![like(&before, a, "c", before.pod(b).node)];
    let changes = Changes { now: LATER, gone: vec![a], bound: Vec::new(), come };
    let after = Ingest::next(before, changes);
    assert_eq!(allowance(&after), Allowance::Known { disruptions: 1, healthy: true });
}

#[test]
fn what_is_used_moves_along() {
    let metrics = r#"{"kind": "PodMetrics", "metadata": {"name": "a", "namespace": "ns"},
        "timestamp": "2026-01-01T00:00:00Z", "containers": [{"usage": {"cpu": "250m"}}]}"#;
    let pods = [member("a", "web", START, "n1")];
    let objects: Vec<&str> = NODES.into_iter().chain(OTHERS).chain([&*pods[0], metrics]).collect();
    let before = read(&objects).0;
    let (a, n1, n2) = (find(&before, "a"), node(&before, "n1"), node(&before, "n2"));
    let come = vec![like(&before, a, "b", Some(n2))];
    let changes = Changes { now: LATER, gone: vec![a], bound: Vec::new(), come };
    let after = Ingest::next(before, changes);
    let used = |node| after.node_usage(node).map(|usage| (usage.measured, usage.used.clone()));
    let cpu = |node| used(node).map(|(at, used)| (at, used.get(crate::ResourceId::CPU)));
    assert_eq!(cpu(n1), Some((Some(LATER), 450)));
    assert_eq!(cpu(n2), Some((Some(LATER), 350)));
    let b = after.pod_usage(find(&after, "b")).expect("known");
    assert_eq!((b.measured, b.used.get(crate::ResourceId::CPU)), (Some(LATER), 250));
}

#[test]
fn a_claim_of_a_pods_own_goes_to_its_successor() {
    let claim = r#"{"kind": "PersistentVolumeClaim", "metadata": {"name": "a-tmp",
        "namespace": "ns", "ownerReferences": [{"kind": "Pod", "name": "a", "uid": "u-a",
        "controller": true}]}}"#;
    let spec = r#", "spec": {"nodeName": "n1", "volumes": [{"name": "tmp", "ephemeral": {}}]}"#;
    let object = pod("a", "", spec);
    let before = read(&[NODES[0], claim, &object]).0;
    let a = find(&before, "a");
    let come = vec![like(&before, a, "b", before.pod(a).node)];
    let changes = Changes { now: LATER, gone: vec![a], bound: Vec::new(), come };
    let after = Ingest::next(before, changes);
    let b = after.pod(find(&after, "b"));
    let claim = after.claim(b.namespace, &b.ephemeral_claims[0]).expect("the claim");
    assert_eq!(after.text(claim.owners[0].uid), "u-b");
}
