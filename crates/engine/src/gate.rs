//! The state behind the one gate: the view, what is counted, what is planned.

use std::collections::BTreeSet;

use descheduler_cluster::{Allowance, BudgetId, NodeId, Phase, PodId, Snapshot, UnhealthyPolicy};
use descheduler_scheduler::{Mark, View};

use crate::decision::{Eviction, Refusal};
use crate::execution::{Open, OpenEviction};
use crate::explain::{Finding, Watch};
use crate::history::{History, Recall};
use crate::limits::Tally;
use crate::placer::{Landing, Placer, PlacerMark};
use crate::plan::Plan;
use crate::policy::Policy;
use crate::report::PlanReport;

/// Everything that one plan changes while it is made.
pub(crate) struct Gate<'s> {
    pub(crate) snapshot: &'s Snapshot,
    pub(crate) policy: &'s Policy,
    pub(crate) recall: Recall<'s>,
    pub(crate) view: View<'s>,
    pub(crate) report: PlanReport,
    /// `None` where nobody asks where pods land.
    pub(crate) placer: Option<Placer<'s>>,
    /// Whom somebody wants explained.
    pub(crate) watch: Option<Watch>,
    tally: Tally,
    /// By budget slot: disruptions that this plan has taken, or evictions that are still open.
    spent: Vec<i64>,
    /// Pods whose eviction is still open.
    open: BTreeSet<PodId>,
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
    pub(crate) evictions: usize,
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
            recall: Recall::new(history, snapshot, policy.loop_breaker),
            view: View::new(snapshot),
            report: PlanReport::default(),
            placer,
            watch: None,
            tally: Tally::default(),
            spent: vec![0; snapshot.budget_slots()],
            open: BTreeSet::new(),
            evictions: Vec::new(),
        }
    }

    /// Counts evictions of which it is not known what became of them, as if they were planned: each
    /// may still happen.
    pub(crate) fn count_open(&mut self, open: &Open) {
        let snapshot = self.snapshot;
        if open.iter().next().is_none() {
            return;
        }
        let node_of = |name: &str| {
            snapshot.nodes().iter().copied().find(|&id| *snapshot.node(id).name == *name)
        };
        for eviction in open.iter() {
            let namespace = snapshot.sym(&eviction.pod.namespace);
            self.tally.add_open(node_of(eviction.node()), namespace);
        }
        let mut budgets = BTreeSet::new();
        for &id in snapshot.pods() {
            let pod = snapshot.pod(id);
            if open.iter().any(|eviction| *eviction.pod.uid == *pod.uid) {
                self.open.insert(id);
            }
            budgets.extend(snapshot.budgets_of(id).iter().map(|&budget| (pod.namespace, budget)));
        }
        for (namespace, budget) in budgets {
            let (namespace, name) = (snapshot.text(namespace), &*snapshot.budget(budget).name);
            let takes = |one: &&OpenEviction| {
                *one.pod.namespace == *namespace && one.budget() == Some(name)
            };
            self.spent[budget.index()] += open.iter().filter(takes).count() as i64;
        }
    }

    /// Whether an earlier request for a pod may still be carried out.
    pub(crate) fn is_open(&self, pod: PodId) -> bool {
        self.open.contains(&pod)
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
        let Some((budget, disruptions)) = needed(self.snapshot, id)? else { return Ok(None) };
        if self.spent[budget.index()] < disruptions {
            return Ok(Some(budget));
        }
        let name = self.snapshot.budget(budget).name.to_string();
        Err(Refusal::Budget { name, allowed: disruptions.max(0) })
    }

    /// How much of each limit that is set is used up.
    pub(crate) fn limit_findings(&self, pod: PodId) -> Vec<Finding> {
        let pod = self.snapshot.pod(pod);
        let Some(node) = pod.node else { return Vec::new() };
        let used = self.tally.used(&self.policy.limits, node, pod.namespace).into_iter();
        let set = used.filter_map(|(kind, limit, used)| Some((kind, limit?, used)));
        set.map(|(kind, limit, used)| {
            let field = kind.field();
            Finding::new(field, used < limit, format!("{used} of {limit} used by this plan"))
                .or_else(format!("wait for the next cycle, or raise `{field}`"))
        })
        .collect()
    }

    /// What the disruption budgets say.
    pub(crate) fn budget_finding(&self, pod: PodId) -> Finding {
        let name = |&id: &BudgetId| format!("`{}`", self.snapshot.budget(id).name);
        let names: Vec<String> = self.snapshot.budgets_of(pod).iter().map(name).collect();
        let names = names.join(", ");
        match self.check_budget(pod) {
            _ if names.is_empty() => Finding::new("disruption budget", true, "none covers it"),
            Ok(None) => {
                let detail = format!("{names} does not count the pod in the state that it is in");
                Finding::new("disruption budget", true, detail)
            }
            Ok(Some(id)) => {
                let detail = match self.snapshot.budget(id).allowance {
                    Allowance::Known { disruptions, .. } => format!(
                        "{names} allows {disruptions}, {} used by this plan",
                        self.spent[id.index()]
                    ),
                    Allowance::NotProcessed | Allowance::Unknown => names,
                };
                Finding::new("disruption budget", true, detail)
            }
            Err(refusal) => Finding::new("disruption budget", false, refusal.to_string())
                .or_else(change_of_budget(&refusal)),
        }
    }

    /// What is planned for a pod.
    pub(crate) fn eviction_of(&self, pod: PodId) -> Option<&Eviction> {
        self.evictions.iter().map(|planned| &planned.eviction).find(|e| e.pod == pod)
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

/// What would let a budget allow the disruption.
fn change_of_budget(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Budget { allowed: 0, .. } => {
            "more healthy pods under the budget, or one that asks for fewer"
        }
        Refusal::Budget { .. } => "wait for the next cycle",
        Refusal::BudgetNotProcessed { .. } => "wait until the disruption controller has seen it",
        Refusal::BudgetUnknown { .. } => "add the owners of the budget's pods to the dump",
        _ => "leave one disruption budget for the pod",
    }
}

/// The budget that an eviction takes a disruption from, if any, and how many that allows.
pub(crate) fn needed(snapshot: &Snapshot, id: PodId) -> Result<Option<(BudgetId, i64)>, Refusal> {
    let pod = snapshot.pod(id);
    if matches!(pod.phase, Phase::Pending | Phase::Succeeded | Phase::Failed) {
        return Ok(None);
    }
    let budget_id = match *snapshot.budgets_of(id) {
        [] => return Ok(None),
        [one] => one,
        ref several => {
            let name = |&id: &BudgetId| snapshot.budget(id).name.to_string();
            return Err(Refusal::SeveralBudgets { names: several.iter().map(name).collect() });
        }
    };
    let budget = snapshot.budget(budget_id);
    let name = budget.name.to_string();
    let unready = !pod.is_ready();
    if unready && budget.unhealthy == UnhealthyPolicy::AlwaysAllow {
        return Ok(None);
    }
    match budget.allowance {
        Allowance::NotProcessed => Err(Refusal::BudgetNotProcessed { name }),
        Allowance::Unknown => Err(Refusal::BudgetUnknown { name }),
        Allowance::Known { healthy: true, .. } if unready => Ok(None),
        Allowance::Known { disruptions, .. } => Ok(Some((budget_id, disruptions))),
    }
}
