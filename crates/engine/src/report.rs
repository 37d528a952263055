//! The account of a plan: for each strategy what it considered, planned and refused.

use std::collections::BTreeSet;

use descheduler_cluster::PodId;

use crate::decision::Refusal;

/// Everything that was decided besides the evictions themselves.
#[derive(Clone, Debug, Default)]
pub struct PlanReport {
    /// Each strategy's run, in the order they ran.
    pub runs: Vec<StrategyRun>,
    /// What concerns the whole plan.
    pub notes: Vec<String>,
}

/// One run of one strategy.
#[derive(Clone, Debug)]
pub struct StrategyRun {
    /// The profile, as an index into the policy.
    pub profile: usize,
    /// The strategy.
    pub strategy: &'static str,
    /// How many of its proposals were planned.
    pub planned: usize,
    /// The pods it considered that stay, in the order considered, each once.
    pub refusals: Vec<Refused>,
    /// What else is worth saying, such as why it did nothing.
    pub notes: Vec<String>,
    /// The pods among `refusals`.
    seen: BTreeSet<PodId>,
}

/// A pod that stays, and why.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The pod.
    pub pod: PodId,
    /// Why.
    pub refusal: Refusal,
}

impl PlanReport {
    pub(crate) fn note(&mut self, text: String) {
        self.notes.push(text);
    }
}

impl StrategyRun {
    pub(crate) fn new(profile: usize, strategy: &'static str) -> Self {
        Self {
            profile,
            strategy,
            planned: 0,
            refusals: Vec::new(),
            notes: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    /// Counts a pod that is in the plan now. One that was refused earlier in the run, such as one
    /// of an attempt that was undone, is refused no longer.
    pub(crate) fn plan(&mut self, pod: PodId) {
        self.planned += 1;
        if self.seen.remove(&pod) {
            self.refusals.retain(|refused| refused.pod != pod);
        }
    }

    /// Records that a pod stays. The first reason counts.
    pub(crate) fn refuse(&mut self, pod: PodId, refusal: Refusal) {
        if self.seen.insert(pod) {
            self.refusals.push(Refused { pod, refusal });
        }
    }
}
