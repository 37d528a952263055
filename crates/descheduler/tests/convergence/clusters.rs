//! Random clusters, as the lines of `descheduler_testkit`, so that one on which something fails can
//! be pasted into a case.

use std::fmt::Write;

use descheduler_cluster::{PodId, Snapshot};
use descheduler_engine::Plan;
use descheduler_scheduler::{Model, PodRef, Scheduler};
use descheduler_testkit::Cluster;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::rules::FRESH;
use crate::rules::words::{Lists, NODES, OWN, TEMPLATES, sorted};

/// A cluster, and what becomes of its pods.
#[derive(Clone, Debug)]
pub(crate) struct World {
    nodes: Vec<String>,
    workloads: Vec<Workload>,
    pods: Vec<Pod>,
    /// Whether the dump has the ReplicaSets and StatefulSets.
    owners_known: bool,
    /// How many pods were made after the first ones.
    born: usize,
}

#[derive(Clone, Debug)]
struct Workload {
    namespace: &'static str,
    kind: &'static str,
    /// What its pods are like, in words and as JSON to merge in.
    template: Make,
    /// What those were like that it made before its template changed.
    former: Option<Make>,
}

#[derive(Clone, Debug)]
struct Make {
    words: String,
    patch: Value,
}

#[derive(Clone, Debug)]
struct Pod {
    name: String,
    workload: usize,
    node: Option<usize>,
    former: bool,
    words: String,
}

/// Kinds of owners that the lines know how to make.
const KNOWN: [&str; 3] = ["ReplicaSet", "ReplicationController", "StatefulSet"];

impl World {
    /// The lines.
    pub(crate) fn lines(&self) -> String {
        let mut out = String::from(
            "namespace x label:team=a\nnamespace y label:team=b\npvc x/data class=fast\n",
        );
        let mut line = |text: String| writeln!(out, "{text}").expect("a string takes all");
        for (number, words) in self.nodes.iter().enumerate() {
            line(format!("node n{number} {words}"));
        }
        for (number, workload) in self.workloads.iter().enumerate() {
            let kind = workload.kind;
            if self.owners_known && KNOWN.contains(&kind) {
                let replicas = self.pods.iter().filter(|pod| pod.counts(number)).count();
                let (word, namespace) = (kind.to_lowercase(), workload.namespace);
                line(format!("{word} {namespace}/w{number} replicas={replicas}"));
                line(format!("  | {}", json!({"spec": {"template": workload.template.object()}})));
            }
        }
        for pod in &self.pods {
            let Pod { name, workload: number, node, former, words } = pod;
            let workload = &self.workloads[*number];
            let Workload { namespace, kind, template, former: old } = workload;
            let make = old.as_ref().filter(|_| *former).unwrap_or(template);
            let on = node.map(|node| format!("on=n{node}")).unwrap_or_default();
            let made = &make.words;
            line(format!("pod {namespace}/{name} {on} owner={kind}/w{number} {made} {words}"));
            if make.patch != json!({}) {
                line(format!("  | {}", make.patch));
            }
        }
        out
    }

    pub(crate) fn cluster(&self) -> Cluster {
        let lines = self.lines();
        Cluster::parse(&lines).unwrap_or_else(|faults| panic!("{faults}\n{lines}"))
    }

    /// The same after the scheduler has placed the pods that wait and that it can place.
    pub(crate) fn settled(mut self) -> Self {
        let snapshot = self.cluster().snapshot();
        let model = Model::new(&snapshot, &Scheduler::default());
        let mut occupancy = model.occupancy();
        let mut pending = snapshot.pending().to_vec();
        pending.sort_by_key(|&id| {
            let pod = snapshot.pod(id);
            (std::cmp::Reverse(pod.spec.priority.unwrap_or(0)), pod.created)
        });
        for id in pending {
            let pod = PodRef::of(&snapshot, id);
            let Some(profile) = model.profile_of(&pod) else { continue };
            let answer = model.place(profile, &mut occupancy, &pod, false);
            if let Some(&node) = model.winners(profile, &answer).nodes.first() {
                occupancy.place(pod, node);
                let node = number_of(&snapshot.node(node).name);
                self.pod_mut(&snapshot, id).node = Some(node);
            }
        }
        self
    }

    /// Carries a plan out: each pod comes back where it is expected, as its owner makes it now.
    /// Answers with the names of the pods that were moved for the place where they are now, and with
    /// those in whose place they came.
    pub(crate) fn carry_out(&mut self, snapshot: &Snapshot, plan: &Plan) -> Vec<(String, PodId)> {
        let mut arrived = Vec::new();
        let mut ended = Vec::new();
        for eviction in &plan.evictions {
            let Some(&node) = eviction.destinations.first() else {
                ended.push(snapshot.pod(eviction.pod).name.to_string());
                continue;
            };
            let node = number_of(&snapshot.node(node).name);
            self.born += 1;
            let born = 1000 + self.born;
            let known = self.owners_known;
            let workload = self.pod_mut(snapshot, eviction.pod).workload;
            let kind = self.workloads[workload].kind;
            let pod = self.pod_mut(snapshot, eviction.pod);
            pod.node = Some(node);
            pod.words = "age=0s".to_owned();
            // A StatefulSet gives the name again; and it updates a pod only where its status knows
            // of a newer revision, which there is none here.
            if kind != "StatefulSet" {
                pod.name = format!("w{}-{born}", pod.workload);
                pod.former &= !(known && KNOWN.contains(&kind));
            }
            // A fresh start is not about where a pod is: another strategy may have a better place.
            if !FRESH.contains(&eviction.strategy) {
                arrived.push((pod.name.clone(), eviction.pod));
            }
        }
        self.pods.retain(|pod| !ended.contains(&pod.name));
        arrived
    }

    fn pod_mut(&mut self, snapshot: &Snapshot, id: PodId) -> &mut Pod {
        let name = &*snapshot.pod(id).name;
        let found = self.pods.iter_mut().find(|pod| pod.name == name);
        found.expect("all pods are made here")
    }
}

/// A node by its name.
fn number_of(node: &str) -> usize {
    node.strip_prefix('n').and_then(|digits| digits.parse().ok()).expect("nodes are numbered")
}

impl Pod {
    /// Whether it is one of the replicas of a workload.
    fn counts(&self, workload: usize) -> bool {
        let over = ["phase=Failed", "phase=Succeeded"];
        self.workload == workload && !over.iter().any(|word| self.words.contains(word))
    }
}

impl Make {
    fn of(parts: &[&str]) -> Self {
        let (words, patch) = sorted(parts);
        Self { words, patch }
    }

    /// The template of pods like this.
    fn object(&self) -> Value {
        let line = format!("pod t {}\n  | {}", self.words, self.patch);
        let pod = Cluster::parse(&line).expect("the words are right");
        let pod: Value = serde_json::from_str(&pod.objects[0]).expect("it is JSON");
        json!({"metadata": {"labels": pod["metadata"]["labels"]}, "spec": pod["spec"]})
    }
}

/// Any cluster.
pub(crate) fn worlds() -> impl Strategy<Value = World> {
    let nodes = vec(node(), 2..8);
    let workloads = vec(workload(), 1..6);
    let pods = vec((any::<prop::sample::Index>(), pod()), 0..22);
    (nodes, workloads, pods, any::<bool>()).prop_map(|(nodes, workloads, pods, owners_known)| {
        let mut made = vec![0; workloads.len()];
        let pods = pods.into_iter().map(|(workload, (place, former, words))| {
            let workload = workload.index(workloads.len());
            made[workload] += 1;
            let name = format!("w{workload}-{}", made[workload] - 1);
            let node = place.map(|place: prop::sample::Index| place.index(nodes.len()));
            Pod { name, workload, node, former, words }
        });
        let pods = pods.collect();
        World { nodes, workloads, pods, owners_known, born: 0 }
    })
}

fn node() -> impl Strategy<Value = String> {
    some_of(NODES).prop_map(|parts| parts.join(" "))
}

fn workload() -> impl Strategy<Value = Workload> {
    let kinds = vec![
        "ReplicaSet",
        "ReplicaSet",
        "ReplicaSet",
        "StatefulSet",
        "StatefulSet",
        "ReplicationController",
        "Job",
        "CloneSet",
        "DaemonSet",
    ];
    let make = || template().prop_map(|parts| Make::of(&parts));
    let former = option::weighted(0.2, make());
    (select(vec!["x", "x", "y"]), select(kinds), make(), former).prop_map(
        |(namespace, kind, template, former)| Workload { namespace, kind, template, former },
    )
}

fn template() -> impl Strategy<Value = Vec<&'static str>> {
    some_of(TEMPLATES)
}

/// Where a pod is, whether it is of its workload's former template, and words of its own.
fn pod() -> impl Strategy<Value = (Option<prop::sample::Index>, bool, String)> {
    let words = some_of(OWN);
    let place = option::weighted(0.95, any::<prop::sample::Index>());
    (place, prop::bool::weighted(0.5), words.prop_map(|parts| parts.join(" ")))
}

/// Of each list at most one word, in so many cases of ten.
fn some_of(lists: &'static Lists) -> impl Strategy<Value = Vec<&'static str>> + use<> {
    let words: Vec<_> = lists
        .iter()
        .map(|&(tenths, list)| prop_oneof![10 - tenths => Just(""), tenths => select(list)].boxed())
        .collect();
    words.prop_map(|words| words.into_iter().filter(|word| !word.is_empty()).collect())
}
