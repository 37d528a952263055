//! The state behind the one gate: the view, what is counted, what is planned.

use descheduler_cluster::{Allowance, BudgetId, NodeId, Phase, PodId, Snapshot, UnhealthyPolicy};
use descheduler_scheduler::{Mark, View};

use crate::decision::{Eviction, Refusal};
use crate::history::History;
use crate::limits::Tally;
use crate::placer::{Landing, Placer, PlacerMark};
use crate::plan::Plan;
use crate::policy::Policy;
use crate::report::PlanReport;

/// Everything that one plan changes while it is made.
pub(crate) struct Gate<'s> {
    pub(crate) snapshot: &'s Snapshot,
    pub(crate) policy: &'s Policy,
    pub(crate) history: &'s History,
    pub(crate) view: View<'s>,
    pub(crate) report: PlanReport,
    /// `None` where nobody asks where pods land.
    pub(crate) placer: Option<Placer<'s>>,
    tally: Tally,
    /// By budget slot: disruptions that this plan has taken.
    spent: Vec<i64>,
    evictions: Vec<Planned>,
}

/// An eviction with what has to be given back if it is undone.
struct Planned {
    eviction: Eviction,
    budget: Option<BudgetId>,
}

/// A point in the making of a plan to go back to.
#[derive(Clone, Copy)]
pub(crate) struct Checkpoint {
    view: Mark,
    placer: Option<PlacerMark>,
    evictions: usize,
}

impl<'s> Gate<'s> {
    pub(crate) fn new(
        snapshot: &'s Snapshot,
        policy: &'s Policy,
        history: &'s History,
        placer: Option<Placer<'s>>,
    ) -> Self {
        Self {
            snapshot,
            policy,
            history,
            view: View::new(snapshot),
            report: PlanReport::default(),
            placer,
            tally: Tally::default(),
            spent: vec![0; snapshot.budget_slots()],
            evictions: Vec::new(),
        }
    }

    /// The first limit that one more eviction would break.
    pub(crate) fn check_limits(&self, pod: PodId, node: NodeId) -> Result<(), Refusal> {
        let namespace = self.snapshot.pod(pod).namespace;
        match self.tally.exceeds(&self.policy.limits, node, namespace) {
            Some((kind, limit)) => Err(Refusal::Limit { kind, limit }),
            None => Ok(()),
        }
    }

    /// The budget that this eviction would take a disruption from, if any, as the API server
    /// decides it.
    pub(crate) fn check_budget(&self, id: PodId) -> Result<Option<BudgetId>, Refusal> {
        let pod = self.snapshot.pod(id);
        if matches!(pod.phase, Phase::Pending | Phase::Succeeded | Phase::Failed) {
            return Ok(None);
        }
        let budget_id = match *self.snapshot.budgets_of(id) {
            [] => return Ok(None),
            [one] => one,
            ref several => {
                let name = |&id: &BudgetId| self.snapshot.budget(id).name.to_string();
                return Err(Refusal::SeveralBudgets { names: several.iter().map(name).collect() });
            }
        };
        let budget = self.snapshot.budget(budget_id);
        let name = budget.name.to_string();
        let unready = !pod.is_ready();
        if unready && budget.unhealthy == UnhealthyPolicy::AlwaysAllow {
            return Ok(None);
        }
        match budget.allowance {
            Allowance::NotProcessed => Err(Refusal::BudgetNotProcessed { name }),
            Allowance::Unknown => Err(Refusal::BudgetUnknown { name }),
            Allowance::Known { healthy: true, .. } if unready => Ok(None),
            Allowance::Known { disruptions, .. } => {
                if self.spent[budget_id.index()] < disruptions {
                    Ok(Some(budget_id))
                } else {
                    Err(Refusal::Budget { name, allowed: disruptions.max(0) })
                }
            }
        }
    }

    /// Adds an eviction to the plan and to everything that counts it.
    pub(crate) fn commit(
        &mut self,
        eviction: Eviction,
        budget: Option<BudgetId>,
        landing: &Landing<'s>,
    ) {
        match landing.best() {
            Some((pod, node)) => self.view.replace(pod, node),
            None => self.view.remove(eviction.pod),
        }
        if let Some(placer) = &mut self.placer {
            placer.commit(eviction.pod, landing);
        }
        self.tally.add(eviction.node, self.snapshot.pod(eviction.pod).namespace);
        if let Some(budget) = budget {
            self.spent[budget.index()] += 1;
        }
        self.evictions.push(Planned { eviction, budget });
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            view: self.view.mark(),
            placer: self.placer.as_ref().map(Placer::mark),
            evictions: self.evictions.len(),
        }
    }

    /// Takes back everything committed since, latest first; the answer is in plan order.
    pub(crate) fn undo_to(&mut self, checkpoint: Checkpoint) -> Vec<Eviction> {
        self.view.undo_to(checkpoint.view);
        if let (Some(placer), Some(mark)) = (&mut self.placer, checkpoint.placer) {
            placer.undo_to(mark);
        }
        let undone: Vec<Planned> = self.evictions.drain(checkpoint.evictions..).collect();
        for Planned { eviction, budget } in &undone {
            let namespace = self.snapshot.pod(eviction.pod).namespace;
            self.tally.take_back(eviction.node, namespace);
            if let Some(budget) = budget {
                self.spent[budget.index()] -= 1;
            }
        }
        undone.into_iter().map(|planned| planned.eviction).collect()
    }

    pub(crate) fn finish(self) -> Plan {
        let evictions = self.evictions.into_iter().map(|planned| planned.eviction).collect();
        Plan { evictions, report: self.report }
    }
}
