//! Strategies, protections and policies of a line each, and plans as text.

use std::fmt::Write;
use std::sync::Arc;

use descheduler_cluster::{LabelSelector, NodeId, PodId, Snapshot};
use descheduler_engine::{
    Anywhere, Check, History, Inquiry, Judge, Limits, LoopBreaker, Pass, Placement, Plan, Policy,
    Profile, Proposal, Protection, Purpose, Reason, Shield, Stage, Step, Strategy, StrategyDef,
    Turn, Unobserved, Verdict, audit, plan,
};
use descheduler_scheduler::{Scheduler, View};

/// What is wrong with every pod that a toy proposes.
pub(crate) const WRONG: &str = "Wrong";

macro_rules! defs {
    ($($constant:ident $name:literal $pass:ident),* $(,)?) => {$(
        pub(crate) static $constant: StrategyDef = StrategyDef {
            name: $name,
            pass: Pass::$pass,
            summary: "",
            build: |_| None,
        };
    )*};
}

defs! {
    FIRST "First" Deschedule,
    SECOND "Second" Deschedule,
    THIRD "Third" Balance,
    FOURTH "Fourth" Balance,
}

struct Toy<F> {
    run: F,
    purpose: Purpose,
}

impl<F: Fn(&mut Turn<'_, '_>) + Send + Sync> Strategy for Toy<F> {
    fn run(&self, turn: &mut Turn<'_, '_>) {
        (self.run)(turn);
    }

    fn purpose(&self) -> Purpose {
        self.purpose
    }

    fn judge<'s>(&'s self, _: &'s Snapshot, _: &[NodeId]) -> Box<dyn Judge<'s> + 's> {
        Box::new(Anywhere)
    }

    fn examine(&self, _: PodId, inquiry: &mut Inquiry<'_, '_>) {
        inquiry.check("toy", true, "");
    }
}

/// A strategy that does this.
pub(crate) fn step(
    def: &'static StrategyDef,
    run: impl Fn(&mut Turn<'_, '_>) + Send + Sync + 'static,
) -> Step {
    step_for(def, Purpose::Place, run)
}

/// The same with moves for some purpose.
pub(crate) fn step_for(
    def: &'static StrategyDef,
    purpose: Purpose,
    run: impl Fn(&mut Turn<'_, '_>) + Send + Sync + 'static,
) -> Step {
    Step { def, strategy: Arc::new(Toy { run, purpose }) }
}

/// Fails as a bug would, without the message that a panic prints.
pub(crate) fn crash() -> ! {
    std::panic::resume_unwind(Box::new("a bug"))
}

/// Proposes the pods with these names, which are separated by spaces.
pub(crate) fn propose(turn: &mut Turn<'_, '_>, names: &str) {
    for name in names.split_whitespace() {
        let pod = pod(turn.snapshot(), name);
        let _ = propose_one(turn, pod);
    }
}

pub(crate) fn propose_one(turn: &mut Turn<'_, '_>, pod: PodId) -> Verdict {
    turn.propose(Proposal { pod, reason: Reason::new(WRONG, "as the test says") })
}

/// The pod `namespace/name`, or `name` in `default`.
pub(crate) fn pod(snapshot: &Snapshot, name: &str) -> PodId {
    let name = if name.contains('/') { name.to_owned() } else { format!("default/{name}") };
    let mut pods = snapshot.pods().iter().copied();
    pods.find(|&pod| snapshot.pod_name(pod) == name).unwrap_or_else(|| panic!("no pod {name}"))
}

/// A policy of one profile, which runs each step in the pass it is made for.
pub(crate) fn policy(steps: Vec<Step>) -> Policy {
    policy_of(vec![profile(steps)])
}

pub(crate) fn policy_of(profiles: Vec<Profile>) -> Policy {
    Policy {
        node_selector: None,
        limits: Limits::default(),
        grace_period_seconds: None,
        eviction_failure_event_notification: false,
        placement: Some(Placement::Off),
        confidence: Placement::CONFIDENCE,
        loop_breaker: LoopBreaker::default(),
        scheduler: Scheduler::default(),
        profiles,
    }
}

/// The same for the nodes that a selector such as `pool=x` matches.
pub(crate) fn on_nodes(selector: &str, policy: Policy) -> Policy {
    let node_selector = Some(LabelSelector::parse(selector).expect("it is a selector"));
    Policy { node_selector, ..policy }
}

pub(crate) fn profile(steps: Vec<Step>) -> Profile {
    let (deschedule, balance) =
        steps.into_iter().partition(|step| step.def.pass == Pass::Deschedule);
    Profile {
        name: String::new(),
        node_selector: None,
        placement: None,
        confidence: None,
        shield: Shield::default(),
        deschedule,
        balance,
    }
}

/// A protection of the pods that an answer of no keeps.
pub(crate) struct Guard {
    pub(crate) code: &'static str,
    pub(crate) stage: Stage,
    pub(crate) overruled: bool,
    pub(crate) may_go: fn(&View<'_>, PodId) -> bool,
}

impl Guard {
    /// One of the filter stage that holds every pod unless the annotation overrules it.
    pub(crate) fn of_all(code: &'static str) -> Self {
        Self { code, stage: Stage::Filter, overruled: true, may_go: |_, _| false }
    }
}

impl Protection for Guard {
    fn name(&self) -> &'static str {
        self.code
    }

    fn stage(&self) -> Stage {
        self.stage
    }

    fn overruled_by_annotation(&self) -> bool {
        self.overruled
    }

    fn bind<'s>(&'s self, _: &'s Snapshot) -> Check<'s> {
        Box::new(|view, pod| match (self.may_go)(view, pod) {
            true => Ok(()),
            false => Err(Reason::new(self.code, "it is guarded")),
        })
    }
}

pub(crate) fn shield(guards: Vec<Guard>) -> Shield {
    Shield::new(guards.into_iter().map(|guard| Box::new(guard) as Box<dyn Protection>).collect())
}

/// The plan for a snapshot as text. It has passed the audit, and a second one is the same.
pub(crate) fn planned(snapshot: &Snapshot, policy: &Policy) -> String {
    planned_after(snapshot, policy, &History::default())
}

pub(crate) fn planned_after(snapshot: &Snapshot, policy: &Policy, history: &History) -> String {
    let plan = || plan(snapshot, policy, history, &mut Unobserved);
    let first = plan();
    assert_eq!(audit(&first, snapshot, policy), [], "{}", text(&first, snapshot));
    let text = text(&first, snapshot);
    assert_eq!(self::text(&plan(), snapshot), text, "a second time");
    text
}

/// A plan, line by line: evictions, then what each strategy keeps and notes, then other notes.
pub(crate) fn text(plan: &Plan, snapshot: &Snapshot) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").expect("a string takes all");
    for eviction in &plan.evictions {
        let (pod, node) = (snapshot.pod_name(eviction.pod), &snapshot.node(eviction.node).name);
        let reason = &eviction.reason;
        let by = format!("{}/{}", eviction.strategy, reason.code);
        line(format!("evict {pod} from {node}: {by}: {}", reason.detail));
    }
    for run in &plan.report.runs {
        let strategy = run.strategy;
        for refused in &run.refusals {
            let pod = snapshot.pod_name(refused.pod);
            let code = refused.refusal.code();
            line(format!("keep {pod}: {strategy}/{code}: {}", refused.refusal));
        }
        for note in &run.notes {
            line(format!("note {strategy}: {note}"));
        }
    }
    for note in &plan.report.notes {
        line(format!("note {note}"));
    }
    out
}

/// The first words of each line of a plan, up to the second colon: what, without the details.
pub(crate) fn short(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let mut parts = line.splitn(3, ": ");
        let (what, by) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        format!("{what}: {by}\n")
    });
    lines.collect()
}
