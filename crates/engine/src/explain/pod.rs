//! What every strategy and every check says about one pod.

use descheduler_cluster::{PodId, Snapshot};

use super::{Account, Trial, Witness};
use crate::decision::{Eviction, Refusal};
use crate::execution::Open;
use crate::history::History;
use crate::plan::{Past, Plan, Unobserved, make};
use crate::policy::{Policy, Step};
use crate::turn::Turn;

/// A plan with the account of one pod.
#[derive(Clone, Debug)]
pub struct PodExplanation {
    /// The plan, the same as without the account.
    pub plan: Plan,
    /// What each strategy said, in the order they ran; empty if none did.
    pub steps: Vec<PodStep>,
}

/// What one strategy said and did about the pod.
#[derive(Clone, Debug)]
pub struct PodStep {
    /// The profile, as an index into the policy.
    pub profile: usize,
    /// The strategy.
    pub strategy: &'static str,
    /// What came of it.
    pub outcome: Outcome,
    /// What the strategy looks at, as it was when its turn began.
    pub account: Account,
    /// The same when the turn was over, where other moves of the strategy changed it.
    pub afterwards: Option<Account>,
    /// What the gate says: when the pod was proposed, or else at the end of the turn, as if it had
    /// been.
    pub trial: Trial,
    /// What the strategy said about its run as a whole.
    pub notes: Vec<String>,
}

/// What a strategy's turn did about the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was in the plan before.
    PlannedBefore,
    /// It was planned.
    Planned(Eviction),
    /// It was considered, and stays.
    Refused(Refusal),
    /// The strategy does not work on its node, or it has none.
    Outside,
    /// It was not considered: nothing is wrong with it, or the strategy had no reason to act.
    NotConsidered,
}

/// Makes the plan and asks everything about `pod` on the way.
pub fn explain_pod<'s>(
    snapshot: &'s Snapshot,
    policy: &'s Policy,
    history: &'s History,
    pod: PodId,
) -> PodExplanation {
    let mut watcher = Watcher { pod, before: None, steps: Vec::new() };
    let past = Past { history, open: &Open::default() };
    let plan = make(snapshot, policy, past, &mut Unobserved, &mut watcher);
    PodExplanation { plan, steps: watcher.steps }
}

struct Watcher {
    pod: PodId,
    /// How the turn that runs began: whether the pod was gone, and what the strategy said.
    before: Option<(bool, Account)>,
    steps: Vec<PodStep>,
}

impl<'s> Witness<'s> for Watcher {
    fn watched(&self) -> Option<PodId> {
        Some(self.pod)
    }

    fn before(&mut self, step: &Step, turn: &mut Turn<'_, 's>) {
        self.before = Some((turn.view().is_gone(self.pod), ask(step, turn, self.pod)));
    }

    fn after(&mut self, step: &Step, turn: &mut Turn<'_, 's>) {
        let Some((was_gone, account)) = self.before.take() else { return };
        let trial = turn.trial_of(self.pod);
        let outcome = match turn.answer(self.pod) {
            _ if was_gone => Outcome::PlannedBefore,
            Some(Ok(eviction)) => Outcome::Planned(eviction),
            Some(Err(refusal)) => Outcome::Refused(refusal),
            None if turn.is_outside(self.pod) => Outcome::Outside,
            None => Outcome::NotConsidered,
        };
        let afterwards = (outcome == Outcome::NotConsidered).then(|| ask(step, turn, self.pod));
        self.steps.push(PodStep {
            profile: turn.profile(),
            strategy: step.def.name,
            outcome,
            afterwards: afterwards.filter(|afterwards| *afterwards != account),
            account,
            trial,
            notes: turn.notes().to_vec(),
        });
    }
}

fn ask(step: &Step, turn: &Turn<'_, '_>, pod: PodId) -> Account {
    let mut inquiry = turn.inquiry();
    step.strategy.examine(pod, &mut inquiry);
    inquiry.account
}
