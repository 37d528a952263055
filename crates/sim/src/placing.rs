//! The scheduler gives pods their nodes, one after the other.

use std::cmp::Reverse;

use descheduler_cluster::{NodeId, PodId, Snapshot};
use descheduler_scheduler::{Model, Occupancy, Old, PodRef, Winners};
use jiff::Timestamp;

use crate::chance::Chance;

/// The scheduler at work on one snapshot.
pub(crate) struct Placing<'c, 's> {
    pub(crate) model: Model<'s>,
    occupancy: Occupancy<'s>,
    chance: &'c mut dyn Chance,
}

impl<'c, 's> Placing<'c, 's> {
    pub(crate) fn new(model: Model<'s>, chance: &'c mut dyn Chance) -> Self {
        Self { occupancy: model.occupancy(), model, chance }
    }

    /// Has a pod leave its node, at once or as its owner's next pod finds it.
    pub(crate) fn leave(&mut self, id: PodId, old: Old) {
        self.occupancy.leave(id, old);
    }

    /// Gives a pod one of the nodes that could win, if there is any.
    pub(crate) fn place(&mut self, pod: PodRef<'s>) -> Option<NodeId> {
        let Self { model, occupancy, chance } = self;
        let winners = model.winners_for(occupancy, &pod).ok()?;
        let node = draw(&winners, *chance)?;
        occupancy.place(pod, node);
        Some(node)
    }
}

/// Where the search begins decides if not all nodes are looked at; else one of the best is drawn.
fn draw(winners: &Winners, chance: &mut dyn Chance) -> Option<NodeId> {
    match winners.starts() {
        0 => match &*winners.nodes {
            [] => None,
            [only] => Some(*only),
            several => Some(several[chance.pick(several.len())]),
        },
        starts => winners.from_start(chance.pick(starts)),
    }
}

/// The pods that wait for a node in a snapshot and are the scheduler's to place.
pub(crate) fn waiting<'s>(model: &Model<'s>) -> Vec<PodRef<'s>> {
    let snapshot = model.snapshot();
    let pods = snapshot.pending().iter().map(|&id| PodRef::of(snapshot, id));
    let mut waiting: Vec<PodRef<'s>> = pods.filter(|pod| model.profile_of(pod).is_some()).collect();
    waiting.sort_by_key(|pod| queue_key(snapshot, pod));
    waiting
}

/// By priority, then by age (docs/spec/scheduler.md section 2).
pub(crate) fn queue_key(
    snapshot: &Snapshot,
    pod: &PodRef<'_>,
) -> (Reverse<i32>, Option<Timestamp>) {
    (Reverse(pod.priority()), snapshot.pod(pod.id).created)
}
