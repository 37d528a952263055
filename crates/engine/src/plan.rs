//! The main function: from a snapshot and a policy to a plan.

use std::panic::{AssertUnwindSafe, catch_unwind};

use descheduler_cluster::{NodeId, Snapshot};
use descheduler_scheduler::Model;

use crate::decision::Eviction;
use crate::gate::Gate;
use crate::history::History;
use crate::placer::{Placer, Seated};
use crate::policy::{Placement, Policy, Profile, Step};
use crate::report::PlanReport;
use crate::turn::{Seat, Turn};

/// With fewer nodes to work on than this nothing is planned, since no pod could move.
pub(crate) const NODES_MIN: usize = 2;

/// What to evict, in this order, and the account of how it was decided.
#[must_use]
#[derive(Clone, Debug)]
pub struct Plan {
    /// The evictions, in the order of execution.
    pub evictions: Vec<Eviction>,
    /// What every strategy considered, planned and refused.
    pub report: PlanReport,
}

/// Decides everything, touches nothing. The same inputs give the same plan, whatever order the
/// snapshot's objects came in.
///
/// All profiles' deschedule strategies run before any balance strategy
/// (docs/spec/strategies.md section 1.1), each seeing what was planned before it.
pub fn plan<'s>(
    snapshot: &'s Snapshot,
    policy: &'s Policy,
    history: &'s History,
    observer: &mut dyn Observer,
) -> Plan {
    let nodes = node_set(snapshot, policy);
    if nodes.len() < NODES_MIN {
        let mut gate = Gate::new(snapshot, policy, history, &nodes, None);
        gate.report.note(too_few(snapshot, &nodes));
        return gate.finish();
    }
    let placer = placer(snapshot, policy, &nodes);
    let mut gate = Gate::new(snapshot, policy, history, &nodes, placer);
    let shields: Vec<_> = policy.profiles.iter().map(|p| p.shield.bind(snapshot)).collect();
    for (number, (profile, step)) in policy.steps().enumerate() {
        observer.begins(&policy.profiles[profile], step);
        let seat = Seat { profile, number, strategy: step.def.name };
        run_contained(step, Turn::begin(&mut gate, &shields[profile], &nodes, seat));
        observer.ends();
    }
    gate.finish()
}

/// What judges moves by where they lead, if the policy asks for that.
fn placer<'s>(snapshot: &'s Snapshot, policy: &'s Policy, nodes: &[NodeId]) -> Option<Placer<'s>> {
    if policy.placement() == Placement::Off {
        return None;
    }
    let seated = |step: &'s Step| Seated {
        strategy: step.def.name,
        judge: step.strategy.judge(snapshot, nodes),
    };
    let judges = policy.steps().map(|(_, step)| seated(step)).collect();
    let model = Model::new(snapshot, &policy.scheduler);
    Some(Placer::new(policy, model, judges))
}

/// A strategy that panics is a bug of ours. It costs that strategy's moves and a line in the
/// report, not the cycle.
fn run_contained(step: &Step, mut turn: Turn<'_, '_>) {
    let outcome = catch_unwind(AssertUnwindSafe(|| step.strategy.run(&mut turn)));
    if outcome.is_err() {
        turn.drop_all("the strategy failed inside; its moves of this cycle are dropped");
    }
}

/// The nodes that strategies work on, by name: ready and selected by the policy's `nodeSelector`
/// (docs/spec/strategies.md section 1.2).
pub fn node_set(snapshot: &Snapshot, policy: &Policy) -> Vec<NodeId> {
    let selector = policy.node_selector.as_ref().map(|selector| snapshot.compile(selector));
    let chosen = |id: &NodeId| {
        let node = snapshot.node(*id);
        node.ready && selector.as_ref().is_none_or(|s| s.matches(&node.labels, snapshot.strings()))
    };
    snapshot.nodes().iter().copied().filter(chosen).collect()
}

fn too_few(snapshot: &Snapshot, nodes: &[NodeId]) -> String {
    format!(
        "nothing is planned: {} of {} nodes are ready and selected, and a pod can move only \
         between two",
        nodes.len(),
        snapshot.nodes().len()
    )
}

/// Told when each strategy begins and ends, by callers that own a clock.
pub trait Observer {
    /// A strategy of a profile is about to run.
    fn begins(&mut self, profile: &Profile, step: &Step);
    /// It has run.
    fn ends(&mut self);
}

/// The observer that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn begins(&mut self, _: &Profile, _: &Step) {}
    fn ends(&mut self) {}
}
