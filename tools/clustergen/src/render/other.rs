//! The small objects beside nodes and pods.

use super::meta::metadata;
use crate::json::{Json, json};
use crate::options::Options;
use crate::plan::model::{Pod, Workload};
use crate::rng::Rng;
use crate::time;

pub(crate) fn priority_class(name: &str, value: i64, o: &Options, rng: &mut Rng) -> Json {
    json!({
        "kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1",
        "metadata": metadata(None, name, &rng.uid(), o.now - 900 * 86_400),
        "value": value, "preemptionPolicy": "PreemptLowerPriority",
    })
}

pub(crate) fn namespace(name: &str, o: &Options, rng: &mut Rng) -> Json {
    let mut meta = metadata(None, name, &rng.uid(), o.now - 900 * 86_400);
    meta.insert(
        "labels",
        json!({
            "kubernetes.io/metadata.name": name,
            "team": name.split('-').next(),
            "environment": rng.pick(&["production", "production", "staging"]),
        }),
    );
    json!({
        "kind": "Namespace", "apiVersion": "v1", "metadata": meta,
        "spec": { "finalizers": ["kubernetes"] }, "status": { "phase": "Active" },
    })
}

pub(crate) fn pod_metrics(w: &Workload, pod: &Pod, o: &Options, rng: &mut Rng) -> Json {
    json!({
        "kind": "PodMetrics", "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": metadata(Some(&w.namespace), &pod.name, &rng.uid(), o.now),
        "timestamp": time::format(o.now), "window": "20s",
        "containers": [{
            "name": w.name,
            "usage": {
                "cpu": format!("{}n", rng.between(1_000_000, 900_000_000)),
                "memory": format!("{}Ki", rng.between(20_000, 2_000_000)),
            },
        }],
    })
}

pub(crate) fn selector_labels(w: &Workload) -> Json {
    json!({ "app.kubernetes.io/instance": w.name, "app.kubernetes.io/name": w.name })
}

pub(crate) fn disruption_budget(w: &Workload, allowed: usize, o: &Options, rng: &mut Rng) -> Json {
    let pods = w.pods.len();
    json!({
        "kind": "PodDisruptionBudget", "apiVersion": "policy/v1",
        "metadata": metadata(Some(&w.namespace), &w.name, &rng.uid(), o.now - 90 * 86_400),
        "spec": { "maxUnavailable": allowed, "selector": { "matchLabels": selector_labels(w) } },
        "status": {
            "observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": pods,
            "desiredHealthy": pods - allowed, "expectedPods": pods,
        },
    })
}

pub(crate) fn volume_claim(w: &Workload, pod: &Pod, o: &Options, rng: &mut Rng) -> Json {
    let uid = rng.uid();
    json!({
        "kind": "PersistentVolumeClaim", "apiVersion": "v1",
        "metadata": metadata(
            Some(&w.namespace),
            &format!("data-{}", pod.name),
            &uid,
            o.now - 90 * 86_400,
        ),
        "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "100Gi" } },
            "volumeName": format!("pvc-{uid}"),
            "storageClassName": rng.pick(&["gp3", "gp3", "io2"]),
            "volumeMode": "Filesystem",
        },
        "status": {
            "phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "100Gi" },
        },
    })
}
