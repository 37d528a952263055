//! Upstream's own acceptance scenarios (docs/spec/runtime.md section 18, same numbers), each once as
//! upstream decides and once in the default mode.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::fixture::{label, only, settled};
use super::service::{Policy, Service};
use crate::audit;
use crate::objects::{Workload, namespace, priority_class};
use crate::plane::{Plane, Shape};
use crate::scene::Scene;

/// How upstream decides, and the default.
const MODES: [&str; 2] = ["off", "improving"];

/// A namespace in which something is tried in one mode.
struct Try<'t> {
    scene: &'t Scene<'t>,
    plane: &'t Plane,
    mode: &'static str,
    namespace: String,
}

/// Tries something in every mode, in a namespace of its own.
fn in_every_mode(
    scene: &Scene<'_>,
    plane: &Plane,
    what: &str,
    attempt: impl Fn(&Try<'_>) -> Result<()>,
) -> Result<()> {
    for mode in MODES {
        let name = format!("{what}-{mode}");
        plane.cluster().create([&namespace(&name)])?;
        let one = Try { scene, plane, mode, namespace: name };
        attempt(&one).with_context(|| format!("{what}, placement {mode}"))?;
        // Nothing of it is in the way of the next.
        plane.cluster().delete(&format!("/api/v1/namespaces/{}", one.namespace))?;
        plane.cluster().wait("the namespace to be gone", "/api/v1/namespaces", |all| {
            (!all.contains_key(&one.namespace)).then_some(())
        })?;
    }
    Ok(())
}

impl Try<'_> {
    /// Creates workloads and waits until there are so many pods, all of them old enough.
    fn run(&self, workloads: &[Workload], pods: usize) -> Result<()> {
        for workload in workloads {
            let workload = workload.clone().namespace(&self.namespace);
            self.plane.cluster().create([&workload.manifest()])?;
        }
        settled(self.plane.cluster(), &self.namespace, pods)?;
        // Ages are whole seconds: only time brings them about.
        sleep(Duration::from_millis(2100));
        Ok(())
    }

    /// Runs a cycle: so many pods go, and they are those of the plan.
    fn evicts(&self, policy: &Policy, count: usize) -> Result<Vec<String>> {
        let service = Service::new(self.scene, self.plane, policy)?;
        let flags = format!("--placement {}", self.mode);
        let before = self.evicted()?.len();
        let plan = service.plan(&flags)?;
        let mut planned: Vec<String> = list(&plan["evictions"]).map(key).collect();
        let output = service.once(&flags)?;
        let mut evicted: Vec<String> = self.evicted()?.split_off(before);
        // Requests leave in the order of the plan; several are on their way at a time.
        planned.sort();
        evicted.sort();
        let refused: Vec<&Value> = list(&plan["refusals"]).collect();
        ensure!(evicted == planned, "evicted {evicted:?}, planned {planned:?}: {}", output.stderr);
        ensure!(
            evicted.len() == count,
            "{} evicted, expected {count}: {evicted:?}; refused {refused:?}",
            evicted.len()
        );
        for one in refused {
            ensure!(one["code"].is_string() && one["reason"].is_string(), "no reason: {one}");
        }
        Ok(evicted)
    }

    /// The pods of the namespace that were evicted so far.
    fn evicted(&self) -> Result<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        for entry in audit::evictions(self.plane)? {
            if entry.object().starts_with(&format!("{}/", self.namespace)) {
                ensure!(entry.code() == 201, "{} {}", entry.code(), entry.what());
                names.push(entry.object());
            }
        }
        Ok(names)
    }

    /// The pods that are there, by their names.
    fn pods(&self) -> Result<Vec<Value>> {
        let path = format!("/api/v1/namespaces/{}/pods", self.namespace);
        Ok(list(&self.plane.cluster().get(&path)?["items"]).cloned().collect())
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn key(pod: &Value) -> String {
    let text = |field: &str| pod[field].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}

/// U1: pods leave the node that is too full, and only that one.
pub(super) fn low_node_utilization(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(2))?;
    for node in ["node-0", "node-1"] {
        let filler = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": node},
            "spec": {"nodeSelector": {"kubernetes.io/hostname": node}, "containers": [
                {"name": "c", "image": "none", "resources": {"requests": {"cpu": "2"}}}]}});
        plane.cluster().create([&filler])?;
    }
    in_every_mode(scene, &plane, "hot", |one| {
        only(plane.cluster(), "node-0", || {
            one.run(&[Workload::deployment("web", 4).requests("400m", "0")], 4)
        })?;
        let arguments = json!({"thresholds": {"cpu": 70}, "targetThresholds": {"cpu": 80},
            "evictableNamespaces": {"exclude": ["default"]}});
        let policy = Policy::of("LowNodeUtilization", arguments);
        // From 90 % to 80 %.
        one.evicts(&policy.evictor("evictLocalStoragePods", json!(true)), 1)?;
        settled(plane.cluster(), &one.namespace, 4)?;
        let here = one.pods()?.iter().filter(|pod| pod["spec"]["nodeName"] == "node-0").count();
        ensure!(here == 3, "{here} of 4 pods are on node-0");
        Ok(())
    })
}

/// U2 and U3: all pods of a namespace that is included, none of one that is excluded.
pub(super) fn namespaces(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(2))?;
    in_every_mode(scene, &plane, "names", |one| {
        one.run(&[Workload::deployment("web", 5)], 5)?;
        let exclude = json!({"maxPodLifeTimeSeconds": 1,
            "namespaces": {"exclude": [one.namespace]}});
        one.evicts(&Policy::of("PodLifeTime", exclude), 0)?;
        one.evicts(&Policy::old_pods(&one.namespace), 5).map(|_| ())
    })
}

/// U4, U5 and U7: thresholds of priority by value and by class, and without regard to them.
pub(super) fn priorities(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(2))?;
    plane.cluster().create([&priority_class("high", 1000), &priority_class("low", 500)])?;
    let with = |class: &str, count| {
        Workload::deployment(class, count).with("priorityClassName", json!(class))
    };
    for (name, threshold) in [("value", json!({"value": 1000})), ("class", json!({"name": "high"}))]
    {
        in_every_mode(scene, &plane, &format!("critical-{name}"), |one| {
            one.run(&[with("high", 3), with("low", 3), with("system-node-critical", 3)], 9)?;
            let policy = Policy::old_pods(&one.namespace)
                .evictor("priorityThreshold", threshold.clone())
                .evictor("evictSystemCriticalPods", json!(true));
            one.evicts(&policy, 9).map(|_| ())
        })?;
        in_every_mode(scene, &plane, &format!("threshold-{name}"), |one| {
            one.run(&[with("high", 5), with("low", 5)], 10)?;
            let policy = Policy::old_pods(&one.namespace);
            let gone = one.evicts(&policy.evictor("priorityThreshold", threshold.clone()), 5)?;
            ensure!(gone.iter().all(|pod| pod.contains("/low-")), "{gone:?}");
            Ok(())
        })?;
    }
    Ok(())
}

/// U6: pods of a DaemonSet, which come back where they were.
pub(super) fn daemon_sets(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(3))?;
    in_every_mode(scene, &plane, "daemons", |one| {
        one.run(&[Workload::daemon_set("agent")], 3)?;
        let policy = Policy::old_pods(&one.namespace);
        one.evicts(&policy.clone(), 0)?;
        let gone = one.evicts(&policy.evictor("evictDaemonSetPods", json!(true)), 3)?;
        settled(plane.cluster(), &one.namespace, 3)?;
        let mut nodes: Vec<String> = Vec::new();
        for pod in one.pods()? {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            ensure!(!gone.iter().any(|gone| gone.ends_with(name)), "{name} is still there");
            nodes.push(pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned());
        }
        nodes.sort();
        ensure!(nodes == ["node-0", "node-1", "node-2"], "{nodes:?}");
        Ok(())
    })
}

/// U8, U9 and U10: a selector of labels, the annotation that overrides protections, the oldest first.
pub(super) fn selection(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(2))?;
    in_every_mode(scene, &plane, "labels", |one| {
        one.run(&[Workload::deployment("go", 5), Workload::deployment("stay", 5)], 10)?;
        let arguments = json!({"maxPodLifeTimeSeconds": 1,
            "namespaces": {"include": [one.namespace]},
            "labelSelector": {"matchLabels": {"app": "go"}}});
        let gone = one.evicts(&Policy::of("PodLifeTime", arguments), 5)?;
        ensure!(gone.iter().all(|pod| pod.contains("/go-")), "{gone:?}");
        Ok(())
    })?;
    let disk = json!([{"name": "scratch", "emptyDir": {}}]);
    in_every_mode(scene, &plane, "annotation", |one| {
        let local = Workload::deployment("local", 2).with("volumes", disk.clone());
        let marked = Workload::deployment("marked", 5).with("volumes", disk.clone());
        let marked = marked.annotation("descheduler.alpha.kubernetes.io/evict", "true");
        one.run(&[local, marked], 7)?;
        let gone = one.evicts(&Policy::old_pods(&one.namespace), 5)?;
        ensure!(gone.iter().all(|pod| pod.contains("/marked-")), "{gone:?}");
        Ok(())
    })?;
    in_every_mode(scene, &plane, "oldest", |one| {
        one.run(&[Workload::deployment("web", 1)], 1)?;
        let first = one.pods()?.first().map(|pod| key(&pod["metadata"]));
        let path = format!("/apis/apps/v1/namespaces/{}/deployments/web", one.namespace);
        plane.cluster().patch(&path, &json!({"spec": {"replicas": 5}}))?;
        one.run(&[], 5)?;
        let policy = Policy::old_pods(&one.namespace);
        let gone = one.evicts(&policy.top("maxNoOfPodsToEvictPerNamespace", json!(1)), 1)?;
        ensure!(gone.first() == first.as_ref(), "{gone:?} went, {first:?} is the oldest");
        Ok(())
    })
}

/// U11 and U12: without an interval the program ends by itself, whatever the rate of requests.
pub(super) fn ends_by_itself(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(2))?;
    let service = Service::new(scene, &plane, &Policy::empty())?;
    service.once("")?;
    service.once("--descheduling-interval 0")?;
    service.once("--client-connection-qps 50 --client-connection-burst 100")?;
    audit::nothing_written(&plane)
}

/// U13: pods that are started again and again.
pub(super) fn restarts(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(2))?;
    in_every_mode(scene, &plane, "restarts", |one| {
        one.run(&[Workload::deployment("crash", 4).annotation("e2e/restarts", "3")], 4)?;
        let policy = |threshold: u32| {
            Policy::of(
                "RemovePodsHavingTooManyRestarts",
                json!({"podRestartThreshold": threshold, "includingInitContainers": true,
                    "namespaces": {"include": [one.namespace]}}),
            )
            .top("gracePeriodSeconds", json!(0))
        };
        one.evicts(&policy(10_000), 0)?;
        one.evicts(&policy(3), 4)?;
        for entry in audit::evictions(&plane)? {
            let options = &entry.body()["deleteOptions"];
            ensure!(options["gracePeriodSeconds"] == 0, "{options}");
        }
        Ok(())
    })
}

/// U14: replicas beside each other.
pub(super) fn duplicates(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(2))?;
    let disk = json!([{"name": "scratch", "emptyDir": {}}]);
    for (name, replicas, min_replicas, count) in
        [("four", 4, 3, 2), ("five", 5, 3, 2), ("three", 3, 4, 0)]
    {
        in_every_mode(scene, &plane, name, |one| {
            let web = Workload::deployment("web", replicas).with("volumes", disk.clone());
            only(plane.cluster(), "node-0", || one.run(&[web], replicas))?;
            let arguments = json!({"namespaces": {"include": [one.namespace]}});
            let policy = Policy::of("RemoveDuplicates", arguments)
                .evictor("minReplicas", json!(min_replicas))
                .evictor("evictLocalStoragePods", json!(true));
            one.evicts(&policy, count).map(|_| ())
        })?;
    }
    Ok(())
}

/// U15, U16 and U17: pods of Jobs that have ended, well or not.
pub(super) fn ended_jobs(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(2))?;
    type Case = (&'static str, &'static str, &'static str, Value, usize);
    let failed = "RemoveFailedPods";
    let cases: [Case; 9] = [
        ("failed", "1", failed, json!({"minPodLifetimeSeconds": 1}), 1),
        ("failed-reason", "1", failed, json!({"reasons": ["ReasonDoesNotMatch"]}), 0),
        ("failed-young", "1", failed, json!({"minPodLifetimeSeconds": 3600}), 0),
        ("failed-owner", "1", failed, json!({"excludeOwnerKinds": ["Job"]}), 0),
        ("state-failed", "1", "PodLifeTime", json!({"states": ["Failed"]}), 1),
        (
            "state-owner",
            "1",
            "PodLifeTime",
            json!({"states": ["Failed"], "ownerKinds": {"exclude": ["Job"]}}),
            0,
        ),
        ("done", "0", "PodLifeTime", json!({"states": ["Succeeded"]}), 1),
        (
            "done-condition",
            "0",
            "PodLifeTime",
            json!({"states": ["Succeeded"],
                "conditions": [{"reason": "PodCompleted", "status": "True"}]}),
            1,
        ),
        (
            "done-other",
            "0",
            "PodLifeTime",
            json!({"states": ["Succeeded"], "conditions": [{"reason": "ReasonDoesNotMatch"}]}),
            0,
        ),
    ];
    for (name, exit, strategy, arguments, count) in cases {
        in_every_mode(scene, &plane, name, |one| {
            one.run(&[Workload::job("job").annotation("e2e/exit", exit)], 1)?;
            let mut arguments = arguments.clone();
            if strategy == "PodLifeTime" {
                arguments["maxPodLifeTimeSeconds"] = json!(1);
            }
            arguments["namespaces"] = json!({"include": [one.namespace]});
            one.evicts(&Policy::of(strategy, arguments), count).map(|_| ())
        })?;
    }
    Ok(())
}

/// U20: pods that are not spread as they ask to be.
pub(super) fn spread(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(2).zones(2))?;
    for (node, pool) in [("node-0", "a"), ("node-1", "b")] {
        label(plane.cluster(), node, json!({"pool": pool}))?;
    }
    let none = json!({});
    for (name, when, more, count) in [
        ("hard", "DoNotSchedule", none.clone(), 1),
        ("soft", "ScheduleAnyway", none.clone(), 1),
        ("taints", "DoNotSchedule", json!({"nodeTaintsPolicy": "Honor"}), 1),
        ("affinity", "DoNotSchedule", json!({"nodeAffinityPolicy": "Ignore"}), 1),
        ("template", "DoNotSchedule", json!({"matchLabelKeys": ["pod-template-hash"]}), 0),
    ] {
        in_every_mode(scene, &plane, &format!("spread-{name}"), |one| {
            let mut constraint = json!({"maxSkew": 1, "whenUnsatisfiable": when,
                "topologyKey": "topology.kubernetes.io/zone",
                "labelSelector": {"matchLabels": {"spread": "yes"}}});
            for (key, value) in more.as_object().into_iter().flatten() {
                constraint[key] = value.clone();
            }
            let even = Workload::deployment("even", 4).label("spread", "yes");
            one.run(&[even.with("topologySpreadConstraints", json!([constraint]))], 4)?;
            let odd = Workload::deployment("odd", 2).label("spread", "yes").on("node-0");
            one.run(&[odd], 6)?;
            let arguments =
                json!({"constraints": [when], "namespaces": {"include": [one.namespace]}});
            let strategy = "RemovePodsViolatingTopologySpreadConstraint";
            one.evicts(&Policy::of(strategy, arguments), count)?;
            settled(plane.cluster(), &one.namespace, 6)?;
            let on = |node| {
                one.pods().map(|all| all.iter().filter(|p| p["spec"]["nodeName"] == node).count())
            };
            let skew = on("node-0")?.abs_diff(on("node-1")?);
            ensure!(count == 0 || skew <= 1, "skew {skew}");
            Ok(())
        })?;
    }
    Ok(())
}

/// U21: claims of a storage class that is protected hold their pods, others do not.
pub(super) fn claims(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(2))?;
    for class in ["standard", "unprotected"] {
        plane
            .cluster()
            .create([&json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": class}, "provisioner": "kubernetes.io/no-provisioner"})])?;
    }
    for (class, count) in [("unprotected", 4), ("standard", 0)] {
        in_every_mode(scene, &plane, class, |one| {
            let meta = json!({"name": one.namespace, "namespace": one.namespace});
            let spec = json!({"storageClassName": class, "accessModes": ["ReadWriteMany"],
                "volumeName": one.namespace, "resources": {"requests": {"storage": "1Gi"}}});
            plane.cluster().create([
                &json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta,
                    "spec": {"storageClassName": class, "accessModes": ["ReadWriteMany"],
                        "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/none"}}}),
                &json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta,
                    "spec": spec}),
            ])?;
            let claim = json!([{"name": "data",
                "persistentVolumeClaim": {"claimName": one.namespace}}]);
            let crash = Workload::deployment("crash", 4).annotation("e2e/restarts", "3");
            one.run(&[crash.with("volumes", claim)], 4)?;
            let arguments = json!({"podRestartThreshold": 3, "includingInitContainers": true,
                "namespaces": {"include": [one.namespace]}});
            let protections = json!({"defaultDisabled": ["PodsWithLocalStorage"],
                "extraEnabled": ["PodsWithPVC"], "config": {"PodsWithPVC":
                    {"protectedStorageClasses": [{"name": "standard"}]}}});
            let policy = Policy::of("RemovePodsHavingTooManyRestarts", arguments);
            one.evicts(&policy.evictor("podProtections", protections), count).map(|_| ())
        })?;
    }
    Ok(())
}
