//! Evicts pods that are older than a limit, or in a state that they do not come out of by
//! themselves.
//!
//! Use it to renew pods from time to time, or to clear away those that are stuck: image pulls that
//! fail for hours, pods that ended and were left behind. A pod must pass every filter that is
//! given; the oldest go first.
//!
//! ```yaml
//! apiVersion: descheduler/v1alpha2
//! kind: DeschedulerPolicy
//! profiles:
//!   - name: renew
//!     pluginConfig:
//!       - name: PodLifeTime
//!         args:
//!           maxPodLifeTimeSeconds: 86400
//!           states: [Pending, PodInitializing, ImagePullBackOff]
//!     plugins:
//!       deschedule:
//!         enabled: [PodLifeTime]
//! ```
//!
//! At least one of `maxPodLifeTimeSeconds`, `states`, `conditions` and `exitCodes` must be given.
//! Unlike most strategies it also looks at pods that have ended.

use descheduler_cluster::{NodeId, Pod, PodId, Snapshot, Sym};
use descheduler_engine::{
    Anywhere, Args, Finding, Inquiry, Judge, Pass, Proposal, Purpose, Reason, Strategy, StrategyDef, Turn,
};

use crate::age::{seconds_since, span};
use crate::containers::Containers;
use crate::order::oldest_first;
use crate::scope::{Scope, include_or_exclude};

pub(crate) static DEF: StrategyDef = StrategyDef {
    name: "PodLifeTime",
    pass: Pass::Deschedule,
    summary: "Evicts pods that are too old or stuck in a state.",
    build,
};

/// The pod passes every filter.
const LIVED_TOO_LONG: &str = "LivedTooLong";

/// What `states` may name: phases, reasons of a pod, reasons of waiting and of ended containers.
/// Each is compared with all of those places (docs/spec/strategies.md section 14.1).
const STATES: [&str; 24] = [
    "Running",
    "Pending",
    "Succeeded",
    "Failed",
    "Unknown",
    "NodeAffinity",
    "NodeLost",
    "Shutdown",
    "UnexpectedAdmissionError",
    "PodInitializing",
    "ContainerCreating",
    "ImagePullBackOff",
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "ErrImagePull",
    "CreateContainerError",
    "InvalidImageName",
    "OOMKilled",
    "Error",
    "Completed",
    "DeadlineExceeded",
    "Evicted",
    "ContainerCannotRun",
    "StartError",
];

struct PodLifeTime {
    scope: Scope,
    max_seconds: Option<u64>,
    states: Vec<&'static str>,
    owners: OwnerKinds,
    conditions: Vec<ConditionFilter>,
    exit_codes: Vec<i32>,
    init_containers: bool,
    ephemeral_containers: bool,
}

#[derive(Default)]
struct OwnerKinds {
    include: Vec<String>,
    exclude: Vec<String>,
}

/// What is given must be so in one and the same condition of the pod.
struct ConditionFilter {
    kind: Option<String>,
    status: Option<String>,
    reason: Option<String>,
    min_seconds: Option<u64>,
}

fn build(args: &mut Args<'_>) -> Option<Box<dyn Strategy>> {
    let scope = Scope::read(args);
    let owners = args.object("ownerKinds", "Only pods of these kinds of owners.", |args| {
        let include = args.list("include", "Only these; pods without an owner are left alone.");
        let exclude = args.list("exclude", "All but these.");
        include_or_exclude(args, &include, &exclude);
        OwnerKinds { include, exclude }
    });
    let max_seconds =
        args.optional("maxPodLifeTimeSeconds", "Only pods created longer ago than this.");
    let states = args
        .arg(
            "states",
            "Only pods whose phase or reason, or one of whose containers' waiting or terminated \
             reason, is one of these.",
        )
        .words(&STATES);
    let conditions =
        args.objects("conditions", "Only pods with one of these conditions.", ConditionFilter::read);
    for (at, condition) in conditions.iter().enumerate() {
        if condition.is_empty() {
            let message = format!("`conditions[{at}]`: at least one field must be given");
            args.error(args.at("conditions").item(at), "empty-condition", message);
        }
    }
    let exit_codes = args.list("exitCodes", "Only pods with a container that ended with one.");
    let strategy = PodLifeTime {
        scope,
        max_seconds,
        states,
        owners: owners.unwrap_or_default(),
        conditions,
        exit_codes,
        init_containers: args
            .flag("includingInitContainers", "`states` and `exitCodes` are about these too."),
        ephemeral_containers: args
            .flag("includingEphemeralContainers", "`states` is about these too."),
    };
    let criteria = ["maxPodLifeTimeSeconds", "states", "conditions", "exitCodes"];
    if strategy.is_unlimited() && !criteria.iter().any(|name| is_filled(args, name)) {
        args.error(
            args.here(),
            "missing-criterion",
            "one of `maxPodLifeTimeSeconds`, `states`, `conditions` and `exitCodes` of \
             `PodLifeTime` must be given",
        );
        return None;
    }
    Some(Box::new(strategy))
}

/// Whether something stands there, be it wrong, which is complained about already.
fn is_filled(args: &Args<'_>, name: &str) -> bool {
    let empty_list = args.at(name).item(0).span() == args.at(name).span();
    args.given(name) && (name == "maxPodLifeTimeSeconds" || !empty_list)
}

impl ConditionFilter {
    fn read(args: &mut Args<'_>) -> Self {
        let text = |text: Option<String>| text.filter(|text| !text.is_empty());
        Self {
            kind: text(args.optional("type", "Its type.")),
            status: text(args.optional("status", "Its status.")),
            reason: text(args.optional("reason", "Its reason.")),
            min_seconds: args.optional(
                "minTimeSinceLastTransitionSeconds",
                "How long it must have been so, at least.",
            ),
        }
    }

    fn is_empty(&self) -> bool {
        let Self { kind, status, reason, min_seconds } = self;
        kind.is_none() && status.is_none() && reason.is_none() && min_seconds.is_none()
    }
}

impl Strategy for PodLifeTime {
    fn run(&self, turn: &mut Turn<'_, '_>) {
        let snapshot = turn.snapshot();
        let filter = Filter::new(self, snapshot);
        let scope = self.scope.bind(snapshot);
        let mut found: Vec<(PodId, String)> = Vec::new();
        for &node in turn.nodes() {
            let pods = turn.view().pods_on(node).filter(|&pod| scope.admits(pod));
            found.extend(pods.filter_map(|id| Some((id, filter.why(snapshot.pod(id))?))));
        }
        found.sort_by(|(a, _), (b, _)| oldest_first(snapshot, *a, *b));
        for (pod, why) in found {
            let _ = turn.propose(Proposal { pod, reason: Reason::new(LIVED_TOO_LONG, why) });
        }
    }

    fn purpose(&self) -> Purpose {
        Purpose::Renewal
    }

    fn judge<'s>(&'s self, _: &'s Snapshot, _: &[NodeId]) -> Box<dyn Judge<'s> + 's> {
        Box::new(Anywhere)
    }

    fn examine(&self, pod: PodId, inquiry: &mut Inquiry<'_, '_>) {
        self.scope.examine(pod, inquiry);
        Filter::new(self, inquiry.snapshot()).examine(pod, inquiry);
    }
}

impl PodLifeTime {
    fn is_unlimited(&self) -> bool {
        self.max_seconds.is_none()
            && self.states.is_empty()
            && self.conditions.is_empty()
            && self.exit_codes.is_empty()
    }
}

/// The filters made ready for one snapshot (docs/spec/strategies.md section 14.3).
struct Filter<'p, 's> {
    strategy: &'p PodLifeTime,
    snapshot: &'s Snapshot,
    states: Vec<Sym>,
    included: Vec<Sym>,
    excluded: Vec<Sym>,
    conditions: Vec<[Option<Sym>; 3]>,
}

impl<'p, 's> Filter<'p, 's> {
    fn new(strategy: &'p PodLifeTime, snapshot: &'s Snapshot) -> Self {
        let symbols = |names: &[String]| names.iter().map(|name| snapshot.sym(name)).collect();
        let symbol = |text: &Option<String>| text.as_ref().map(|text| snapshot.sym(text));
        let conditions = strategy.conditions.iter();
        Self {
            strategy,
            snapshot,
            states: strategy.states.iter().map(|state| snapshot.sym(state)).collect(),
            included: symbols(&strategy.owners.include),
            excluded: symbols(&strategy.owners.exclude),
            conditions: conditions
                .map(|c| [symbol(&c.kind), symbol(&c.status), symbol(&c.reason)])
                .collect(),
        }
    }

    /// What the pod passes the filters with, if it passes all.
    fn why(&self, pod: &Pod) -> Option<String> {
        let mut why = Vec::new();
        if let Some(max) = self.strategy.max_seconds {
            why.push(self.older_than(pod, max)?);
        }
        if !self.strategy.states.is_empty() {
            why.push(self.state(pod)?);
        }
        if !self.owner_admitted(pod) {
            return None;
        }
        if !self.conditions.is_empty() {
            why.push(self.condition(pod)?);
        }
        if !self.strategy.exit_codes.is_empty() {
            why.push(self.exit_code(pod)?);
        }
        Some(why.join(", "))
    }

    /// Says of each filter whether the pod passes it.
    fn examine(&self, id: PodId, inquiry: &mut Inquiry<'_, '_>) {
        let PodLifeTime { max_seconds, states, owners, conditions, exit_codes, .. } = self.strategy;
        let pod = self.snapshot.pod(id);
        if let Some(max) = *max_seconds {
            inquiry.say(self.age_finding(pod, max));
        }
        let mut check = |name: &str, given: bool, found: Option<String>, without: &str| {
            if given {
                let detail = found.as_deref().unwrap_or(without);
                inquiry.check(name, found.is_some(), detail);
            }
        };
        let phase = format!("phase {}, and none of those listed", pod.phase.as_str());
        check("states", !states.is_empty(), self.state(pod), &phase);
        let kinds_given = !owners.include.is_empty() || !owners.exclude.is_empty();
        let admitted = self.owner_admitted(pod).then(|| "the kind of its owner".to_owned());
        check("ownerKinds", kinds_given, admitted, "not the kind of its owner");
        let none = "none of its conditions is one of those";
        check("conditions", !conditions.is_empty(), self.condition(pod), none);
        let none = "no container ended with one of those";
        check("exitCodes", !exit_codes.is_empty(), self.exit_code(pod), none);
    }

    fn age_finding(&self, pod: &Pod, max: u64) -> Finding {
        const CHECK: &str = "maxPodLifeTimeSeconds";
        if let Some(older) = self.older_than(pod, max) {
            return Finding::new(CHECK, true, older);
        }
        let now = self.snapshot.taken_at();
        let age = pod.created.and_then(|created| seconds_since(created, now)).unwrap_or(0);
        let detail = format!("{} old, at most {}", span(age), span(max));
        Finding::new(CHECK, false, detail).or_else(format!("wait for {}", span(max - age + 1)))
    }

    fn older_than(&self, pod: &Pod, max: u64) -> Option<String> {
        let Some(created) = pod.created else {
            return Some("no time of creation, so older than any limit".to_owned());
        };
        let age = seconds_since(created, self.snapshot.taken_at())?;
        (age > max).then(|| format!("{} old, at most {}", span(age), span(max)))
    }

    fn state(&self, pod: &Pod) -> Option<String> {
        let phase = pod.phase.as_str();
        if self.strategy.states.contains(&phase) {
            return Some(format!("phase {phase}"));
        }
        self.containers().is_so_for(self.snapshot, pod, &self.states)
    }

    fn owner_admitted(&self, pod: &Pod) -> bool {
        let any = |kinds: &[Sym]| pod.owners.iter().any(|owner| kinds.contains(&owner.kind));
        if self.included.is_empty() { !any(&self.excluded) } else { any(&self.included) }
    }

    fn condition(&self, pod: &Pod) -> Option<String> {
        let now = self.snapshot.taken_at();
        for (filter, wanted) in self.strategy.conditions.iter().zip(&self.conditions) {
            for condition in &pod.conditions {
                let found = [condition.kind, condition.status, condition.reason];
                let equal = found.iter().zip(wanted).all(|(f, w)| w.is_none_or(|w| w == *f));
                let age = condition.changed.and_then(|changed| seconds_since(changed, now));
                let long = filter.min_seconds.is_none_or(|min| age.is_some_and(|age| age >= min));
                if equal && long {
                    return Some(self.describe(condition.kind, condition.status, age));
                }
            }
        }
        None
    }

    fn describe(&self, kind: Sym, status: Sym, age: Option<u64>) -> String {
        let (kind, status) = (self.snapshot.text(kind), self.snapshot.text(status));
        let age = age.map(|age| format!(" for {}", span(age))).unwrap_or_default();
        format!("condition {kind}={status}{age}")
    }

    /// Those that `states` is about.
    fn containers(&self) -> Containers {
        Containers {
            init: self.strategy.init_containers,
            ephemeral: self.strategy.ephemeral_containers,
        }
    }

    fn exit_code(&self, pod: &Pod) -> Option<String> {
        let counted = Containers { ephemeral: false, ..self.containers() };
        counted.ended_with(pod, &self.strategy.exit_codes)
    }
}
