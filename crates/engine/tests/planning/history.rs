//! Stories of several cycles: what is moved, what comes of it, and what is left alone then.

use descheduler_cluster::{PodId, Snapshot};
use descheduler_engine::{
    Action, Answer, Audited, Execution, History, Limits, LoopBreaker, Open, Pace, Plan, Policy,
    Purpose, Receipt, Sight, Step, StrategyDef, Turn, Unobserved, plan_beside,
};
use descheduler_testkit::Cluster;
use descheduler_testkit::fixture::NOW;
use jiff::SignedDuration;

use super::toys::{FIRST, SECOND, policy, propose_one, step_for, text};

/// Cycle after cycle under one policy.
struct Story {
    policy: Policy,
    history: History,
    open: Open,
    /// What is answered to each request; `None` where plans are made for somebody else.
    answer: Option<Answer>,
}

impl Story {
    fn new(steps: Vec<Step>) -> Self {
        Self {
            policy: policy(steps),
            history: History::default(),
            open: Open::default(),
            answer: None,
        }
    }

    /// Looks at a cluster of pods such as `web-1 a -9`, which are called so, are on this node, or
    /// on none, and were made in that minute; the owner is what stands before the dash. The answer
    /// is the plan, with minutes for moments.
    fn look(&mut self, minute: i64, pods: &str) -> String {
        let snapshot = cluster(minute, pods);
        let history = std::mem::take(&mut self.history);
        let _ = self.open.settle(&snapshot);
        let history = history.seen(&snapshot, self.policy.loop_breaker, &self.open);
        let plan = plan_beside(&snapshot, &self.policy, &history, &self.open, &mut Unobserved);
        let told = text(&plan, &snapshot);
        self.history = match self.answer.clone() {
            None => history.after(&snapshot, &self.policy, &plan),
            Some(answer) => {
                let receipt = self.carry_out(&plan, &snapshot, &answer);
                let made = receipt.made(&plan);
                let history = history.judged(&snapshot, &self.policy, &plan);
                let history = history.with_made(&snapshot, &self.policy, made);
                self.open.extend(receipt.open);
                history
            }
        };
        // Whoever wrote it down and read it again knows the same.
        let written = self.history.to_string();
        assert_eq!(written.parse().as_ref(), Ok(&self.history), "{written}");
        short(&told)
    }

    fn carry_out(&self, plan: &Plan, snapshot: &Snapshot, answer: &Answer) -> Receipt {
        let audited = Audited::check(plan, snapshot, &self.policy).expect("the plan is sound");
        let mut execution = Execution::new(audited, &self.open, Pace::default());
        let now = snapshot.taken_at();
        loop {
            match execution.next(now, |_| Sight::Same) {
                Action::Evict(attempt) => {
                    assert!(execution.record(&attempt, answer.clone(), now));
                }
                Action::WaitUntil(until) => panic!("nothing is to be waited for until {until}"),
                Action::Done(receipt) => return receipt,
            }
        }
    }
}

fn cluster(minute: i64, pods: &str) -> Snapshot {
    let mut lines = "node a\nnode b\nnode c\n".to_owned();
    for pod in pods.split(", ").filter(|pod| !pod.is_empty()) {
        let words: Vec<&str> = pod.split(' ').collect();
        let [name, node, made] = *words else { panic!("`{pod}` is no pod") };
        let owner = name.split('-').next().expect("a name");
        let node = if node == "-" { String::new() } else { format!("on={node}") };
        let made = NOW + SignedDuration::from_mins(made.parse().expect("a minute"));
        lines += &format!(
            "pod {name} {node} owner=ReplicaSet/{owner}\n\
             | {{metadata: {{creationTimestamp: '{made}'}}}}\n"
        );
    }
    let mut cluster = Cluster::parse(&lines).expect("it can be read");
    cluster.now = Some(NOW + SignedDuration::from_mins(minute));
    cluster.read().0
}

/// A plan in few words: `+web-1` goes, `-web-1 ..` cools down.
fn short(plan: &str) -> String {
    let line = |line: &str| {
        let (what, why) = line.split_once(": ").expect("a reason");
        if what.starts_with("note ") {
            return format!("{what}: {}", in_minutes(why));
        }
        let why = why.split_once(": ").map_or(why, |(_, why)| why);
        if let Some(pod) = what.strip_prefix("evict default/") {
            return format!("+{}", pod.split(' ').next().expect("a pod"));
        }
        let why = in_minutes(why);
        let why = why.replace(" without improvement; not again before ", " until ");
        let why = why.replace("maxNoOfPodsToEvictTotal (1) is reached", "1");
        match what.strip_prefix("keep default/") {
            Some(pod) => format!("-{pod} {why}"),
            None => panic!("what is this: {line}"),
        }
    };
    plan.lines().map(line).collect::<Vec<_>>().join(", ")
}

fn in_minutes(text: &str) -> String {
    (0..6000).rev().fold(text.to_owned(), |text, minute| {
        let moment = (NOW + SignedDuration::from_mins(minute)).to_string();
        text.replace(&moment, &minute.to_string())
    })
}

/// A strategy that wants all pods off these nodes, in order of name.
fn off(def: &'static StrategyDef, nodes: &'static str, purpose: Purpose) -> Step {
    step_for(def, purpose, move |turn: &mut Turn<'_, '_>| {
        let snapshot = turn.snapshot();
        let is_there = |&pod: &PodId| {
            let node = snapshot.pod(pod).node;
            node.is_some_and(|node| nodes.contains(&*snapshot.node(node).name))
        };
        for pod in snapshot.pods().iter().copied().filter(is_there) {
            let _ = propose_one(turn, pod);
        }
    })
}

#[test]
fn the_wait_doubles_with_each_failure() {
    let mut story = Story::new(vec![off(&FIRST, "abc", Purpose::Place)]);
    assert_eq!(story.look(0, "web-1 a -9"), "+web-1");
    assert_eq!(story.look(5, "web-2 b 0"), "-web-2 moved once in 5 minutes until 15");
    // The wait runs from when the failure was seen, not from the last look.
    assert_eq!(story.look(10, "web-2 b 0"), "-web-2 moved once in 10 minutes until 15");
    assert_eq!(story.look(15, "web-2 b 0"), "+web-2");
    assert_eq!(story.look(20, "web-3 a 15"), "-web-3 moved 2 times in 20 minutes until 40");
    assert_eq!(story.look(40, "web-3 a 15"), "+web-3");
    assert_eq!(story.look(40, "web-4 b 40"), "-web-4 moved 3 times in 40 minutes until 80");
    assert_eq!(story.look(80, "web-4 b 40, api-1 a 70"), "+api-1, +web-4");
}

#[test]
fn what_helped_may_be_done_again() {
    let mut story = Story::new(vec![off(&FIRST, "a", Purpose::Place)]);
    assert_eq!(story.look(0, "web-1 a -9"), "+web-1");
    assert_eq!(story.look(5, "web-2 b 0"), "");
    assert_eq!(story.history.moves()[0].helped, Some(true));
    assert_eq!(story.history.moves()[0].to.as_deref(), Some("b"));
    assert_eq!(story.look(10, "web-2 b 0, web-3 a 8"), "+web-3");
}

#[test]
fn a_failure_may_show_late() {
    let mut story = Story::new(vec![off(&FIRST, "a", Purpose::Place)]);
    assert_eq!(story.look(0, "web-1 a -9"), "+web-1");
    assert_eq!(story.look(5, "web-2 - 0"), "");
    assert_eq!(story.history.moves()[0].helped, None);
    assert_eq!(story.look(9, "web-2 a 0"), "-web-2 moved once in 9 minutes until 19");
    // What waits for a node too long is no better.
    let mut story = Story::new(vec![off(&FIRST, "a", Purpose::Place)]);
    assert_eq!(story.look(0, "web-1 a -9"), "+web-1");
    assert_eq!(story.look(12, "web-2 - 0"), "");
    assert_eq!(story.history.moves()[0].helped, Some(false));
    assert_eq!(story.look(14, "web-2 b 0, web-3 a 13"), "-web-3 moved once in 14 minutes until 22");
}

#[test]
fn equal_pods_that_take_turns_are_a_loop() {
    let mut story = Story::new(vec![off(&FIRST, "ab", Purpose::Place)]);
    story.policy.limits = Limits { total: Some(1), ..Limits::default() };
    assert_eq!(story.look(0, "web-1 a -9, web-2 b -9"), "+web-1, -web-2 1");
    let told = story.look(5, "web-2 b -9, web-3 b 0");
    let until = "moved once in 5 minutes until 15";
    assert_eq!(told, format!("-web-2 {until}, -web-3 {until}"));
    // Where a fresh start is what is wanted, the other pod has not had one yet.
    let mut story = Story::new(vec![off(&FIRST, "ab", Purpose::Restart)]);
    story.policy.limits = Limits { total: Some(1), ..Limits::default() };
    assert_eq!(story.look(0, "web-1 a -9, web-2 b -9"), "+web-1, -web-2 1");
    assert_eq!(story.look(5, "web-2 b -9, web-3 b 0"), "+web-2, -web-3 1");
    assert_eq!(
        story.look(10, "web-3 b 0, web-4 a 5"),
        "-web-3 moved once in 10 minutes until 20, -web-4 moved once in 5 minutes until 20"
    );
}

#[test]
fn renewals_and_removals_are_no_loops() {
    for (purpose, remembered) in [(Purpose::Renewal, 1), (Purpose::Removal, 0)] {
        let mut story = Story::new(vec![off(&FIRST, "ab", purpose)]);
        assert_eq!(story.look(0, "web-1 a -9"), "+web-1");
        assert_eq!(story.look(5, "web-2 a 0"), "+web-2");
        assert_eq!(story.look(10, "web-3 b 5"), "+web-3");
        assert_eq!(story.history.moves().len(), 3 * remembered);
    }
    // But a new pod that finds no node is no renewal.
    let mut story = Story::new(vec![off(&FIRST, "a", Purpose::Renewal)]);
    assert_eq!(story.look(0, "web-1 a -9"), "+web-1");
    assert_eq!(story.look(12, "web-2 - 0, web-3 a 0"), "+web-3");
    assert_eq!(story.look(14, "web-2 - 0, web-4 a 12"), "-web-4 moved once in 14 minutes until 22");
}

#[test]
fn strategies_that_undo_each_other_both_failed() {
    let steps = || vec![off(&FIRST, "a", Purpose::Place), off(&SECOND, "b", Purpose::Place)];
    let mut story = Story::new(steps());
    assert_eq!(story.look(0, "web-1 a -9"), "+web-1");
    assert_eq!(story.look(5, "web-2 b 0"), "+web-2");
    assert_eq!(story.look(10, "web-3 a 5"), "-web-3 moved once in 10 minutes until 20");
    let helped: Vec<_> = story.history.moves().iter().map(|moved| moved.helped).collect();
    assert_eq!(helped, [Some(false), Some(false)]);
    // In a circle of three nodes the first is seen to fail when it meets what came of its pod.
    let steps = vec![off(&FIRST, "ac", Purpose::Place), off(&SECOND, "b", Purpose::Place)];
    let mut story = Story::new(steps);
    assert_eq!(story.look(0, "web-1 a -9"), "+web-1");
    assert_eq!(story.look(5, "web-2 b 0"), "+web-2");
    assert_eq!(story.look(10, "web-3 c 5"), "-web-3 moved once in 10 minutes until 20");
}

#[test]
fn a_strategy_rests_when_all_that_it_does_fails() {
    let mut story = Story::new(vec![off(&FIRST, "a", Purpose::Place)]);
    for cycle in 0..5 {
        let (now, next) = (cycle * 5, cycle + 1);
        let pods = match cycle {
            0 => "o0-1 a 0".to_owned(),
            _ => format!("o{}-2 a {}, o{cycle}-1 a 0", cycle - 1, now - 5),
        };
        let told = story.look(now, &pods);
        assert!(told.contains(&format!("+o{cycle}-1")), "{next}: {told}");
    }
    let told = story.look(25, "o4-2 a 20, p-1 a 0");
    assert_eq!(told, "+p-1, -o4-2 moved once in 5 minutes until 35");
    let paused = "moved 5 times in 30 minutes until 35";
    assert_eq!(
        story.look(30, "p-2 b 25, q-1 a 0"),
        format!(
            "-q-1 First is paused: pods were {paused}, note First: paused until 35: pods were moved \
             5 times in 30 minutes without improvement"
        )
    );
    assert_eq!(story.look(35, "p-2 b 25, q-1 a 0"), "+q-1");
}

#[test]
fn what_was_not_carried_out_is_forgotten() {
    let mut story = Story::new(vec![off(&FIRST, "a", Purpose::Place)]);
    assert_eq!(story.look(0, "web-1 a -9"), "+web-1");
    assert_eq!(story.look(5, "web-1 a -9"), "+web-1");
    assert_eq!(story.history.moves().len(), 1);
    assert_eq!(story.look(5, "web-1 a -9"), "+web-1");
    assert_eq!(story.history.moves().len(), 1);
}

/// What a pod came to without us says nothing about the strategy that had wanted it.
#[test]
fn what_was_not_made_is_not_remembered() {
    for (answer, told) in [
        (Answer::Denied("no".to_owned()), "+web-2"),
        (Answer::Gone, "+web-2"),
        (Answer::BlockedByBudget { retry_after: None }, "+web-2"),
        (Answer::Evicted, "-web-2 moved once in 5 minutes until 15"),
        (Answer::Unknown("500".to_owned()), "-web-2 moved once in 5 minutes until 15"),
    ] {
        let mut story = Story::new(vec![off(&FIRST, "a", Purpose::Place)]);
        story.answer = Some(answer.clone());
        assert_eq!(story.look(0, "web-1 a -9"), "+web-1");
        assert_eq!(story.look(5, "web-2 a 3"), told, "{answer:?}");
    }
}

/// A pod that may still go has not stayed, and what is made meanwhile does not come in its place.
#[test]
fn what_is_open_is_remembered() {
    let mut story = Story::new(vec![off(&FIRST, "a", Purpose::Place)]);
    story.answer = Some(Answer::InBackground);
    assert_eq!(story.look(0, "web-1 a -9"), "+web-1");
    let open = "an earlier request to evict it may still be carried out";
    assert_eq!(story.look(5, "web-1 a -9, web-2 b 4"), format!("-web-1 {open}"));
    assert_eq!(story.history.moves()[0].successor, None);
    assert_eq!(story.look(9, "web-3 a 6"), "-web-3 moved once in 9 minutes until 19");
    // When it is given up, the pod has stayed.
    let mut story = Story::new(vec![off(&FIRST, "a", Purpose::Place)]);
    story.answer = Some(Answer::InBackground);
    assert_eq!(story.look(0, "web-1 a -9"), "+web-1");
    assert_eq!(story.look(11, "web-1 a -9"), "+web-1");
    assert_eq!(story.history.moves().len(), 1);
}

#[test]
fn peace_for_long_enough_ends_a_streak() {
    let day = 24 * 60;
    for (seen, told, wait) in [
        (15 + day - 1, "-web-4 moved 2 times in 24 hours", 20),
        (15 + day, "-web-4 moved once in 5 minutes", 10),
    ] {
        let minute = seen - 5;
        let mut story = Story::new(vec![off(&FIRST, "a", Purpose::Place)]);
        assert_eq!(story.look(0, "web-1 a -9"), "+web-1");
        assert_eq!(story.look(5, "web-2 a 0"), "-web-2 moved once in 5 minutes until 15");
        assert_eq!(story.look(minute, "web-3 a 20"), "+web-3");
        let told = format!("{told} until {}", seen + wait);
        assert_eq!(story.look(seen, &format!("web-4 a {minute}")), told);
    }
}

#[test]
fn without_a_cool_down_everything_goes_on() {
    let mut story = Story::new(vec![off(&FIRST, "ab", Purpose::Place)]);
    story.policy.loop_breaker =
        LoopBreaker { initial: SignedDuration::ZERO, ..LoopBreaker::default() };
    for cycle in 0..20 {
        let pods = format!("web-{cycle} a {}", 5 * (cycle - 1));
        assert_eq!(story.look(5 * cycle, &pods), format!("+web-{cycle}"));
    }
}
