//! What every strategy says about one node.

use descheduler_cluster::{NodeId, PodId, Snapshot};

use super::{Account, Witness};
use crate::execution::Open;
use crate::history::History;
use crate::plan::{Past, Plan, Unobserved, make};
use crate::policy::{Policy, Step};
use crate::turn::Turn;

/// A plan with the account of one node.
#[derive(Clone, Debug)]
pub struct NodeExplanation {
    /// The plan, the same as without the account.
    pub plan: Plan,
    /// What each strategy said, in the order they ran; empty if none did.
    pub steps: Vec<NodeStep>,
}

/// What one strategy said about the node before it ran.
#[derive(Clone, Debug)]
pub struct NodeStep {
    /// The profile, as an index into the policy.
    pub profile: usize,
    /// The strategy.
    pub strategy: &'static str,
    /// What it looks at in nodes; empty for strategies that look at pods alone.
    pub account: Account,
    /// What the strategy said about its run as a whole.
    pub notes: Vec<String>,
}

/// Makes the plan and asks every strategy about `node` on the way.
pub fn explain_node<'s>(
    snapshot: &'s Snapshot,
    policy: &'s Policy,
    history: &'s History,
    node: NodeId,
) -> NodeExplanation {
    let mut watcher = Watcher { node, steps: Vec::new() };
    let past = Past { history, open: &Open::default() };
    let plan = make(snapshot, policy, past, &mut Unobserved, &mut watcher);
    NodeExplanation { plan, steps: watcher.steps }
}

struct Watcher {
    node: NodeId,
    steps: Vec<NodeStep>,
}

impl<'s> Witness<'s> for Watcher {
    fn watched(&self) -> Option<PodId> {
        None
    }

    fn before(&mut self, step: &Step, turn: &mut Turn<'_, 's>) {
        let mut inquiry = turn.inquiry();
        step.strategy.survey(self.node, &mut inquiry);
        self.steps.push(NodeStep {
            profile: turn.profile(),
            strategy: step.def.name,
            account: inquiry.account,
            notes: Vec::new(),
        });
    }

    fn after(&mut self, _: &Step, turn: &mut Turn<'_, 's>) {
        if let Some(step) = self.steps.last_mut() {
            step.notes = turn.notes().to_vec();
        }
    }
}
