//! The nodes that the strategies of a profile work on.
//!
//! They are ready and selected by the policy's `nodeSelector` (docs/spec/strategies.md section 1.2)
//! and by the profile's own, which is ours (docs/differences.md). A replacement may land on any node.
//! But a strategy has no opinion on nodes that it does not work on, and one that spreads or packs
//! pods over its nodes does not reach its goal by sending them elsewhere.

use std::rc::Rc;

use descheduler_cluster::{LabelSelector, NodeId, Snapshot};
use descheduler_scheduler::{PodRef, View};

use crate::policy::{Policy, Profile};
use crate::strategy::{Judge, Pass};

/// With fewer nodes to work on than this nothing is planned, since no pod could move.
pub(crate) const NODES_MIN: usize = 2;

/// The nodes that the policy selects and that are ready, by name.
pub fn node_set(snapshot: &Snapshot, policy: &Policy) -> Vec<NodeId> {
    let selected = selected(snapshot, policy.node_selector.as_ref());
    ready(snapshot, selected.as_deref())
}

/// The nodes of one profile.
pub(crate) struct Pool {
    /// Those to work on, by name.
    pub(crate) nodes: Vec<NodeId>,
    /// By node slot: whether it is one of them.
    works_on: Vec<bool>,
    /// By node slot: whether selectors choose it, ready or not; `None` where there are none.
    selected: Option<Rc<[bool]>>,
}

impl Pool {
    /// The pool of each profile, in policy order.
    pub(crate) fn all(snapshot: &Snapshot, policy: &Policy) -> Vec<Self> {
        let of_policy = selected(snapshot, policy.node_selector.as_ref());
        let pool = |profile: &Profile| {
            let of_profile = selected(snapshot, profile.node_selector.as_ref());
            let both = match (of_policy.clone(), of_profile) {
                (Some(one), Some(other)) => {
                    Some(one.iter().zip(&other).map(|(one, other)| *one && *other).collect())
                }
                (one, other) => one.or(other),
            };
            Self::new(snapshot, both)
        };
        policy.profiles.iter().map(pool).collect()
    }

    fn new(snapshot: &Snapshot, selected: Option<Vec<bool>>) -> Self {
        let nodes = ready(snapshot, selected.as_deref());
        let mut works_on = vec![false; snapshot.node_slots()];
        nodes.iter().for_each(|node| works_on[node.index()] = true);
        Self { nodes, works_on, selected: selected.map(Rc::from) }
    }

    /// Whether a node is one of those to work on.
    pub(crate) fn works_on(&self, node: NodeId) -> bool {
        self.works_on[node.index()]
    }

    /// Why nothing is planned for it, if it has too few nodes.
    pub(crate) fn too_few(&self, snapshot: &Snapshot) -> Option<String> {
        (self.nodes.len() < NODES_MIN)
            .then(|| format!("nothing moves: {}", too_few(snapshot, &self.nodes)))
    }

    /// The judge of a strategy that works on this pool.
    pub(crate) fn judge<'s>(
        &self,
        judge: Box<dyn Judge<'s> + 's>,
        pass: Pass,
    ) -> Box<dyn Judge<'s> + 's> {
        match &self.selected {
            None => judge,
            Some(selected) => Box::new(Local { judge, selected: Rc::clone(selected), pass }),
        }
    }
}

/// How many nodes there are to work on, where that is not enough.
pub(crate) fn too_few(snapshot: &Snapshot, nodes: &[NodeId]) -> String {
    format!(
        "{} of {} nodes are ready and selected, and a pod can move only between two",
        nodes.len(),
        snapshot.nodes().len()
    )
}

/// By node slot whether a selector matches it.
fn selected(snapshot: &Snapshot, selector: Option<&LabelSelector>) -> Option<Vec<bool>> {
    let selector = snapshot.compile(selector?);
    let mut selected = vec![false; snapshot.node_slots()];
    for &id in snapshot.nodes() {
        selected[id.index()] = selector.matches(&snapshot.node(id).labels, snapshot.strings());
    }
    Some(selected)
}

fn ready(snapshot: &Snapshot, selected: Option<&[bool]>) -> Vec<NodeId> {
    let chosen = |id: &NodeId| {
        snapshot.node(*id).ready && selected.is_none_or(|selected| selected[id.index()])
    };
    snapshot.nodes().iter().copied().filter(chosen).collect()
}

/// The judge of a strategy that does not work on every node.
struct Local<'s> {
    judge: Box<dyn Judge<'s> + 's>,
    selected: Rc<[bool]>,
    pass: Pass,
}

impl<'s> Judge<'s> for Local<'s> {
    fn standing(&self, view: &View<'s>, pod: &PodRef<'s>, node: NodeId) -> i64 {
        match self.selected[node.index()] {
            true => self.judge.standing(view, pod, node),
            false => 0,
        }
    }

    fn looks_around(&self) -> bool {
        self.judge.looks_around()
    }

    fn goal(&self, view: &View<'s>, pod: &PodRef<'s>, to: NodeId) -> Result<(), String> {
        match (self.pass, self.selected[to.index()]) {
            (Pass::Balance, false) => Err("which is not one of the nodes selected".to_owned()),
            (Pass::Balance | Pass::Deschedule, _) => self.judge.goal(view, pod, to),
        }
    }
}
