//! The strategies with arguments, and how much of what each is against there is in a cluster: counted
//! here once more, by its own rules.

mod spread;
pub(crate) mod words;

use std::collections::BTreeMap;

use descheduler_cluster::labels::value_of;
use descheduler_cluster::taints::{tolerated, untolerated_hard};
use descheduler_cluster::{
    Effect, NodeId, NodeMatch, Phase, Pod, PodAffinityTerm, PodId, Snapshot,
};

use spread::violation;

/// A strategy with arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    /// Where it is enabled.
    pub(crate) point: &'static str,
    /// In YAML, on one line.
    pub(crate) args: &'static str,
    /// What is wrong in a cluster, in numbers to add up. Where that is a matter of averages, those of
    /// the second one count.
    pub(crate) wrong: fn(&Snapshot, &Snapshot) -> Vec<i64>,
}

impl Rule {
    /// What the strategy itself leaves less of.
    pub(crate) fn sum(&self, snapshot: &Snapshot, before: &Snapshot) -> i64 {
        (self.wrong)(snapshot, before).iter().sum()
    }

    /// What no strategy may leave more of. A pod that has to leave a node for another reason may take
    /// load along to a node that is then no more overloaded than the first one was.
    pub(crate) fn worst(&self, snapshot: &Snapshot, before: &Snapshot) -> i64 {
        match self.name {
            LOW => (self.wrong)(snapshot, before).into_iter().max().unwrap_or(0),
            // What others take away may leave a node that is hardly used.
            HIGH => 0,
            _ => self.sum(snapshot, before),
        }
    }
}

/// The rules of all strategies.
pub(crate) const RULES: &[Rule] = &[
    Rule { name: TAINTS, point: "deschedule", args: "{}", wrong: |s, _| vec![taints(s, false)] },
    Rule {
        name: TAINTS,
        point: "deschedule",
        args: "{includePreferNoSchedule: true}",
        wrong: |s, _| vec![taints(s, true)],
    },
    Rule {
        name: AFFINITY,
        point: "deschedule",
        args: "{nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}",
        wrong: |s, _| vec![not_selected(s) << 20],
    },
    Rule {
        name: AFFINITY,
        point: "deschedule",
        args: "{nodeAffinityType: [preferredDuringSchedulingIgnoredDuringExecution]}",
        wrong: |s, _| vec![less_preferred(s)],
    },
    Rule {
        name: AFFINITY,
        point: "deschedule",
        args: "{nodeAffinityType: [preferredDuringSchedulingIgnoredDuringExecution, requiredDuringSchedulingIgnoredDuringExecution]}",
        wrong: |s, _| vec![(not_selected(s) << 20) + less_preferred(s)],
    },
    Rule {
        name: APART,
        point: "deschedule",
        args: "{}",
        wrong: |s, _| vec![conflicts(s, &["x", "y"])],
    },
    Rule {
        name: APART,
        point: "deschedule",
        args: r#"{namespaces: {exclude: ["y"]}}"#,
        wrong: |s, _| vec![conflicts(s, &["x"])],
    },
    Rule {
        name: DUPLICATES,
        point: "balance",
        args: "{}",
        wrong: |s, before| vec![duplicates(s, before, "")],
    },
    Rule {
        name: DUPLICATES,
        point: "balance",
        args: "{excludeOwnerKinds: [StatefulSet]}",
        wrong: |s, before| vec![duplicates(s, before, "StatefulSet")],
    },
    Rule {
        name: LOW,
        point: "balance",
        args: "{thresholds: {cpu: 20}, targetThresholds: {cpu: 40}}",
        wrong: |s, before| overload(s, before, &[("cpu", 40.0)], false),
    },
    Rule {
        name: LOW,
        point: "balance",
        args: "{thresholds: {cpu: 30, memory: 50, pods: 2}, targetThresholds: {cpu: 50, memory: 60, pods: 3}}",
        wrong: |s, before| {
            overload(s, before, &[("cpu", 50.0), ("memory", 60.0), ("pods", 3.0)], false)
        },
    },
    Rule {
        name: LOW,
        point: "balance",
        args: "{useDeviationThresholds: true, thresholds: {cpu: 10}, targetThresholds: {cpu: 10}}",
        wrong: |s, before| overload(s, before, &[("cpu", 10.0)], true),
    },
    Rule {
        name: LOW,
        point: "balance",
        args: "{useDeviationThresholds: true, thresholds: {cpu: 5, memory: 5}, targetThresholds: {cpu: 20, memory: 10}}",
        wrong: |s, before| overload(s, before, &[("cpu", 20.0), ("memory", 10.0)], true),
    },
    Rule {
        name: OLD,
        point: "deschedule",
        args: "{maxPodLifeTimeSeconds: 3600}",
        wrong: |s, _| vec![too_old(s, 3600)],
    },
    Rule {
        name: OLD,
        point: "deschedule",
        args: "{maxPodLifeTimeSeconds: 3600, states: [Failed, Succeeded]}",
        wrong: |s, _| vec![too_old(s, 3600)],
    },
    Rule {
        name: OLD,
        point: "deschedule",
        args: "{maxPodLifeTimeSeconds: 2592000}",
        wrong: |s, _| vec![too_old(s, 2_592_000)],
    },
    Rule {
        name: RESTARTS,
        point: "deschedule",
        args: "{podRestartThreshold: 3}",
        wrong: |s, _| vec![restarted(s, 3)],
    },
    Rule { name: FAILED, point: "deschedule", args: "{}", wrong: |s, _| vec![failed(s)] },
    Rule {
        name: SPREAD,
        point: "balance",
        args: "{}",
        wrong: |s, before| vec![violation(s, before, false)],
    },
    Rule {
        name: SPREAD,
        point: "balance",
        args: "{constraints: [DoNotSchedule, ScheduleAnyway]}",
        wrong: |s, before| vec![violation(s, before, true)],
    },
    Rule {
        name: HIGH,
        point: "balance",
        args: "{thresholds: {cpu: 20}}",
        wrong: |s, _| vec![hardly_used(s, &[("cpu", 20.0)])],
    },
    Rule {
        name: HIGH,
        point: "balance",
        args: "{thresholds: {cpu: 40, pods: 3}}",
        wrong: |s, _| vec![hardly_used(s, &[("cpu", 40.0), ("pods", 3.0)])],
    },
];

pub(crate) const TAINTS: &str = "RemovePodsViolatingNodeTaints";
pub(crate) const AFFINITY: &str = "RemovePodsViolatingNodeAffinity";
pub(crate) const APART: &str = "RemovePodsViolatingInterPodAntiAffinity";
pub(crate) const DUPLICATES: &str = "RemoveDuplicates";
pub(crate) const LOW: &str = "LowNodeUtilization";
pub(crate) const OLD: &str = "PodLifeTime";
pub(crate) const RESTARTS: &str = "RemovePodsHavingTooManyRestarts";
pub(crate) const FAILED: &str = "RemoveFailedPods";
pub(crate) const SPREAD: &str = "RemovePodsViolatingTopologySpreadConstraint";
pub(crate) const HIGH: &str = "HighNodeUtilization";

/// Strategies that want pods to begin anew, wherever that is.
pub(crate) const FRESH: [&str; 3] = [OLD, RESTARTS, FAILED];

fn ready(snapshot: &Snapshot) -> Vec<NodeId> {
    snapshot.nodes().iter().copied().filter(|&node| snapshot.node(node).ready).collect()
}

fn active(snapshot: &Snapshot, node: NodeId) -> impl Iterator<Item = PodId> {
    let pods = snapshot.pods_on(node).iter().copied();
    pods.filter(|&pod| snapshot.pod(pod).is_active())
}

/// Sums over all pods that run on ready nodes.
fn sum(snapshot: &Snapshot, of: impl Fn(PodId, NodeId) -> i64) -> i64 {
    let nodes = ready(snapshot);
    let places = nodes.iter().flat_map(|&node| active(snapshot, node).map(move |pod| (pod, node)));
    places.map(|(pod, node)| of(pod, node)).sum()
}

fn taints(snapshot: &Snapshot, soft: bool) -> i64 {
    sum(snapshot, |pod, node| {
        let spec = &snapshot.pod(pod).spec;
        let counts = |effect| match effect {
            Effect::NoSchedule => true,
            Effect::PreferNoSchedule => soft,
            Effect::NoExecute => false,
        };
        let taints = snapshot.node(node).taints.iter().filter(|taint| {
            counts(taint.effect) && !tolerated(&spec.tolerations, taint, snapshot.strings())
        });
        i64::try_from(taints.count()).expect("few")
    })
}

fn not_selected(snapshot: &Snapshot) -> i64 {
    sum(snapshot, |pod, node| {
        let spec = &snapshot.pod(pod).spec;
        let selected = snapshot.node_matches(spec, node) == NodeMatch::Yes;
        i64::from(spec.required_nodes.is_some() && !selected)
    })
}

fn less_preferred(snapshot: &Snapshot) -> i64 {
    sum(snapshot, |pod, node| {
        let spec = &snapshot.pod(pod).spec;
        let weight = |node| snapshot.node_preference(spec, node);
        let best = ready(snapshot).into_iter().map(weight).max().unwrap_or(0);
        i64::from((best - weight(node)).max(0))
    })
}

/// How many pods share a place with another that a term of theirs keeps away.
fn conflicts(snapshot: &Snapshot, namespaces: &[&str]) -> i64 {
    let looked_at = |pod: PodId| namespaces.contains(&snapshot.text(snapshot.pod(pod).namespace));
    let conflict = |pod: PodId, node: NodeId, term: &PodAffinityTerm| {
        let own = snapshot.pod(pod).namespace;
        let value = |node: NodeId| value_of(&snapshot.node(node).labels, term.topology_key);
        ready(snapshot).into_iter().any(|there| {
            value(node).is_some()
                && value(node) == value(there)
                && active(snapshot, there).any(|other| {
                    let (namespace, labels) =
                        (snapshot.pod(other).namespace, snapshot.labels(other));
                    let selected = term.selector.as_ref();
                    other != pod
                        && looked_at(other)
                        && namespace == own
                        && selected.is_some_and(|s| s.matches(labels, snapshot.strings()))
                })
        })
    };
    sum(snapshot, |pod, node| {
        let terms = &snapshot.pod(pod).spec.anti_affinity;
        i64::from(looked_at(pod) && terms.iter().any(|term| conflict(pod, node, term)))
    })
}

/// How many pods of owners are on nodes beyond an even spread. What that is depends on where the
/// pickiest pod of the owner could be, before anything was moved.
fn duplicates(snapshot: &Snapshot, before: &Snapshot, excluded: &str) -> i64 {
    let mut places: BTreeMap<Vec<&str>, i64> = BTreeMap::new();
    for (key, _, reach) in replicas(before, excluded) {
        let known = places.entry(key).or_insert(reach);
        *known = match (*known > 1, reach > 1) {
            (true, true) => reach.min(*known),
            _ => reach.max(*known),
        };
    }
    let mut counts: BTreeMap<Vec<&str>, BTreeMap<NodeId, i64>> = BTreeMap::new();
    for (key, node, _) in replicas(snapshot, excluded) {
        *counts.entry(key).or_default().entry(node).or_default() += 1;
    }
    let beyond = |(key, nodes): (&Vec<&str>, &BTreeMap<NodeId, i64>)| {
        let all: i64 = nodes.values().sum();
        // An owner that was not there before has other pods now.
        let places = places.get(key).copied().unwrap_or(1).max(1);
        let most = (all + places - 1) / places;
        nodes.values().map(|count| (count - most).max(0)).sum::<i64>()
    };
    counts.iter().map(beyond).sum()
}

/// The pods with an owner: what makes them alike, where they are, and on how many nodes they could be.
fn replicas<'s>(snapshot: &'s Snapshot, excluded: &str) -> Vec<(Vec<&'s str>, NodeId, i64)> {
    let (nodes, mut found) = (ready(snapshot), Vec::new());
    for &node in &nodes {
        for id in active(snapshot, node) {
            let pod = snapshot.pod(id);
            let [owner] = &*pod.owners else { continue };
            let (kind, name) = (snapshot.text(owner.kind), snapshot.text(owner.name));
            let mut key: Vec<&str> = pod.spec.images.iter().map(|i| snapshot.text(*i)).collect();
            key.sort_unstable();
            key.extend([snapshot.text(pod.namespace), kind, name]);
            let could_be = |node: &&NodeId| {
                let strings = snapshot.strings();
                let there = snapshot.node(**node);
                !there.unschedulable
                    && snapshot.node_matches(&pod.spec, **node) == NodeMatch::Yes
                    && untolerated_hard(&there.taints, &pod.spec.tolerations, strings).is_none()
            };
            let reach = i64::try_from(nodes.iter().filter(could_be).count()).expect("few");
            if kind != excluded {
                found.push((key, node, reach));
            }
        }
    }
    found
}

/// By how much nodes are over their targets, in thousandths of a percentage point, for each node and
/// resource.
fn overload(
    snapshot: &Snapshot,
    before: &Snapshot,
    targets: &[(&str, f64)],
    deviation: bool,
) -> Vec<i64> {
    let average = |name: &str| {
        let nodes = ready(before);
        nodes.iter().map(|&node| use_of(before, node, name)).sum::<f64>() / nodes.len() as f64
    };
    let level = |name: &str, target: f64| match deviation {
        true => (average(name) + target).clamp(0.0, 100.0),
        false => target,
    };
    let levels: Vec<(&str, f64)> =
        targets.iter().map(|&(name, target)| (name, level(name, target))).collect();
    let over = |node: NodeId| {
        let over = levels.iter().map(move |&(name, level)| use_of(snapshot, node, name) - level);
        over.map(|over| (over.max(0.0) * 1000.0).round() as i64).collect::<Vec<_>>()
    };
    ready(snapshot).into_iter().flat_map(over).collect()
}

/// What pods request of a node, in percent.
fn use_of(snapshot: &Snapshot, node: NodeId, name: &str) -> f64 {
    let resource = snapshot.resource(name);
    let capacity = snapshot.node(node).allocatable.get(resource) as f64;
    let used: i64 = match name {
        "pods" => i64::try_from(active(snapshot, node).count()).expect("few"),
        _ => active(snapshot, node).map(|pod| snapshot.pod(pod).requests.get(resource)).sum(),
    };
    used as f64 / capacity * 100.0
}

/// How many nodes are kept for few pods.
fn hardly_used(snapshot: &Snapshot, levels: &[(&str, f64)]) -> i64 {
    let has_to_go = |pod: PodId| {
        let pod = snapshot.pod(pod);
        let stays = pod.owners.iter().any(|owner| snapshot.text(owner.kind) == "DaemonSet");
        !pod.terminating && !stays
    };
    let is_one = |node: &&NodeId| {
        levels.iter().all(|&(name, level)| use_of(snapshot, **node, name) <= level)
            && active(snapshot, **node).any(has_to_go)
    };
    i64::try_from(ready(snapshot).iter().filter(is_one).count()).expect("few")
}

/// How many pods on ready nodes were restarted so often.
fn restarted(snapshot: &Snapshot, threshold: i32) -> i64 {
    let nodes = ready(snapshot);
    let pods = nodes.iter().flat_map(|&node| snapshot.pods_on(node));
    let restarts = |pod: PodId| -> i32 {
        snapshot.pod(pod).containers.iter().map(|container| container.restarts).sum()
    };
    i64::try_from(pods.filter(|&&pod| restarts(pod) >= threshold).count()).expect("few")
}

/// How many pods on ready nodes have failed and are old enough to go.
fn failed(snapshot: &Snapshot) -> i64 {
    let nodes = ready(snapshot);
    let pods = nodes.iter().flat_map(|&node| snapshot.pods_on(node));
    let is_old = |pod: &Pod| {
        pod.created.is_none_or(|t| snapshot.taken_at().duration_since(t).as_secs() >= 3600)
    };
    let is_one = |pod: &Pod| pod.phase == Phase::Failed && is_old(pod);
    i64::try_from(pods.filter(|&&pod| is_one(snapshot.pod(pod))).count()).expect("few")
}

fn too_old(snapshot: &Snapshot, secs: i64) -> i64 {
    let old = |id: &&PodId| {
        let pod = snapshot.pod(**id);
        pod.node.is_some()
            && pod.created.is_some_and(|t| snapshot.taken_at().duration_since(t).as_secs() > secs)
    };
    i64::try_from(snapshot.pods().iter().filter(old).count()).expect("few")
}
