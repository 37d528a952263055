//! Plans carried out against scripted and random API servers, in virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use descheduler_cluster::Snapshot;
use descheduler_engine::{
    Action, Answer, Attempt, Audited, Eviction, Execution, Fate, History, Limits, Open, Pace,
    Placement, Plan, PlanReport, PodKey, Policy, Reason, Receipt, Settled, Sight, Unobserved,
    Untried, plan_beside,
};
use descheduler_testkit::fixture::NOW;
use descheduler_testkit::{Cluster, snapshot};
use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;

use super::toys::{FIRST, pod, policy, propose, step};

const CLUSTER: &str = "
    node a
    node b
    node c
    node d
    pod x/p on=a owner=ReplicaSet/p
    pod x/q on=a owner=ReplicaSet/q
    pod y/r on=b owner=ReplicaSet/r
    pod y/s on=b owner=ReplicaSet/s
    pod y/t on=c owner=ReplicaSet/t
";

const LIMITS: Limits = Limits { total: None, per_node: None, per_namespace: None };

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

fn limited(limits: Limits) -> Policy {
    Policy { limits, placement: Some(Placement::Feasible), ..policy(vec![step(&FIRST, |_| ())]) }
}

/// A plan of `x/p x/q>b y/r#1`: pods, where they may land (on `d`), and their set.
fn plan_of(snapshot: &Snapshot, words: &str) -> Plan {
    let evictions = words.split_whitespace().map(|word| {
        let (word, set) = word.split_once('#').unwrap_or((word, ""));
        let (name, to) = word.split_once('>').unwrap_or((word, "d"));
        let pod = pod(snapshot, name);
        let node = snapshot.pod(pod).node.expect("it is on a node");
        let nodes = snapshot.nodes().iter().copied();
        Eviction {
            pod,
            node,
            profile: 0,
            strategy: FIRST.name,
            reason: Reason::new("Wrong", "by hand"),
            destinations: nodes.filter(|&node| &*snapshot.node(node).name == to).collect(),
            set: set.parse().ok(),
        }
    });
    Plan { evictions: evictions.collect(), report: PlanReport::default() }
}

fn started(
    snapshot: &Snapshot,
    policy: &Policy,
    words: &str,
    open: &Open,
    pace: Pace,
) -> Execution {
    let plan = plan_of(snapshot, words);
    let audited = Audited::check(&plan, snapshot, policy).expect("the plan is sound");
    Execution::new(audited, open, pace)
}

fn one_by_one() -> Pace {
    Pace { in_flight_max: 1, ..Pace::default() }
}

/// Each request's answer, by what is written for its pod, one letter a request; then `E`.
///
/// `E` evicted, `B` background, `G` gone, `R` replaced, `C` conflict, `b` budget spent, `w` budget
/// not processed, `t` throttled, `T` throttled for 20 s, `N` not reached, `D` denied, `U` unknown,
/// `-` no answer.
fn answer_of(letter: char) -> Option<Answer> {
    Some(match letter {
        'E' => Answer::Evicted,
        'B' => Answer::InBackground,
        'G' => Answer::Gone,
        'R' => Answer::Replaced,
        'C' => Answer::Conflict,
        'b' => Answer::BlockedByBudget { retry_after: None },
        'w' => Answer::BlockedByBudget { retry_after: Some(seconds(10)) },
        't' => Answer::Throttled { retry_after: None },
        'T' => Answer::Throttled { retry_after: Some(seconds(20)) },
        'N' => Answer::Unreached("connection refused".to_owned()),
        'D' => Answer::Denied("no".to_owned()),
        'U' => Answer::Unknown("500".to_owned()),
        '-' => return None,
        other => panic!("no answer {other}"),
    })
}

/// Runs an execution; each answer comes at once. The transcript says when which request was made
/// and what became of each eviction.
fn run(mut execution: Execution, answers: &str, look: impl Fn(&str) -> Sight) -> (String, Receipt) {
    let answer = |name: &str, request: u32| {
        let of = answers.split_whitespace().filter_map(|word| word.split_once('='));
        let letters = of.filter(|(pod, _)| *pod == name).map(|(_, letters)| letters).next();
        letters.and_then(|letters| letters.chars().nth(request as usize - 1)).unwrap_or('E')
    };
    let (mut now, mut text, mut told) = (NOW, String::new(), Vec::new());
    loop {
        let action = execution.next(now, |target| look(&target.pod.name));
        told.extend(execution.news().into_iter().map(|record| record.target.pod));
        match action {
            Action::Evict(attempt) => {
                let name = attempt.target.pod.name.clone();
                let letter = answer(&name, attempt.request);
                let at = now.duration_since(NOW).as_secs();
                write!(text, "{at}:{name}{letter} ").expect("a string takes all");
                if let Some(answer) = answer_of(letter) {
                    assert!(execution.record(&attempt, answer.clone(), now), "it is waited for");
                    assert!(!execution.record(&attempt, answer, now), "answers count once");
                }
            }
            Action::WaitUntil(at) => {
                assert!(at > now, "time goes on");
                now = at;
            }
            Action::Done(receipt) => {
                let mut all: Vec<_> =
                    receipt.records.iter().map(|r| r.target.pod.clone()).collect();
                told.sort();
                all.sort();
                assert_eq!(told, all, "each was told once");
                for record in &receipt.records {
                    let (name, code) = (&record.target.pod.name, record.fate.code());
                    write!(text, "| {name} {code} ").expect("a string takes all");
                }
                return (text.trim_end().to_owned(), receipt);
            }
        }
    }
}

#[test]
fn each_answer_and_what_follows() {
    let snapshot = snapshot(CLUSTER);
    for (plan, answers, expected) in [
        ("x/p x/q", "", "0:pE 0:qE | p Evicted | q Evicted"),
        ("x/p x/q", "p=B", "0:pB 0:qE | p InBackground | q Evicted"),
        ("x/p x/q", "p=G", "0:pG 0:qE | p Gone | q Evicted"),
        ("x/p x/q", "p=R", "0:pR 0:qE | p Replaced | q Evicted"),
        ("x/p x/q", "p=D", "0:pD 0:qE | p Denied | q Evicted"),
        ("x/p x/q", "p=U", "0:pU 0:qE | p Unknown | q Evicted"),
        ("x/p x/q", "p=-", "0:p- 65:qE | p Unknown | q Evicted"),
        // A conflict and a budget that is not processed yet hold nobody else up.
        ("x/p x/q", "p=C", "0:pC 0:qE 1:pE | p Evicted | q Evicted"),
        ("x/p x/q", "p=w", "0:pw 0:qE 10:pE | p Evicted | q Evicted"),
        ("x/p x/q", "p=CCCC", "0:pC 0:qE 1:pC 3:pC 7:pC | p Conflict | q Evicted"),
        ("x/p", "p=wwww", "0:pw 10:pw 20:pw 30:pw | p BlockedByBudget"),
        // Throttling is meant for all; Retry-After wins over a shorter delay of ours.
        ("x/p x/q", "p=t", "0:pt 1:pE 1:qE | p Evicted | q Evicted"),
        ("x/p x/q", "p=tT", "0:pt 1:pT 21:pE 21:qE | p Evicted | q Evicted"),
        ("x/p x/q", "p=TTTT", "0:pT 20:pT 40:pT 60:pT 80:qE | p ThrottledOut | q Evicted"),
        // A server that is away is waited for, and what did not reach it was not done.
        ("x/p x/q", "p=NN", "0:pN 1:pN 3:pE 3:qE | p Evicted | q Evicted"),
        ("x/p x/q", "p=NNNN", "0:pN 1:pN 3:pN 7:pN 15:qE | p Unreached | q Evicted"),
        // A set goes member by member, and ends with the first that stays.
        ("x/p#1 x/q#1", "", "0:pE 0:qE | p Evicted | q Evicted"),
        ("x/p#1 x/q#1", "p=G", "0:pG 0:qE | p Gone | q Evicted"),
        ("x/p#1 x/q#1 y/r", "p=D", "0:pD 0:rE | p Denied | q ReliedOnAnother | r Evicted"),
        ("x/p#1 x/q#1", "p=U", "0:pU | p Unknown | q ReliedOnAnother"),
        ("x/p#1 x/q#1", "p=C", "0:pC 1:pE 1:qE | p Evicted | q Evicted"),
        ("x/p#1 x/q#1", "q=D", "0:pE 0:qD | p Evicted | q Denied"),
        ("x/p#1 x/q#2", "p=D", "0:pD 0:qE | p Denied | q Evicted"),
    ] {
        let execution = started(&snapshot, &limited(LIMITS), plan, &Open::default(), one_by_one());
        let (text, _) = run(execution, answers, |_| Sight::Same);
        assert_eq!(text, expected, "{plan}, {answers}");
    }
}

#[test]
fn moves_that_land_where_an_earlier_one_left() {
    let snapshot = snapshot(CLUSTER);
    for (plan, answers, expected) in [
        ("x/p y/r>a", "", "0:pE 0:rE | p Evicted | r Evicted"),
        ("x/p y/r>a", "p=D", "0:pD | p Denied | r ReliedOnAnother"),
        ("x/p y/r>a", "p=C", "0:pC 1:pE 1:rE | p Evicted | r Evicted"),
        // A failure leaves more room where it would have landed, and passes on from node to node.
        ("x/p>c y/r>c", "p=D", "0:pD 0:rE | p Denied | r Evicted"),
        ("x/p y/r>a y/t>b", "p=D", "0:pD | p Denied | r ReliedOnAnother | t ReliedOnAnother"),
        // Only earlier ones count.
        ("y/r>a x/p", "p=D", "0:rE 0:pD | r Evicted | p Denied"),
    ] {
        let policy = limited(LIMITS);
        let execution = started(&snapshot, &policy, plan, &Open::default(), one_by_one());
        let (text, _) = run(execution, answers, |_| Sight::Same);
        assert_eq!(text, expected, "{plan}, {answers}");
    }
}

#[test]
fn pods_are_looked_at_right_before_their_turn() {
    let snapshot = snapshot(CLUSTER);
    let held = || Sight::Held(Reason::new("Annotated", "it is annotated"));
    for (sight, expected) in [
        (Sight::Gone, "0:qE | p Gone | q Evicted"),
        (Sight::Replaced, "0:qE | p Replaced | q Evicted"),
        (held(), "0:qE | p Held | q Evicted"),
        (Sight::Unseen, "0:qE | p Unseen | q Evicted"),
    ] {
        let policy = limited(LIMITS);
        let execution = started(&snapshot, &policy, "x/p x/q", &Open::default(), one_by_one());
        let look = |name: &str| if name == "p" { sight.clone() } else { Sight::Same };
        assert_eq!(run(execution, "", look).0, expected);
    }
}

/// The next request; there is one.
fn request(execution: &mut Execution, now: Timestamp) -> Attempt {
    match execution.next(now, |_| Sight::Same) {
        Action::Evict(attempt) => attempt,
        other => panic!("a request, not {other:?}"),
    }
}

fn waits(execution: &mut Execution, now: Timestamp) -> bool {
    matches!(execution.next(now, |_| Sight::Same), Action::WaitUntil(_))
}

fn done(execution: &mut Execution, now: Timestamp) -> Receipt {
    match execution.next(now, |_| Sight::Same) {
        Action::Done(receipt) => receipt,
        other => panic!("the end, not {other:?}"),
    }
}

#[test]
fn a_stop_finishes_what_is_in_flight() {
    let snapshot = snapshot(CLUSTER);
    let pace = Pace { in_flight_max: 2, ..Pace::default() };
    let mut execution = started(&snapshot, &limited(LIMITS), "x/p x/q y/r", &Open::default(), pace);
    let (first, second) = (request(&mut execution, NOW), request(&mut execution, NOW));
    assert!(waits(&mut execution, NOW), "two are in flight");
    execution.stop();
    assert!(execution.record(&second, Answer::Conflict, NOW));
    assert!(waits(&mut execution, NOW), "the first is in flight");
    assert!(execution.record(&first, Answer::Evicted, NOW));
    let fates = done(&mut execution, NOW).records.into_iter().map(|record| record.fate);
    let stopped = Fate::NotTried(Untried::Stopped);
    assert_eq!(fates.collect::<Vec<_>>(), [Fate::Evicted, Fate::Conflict, stopped]);
    assert_eq!(done(&mut execution, NOW).records, [], "each is accounted for once");
}

#[test]
fn an_old_plan_is_dropped() {
    let snapshot = snapshot(CLUSTER);
    let policy = limited(LIMITS);
    let mut execution = started(&snapshot, &policy, "x/p x/q", &Open::default(), one_by_one());
    let late = NOW + Pace::default().age_max;
    assert_eq!(done(&mut execution, late).counts(), BTreeMap::from([((0, "First", "TooOld"), 2)]));
}

#[test]
fn lost_answers_count_until_a_snapshot_decides() {
    let first = snapshot(CLUSTER);
    let one = limited(Limits { per_namespace: Some(1), ..LIMITS });
    let lost = started(&first, &one, "x/p", &Open::default(), one_by_one());
    let mut open = Open::default();
    open.extend(run(lost, "p=U", |_| Sight::Same).1.open);
    let next = |plan, open: &Open| {
        run(started(&first, &one, plan, open, one_by_one()), "", |_| Sight::Same).0
    };
    assert_eq!(next("x/p", &open), "| p StillOpen");
    assert_eq!(next("x/q", &open), "| q NamespaceLimit");
    assert_eq!(next("y/r", &open), "0:rE | r Evicted");

    // A plan knows better than to ask for them.
    let history = History::default();
    let steps = vec![step(&FIRST, |turn| propose(turn, "x/p x/q y/r"))];
    let of_all = Policy { limits: one.limits, ..policy(steps) };
    let beside = plan_beside(&first, &of_all, &history, &open, &mut Unobserved);
    let planned = beside.evictions.iter().map(|eviction| first.pod_name(eviction.pod));
    assert_eq!(planned.collect::<Vec<_>>(), ["y/r"]);
    let codes = beside.report.runs[0].refusals.iter().map(|refused| refused.refusal.code());
    assert_eq!(codes.collect::<Vec<_>>(), ["StillOpen", "NamespaceLimit"]);

    let at = |after: i64, lines: &str| {
        let cluster = Cluster::parse(lines).expect("it is a cluster");
        Cluster { now: Some(NOW + seconds(after)), ..cluster }.snapshot()
    };
    let settled = |after, lines: &str| {
        let mut open = open.clone();
        let settled = open.settle(&at(after, lines));
        (settled.first().map(|(_, how)| *how), open.iter().count())
    };
    let gone = CLUSTER.replace("pod x/p on=a owner=ReplicaSet/p\n", "");
    assert_eq!(settled(0, &gone), (None, 1), "not a later snapshot");
    assert_eq!(settled(1, CLUSTER), (None, 1), "the request may still be carried out");
    assert_eq!(settled(60, CLUSTER), (Some(Settled::Stayed), 0));
    assert_eq!(settled(1, &gone), (Some(Settled::Left), 0));
    let leaving = CLUSTER.replace("x/p on=a", "x/p on=a terminating");
    assert_eq!(settled(1, &leaving), (Some(Settled::Left), 0));
}

#[test]
fn an_open_eviction_takes_from_its_budget() {
    let lines = "
        node a
        node b
        node d
        budget x/web everything allowed=1
        pod x/p on=a owner=ReplicaSet/p
        pod x/q on=b owner=ReplicaSet/q
    ";
    let snapshot = snapshot(lines);
    let by_hand = limited(LIMITS);
    let mut open = Open::default();
    let lost = started(&snapshot, &by_hand, "x/p", &open, one_by_one());
    open.extend(run(lost, "p=U", |_| Sight::Same).1.open);
    let policy = policy(vec![step(&FIRST, |turn| propose(turn, "x/q"))]);
    for (open, planned) in [(&Open::default(), 1), (&open, 0)] {
        let history = History::default();
        let plan = plan_beside(&snapshot, &policy, &history, open, &mut Unobserved);
        assert_eq!(plan.evictions.len(), planned);
    }
}

#[test]
fn a_spent_budget_stops_its_other_pods_and_no_more() {
    let lines = "
        node a
        node b
        node d
        budget x/web everything allowed=2
        pod x/p on=a owner=ReplicaSet/p
        pod x/q on=a owner=ReplicaSet/q
        pod y/r on=b owner=ReplicaSet/r
    ";
    let snapshot = snapshot(lines);
    let policy = limited(LIMITS);
    let execution = started(&snapshot, &policy, "x/p x/q y/r", &Open::default(), one_by_one());
    let (text, _) = run(execution, "p=b", |_| Sight::Same);
    assert_eq!(text, "0:pb 0:rE | p BlockedByBudget | q BudgetSpent | r Evicted");
}

#[test]
fn plans_that_fail_the_audit_are_not_executed() {
    let (snapshot, policy) = (snapshot(CLUSTER), limited(LIMITS));
    let plan = plan_of(&snapshot, "x/p x/p");
    assert!(Audited::check(&plan, &snapshot, &policy).is_err());
}

/// One thing that happens in a random run: an answer to one of those in flight, or time.
#[derive(Clone, Debug)]
enum Event {
    Answer(usize, char),
    Time(i64),
    Stop,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let letters = proptest::sample::select("EEEBGRCbwtTNDU".chars().collect::<Vec<_>>());
    let event = prop_oneof![
        20 => (0..4_usize, letters).prop_map(|(which, letter)| Event::Answer(which, letter)),
        4 => (1..30_i64).prop_map(Event::Time),
        1 => Just(Event::Stop),
    ];
    vec(event, 0..40)
}

proptest! {
    /// Whatever the server says: what may have been evicted stays within the limits, every
    /// eviction is accounted for once, and it ends.
    #[test]
    fn limits_hold_and_all_is_accounted_for(
        events in events(),
        in_flight_max in 1..5_usize,
        carried in 0..3_usize,
        total in 2..6_u64,
        sets in vec(0..3_usize, 5),
    ) {
        let snapshot = snapshot(CLUSTER);
        let limits = Limits { total: Some(total), per_node: Some(2), per_namespace: Some(3) };
        let policy = limited(limits);
        let mut open = Open::default();
        // Pods of the cycle before, whose answers are lost.
        let before = ["", "y/t", "y/t x/q"][carried.min(total as usize)];
        let lost = started(&snapshot, &policy, before, &Open::default(), one_by_one());
        open.extend(run(lost, "t=U q=U", |_| Sight::Same).1.open);
        let words = ["x/p", "x/q", "y/r>a", "y/s>a", "y/t"].iter().zip(&sets);
        let words: Vec<_> = words.map(|(pod, set)| format!("{pod}#{set}")).collect();
        let words = words[..5.min(total as usize)].join(" ");
        let pace = Pace { in_flight_max, ..Pace::default() };
        let mut execution = started(&snapshot, &policy, &words, &open, pace);

        // May be evictions, by their own count: asked for and not denied.
        let mut maybe: BTreeSet<PodKey> = open.iter().map(|eviction| eviction.pod.clone()).collect();
        let mut flying: Vec<Attempt> = Vec::new();
        let mut lost_at: BTreeMap<PodKey, Timestamp> = BTreeMap::new();
        let pod_of = |attempt: &Attempt| attempt.target.pod.clone();
        let (mut now, mut events, mut receipt) = (NOW, events.into_iter(), None);
        for _ in 0..1000 {
            match execution.next(now, |_| Sight::Same) {
                Action::Evict(attempt) => {
                    let pod = pod_of(&attempt);
                    prop_assert!(!pod.uid.is_empty());
                    prop_assert!(maybe.insert(pod), "never two requests for a pod at once");
                    lost_at.insert(pod_of(&attempt), now + pace.answer_max);
                    flying.push(attempt);
                    let of = |namespace: &str| {
                        maybe.iter().filter(|pod| &*pod.namespace == namespace).count()
                    };
                    prop_assert!(maybe.len() as u64 <= total && of("x") <= 3 && of("y") <= 3);
                    let on = |names: &[&str]| {
                        maybe.iter().filter(|pod| names.contains(&&*pod.name)).count()
                    };
                    prop_assert!(on(&["p", "q"]) <= 2 && on(&["r", "s"]) <= 2);
                    prop_assert!(flying.len() <= in_flight_max);
                    continue;
                }
                Action::WaitUntil(at) => {
                    prop_assert!(at > now, "time goes on");
                    match events.next() {
                        Some(Event::Answer(which, letter)) if !flying.is_empty() => {
                            let attempt = flying.remove(which % flying.len());
                            let answer = answer_of(letter).expect("it is an answer");
                            let counted = execution.record(&attempt, answer, now);
                            if counted && !"EBU".contains(letter) {
                                maybe.remove(&attempt.target.pod);
                            }
                        }
                        Some(Event::Answer(..)) => {}
                        Some(Event::Time(more)) => now = at.min(now + seconds(more)),
                        Some(Event::Stop) => execution.stop(),
                        None => now = at,
                    }
                    // Answers that were given up are in flight no longer.
                    flying.retain(|attempt| lost_at[&attempt.target.pod] > now);
                }
                Action::Done(done) => {
                    receipt = Some(done);
                    break;
                }
            }
        }
        let receipt = receipt.expect("it ends");
        prop_assert_eq!(receipt.records.len(), words.split_whitespace().count());
        let pods: BTreeSet<_> = receipt.records.iter().map(|r| r.target.pod.clone()).collect();
        prop_assert_eq!(pods.len(), receipt.records.len());
        // What the receipt says may have been evicted is what was counted here.
        let fates = receipt.records.iter().filter(|record| {
            matches!(record.fate, Fate::Evicted | Fate::InBackground | Fate::Unknown(_))
        });
        let said: BTreeSet<_> = fates.map(|record| record.target.pod.clone()).collect();
        let carried: BTreeSet<_> = open.iter().map(|eviction| eviction.pod.clone()).collect();
        prop_assert_eq!(said, &maybe - &carried);
        prop_assert!(receipt.open.iter().all(|eviction| maybe.contains(&eviction.pod)));
    }
}
