//! InterPodAffinity (docs/spec/scheduler.md section 6).

use std::rc::Rc;

use descheduler_cluster::{GroupId, NodeId, PodAffinityTerm, Sym};

use super::{NodeFilter, NodeScore, Prepared, Rejection, Scores, never, not_now};
use crate::cycle::Cycle;
use crate::model::About;
use crate::outcome::Why;
use crate::pod::PodRef;
use crate::terms::Effect;
use crate::topology::{Domains, PerDomain};

struct Rules {
    /// The topology keys of the pod's own affinity, with their domains.
    affinity: Vec<(Sym, Rc<Domains>)>,
    /// How many pods match all affinity terms at once, by the domains of each term.
    drawn_to: PerDomain,
    /// How many pods match some anti-affinity term, by its domains.
    keeps_from: PerDomain,
    /// How many pods have anti-affinity that is about this one, by the domains of their terms.
    kept_away_by: PerDomain,
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
    let mut keeps_from = PerDomain::default();
    for term in anti_affinity {
        count_matching(cycle, term, 1, &mut keeps_from);
    }
    Prepared::filter(Rules {
        affinity: keys(cycle),
        drawn_to: drawn_to(cycle),
        keeps_from,
        kept_away_by,
        matches_itself: affinity.iter().all(|term| is_about(cycle, term, pod)),
    })
}

fn kept_away_by(cycle: &Cycle<'_, '_>) -> PerDomain {
    let mut sum = PerDomain::default();
    let me = (cycle.pod.namespace, cycle.pod.labels, cycle.pod.group);
    cycle.occupancy.terms().each_about(cycle.snapshot(), me, |existing| {
        if existing.effect == Effect::KeepsAway {
            for (&domain, &owners) in existing.owners.iter().filter(|(_, owners)| **owners > 0) {
                sum.add(&cycle.model.topology, existing.term.topology_key, domain, owners);
            }
        }
    });
    sum
}

/// Adds `weight` to the domain of each pod on a node that the term is about.
fn count_matching<'s>(
    cycle: &Cycle<'_, 's>,
    term: &'s PodAffinityTerm,
    weight: i64,
    sum: &mut PerDomain,
) {
    let about = cycle.about(term);
    let domains = cycle.model.topology.domains(term.topology_key);
    let matches = |other: &PodRef<'_>| is_about(cycle, term, other);
    cycle.occupancy.each_of(&about.groups, matches, |node, _| {
        if let Some(domain) = domains.of(node) {
            sum.add(&cycle.model.topology, term.topology_key, domain, weight);
        }
    });
}

/// The topology keys of the pod's affinity terms.
fn keys(cycle: &Cycle<'_, '_>) -> Vec<(Sym, Rc<Domains>)> {
    let keys = cycle.pod.spec.affinity.iter().map(|term| term.topology_key);
    keys.map(|key| (key, cycle.model.topology.domains(key))).collect()
}

fn drawn_to(cycle: &Cycle<'_, '_>) -> PerDomain {
    let mut sum = PerDomain::default();
    let [first, rest @ ..] = &*cycle.pod.spec.affinity else { return sum };
    let about = cycle.about(first);
    let others: Vec<_> = rest.iter().map(|term| cycle.about(term)).collect();
    let in_all =
        |group: &GroupId| others.iter().all(|other| other.groups.binary_search(group).is_ok());
    let groups: Vec<GroupId> = about.groups.iter().copied().filter(in_all).collect();
    let terms = &*cycle.pod.spec.affinity;
    let keys = keys(cycle);
    let matches = |other: &PodRef<'_>| terms.iter().all(|term| is_about(cycle, term, other));
    cycle.occupancy.each_of(&groups, matches, |node, _| {
        for (key, domains) in &keys {
            if let Some(domain) = domains.of(node) {
                sum.add(&cycle.model.topology, *key, domain, 1);
            }
        }
    });
    sum
}

/// Whether a term of the incoming pod is about a pod.
fn is_about<'s>(cycle: &Cycle<'_, 's>, term: &'s PodAffinityTerm, other: &PodRef<'_>) -> bool {
    let About { namespaces, .. } = &*cycle.about(term);
    let strings = cycle.snapshot().strings();
    namespaces.contains(other.namespace)
        && term.selector.as_ref().is_some_and(|selector| selector.matches(other.labels, strings))
}

impl<'s> NodeFilter<'s> for Rules {
    fn check(&self, _: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        let mut missing = false;
        for (key, domains) in &self.affinity {
            if domains.of(node).is_none() {
                return never(Why::PodAffinity);
            }
            missing |= self.drawn_to.at(*key, node) <= 0;
        }
        // The first pod of a group that wants to be together has nobody to join.
        let first = self.drawn_to.is_empty() && self.matches_itself;
        if missing && !first {
            return never(Why::PodAffinity);
        }
        if self.keeps_from.any_positive(node) {
            return not_now(Why::PodAntiAffinity);
        }
        if self.kept_away_by.any_positive(node) {
            return not_now(Why::OthersAntiAffinity);
        }
        Ok(())
    }

    fn odd(&self, cycle: &Cycle<'_, 's>) -> Option<Vec<NodeId>> {
        let zone = cycle.model.topology.zone;
        let Self { affinity, drawn_to, keeps_from, kept_away_by, .. } = self;
        let touched = [drawn_to, keeps_from, kept_away_by].into_iter();
        let touched = touched.flat_map(|numbers| numbers.touched(zone));
        let lacking = affinity.iter().flat_map(|(_, domains)| domains.outside().iter().copied());
        Some(touched.chain(lacking).collect())
    }
}

/// What being in each place is worth.
struct Preferences(PerDomain);

pub(super) fn scores<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Scores<'c, 's> {
    let args = &cycle.profile.inter_pod;
    let preferred = &cycle.pod.spec.preferred_pods;
    if args.ignore_existing && preferred.is_empty() {
        return Scores::Skip;
    }
    let mut sum = PerDomain::default();
    for preferred in preferred {
        count_matching(cycle, &preferred.term, i64::from(preferred.weight), &mut sum);
    }
    let me = (cycle.pod.namespace, cycle.pod.labels, cycle.pod.group);
    cycle.occupancy.terms().each_about(cycle.snapshot(), me, |existing| {
        let weight = match existing.effect {
            Effect::KeepsAway => return,
            Effect::Attracts if args.hard_weight == 0 => return,
            Effect::Attracts => args.hard_weight,
            Effect::Prefers(weight) => i64::from(weight),
        };
        for (&domain, &owners) in existing.owners.iter().filter(|(_, owners)| **owners > 0) {
            let key = existing.term.topology_key;
            sum.add(&cycle.model.topology, key, domain, weight * owners);
        }
    });
    match sum.is_empty() {
        true => Scores::Skip,
        false => Scores::by(Preferences(sum)),
    }
}

impl<'s> NodeScore<'s> for Preferences {
    fn raw(&self, _: &Cycle<'_, 's>, node: NodeId) -> i64 {
        self.0.sum(node)
    }

    fn odd(&self, cycle: &Cycle<'_, 's>) -> Option<Vec<NodeId>> {
        Some(self.0.touched(cycle.model.topology.zone).collect())
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
