//! What makes pods, and what finds them.

use super::*;
use crate::resources::ResourceId;
use crate::workloads::{Job, StatefulSet, Workload, WorkloadDetails, WorkloadKind};
use crate::{Effect, Scored, Template};

fn well(objects: &[&str]) -> Snapshot {
    let (snapshot, anomalies) = read(objects);
    assert_eq!(anomalies, []);
    snapshot
}

/// An object of a kind called `w` in `ns`, with more in `metadata` and at the top.
fn object(kind: &str, metadata: &str, rest: &str) -> String {
    format!(
        r#"{{"kind": "{kind}", "metadata": {{"name": "w", "namespace": "ns" {metadata}}} {rest}}}"#
    )
}

fn workload(kind: &str, metadata: &str, rest: &str) -> (Snapshot, Workload) {
    let snapshot = well(&[&object(kind, metadata, rest)]);
    let [workload] = snapshot.workloads() else { panic!("one {kind}") };
    let workload = workload.clone();
    (snapshot, workload)
}

#[test]
fn every_kind_has_its_replicas() {
    for (kind, replicas) in [
        ("ReplicaSet", Some(1)),
        ("ReplicationController", Some(1)),
        ("StatefulSet", Some(1)),
        ("Deployment", Some(1)),
        ("Job", None),
        ("DaemonSet", None),
    ] {
        let (_, bare) = workload(kind, "", "");
        assert_eq!((bare.kind.as_str(), bare.replicas), (kind, replicas));
        assert!(bare.owner.is_none() && bare.selector.is_none() && bare.template.is_none());
        assert!(!bare.deleting && !bare.paused && bare.revision == Sym::EMPTY, "{kind}");
        let (_, told) = workload(kind, "", r#", "spec": {"replicas": 3}"#);
        assert_eq!(told.replicas, replicas.map(|_| 3), "{kind}");
    }
}

#[test]
fn a_deployment_with_everything() {
    let (snapshot, deployment) = workload(
        "Deployment",
        r#", "uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"deployment.kubernetes.io/revision": "7"}, "ownerReferences":
            [{"kind": "A", "uid": "a"}, {"kind": "B", "uid": "b", "controller": true}]"#,
        r#", "spec": {"paused": true, "selector": {"matchLabels": {"app": "w"}}, "template": {}}"#,
    );
    assert!(deployment.deleting && deployment.paused && deployment.template.is_some());
    assert_eq!(snapshot.text(deployment.revision), "7");
    assert_eq!(
        deployment.owner.map(|owner| snapshot.text(owner.uid).to_owned()).as_deref(),
        Some("b")
    );
    let labels = [(snapshot.sym("app"), snapshot.sym("w"))];
    let selector = deployment.selector.expect("a selector");
    assert!(selector.matches(&labels, snapshot.strings()));
    assert!(!selector.matches(&[], snapshot.strings()));
}

/// A ReplicationController selects by labels alone, which may be called anything.
#[test]
fn selectors_of_replication_controllers() {
    let (snapshot, controller) = workload(
        "ReplicationController",
        "",
        r#", "spec": {"selector": {"matchLabels": "x", "app": "w"}}"#,
    );
    let selector = controller.selector.expect("a selector");
    let label = |key: &str, value: &str| (snapshot.sym(key), snapshot.sym(value));
    let mut labels = [label("matchLabels", "x"), label("app", "w")];
    labels.sort_unstable();
    assert!(selector.matches(&labels, snapshot.strings()));
    assert!(!selector.matches(&labels[..1], snapshot.strings()));
}

#[test]
fn stateful_sets() {
    let of = |rest: &str| {
        let (snapshot, workload) = workload("StatefulSet", "", rest);
        let WorkloadDetails::StatefulSet(set) = workload.details else { panic!("a StatefulSet") };
        let StatefulSet { start, on_delete, partition, .. } = set;
        let names =
            [set.current_revision, set.update_revision].into_iter().chain(set.claim_templates);
        let names: Vec<String> = names.map(|name| snapshot.text(name).to_owned()).collect();
        (start, on_delete, partition, names.join(" "))
    };
    assert_eq!(of(""), (0, false, None, " ".to_owned()));
    let full = of(
        r#", "spec": {"ordinals": {"start": 5}, "updateStrategy": {"type": "RollingUpdate",
             "rollingUpdate": {"partition": 2, "maxUnavailable": "10%"}},
             "volumeClaimTemplates": [{"metadata": {"name": "data"}}, {"metadata": {"name": "log"}}]},
            "status": {"currentRevision": "r1", "updateRevision": "r2"}"#,
    );
    assert_eq!(full, (5, false, Some(2), "r1 r2 data log".to_owned()));
    assert!(of(r#", "spec": {"updateStrategy": {"type": "OnDelete"}}"#).1);
}

#[test]
fn jobs() {
    let of = |rest: &str| match workload("Job", "", rest).1.details {
        WorkloadDetails::Job(Job { completions, parallelism, succeeded, suspend, .. }) => {
            (completions, parallelism, succeeded, suspend)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(of(""), (None, 1, 0, false));
    let full = r#", "spec": {"completions": 5, "parallelism": 2, "suspend": true},
        "status": {"succeeded": 3}"#;
    assert_eq!(of(full), (Some(5), 2, 3, true));
    let marks = |rest: &str| match workload("Job", "", rest).1.details {
        WorkloadDetails::Job(job) => {
            [job.pod_replacement_failed, job.pod_failure_policy, job.complete, job.failed]
        }
        other => panic!("{other:?}"),
    };
    let condition = |kind: &str, status: &str| {
        format!(r#", "status": {{"conditions": [{{"type": "{kind}", "status": "{status}"}}]}}"#)
    };
    assert_eq!(marks(""), [false; 4]);
    assert_eq!(
        marks(r#", "spec": {"podReplacementPolicy": "Failed"}"#),
        [true, false, false, false]
    );
    assert_eq!(marks(r#", "spec": {"podReplacementPolicy": "TerminatingOrFailed"}"#), [false; 4]);
    assert_eq!(marks(r#", "spec": {"podFailurePolicy": {}}"#), [false, true, false, false]);
    assert_eq!(marks(&condition("Complete", "True")), [false, false, true, false]);
    assert_eq!(marks(&condition("Complete", "False")), [false; 4]);
    assert_eq!(marks(&condition("FailureTarget", "True")), [false, false, false, true]);
}

#[test]
fn workloads_are_found_by_uid_and_by_name() {
    let named = |kind: &str, name: &str, uid: &str| {
        format!(r#"{{"kind": "{kind}", "metadata": {{"name": "{name}", "uid": "{uid}"}}}}"#)
    };
    // Two kinds may share a name, and neither need have a uid.
    let objects = [
        named("StatefulSet", "a", ""),
        named("Deployment", "a", "2"),
        named("ReplicaSet", "b", "3"),
        named("ReplicaSet", "a", ""),
    ];
    let snapshot = well(&objects.each_ref().map(String::as_str));
    let order: Vec<_> =
        snapshot.workloads().iter().map(|one| (one.kind.as_str(), &*one.name)).collect();
    let expected =
        [("ReplicaSet", "a"), ("ReplicaSet", "b"), ("StatefulSet", "a"), ("Deployment", "a")];
    assert_eq!(order, expected);
    let name = |uid: &str| snapshot.workload(snapshot.sym(uid)).map(|one| &*one.name);
    assert_eq!([name("2"), name("3"), name("")], [Some("a"), Some("b"), None]);
    let default = snapshot.sym("default");
    let named = |kind, name: &str| snapshot.workload_named(kind, default, name).map(|one| one.kind);
    assert_eq!(named(WorkloadKind::Deployment, "a"), Some(WorkloadKind::Deployment));
    assert_eq!(named(WorkloadKind::StatefulSet, "a"), Some(WorkloadKind::StatefulSet));
    assert_eq!(named(WorkloadKind::Deployment, "b"), None);
}

/// Other groups have kinds of the same names.
#[test]
fn kinds_of_others_are_not_taken_for_these() {
    let of = |kind: &str, version: &str| {
        let snapshot = well(&[&object(kind, "", &format!(r#", "apiVersion": "{version}""#))]);
        snapshot.workloads().len() + snapshot.services_in(snapshot.sym("ns")).len()
    };
    for (kind, version, taken) in [
        ("Deployment", "apps/v1", 1),
        ("Deployment", "example.com/v1", 0),
        ("StatefulSet", "apps.kruise.io/v1beta1", 0),
        ("Job", "batch/v1", 1),
        ("Job", "batch.volcano.sh/v1alpha1", 0),
        ("ReplicationController", "v1", 1),
        ("Service", "v1", 1),
        ("Service", "serving.knative.dev/v1", 0),
    ] {
        assert_eq!(of(kind, version), taken, "{kind} {version}");
    }
}

fn template(spec: &str, others: &[&str]) -> (Snapshot, Template) {
    let rest = format!(
        r#", "spec": {{"template": {{"metadata": {{"labels": {{"app": "w"}}}}, "spec": {{{spec}}}}}}}"#
    );
    let object = object("ReplicaSet", "", &rest);
    let objects: Vec<&str> = others.iter().copied().chain([&*object]).collect();
    let snapshot = well(&objects);
    let template = snapshot.workloads()[0].template.clone().expect("a template");
    (snapshot, template)
}

/// Limits become requests, in containers and in the pod as a whole
/// (docs/spec/scheduler.md section 11.2).
#[test]
fn requests_of_templates() {
    let container = |requests: &str, limits: &str| {
        format!(r#"{{"resources": {{"requests": {{{requests}}}, "limits": {{{limits}}}}}}}"#)
    };
    let whole = |requests: &str, limits: &str| {
        format!(r#", "resources": {{"requests": {{{requests}}}, "limits": {{{limits}}}}}"#)
    };
    let both = r#""cpu": "1", "memory": "1Gi""#;
    let table = [
        (container("", both), String::new(), (1000, 1024), (1000, 1024)),
        (container(r#""cpu": "2""#, both), String::new(), (2000, 1024), (2000, 1024)),
        (container(r#""cpu": "2""#, ""), String::new(), (2000, 0), (2000, 200)),
        // The sum of the containers comes before the limit of the whole.
        (
            container(r#""cpu": "2""#, ""),
            whole("", r#""cpu": "4", "memory": "2Gi""#),
            (2000, 2048),
            (2000, 200),
        ),
        (container("", ""), whole(r#""cpu": "3""#, r#""cpu": "4""#), (3000, 0), (100, 200)),
        (container(r#""cpu": "2""#, ""), whole(r#""cpu": "3""#, ""), (3000, 0), (2000, 200)),
    ];
    for (container, whole, asked, scored) in table {
        let (_, template) = template(&format!(r#""containers": [{container}]{whole}"#), &[]);
        let found = (
            template.requests.get(ResourceId::CPU),
            template.requests.get(ResourceId::MEMORY) >> 20,
        );
        let Scored { cpu, memory } = template.scored;
        assert_eq!((found, (cpu, memory >> 20)), (asked, scored), "{container}{whole}");
    }
    // Of hugepages the limit of the whole is all that can stand in.
    let (snapshot, template) = template(
        r#""containers": [{"resources": {"limits": {"hugepages-2Mi": "2Mi"}}}],
           "resources": {"limits": {"hugepages-2Mi": "8Mi", "example.com/gpu": 1}}"#,
        &[],
    );
    let get = |name: &str| template.requests.find(snapshot.resource(name));
    assert_eq!((get("hugepages-2Mi"), get("example.com/gpu")), (Some(8 << 20), None));
}

#[test]
fn priorities_of_templates() {
    let class = |name: &str, value: i32, rest: &str| {
        format!(
            r#"{{"kind": "PriorityClass", "metadata": {{"name": "{name}"}}, "value": {value} {rest}}}"#
        )
    };
    let classes = [
        class("high", 100, ""),
        class("shy", 50, r#", "preemptionPolicy": "Never""#),
        class("b", 7, r#", "globalDefault": true"#),
        class("c", 5, r#", "globalDefault": true"#),
    ];
    let classes = classes.each_ref().map(String::as_str);
    let of = |name: &str, classes: &[&str]| {
        let (snapshot, template) = template(&format!(r#""priorityClassName": "{name}""#), classes);
        let spec = &template.spec;
        (spec.priority, snapshot.text(spec.priority_class).to_owned(), spec.never_preempts)
    };
    let expect = |priority, class: &str, never| (priority, class.to_owned(), never);
    assert_eq!(of("high", &classes), expect(Some(100), "high", false));
    assert_eq!(of("shy", &classes), expect(Some(50), "shy", true));
    // Of several defaults the least counts.
    assert_eq!(of("", &classes), expect(Some(5), "c", false));
    assert_eq!(of("", &[]), expect(Some(0), "", false));
    assert_eq!(of("gone", &classes), expect(None, "gone", false));
    let built_in = of("system-node-critical", &[]);
    assert_eq!(built_in, expect(Some(2_000_001_000), "system-node-critical", false));
}

#[test]
fn what_else_admission_adds_and_what_volumes_there_are() {
    let (snapshot, template) = template(
        r#""tolerations": [{"key": "k", "operator": "Exists"},
             {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
           "volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "c"}},
             {"name": "b", "ephemeral": {}}, {"name": "d", "emptyDir": {}}]"#,
        &[],
    );
    let tolerations: Vec<_> =
        template.spec.tolerations.iter().map(|one| (snapshot.text(one.key), one.effect)).collect();
    let execute = Some(Effect::NoExecute);
    let expected = [
        ("k", None),
        ("node.kubernetes.io/not-ready", execute),
        ("node.kubernetes.io/unreachable", execute),
    ];
    assert_eq!(tolerations, expected);
    assert_eq!(*template.claims, [(snapshot.sym("a"), snapshot.sym("c"))]);
    assert_eq!(*template.ephemeral_volumes, [snapshot.sym("b")]);
    assert_eq!(*template.labels, [(snapshot.sym("app"), snapshot.sym("w"))]);
    // One toleration may stand for both.
    let (_, all) = self::template(r#""tolerations": [{"operator": "Exists"}]"#, &[]);
    assert_eq!(all.spec.tolerations.len(), 1);
    // The ports of a pod on the network of its node are ports of the node.
    let ports = r#""hostNetwork": true, "containers": [{"ports": [{"containerPort": 1}]}]"#;
    let (_, shared) = self::template(ports, &[]);
    assert_eq!(shared.spec.host_ports.iter().map(|port| port.port).collect::<Vec<_>>(), [1]);
}

/// A pod as the API server stores it and the template it came from are the same to the scheduler.
#[test]
fn a_template_and_its_pods_share_a_spec() {
    let spec = r#""containers": [{"image": "a:1", "resources": {"limits": {"cpu": 1}}}]"#;
    let stored = r#""containers": [{"image": "a:1", "resources": {"limits": {"cpu": 1},
        "requests": {"cpu": 1}}}], "priority": 0, "preemptionPolicy": "PreemptLowerPriority",
        "schedulerName": "default-scheduler", "tolerations": [
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
        {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}]"#;
    let pod = pod("a", "", &format!(r#", "spec": {{{stored}}}"#));
    let (snapshot, template) = template(spec, &[&pod]);
    let pod = only(&snapshot);
    assert!(Arc::ptr_eq(&pod.spec, &template.spec));
    assert!(Arc::ptr_eq(&pod.requests, &template.requests));
}

/// A template that is flawed is not known; the rest of the workload is. Any other flaw hides it.
#[test]
fn flaws_of_workloads() {
    let of = |rest: &str| {
        let (snapshot, anomalies) = read(&[&object("ReplicaSet", r#", "uid": "u""#, rest)]);
        let [anomaly] = &anomalies[..] else { panic!("{anomalies:?}") };
        let workload = snapshot.workload(snapshot.sym("u"));
        (anomaly.field.clone(), workload.map(|one| (one.replicas, one.template.is_some())))
    };
    let kept = Some((Some(4), false));
    let bad = r#"{"containers": [{"resources": {"requests": {"cpu": "much"}}}]}"#;
    let field = "spec.template.spec.containers[0].resources.requests.cpu";
    assert_eq!(
        of(&format!(r#", "spec": {{"replicas": 4, "template": {{"spec": {bad}}}}}"#)),
        (field.to_owned(), kept)
    );
    let (field, found) =
        of(r#", "spec": {"replicas": 4, "template": {"spec": {"containers": 5}}}"#);
    assert_eq!((&*field, found), ("spec.template.spec.containers", kept));
    let (field, found) = of(r#", "spec": {"replicas": "4"}"#);
    assert_eq!((&*field, found), ("spec.replicas", None));
    let (field, found) =
        of(r#", "spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}"#);
    assert_eq!((&*field, found), ("spec.selector", None));
}

/// The old ReplicaSets of a Deployment are many, and nothing comes of their templates.
#[test]
fn templates_that_nothing_is_made_of() {
    for (kind, kept) in [
        ("ReplicaSet", false),
        ("ReplicationController", false),
        ("Deployment", true),
        ("StatefulSet", true),
    ] {
        let (_, workload) = workload(kind, "", r#", "spec": {"replicas": 0, "template": {}}"#);
        assert_eq!(workload.template.is_some(), kept, "{kind}");
    }
}

#[test]
fn revisions() {
    let revision = |name: &str, owner: &str| {
        format!(
            r#"{{"kind": "ControllerRevision", "metadata": {{"name": "{name}", "namespace": "ns",
                "ownerReferences": [{{"kind": "{owner}", "uid": "o", "controller": true}}]}},
                "revision": 3, "data": {{"spec": {{"template": {{"$patch": "replace",
                  "spec": {{"priorityClassName": "system-cluster-critical"}}}}}}}}}}"#
        )
    };
    let snapshot = well(&[&revision("a", "StatefulSet"), &revision("b", "DaemonSet")]);
    let of = |name: &str| snapshot.revision(snapshot.sym("ns"), name);
    let stateful = of("a").expect("a revision");
    assert_eq!((snapshot.text(stateful.owner), stateful.number), ("o", 3));
    let priority = stateful.template.as_ref().and_then(|template| template.spec.priority);
    assert_eq!(priority, Some(2_000_000_000));
    assert!(of("b").is_some_and(|revision| revision.template.is_none()) && of("c").is_none());
}

#[test]
fn services() {
    let service = |namespace: &str, name: &str, rest: &str| {
        format!(
            r#"{{"kind": "Service", "metadata": {{"name": "{name}", "namespace": "{namespace}"}} {rest}}}"#
        )
    };
    let objects = [
        service("ns", "b", r#", "spec": {"selector": {"app": "w"}}"#),
        service("other", "c", r#", "spec": {"selector": null}"#),
        service("ns", "a", r#", "spec": {"selector": {}}"#),
    ];
    let snapshot = well(&objects.each_ref().map(String::as_str));
    let of = |namespace: &str| -> Vec<(&str, Option<usize>)> {
        let found = snapshot.services_in(snapshot.sym(namespace)).iter();
        found.map(|one| (&*one.name, one.selector.as_ref().map(|labels| labels.len()))).collect()
    };
    assert_eq!(of("ns"), [("a", Some(0)), ("b", Some(1))]);
    assert_eq!(of("other"), [("c", None)]);
    assert_eq!(of("gone"), []);
}
