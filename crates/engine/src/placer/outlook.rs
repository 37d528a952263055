//! Where the replacement of a pod would land, told at length.

use descheduler_cluster::{NodeId, PodId, ResourceId};
use descheduler_scheduler::{Old, Placement as Answer, PodRef, View, Winners};

use super::Placer;
use crate::decision::Refusal;
use crate::policy::Placement;

/// Where the replacement of a pod would land.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// Why the move is not worth it, as the gate puts it; `None` if it is.
    pub refusal: Option<Refusal>,
    /// All nodes that could win, best guess first; empty for a pod that has ended.
    pub destinations: Vec<NodeId>,
    /// The scheduler's answers: one, or several where it is not known what exactly comes back. None
    /// where nothing does.
    pub readings: Vec<Reading>,
}

/// The scheduler's answer about one pod that may come back.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What the old pod still holds then.
    pub old: Old,
    /// `spec.schedulerName`.
    pub scheduler: String,
    /// Whether the configuration of that scheduler is known. If not, how it scores is not either.
    pub known: bool,
    /// What it says about each node.
    pub answer: Answer,
    /// The nodes that could win.
    pub winners: Winners,
    /// For winners that would be no improvement, why not, as the end of a sentence about the node.
    pub against: Vec<(NodeId, String)>,
    /// For nodes without enough room: the resource, what the pod asks for and what is free.
    pub short: Vec<(NodeId, ResourceId, i64, i64)>,
}

impl<'s> Placer<'s> {
    /// All that there is to say about moving a pod for the strategy of number `own`.
    pub(crate) fn outlook(&mut self, view: &mut View<'s>, id: PodId, own: usize) -> Outlook {
        let (refusal, destinations) = match self.find(view, id, own) {
            Ok(landing) => (None, landing.destinations),
            Err(refusal) => (Some(refusal), Vec::new()),
        };
        let mut readings = Vec::new();
        if self.model.snapshot().pod(id).is_active()
            && let Ok(coming) = self.model.replacement(id)
        {
            for (pod, old) in coming.readings() {
                readings.push(self.reading(view, &pod, old, own));
            }
        }
        Outlook { refusal, destinations, readings }
    }

    fn reading(&mut self, view: &mut View<'s>, pod: &PodRef<'s>, old: Old, own: usize) -> Reading {
        let Self { ref model, ref mut occupancy, .. } = *self;
        let mark = occupancy.mark();
        occupancy.leave(pod.id, old);
        let known = model.profile_of(pod).is_some();
        let (answer, winners) = model.decide(occupancy, pod, true);
        let short = self.shortages(pod, &answer);
        self.occupancy.undo_to(mark);
        Reading {
            old,
            scheduler: self.model.snapshot().text(pod.spec.scheduler_name).to_owned(),
            known,
            against: self.against(view, pod, &winners, own),
            short,
            winners,
            answer,
        }
    }

    /// What speaks against each of the possible winners.
    fn against(
        &self,
        view: &mut View<'s>,
        pod: &PodRef<'s>,
        winners: &Winners,
        own: usize,
    ) -> Vec<(NodeId, String)> {
        if self.judges[own].mode != Placement::Improving {
            return Vec::new();
        }
        let here = self.standings(view, pod.id);
        let nodes = winners.nodes.iter();
        nodes
            .filter_map(|&node| {
                let verdict = self.harms(view, pod, node, &here);
                let verdict = verdict.and_then(|()| self.judges[own].judge.goal(view, pod, node));
                let verdict = verdict.and_then(|()| self.uncontested(pod, node));
                let verdict = verdict.and_then(|()| self.burdens(view, pod, node));
                Some((node, verdict.err()?))
            })
            .collect()
    }

    /// What is missing where there is not enough of something.
    fn shortages(&self, pod: &PodRef<'s>, answer: &Answer) -> Vec<(NodeId, ResourceId, i64, i64)> {
        let snapshot = self.model.snapshot();
        let mut short = Vec::new();
        for (node, fault) in &answer.infeasible {
            let descheduler_scheduler::Why::Insufficient(resource) = fault.why else { continue };
            let used = self.occupancy.requested(*node).get(resource);
            let free = snapshot.node(*node).allocatable.get(resource).saturating_sub(used);
            short.push((*node, resource, pod.requests.get(resource), free));
        }
        short
    }
}
