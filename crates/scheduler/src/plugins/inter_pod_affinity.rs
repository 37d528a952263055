//! InterPodAffinity (docs/spec/scheduler.md section 6).

use descheduler_cluster::labels::value_of;
use descheduler_cluster::{GroupId, NodeId, PodAffinityTerm, Sym};
use hashbrown::HashMap;

use super::{NodeFilter, NodeScore, Prepared, Rejection, Scores, never, not_now};
use crate::cycle::Cycle;
use crate::model::About;
use crate::outcome::Why;
use crate::pod::PodRef;
use crate::terms::Effect;

/// Numbers by topology key and value.
type Pairs = HashMap<(Sym, Sym), i64>;

struct Rules<'s> {
    /// The pod's own required terms.
    affinity: &'s [PodAffinityTerm],
    anti_affinity: &'s [PodAffinityTerm],
    /// Pods that match all affinity terms at once, by each term's pair.
    drawn_to: Pairs,
    /// Pods that match some anti-affinity term, by its pair.
    keeps_from: Pairs,
    /// Pods whose anti-affinity is about this one, by the pair of their term.
    kept_away_by: Pairs,
    /// The pod matches all of its own affinity terms.
    matches_itself: bool,
}

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    let pod = cycle.pod;
    let kept_away_by = kept_away_by(cycle);
    let (affinity, anti_affinity) = (&*pod.spec.affinity, &*pod.spec.anti_affinity);
    if affinity.is_empty() && anti_affinity.is_empty() && kept_away_by.is_empty() {
        return Prepared::Skip;
    }
    let mut keeps_from = Pairs::new();
    for term in anti_affinity {
        count_matching(cycle, term, 1, &mut keeps_from);
    }
    Prepared::filter(Rules {
        affinity,
        anti_affinity,
        drawn_to: drawn_to(cycle),
        keeps_from,
        kept_away_by,
        matches_itself: affinity.iter().all(|term| is_about(cycle, term, pod)),
    })
}

fn kept_away_by(cycle: &Cycle<'_, '_>) -> Pairs {
    let mut pairs = Pairs::new();
    let me = (cycle.pod.namespace, cycle.pod.labels);
    for existing in cycle.occupancy.terms().about(cycle.snapshot(), me) {
        if existing.effect == Effect::KeepsAway {
            for (&value, &owners) in existing.owners.iter().filter(|(_, owners)| **owners > 0) {
                *pairs.entry((existing.term.topology_key, value)).or_default() += owners;
            }
        }
    }
    pairs
}

/// Adds `weight` to the pair of each pod on a node that the term is about.
fn count_matching<'s>(
    cycle: &Cycle<'_, 's>,
    term: &'s PodAffinityTerm,
    weight: i64,
    pairs: &mut Pairs,
) {
    let about = cycle.about(term);
    let snapshot = cycle.snapshot();
    let matches = |other: &PodRef<'_>| is_about(cycle, term, other);
    cycle.occupancy.each_of(&about.groups, matches, |node, _| {
        if let Some(value) = value_of(&snapshot.node(node).labels, term.topology_key) {
            *pairs.entry((term.topology_key, value)).or_default() += weight;
        }
    });
}

fn drawn_to(cycle: &Cycle<'_, '_>) -> Pairs {
    let mut pairs = Pairs::new();
    let [first, rest @ ..] = &*cycle.pod.spec.affinity else { return pairs };
    let snapshot = cycle.snapshot();
    let about = cycle.about(first);
    let others: Vec<_> = rest.iter().map(|term| cycle.about(term)).collect();
    let in_all =
        |group: &GroupId| others.iter().all(|other| other.groups.binary_search(group).is_ok());
    let groups: Vec<GroupId> = about.groups.iter().copied().filter(in_all).collect();
    let terms = &*cycle.pod.spec.affinity;
    let matches = |other: &PodRef<'_>| terms.iter().all(|term| is_about(cycle, term, other));
    cycle.occupancy.each_of(&groups, matches, |node, _| {
        let labels = &snapshot.node(node).labels;
        for term in terms {
            if let Some(value) = value_of(labels, term.topology_key) {
                *pairs.entry((term.topology_key, value)).or_default() += 1;
            }
        }
    });
    pairs
}

/// Whether a term of the incoming pod is about a pod.
fn is_about<'s>(cycle: &Cycle<'_, 's>, term: &'s PodAffinityTerm, other: &PodRef<'_>) -> bool {
    let About { namespaces, .. } = &*cycle.about(term);
    let strings = cycle.snapshot().strings();
    namespaces.contains(other.namespace)
        && term.selector.as_ref().is_some_and(|selector| selector.matches(other.labels, strings))
}

impl<'s> NodeFilter<'s> for Rules<'_> {
    fn check(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        let labels = &cycle.snapshot().node(node).labels;
        let mut missing = false;
        for term in self.affinity {
            match value_of(labels, term.topology_key) {
                None => return never(Why::PodAffinity),
                Some(value) => missing |= !is_positive(&self.drawn_to, (term.topology_key, value)),
            }
        }
        // The first pod of a group that wants to be together has nobody to join.
        let first = self.drawn_to.is_empty() && self.matches_itself;
        if missing && !first {
            return never(Why::PodAffinity);
        }
        let meets = |term: &PodAffinityTerm| {
            let value = value_of(labels, term.topology_key);
            value.is_some_and(|value| is_positive(&self.keeps_from, (term.topology_key, value)))
        };
        if self.anti_affinity.iter().any(meets) {
            return not_now(Why::PodAntiAffinity);
        }
        if !self.kept_away_by.is_empty()
            && labels.iter().any(|&pair| is_positive(&self.kept_away_by, pair))
        {
            return not_now(Why::OthersAntiAffinity);
        }
        Ok(())
    }
}

fn is_positive(pairs: &Pairs, pair: (Sym, Sym)) -> bool {
    pairs.get(&pair).is_some_and(|count| *count > 0)
}

/// What being in each place is worth.
struct Preferences(Pairs);

pub(super) fn scores<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Scores<'c, 's> {
    let args = &cycle.profile.inter_pod;
    let preferred = &cycle.pod.spec.preferred_pods;
    if args.ignore_existing && preferred.is_empty() {
        return Scores::Skip;
    }
    let mut pairs = Pairs::new();
    for preferred in preferred {
        count_matching(cycle, &preferred.term, i64::from(preferred.weight), &mut pairs);
    }
    let me = (cycle.pod.namespace, cycle.pod.labels);
    for existing in cycle.occupancy.terms().about(cycle.snapshot(), me) {
        let weight = match existing.effect {
            Effect::KeepsAway => continue,
            Effect::Attracts if args.hard_weight == 0 => continue,
            Effect::Attracts => args.hard_weight,
            Effect::Prefers(weight) => i64::from(weight),
        };
        for (&value, &owners) in existing.owners.iter().filter(|(_, owners)| **owners > 0) {
            *pairs.entry((existing.term.topology_key, value)).or_default() += weight * owners;
        }
    }
    match pairs.is_empty() {
        true => Scores::Skip,
        false => Scores::by(Preferences(pairs)),
    }
}

impl<'s> NodeScore<'s> for Preferences {
    fn raw(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> i64 {
        let labels = &cycle.snapshot().node(node).labels;
        labels.iter().filter_map(|pair| self.0.get(pair)).sum()
    }

    fn normalize(&self, _: &[NodeId], raw: &mut [i64]) {
        let (min, max) = (raw.iter().copied().min(), raw.iter().copied().max());
        let (Some(min), Some(max)) = (min, max) else { return };
        for score in raw {
            *score = match max - min {
                0 => 0,
                // In this order: 29 of 100 is 28 in the scheduler's floats.
                range => (100.0 * ((*score - min) as f64 / range as f64)) as i64,
            };
        }
    }
}
