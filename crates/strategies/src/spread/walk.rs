//! Upstream's way to even out domains: pods are taken from full ones on paper and booked in empty
//! ones, constraint by constraint (docs/spec/strategies.md sections 12.4 to 12.6).

use std::cmp::Reverse;

use descheduler_cluster::{NodeId, PodId, Snapshot};
use hashbrown::{HashMap, HashSet};

use super::layout::DomainId;
use super::{Rule, tally};
use crate::order::least_important_first;

/// Whether a pod fits on one of the nodes to which the second argument says yes.
pub(crate) type Fits<'f> = dyn Fn(PodId, &dyn Fn(NodeId) -> bool) -> bool + 'f;

/// What the walk has to be told about pods.
pub(crate) struct Facts<'f> {
    /// Whether the pod is still there.
    pub(crate) stays: &'f dyn Fn(PodId) -> bool,
    /// Whether it could be evicted at all.
    pub(crate) evictable: &'f dyn Fn(PodId) -> bool,
    /// Whether it fits on another node of those that are allowed.
    pub(crate) fits: &'f Fits<'f>,
}

/// A pod that would have to go.
pub(crate) struct Surplus {
    pub(crate) pod: PodId,
    /// The domain it stands in.
    pub(crate) domain: DomainId,
    /// How many pods that domain holds, and how many the emptiest.
    pub(crate) counts: (usize, usize),
    /// Whether it fits in a domain with fewer pods than the average.
    pub(crate) fits: bool,
}

/// A domain on paper.
struct Domain {
    id: DomainId,
    /// The first to go last.
    pods: Vec<PodId>,
    /// How many it holds in truth.
    count: usize,
}

/// The pods that would have to go for one rule, in the order they are found.
pub(crate) fn surplus(snapshot: &Snapshot, rule: &Rule<'_>, facts: &Facts<'_>) -> Vec<Surplus> {
    let Some(mut domains) = unbalanced(snapshot, rule, facts) else { return Vec::new() };
    let all: usize = domains.iter().map(|domain| domain.pods.len()).sum();
    let average = all as f64 / domains.len() as f64;
    let least = domains.iter().map(|domain| domain.count).min().unwrap_or(0);
    let under: HashSet<DomainId> =
        domains.iter().filter(|domain| (domain.count as f64) < average).map(|d| d.id).collect();
    let is_under = |node: NodeId| {
        rule.layout.is_open(node)
            && rule.layout.domain_of(node).is_some_and(|domain| under.contains(&domain))
    };
    let mut known: HashMap<PodId, bool> = HashMap::new();
    let mut fits = |pod: PodId| {
        *known.entry(pod).or_insert_with(|| (facts.evictable)(pod) && (facts.fits)(pod, &is_under))
    };
    let skew = f64::from(rule.constraint.max_skew);
    let mut found: Vec<Surplus> = Vec::new();
    let (mut low, mut high) = (0, domains.len() - 1);
    while low < high {
        if domains[high].pods.len() as f64 <= average {
            high -= 1;
        }
        let (full, empty) = (domains[high].pods.len() as f64, domains[low].pods.len() as f64);
        let half = ((full - empty - skew) / 2.0).ceil();
        let moved = (full - average).ceil().min((average - empty).ceil()).min(half);
        if full - empty <= skew || moved <= 0.0 {
            low += 1;
            continue;
        }
        domains[high].pods.sort_by_cached_key(|&pod| fits(pod));
        let left = domains[high].pods.len() - moved as usize;
        let Domain { id, count, .. } = domains[high];
        let gone: Vec<PodId> = domains[high].pods.split_off(left);
        found.extend(gone.iter().map(|&pod| Surplus {
            pod,
            domain: id,
            counts: (count, least),
            fits: fits(pod),
        }));
        domains[low].pods.extend(gone);
    }
    // One that was booked in another domain may be taken from there again.
    let mut seen = HashSet::new();
    found.retain(|surplus| seen.insert(surplus.pod));
    found
}

/// The domains from the emptiest to the fullest, unless no two are too far apart.
fn unbalanced(snapshot: &Snapshot, rule: &Rule<'_>, facts: &Facts<'_>) -> Option<Vec<Domain>> {
    let mut pods: HashMap<DomainId, Vec<PodId>> = HashMap::new();
    for (domain, pod) in tally::pods_of(snapshot, rule).filter(|(_, pod)| (facts.stays)(*pod)) {
        pods.entry(domain).or_default().push(pod);
    }
    let all = 0..rule.layout.values.len();
    let is_empty = |domain: &DomainId| !pods.contains_key(domain);
    let fullest = pods.values().map(Vec::len).max()?;
    let emptiest = match all.clone().any(|d| is_empty(&d) && rule.layout.has_open(d)) {
        true => 0,
        false => pods.values().map(Vec::len).min()?,
    };
    let skew = i64::from(rule.constraint.max_skew);
    if i64::try_from(fullest - emptiest).is_ok_and(|difference| difference <= skew) {
        return None;
    }
    let exists = |domain: &DomainId| !is_empty(domain) || rule.layout.has_open(*domain);
    let ids: Vec<DomainId> = all.filter(exists).collect();
    let mut domains: Vec<Domain> = ids
        .into_iter()
        .map(|id| {
            let mut pods = pods.remove(&id).unwrap_or_default();
            order(snapshot, &mut pods, facts);
            Domain { id, count: pods.len(), pods }
        })
        .collect();
    domains.sort_by_key(|domain| domain.count);
    Some(domains)
}

/// The first to go last: pods that cannot go, then those that are choosy about nodes, then the
/// others; among equals the more important before the less important. Upstream takes the most
/// important of equals, against what its comments say (docs/spec/strategies.md section 12.5).
fn order(snapshot: &Snapshot, pods: &mut [PodId], facts: &Facts<'_>) {
    pods.sort_by(|&a, &b| least_important_first(snapshot, b, a));
    pods.sort_by_cached_key(|&id| {
        let spec = &snapshot.pod(id).spec;
        let is_choosy = !spec.node_selector.is_empty()
            || spec.required_nodes.is_some()
            || !spec.preferred_nodes.is_empty();
        ((facts.evictable)(id), Reverse(is_choosy))
    });
}
