//! What runs, in which order, and what each sees.

use descheduler_engine::{
    History, Observer, Policy, Profile, Step, StrategyDef, Turn, Unobserved, node_set, plan,
};
use descheduler_testkit::snapshot;

use super::toys::{
    FIRST, FOURTH, SECOND, THIRD, on_nodes, planned, policy, policy_of, profile, propose, step,
    text,
};

/// A strategy that says what it sees and proposes a pod.
fn looking(def: &'static StrategyDef, name: &'static str) -> Step {
    let look = move |turn: &mut Turn<'_, '_>| {
        let view = turn.view();
        let pods = turn.nodes().iter().flat_map(|&node| view.pods_on(node));
        let names: Vec<&str> = pods.map(|pod| &*turn.snapshot().pod(pod).name).collect();
        turn.note(names.join(" "));
        propose(turn, name);
    };
    step(def, look)
}

fn two_profiles() -> Policy {
    policy_of(vec![
        profile(vec![looking(&THIRD, "r"), looking(&FIRST, "p")]),
        profile(vec![looking(&FOURTH, "s"), looking(&SECOND, "q")]),
    ])
}

const FOUR_PODS: &str = "node b\nnode a\npod s on=a\npod p on=a\npod q on=b\npod r on=b";

#[test]
fn all_profiles_deschedule_before_any_balances() {
    assert_eq!(
        planned(&snapshot(FOUR_PODS), &two_profiles()),
        "\
evict default/p from a: First/Wrong: as the test says
evict default/q from b: Second/Wrong: as the test says
evict default/r from b: Third/Wrong: as the test says
evict default/s from a: Fourth/Wrong: as the test says
note First: p s q r
note Second: s q r
note Third: s r
note Fourth: s
"
    );
}

#[test]
fn evictions_and_runs_name_their_profile() {
    let (snapshot, policy) = (snapshot(FOUR_PODS), two_profiles());
    let plan = plan(&snapshot, &policy, &History::default(), &mut Unobserved);
    let of_evictions: Vec<_> = plan.evictions.iter().map(|e| (e.profile, e.strategy)).collect();
    let of_runs: Vec<_> = plan.report.runs.iter().map(|r| (r.profile, r.strategy)).collect();
    let expected = [(0, "First"), (1, "Second"), (0, "Third"), (1, "Fourth")];
    assert_eq!(of_evictions, expected);
    assert_eq!(of_runs, expected);
    assert!(plan.report.runs.iter().all(|run| run.planned == 1));
}

#[test]
fn a_strategy_that_is_enabled_twice_runs_twice() {
    let policy = policy(vec![looking(&FIRST, "p"), looking(&FIRST, "q")]);
    let plan = planned(&snapshot(FOUR_PODS), &policy);
    assert!(plan.ends_with("note First: p s q r\nnote First: s q r\n"), "{plan}");
}

#[test]
fn the_observer_is_told_of_every_run() {
    #[derive(Default)]
    struct Log(Vec<String>);
    impl Observer for Log {
        fn begins(&mut self, profile: &Profile, step: &Step) {
            self.0.push(format!("{} {}", profile.name, step.def.name));
        }
        fn ends(&mut self) {
            self.0.push("end".to_owned());
        }
    }
    let mut policy = two_profiles();
    policy.profiles[0].name = "x".to_owned();
    policy.profiles[1].deschedule[0] = step(&SECOND, |_| super::toys::crash());
    let mut log = Log::default();
    let snapshot = snapshot(FOUR_PODS);
    let _ = plan(&snapshot, &policy, &History::default(), &mut log);
    let expected = ["x First", "end", " Second", "end", "x Third", "end", " Fourth", "end"];
    assert_eq!(log.0, expected);
}

#[test]
fn fewer_than_two_nodes_to_work_on() {
    let why = "are ready and selected, and a pod can move only between two";
    let (few, enough) = ("nothing is planned: ", "evict default/p from a: ");
    for (cluster, selector, expected) in [
        ("", None, format!("note {few}0 of 0 nodes {why}\n")),
        ("node a\npod p on=a", None, format!("note {few}1 of 1 nodes {why}\n")),
        ("node a\nnode b notready\npod p on=a", None, format!("note {few}1 of 2 nodes {why}\n")),
        (
            "node a label:pool=x\nnode b\npod p on=a",
            Some("pool=x"),
            format!("note {few}1 of 2 nodes {why}\n"),
        ),
        // Cordoned and tainted nodes count.
        (
            "node a cordoned\nnode b taint:a=b:NoExecute\npod p on=a",
            None,
            format!("{enough}First/Wrong: as the test says\n"),
        ),
        (
            "node a label:pool=x\nnode b label:pool=x\nnode c\npod p on=a",
            Some("pool=x"),
            format!("{enough}First/Wrong: as the test says\n"),
        ),
    ] {
        let policy = policy(vec![step(&FIRST, |turn| propose(turn, "p"))]);
        let policy = match selector {
            Some(selector) => on_nodes(selector, policy),
            None => policy,
        };
        assert_eq!(planned(&snapshot(cluster), &policy), expected, "{cluster}");
    }
}

#[test]
fn nodes_to_work_on_come_by_name() {
    let snapshot = snapshot("node c\nnode a notready\nnode b\nnode d cordoned");
    let nodes = node_set(&snapshot, &policy(vec![]));
    let names: Vec<&str> = nodes.iter().map(|&node| &*snapshot.node(node).name).collect();
    assert_eq!(names, ["b", "c", "d"]);
}

#[test]
fn a_policy_without_strategies_plans_nothing() {
    let snapshot = snapshot(FOUR_PODS);
    let plan = plan(&snapshot, &policy_of(vec![]), &History::default(), &mut Unobserved);
    assert_eq!(text(&plan, &snapshot), "");
}
