//! What protections hold, when they are asked, and what the annotation does to them.

use descheduler_engine::{Reason, Refusal, Stage};
use descheduler_testkit::snapshot;

use super::toys::{FIRST, Guard, planned, pod, policy, propose, shield, short, step};

const EVICT: &str = "annotation:descheduler.alpha.kubernetes.io/evict";

fn guard(code: &'static str, stage: Stage) -> Guard {
    Guard { stage, ..Guard::of_all(code) }
}

/// The codes that hold pod `p`: for `evictable`, for `may_leave`, and when it is proposed.
fn held(words: &str, guards: Vec<Guard>) -> [String; 3] {
    let snapshot = snapshot(&format!("node a\nnode b\npod p on=a {words}"));
    let mut policy = policy(vec![step(&FIRST, |turn| {
        let pod = pod(turn.snapshot(), "p");
        let code = |answer: Result<(), Refusal>| match answer {
            Ok(()) => "free".to_owned(),
            Err(refusal @ Refusal::Protected(_)) => refusal.code().to_owned(),
            Err(other) => panic!("{other:?}"),
        };
        turn.note(code(turn.evictable(pod)));
        turn.note(code(turn.may_leave(pod)));
        propose(turn, "p");
    })]);
    policy.profiles[0].shield = shield(guards);
    let plan = planned(&snapshot, &policy);
    let note = |index: usize| {
        let mut notes = plan.lines().filter_map(|line| line.strip_prefix("note First: "));
        notes.nth(index).expect("two notes").to_owned()
    };
    let proposed = plan.lines().find(|line| !line.starts_with("note ")).expect("one decision");
    let proposed = match proposed.strip_prefix("keep default/p: First/") {
        Some(refusal) => refusal.split(':').next().unwrap_or_default().to_owned(),
        None => "free".to_owned(),
    };
    [note(0), note(1), proposed]
}

#[test]
fn stages_and_the_annotation() {
    let filter = |code| guard(code, Stage::Filter);
    let before = |code| guard(code, Stage::PreEviction);
    let firm = |guard: Guard| Guard { overruled: false, ..guard };
    let open = |guard: Guard| Guard { may_go: |_, _| true, ..guard };
    let annotated = |value: &str| format!("{EVICT}={value}");
    let never = "EvictAnnotationFalse";
    for (words, guards, expected) in [
        ("", vec![], ["free", "free", "free"]),
        ("", vec![open(filter("A")), open(before("B"))], ["free", "free", "free"]),
        ("", vec![filter("A")], ["A", "free", "A"]),
        ("", vec![before("A")], ["free", "A", "A"]),
        // The filters are asked first, each stage in the order of the shield.
        ("", vec![before("A"), filter("B"), filter("C"), before("D")], ["B", "A", "B"]),
        ("", vec![open(filter("A")), filter("B"), filter("C")], ["B", "free", "B"]),
        (&annotated("true"), vec![filter("A"), before("B")], ["free", "free", "free"]),
        (&annotated(""), vec![filter("A")], ["free", "free", "free"]),
        (&annotated("true"), vec![filter("A"), firm(filter("B"))], ["B", "free", "B"]),
        (&annotated("true"), vec![firm(before("A"))], ["free", "A", "A"]),
        (&annotated("false"), vec![], [never; 3]),
        (&annotated("false"), vec![filter("A"), before("B")], [never; 3]),
    ] {
        assert_eq!(held(words, guards), expected, "{words} {expected:?}");
    }
}

#[test]
fn a_protection_says_why() {
    let snapshot = snapshot(&format!("node a\nnode b\npod p on=a\npod q on=a {EVICT}=false"));
    let mut policy = policy(vec![step(&FIRST, |turn| propose(turn, "p q"))]);
    policy.profiles[0].shield = shield(vec![Guard::of_all("Guarded")]);
    assert_eq!(
        planned(&snapshot, &policy),
        "\
keep default/p: First/Guarded: it is guarded
keep default/q: First/EvictAnnotationFalse: its annotation \
`descheduler.alpha.kubernetes.io/evict` is `false`
"
    );
}

#[test]
fn each_profile_has_its_own() {
    let snapshot = snapshot("node a\nnode b\npod p on=a");
    let steps = || vec![step(&FIRST, |turn| propose(turn, "p"))];
    let mut policy =
        super::toys::policy_of(vec![super::toys::profile(steps()), super::toys::profile(steps())]);
    policy.profiles[0].shield = shield(vec![Guard::of_all("Guarded")]);
    assert_eq!(
        short(&planned(&snapshot, &policy)),
        "evict default/p from a: First/Wrong\nkeep default/p: First/Guarded\n"
    );
}

/// A check before eviction sees what the plan has moved away so far.
#[test]
fn protections_look_at_the_view() {
    let snapshot = snapshot("node a\nnode b\npod p on=a\npod q on=b\npod r on=a");
    let mut policy = policy(vec![step(&FIRST, |turn| propose(turn, "p q r"))]);
    policy.profiles[0].shield = shield(vec![Guard {
        code: "NoRoom",
        stage: Stage::PreEviction,
        overruled: true,
        // The pods on `a` fit on `b` once that is empty, and the one on `b` fits anywhere.
        may_go: |view, pod| {
            let [a, b] = *view.snapshot().nodes() else { return false };
            view.snapshot().pod(pod).node != Some(a) || view.pods_on(b).next().is_none()
        },
    }]);
    assert_eq!(
        short(&planned(&snapshot, &policy)),
        "\
evict default/q from b: First/Wrong
evict default/r from a: First/Wrong
keep default/p: First/NoRoom
"
    );
}

#[test]
fn what_a_strategy_keeps_is_reported_with_its_reason() {
    let snapshot = snapshot("node a\nnode b\npod p on=a");
    let policy = policy(vec![step(&FIRST, |turn| {
        turn.keep(pod(turn.snapshot(), "p"), Reason::new("Better", "it is better off here"));
        turn.note("one is kept");
    })]);
    assert_eq!(
        planned(&snapshot, &policy),
        "keep default/p: First/Better: it is better off here\nnote First: one is kept\n"
    );
}
