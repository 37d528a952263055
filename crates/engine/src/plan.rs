//! The main function: from a snapshot and a policy to a plan.

use std::panic::{AssertUnwindSafe, catch_unwind};

use descheduler_cluster::Snapshot;
use descheduler_scheduler::Model;

use crate::decision::Eviction;
use crate::execution::Open;
use crate::explain::{Nobody, Watch, Witness};
use crate::gate::Gate;
use crate::history::History;
use crate::placer::{Placer, Seated};
use crate::policy::{Placement, Policy, Profile, Step};
use crate::pool::{NODES_MIN, Pool, node_set, too_few};
use crate::report::PlanReport;
use crate::turn::{Seat, Turn};

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
    plan_beside(snapshot, policy, history, &Open::default(), observer)
}

/// The same beside evictions of which it is not known what became of them: they count against
/// limits and budgets, and their pods are left alone.
pub fn plan_beside<'s>(
    snapshot: &'s Snapshot,
    policy: &'s Policy,
    history: &'s History,
    open: &Open,
    observer: &mut dyn Observer,
) -> Plan {
    let past = Past { history, open };
    make(snapshot, policy, past, observer, &mut Nobody)
}

/// What earlier cycles have left.
#[derive(Clone, Copy)]
pub(crate) struct Past<'s, 'o> {
    pub(crate) history: &'s History,
    pub(crate) open: &'o Open,
}

/// The same under the eyes of a witness.
pub(crate) fn make<'s>(
    snapshot: &'s Snapshot,
    policy: &'s Policy,
    Past { history, open }: Past<'s, '_>,
    observer: &mut dyn Observer,
    witness: &mut dyn Witness<'s>,
) -> Plan {
    let nodes = node_set(snapshot, policy);
    if nodes.len() < NODES_MIN {
        let mut gate = Gate::new(snapshot, policy, history, None);
        gate.report.note(format!("nothing is planned: {}", too_few(snapshot, &nodes)));
        return gate.finish();
    }
    let pools = Pool::all(snapshot, policy);
    let mut gate = Gate::new(snapshot, policy, history, placer(snapshot, policy, &pools));
    gate.count_open(open);
    gate.watch = witness.watched().map(|pod| Watch { pod, trial: None });
    let shields: Vec<_> = policy.profiles.iter().map(|p| p.shield.bind(snapshot)).collect();
    for (number, (profile, step)) in policy.steps().enumerate() {
        observer.begins(&policy.profiles[profile], step);
        let mode = policy.placement_of(&policy.profiles[profile]);
        let purpose = step.strategy.purpose();
        let seat = Seat { profile, number, mode, strategy: step.def.name, purpose };
        let mut turn = Turn::begin(&mut gate, &shields[profile], &pools[profile], seat);
        witness.before(step, &mut turn);
        run(step, &mut turn);
        witness.after(step, &mut turn);
        observer.ends();
    }
    gate.finish()
}

/// What judges moves by where they lead, if a profile asks for that.
fn placer<'s>(snapshot: &'s Snapshot, policy: &'s Policy, pools: &[Pool]) -> Option<Placer<'s>> {
    if policy.profiles.iter().all(|profile| policy.placement_of(profile) == Placement::Off) {
        return None;
    }
    let seated = |(profile, step): (usize, &'s Step)| {
        let (pool, profile) = (&pools[profile], &policy.profiles[profile]);
        Seated {
            strategy: step.def.name,
            mode: policy.placement_of(profile),
            confidence: profile.confidence.unwrap_or(policy.confidence),
            judge: pool.judge(step.strategy.judge(snapshot, &pool.nodes), step.def.pass),
        }
    };
    let judges = policy.steps().map(seated).collect();
    let model = Model::new(snapshot, &policy.scheduler);
    Some(Placer::new(model, judges))
}

/// A strategy that panics is a bug of ours. It costs that strategy's moves and a line in the
/// report, not the cycle.
fn run(step: &Step, turn: &mut Turn<'_, '_>) {
    if let Some(why) = turn.too_few() {
        return turn.note(why);
    }
    turn.note_pause();
    let outcome = catch_unwind(AssertUnwindSafe(|| step.strategy.run(turn)));
    if outcome.is_err() {
        turn.drop_all("the strategy failed inside; its moves of this cycle are dropped");
    }
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
