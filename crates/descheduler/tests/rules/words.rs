//! What nodes, pods and the templates of pods are like in random clusters, in the words of
//! `descheduler_testkit`, with what there are no words for as JSON to merge in.

use serde_json::{Value, json};

/// Lists of which at most one word each is taken, in so many cases of ten.
pub(crate) type Lists = [(u32, &'static [&'static str])];

/// Of nodes.
pub(crate) const NODES: &Lists = &[
    (7, &["label:zone=z1", "label:zone=z2", "label:zone=z3"]),
    (5, &["cpu=1", "cpu=2", "cpu=8"]),
    (2, &["pods=3", "pods=5", "memory=1Gi", "memory=3Gi"]),
    (1, &["cordoned", "notready taint:node.kubernetes.io/not-ready:NoSchedule"]),
    (3, &["taint:dedicated=db:NoSchedule", "taint:soft:PreferNoSchedule", "taint:gone:NoExecute"]),
    (1, &["taint:soft:PreferNoSchedule taint:worse:PreferNoSchedule"]),
    (2, &["label:pool=x", "label:disk=ssd"]),
    (2, &["allocatable:gpu=1", "allocatable:gpu=2"]),
];

/// Of the templates of pods.
pub(crate) const TEMPLATES: &Lists = &[
    (9, &["label:app=web", "label:app=api", "label:app=db"]),
    (8, &["cpu=100m", "cpu=500m", "cpu=900m memory=512Mi", "cpu=1500m memory=1Gi"]),
    (1, &["request:gpu=1", "request:ephemeral-storage=1Gi"]),
    (3, &["image=x", "image=x,y"]),
    (2, &["nodeSelector:zone=z1", "affinity:zone=z2", "affinity:zone=z1,z2", "affinity:pool=x"]),
    (2, &["prefers:zone=z1:3", "prefers:zone=z1:30 prefers:disk=ssd:60", "prefers:pool=x:100"]),
    (
        2,
        &["apart:app=web", "apart:app=db@zone", "apart:app=web@zone", "apart:app=api apart:app=db"],
    ),
    (
        3,
        &[
            "toleration:dedicated=db:NoSchedule",
            "toleration:*",
            "toleration:soft",
            "toleration:gone",
        ],
    ),
    (3, &["priority=10", "priority=1000", "priority=-5"]),
    (2, &SPREADS),
    (1, &NEAR),
    (2, &RATHER_APART),
    (1, &["hostPort=80", "hostPort=443"]),
    (1, &["emptyDir", "qos=Guaranteed", "qos=Burstable"]),
];

/// Of single pods.
pub(crate) const OWN: &Lists = &[
    (6, &["age=10m", "age=1h30m", "age=3d"]),
    (1, &["unready", "phase=Failed", "phase=Succeeded", "terminating"]),
    (1, &["restarts=2", "restarts=5"]),
    (
        1,
        &[
            "annotation:descheduler.alpha.kubernetes.io/evict=true",
            "annotation:descheduler.alpha.kubernetes.io/evict=false",
            "annotation:karpenter.sh/do-not-disrupt=true",
            "annotation:descheduler.alpha.kubernetes.io/prefer-no-eviction=",
        ],
    ),
];

const SPREADS: [&str; 5] = [
    r#"{"spec": {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}]}}"#,
    r#"{"spec": {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "api"}}}]}}"#,
    r#"{"spec": {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"app": "web"}}}]}}"#,
    r#"{"spec": {"topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone", "minDomains": 3, "whenUnsatisfiable": "DoNotSchedule", "nodeTaintsPolicy": "Honor", "labelSelector": {}}]}}"#,
    r#"{"spec": {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "nodeAffinityPolicy": "Ignore", "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}, {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"app": "db"}}}]}}"#,
];

const NEAR: [&str; 2] = [
    r#"{"spec": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}]}}}}"#,
    r#"{"spec": {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "namespaceSelector": {}, "labelSelector": {"matchLabels": {"app": "web"}}}}]}}}}"#,
];

const RATHER_APART: [&str; 2] = [
    r#"{"spec": {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}}]}}}}"#,
    r#"{"spec": {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 20, "podAffinityTerm": {"topologyKey": "zone", "namespaces": ["x", "y"], "labelSelector": {"matchLabels": {"app": "db"}}}}]}}}}"#,
];

/// The words as they are, and all that is JSON merged.
pub(crate) fn sorted(parts: &[&str]) -> (String, Value) {
    let (mut words, mut patch) = (Vec::new(), json!({}));
    for part in parts {
        match serde_json::from_str(part) {
            Ok(Value::Object(object)) => merge(&mut patch, &Value::Object(object)),
            _ => words.push(*part),
        }
    }
    (words.join(" "), patch)
}

fn merge(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(target.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}
