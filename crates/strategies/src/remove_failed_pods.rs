//! Evicts pods that have failed.
//!
//! A pod in the phase `Failed` runs no more and holds no place, but it stays in the way of whoever
//! looks: evicted by the kubelet, turned away by its node, or ended with an error. Nothing else
//! clears it away before there are thousands.
//!
//! ```yaml
//! apiVersion: descheduler/v1alpha2
//! kind: DeschedulerPolicy
//! profiles:
//!   - name: failed
//!     pluginConfig:
//!       - name: RemoveFailedPods
//!         args:
//!           reasons: [NodeAffinity, OutOfcpu]
//!           minPodLifetimeSeconds: 3600
//!           excludeOwnerKinds: [Job]
//!     plugins:
//!       deschedule:
//!         enabled: [RemoveFailedPods]
//! ```
//!
//! A pod must pass every filter that is given. Pods without an owner are protected unless the
//! protection `FailedBarePods` is disabled. A Job may need its failed pods to count its retries, so
//! think of `excludeOwnerKinds`.

use descheduler_cluster::{NodeId, Phase, Pod, PodId, Snapshot, Sym};
use descheduler_engine::{
    Anywhere, Args, Finding, Inquiry, Judge, Pass, Proposal, Purpose, Reason, Strategy, StrategyDef, Turn,
};

use crate::age::{seconds_since, span};
use crate::containers::Containers;
use crate::order::owners_take_turns;
use crate::owner_kinds::examine_excluded;
use crate::scope::Scope;

pub(crate) static DEF: StrategyDef = StrategyDef {
    name: "RemoveFailedPods",
    pass: Pass::Deschedule,
    summary: "Evicts pods that have failed.",
    build,
};

/// The pod has failed and passes every filter.
const FAILED: &str = "Failed";

/// Time enough to look at what went wrong.
const MIN_SECONDS: u64 = 3600;

struct RemoveFailedPods {
    scope: Scope,
    exclude_owner_kinds: Vec<String>,
    min_seconds: u64,
    reasons: Vec<String>,
    exit_codes: Vec<i32>,
    containers: Containers,
}

fn build(args: &mut Args<'_>) -> Option<Box<dyn Strategy>> {
    Some(Box::new(RemoveFailedPods {
        scope: Scope::read(args),
        exclude_owner_kinds: args
            .list("excludeOwnerKinds", "Pods with an owner of one of these kinds are left alone."),
        min_seconds: args
            .arg("minPodLifetimeSeconds", "Only pods created at least so long ago.")
            .or(MIN_SECONDS),
        reasons: args.list(
            "reasons",
            "Only pods whose reason, or one of whose containers' waiting or terminated reason, is \
             one of these.",
        ),
        exit_codes: args.list("exitCodes", "Only pods with a container that ended with one."),
        containers: Containers {
            init: args
                .flag("includingInitContainers", "`reasons` and `exitCodes` are about these too."),
            ephemeral: false,
        },
    }))
}

impl Strategy for RemoveFailedPods {
    fn run(&self, turn: &mut Turn<'_, '_>) {
        let snapshot = turn.snapshot();
        let filter = Filter::new(self, snapshot);
        let scope = self.scope.bind(snapshot);
        let mut found: Vec<(PodId, String)> = Vec::new();
        for &node in turn.nodes() {
            let pods = turn.view().pods_on(node).filter(|&id| {
                snapshot.pod(id).phase == Phase::Failed && scope.admits(id)
            });
            found.extend(pods.filter_map(|id| Some((id, filter.why(snapshot.pod(id))?))));
        }
        if turn.knows_places() {
            owners_take_turns(snapshot, &mut found, |(pod, _)| *pod);
        }
        for (pod, why) in found {
            let _ = turn.propose(Proposal { pod, reason: Reason::new(FAILED, why) });
        }
    }

    fn purpose(&self) -> Purpose {
        Purpose::Removal
    }

    /// What has failed holds no place, and what comes back may be anywhere.
    fn judge<'s>(&'s self, _: &'s Snapshot, _: &[NodeId]) -> Box<dyn Judge<'s> + 's> {
        Box::new(Anywhere)
    }

    fn examine(&self, id: PodId, inquiry: &mut Inquiry<'_, '_>) {
        let snapshot = inquiry.snapshot();
        let pod = snapshot.pod(id);
        let phase = pod.phase.as_str();
        inquiry.check("phase", pod.phase == Phase::Failed, phase);
        self.scope.examine(id, inquiry);
        let filter = Filter::new(self, snapshot);
        inquiry.say(filter.age_finding(pod));
        examine_excluded(&self.exclude_owner_kinds, id, inquiry);
        if !self.reasons.is_empty() {
            let found = self.containers.is_so_for(snapshot, pod, &filter.reasons);
            let detail = found.as_deref().unwrap_or("none of those listed");
            inquiry.check("reasons", found.is_some(), detail);
        }
        if !self.exit_codes.is_empty() {
            let found = self.containers.ended_with(pod, &self.exit_codes);
            let detail = found.as_deref().unwrap_or("no container ended with one of those");
            inquiry.check("exitCodes", found.is_some(), detail);
        }
    }
}

/// The filters made ready for one snapshot (docs/spec/strategies.md section 15.2).
struct Filter<'p, 's> {
    strategy: &'p RemoveFailedPods,
    snapshot: &'s Snapshot,
    excluded: Vec<Sym>,
    reasons: Vec<Sym>,
}

impl<'p, 's> Filter<'p, 's> {
    fn new(strategy: &'p RemoveFailedPods, snapshot: &'s Snapshot) -> Self {
        let symbols = |names: &[String]| names.iter().map(|name| snapshot.sym(name)).collect();
        Self {
            strategy,
            snapshot,
            excluded: symbols(&strategy.exclude_owner_kinds),
            reasons: symbols(&strategy.reasons),
        }
    }

    /// What the failed pod passes the filters with, if it passes all.
    fn why(&self, pod: &Pod) -> Option<String> {
        let containers = self.strategy.containers;
        let mut why = vec![self.age(pod)?];
        if pod.owners.iter().any(|owner| self.excluded.contains(&owner.kind)) {
            return None;
        }
        if !self.reasons.is_empty() {
            why.push(containers.is_so_for(self.snapshot, pod, &self.reasons)?);
        }
        if !self.strategy.exit_codes.is_empty() {
            why.push(containers.ended_with(pod, &self.strategy.exit_codes)?);
        }
        Some(why.join(", "))
    }

    fn age_finding(&self, pod: &Pod) -> Finding {
        const CHECK: &str = "minPodLifetimeSeconds";
        if let Some(age) = self.age(pod) {
            return Finding::new(CHECK, true, age);
        }
        let (min, now) = (self.strategy.min_seconds, self.snapshot.taken_at());
        let age = pod.created.and_then(|created| seconds_since(created, now)).unwrap_or(0);
        let detail = format!("{} old, kept for {}", span(age), span(min));
        Finding::new(CHECK, false, detail)
            .or_else(format!("wait for {}", span(min.saturating_sub(age))))
    }

    /// How old it is, if it is old enough. One from the future is not.
    fn age(&self, pod: &Pod) -> Option<String> {
        let min = self.strategy.min_seconds;
        let Some(created) = pod.created else {
            return Some("failed, no time of creation, so old enough".to_owned());
        };
        let age = seconds_since(created, self.snapshot.taken_at())?;
        (age >= min).then(|| format!("failed, {} old, kept for {}", span(age), span(min)))
    }
}
