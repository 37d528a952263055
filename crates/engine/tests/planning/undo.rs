//! Moves that are taken back: attempts that fail, and strategies that do.

use descheduler_cluster::{ResourceId, Snapshot};
use descheduler_engine::{Limits, Policy, Reason, Step, Turn};
use descheduler_testkit::snapshot;

use super::toys::{FIRST, SECOND, THIRD, crash, planned, policy, propose, short, step};

/// One disruption, one eviction on each node, two in the namespace and in all: whatever is not given back shows.
const TIGHT: &str = "
    node a
    node b
    pod p on=a label:app=web cpu=1
    pod q on=a label:app=web cpu=2
    pod r on=b
    budget web selector:app=web allowed=1
";

fn tight(steps: Vec<Step>) -> (Snapshot, Policy) {
    let limits = Limits { total: Some(2), per_node: Some(1), per_namespace: Some(2) };
    (snapshot(TIGHT), Policy { limits, ..policy(steps) })
}

/// What the view says of all nodes.
fn seen(turn: &Turn<'_, '_>) -> String {
    let view = turn.view();
    let nodes = turn.nodes().iter().map(|&node| {
        let pods: Vec<&str> =
            view.pods_on(node).map(|pod| &*turn.snapshot().pod(pod).name).collect();
        let cpu = view.requested(node).get(ResourceId::CPU);
        format!("{} {cpu}; ", pods.join(","))
    });
    nodes.collect()
}

fn not_enough() -> Reason {
    Reason::new("NotEnough", "not all of them can go")
}

#[test]
fn an_attempt_that_fails_leaves_no_trace_but_the_refusals() {
    let (snapshot, policy) = tight(vec![step(&FIRST, |turn| {
        let before = seen(turn);
        let done = turn.attempt(|turn| {
            propose(turn, "p r q");
            assert_eq!(seen(turn), "q 2000;  0; ");
            Err(not_enough())
        });
        assert!(!done);
        assert_eq!(seen(turn), before);
        propose(turn, "q r");
    })]);
    assert_eq!(
        planned(&snapshot, &policy),
        "\
evict default/q from a: First/Wrong: as the test says
evict default/r from b: First/Wrong: as the test says
keep default/p: First/NotEnough: not all of them can go
"
    );
}

#[test]
fn a_pod_that_is_planned_in_the_end_is_not_refused() {
    let (snapshot, policy) = tight(vec![step(&FIRST, |turn| {
        turn.attempt(|turn| {
            propose(turn, "p q");
            Err(not_enough())
        });
        // `q` was refused for the sake of `p`, which is no longer planned.
        propose(turn, "q");
    })]);
    assert_eq!(
        short(&planned(&snapshot, &policy)),
        "evict default/q from a: First/Wrong\nkeep default/p: First/NotEnough\n"
    );
}

#[test]
fn an_attempt_that_succeeds_stays() {
    let (snapshot, policy) = tight(vec![step(&FIRST, |turn| {
        assert!(turn.attempt(|turn| {
            propose(turn, "p r");
            Ok(())
        }));
        propose(turn, "q");
    })]);
    assert_eq!(
        short(&planned(&snapshot, &policy)),
        "\
evict default/p from a: First/Wrong
evict default/r from b: First/Wrong
keep default/q: First/TotalLimit
"
    );
}

#[test]
fn attempts_within_attempts() {
    let (snapshot, policy) = tight(vec![
        step(&FIRST, |turn| {
            // The inner one fails: the outer one keeps what it has.
            turn.attempt(|turn| {
                propose(turn, "r");
                turn.attempt(|turn| {
                    propose(turn, "p");
                    Err(Reason::new("Inner", "the inner one fails"))
                });
                Ok(())
            });
        }),
        step(&SECOND, |turn| {
            // The outer one fails: what the inner one has settled is undone with it.
            turn.attempt(|turn| {
                turn.attempt(|turn| {
                    propose(turn, "q");
                    Ok(())
                });
                Err(Reason::new("Outer", "the outer one fails"))
            });
        }),
        step(&THIRD, |turn| propose(turn, "p")),
    ]);
    assert_eq!(
        short(&planned(&snapshot, &policy)),
        "\
evict default/r from b: First/Wrong
evict default/p from a: Third/Wrong
keep default/p: First/Inner
keep default/q: Second/Outer
"
    );
}

#[test]
fn a_strategy_that_panics_loses_its_moves_and_nothing_else() {
    let (snapshot, policy) = tight(vec![
        step(&FIRST, |turn| propose(turn, "r")),
        step(&SECOND, |turn| {
            turn.note("it begins");
            propose(turn, "p q");
            turn.attempt(|_| crash());
        }),
        step(&THIRD, |turn| {
            assert_eq!(seen(turn), "p,q 3000;  0; ");
            propose(turn, "q");
        }),
    ]);
    assert_eq!(
        planned(&snapshot, &policy),
        "\
evict default/r from b: First/Wrong: as the test says
evict default/q from a: Third/Wrong: as the test says
keep default/q: Second/TotalLimit: maxNoOfPodsToEvictTotal (2) is reached
keep default/p: Second/StrategyFailed: the strategy failed inside; its moves of this cycle are \
dropped
note Second: it begins
note Second: the strategy failed inside; its moves of this cycle are dropped
"
    );
}
