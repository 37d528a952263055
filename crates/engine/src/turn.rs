//! One strategy's turn: what it may look at, and the one gate through which it can plan.

use descheduler_cluster::{BudgetId, NodeId, PodId, Snapshot};
use descheduler_scheduler::View;

use crate::decision::{Eviction, Reason, Refusal};
use crate::gate::{Checkpoint, Gate};
use crate::history::Cooling;
use crate::placer::Landing;
use crate::policy::Placement;
use crate::pool::Pool;
use crate::protection::{Asked, BoundShield, Stage};
use crate::report::StrategyRun;
use crate::strategy::Purpose;

/// The strategy has failed inside.
const STRATEGY_FAILED: &str = "StrategyFailed";

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
    pub(crate) gate: &'t mut Gate<'s>,
    pub(crate) shield: &'t BoundShield<'s>,
    pub(crate) pool: &'t Pool,
    pub(crate) seat: Seat,
    pub(crate) run: StrategyRun,
    begun: Checkpoint,
    /// The outermost attempt that is being made: how many moves were planned before it.
    set: Option<usize>,
    /// Why the strategy moves nothing at all, if it is to rest.
    paused: Option<Cooling>,
}

/// Which strategy of the policy a turn belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Seat {
    /// The profile, as an index into the policy.
    pub(crate) profile: usize,
    /// Which of all strategies of the policy, in the order they run.
    pub(crate) number: usize,
    /// How its moves are judged.
    pub(crate) mode: Placement,
    /// The strategy's name.
    pub(crate) strategy: &'static str,
    /// What its moves are for.
    pub(crate) purpose: Purpose,
}

impl<'t, 's> Turn<'t, 's> {
    pub(crate) fn begin(
        gate: &'t mut Gate<'s>,
        shield: &'t BoundShield<'s>,
        pool: &'t Pool,
        seat: Seat,
    ) -> Self {
        let begun = gate.checkpoint();
        let paused = gate.recall.paused(seat.strategy);
        let run = StrategyRun::new(seat.profile, seat.strategy);
        Self { gate, shield, pool, seat, run, begun, set: None, paused }
    }

    /// The cluster as it was found.
    pub fn snapshot(&self) -> &'s Snapshot {
        self.gate.snapshot
    }

    /// The cluster as it will be after everything planned so far.
    pub fn view(&self) -> &View<'s> {
        &self.gate.view
    }

    /// Why there is nothing to do, if there are too few nodes to work on.
    pub(crate) fn too_few(&self) -> Option<String> {
        self.pool.too_few(self.snapshot())
    }

    /// The nodes to work on, by name.
    pub fn nodes(&self) -> &'t [NodeId] {
        &self.pool.nodes
    }

    /// Whether the profile's protections let a pod of this kind go, without proposing it.
    pub fn evictable(&self, pod: PodId) -> Result<(), Refusal> {
        self.ask(Stage::Filter, pod)
    }

    /// Whether the protections that look at where the pod could go let it go.
    pub fn may_leave(&self, pod: PodId) -> Result<(), Refusal> {
        self.ask(Stage::PreEviction, pod)
    }

    /// Whether anybody asks where the replacements of pods land. Where nobody does, a strategy
    /// works as upstream does, with that bookkeeping for an answer.
    pub fn knows_places(&self) -> bool {
        self.seat.mode != Placement::Off
    }

    fn ask(&self, stage: Stage, pod: PodId) -> Result<(), Refusal> {
        if self.gate.snapshot.pod(pod).flawed {
            return Err(Refusal::Malformed);
        }
        let asked = Asked { stage, places_known: self.knows_places() };
        self.shield.check(&self.gate.view, asked, pod).map_err(Refusal::Protected)
    }

    /// Asks for a pod to be evicted. This is the only way into a plan.
    pub fn propose(&mut self, Proposal { pod, reason }: Proposal) -> Verdict {
        self.testify(pod);
        match self.judge(pod) {
            Ok((node, budget, landing)) => {
                let Seat { profile, strategy, .. } = self.seat;
                let destinations = landing.destinations.clone();
                let set = self.set;
                let eviction = Eviction { pod, node, profile, strategy, reason, destinations, set };
                self.gate.commit(eviction, budget, &landing);
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

    /// The gate's questions: the cheapest first, then placement, and last whether this, which would be
    /// a move, is one made before.
    fn judge(&mut self, id: PodId) -> Result<(NodeId, Option<BudgetId>, Landing<'s>), Refusal> {
        let Gate { snapshot, ref view, .. } = *self.gate;
        if view.is_gone(id) {
            return Err(Refusal::AlreadyPlanned);
        }
        if self.gate.is_open(id) {
            return Err(Refusal::StillOpen);
        }
        let node = snapshot.pod(id).node.filter(|&node| self.pool.works_on(node));
        let Some(node) = node else { return Err(Refusal::OutsideNodeSet) };
        self.cooled_down(id)?;
        self.evictable(id)?;
        self.may_leave(id)?;
        self.gate.check_limits(id, node)?;
        let budget = self.gate.check_budget(id)?;
        let asked = self.knows_places();
        let Gate { view, placer, .. } = &mut *self.gate;
        let landing = match placer.as_mut().filter(|_| asked) {
            Some(placer) => placer.find(view, id, self.seat.number)?,
            None => Landing::nowhere(),
        };
        self.is_new(id)?;
        Ok((node, budget, landing))
    }

    /// Whether nothing that is known of earlier moves speaks against one more.
    pub(crate) fn cooled_down(&self, id: PodId) -> Result<(), Refusal> {
        if let Some(Cooling { until, why }) = &self.paused {
            let why = format!("{} is paused: pods were {why}", self.seat.strategy);
            return Err(Refusal::CoolingDown { until: *until, why });
        }
        or_wait(self.gate.recall.cools_down(id, self.seat.strategy))
    }

    /// Whether the strategy has not moved before what it would move now.
    pub(crate) fn is_new(&self, id: PodId) -> Result<(), Refusal> {
        or_wait(self.gate.recall.again(id, self.seat.strategy, self.seat.purpose))
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
        let outer = self.set;
        self.set = outer.or(Some(checkpoint.evictions));
        let made = moves(self);
        self.set = outer;
        match made {
            Ok(()) => true,
            Err(reason) => {
                self.undo(checkpoint, &reason);
                false
            }
        }
    }

    /// Says so if the strategy is to rest, since then all that it proposes is refused.
    pub(crate) fn note_pause(&mut self) {
        if let Some(Cooling { until, why }) = &self.paused {
            self.note(format!("paused until {until}: pods were {why}"));
        }
    }

    /// Drops everything this turn has planned, with a note that says why.
    pub(crate) fn drop_all(&mut self, why: &str) {
        self.undo(self.begun, &Reason::new(STRATEGY_FAILED, why));
        self.note(why);
    }

    fn undo(&mut self, checkpoint: Checkpoint, reason: &Reason) {
        for eviction in self.gate.undo_to(checkpoint) {
            self.run.planned -= 1;
            self.keep(eviction.pod, reason.clone());
        }
    }
}

fn or_wait(cooling: Option<Cooling>) -> Result<(), Refusal> {
    match cooling {
        Some(Cooling { until, why }) => Err(Refusal::CoolingDown { until, why }),
        None => Ok(()),
    }
}

impl Drop for Turn<'_, '_> {
    /// The turn's account goes into the report whichever way the turn ends.
    fn drop(&mut self) {
        let run = std::mem::replace(
            &mut self.run,
            StrategyRun::new(self.seat.profile, self.seat.strategy),
        );
        self.gate.report.runs.push(run);
    }
}
