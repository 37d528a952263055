//! A cluster in which every strategy finds something.

use anyhow::Result;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Objects};
use crate::objects::{Workload, budget, namespace, priority_class};
use crate::plane::{Plane, Shape};
use crate::scene::Scene;

/// The nodes of [`busy`].
pub(crate) const NODES: usize = 6;
/// The pods of [`busy`], all of which run or have ended.
const PODS: usize = 6 + 4 + 3 + NODES + 2 + 2 + 1 + 1;

/// A policy with all strategies that go together, as upstream reads it, too.
pub(crate) const POLICY: &str = r#"apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: all
  pluginConfig:
  - name: DefaultEvictor
    args: {evictFailedBarePods: true}
  - name: RemoveDuplicates
  - name: LowNodeUtilization
    args: {thresholds: {cpu: 20, pods: 5}, targetThresholds: {cpu: 50, pods: 50}}
  - name: RemovePodsHavingTooManyRestarts
    args: {podRestartThreshold: 3, includingInitContainers: true}
  - name: RemovePodsViolatingInterPodAntiAffinity
  - name: RemovePodsViolatingNodeAffinity
    args: {nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}
  - name: RemovePodsViolatingNodeTaints
  - name: RemovePodsViolatingTopologySpreadConstraint
    args: {constraints: [DoNotSchedule, ScheduleAnyway]}
  - name: RemoveFailedPods
  - name: PodLifeTime
    args: {maxPodLifeTimeSeconds: 1, labelSelector: {matchLabels: {app: old}}}
  plugins:
    balance:
      enabled: [RemoveDuplicates, LowNodeUtilization, RemovePodsViolatingTopologySpreadConstraint]
    deschedule:
      enabled: [RemovePodsHavingTooManyRestarts, RemovePodsViolatingInterPodAntiAffinity,
        RemovePodsViolatingNodeAffinity, RemovePodsViolatingNodeTaints, RemoveFailedPods, PodLifeTime]
"#;

/// Starts a plane and fills it.
pub(crate) fn busy(scene: &Scene<'_>) -> Result<Plane> {
    let plane = scene.plane(&Shape::nodes(NODES).zones(3))?;
    let cluster = plane.cluster();
    cluster.create([&namespace("batch"), &priority_class("high", 1000)])?;
    // Four of a kind on one node, since there was no other.
    only(cluster, "node-0", || {
        cluster.create([&Workload::deployment("dup", 4).requests("600m", "256Mi").manifest()])?;
        running(cluster, 4)
    })?;
    let spread = json!([{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"app": "web"}}}]);
    let ssd = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions":
            [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]}}});
    label(cluster, "node-3", json!({"disk": "ssd"}))?;
    let workloads = [
        Workload::deployment("web", 6)
            .requests("200m", "128Mi")
            .with("topologySpreadConstraints", spread),
        Workload::stateful_set("db", 3).with("priorityClassName", json!("high")),
        Workload::daemon_set("agent"),
        Workload::deployment("old", 2),
        Workload::deployment("crash", 2).annotation("e2e/restarts", "7"),
        Workload::deployment("picky", 1).with("affinity", ssd),
        Workload::job("bad").namespace("batch").annotation("e2e/exit", "1"),
    ];
    let workloads: Vec<Value> = workloads.iter().map(Workload::manifest).collect();
    cluster.create(&workloads)?;
    cluster.create([&budget("dup", 3), &budget("web", 6)])?;
    running(cluster, PODS)?;
    cluster.wait("the budgets", "/apis/policy/v1/poddisruptionbudgets", |budgets| {
        let known = |one: &Value| one["status"]["currentHealthy"].as_u64().unwrap_or(0) >= 4;
        (budgets.len() == 2 && budgets.values().all(known)).then_some(())
    })?;
    label(cluster, "node-4", json!({"disk": "ssd"}))?;
    label(cluster, "node-3", json!({"disk": null}))?;
    cluster.patch(
        "/api/v1/nodes/node-1",
        &json!({"spec": {"taints":
            [{"key": "example.com/old", "value": "true", "effect": "NoSchedule"}]}}),
    )?;
    Ok(plane)
}

/// Waits until there are so many pods, and nothing is about to happen to any of them.
pub(crate) fn running(cluster: &Cluster, count: usize) -> Result<Objects> {
    quiet(cluster, "/api/v1/pods", count)
}

/// The same for the pods of a namespace.
pub(crate) fn settled(cluster: &Cluster, namespace: &str, count: usize) -> Result<Objects> {
    quiet(cluster, &format!("/api/v1/namespaces/{namespace}/pods"), count)
}

fn quiet(cluster: &Cluster, path: &str, count: usize) -> Result<Objects> {
    cluster.wait(&format!("{count} pods to run"), path, |pods| {
        // A Job's pod that runs is about to end.
        let is_quiet = |pod: &&Value| match pod["status"]["phase"].as_str() {
            Some("Running") => pod["metadata"]["ownerReferences"][0]["kind"] != "Job",
            phase => matches!(phase, Some("Succeeded" | "Failed")),
        };
        let is_going = |pod: &Value| !pod["metadata"]["deletionTimestamp"].is_null();
        let all = pods.len() == count && pods.values().filter(is_quiet).count() == count;
        (all && !pods.values().any(is_going)).then(|| pods.clone())
    })
}

/// Does something while all nodes but one are cordoned.
pub(crate) fn only<T>(
    cluster: &Cluster,
    node: &str,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let others = |on: bool| -> Result<()> {
        for other in cluster.get("/api/v1/nodes")?["items"].as_array().into_iter().flatten() {
            let name = other["metadata"]["name"].as_str().unwrap_or_default();
            if name != node {
                cordon(cluster, name, on)?;
            }
        }
        Ok(())
    };
    others(true)?;
    let done = work()?;
    others(false)?;
    // Nobody is placed by what was true a moment ago.
    cluster.wait("no taint of a cordon", "/api/v1/nodes", |nodes| {
        let cordoned = |node: &Value| node["spec"]["taints"].to_string().contains("unschedulable");
        (!nodes.values().any(cordoned)).then_some(())
    })?;
    Ok(done)
}

/// Cordons a node, or ends that.
pub(crate) fn cordon(cluster: &Cluster, node: &str, on: bool) -> Result<()> {
    let patch = json!({"spec": {"unschedulable": on.then_some(true)}});
    cluster.patch(&format!("/api/v1/nodes/{node}"), &patch).map(|_| ())
}

/// Sets labels of a node; null removes one.
pub(crate) fn label(cluster: &Cluster, node: &str, labels: Value) -> Result<()> {
    let patch = json!({"metadata": {"labels": labels}});
    cluster.patch(&format!("/api/v1/nodes/{node}"), &patch).map(|_| ())
}
