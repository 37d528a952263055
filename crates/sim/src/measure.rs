//! A cluster in numbers, for before and after.

use descheduler_cluster::labels::value_of;
use descheduler_cluster::taints::untolerated_hard;
use descheduler_cluster::{
    GroupId, NodeId, NodeMatch, PodSpec, ResourceId, Selector, Snapshot, SpreadConstraint, Sym,
};
use descheduler_engine::Plan;
use hashbrown::{HashMap, HashSet};

/// What a cluster is like at one moment.
#[derive(Clone, Debug)]
pub struct Measures {
    /// Each node, by name.
    pub nodes: Vec<NodeMeasure>,
    /// How well pods are spread, over all topology spread constraints there are.
    pub spread: Spread,
    /// For each strategy of the policy, in the order they ran: the profile as an index into the
    /// policy, the name, and how many pods it would move if nothing kept it.
    pub violations: Vec<(usize, &'static str, usize)>,
    /// Pods that wait for a node.
    pub pending: usize,
    /// All pods.
    pub pods: usize,
}

/// What the pods on a node ask for, and what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMeasure {
    /// Its name.
    pub name: String,
    /// Pods that neither succeeded nor failed.
    pub pods: i64,
    /// How many pods it takes.
    pub pods_max: i64,
    /// Their requests, in millicores.
    pub cpu: i64,
    /// Allocatable, in millicores.
    pub cpu_max: i64,
    /// Their requests, in bytes.
    pub memory: i64,
    /// Allocatable, in bytes.
    pub memory_max: i64,
}

/// How well pods are spread. A constraint that many pods share is counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Constraints.
    pub constraints: usize,
    /// Those that are broken: some domain has more than `maxSkew` pods above the least.
    pub broken: usize,
    /// Pods that are too many in their domains, over all constraints.
    pub excess: i64,
    /// The largest difference between two domains of one constraint.
    pub skew: i64,
}

impl Measures {
    /// Measures a cluster; `plan` is what would be planned for it.
    pub(crate) fn of(snapshot: &Snapshot, plan: &Plan) -> Self {
        let runs = plan.report.runs.iter();
        Self {
            nodes: snapshot.nodes().iter().map(|&node| NodeMeasure::of(snapshot, node)).collect(),
            spread: Spread::of(snapshot),
            violations: runs
                .map(|run| (run.profile, run.strategy, run.planned + run.refusals.len()))
                .collect(),
            pending: snapshot.pending().len(),
            pods: snapshot.pods().len(),
        }
    }
}

impl NodeMeasure {
    fn of(snapshot: &Snapshot, id: NodeId) -> Self {
        let node = snapshot.node(id);
        let pods = snapshot.pods_on(id).iter().map(|&pod| snapshot.pod(pod));
        let pods: Vec<_> = pods.filter(|pod| pod.is_active()).collect();
        let sum = |resource| pods.iter().map(|pod| pod.requests.get(resource)).sum();
        let capacity = node.measured_capacity();
        Self {
            name: node.name.to_string(),
            pods: i64::try_from(pods.len()).unwrap_or(i64::MAX),
            pods_max: capacity.get(ResourceId::PODS),
            cpu: sum(ResourceId::CPU),
            cpu_max: capacity.get(ResourceId::CPU),
            memory: sum(ResourceId::MEMORY),
            memory_max: capacity.get(ResourceId::MEMORY),
        }
    }
}

impl Spread {
    fn of(snapshot: &Snapshot) -> Self {
        let mut spread = Self::default();
        let mut seen: HashSet<(Sym, &SpreadConstraint, Selector)> = HashSet::new();
        for group in groups(snapshot) {
            let namespace = snapshot.group(group).namespace;
            for (spec, constraint) in constraints(snapshot, group) {
                let labels = &snapshot.group(group).labels;
                let Some(selector) = constraint.selector_of(labels) else { continue };
                if seen.insert((namespace, constraint, selector.clone())) {
                    spread.add(snapshot, namespace, spec, constraint, &selector);
                }
            }
        }
        spread
    }

    fn add(
        &mut self,
        snapshot: &Snapshot,
        namespace: Sym,
        spec: &PodSpec,
        constraint: &SpreadConstraint,
        selector: &Selector,
    ) {
        let mut domains: HashMap<Sym, i64> = HashMap::new();
        let domain = |node: NodeId| value_of(&snapshot.node(node).labels, constraint.topology_key);
        for &node in snapshot.nodes() {
            if let Some(value) = domain(node)
                && counts(snapshot, node, spec, constraint)
            {
                domains.entry(value).or_default();
            }
        }
        for group in snapshot.groups_matching(namespace, selector) {
            for &id in &snapshot.group(group).pods {
                let pod = snapshot.pod(id);
                let there = pod.node.filter(|_| pod.is_active() && !pod.terminating);
                if let Some(count) = there.and_then(domain).and_then(|at| domains.get_mut(&at)) {
                    *count += 1;
                }
            }
        }
        let (Some(least), Some(most)) = (domains.values().min(), domains.values().max()) else {
            return;
        };
        let allowed = least + i64::from(constraint.max_skew);
        let excess: i64 = domains.values().map(|count| (count - allowed).max(0)).sum();
        self.constraints += 1;
        self.broken += usize::from(excess > 0);
        self.excess += excess;
        self.skew = self.skew.max(most - least);
    }
}

fn groups(snapshot: &Snapshot) -> impl Iterator<Item = GroupId> {
    let mut groups: Vec<GroupId> =
        snapshot.pods().iter().map(|&pod| snapshot.pod(pod).group).collect();
    groups.sort_unstable();
    groups.dedup();
    groups.into_iter()
}

/// The constraints of the pods of a group that have a place, each with a pod's spec.
fn constraints(
    snapshot: &Snapshot,
    group: GroupId,
) -> impl Iterator<Item = (&PodSpec, &SpreadConstraint)> {
    let mut specs: Vec<&PodSpec> = Vec::new();
    for &id in &snapshot.group(group).pods {
        let pod = snapshot.pod(id);
        let new = |spec: &PodSpec| !specs.iter().any(|known| std::ptr::eq(*known, spec));
        if pod.is_active() && !pod.spec.spread.is_empty() && new(&pod.spec) {
            specs.push(&pod.spec);
        }
    }
    specs.into_iter().flat_map(|spec| spec.spread.iter().map(move |one| (spec, one)))
}

/// Whether the pods on a node count for a constraint (docs/spec/scheduler.md section 5).
fn counts(snapshot: &Snapshot, id: NodeId, spec: &PodSpec, constraint: &SpreadConstraint) -> bool {
    let node = snapshot.node(id);
    let tolerates =
        || untolerated_hard(&node.taints, &spec.tolerations, snapshot.strings()).is_none();
    (!constraint.honor_affinity || snapshot.node_matches(spec, id) == NodeMatch::Yes)
        && (!constraint.honor_taints || tolerates())
}
