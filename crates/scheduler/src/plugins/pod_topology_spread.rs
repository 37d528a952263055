//! PodTopologySpread (docs/spec/scheduler.md section 5).

use std::convert::Infallible;
use std::rc::Rc;

use descheduler_cluster::labels::value_of;
use descheduler_cluster::{GroupId, Labels, NodeId, Selector, Sym, WorkloadKind};

use super::{
    Crowd, NodeFilter, NodeScore, Prepared, Rejection, Scores, each_value, never, not_now,
};
use crate::cycle::Cycle;
use crate::known::remember;
use crate::outcome::Why;
use crate::profile::{DefaultConstraint, SpreadDefaults};
use crate::reach::{Demands, Reach};
use crate::topology::{Domains, HOSTNAME, ZONE};

/// One constraint as it holds for the incoming pod.
struct Constraint<'c> {
    key: Sym,
    domains: Rc<Domains>,
    hosts: bool,
    max_skew: i64,
    min_domains: usize,
    matcher: Matcher<'c>,
    honor_affinity: bool,
    honor_taints: bool,
    counts: Rc<Counts>,
}

/// The pods that a constraint counts.
#[derive(Default)]
struct Counts {
    /// By node slot; empty when there are none anywhere.
    by_node: Vec<i64>,
    /// The nodes with any.
    nodes: Vec<NodeId>,
}

impl Counts {
    fn add(&mut self, slots: usize, node: NodeId) {
        self.by_node.resize(slots, 0);
        let count = &mut self.by_node[node.index()];
        if *count == 0 {
            self.nodes.push(node);
        }
        *count += 1;
    }

    fn at(&self, node: NodeId) -> i64 {
        self.by_node.get(node.index()).copied().unwrap_or(0)
    }
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
            domains: cycle.model.topology.domains(constraint.topology_key),
            hosts: cycle.snapshot().text(constraint.topology_key) == HOSTNAME,
            max_skew: i64::from(constraint.max_skew),
            min_domains: min_domains(constraint.min_domains),
            counts: Rc::new(counts(cycle, &matcher)),
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
    let counts = Rc::new(counts(cycle, &matcher));
    let of_kind = list.iter().filter(|constraint| constraint.hard == hard);
    let constraints = of_kind.map(|constraint| Constraint {
        key: cycle.snapshot().sym(&constraint.topology_key),
        domains: cycle.model.topology.domains(cycle.snapshot().sym(&constraint.topology_key)),
        hosts: constraint.topology_key == HOSTNAME,
        max_skew: i64::from(constraint.max_skew),
        min_domains: min_domains(constraint.min_domains),
        matcher: matcher.clone(),
        honor_affinity: constraint.honor_affinity,
        honor_taints: constraint.honor_taints,
        counts: Rc::clone(&counts),
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
fn counts(cycle: &Cycle<'_, '_>, matcher: &Matcher<'_>) -> Counts {
    let mut counts = Counts::default();
    let (snapshot, namespace) = (cycle.snapshot(), cycle.pod.namespace);
    let slots = snapshot.node_slots();
    if matcher.nothing {
        return counts;
    }
    if matcher.is_empty() {
        let nominated = cycle.occupancy.nominated();
        nominated
            .filter(|(pod, _)| pod.namespace == namespace)
            .for_each(|(_, node)| counts.add(slots, node));
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
        |node, terminating| {
            if !terminating {
                counts.add(slots, node);
            }
        },
    );
    counts
}

impl Constraint<'_> {
    /// Whether the node counts for the constraint at all.
    fn includes(&self, reach: &Reach, node: NodeId) -> bool {
        (!self.honor_affinity || reach.selects(node))
            && (!self.honor_taints || reach.tolerates(node))
    }
}

fn in_domains_of_all(constraints: &[Constraint<'_>], node: NodeId) -> bool {
    constraints.iter().all(|constraint| constraint.domains.of(node).is_some())
}

/// Hard constraints, each with how many pods it counts in its domains.
struct Hard<'c>(Vec<(Constraint<'c>, Filled)>);

/// How many matching pods each domain holds.
struct Filled {
    counts: Vec<i64>,
    least: i64,
    matches_itself: bool,
}

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    let constraints = constraints(cycle, true);
    if constraints.is_empty() {
        return Prepared::Skip;
    }
    let reach = cycle.model.reach(cycle.pod.spec);
    let eligible = eligible(cycle, &constraints, &reach);
    let is_counted = |constraint: &Constraint<'_>, node: NodeId| {
        in_domains_of_all(&constraints, node) && constraint.includes(&reach, node)
    };
    let filled = constraints.iter().zip(&*eligible).map(|(constraint, eligible)| {
        let mut counts = vec![0; constraint.domains.len()];
        let mut occupied = 0;
        for &node in constraint.counts.nodes.iter().filter(|&&node| is_counted(constraint, node)) {
            let Some(domain) = constraint.domains.of(node) else { continue };
            occupied += usize::from(counts[domain] == 0);
            counts[domain] += constraint.counts.at(node);
        }
        let count = eligible.domains.len();
        let least = match count < constraint.min_domains || occupied < count {
            true => 0,
            false => eligible.domains.iter().map(|&domain| counts[domain]).min().unwrap_or(0),
        };
        let matches_itself = constraint.matcher.matches(cycle, cycle.pod.labels);
        Filled { counts, least, matches_itself }
    });
    let filled: Vec<Filled> = filled.collect();
    Prepared::filter(Hard(constraints.into_iter().zip(filled).collect()))
}

/// What decides over the domains of hard constraints that count: the pod's demands, and each key
/// with whether affinity and taints are honoured.
pub(crate) type EligibleKey<'s> = (Demands<'s>, Vec<(Sym, bool, bool)>);

/// The domains of a hard constraint that count.
#[derive(Debug)]
pub(crate) struct Eligible {
    domains: Vec<usize>,
}

/// For each constraint the domains of it that count. They never change.
fn eligible(
    cycle: &Cycle<'_, '_>,
    constraints: &[Constraint<'_>],
    reach: &Reach,
) -> Rc<Vec<Eligible>> {
    let keys = constraints.iter().map(|one| (one.key, one.honor_affinity, one.honor_taints));
    let key = (Demands::of(cycle.pod.spec), keys.collect());
    let Ok(eligible) = remember(&cycle.model.known.eligible, key, || {
        let all = constraints.iter().map(|constraint| {
            let nodes = cycle.snapshot().nodes().iter().copied();
            let nodes = nodes.filter(|&node| in_domains_of_all(constraints, node));
            let nodes = nodes.filter(|&node| constraint.includes(reach, node));
            let mut domains: Vec<usize> =
                nodes.filter_map(|node| constraint.domains.of(node)).collect();
            domains.sort_unstable();
            domains.dedup();
            Eligible { domains }
        });
        Ok::<_, Infallible>(all.collect())
    });
    eligible
}

impl<'s> NodeFilter<'s> for Hard<'_> {
    fn check(&self, _: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        for (constraint, filled) in &self.0 {
            let Some(domain) = constraint.domains.of(node) else {
                return never(Why::SpreadKeyMissing);
            };
            let skew = filled.counts[domain] + i64::from(filled.matches_itself) - filled.least;
            if skew > constraint.max_skew {
                return not_now(Why::Spread);
            }
        }
        Ok(())
    }

    fn odd(&self, cycle: &Cycle<'_, 's>) -> Option<Vec<NodeId>> {
        let zone = cycle.model.topology.zone;
        let mut odd = Vec::new();
        for (Constraint { domains, counts, .. }, _) in
            self.0.iter().filter(|(constraint, _)| constraint.key != zone)
        {
            odd.extend_from_slice(domains.outside());
            let occupied = counts.nodes.iter().filter_map(|&node| domains.of(node));
            occupied.for_each(|domain| odd.extend_from_slice(domains.members(domain)));
        }
        Some(odd)
    }
}

/// Soft constraints, each with its weight and its domains.
struct Soft<'c> {
    constraints: Vec<SoftConstraint<'c>>,
    /// Nodes that lack one of the keys do not count, where the constraints are the pod's own.
    ignores: bool,
}

struct SoftConstraint<'c> {
    constraint: Constraint<'c>,
    weight: f64,
    /// How many matching pods each domain holds; `None` for hosts, which count for themselves.
    filled: Option<Vec<i64>>,
}

pub(super) fn scores<'c, 's>(cycle: &'c Cycle<'c, 's>, feasible: Crowd<'c>) -> Scores<'c, 's> {
    let constraints = constraints(cycle, false);
    if constraints.is_empty() {
        return Scores::Skip;
    }
    let system =
        cycle.pod.spec.spread.is_empty() && matches!(cycle.profile.spread, SpreadDefaults::System);
    let counts_at = |node: NodeId| system || in_domains_of_all(&constraints, node);
    let counted = || feasible.nodes.iter().copied().filter(|&node| counts_at(node));
    let reach = cycle.model.reach(cycle.pod.spec);
    let filled = constraints.iter().map(|constraint| {
        if constraint.hosts {
            return (feasible.count(counts_at), None);
        }
        let Counts { nodes, .. } = &*constraint.counts;
        let mut within = Within::new(&constraint.domains, counted());
        for &node in nodes.iter().filter(|&&node| counts_at(node)) {
            if constraint.includes(&reach, node) {
                within.add(&constraint.domains, node, constraint.counts.at(node));
            }
        }
        (within.domains, Some(within.counts.into_iter().map(Option::unwrap_or_default).collect()))
    });
    let filled: Vec<(usize, Option<Vec<i64>>)> = filled.collect();
    let constraints = constraints.into_iter().zip(filled).map(|(constraint, (domains, filled))| {
        SoftConstraint { constraint, weight: ((domains + 2) as f64).ln(), filled }
    });
    Scores::by(Soft { constraints: constraints.collect(), ignores: !system })
}

/// How many matching pods each domain of some nodes holds.
struct Within {
    counts: Vec<Option<i64>>,
    /// How many domains these nodes form; those without the label form one.
    domains: usize,
}

impl Within {
    fn new(domains: &Domains, nodes: impl Iterator<Item = NodeId>) -> Self {
        let mut counts = vec![None; domains.len()];
        let mut outside = false;
        for node in nodes {
            match Self::domain(domains, node) {
                Some(domain) => counts[domain] = Some(0),
                None => outside = true,
            }
        }
        let domains = counts.iter().flatten().count() + usize::from(outside);
        Self { counts, domains }
    }

    /// To the scheduler a label that is not there is one without a value.
    fn domain(domains: &Domains, node: NodeId) -> Option<usize> {
        domains.of(node).or(domains.empty())
    }

    fn add(&mut self, domains: &Domains, node: NodeId, count: i64) {
        if let Some(domain) = Self::domain(domains, node)
            && let Some(sum) = &mut self.counts[domain]
        {
            *sum += count;
        }
    }
}

impl Soft<'_> {
    fn is_ignored(&self, node: NodeId) -> bool {
        let lacks = |soft: &SoftConstraint<'_>| soft.constraint.domains.of(node).is_none();
        self.ignores && self.constraints.iter().any(lacks)
    }
}

impl<'s> NodeScore<'s> for Soft<'_> {
    fn raw(&self, _: &Cycle<'_, 's>, node: NodeId) -> i64 {
        if self.is_ignored(node) {
            return 0;
        }
        let mut score = 0.0;
        for SoftConstraint { constraint, weight, filled } in &self.constraints {
            let Some(domain) = constraint.domains.of(node) else { continue };
            let count = match filled {
                None => constraint.counts.at(node),
                Some(filled) => filled[domain],
            };
            score += count as f64 * weight + (constraint.max_skew - 1) as f64;
        }
        rounded(score)
    }

    fn odd(&self, cycle: &Cycle<'_, 's>) -> Option<Vec<NodeId>> {
        let zone = cycle.model.topology.zone;
        let beyond = self.constraints.iter().map(|soft| &soft.constraint);
        let mut beyond = beyond.filter(|constraint| constraint.key != zone);
        beyond.try_fold(Vec::new(), |mut odd, constraint| {
            // Which other domains the feasible nodes form is not known from a few of them.
            constraint.hosts.then(|| odd.extend_from_slice(&constraint.counts.nodes))?;
            Some(odd)
        })
    }

    fn normalize(&self, nodes: &[NodeId], raw: &mut [i64]) {
        let counted = || nodes.iter().zip(&*raw).filter(|(node, _)| !self.is_ignored(**node));
        let least = counted().map(|(_, &score)| score).min().unwrap_or(0);
        let most = counted().map(|(_, &score)| score).max().unwrap_or(0);
        each_value(raw, least, most, |score| match most {
            0 => 100,
            _ => 100 * (most + least - score) / most,
        });
        if self.ignores {
            let ignored = nodes.iter().zip(raw).filter(|(node, _)| self.is_ignored(**node));
            ignored.for_each(|(_, score)| *score = 0);
        }
    }
}

/// The nearest whole number to one that is not negative, half rounded up: `f64::round`, which is a
/// call of a function where processors of any age are to do.
fn rounded(score: f64) -> i64 {
    let whole = score as i64;
    whole + i64::from(score - whole as f64 >= 0.5)
}
