//! What holds for any cluster and any strategy.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use descheduler_cluster::{PodId, Snapshot};
use descheduler_engine::{
    History, Limits, Policy, Profile, Reason, Refusal, Stage, StrategyDef, Turn, Unobserved,
    Verdict, audit, plan,
};
use descheduler_testkit::Cluster;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::toys::{
    FIRST, FOURTH, Guard, SECOND, THIRD, crash, on_nodes, policy_of, profile, propose_one, shield,
    step, text,
};

/// What a random strategy does. Pods are given by number.
#[derive(Clone, Debug)]
enum Action {
    Propose(usize),
    Keep(usize),
    /// Several, which are then undone or not.
    Attempt(bool, Vec<Action>),
    Crash,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let leaf = prop_oneof![
        20 => (0..20_usize).prop_map(Action::Propose),
        2 => (0..20_usize).prop_map(Action::Keep),
        1 => Just(Action::Crash),
    ];
    let action = leaf.prop_recursive(3, 24, 8, |inner| {
        (any::<bool>(), vec(inner, 0..8)).prop_map(|(works, inner)| Action::Attempt(works, inner))
    });
    vec(action, 0..12)
}

/// What strategies find wrong while they run. They cannot panic about it: that is contained.
type Faults = Arc<Mutex<Vec<String>>>;

fn expect(faults: &Faults, holds: bool, what: &str) {
    if !holds {
        faults.lock().expect("nobody panics with it").push(what.to_owned());
    }
}

fn perform(turn: &mut Turn<'_, '_>, actions: &[Action], faults: &Faults) {
    let pods = turn.snapshot().pods();
    let pod = |number: usize| (!pods.is_empty()).then(|| pods[number % pods.len()]);
    for action in actions {
        match action {
            Action::Propose(number) => {
                let Some(pod) = pod(*number) else { continue };
                let before = turn.view().is_gone(pod);
                let verdict = propose_one(turn, pod);
                let already = verdict == Verdict::Refused(Refusal::AlreadyPlanned);
                expect(faults, before == already, "what is planned is known as such");
                let after = before || verdict == Verdict::Planned;
                expect(faults, turn.view().is_gone(pod) == after, "what is planned is gone");
            }
            Action::Keep(number) => {
                let Some(pod) = pod(*number) else { continue };
                turn.keep(pod, Reason::new("Kept", "by chance"));
            }
            Action::Attempt(works, actions) => {
                let before = standing(turn);
                let done = turn.attempt(|turn| {
                    perform(turn, actions, faults);
                    if *works { Ok(()) } else { Err(Reason::new("Undone", "by chance")) }
                });
                expect(faults, done == *works, "an attempt does what it is told");
                expect(faults, done || standing(turn) == before, "undone is as before");
            }
            Action::Crash => crash(),
        }
    }
}

/// The pods that stay.
fn standing(turn: &Turn<'_, '_>) -> Vec<PodId> {
    let pods = turn.snapshot().pods().iter().copied();
    pods.filter(|&pod| !turn.view().is_gone(pod)).collect()
}

/// The lines of a random cluster.
fn clusters() -> impl Strategy<Value = Vec<String>> {
    let node = select(vec!["", "", "", "cordoned", "notready", "label:pool=x"]);
    let place = prop_oneof![1 => Just(None), 8 => (0..4_usize).prop_map(Some)];
    let pod = (
        place,
        select(vec!["x", "y"]),
        select(vec!["web", "db", "lone"]),
        select(vec!["", "", "", "unready", "phase=Failed", "phase=Pending", "terminating"]),
        select(vec!["", "", "", "", "=true", "=false"]),
    );
    let budget = (
        select(vec!["x", "y"]),
        select(vec!["everything", "selector:app=web", "selector:app=db", ""]),
        -1..4_i64,
        select(vec!["", "", "unprocessed", "healthy=0/1", "unhealthy=AlwaysAllow healthy=0/1"]),
    );
    (vec(node, 1..5), vec(pod, 0..16), vec(budget, 0..3)).prop_map(|(nodes, pods, budgets)| {
        let mut lines = Vec::new();
        for (number, words) in nodes.iter().enumerate() {
            lines.push(format!("node n{number} {words}"));
        }
        for (number, (place, namespace, app, words, evict)) in pods.into_iter().enumerate() {
            let on = place.map(|place| format!("on=n{}", place % nodes.len())).unwrap_or_default();
            let evict = match evict {
                "" => String::new(),
                value => format!("annotation:descheduler.alpha.kubernetes.io/evict{value}"),
            };
            lines.push(format!(
                "pod {namespace}/p{number} {on} owner=ReplicaSet/{app} label:app={app} {words} {evict}"
            ));
        }
        for (number, (namespace, selector, allowed, words)) in budgets.into_iter().enumerate() {
            lines.push(format!(
                "budget {namespace}/b{number} {selector} allowed={allowed} {words}"
            ));
        }
        lines
    })
}

#[derive(Clone, Debug)]
struct Plot {
    limits: Limits,
    /// Of each profile: whether its protections hold some pods, and what its strategies do.
    profiles: Vec<(bool, Vec<Vec<Action>>)>,
    selected: bool,
}

fn plots() -> impl Strategy<Value = Plot> {
    let limit = || option::of(0..5_u64);
    let limits = (limit(), limit(), limit()).prop_map(|(total, per_node, per_namespace)| Limits {
        total,
        per_node,
        per_namespace,
    });
    let profiles = vec((any::<bool>(), vec(actions(), 4)), 1..3);
    let selected = prop::bool::weighted(0.1);
    (limits, profiles, selected).prop_map(|(limits, profiles, selected)| Plot {
        limits,
        profiles,
        selected,
    })
}

/// One for each strategy of a profile; two passes with two each.
const DEFS: [&StrategyDef; 4] = [&FIRST, &SECOND, &THIRD, &FOURTH];

fn policy(plot: &Plot, faults: &Faults) -> Policy {
    let profiles = plot.profiles.iter().map(|(guarded, runs)| {
        let steps = DEFS.into_iter().zip(runs.clone());
        let steps = steps.map(|(def, actions)| {
            let faults = Arc::clone(faults);
            step(def, move |turn| perform(turn, &actions, &faults))
        });
        Profile { shield: shield(guards(*guarded)), ..profile(steps.collect()) }
    });
    let policy = Policy { limits: plot.limits, ..policy_of(profiles.collect()) };
    if plot.selected { on_nodes("pool=x", policy) } else { policy }
}

fn guards(guarded: bool) -> Vec<Guard> {
    if !guarded {
        return Vec::new();
    }
    let terminating = Guard {
        overruled: false,
        may_go: |view, pod| !view.snapshot().pod(pod).terminating,
        ..Guard::of_all("Terminating")
    };
    // As `nodeFit` does, it asks for room that other moves of the plan may free.
    let crowded = Guard {
        stage: Stage::PreEviction,
        may_go: |view, pod| {
            let nodes = view.snapshot().nodes().iter().copied();
            let mut others = nodes.filter(|&node| view.snapshot().pod(pod).node != Some(node));
            others.any(|node| view.pods_on(node).count() < 4)
        },
        ..Guard::of_all("Crowded")
    };
    vec![terminating, crowded]
}

/// The most evictions that one node, one namespace and the whole plan see.
fn most(evictions: &[descheduler_engine::Eviction], snapshot: &Snapshot) -> [usize; 3] {
    let mut counts: BTreeMap<(u8, String), usize> = BTreeMap::new();
    for eviction in evictions {
        let node = snapshot.node(eviction.node).name.to_string();
        let namespace = snapshot.text(snapshot.pod(eviction.pod).namespace).to_owned();
        *counts.entry((0, node)).or_default() += 1;
        *counts.entry((1, namespace)).or_default() += 1;
    }
    let most = |of: u8| {
        let counts = counts.iter().filter(|((what, _), _)| *what == of);
        counts.map(|(_, count)| *count).max().unwrap_or(0)
    };
    [evictions.len(), most(0), most(1)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn every_plan_is_sound(
        lines in clusters(),
        plot in plots(),
        seed in any::<u64>(),
    ) {
        let cluster = Cluster::parse(&lines.join("\n")).expect("the lines are right");
        let faults = Faults::default();
        let (snapshot, policy) = (cluster.snapshot(), policy(&plot, &faults));
        let made = || plan(&snapshot, &policy, &History::default(), &mut Unobserved);
        let first = made();
        let said = text(&first, &snapshot);

        let found = faults.lock().expect("nobody panics with it").clone();
        prop_assert_eq!(found, [""; 0]);
        prop_assert_eq!(audit(&first, &snapshot, &policy), [], "{}", said);
        prop_assert_eq!(text(&made(), &snapshot), said.clone(), "the second time");

        let other = cluster.clone().shuffled(seed).snapshot();
        let again = plan(&other, &policy, &History::default(), &mut Unobserved);
        prop_assert_eq!(text(&again, &other), said, "in another order");

        let Limits { total, per_node, per_namespace } = policy.limits;
        for (most, limit) in most(&first.evictions, &snapshot)
            .into_iter()
            .zip([total, per_node, per_namespace])
        {
            prop_assert!(limit.is_none_or(|limit| most as u64 <= limit));
        }

        for run in &first.report.runs {
            let mine = first.evictions.iter();
            let mine = mine.filter(|e| (e.profile, e.strategy) == (run.profile, run.strategy));
            let mine: Vec<PodId> = mine.map(|eviction| eviction.pod).collect();
            prop_assert_eq!(run.planned, mine.len());
            prop_assert!(run.refusals.iter().all(|refused| !mine.contains(&refused.pod)));
        }
    }
}
