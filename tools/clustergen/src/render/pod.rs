//! Pods.

use super::constraints::{affinity, spread_constraints, tolerations};
use super::container::{main_container, sidecar, volumes};
use super::meta::{managed, metadata};
use super::other::selector_labels;
use super::status::pod_status;
use crate::json::{Json, Object, json};
use crate::options::Options;
use crate::plan::model::{Kind, Node, PRIORITY_CLASSES, Pod, Workload};
use crate::rng::Rng;
use crate::time;

/// A pod as an API server would send it.
pub(crate) fn render_pod(w: &Workload, pod: &Pod, node: &Node, o: &Options, rng: &mut Rng) -> Json {
    let ip = format!("172.{}.{}.{}", 16 + rng.below(16), rng.below(256), rng.between(1, 254));
    let mut meta = pod_metadata(w, pod, &ip, rng);
    let spec = pod_spec(w, pod, node);
    let status = pod_status(w, pod, node, &ip, rng);
    if !o.no_managed_fields {
        let managed_fields = managed_fields(w, pod, &meta);
        meta.insert("managedFields", managed_fields);
    }
    json!({ "kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec, "status": status })
}

fn pod_spec(w: &Workload, pod: &Pod, node: &Node) -> Json {
    let mut containers = vec![main_container(w)];
    if w.sidecar {
        containers.push(sidecar(w));
    }
    let mut spec = json!({
        "volumes": volumes(w, pod),
        "containers": containers,
        "restartPolicy": if w.kind == Kind::Job { "Never" } else { "Always" },
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
    });
    if let Some(pool) = w.dedicated {
        spec["nodeSelector"] = json!({ "node.example.com/pool": pool.name() });
    }
    spec["serviceAccountName"] = json!(w.name);
    spec["serviceAccount"] = json!(w.name);
    spec["nodeName"] = json!(node.name);
    spec["securityContext"] = json!({
        "runAsUser": 10_001, "fsGroup": 10_001, "seccompProfile": { "type": "RuntimeDefault" },
    });
    if let Some(affinity) = affinity(w) {
        spec["affinity"] = affinity;
    }
    spec["schedulerName"] = json!("default-scheduler");
    spec["tolerations"] = json!(tolerations(w));
    if let Some(name) = w.priority_class {
        spec["priorityClassName"] = json!(name);
    }
    let priority =
        PRIORITY_CLASSES.iter().find(|c| Some(c.0) == w.priority_class).map_or(0, |c| c.1);
    spec["priority"] = json!(priority);
    spec["enableServiceLinks"] = json!(true);
    spec["preemptionPolicy"] = json!("PreemptLowerPriority");
    if let Some(constraints) = spread_constraints(w) {
        spec["topologySpreadConstraints"] = constraints;
    }
    spec
}

fn pod_metadata(w: &Workload, pod: &Pod, ip: &str, rng: &mut Rng) -> Object {
    let mut meta = metadata(Some(&w.namespace), &pod.name, &pod.uid, pod.created);
    let (owner, owner_name, prefix) = match w.kind {
        Kind::Deployment => {
            ("ReplicaSet", format!("{}-{}", w.name, w.hash), format!("{}-{}-", w.name, w.hash))
        }
        Kind::StatefulSet => ("StatefulSet", w.name.clone(), format!("{}-", w.name)),
        Kind::DaemonSet => ("DaemonSet", w.name.clone(), format!("{}-", w.name)),
        Kind::Job => ("Job", w.name.clone(), format!("{}-", w.name)),
        Kind::Bare => ("", String::new(), String::new()),
    };
    let mut labels = selector_labels(w);
    labels["app.kubernetes.io/component"] = json!(w.name.split('-').nth(1).unwrap_or("agent"));
    labels["app.kubernetes.io/managed-by"] = json!("Helm");
    labels["app.kubernetes.io/version"] = json!(w.image.rsplit(':').next());
    labels["environment"] = json!("production");
    labels["team"] = json!(w.team);
    match w.kind {
        Kind::Deployment => labels["pod-template-hash"] = json!(w.hash),
        Kind::StatefulSet | Kind::DaemonSet => labels["controller-revision-hash"] = json!(w.hash),
        Kind::Job => labels["job-name"] = json!(w.name),
        Kind::Bare => {}
    }
    if !owner.is_empty() {
        meta.insert_at(1, "generateName", prefix);
        let version = if owner == "Job" { "batch/v1" } else { "apps/v1" };
        meta.insert(
            "ownerReferences",
            json!([{
                "apiVersion": version, "kind": owner, "name": owner_name, "uid": w.owner_uid,
                "controller": true, "blockOwnerDeletion": true,
            }]),
        );
    }
    meta.insert("labels", labels);
    let mut annotations = json!({
        "checksum/config": rng.hex(64),
        "cni.projectcalico.org/containerID": rng.hex(64),
        "cni.projectcalico.org/podIP": format!("{ip}/32"),
        "cni.projectcalico.org/podIPs": format!("{ip}/32"),
        "kubectl.kubernetes.io/restartedAt": time::format(pod.created),
        "prometheus.io/path": "/metrics",
        "prometheus.io/port": "9090",
        "prometheus.io/scrape": "true",
    });
    if w.sidecar {
        let version = rng.hex(40);
        annotations["mesh.example.com/status"] = json!(format!(
            "{{\"version\":\"{version}\",\"containers\":[\"envoy\"],\"volumes\":[\"config\"]}}"
        ));
    }
    meta.insert("annotations", annotations);
    meta
}

/// Who wrote what: the controller the template, the kubelet the status.
fn managed_fields(w: &Workload, pod: &Pod, meta: &Object) -> Json {
    let own = json!({
        "metadata": {
            "annotations": meta["annotations"],
            "labels": meta["labels"],
            "ownerReferences": meta.get("ownerReferences"),
        },
        "spec": {
            "containers": [{
                "name": w.name,
                "image": "",
                "imagePullPolicy": "",
                "resources": {},
                "ports": [],
                "env": [],
            }],
            "dnsPolicy": "", "enableServiceLinks": "", "restartPolicy": "", "schedulerName": "",
            "securityContext": {},
            "serviceAccount": "",
            "terminationGracePeriodSeconds": "",
            "tolerations": "",
        },
    });
    let seen = json!({ "status": {
        "conditions": [{ "type": "Initialized" }, { "type": "Ready", "status": "" }],
        "containerStatuses": "",
        "hostIP": "",
        "phase": "",
        "podIP": "",
        "podIPs": "",
        "startTime": "",
    } });
    json!([
        managed("kube-controller-manager", pod.created, None, &own),
        managed("kubelet", pod.created + 5, Some("status"), &seen),
    ])
}
