//! NodeAffinity (docs/spec/scheduler.md sections 3.4 and 7.3).

use descheduler_cluster::affinity::NodeMatch;
use descheduler_cluster::{Labels, Node, NodeId, NodeSelectorTerm, Selector, Snapshot};

use super::{NodeFilter, NodeScore, Prepared, Rejection, Scores, never, normalize_by_max};
use crate::cycle::Cycle;
use crate::outcome::{Code, Why};
use crate::profile::{NodeTerm, Plugin};

/// A [`NodeTerm`] of the profile, compiled for a snapshot.
struct Term<'c> {
    labels: Selector,
    names: &'c [(String, bool)],
}

impl<'c> Term<'c> {
    /// `None` for a term without conditions, which matches nothing.
    fn compile(snapshot: &Snapshot, term: &'c NodeTerm) -> Option<Self> {
        let empty = term.labels.is_empty() && term.names.is_empty();
        (!empty).then(|| Self { labels: snapshot.compile(&term.labels), names: &term.names })
    }

    fn matches(&self, snapshot: &Snapshot, node: &Node) -> bool {
        self.names.iter().all(|(name, equal)| (**name == *node.name) == *equal)
            && self.labels.matches(&node.labels, snapshot.strings())
    }
}

struct Required<'c> {
    added: Option<Vec<Term<'c>>>,
}

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    let spec = cycle.pod.spec;
    let added = cycle.profile.added_affinity.required.as_ref();
    if added.is_none() && spec.required_nodes.is_none() && spec.node_selector.is_empty() {
        return Prepared::Skip;
    }
    let compile = |term| Term::compile(cycle.snapshot(), term);
    let added = added.map(|terms| terms.0.iter().filter_map(compile).collect());
    let filter = Required { added };
    let Some(names) = spec.required_nodes.as_ref().and_then(|terms| terms.names.as_deref()) else {
        return Prepared::filter(filter);
    };
    if names.is_empty() {
        return Prepared::Reject(Code::UnschedulableAndUnresolvable, Why::NoNodeNamed);
    }
    Prepared::Within(names.iter().map(AsRef::as_ref).collect(), Box::new(filter))
}

impl<'s> NodeFilter<'s> for Required<'_> {
    fn check(&self, cycle: &Cycle<'_, 's>, id: NodeId) -> Result<(), Rejection> {
        let snapshot = cycle.snapshot();
        let node = snapshot.node(id);
        let in_vain =
            |terms: &Vec<Term<'_>>| !terms.iter().any(|term| term.matches(snapshot, node));
        if self.added.as_ref().is_some_and(in_vain) {
            return never(Why::AddedNodeAffinity);
        }
        match snapshot.node_matches(cycle.pod.spec, id) {
            NodeMatch::Yes => Ok(()),
            NodeMatch::No | NodeMatch::Invalid => never(Why::NodeAffinity),
        }
    }
}

struct Preferred<'c> {
    added: Vec<(i32, Term<'c>)>,
}

pub(super) fn scores<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Scores<'c, 's> {
    let added = &cycle.profile.added_affinity.preferred;
    let own = &cycle.pod.spec.preferred_nodes;
    // Without its half that prepares, nobody says that there is nothing to do.
    let prepares = cycle.profile.pre_score.contains(&Plugin::NodeAffinity);
    if prepares && added.is_empty() && own.is_empty() {
        return Scores::Skip;
    }
    // Terms with weight 0 are not even looked at.
    let invalid =
        own.iter().filter(|preferred| preferred.weight != 0).find_map(|preferred| match &preferred
            .term
        {
            Some(NodeSelectorTerm::Invalid(problem)) => Some(problem.to_string()),
            _ => None,
        });
    if let Some(problem) = invalid {
        return Scores::Error(problem);
    }
    let compile = |(weight, term): &'c (i32, NodeTerm)| {
        Some((*weight, Term::compile(cycle.snapshot(), term)?))
    };
    Scores::by(Preferred { added: added.iter().filter_map(compile).collect() })
}

impl<'s> NodeScore<'s> for Preferred<'_> {
    fn raw(&self, cycle: &Cycle<'_, 's>, id: NodeId) -> i64 {
        let snapshot = cycle.snapshot();
        let node = snapshot.node(id);
        let added = self.added.iter().filter(|(_, term)| term.matches(snapshot, node));
        let added: i64 = added.map(|(weight, _)| i64::from(*weight)).sum();
        let labels: &Labels = &node.labels;
        let own = cycle.pod.spec.preferred_nodes.iter().filter(|preferred| {
            preferred.term.as_ref().is_some_and(|term| {
                term.matches(node, labels, snapshot.strings()) == NodeMatch::Yes
            })
        });
        added + own.map(|preferred| i64::from(preferred.weight)).sum::<i64>()
    }

    fn normalize(&self, _: &[NodeId], raw: &mut [i64]) {
        normalize_by_max(raw, false);
    }
}
