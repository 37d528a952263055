//! Cycle after cycle: plan, carry out, look again.

use std::collections::BTreeMap;

use descheduler_cluster::Snapshot;
use descheduler_engine::{
    Eviction, History, Open, Plan, Policy, Reason, Refusal, Subject, Unobserved, Violation, audit,
    plan,
};
use jiff::Timestamp;

use crate::chance::{Chance, Dice};
use crate::measure::Measures;
use crate::world::{Fate, Pace, World};

/// How a simulation goes.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// After so many cycles it ends, at rest or not.
    pub cycles_max: u32,
    /// How time passes.
    pub pace: Pace,
    /// What everything random comes from.
    pub seed: u64,
}

/// A whole simulation.
#[derive(Clone, Debug)]
pub struct Run {
    /// Every cycle, the one that planned nothing included.
    pub cycles: Vec<Cycle>,
    /// The first cycle that planned nothing, if there was one.
    pub settled_after: Option<u32>,
    /// The cluster as it was found.
    pub before: Measures,
    /// The cluster in the end.
    pub after: Measures,
    /// Whose pods were evicted, by name.
    pub disruptions: Vec<Disruption>,
}

/// One cycle.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// From 1.
    pub number: u32,
    /// When it was planned.
    pub at: Timestamp,
    /// What was evicted, in that order.
    pub moves: Vec<Move>,
    /// How many pods strategies would have moved that stayed.
    pub refused: usize,
    /// How many of them only because earlier moves did not help.
    pub cooling: usize,
    /// Pods without a node at the end.
    pub pending: usize,
}

/// A pod that was evicted, by names, since ids do not outlive a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The pod's namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Where it was.
    pub node: String,
    /// Whose it is.
    pub owner: Subject,
    /// The profile, as an index into the policy.
    pub profile: usize,
    /// The strategy that moved it.
    pub strategy: &'static str,
    /// Why.
    pub reason: Reason,
    /// Where its replacement could have landed, as planned.
    pub destinations: Vec<String>,
    /// Where it did; `None` if it waits for a node, or if nothing came back.
    pub landed: Option<String>,
    /// Why nothing came back, if so.
    pub ended: Option<&'static str>,
}

/// What the evictions came to for one owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disruption {
    /// The owner.
    pub owner: Subject,
    /// Evictions over all cycles.
    pub evictions: usize,
    /// The pods that it had at the start.
    pub pods: usize,
}

/// A plan that its audit objects to, which is a bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsound {
    /// The cycle.
    pub cycle: u32,
    /// The objections.
    pub violations: Vec<Violation>,
}

/// Plans, carries out and looks again until a cycle plans nothing.
///
/// # Errors
///
/// A plan is not sound.
pub fn simulate(snapshot: Snapshot, policy: &Policy, options: Options) -> Result<Run, Unsound> {
    let mut chance = Dice::new(options.seed, "placing");
    let mut stage = Stage::new(snapshot, options);
    let owned = pods_by_owner(stage.world.snapshot());
    let mut before = None;
    let mut cycles: Vec<Cycle> = Vec::new();
    loop {
        let plan = stage.plan(policy)?;
        let number = stage.number;
        let settled = plan.evictions.is_empty() && number <= options.cycles_max;
        let is_over = settled || number > options.cycles_max;
        if settled {
            cycles.push(stage.rest(&plan));
        }
        if before.is_none() || is_over {
            let measures = Measures::of(stage.world.snapshot(), &plan);
            if is_over {
                let before = before.unwrap_or_else(|| measures.clone());
                let disruptions = disruptions(&cycles, &owned);
                let settled_after = settled.then_some(number);
                return Ok(Run { cycles, settled_after, before, after: measures, disruptions });
            }
            before = Some(measures);
        }
        let cycle;
        (stage, cycle) = stage.carry_out(&plan, policy, &mut chance);
        cycles.push(cycle);
    }
}

/// A world at the beginning of a cycle.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) history: History,
    /// The cycle that comes next, from 1.
    pub(crate) number: u32,
}

impl Stage {
    pub(crate) fn new(snapshot: Snapshot, options: Options) -> Self {
        let world = World::new(snapshot, options.pace, options.seed);
        Self { world, history: History::default(), number: 1 }
    }

    /// The plan for this cycle.
    pub(crate) fn plan(&self, policy: &Policy) -> Result<Plan, Unsound> {
        let snapshot = self.world.snapshot();
        let plan = plan(snapshot, policy, &self.history, &mut Unobserved);
        let violations = audit(&plan, snapshot, policy);
        match violations.is_empty() {
            true => Ok(plan),
            false => Err(Unsound { cycle: self.number, violations }),
        }
    }

    /// The account of a cycle that planned nothing.
    pub(crate) fn rest(&self, plan: &Plan) -> Cycle {
        let snapshot = self.world.snapshot();
        let refused = plan.report.runs.iter().flat_map(|run| &run.refusals);
        let cooling = refused.clone().filter(|one| is_cooling(&one.refusal));
        Cycle {
            number: self.number,
            at: snapshot.taken_at(),
            moves: Vec::new(),
            refused: refused.clone().count(),
            cooling: cooling.count(),
            pending: snapshot.pending().len(),
        }
    }

    /// Carries a plan out without a hitch.
    pub(crate) fn carry_out(
        self,
        plan: &Plan,
        policy: &Policy,
        chance: &mut dyn Chance,
    ) -> (Self, Cycle) {
        let mut cycle = self.rest(plan);
        let Self { world, history, number } = self;
        let snapshot = world.snapshot();
        cycle.moves =
            plan.evictions.iter().map(|eviction| Move::planned(snapshot, eviction)).collect();
        let evicted: Vec<_> = plan.evictions.iter().map(|eviction| eviction.pod).collect();
        let history = history.after(snapshot, policy, plan);
        let (world, fates) = world.turn(&evicted, &policy.scheduler, chance);
        let history = history.seen(world.snapshot(), policy.loop_breaker, &Open::default());
        for (moved, fate) in cycle.moves.iter_mut().zip(fates) {
            match fate {
                Fate::Landed(node) => {
                    moved.landed = Some(world.snapshot().node(node).name.to_string());
                }
                Fate::Ended(why) => moved.ended = Some(why),
                Fate::Waits => {}
            }
        }
        cycle.pending = world.snapshot().pending().len();
        (Self { world, history, number: number + 1 }, cycle)
    }
}

fn is_cooling(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::CoolingDown { .. })
}

impl Move {
    fn planned(snapshot: &Snapshot, eviction: &Eviction) -> Self {
        let Eviction { pod: id, node, profile, strategy, reason, destinations, set: _ } = eviction;
        let pod = snapshot.pod(*id);
        let name = |node| snapshot.node(node).name.to_string();
        Self {
            namespace: snapshot.text(pod.namespace).to_owned(),
            name: pod.name.to_string(),
            uid: pod.uid.to_string(),
            node: name(*node),
            owner: Subject::of(snapshot, *id),
            profile: *profile,
            strategy,
            reason: reason.clone(),
            destinations: destinations.iter().map(|&node| name(node)).collect(),
            landed: None,
            ended: None,
        }
    }
}

/// How many pods each owner has.
fn pods_by_owner(snapshot: &Snapshot) -> BTreeMap<Subject, usize> {
    let mut counts = BTreeMap::new();
    for &id in snapshot.pods() {
        *counts.entry(Subject::of(snapshot, id)).or_default() += 1;
    }
    counts
}

fn disruptions(cycles: &[Cycle], owned: &BTreeMap<Subject, usize>) -> Vec<Disruption> {
    let mut counts: BTreeMap<&Subject, usize> = BTreeMap::new();
    for moved in cycles.iter().flat_map(|cycle| &cycle.moves) {
        *counts.entry(&moved.owner).or_default() += 1;
    }
    let pods = |owner| owned.get(owner).copied().unwrap_or(0);
    counts
        .into_iter()
        .map(|(owner, evictions)| Disruption { owner: owner.clone(), evictions, pods: pods(owner) })
        .collect()
}
