//! What the gate answers, question by question.

use descheduler_cluster::Snapshot;
use descheduler_engine::{
    History, Limits, LoopBreaker, Policy, Reason, Refusal, Stage, Turn, Verdict,
};
use descheduler_testkit::fixture::NOW;
use descheduler_testkit::{Cluster, snapshot};
use jiff::{SignedDuration, Timestamp};

use super::toys::{
    FIRST, Guard, SECOND, on_nodes, planned, planned_after, pod, policy, propose, propose_one,
    shield, short, step,
};

/// A policy with a strategy that proposes these pods.
fn proposing(names: &'static str) -> Policy {
    policy(vec![step(&FIRST, move |turn| propose(turn, names))])
}

fn limits(total: Option<u64>, per_node: Option<u64>, per_namespace: Option<u64>) -> Limits {
    Limits { total, per_node, per_namespace }
}

/// A history in which a move of a strategy failed, which was seen then.
fn failed_once(strategy: &str, subject: &str, seen: Timestamp) -> History {
    let text = format!(
        "descheduler-history v1\nfailed {strategy} {subject} 1 1 {made} {made} {seen}",
        made = NOW - SignedDuration::from_secs(1),
    );
    text.parse().expect("it is a history")
}

#[test]
fn limits_are_asked_total_first_then_node_then_namespace() {
    let snapshot = snapshot(
        "
        node a
        node b
        pod x/1 on=a
        pod x/2 on=a
        pod x/3 on=b
        pod y/4 on=a
        pod y/5 on=b
        ",
    );
    for (limits, expected) in [
        (limits(None, None, None), ["evict", "evict", "evict", "evict", "evict"]),
        (limits(Some(2), Some(1), Some(1)), ["evict", "Node", "Namespace", "Node", "evict"]),
        (limits(Some(1), Some(1), Some(1)), ["evict", "Total", "Total", "Total", "Total"]),
        (limits(None, Some(1), Some(1)), ["evict", "Node", "Namespace", "Node", "evict"]),
        (limits(None, None, Some(1)), ["evict", "Namespace", "Namespace", "evict", "Namespace"]),
        (limits(None, Some(2), None), ["evict", "evict", "evict", "Node", "evict"]),
        (limits(Some(0), None, None), ["Total"; 5]),
        (limits(None, Some(0), None), ["Node"; 5]),
        (limits(None, None, Some(0)), ["Namespace"; 5]),
        (limits(Some(0), Some(0), Some(0)), ["Total"; 5]),
        (limits(None, Some(0), Some(0)), ["Node"; 5]),
    ] {
        let policy = Policy { limits, ..proposing("x/1 x/2 x/3 y/4 y/5") };
        let plan = planned(&snapshot, &policy);
        let verdicts = ["x/1", "x/2", "x/3", "y/4", "y/5"].map(|name| {
            let refusal = plan.lines().find(|line| line.starts_with(&format!("keep {name}: ")));
            match refusal.and_then(|line| line.split(['/', ':']).nth(3)) {
                Some(code) => code.strip_suffix("Limit").expect("a limit").to_owned(),
                None => "evict".to_owned(),
            }
        });
        assert_eq!(verdicts, expected, "{limits:?}:\n{plan}");
    }
}

#[test]
fn a_limit_names_its_field_and_value() {
    let snapshot = snapshot("node a\nnode b\npod p x3 on=a");
    let policy = Policy { limits: limits(Some(2), None, None), ..proposing("p-1 p-2 p-3") };
    assert_eq!(
        planned(&snapshot, &policy),
        "\
evict default/p-1 from a: First/Wrong: as the test says
evict default/p-2 from a: First/Wrong: as the test says
keep default/p-3: First/TotalLimit: maxNoOfPodsToEvictTotal (2) is reached
"
    );
}

/// One pod and what budgets say of it.
fn budgeted(words: &str, budgets: &str) -> Snapshot {
    snapshot(&format!("node a\nnode b\npod p on=a label:app=web {words}\n{budgets}"))
}

#[test]
fn a_budget_decides_as_the_api_server_does() {
    const GOES: &str = "evict default/p from a: First/Wrong: as the test says\n";
    let spent = "keep default/p: First/DisruptionBudget: disruption budget `b` allows no \
        disruption\n";
    let behind = "keep default/p: First/BudgetNotProcessed: disruption budget `b` has changed and \
        was not processed yet\n";
    let unknown = "keep default/p: First/BudgetUnknown: disruption budget `b` has no status and \
        its pods' owners are not known\n";
    let several = "keep default/p: First/SeveralBudgets: several disruption budgets cover it: b, \
        c\n";
    for (words, budgets, expected) in [
        ("", "", GOES),
        ("", "budget b selector:app=other allowed=0", GOES),
        ("", "budget other/b everything allowed=0", GOES),
        ("", "budget b allowed=0", GOES),
        ("", "budget b everything allowed=1", GOES),
        ("", "budget b everything allowed=0", spent),
        ("", "budget b everything allowed=-1", spent),
        ("phase=Unknown", "budget b everything allowed=0 healthy=0/1", spent),
        // What does not run is nobody's disruption.
        ("phase=Pending", "budget b everything allowed=0", GOES),
        ("phase=Succeeded", "budget b everything allowed=0", GOES),
        ("phase=Failed", "budget b everything allowed=0", GOES),
        ("phase=Failed", "budget b everything allowed=0\nbudget c everything allowed=0", GOES),
        ("phase=Pending", "budget b everything allowed=1 unprocessed", GOES),
        // What runs but is not ready may go if the budget says so or enough others are healthy.
        ("unready", "budget b everything allowed=0 healthy=2/2", GOES),
        ("unready", "budget b everything allowed=0 healthy=1/2", spent),
        ("unready", "budget b everything allowed=0 healthy=0/0", spent),
        ("unready", "budget b everything allowed=0 healthy=1/2 unhealthy=AlwaysAllow", GOES),
        ("", "budget b everything allowed=0 healthy=1/2 unhealthy=AlwaysAllow", spent),
        ("unready", "budget b everything allowed=0 healthy=1/2 unhealthy=IfHealthyBudget", spent),
        ("", "budget b everything allowed=1 unprocessed", behind),
        ("unready", "budget b everything allowed=1 unprocessed", behind),
        ("unready", "budget b everything allowed=1 unprocessed unhealthy=AlwaysAllow", GOES),
        // Without a status it is computed, for which the owners have to be known.
        ("owner=ReplicaSet/web", "budget b everything maxUnavailable=1", unknown),
        (
            "owner=ReplicaSet/web",
            "budget b everything maxUnavailable=1\nreplicaset web replicas=1",
            GOES,
        ),
        (
            "owner=ReplicaSet/web",
            "budget b everything maxUnavailable=1\nreplicaset web replicas=2",
            spent,
        ),
        ("", "budget b everything allowed=1\nbudget c selector:app=web allowed=1", several),
        (
            "unready",
            "budget b everything allowed=1 unhealthy=AlwaysAllow\nbudget c everything allowed=1",
            several,
        ),
    ] {
        let snapshot = budgeted(words, budgets);
        assert_eq!(planned(&snapshot, &proposing("p")), expected, "{words}\n{budgets}");
    }
}

#[test]
fn a_budget_is_spent_by_this_plan() {
    let snapshot = snapshot(
        "
        node a
        node b
        pod p x4 on=a label:app=web
        pod sick on=b label:app=web unready
        pod other on=b label:app=other
        budget web selector:app=web allowed=2
        budget other selector:app=other allowed=1
        ",
    );
    // The sick one goes without taking a disruption from those of the others.
    let policy = policy(vec![
        step(&FIRST, |turn| propose(turn, "p-1 sick")),
        step(&SECOND, |turn| propose(turn, "p-2 p-3 p-4 other")),
    ]);
    assert_eq!(
        planned(&snapshot, &policy),
        "\
evict default/p-1 from a: First/Wrong: as the test says
evict default/sick from b: First/Wrong: as the test says
evict default/p-2 from a: Second/Wrong: as the test says
evict default/other from b: Second/Wrong: as the test says
keep default/p-3: Second/DisruptionBudget: disruption budget `web` allows 2, all planned already
keep default/p-4: Second/DisruptionBudget: disruption budget `web` allows 2, all planned already
"
    );
}

#[test]
fn an_owner_cools_down() {
    let snapshot = snapshot(
        "
        node a
        node b
        pod owned x2 on=a owner=ReplicaSet/web owner=Other/api
        pod x/owned on=a owner=ReplicaSet/web
        pod bare on=a
        pod api on=a owner=ReplicaSet/api
        ",
    );
    let soon = NOW + LoopBreaker::default().initial - SignedDuration::from_secs(1);
    let names = "owned-1 owned-2 x/owned bare api";
    for (subject, failed, kept) in [
        ("default/ReplicaSet/web", soon, vec!["default/owned-1", "default/owned-2"]),
        ("default/ReplicaSet/web", soon - SignedDuration::from_mins(10), vec![]),
        ("default/Pod/bare", soon, vec!["default/bare"]),
        ("default/Pod/owned-1", soon, vec![]),
        // Only the first owner counts.
        ("default/Other/api", soon, vec![]),
        ("default/ReplicaSet/api", soon, vec!["default/api"]),
    ] {
        let failed = failed - LoopBreaker::default().initial;
        let history = failed_once("First", subject, failed);
        let plan = planned_after(&snapshot, &proposing(names), &history);
        let until = failed + LoopBreaker::default().initial;
        let expected: String = kept
            .iter()
            .map(|name| {
                format!(
                    "keep {name}: First/CoolingDown: moved once in 1 second without improvement; \
                     not again before {until}\n"
                )
            })
            .collect();
        assert!(plan.ends_with(&expected), "{subject}:\n{plan}");
        assert_eq!(plan.matches("evict ").count(), 5 - kept.len(), "{subject}:\n{plan}");
        // What one strategy could not mend another may.
        let history = failed_once("Second", subject, failed);
        let plan = planned_after(&snapshot, &proposing(names), &history);
        assert_eq!(plan.matches("evict ").count(), 5, "{subject}:\n{plan}");
    }
}

#[test]
fn what_is_planned_already_is_not_reported_again() {
    let snapshot = snapshot("node a\nnode b\npod p on=a");
    let again = |turn: &mut Turn<'_, '_>| {
        let pod = pod(turn.snapshot(), "p");
        assert_eq!(propose_one(turn, pod), Verdict::Refused(Refusal::AlreadyPlanned));
        turn.keep(pod, Reason::new("Kept", "too late"));
    };
    let policy = policy(vec![
        step(&FIRST, move |turn| {
            propose(turn, "p");
            again(turn);
        }),
        step(&SECOND, again),
    ]);
    assert_eq!(
        planned(&snapshot, &policy),
        "evict default/p from a: First/Wrong: as the test says\n"
    );
}

#[test]
fn the_first_refusal_of_a_pod_counts() {
    let snapshot = snapshot("node a\nnode b\npod p on=a\nbudget b everything allowed=0");
    let policy = policy(vec![step(&FIRST, |turn| {
        propose(turn, "p p");
        turn.keep(pod(turn.snapshot(), "p"), Reason::new("Kept", "too late"));
    })]);
    assert_eq!(short(&planned(&snapshot, &policy)), "keep default/p: First/DisruptionBudget\n");
}

#[test]
fn only_pods_on_the_nodes_to_work_on_can_go() {
    let snapshot = snapshot(
        "
        node a label:pool=x
        node b label:pool=x
        node c
        node d label:pool=x notready
        pod waits
        pod elsewhere on=c
        pod sick on=d
        pod lost on=a
          | {spec: {nodeName: gone}}
        pod here on=a
        ",
    );
    let policy = on_nodes("pool=x", proposing("waits elsewhere sick lost here"));
    let stays = "First/OutsideNodeSet: it is on no node that is ready and selected";
    assert_eq!(
        planned(&snapshot, &policy),
        format!(
            "\
evict default/here from a: First/Wrong: as the test says
keep default/waits: {stays}
keep default/elsewhere: {stays}
keep default/sick: {stays}
keep default/lost: {stays}
"
        )
    );
}

#[test]
fn a_pod_that_could_not_be_read_stays() {
    let cluster = "node a\nnode b\npod p on=a\n| {spec: {nodeSelector: 5}}";
    let (snapshot, anomalies) = Cluster::parse(cluster).expect("it can be read").read();
    assert_eq!(anomalies.len(), 1);
    let policy = policy(vec![step(&FIRST, |turn| {
        let pod = pod(turn.snapshot(), "p");
        assert_eq!(turn.evictable(pod), Err(Refusal::Malformed));
        assert_eq!(turn.may_leave(pod), Err(Refusal::Malformed));
        propose(turn, "p");
    })]);
    assert_eq!(
        planned(&snapshot, &policy),
        "keep default/p: First/Malformed: part of the pod could not be read\n"
    );
}

/// The questions in their order: with each obstacle that is gone, the next one shows.
#[test]
fn cheap_questions_come_first() {
    for (obstacles, expected) in [
        (6, "CoolingDown"),
        (5, "Guarded"),
        (4, "NowhereToGo"),
        (3, "TotalLimit"),
        (2, "DisruptionBudget"),
    ] {
        let snapshot = budgeted("", "budget b everything allowed=0");
        let mut policy = proposing("p");
        policy.limits.total = (obstacles >= 3).then_some(0);
        let mut guards = Vec::new();
        if obstacles >= 4 {
            let stage = Stage::PreEviction;
            guards.push(Guard { stage, ..Guard::of_all("NowhereToGo") });
        }
        if obstacles >= 5 {
            guards.push(Guard::of_all("Guarded"));
        }
        policy.profiles[0].shield = shield(guards);
        let history = match obstacles {
            6 => failed_once("First", "default/Pod/p", NOW - SignedDuration::from_secs(1)),
            _ => History::default(),
        };
        let plan = planned_after(&snapshot, &policy, &history);
        assert_eq!(short(&plan), format!("keep default/p: First/{expected}\n"));
    }
}
