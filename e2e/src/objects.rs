//! Objects for scenarios, with nothing in them but what matters.

use serde_json::{Value, json};

/// Where pods of a workload run and what they ask for, as parts of their template.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    kind: &'static str,
    name: String,
    namespace: String,
    replicas: usize,
    labels: Value,
    annotations: Value,
    spec: Value,
}

impl Workload {
    /// A Deployment, whose pods carry the label `app` with its name.
    pub(crate) fn deployment(name: &str, replicas: usize) -> Self {
        Self::new("Deployment", name, replicas)
    }

    /// A StatefulSet that starts all of its pods at once.
    pub(crate) fn stateful_set(name: &str, replicas: usize) -> Self {
        Self::new("StatefulSet", name, replicas)
    }

    /// A DaemonSet.
    pub(crate) fn daemon_set(name: &str) -> Self {
        Self::new("DaemonSet", name, 0)
    }

    /// A Job of one pod, which is not started again.
    pub(crate) fn job(name: &str) -> Self {
        Self::new("Job", name, 1).with("restartPolicy", json!("Never"))
    }

    fn new(kind: &'static str, name: &str, replicas: usize) -> Self {
        let container = json!({"name": "c", "image": "none"});
        Self {
            kind,
            name: name.to_owned(),
            namespace: "default".to_owned(),
            replicas,
            labels: json!({"app": name}),
            annotations: json!({}),
            // No grace: the pods do nothing that would have to be finished.
            spec: json!({"containers": [container], "terminationGracePeriodSeconds": 0}),
        }
    }

    /// In another namespace.
    pub(crate) fn namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }

    /// With a field of the pods' `spec`.
    pub(crate) fn with(mut self, field: &str, value: Value) -> Self {
        self.spec[field] = value;
        self
    }

    /// With a label on each pod.
    pub(crate) fn label(mut self, key: &str, value: &str) -> Self {
        self.labels[key] = json!(value);
        self
    }

    /// With an annotation on each pod.
    pub(crate) fn annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations[key] = json!(value);
        self
    }

    /// With so much requested by each pod.
    pub(crate) fn requests(mut self, cpu: &str, memory: &str) -> Self {
        self.spec["containers"][0]["resources"] =
            json!({"requests": {"cpu": cpu, "memory": memory}});
        self
    }

    /// On this node, which the scheduler finds.
    pub(crate) fn on(self, node: &str) -> Self {
        self.with("nodeSelector", json!({"kubernetes.io/hostname": node}))
    }

    /// The manifest.
    pub(crate) fn manifest(&self) -> Value {
        let Self { kind, name, namespace, replicas, labels, annotations, spec } = self;
        let template = json!({"metadata": {"labels": labels, "annotations": annotations},
            "spec": spec});
        let metadata = json!({"name": name, "namespace": namespace});
        let selector = json!({"matchLabels": {"app": name}});
        match *kind {
            "Job" => json!({"apiVersion": "batch/v1", "kind": kind, "metadata": metadata,
                "spec": {"backoffLimit": 0, "template": template}}),
            "DaemonSet" => json!({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata,
                "spec": {"selector": selector, "template": template}}),
            "StatefulSet" => json!({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata,
                "spec": {"replicas": replicas, "selector": selector, "template": template,
                    "serviceName": name, "podManagementPolicy": "Parallel"}}),
            _ => json!({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata,
                "spec": {"replicas": replicas, "selector": selector, "template": template}}),
        }
    }
}

/// A namespace.
pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A priority class.
pub(crate) fn priority_class(name: &str, value: i32) -> Value {
    json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": name}, "value": value})
}

/// A disruption budget for the pods with the label `app`.
pub(crate) fn budget(app: &str, min_available: usize) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": app},
        "spec": {"minAvailable": min_available, "selector": {"matchLabels": {"app": app}}}})
}
