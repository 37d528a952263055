use super::*;
use crate::disruption::Allowance;
use crate::intern::Sym;
use crate::pod::{Phase, Pod};
use crate::snapshot::{NodeId, PodId};

mod cases;
mod groups;
mod next;
mod order;
mod resources;
mod specs;
mod storage;
mod store;
mod workloads;

fn read(objects: &[&str]) -> (Snapshot, Vec<Anomaly>) {
    let mut ingest = Ingest::new();
    for (index, object) in (0..).zip(objects) {
        let source = Source { file: "dump".into(), index };
        ingest.add(&source, object.as_bytes()).expect("JSON");
    }
    ingest.finish(None)
}

fn said(anomalies: &[Anomaly]) -> Vec<String> {
    anomalies.iter().map(|anomaly| format!("{}: {}", anomaly.object, anomaly.problem)).collect()
}

/// A pod with fields added to `metadata` and to the object.
fn pod(name: &str, metadata: &str, rest: &str) -> String {
    format!(
        r#"{{"kind": "Pod", "metadata": {{"name": "{name}", "namespace": "ns", "uid": "u-{name}"
            {metadata}}} {rest}}}"#
    )
}

fn only(snapshot: &Snapshot) -> &Pod {
    assert_eq!(snapshot.pods().len(), 1);
    snapshot.pod(snapshot.pods()[0])
}

fn names(snapshot: &Snapshot) -> Vec<String> {
    snapshot.pods().iter().map(|&pod| snapshot.pod_name(pod)).collect()
}

#[test]
fn kinds_come_from_the_object_or_its_list() {
    for list in [
        r#"{"kind": "PodList", "items": [{"metadata": {"name": "a", "uid": "1"}},
                                         {"metadata": {"name": "b", "uid": "2"}}]}"#,
        r#"{"items": [{"metadata": {"name": "a", "uid": "1"}},
                      {"metadata": {"name": "b", "uid": "2"}}], "kind": "PodList"}"#,
        r#"{"items": [{"kind": "List", "items": [
               {"metadata": {"name": "a", "uid": "1"}, "kind": "Pod"},
               {"kind": "PodList", "items": [{"metadata": {"name": "b", "uid": "2"}}]}]}]}"#,
        r#"{"kind": "List", "items": [{"kind": "PodList", "items": null},
               {"kind": "Pod", "metadata": {"name": "a", "uid": "1", "labels": null}},
               {"kind": "Pod", "metadata": {"name": "b", "uid": "2"}, "spec": null}]}"#,
    ] {
        let (snapshot, anomalies) = read(&[list]);
        assert_eq!(anomalies, [], "{list}");
        assert_eq!(names(&snapshot), ["default/a", "default/b"], "{list}");
    }
}

#[test]
fn lists_in_lists_have_an_end() {
    let mut list = r#"{"kind": "Pod", "metadata": {"name": "a"}}"#.to_owned();
    for _ in 0..=LIST_DEPTH_MAX {
        list = format!(r#"{{"kind": "List", "items": [{list}]}}"#);
    }
    let source = Source { file: "dump".into(), index: 0 };
    let error = Ingest::new().add(&source, list.as_bytes()).expect_err("too deep");
    assert_eq!(error.message, "lists are nested more than 8 deep");
}

#[test]
fn what_is_no_json_is_an_error_with_its_position() {
    let source = Source { file: "dump".into(), index: 0 };
    for (text, line, column) in [
        ("{\"kind\": \"Pod\",\n  \"spec\": }", 2, 11),
        ("{\"kind\": \"List\",\n\"items\": [{\"kind\": \"Pod\"},\n {\"kind\" 1}]}", 3, 10),
        ("{\"kind\": \"Pod\"", 1, 14),
        ("{\"kind\": \"Whatever\", \"a\": [}", 1, 28),
        ("{} {}", 1, 4),
        ("", 1, 1),
    ] {
        let error = Ingest::new().add(&source, text.as_bytes()).expect_err(text);
        assert_eq!((error.line, error.column), (line, column), "{text}: {error}");
    }
}

#[test]
fn what_is_no_object_is_an_anomaly() {
    let (snapshot, anomalies) = read(&[
        r#"{"kind": "List", "items": [1, "x", null, [], {"metadata": {"name": "x"}}]}"#,
        r#"{"kind": "PodList", "items": {"a": 1}}"#,
        r#"{"kind": "ConfigMap", "metadata": 5}"#,
    ]);
    assert_eq!(snapshot.pods().len(), 0);
    assert_eq!(
        said(&anomalies),
        [
            "PodList: `items`: invalid type: map, expected a sequence",
            "object x: `kind`: the object has no `kind`",
            "value without a kind: is not an object",
        ]
    );
}

#[test]
fn an_unreadable_field_is_named_and_the_rest_is_kept() {
    let table = [
        (
            r#", "labels": ["app"]"#,
            "",
            "`metadata.labels`: invalid type: sequence, expected an object",
        ),
        (
            r#", "labels": {"app": 1}"#,
            "",
            "`metadata.labels.app`: invalid type: integer `1`, expected a string",
        ),
        (r#", "creationTimestamp": "never""#, "", "`metadata.creationTimestamp`: "),
        (
            "",
            r#", "spec": {"nodeName": "n", "tolerations": {}}"#,
            "`spec.tolerations`: invalid type: map, expected a sequence",
        ),
        (
            "",
            r#", "spec": {"nodeName": "n", "containers": [{"resources": {"requests": {"cpu": "lots"}}}]}"#,
            "`spec.containers[0].resources.requests.cpu`: ",
        ),
        (
            "",
            r#", "status": {"containerStatuses": [{"restartCount": 1e999}]}"#,
            "`status.containerStatuses[0].restartCount`: number out of range",
        ),
        ("", r#", "status": "ill""#, "`status`: invalid type: string \"ill\", expected an object"),
        (
            "",
            r#", "spec": {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
              [{"topologyKey": "z", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}]}}}"#,
            "`spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector`: `Is` is no operator",
        ),
    ];
    for (metadata, rest, problem) in table {
        let (snapshot, anomalies) = read(&[&pod("a", metadata, rest)]);
        let pod = only(&snapshot);
        assert!(pod.flawed, "{problem}");
        assert_eq!((&*pod.name, &*pod.uid), ("a", "u-a"), "{problem}");
        if rest.contains("nodeName") {
            assert_eq!(pod.node_name.map(|name| snapshot.text(name)), Some("n"), "{problem}");
        }
        let [said] = &said(&anomalies)[..] else { panic!("{anomalies:?}") };
        assert!(said.starts_with(&format!("Pod ns/a: {problem}")), "{said}");
    }
}

#[test]
fn several_flaws_of_one_pod_are_all_named() {
    let (snapshot, anomalies) = read(&[&pod(
        "a",
        r#", "labels": 1, "ownerReferences": 2"#,
        r#", "spec": {"priority": "high", "nodeName": "n"}, "status": {"phase": "Running"}"#,
    )]);
    let fields: Vec<&str> = anomalies.iter().map(|anomaly| &*anomaly.field).collect();
    assert_eq!(fields, ["metadata.labels", "metadata.ownerReferences", "spec.priority"]);
    assert_eq!(only(&snapshot).phase, Phase::Running);
}

#[test]
fn nothing_wrong_with_numbers_of_another_shape() {
    let (snapshot, anomalies) = read(&[
        &pod(
            "a",
            "",
            r#", "spec": {"priority": 7.0, "containers": [{"resources":
            {"requests": {"cpu": 1, "memory": 1.5e3, "example.com/x": null}}}]}"#,
        ),
        r#"{"kind": "Pod", "metadata": {"name": "b", "namespace": "ns", "uid": "u",
            "creationTimestamp": "2026-01-02T03:04:05.678901Z"}}"#,
    ]);
    assert_eq!(anomalies, []);
    let pod = snapshot.pod(snapshot.pods()[0]);
    assert_eq!(pod.spec.priority, Some(7));
    assert_eq!(pod.requests.get(crate::ResourceId::CPU), 1000);
    assert_eq!(pod.requests.get(crate::ResourceId::MEMORY), 1500);
    assert_eq!(pod.requests.find(snapshot.resource("example.com/x")), Some(0));
    assert_eq!(snapshot.taken_at().to_string(), "2026-01-02T03:04:05.678901Z");
}

#[test]
fn annotations_that_mean_something() {
    let with = |annotations: &str| {
        let metadata = format!(r#", "annotations": {{{annotations}}}"#);
        let (snapshot, anomalies) = read(&[&pod("a", &metadata, "")]);
        assert_eq!(anomalies, []);
        let pod = only(&snapshot);
        (pod.evict, pod.prefer_no_eviction, pod.mirror, pod.static_pod)
    };
    let evict = "descheduler.alpha.kubernetes.io/evict";
    assert_eq!(with(r#""a": "b""#), (None, false, false, false));
    assert_eq!(with(&format!(r#""{evict}": "false""#)).0, Some(false));
    assert_eq!(with(&format!(r#""{evict}": """#)).0, Some(true));
    assert!(with(r#""descheduler.alpha.kubernetes.io/prefer-no-eviction": "false""#).1);
    assert!(with(r#""kubernetes.io/config.mirror": """#).2);
    assert!(with(r#""kubernetes.io/config.source": "file""#).3);
    assert!(!with(r#""kubernetes.io/config.source": "api""#).3);
}

#[test]
fn what_autoscalers_are_asked_to_leave_alone() {
    let with = |annotation: &str, value: &str| {
        let metadata = format!(r#", "annotations": {{"{annotation}": "{value}"}}"#);
        let (snapshot, anomalies) = read(&[&pod("a", &metadata, "")]);
        assert_eq!(anomalies, []);
        (only(&snapshot).do_not_disrupt, only(&snapshot).unsafe_to_evict)
    };
    let (karpenter, autoscaler) =
        ("karpenter.sh/do-not-disrupt", "cluster-autoscaler.kubernetes.io/safe-to-evict");
    assert_eq!(with(karpenter, "true"), (true, false));
    assert_eq!(with(karpenter, "false"), (false, false));
    assert_eq!(with(autoscaler, "false"), (false, true));
    assert_eq!(with(autoscaler, "true"), (false, false));
}

#[test]
fn the_same_object_twice_is_one() {
    let state = |version: &str, phase: &str| {
        pod(
            "a",
            &format!(r#", "resourceVersion": "{version}""#),
            &format!(r#", "status": {{"phase": "{phase}"}}"#),
        )
    };
    let of = |objects: [&str; 2]| {
        let (snapshot, anomalies) = read(&objects);
        assert_eq!(anomalies, []);
        only(&snapshot).phase
    };
    let (old, new) = (state("9", "Pending"), state("10", "Running"));
    assert_eq!(of([&old, &new]), Phase::Running);
    assert_eq!(of([&new, &old]), Phase::Running);
    let (one, other) = (state("x", "Pending"), state("x", "Running"));
    assert_eq!(of([&one, &other]), of([&other, &one]));
}

#[test]
fn pods_that_cannot_be_told_apart_are_flawed() {
    let (snapshot, anomalies) = read(&[
        r#"{"kind": "Pod", "metadata": {"name": "a", "namespace": "ns"}}"#,
        r#"{"kind": "Pod", "metadata": {"name": "b", "namespace": "ns", "uid": "1"}}"#,
        r#"{"kind": "Pod", "metadata": {"name": "b", "namespace": "ns", "uid": "2"}}"#,
        r#"{"kind": "Pod", "metadata": {"name": "c", "namespace": "ns", "uid": "3"}}"#,
        r#"{"kind": "Pod", "metadata": {"name": "c", "namespace": "other", "uid": "3"}}"#,
        r#"{"kind": "Pod", "metadata": {"name": "d", "namespace": "ns", "uid": "4"}}"#,
    ]);
    assert_eq!(
        said(&anomalies),
        [
            "Pod ns/a: `metadata.uid`: the pod has no uid",
            "Pod ns/b: `metadata.name`: there is another pod of this name, uid `1`",
            "Pod ns/b: `metadata.name`: there is another pod of this name, uid `2`",
            "Pod ns/c: `metadata.uid`: has the same uid as Pod other/c",
            "Pod other/c: `metadata.uid`: has the same uid as Pod ns/c",
        ]
    );
    let flawed = |&pod: &PodId| snapshot.pod(pod).flawed;
    let fine: Vec<_> = snapshot.pods().iter().filter(|pod| !flawed(pod)).collect();
    assert_eq!(fine.len(), 1);
    assert_eq!(snapshot.pod_name(*fine[0]), "ns/d");
}

#[test]
fn nodes() {
    let (snapshot, anomalies) = read(&[
        r#"{"kind": "Node", "metadata": {"name": "b"}, "spec": {"unschedulable": true, "taints": [
             {"key": "k", "effect": "NoExecute"}, {"key": "k", "effect": "Never"}]}}"#,
        r#"{"kind": "Node", "metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "1500m",
             "memory": "1Gi"}, "conditions": [{"type": "Ready", "status": "Unknown"}]}}"#,
        r#"{"kind": "Node", "metadata": {"name": "c", "uid": "1"}}"#,
        r#"{"kind": "Node", "metadata": {"name": "c", "uid": "2"}}"#,
        r#"{"kind": "Node", "metadata": {"name": "d"}, "status": {"allocatable": {"memory": "much"},
             "capacity": {"memory": "1Gi"}}}"#,
        &pod("x", "", r#", "spec": {"nodeName": "b"}"#),
        &pod("y", "", r#", "spec": {"nodeName": "gone"}"#),
    ]);
    let fields: Vec<&str> = anomalies.iter().map(|anomaly| &*anomaly.field).collect();
    assert_eq!(fields, ["spec.taints[1].effect", "metadata.name", "status.allocatable.memory"]);
    let nodes: Vec<_> = snapshot.nodes().iter().map(|&node| snapshot.node(node)).collect();
    let about = |at: usize| (&*nodes[at].name, nodes[at].ready, nodes[at].flawed);
    assert_eq!(about(0), ("a", false, false));
    assert_eq!(about(1), ("b", true, true));
    assert_eq!(about(2), ("c", true, true));
    assert_eq!(about(3), ("d", true, true));
    assert_eq!(nodes.len(), 4);
    assert!(nodes[1].unschedulable && nodes[1].taints.len() == 1);
    assert_eq!(nodes[0].allocatable.get(crate::ResourceId::CPU), 1500);
    assert_eq!(snapshot.pods_on(NodeId::from_index(1)).len(), 1);
    let stray = snapshot.pod(snapshot.pods()[1]);
    assert_eq!((stray.node, stray.flawed), (None, false));
    assert_eq!(stray.node_name.map(|name| snapshot.text(name)), Some("gone"));
}

/// The allowance of a budget with `spec` (and more) over the pods of ReplicaSet `rs`, which
/// wants 4 and has 3, one of them not Ready.
fn allowance(spec: &str, metadata: &str, others: &[&str]) -> Allowance {
    let member = |name: &str, ready: &str| {
        pod(
            name,
            r#", "labels": {"app": "a"}, "ownerReferences":
               [{"kind": "ReplicaSet", "name": "rs", "uid": "rs-1", "controller": true}]"#,
            &format!(r#", "status": {{"conditions": [{{"type": "Ready", "status": "{ready}"}}]}}"#),
        )
    };
    let budget = format!(
        r#"{{"kind": "PodDisruptionBudget", "metadata": {{"name": "b", "namespace": "ns"{metadata}}},
            {spec}}}"#
    );
    let pods = [member("a", "True"), member("b", "True"), member("c", "False")];
    let mut objects: Vec<&str> = pods.iter().map(String::as_str).collect();
    objects.push(&budget);
    objects.extend(others);
    let (snapshot, _) = read(&objects);
    let [id] = *snapshot.budgets_of(snapshot.pods()[0]) else { panic!("one budget: {spec}") };
    snapshot.budget(id).allowance
}

const APP: &str = r#""selector": {"matchLabels": {"app": "a"}}"#;
const REPLICA_SET: &str = r#"{"kind": "ReplicaSet", "metadata": {"name": "rs", "namespace": "ns",
    "uid": "rs-1"}, "spec": {"replicas": 4}}"#;

#[test]
fn what_a_budget_says_itself() {
    let status = |fields: &str, metadata: &str| {
        allowance(&format!(r#""spec": {{{APP}}}, "status": {{{fields}}}"#), metadata, &[])
    };
    let counts = r#""disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1"#;
    let known = Allowance::Known { disruptions: 2, healthy: true };
    assert_eq!(status(counts, ""), known);
    assert_eq!(status(counts, r#", "generation": 2"#), known);
    let observed = format!(r#"{counts}, "observedGeneration": 1"#);
    assert_eq!(status(&observed, r#", "generation": 1"#), known);
    assert_eq!(status(&observed, r#", "generation": 2"#), Allowance::NotProcessed);
    assert_eq!(
        status(r#""disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0"#, ""),
        Allowance::Known { disruptions: 0, healthy: false }
    );
}

#[test]
fn what_a_budget_without_status_allows() {
    let spec = |bound: &str| format!(r#""spec": {{{APP}, {bound}}}"#);
    let known = |disruptions, healthy| Allowance::Known { disruptions, healthy };
    let table = [
        (r#""minAvailable": 1"#, known(1, true)),
        (r#""minAvailable": 3"#, known(0, false)),
        // Half of 4, rounded up where it must be.
        (r#""minAvailable": "50%""#, known(0, true)),
        (r#""minAvailable": "26%""#, known(0, true)),
        (r#""minAvailable": "25%""#, known(1, true)),
        (r#""maxUnavailable": 3"#, known(1, true)),
        (r#""maxUnavailable": "51%""#, known(1, true)),
        (r#""maxUnavailable": "100%""#, known(2, false)),
        (r#""maxUnavailable": 1"#, known(0, false)),
    ];
    for (bound, expected) in table {
        assert_eq!(allowance(&spec(bound), "", &[REPLICA_SET]), expected, "{bound}");
    }
    // The Deployment behind the ReplicaSet decides.
    let owned = r#"{"kind": "ReplicaSet", "metadata": {"name": "rs", "namespace": "ns",
        "uid": "rs-1", "ownerReferences": [{"kind": "Deployment", "uid": "d-1", "controller": true}]},
        "spec": {"replicas": 4}}"#;
    let deployment = r#"{"kind": "Deployment", "metadata": {"name": "d", "namespace": "ns",
        "uid": "d-1"}, "spec": {"replicas": 2}}"#;
    let bound = spec(r#""maxUnavailable": 1"#);
    assert_eq!(allowance(&bound, "", &[owned, deployment]), known(1, true));
    // Without the controllers only a plain number can be checked.
    assert_eq!(allowance(&bound, "", &[owned]), Allowance::Unknown);
    assert_eq!(allowance(&bound, "", &[]), Allowance::Unknown);
    assert_eq!(allowance(&spec(r#""minAvailable": 1"#), "", &[]), known(1, true));
}

#[test]
fn a_budget_that_cannot_be_read_covers_all_it_may_be_about() {
    for spec in [
        r#""spec": {"selector": 5, "minAvailable": 1}"#,
        r#""spec": {"selector": {"matchExpressions": [{"key": "app", "operator": "Is"}]}}"#,
        r#""spec": []"#,
    ] {
        assert_eq!(allowance(spec, "", &[]), Allowance::Unknown, "{spec}");
    }
    let bound = format!(r#""spec": {{{APP}, "minAvailable": "much"}}"#);
    assert_eq!(allowance(&bound, "", &[]), Allowance::Unknown);
    let status = format!(r#""spec": {{{APP}}}, "status": {{"disruptionsAllowed": "some"}}"#);
    assert_eq!(allowance(&status, "", &[]), Allowance::Unknown);
    let (snapshot, anomalies) = read(&[
        &pod("a", "", ""),
        r#"{"kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": ["ns"]},
            "spec": {"selector": {}}}"#,
    ]);
    assert_eq!(anomalies.len(), 1);
    assert_eq!(snapshot.budgets_of(snapshot.pods()[0]).len(), 1);
}

#[test]
fn counts_and_what_is_there() {
    let mut ingest = Ingest::new();
    let source = Source { file: "dump".into(), index: 0 };
    for kind in ["Pod", "Pod", "Deployment", "Widget"] {
        let object = format!(r#"{{"kind": "{kind}", "metadata": {{"name": "x", "uid": "1"}}}}"#);
        ingest.add(&source, object.as_bytes()).expect("JSON");
    }
    let counts: Vec<_> = ingest.counts().iter().map(|(kind, n)| (&**kind, *n)).collect();
    assert_eq!(counts, [("Deployment", 1), ("Pod", 2), ("Widget", 1)]);
    assert!(Ingest::knows("Service") && !Ingest::knows("Widget"));
    let (snapshot, _) = ingest.finish(None);
    assert!(snapshot.has(crate::Kind::Pod) && !snapshot.has(crate::Kind::ReplicaSet));
}
