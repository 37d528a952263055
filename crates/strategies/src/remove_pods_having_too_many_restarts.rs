//! Evicts pods whose containers were restarted too often.
//!
//! A pod that crashes again and again may work on another node, and does nobody any good where it
//! is: a disk that is full, a device that is broken, a mount that went stale. The restarts of all
//! containers of a pod add up; on each node the pods with the most go first.
//!
//! ```yaml
//! apiVersion: descheduler/v1alpha2
//! kind: DeschedulerPolicy
//! profiles:
//!   - name: restarts
//!     pluginConfig:
//!       - name: RemovePodsHavingTooManyRestarts
//!         args:
//!           podRestartThreshold: 100
//!           includingInitContainers: true
//!     plugins:
//!       deschedule:
//!         enabled: [RemovePodsHavingTooManyRestarts]
//! ```
//!
//! With `states` only those go that are in such a state now: pods that came to rest long ago can
//! stay. The counts begin anew with the pod that comes in place of one that was evicted.

use std::cmp::Reverse;

use descheduler_cluster::{NodeId, Pod, PodId, Snapshot, Sym};
use descheduler_engine::{
    Anywhere, Args, Finding, Inquiry, Judge, Pass, Proposal, Purpose, Reason, Strategy, StrategyDef, Turn,
};

use crate::containers::Containers;
use crate::scope::Scope;

pub(crate) static DEF: StrategyDef = StrategyDef {
    name: "RemovePodsHavingTooManyRestarts",
    pass: Pass::Deschedule,
    summary: "Evicts pods whose containers were restarted too often.",
    build,
};

/// The containers of the pod were restarted at least as often as the threshold says.
const TOO_MANY_RESTARTS: &str = "TooManyRestarts";

/// What `states` may name: a phase, or the reason for which a container waits.
const STATES: [&str; 2] = ["Running", "CrashLoopBackOff"];

struct RemovePodsHavingTooManyRestarts {
    scope: Scope,
    threshold: i32,
    containers: Containers,
    states: Vec<&'static str>,
}

fn build(args: &mut Args<'_>) -> Option<Box<dyn Strategy>> {
    let scope = Scope::read(args);
    let doc = "Pods with at least so many restarts go.";
    let threshold: Option<i32> = args.arg("podRestartThreshold", doc).required().value();
    if threshold.is_some_and(|threshold| threshold < 1) {
        let message = "`podRestartThreshold`: expected at least 1";
        args.error_at("podRestartThreshold", "out-of-range", message);
    }
    let doc = "`podRestartThreshold` and `states` are about these too.";
    let init = args.flag("includingInitContainers", doc);
    let doc = "Only pods in this phase, or with a container that waits for this reason.";
    let states = args.arg("states", doc).words(&STATES);
    let containers = Containers { init, ephemeral: false };
    let threshold = threshold?;
    Some(Box::new(RemovePodsHavingTooManyRestarts { scope, threshold, containers, states }))
}

impl Strategy for RemovePodsHavingTooManyRestarts {
    fn run(&self, turn: &mut Turn<'_, '_>) {
        let snapshot = turn.snapshot();
        let scope = self.scope.bind(snapshot);
        let states: Vec<Sym> = self.states.iter().map(|state| snapshot.sym(state)).collect();
        for &node in turn.nodes() {
            let pods = turn.view().pods_on(node).filter(|&id| scope.admits(id));
            let mut found: Vec<(i64, PodId, String)> = pods
                .filter_map(|id| {
                    let pod = snapshot.pod(id);
                    let restarts = self.restarts(pod);
                    let enough = restarts >= i64::from(self.threshold);
                    let state = enough.then(|| self.state(snapshot, &states, pod)).flatten()?;
                    Some((restarts, id, state))
                })
                .collect();
            // The pods of a node are in the order of their names, and stay so among equals.
            found.sort_by_key(|&(restarts, ..)| Reverse(restarts));
            for (restarts, pod, state) in found {
                let detail = format!("{restarts} restarts, threshold {}{state}", self.threshold);
                let reason = Reason::new(TOO_MANY_RESTARTS, detail);
                let _ = turn.propose(Proposal { pod, reason });
            }
        }
    }

    fn purpose(&self) -> Purpose {
        Purpose::Restart
    }

    fn judge<'s>(&'s self, _: &'s Snapshot, _: &[NodeId]) -> Box<dyn Judge<'s> + 's> {
        Box::new(Anywhere)
    }

    fn examine(&self, id: PodId, inquiry: &mut Inquiry<'_, '_>) {
        let snapshot = inquiry.snapshot();
        let pod = snapshot.pod(id);
        self.scope.examine(id, inquiry);
        let (restarts, threshold) = (self.restarts(pod), i64::from(self.threshold));
        let detail = format!("{restarts} restarts, threshold {threshold}");
        let change = format!("{} more restarts", threshold - restarts);
        let finding = Finding::new("podRestartThreshold", restarts >= threshold, detail);
        inquiry.say(finding.or_else(change));
        if !self.states.is_empty() {
            let states: Vec<Sym> = self.states.iter().map(|state| snapshot.sym(state)).collect();
            let phase = pod.phase.as_str();
            let (passes, detail) = match self.state(snapshot, &states, pod) {
                Some(state) => (true, state.trim_start_matches(", ").to_owned()),
                None => (false, format!("phase {phase}, and none of those listed")),
            };
            inquiry.check("states", passes, detail);
        }
    }
}

impl RemovePodsHavingTooManyRestarts {
    fn restarts(&self, pod: &Pod) -> i64 {
        self.containers.of(pod).map(|container| i64::from(container.restarts)).sum()
    }

    /// In which of the `states` the pod is, in words; empty where they do not matter.
    fn state(&self, snapshot: &Snapshot, states: &[Sym], pod: &Pod) -> Option<String> {
        let phase = pod.phase.as_str();
        if self.states.is_empty() {
            return Some(String::new());
        }
        if self.states.contains(&phase) {
            return Some(format!(", phase {phase}"));
        }
        let reason = self.containers.waiting_for(pod).find(|reason| states.contains(reason))?;
        Some(format!(", a container is {}", snapshot.text(reason)))
    }
}
