//! What is planned with placement `improving` comes to an end: every plan leaves less of what its
//! strategies are against, moves no pod that the one before has moved, and after a few there is
//! nothing left to plan.
//!
//! Random clusters are planned, the plan is carried out as the engine predicts it, and the result is
//! planned anew. `CONVERGENCE_CASES` says how many clusters each test takes; `PROPTEST_RNG_SEED`
//! takes others.

mod clusters;
#[path = "../rules/mod.rs"]
mod rules;

use std::fmt::Write;

use clusters::{World, worlds};
use descheduler_cluster::{PodId, Snapshot};
use descheduler_engine::{Eviction, History, Plan, Policy, Unobserved, audit, plan};
use descheduler_policy::{Style, load, render};
use descheduler_scheduler::ScoringStrategy;
use descheduler_strategies::{ALL, REGISTRY};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};
use rules::{
    AFFINITY, APART, DUPLICATES, FAILED, HIGH, LOW, OLD, RESTARTS, RULES, Rule, SPREAD, TAINTS,
};

/// How many clusters each test takes unless the environment says otherwise.
const CASES: u32 = 100;
/// So many plans may be needed until nothing is left to plan.
const PLANS_MAX: usize = 10;

#[test]
fn node_taints() {
    converges(&[TAINTS]);
}

#[test]
fn node_affinity() {
    converges(&[AFFINITY]);
}

#[test]
fn inter_pod_anti_affinity() {
    converges(&[APART]);
}

#[test]
fn duplicates() {
    converges(&[DUPLICATES]);
}

#[test]
fn low_node_utilization() {
    converges(&[LOW]);
}

#[test]
fn topology_spread() {
    converges(&[SPREAD]);
}

#[test]
fn high_node_utilization() {
    converges(&[HIGH]);
}

#[test]
fn all_together() {
    converges(&[TAINTS, AFFINITY, APART, RESTARTS, FAILED, OLD, DUPLICATES, SPREAD, LOW]);
}

/// With the scheduler packing, or one strategy would undo the work of the other.
#[test]
fn all_together_packed() {
    converges(&[TAINTS, AFFINITY, APART, RESTARTS, FAILED, OLD, DUPLICATES, SPREAD, HIGH]);
}

/// A strategy that nobody has written a rule for here is not tested.
#[test]
fn every_strategy_has_a_rule() {
    for def in ALL {
        assert!(RULES.iter().any(|rule| rule.name == def.name), "{} has none", def.name);
    }
}

fn converges(strategies: &[&str]) {
    let cases = match std::env::var("CONVERGENCE_CASES") {
        Ok(text) => text.parse().expect("CONVERGENCE_CASES is a number"),
        Err(_) => CASES,
    };
    let rules: Vec<_> = strategies
        .iter()
        .map(|name| {
            let rules = RULES.iter().filter(|rule| rule.name == *name).copied();
            select(rules.collect::<Vec<Rule>>())
        })
        .collect();
    // The same clusters each time, unless others are asked for.
    let default = Config::default();
    let rng_seed = match default.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        given => given,
    };
    let config = Config { failure_persistence: None, cases, rng_seed, ..default };
    let run = TestRunner::new(config)
        .run(&(worlds(), rules, any::<u64>()), |(world, rules, seed)| {
            check(world, &rules, seed).map_err(TestCaseError::fail)
        });
    match run {
        Ok(()) => {}
        Err(TestError::Fail(why, (world, rules, _))) => {
            panic!("{why}\n-- policy --\n{}-- cluster --\n{}", policy_text(&rules), world.lines())
        }
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

/// Plans and carries out until there is nothing left to plan.
fn check(world: World, rules: &[Rule], seed: u64) -> Result<(), String> {
    let policy = policy(rules);
    let mut world = world.settled();
    let mut earlier: Option<(Snapshot, Vec<(String, PodId)>)> = None;
    let mut history = String::new();
    for _ in 0..PLANS_MAX {
        let snapshot = world.cluster().snapshot();
        let planned = plan(&snapshot, &policy, &History::default(), &mut Unobserved);
        write!(history, "--\n{}", said(&planned, &snapshot)).expect("a string takes all");
        is_sound(&world, &snapshot, &policy, &planned, seed)
            .map_err(|why| format!("{why}\n{history}"))?;
        if planned.evictions.is_empty() {
            return Ok(());
        }
        for Eviction { pod, strategy, .. } in &planned.evictions {
            let name = &snapshot.pod(*pod).name;
            let Some((before, arrived)) = &earlier else { continue };
            let moved = arrived.iter().find(|(arrived, _)| **arrived == **name);
            if let Some((_, old)) = moved
                && objects(rules, strategy, &snapshot, *pod)
                && !objects(rules, strategy, before, *old)
            {
                return Err(format!("{name} has just been moved\n{history}"));
            }
        }
        let arrived = world.carry_out(&snapshot, &planned);
        let result = world.cluster().snapshot();
        let of = |count: fn(&Rule, &Snapshot, &Snapshot) -> i64, now: &Snapshot| -> Vec<i64> {
            rules.iter().map(|rule| count(rule, now, &snapshot)).collect()
        };
        let (before, after) = (of(Rule::sum, &snapshot), of(Rule::sum, &result));
        let fell = before.iter().zip(&after).any(|(before, after)| after < before);
        let worst = of(Rule::worst, &snapshot).into_iter().zip(of(Rule::worst, &result));
        if !fell || worst.into_iter().any(|(before, after)| after > before) {
            return Err(format!("wrong before: {before:?}, after: {after:?}\n{history}"));
        }
        world = world.settled();
        earlier = Some((snapshot, arrived));
    }
    Err(format!("no end after {PLANS_MAX} plans\n{history}"))
}

fn policy(rules: &[Rule]) -> Policy {
    let text = policy_text(rules);
    let mut policy = match load(text.as_bytes(), "policy.yaml", &REGISTRY) {
        (Some(policy), _) => policy,
        (None, said) => panic!("{}", render(&said, text.as_bytes(), Style::Plain)),
    };
    if rules.iter().any(|rule| rule.name == HIGH) {
        for profile in &mut policy.scheduler.profiles {
            profile.fit.strategy = ScoringStrategy::MostAllocated;
        }
    }
    policy
}

/// Whether a strategy alone has something against a pod where it is. If it had before another one
/// moved the pod, it may move it once more; and if it has only because of what goes before in the
/// same plan, that is not for the last plan to know.
fn objects(rules: &[Rule], strategy: &str, snapshot: &Snapshot, pod: PodId) -> bool {
    let alone: Vec<Rule> = rules.iter().copied().filter(|rule| rule.name == strategy).collect();
    let planned = plan(snapshot, &policy(&alone), &History::default(), &mut Unobserved);
    planned.evictions.iter().any(|eviction| eviction.pod == pod)
        || planned.report.runs.iter().flat_map(|run| &run.refusals).any(|one| one.pod == pod)
}

/// What holds for every single plan.
fn is_sound(
    world: &World,
    snapshot: &Snapshot,
    policy: &Policy,
    planned: &Plan,
    seed: u64,
) -> Result<(), String> {
    if let Some(violation) = audit(planned, snapshot, policy).first() {
        return Err(format!("the audit says: {violation}"));
    }
    let text = said(planned, snapshot);
    if text.contains("the strategy failed inside") {
        return Err("a strategy panicked".to_owned());
    }
    let snapshot = world.cluster().shuffled(seed).snapshot();
    let again = plan(&snapshot, policy, &History::default(), &mut Unobserved);
    match said(&again, &snapshot) {
        other if other == text => Ok(()),
        other => Err(format!("in another order it is another plan:\n{other}")),
    }
}

fn policy_text(rules: &[Rule]) -> String {
    let mut text = String::from(
        "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n  \
         - name: test\n    pluginConfig:\n",
    );
    let mut line = |line: String| writeln!(text, "{line}").expect("a string takes all");
    for Rule { name, args, .. } in rules {
        line(format!("      - name: {name}\n        args: {args}"));
    }
    line("    plugins:".to_owned());
    for point in ["deschedule", "balance"] {
        let names: Vec<&str> =
            rules.iter().filter(|rule| rule.point == point).map(|rule| rule.name).collect();
        line(format!("      {point}: {{enabled: [{}]}}", names.join(", ")));
    }
    text
}

/// Everything that a plan says.
fn said(plan: &Plan, snapshot: &Snapshot) -> String {
    let mut text = String::new();
    let mut line = |line: String| writeln!(text, "{line}").expect("a string takes all");
    for eviction in &plan.evictions {
        let pod = snapshot.pod_name(eviction.pod);
        let node = |&node: &_| &*snapshot.node(node).name;
        let (from, to): (_, Vec<&str>) =
            (node(&eviction.node), eviction.destinations.iter().map(node).collect());
        let (strategy, why) = (eviction.strategy, &eviction.reason.detail);
        line(format!("evict {pod} from {from} to {}: {strategy}: {why}", to.join(" or ")));
    }
    for run in &plan.report.runs {
        for refused in &run.refusals {
            let pod = snapshot.pod_name(refused.pod);
            line(format!("keep {pod}: {}: {}", run.strategy, refused.refusal));
        }
        for note in &run.notes {
            line(format!("note {}: {note}", run.strategy));
        }
    }
    for note in &plan.report.notes {
        line(format!("note {note}"));
    }
    text
}
