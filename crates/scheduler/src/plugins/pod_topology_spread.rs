//! PodTopologySpread (docs/spec/scheduler.md section 5).

use descheduler_cluster::affinity::NodeMatch;
use descheduler_cluster::labels::value_of;
use descheduler_cluster::{GroupId, Labels, NodeId, Selector, Sym, WorkloadKind};
use hashbrown::HashMap;

use super::{NodeFilter, NodeScore, Prepared, Rejection, Scores, never, not_now, untolerated};
use crate::cycle::Cycle;
use crate::outcome::Why;
use crate::profile::{DefaultConstraint, SpreadDefaults};

/// The label that the kubelet gives every node a value of its own for.
const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// One constraint as it holds for the incoming pod.
struct Constraint<'c> {
    key: Sym,
    max_skew: i64,
    min_domains: usize,
    matcher: Matcher<'c>,
    honor_affinity: bool,
    honor_taints: bool,
    /// The pods that it counts, by node.
    counts: HashMap<NodeId, i64>,
}

/// Which pods a constraint counts, among those of the namespace.
#[derive(Clone, Default)]
struct Matcher<'c> {
    /// There is no selector: nothing matches.
    nothing: bool,
    selectors: Vec<&'c Selector>,
    pairs: Vec<(Sym, Sym)>,
}

impl Matcher<'_> {
    fn matches(&self, cycle: &Cycle<'_, '_>, labels: &Labels) -> bool {
        let strings = cycle.snapshot().strings();
        !self.nothing
            && self.pairs.iter().all(|&(key, value)| value_of(labels, key) == Some(value))
            && self.selectors.iter().all(|selector| selector.matches(labels, strings))
    }

    fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.selectors.iter().all(|selector| selector.is_empty())
    }
}

/// The constraints of one kind that hold for the pod.
fn constraints<'c>(cycle: &'c Cycle<'c, '_>, hard: bool) -> Vec<Constraint<'c>> {
    let own = &cycle.pod.spec.spread;
    if own.is_empty() {
        return defaults(cycle, hard);
    }
    let labels = cycle.pod.labels;
    let of_kind = own.iter().filter(|constraint| constraint.hard == hard);
    let constraints = of_kind.map(|constraint| {
        let keys = constraint.match_label_keys.iter();
        let matcher = Matcher {
            nothing: constraint.selector.is_none(),
            selectors: constraint.selector.iter().collect(),
            pairs: keys.filter_map(|&key| Some((key, value_of(labels, key)?))).collect(),
        };
        Constraint {
            key: constraint.topology_key,
            max_skew: i64::from(constraint.max_skew),
            min_domains: min_domains(constraint.min_domains),
            counts: counts(cycle, &matcher),
            matcher,
            honor_affinity: constraint.honor_affinity,
            honor_taints: constraint.honor_taints,
        }
    });
    constraints.collect()
}

/// What holds for a pod without constraints of its own.
fn defaults<'c>(cycle: &'c Cycle<'c, '_>, hard: bool) -> Vec<Constraint<'c>> {
    let system;
    let list = match &cycle.profile.spread {
        SpreadDefaults::System => {
            system = [DefaultConstraint::soft(HOSTNAME, 3), DefaultConstraint::soft(ZONE, 5)];
            &system[..]
        }
        SpreadDefaults::List(list) => list,
    };
    if !list.iter().any(|constraint| constraint.hard == hard) {
        return Vec::new();
    }
    let matcher = deduced(cycle);
    if matcher.is_empty() {
        return Vec::new();
    }
    let counts = counts(cycle, &matcher);
    let of_kind = list.iter().filter(|constraint| constraint.hard == hard);
    let constraints = of_kind.map(|constraint| Constraint {
        key: cycle.snapshot().sym(&constraint.topology_key),
        max_skew: i64::from(constraint.max_skew),
        min_domains: min_domains(constraint.min_domains),
        matcher: matcher.clone(),
        honor_affinity: constraint.honor_affinity,
        honor_taints: constraint.honor_taints,
        counts: counts.clone(),
    });
    constraints.collect()
}

fn min_domains(given: Option<i32>) -> usize {
    given.map_or(1, |min| usize::try_from(min).unwrap_or(0))
}

/// The pods of the same Services and of the same controller.
fn deduced<'c>(cycle: &'c Cycle<'c, '_>) -> Matcher<'c> {
    let (snapshot, pod) = (cycle.snapshot(), cycle.pod);
    let mut matcher = Matcher::default();
    for service in snapshot.services_in(pod.namespace) {
        let Some(selector) = &service.selector else { continue };
        let selects = |&(key, value): &(Sym, Sym)| value_of(pod.labels, key) == Some(value);
        if selector.iter().all(selects) {
            matcher.pairs.extend(selector.iter().copied());
        }
    }
    let workload = pod.controller().filter(|owner| !owner.foreign).and_then(|owner| {
        let kind = match snapshot.text(owner.kind) {
            "ReplicaSet" => WorkloadKind::ReplicaSet,
            "ReplicationController" => WorkloadKind::ReplicationController,
            "StatefulSet" => WorkloadKind::StatefulSet,
            _ => return None,
        };
        snapshot.workload_named(kind, pod.namespace, snapshot.text(owner.name))
    });
    matcher.selectors.extend(workload.and_then(|workload| workload.selector.as_ref()));
    matcher
}

/// How many pods match on each node; pods on their way out do not count. A selector without
/// requirements counts only pods that nodes are kept free for: those come in another way.
fn counts(cycle: &Cycle<'_, '_>, matcher: &Matcher<'_>) -> HashMap<NodeId, i64> {
    let mut counts = HashMap::new();
    let (snapshot, namespace) = (cycle.snapshot(), cycle.pod.namespace);
    if matcher.nothing {
        return counts;
    }
    if matcher.is_empty() {
        let nominated = cycle.occupancy.nominated();
        for (_, node) in nominated.filter(|(pod, _)| pod.namespace == namespace) {
            *counts.entry(node).or_default() += 1;
        }
        return counts;
    }
    let candidates = match matcher.selectors.first() {
        Some(selector) => snapshot.groups_matching(namespace, selector),
        None => snapshot.groups_in(namespace).to_vec(),
    };
    let matches = |&group: &GroupId| matcher.matches(cycle, &snapshot.group(group).labels);
    let groups: Vec<GroupId> = candidates.into_iter().filter(matches).collect();
    cycle.occupancy.each_of(
        &groups,
        |other| other.namespace == namespace && matcher.matches(cycle, other.labels),
        |node, terminating| *counts.entry(node).or_default() += i64::from(!terminating),
    );
    counts
}

impl Constraint<'_> {
    fn count(&self, node: NodeId) -> i64 {
        self.counts.get(&node).copied().unwrap_or(0)
    }

    /// Whether the node counts for the constraint at all.
    fn includes(&self, cycle: &Cycle<'_, '_>, node: NodeId) -> bool {
        let (snapshot, spec) = (cycle.snapshot(), cycle.pod.spec);
        (!self.honor_affinity || snapshot.node_matches(spec, node) == NodeMatch::Yes)
            && (!self.honor_taints
                || untolerated(cycle, spec, &snapshot.node(node).taints).is_none())
    }
}

fn has_all_keys(labels: &Labels, constraints: &[Constraint<'_>]) -> bool {
    constraints.iter().all(|constraint| value_of(labels, constraint.key).is_some())
}

/// Hard constraints, each with its domains.
struct Hard<'c>(Vec<(Constraint<'c>, Domains)>);

/// How many matching pods each domain holds.
struct Domains {
    counts: HashMap<Sym, i64>,
    least: i64,
    matches_itself: bool,
}

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    let constraints = constraints(cycle, true);
    if constraints.is_empty() {
        return Prepared::Skip;
    }
    let snapshot = cycle.snapshot();
    let mut counts: Vec<HashMap<Sym, i64>> = vec![HashMap::new(); constraints.len()];
    for &node in snapshot.nodes() {
        let labels = &snapshot.node(node).labels;
        if !has_all_keys(labels, &constraints) {
            continue;
        }
        for (constraint, counts) in constraints.iter().zip(&mut counts) {
            if let Some(value) = value_of(labels, constraint.key)
                && constraint.includes(cycle, node)
            {
                *counts.entry(value).or_default() += constraint.count(node);
            }
        }
    }
    let hard = constraints.into_iter().zip(counts).map(|(constraint, counts)| {
        let least = counts.values().copied().min();
        let least = least.filter(|_| counts.len() >= constraint.min_domains).unwrap_or(0);
        let matches_itself = constraint.matcher.matches(cycle, cycle.pod.labels);
        (constraint, Domains { counts, least, matches_itself })
    });
    Prepared::filter(Hard(hard.collect()))
}

impl<'s> NodeFilter<'s> for Hard<'_> {
    fn check(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        let labels = &cycle.snapshot().node(node).labels;
        for (constraint, domains) in &self.0 {
            let Some(value) = value_of(labels, constraint.key) else {
                return never(Why::SpreadKeyMissing);
            };
            let there = domains.counts.get(&value).copied().unwrap_or(0);
            let skew = there + i64::from(domains.matches_itself) - domains.least;
            if skew > constraint.max_skew {
                return not_now(Why::Spread);
            }
        }
        Ok(())
    }
}

/// How many matching pods each domain holds; `None` for hosts, which count for themselves.
type SoftDomains = Option<HashMap<Sym, i64>>;

/// Soft constraints, each with its weight and its domains.
struct Soft<'c> {
    constraints: Vec<(Constraint<'c>, f64, SoftDomains)>,
    /// Feasible nodes that lack one of the keys, sorted.
    ignored: Vec<NodeId>,
}

pub(super) fn scores<'c, 's>(cycle: &'c Cycle<'c, 's>, feasible: &'c [NodeId]) -> Scores<'c, 's> {
    let constraints = constraints(cycle, false);
    if constraints.is_empty() {
        return Scores::Skip;
    }
    let snapshot = cycle.snapshot();
    let labels_of = |node: NodeId| -> &Labels { &snapshot.node(node).labels };
    let system =
        cycle.pod.spec.spread.is_empty() && matches!(cycle.profile.spread, SpreadDefaults::System);
    let lacks = |node: &NodeId| !system && !has_all_keys(labels_of(*node), &constraints);
    let (mut ignored, counted): (Vec<NodeId>, Vec<NodeId>) =
        feasible.iter().copied().partition(lacks);
    ignored.sort_unstable();
    let hostname = snapshot.sym(HOSTNAME);
    let mut domains: Vec<SoftDomains> = Vec::new();
    let mut weights = Vec::new();
    for constraint in &constraints {
        if constraint.key == hostname {
            domains.push(None);
            weights.push(((counted.len() + 2) as f64).ln());
            continue;
        }
        let values = counted
            .iter()
            .map(|&node| (value_of(labels_of(node), constraint.key).unwrap_or(Sym::EMPTY), 0));
        let found: HashMap<Sym, i64> = values.collect();
        weights.push(((found.len() + 2) as f64).ln());
        domains.push(Some(found));
    }
    for &node in snapshot.nodes() {
        let labels = labels_of(node);
        if !system && !has_all_keys(labels, &constraints) {
            continue;
        }
        for (constraint, domains) in constraints.iter().zip(&mut domains) {
            let count = constraint.count(node);
            let domain = domains.as_mut().filter(|_| count > 0);
            if let (Some(domains), Some(value)) = (domain, value_of(labels, constraint.key))
                && let Some(domain) = domains.get_mut(&value)
                && constraint.includes(cycle, node)
            {
                *domain += count;
            }
        }
    }
    let zipped = constraints.into_iter().zip(weights).zip(domains);
    let constraints = zipped.map(|((constraint, weight), domains)| (constraint, weight, domains));
    Scores::by(Soft { constraints: constraints.collect(), ignored })
}

impl<'s> NodeScore<'s> for Soft<'_> {
    fn raw(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> i64 {
        if self.ignored.binary_search(&node).is_ok() {
            return 0;
        }
        let labels = &cycle.snapshot().node(node).labels;
        let mut score = 0.0;
        for (constraint, weight, domains) in &self.constraints {
            let Some(value) = value_of(labels, constraint.key) else { continue };
            let count = match domains {
                None => constraint.count(node),
                Some(domains) => domains.get(&value).copied().unwrap_or(0),
            };
            score += count as f64 * weight + (constraint.max_skew - 1) as f64;
        }
        score.round() as i64
    }

    fn normalize(&self, nodes: &[NodeId], raw: &mut [i64]) {
        let is_ignored = |node: &NodeId| self.ignored.binary_search(node).is_ok();
        let counted = || nodes.iter().zip(&*raw).filter(|(node, _)| !is_ignored(node));
        let least = counted().map(|(_, &score)| score).min().unwrap_or(0);
        let most = counted().map(|(_, &score)| score).max().unwrap_or(0);
        for (node, score) in nodes.iter().zip(raw) {
            *score = match most {
                _ if is_ignored(node) => 0,
                0 => 100,
                _ => 100 * (most + least - *score) / most,
            };
        }
    }
}
