//! One strategy's turn: what it may look at, and the one gate through which it can plan.

use descheduler_cluster::{BudgetId, NodeId, PodId, Snapshot};
use descheduler_scheduler::View;

use crate::decision::{Eviction, Reason, Refusal};
use crate::gate::{Checkpoint, Gate};
use crate::protection::{BoundShield, Stage};
use crate::report::StrategyRun;
use crate::strategy::StrategyDef;

/// A pod that a strategy wants moved.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The pod.
    pub pod: PodId,
    /// What is wrong with where it is, with the numbers.
    pub reason: Reason,
}

/// The gate's answer.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is in the plan now, and gone from the view.
    Planned,
    /// It stays; the report says why.
    Refused(Refusal),
}

/// One strategy's turn. Every answer given here is in the report.
pub struct Turn<'t, 's> {
    gate: &'t mut Gate<'s>,
    shield: &'t BoundShield<'s>,
    nodes: &'t [NodeId],
    profile: usize,
    def: &'static StrategyDef,
    run: StrategyRun,
    begun: Checkpoint,
}

impl<'t, 's> Turn<'t, 's> {
    pub(crate) fn begin(
        gate: &'t mut Gate<'s>,
        shield: &'t BoundShield<'s>,
        nodes: &'t [NodeId],
        profile: usize,
        def: &'static StrategyDef,
    ) -> Self {
        let begun = gate.checkpoint();
        Self { gate, shield, nodes, profile, def, run: StrategyRun::new(profile, def.name), begun }
    }

    /// The cluster as it was found.
    pub fn snapshot(&self) -> &'s Snapshot {
        self.gate.snapshot
    }

    /// The cluster as it will be after everything planned so far.
    pub fn view(&self) -> &View<'s> {
        &self.gate.view
    }

    /// The nodes to work on, by name.
    pub fn nodes(&self) -> &'t [NodeId] {
        self.nodes
    }

    /// Whether the profile's protections let a pod of this kind go, without proposing it.
    pub fn evictable(&self, pod: PodId) -> Result<(), Refusal> {
        self.ask(Stage::Filter, pod)
    }

    /// Whether the protections that look at where the pod could go let it go.
    pub fn may_leave(&self, pod: PodId) -> Result<(), Refusal> {
        self.ask(Stage::PreEviction, pod)
    }

    fn ask(&self, stage: Stage, pod: PodId) -> Result<(), Refusal> {
        if self.gate.snapshot.pod(pod).flawed {
            return Err(Refusal::Malformed);
        }
        self.shield.check(&self.gate.view, stage, pod).map_err(Refusal::Protected)
    }

    /// Asks for a pod to be evicted. This is the only way into a plan.
    pub fn propose(&mut self, Proposal { pod, reason }: Proposal) -> Verdict {
        match self.judge(pod) {
            Ok((node, budget, destinations)) => {
                let (profile, strategy) = (self.profile, self.def.name);
                let eviction = Eviction { pod, node, profile, strategy, reason, destinations };
                self.gate.commit(eviction, budget);
                self.run.plan(pod);
                Verdict::Planned
            }
            Err(refusal) => {
                if refusal != Refusal::AlreadyPlanned {
                    self.run.refuse(pod, refusal.clone());
                }
                Verdict::Refused(refusal)
            }
        }
    }

    /// The gate's questions, cheapest first, placement last.
    fn judge(&self, id: PodId) -> Result<(NodeId, Option<BudgetId>, Vec<NodeId>), Refusal> {
        let Gate { snapshot, ref view, history, .. } = *self.gate;
        if view.is_gone(id) {
            return Err(Refusal::AlreadyPlanned);
        }
        let node = snapshot.pod(id).node.filter(|&node| self.gate.works_on(node));
        let Some(node) = node else { return Err(Refusal::OutsideNodeSet) };
        if let Some(until) = history.cooling(snapshot, id) {
            return Err(Refusal::CoolingDown { until });
        }
        self.evictable(id)?;
        self.may_leave(id)?;
        self.gate.check_limits(id, node)?;
        let budget = self.gate.check_budget(id)?;
        let destinations = self.place(id)?;
        Ok((node, budget, destinations))
    }

    /// Where the replacement could land. Placement is off: nothing is asked, nothing reserved.
    fn place(&self, _pod: PodId) -> Result<Vec<NodeId>, Refusal> {
        Ok(Vec::new())
    }

    /// Records that the strategy itself keeps a pod that violates its rule. One that is in the
    /// plan already is not kept.
    pub fn keep(&mut self, pod: PodId, reason: Reason) {
        if !self.view().is_gone(pod) {
            self.run.refuse(pod, Refusal::Kept(reason));
        }
    }

    /// Adds a line about the run as a whole, such as why nothing was done.
    pub fn note(&mut self, text: impl Into<String>) {
        self.run.notes.push(text.into());
    }

    /// Plans a set of moves that make sense only together: where `moves` answers with a reason,
    /// all that it planned is undone, limits and budgets included, and each of its pods is kept
    /// for that reason.
    pub fn attempt(&mut self, moves: impl FnOnce(&mut Self) -> Result<(), Reason>) -> bool {
        let checkpoint = self.gate.checkpoint();
        match moves(self) {
            Ok(()) => true,
            Err(reason) => {
                self.undo(checkpoint, &reason);
                false
            }
        }
    }

    /// Drops everything this turn has planned, with a note that says why.
    pub(crate) fn drop_all(&mut self, why: &str) {
        self.undo(self.begun, &Reason::new("StrategyFailed", why));
        self.note(why);
    }

    fn undo(&mut self, checkpoint: Checkpoint, reason: &Reason) {
        for eviction in self.gate.undo_to(checkpoint) {
            self.run.planned -= 1;
            self.keep(eviction.pod, reason.clone());
        }
    }
}

impl Drop for Turn<'_, '_> {
    /// The turn's account goes into the report whichever way the turn ends.
    fn drop(&mut self) {
        let run = std::mem::replace(&mut self.run, StrategyRun::new(self.profile, self.def.name));
        self.gate.report.runs.push(run);
    }
}
