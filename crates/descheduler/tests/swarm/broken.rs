//! Products with one mistake each, of the kinds that matter: the swarm finds every one of them, by
//! the checker whose business it is, while what is shipped plays the same scenario well.

use descheduler_cluster::Snapshot;
use descheduler_engine::{
    Answer, Audited, Execution, History, Limits, Open, Pace, Placement, Plan, Policy, Shield,
    Sight, Target, Unobserved, plan,
};

use crate::product::{Product, Shipped};
use crate::scenario::Scenario;
use crate::server::key_of;
use crate::settings::Settings;
use crate::world::{Key, World};
use crate::{played, shrink};

/// So many seeds are enough to find any of them.
const SEEDS: u64 = 150;

/// Has the swarm look for a mistake, which one of these checkers is to find first.
fn is_found(product: &dyn Product, checks: &[&str]) {
    is_found_in(Scenario::random, product, checks);
}

/// The same in scenarios in which there is occasion for it.
fn is_found_in(scenario: fn(u64) -> Scenario, product: &dyn Product, checks: &[&str]) {
    let failure = |seed| {
        let scenario = scenario(seed);
        let failure = played(&scenario, product).err()?;
        Some((scenario, failure))
    };
    let (scenario, failure) = (1..=SEEDS).find_map(failure).expect("it is found");

    assert!(checks.contains(&failure.check), "seed {}: {failure}", scenario.seed);
    played(&scenario, &Shipped).expect("without the mistake it goes well");
    let small = shrink::smallest(scenario, failure.check, |small| played(small, product));
    let failure = played(&small, product).expect_err("in small, too");
    assert!(checks.contains(&failure.check), "{}", small.text(&failure.to_string()));
    played(&small, &Shipped).expect("without the mistake it goes well in small, too");
}

/// Forgets from cycle to cycle what may still happen.
struct ForgetsOpen;

impl Product for ForgetsOpen {
    fn plan(&self, snapshot: &Snapshot, policy: &Policy, history: &History, _: &Open) -> Plan {
        plan(snapshot, policy, history, &mut Unobserved)
    }

    fn execution(&self, audited: Audited<'_>, _: &Open, pace: Pace) -> Execution {
        Execution::new(audited, &Open::default(), pace)
    }
}

#[test]
fn one_that_forgets_what_is_open() {
    is_found(&ForgetsOpen, &["open", "limits"]);
}

/// Takes whichever pod has the name by now for the one that was planned.
struct GoesByName;

impl Product for GoesByName {
    fn look(&self, world: &World, target: &Target) -> Sight {
        let pod = named(world, target).and_then(|key| world.pod(&key.uid));
        match pod.is_some_and(|pod| !pod.terminating && !pod.kept) {
            true => Sight::Same,
            false => Sight::Gone,
        }
    }

    fn request(&self, world: &World, target: &Target) -> Key {
        named(world, target).unwrap_or_else(|| key_of(target))
    }
}

fn named(world: &World, target: &Target) -> Option<Key> {
    let Key { namespace, name, .. } = key_of(target);
    let is_it = |key: &&Key| (&key.namespace, &key.name) == (&namespace, &name);
    world.pods.iter().map(|pod| &pod.key).find(is_it).cloned()
}

/// Where the next pod has the name of the last one, and others are quick to make it come.
fn of_stateful_sets(seed: u64) -> Scenario {
    let mut scenario = Scenario::random(seed);
    let World { workloads, pods, faults, .. } = &mut scenario.world;
    for workload in workloads {
        for pod in pods.iter_mut().filter(|pod| pod.owner == workload.owner()) {
            pod.owner = format!("StatefulSet/{}", workload.name);
        }
        workload.kind = "StatefulSet".to_owned();
    }
    *faults = "throttled=50 interference=50".parse().expect("these are faults");
    scenario
}

#[test]
fn one_that_forgets_the_uid() {
    is_found_in(of_stateful_sets, &GoesByName, &["uids"]);
}

/// Knows of no disruption budgets and leaves them to the API server.
struct IgnoresBudgets;

impl Product for IgnoresBudgets {
    fn see(&self, world: &World) -> Snapshot {
        let mut unbudgeted = world.clone();
        unbudgeted.budgets.clear();
        unbudgeted.snapshot()
    }
}

#[test]
fn one_that_ignores_budgets() {
    is_found(&IgnoresBudgets, &["budgets"]);
}

/// Takes an answer that does not come, or an error, to mean that nothing was done.
struct TakesLostForFailed;

impl Product for TakesLostForFailed {
    fn hear(&self, answer: Option<Answer>) -> Option<Answer> {
        match answer {
            None | Some(Answer::Unknown(_)) => Some(Answer::Unreached("no answer".to_owned())),
            answer => answer,
        }
    }
}

#[test]
fn one_that_takes_a_lost_answer_for_a_failure() {
    is_found(&TakesLostForFailed, &["accounts", "limits", "open"]);
}

/// Carries out what was planned, whatever has become of the pods.
struct DoesNotLookAgain;

impl Product for DoesNotLookAgain {
    fn look(&self, _: &World, _: &Target) -> Sight {
        Sight::Same
    }
}

#[test]
fn one_that_does_not_look_again() {
    is_found(&DoesNotLookAgain, &["protected"]);
}

/// Has a policy with something missing or changed.
struct Misreads(fn(&mut Policy));

impl Product for Misreads {
    fn policy(&self, settings: &Settings) -> Policy {
        let mut policy = settings.policy();
        (self.0)(&mut policy);
        policy
    }
}

#[test]
fn one_that_ignores_limits() {
    is_found(&Misreads(|policy| policy.limits = Limits::default()), &["limits"]);
}

#[test]
fn one_that_ignores_protections() {
    let unshielded = |policy: &mut Policy| {
        policy.profiles.iter_mut().for_each(|profile| profile.shield = Shield::default());
    };
    is_found(&Misreads(unshielded), &["protected"]);
}

#[test]
fn one_that_does_not_ask_whether_a_move_helps() {
    let anywhere = |policy: &mut Policy| {
        if policy.placement == Some(Placement::Improving) {
            policy.placement = Some(Placement::Feasible);
        }
    };
    is_found(&Misreads(anywhere), &["improves", "twice", "undone", "rest"]);
}
