//! By how much the topology spread constraints of a cluster are violated, counted domain by domain.

use std::collections::{BTreeMap, BTreeSet};

use descheduler_cluster::labels::value_of;
use descheduler_cluster::taints::untolerated_hard;
use descheduler_cluster::{
    NodeId, NodeMatch, Pod, PodId, PodSpec, ResourceId, Resources, Selector, Snapshot,
    SpreadConstraint, Sym,
};

/// A constraint as it was found. Equal ones of several pods are one.
struct Rule<'s> {
    constraint: &'s SpreadConstraint,
    namespace: Sym,
    /// What the first pod asks for that carries it.
    spec: &'s PodSpec,
    /// In which domain pods on a node count.
    domains: BTreeMap<NodeId, Sym>,
    /// The nodes that those pods could use which carry it.
    open: BTreeSet<NodeId>,
    /// What each of those pods requests.
    requests: Vec<&'s Resources>,
}

/// The sum over all constraints that pods carried `before`, and all their domains, of the pods above
/// what the domain may hold; of soft ones only if they are asked for.
pub(crate) fn violation(snapshot: &Snapshot, before: &Snapshot, soft: bool) -> i64 {
    let mut rules: Vec<Rule<'_>> = Vec::new();
    for &id in before.pods() {
        let pod = before.pod(id);
        let is_there = pod.node.is_some_and(|node| before.node(node).ready);
        for constraint in pod.spec.spread.iter().filter(|one| one.hard || soft) {
            if is_there && counts(pod) {
                add(before, &mut rules, pod, constraint);
            }
        }
    }
    rules.iter().map(|rule| rule.violation(snapshot, before)).sum()
}

fn counts(pod: &Pod) -> bool {
    pod.is_active() && !pod.terminating
}

fn add<'s>(
    snapshot: &'s Snapshot,
    rules: &mut Vec<Rule<'s>>,
    pod: &'s Pod,
    constraint: &'s SpreadConstraint,
) {
    let (mut domains, mut open) = (BTreeMap::new(), BTreeSet::new());
    for &id in snapshot.nodes() {
        let node = snapshot.node(id);
        let value = |key| value_of(&node.labels, key);
        let same_kind = pod.spec.spread.iter().filter(|other| other.hard == constraint.hard);
        let has_all_keys = same_kind.clone().all(|other| value(other.topology_key).is_some());
        let selected = snapshot.node_matches(&pod.spec, id) == NodeMatch::Yes;
        let taints = (&node.taints, &pod.spec.tolerations, snapshot.strings());
        let tolerated = untolerated_hard(taints.0, taints.1, taints.2).is_none();
        let included = has_all_keys
            && (!constraint.honor_affinity || selected)
            && (!constraint.honor_taints || tolerated);
        if let Some(value) = value(constraint.topology_key).filter(|_| included) {
            domains.insert(id, value);
            if selected && tolerated && !node.unschedulable {
                open.insert(id);
            }
        }
    }
    let same = |rule: &&mut Rule<'_>| {
        let (soft, spec) = (!constraint.hard, &pod.spec);
        rule.namespace == pod.namespace
            && rule.constraint == constraint
            && rule.domains == domains
            && (!(soft || constraint.honor_affinity)
                || (&rule.spec.node_selector, &rule.spec.required_nodes)
                    == (&spec.node_selector, &spec.required_nodes))
            && (!(soft || constraint.honor_taints) || rule.spec.tolerations == spec.tolerations)
    };
    match rules.iter_mut().find(same) {
        Some(rule) => rule.requests.push(&pod.requests),
        None => {
            let (namespace, spec, requests) = (pod.namespace, &*pod.spec, vec![&*pod.requests]);
            rules.push(Rule { constraint, namespace, spec, domains, open, requests });
        }
    }
}

impl Rule<'_> {
    fn violation(&self, snapshot: &Snapshot, before: &Snapshot) -> i64 {
        let Self { constraint, domains, .. } = self;
        let mut counts: BTreeMap<Sym, i64> = domains.values().map(|&value| (value, 0)).collect();
        for &id in snapshot.pods() {
            // Nodes stay, so they have the same ids in both.
            let domain = snapshot.pod(id).node.and_then(|node| domains.get(&node));
            if let Some(count) = domain.and_then(|domain| counts.get_mut(domain))
                && self.counts(snapshot, before, id)
            {
                *count += 1;
            }
        }
        let skew = i64::from(constraint.max_skew);
        let wanted = constraint.min_domains.filter(|_| constraint.hard).unwrap_or(0);
        let too_few = usize::try_from(wanted).is_ok_and(|wanted| counts.len() < wanted);
        let with_room: BTreeSet<Sym> = match constraint.hard {
            true => BTreeSet::new(),
            false => {
                let free = self.open.iter().filter(|&&node| self.has_room(before, node));
                free.map(|node| domains[node]).collect()
            }
        };
        let compared =
            counts.iter().filter(|(domain, _)| with_room.is_empty() || with_room.contains(*domain));
        let least = compared.map(|(_, &count)| count).min().unwrap_or(0);
        let most = skew + if too_few { 0 } else { least };
        counts.values().map(|count| (count - most).max(0)).sum()
    }

    fn counts(&self, snapshot: &Snapshot, before: &Snapshot, id: PodId) -> bool {
        let pod = snapshot.pod(id);
        let selects = |selector: &Selector| {
            // What is interned may differ, so it is gone by names.
            let labels = snapshot.labels(id);
            let named = labels.iter().map(|&(key, value)| {
                (before.sym(snapshot.text(key)), before.sym(snapshot.text(value)))
            });
            let mut named: Vec<(Sym, Sym)> = named.collect();
            named.sort_unstable();
            selector.matches(&named, before.strings())
        };
        counts(pod)
            && snapshot.text(pod.namespace) == before.text(self.namespace)
            && self.constraint.selector.as_ref().is_some_and(selects)
    }

    /// Whether one of the pods would have found room on a node.
    fn has_room(&self, before: &Snapshot, node: NodeId) -> bool {
        let pods = before.pods_on(node).iter().map(|&id| before.pod(id));
        let pods: Vec<&Pod> = pods.filter(|pod| pod.is_active()).collect();
        let allocatable = &before.node(node).allocatable;
        let free = |resource| {
            let used: i64 = pods.iter().map(|pod| pod.requests.get(resource)).sum();
            allocatable.get(resource) - used
        };
        let count = i64::try_from(pods.len()).expect("few");
        let asked: BTreeSet<ResourceId> =
            self.requests.iter().flat_map(|requests| requests.iter()).map(|(r, _)| r).collect();
        allocatable.get(ResourceId::PODS) > count
            && asked.into_iter().all(|resource| {
                let least = self.requests.iter().map(|requests| requests.get(resource)).min();
                least.is_none_or(|least| least <= 0 || least <= free(resource))
            })
    }
}
