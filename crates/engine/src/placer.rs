//! Where the replacement of a pod would land, and whether the move is worth it.
//!
//! The scheduler model names every node that could win. In mode `feasible` one is enough; in mode
//! `improving` each must meet the goal of the strategy that asks, and be no worse for any other.
//! An accepted move holds its place: at the best guess for whatever is placed later, and at every
//! other possible winner as room that later moves must not rely on.

mod outlook;

pub use outlook::{Outlook, Reading};

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use descheduler_cluster::{NodeId, PodId, ResourceId, Resources, Snapshot};
use descheduler_scheduler::{
    Model, Occupancy, OccupancyMark, Old, Placement as Answer, PodRef, View, Why, Winners,
};

use crate::decision::{Reason, Refusal};
use crate::policy::Placement;
use crate::strategy::Judge;

/// More than what sums of shares may be off by.
const ROUNDING: f64 = 1e-9;

/// No node passes every filter of the scheduler.
const NO_FEASIBLE_NODE: &str = "NoFeasibleNode";
/// Some node that could win would be no improvement.
const NO_IMPROVEMENT: &str = "NoImprovement";
/// The owner would not make the pod anew.
const NOTHING_COMES_BACK: &str = "NothingComesBack";
/// The scheduler would fail over the pod.
const SCHEDULER_ERROR: &str = "SchedulerError";

/// Everything needed to judge moves by where they lead.
pub(crate) struct Placer<'s> {
    model: Model<'s>,
    occupancy: Occupancy<'s>,
    /// One for each strategy of the policy, in the order of [`crate::plan::steps`].
    judges: Vec<Seated<'s>>,
    /// By node slot: what accepted moves that may land elsewhere might still take there.
    contested: Vec<Resources>,
    /// For each accepted move what it takes, and the nodes where it might.
    log: Vec<(Vec<NodeId>, Resources)>,
}

/// The judge of one strategy.
pub(crate) struct Seated<'s> {
    pub(crate) strategy: &'static str,
    /// How its own moves are judged.
    pub(crate) mode: Placement,
    /// The share of cases in which a move of its own must be an improvement, where the outcome is
    /// uncertain.
    pub(crate) confidence: f64,
    pub(crate) judge: Box<dyn Judge<'s> + 's>,
}

/// A point to go back to.
#[derive(Clone, Copy)]
pub(crate) struct PlacerMark {
    occupancy: OccupancyMark,
    contested: usize,
}

/// Where a replacement is expected.
pub(crate) struct Landing<'s> {
    /// All nodes that could win, best guess first.
    pub(crate) destinations: Vec<NodeId>,
    /// The pod that comes, and whether the old one gives its place up for it.
    arrival: Option<(PodRef<'s>, Old)>,
}

impl<'s> Landing<'s> {
    /// The pod that comes, and the best guess of where.
    pub(crate) fn best(&self) -> Option<(PodRef<'s>, NodeId)> {
        let (pod, _) = self.arrival?;
        Some((pod, *self.destinations.first()?))
    }

    /// A pod that has ended, or whose place nobody asked about.
    pub(crate) fn nowhere() -> Self {
        Self { destinations: Vec::new(), arrival: None }
    }
}

impl<'s> Placer<'s> {
    pub(crate) fn new(model: Model<'s>, judges: Vec<Seated<'s>>) -> Self {
        let snapshot = model.snapshot();
        let mut occupancy = model.occupancy();
        model.place_pending(&mut occupancy);
        Self {
            occupancy,
            model,
            judges,
            contested: vec![Resources::default(); snapshot.node_slots()],
            log: Vec::new(),
        }
    }

    /// Where the replacement of a pod would land, if moving it is worth it for the strategy of
    /// number `own`.
    pub(crate) fn find(
        &mut self,
        view: &mut View<'s>,
        id: PodId,
        own: usize,
    ) -> Result<Landing<'s>, Refusal> {
        let snapshot = self.model.snapshot();
        if !snapshot.pod(id).is_active() {
            return Ok(Landing::nowhere());
        }
        let coming = self.model.replacement(id);
        let coming = coming.map_err(|nothing| refusal(NOTHING_COMES_BACK, nothing.text()))?;
        let mut destinations: Vec<NodeId> = Vec::new();
        for (pod, old) in coming.readings() {
            let winners = self.look(view, &pod, old, own)?;
            let known: BTreeSet<NodeId> = destinations.iter().copied().collect();
            destinations.extend(winners.into_iter().filter(|node| !known.contains(node)));
        }
        Ok(Landing { destinations, arrival: Some((coming.pod, coming.old)) })
    }

    /// The possible winners under one reading of what the old pod still holds.
    fn look(
        &mut self,
        view: &mut View<'s>,
        pod: &PodRef<'s>,
        old: Old,
        own: usize,
    ) -> Result<Vec<NodeId>, Refusal> {
        let Self { ref model, ref mut occupancy, .. } = *self;
        let mark = occupancy.mark();
        occupancy.leave(pod.id, old);
        let winners = model.winners_for(occupancy, pod);
        occupancy.undo_to(mark);
        let winners = winners.map_err(|answer| nowhere(model.snapshot(), &answer))?;
        if self.judges[own].mode == Placement::Improving {
            self.improves(view, pod, &winners, own)?;
            for &node in &winners.nodes {
                self.burdens(view, pod, node).map_err(|reason| self.not_on(node, &reason))?;
            }
        }
        Ok(winners.nodes)
    }

    /// Whether every node that could win is an improvement; where that is a matter of chance, in
    /// as many cases as the policy asks for, and in no case for the worse.
    fn improves(
        &self,
        view: &View<'s>,
        pod: &PodRef<'s>,
        winners: &Winners,
        own: usize,
    ) -> Result<(), Refusal> {
        let here = self.standings(view, pod.id);
        let allowed = if winners.sampled { 1.0 - self.judges[own].confidence } else { 0.0 };
        let mut bad: Vec<NodeId> = Vec::new();
        let (mut why, mut lost) = (None, 0.0);
        for (at, &node) in winners.nodes.iter().enumerate() {
            if let Err(reason) = self.harms(view, pod, node, &here) {
                return Err(self.not_on(node, &reason));
            }
            let goal = self.judges[own].judge.goal(view, pod, node);
            if let Err(reason) = goal.and_then(|()| self.uncontested(pod, node)) {
                bad.push(node);
                let (node, reason) = why.get_or_insert((node, reason));
                lost += winners.share_won(at);
                // Whatever the others are.
                if lost > allowed + ROUNDING {
                    return Err(self.not_on(*node, reason));
                }
            }
        }
        let Some((node, reason)) = why else { return Ok(()) };
        bad.sort_unstable();
        let share = winners.share(|node| bad.binary_search(&node).is_ok());
        match winners.sampled && share <= allowed {
            true => Ok(()),
            false => Err(self.not_on(node, &reason)),
        }
    }

    /// How the pod stands where it is, in the eyes of each strategy.
    fn standings(&self, view: &View<'s>, id: PodId) -> Vec<i64> {
        let (here, old) = (view.node_of(id), view.pod(id));
        let standing =
            |seated: &Seated<'s>| here.map_or(0, |node| seated.judge.standing(view, &old, node));
        self.judges.iter().map(standing).collect()
    }

    /// Whether the pod on that node would be worse in the eyes of any strategy than it is now, when
    /// its standings are `here`.
    fn harms(
        &self,
        view: &View<'s>,
        pod: &PodRef<'s>,
        node: NodeId,
        here: &[i64],
    ) -> Result<(), String> {
        let there = self.model.snapshot().node(node);
        if there.flawed {
            return Err("of which not everything could be read".to_owned());
        }
        // Whoever tolerates every taint is sent there by the scheduler, though no strategy has an
        // opinion on such a node. It comes from one that is ready.
        if !there.ready {
            return Err("which is not ready".to_owned());
        }
        let mut judges = self.judges.iter().zip(here);
        let worse = judges.find(|(seated, here)| seated.judge.standing(view, pod, node) > **here);
        match worse {
            Some((Seated { strategy, .. }, _)) => {
                Err(format!("where it would be worse off in the eyes of {strategy}"))
            }
            None => Ok(()),
        }
    }

    /// Whether the move would leave a pod worse off that this plan has sent to the node, or to the one
    /// that is left: the next plan would move it once more.
    fn burdens(&self, view: &mut View<'s>, pod: &PodRef<'s>, node: NodeId) -> Result<(), String> {
        let left = view.node_of(pod.id).filter(|&left| left != node);
        let mut concerned: Vec<(&Seated<'s>, PodRef<'s>, NodeId)> = Vec::new();
        for node in iter::once(node).chain(left) {
            for &arrived in view.arrivals(node) {
                let judges = self.judges.iter().filter(|seated| seated.judge.looks_around());
                concerned.extend(judges.map(|seated| (seated, view.pod(arrived), node)));
            }
        }
        if concerned.is_empty() {
            return Ok(());
        }
        let standings = |view: &View<'s>| -> Vec<i64> {
            let all = concerned.iter();
            all.map(|(seated, pod, node)| seated.judge.standing(view, pod, *node)).collect()
        };
        let before = standings(view);
        let mark = view.mark();
        view.replace(*pod, node);
        let after = standings(view);
        view.undo_to(mark);
        let mut changes = concerned.iter().zip(before.iter().zip(&after));
        match changes.find(|(_, (before, after))| after > before) {
            Some(((Seated { strategy, .. }, other, _), _)) => {
                let other = self.model.snapshot().pod_name(other.id);
                Err(format!(
                    "and {other}, which this plan moves, would be worse off in the eyes of \
                     {strategy}"
                ))
            }
            None => Ok(()),
        }
    }

    /// Whether there is room on the node even if every earlier move that might land there does.
    fn uncontested(&self, pod: &PodRef<'s>, node: NodeId) -> Result<(), String> {
        let contested = &self.contested[node.index()];
        if contested.is_empty() {
            return Ok(());
        }
        let allocatable = &self.model.snapshot().node(node).allocatable;
        let used = self.occupancy.requested(node);
        let one = [(ResourceId::PODS, 1)];
        let short = pod.requests.iter().chain(one).any(|(resource, amount)| {
            let free = allocatable.get(resource) - used.get(resource) - contested.get(resource);
            amount > 0 && amount > free
        });
        match short {
            true => Err("where another move of this plan may take the room".to_owned()),
            false => Ok(()),
        }
    }

    fn not_on(&self, node: NodeId, reason: &str) -> Refusal {
        let name = &self.model.snapshot().node(node).name;
        refusal(NO_IMPROVEMENT, &format!("its replacement could land on {name}, {reason}"))
    }

    /// Books an accepted move.
    pub(crate) fn commit(&mut self, id: PodId, landing: &Landing<'s>) {
        let Some((pod, old)) = landing.arrival else { return self.occupancy.terminate(id) };
        let [best, others @ ..] = &*landing.destinations else {
            return self.occupancy.terminate(id);
        };
        let here = self.model.snapshot().pod(id).node;
        // Only its own replacement gets the place of a pod that has to be gone first.
        match old == Old::Gone && here == Some(*best) {
            true => self.occupancy.remove(id),
            false => self.occupancy.terminate(id),
        }
        self.occupancy.place(pod, *best);
        if !others.is_empty() {
            let mut taken = pod.requests.clone();
            taken.set(ResourceId::PODS, 1);
            others.iter().for_each(|node| self.contested[node.index()].add(&taken));
            self.log.push((others.to_vec(), taken));
        }
    }

    pub(crate) fn mark(&self) -> PlacerMark {
        PlacerMark { occupancy: self.occupancy.mark(), contested: self.log.len() }
    }

    pub(crate) fn undo_to(&mut self, mark: PlacerMark) {
        self.occupancy.undo_to(mark.occupancy);
        for (nodes, taken) in self.log.drain(mark.contested..) {
            nodes.iter().for_each(|node| self.contested[node.index()].subtract(&taken));
        }
    }
}

fn refusal(code: &'static str, detail: &str) -> Refusal {
    Refusal::Placement(Reason::new(code, detail))
}

fn nowhere(snapshot: &Snapshot, answer: &Answer) -> Refusal {
    if let Some(error) = &answer.error {
        let text = format!("the scheduler would fail over it: {}: {}", error.plugin, error.message);
        return refusal(SCHEDULER_ERROR, &text);
    }
    match &answer.rejected {
        Some(fault) => refusal(NO_FEASIBLE_NODE, &fault.why.text(snapshot)),
        None => refusal(NO_FEASIBLE_NODE, &reasons(snapshot, answer)),
    }
}

/// As the scheduler puts it: `0/5 nodes are available: 3 Insufficient cpu, 2 Too many pods`.
fn reasons(snapshot: &Snapshot, answer: &Answer) -> String {
    let mut faults: BTreeMap<Why, usize> = BTreeMap::new();
    for same in answer.infeasible.chunk_by(|(_, one), (_, other)| one.why == other.why) {
        *faults.entry(same[0].1.why).or_default() += same.len();
    }
    // What differs for us may read the same.
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (why, count) in faults {
        *counts.entry(why.text(snapshot)).or_default() += count;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let counts: Vec<String> =
        counts.iter().map(|(text, count)| format!("{count} {text}")).collect();
    let nodes = snapshot.nodes().len();
    format!("0/{nodes} nodes are available: {}", counts.join(", "))
}
