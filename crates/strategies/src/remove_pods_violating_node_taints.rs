//! Evicts pods that do not tolerate a taint of their node.
//!
//! A taint keeps new pods away; those that were there before it stay. Use this to clear nodes
//! after they were tainted: for maintenance, or because they now belong to somebody.
//!
//! ```yaml
//! apiVersion: descheduler/v1alpha2
//! kind: DeschedulerPolicy
//! profiles:
//!   - name: taints
//!     pluginConfig:
//!       - name: RemovePodsViolatingNodeTaints
//!         args:
//!           excludedTaints: [node.kubernetes.io/unschedulable]
//!     plugins:
//!       deschedule:
//!         enabled: [RemovePodsViolatingNodeTaints]
//! ```
//!
//! Taints with the effect `NoSchedule` count, and those with `PreferNoSchedule` when
//! `includePreferNoSchedule` says so; pods that violate `NoExecute` are evicted by Kubernetes
//! itself. A cordoned node carries the taint `node.kubernetes.io/unschedulable:NoSchedule`, so its
//! pods are violators unless that taint is excluded.

use descheduler_cluster::taints::tolerated;
use descheduler_cluster::{Effect, NodeId, PodId, Snapshot, Taint};
use descheduler_engine::{Args, Inquiry, Judge, Pass, Proposal, Reason, Strategy, StrategyDef, Turn};
use descheduler_scheduler::{PodRef, View};

use crate::order::owners_take_turns;
use crate::scope::{BoundScope, Scope};

pub(crate) static DEF: StrategyDef = StrategyDef {
    name: "RemovePodsViolatingNodeTaints",
    pass: Pass::Deschedule,
    summary: "Evicts pods that do not tolerate a taint of their node.",
    build,
};

/// A taint of the node is not tolerated.
const TAINT_NOT_TOLERATED: &str = "TaintNotTolerated";

struct RemovePodsViolatingNodeTaints {
    scope: Scope,
    prefer_no_schedule: bool,
    excluded: Vec<String>,
    /// Empty: all that are not excluded.
    included: Vec<String>,
}

fn build(args: &mut Args<'_>) -> Option<Box<dyn Strategy>> {
    let strategy = RemovePodsViolatingNodeTaints {
        scope: Scope::read(args),
        prefer_no_schedule: args
            .flag("includePreferNoSchedule", "Taints with the effect `PreferNoSchedule` count too."),
        excluded: args.list("excludedTaints", "Taints that do not count: `key` or `key=value`."),
        included: args.list("includedTaints", "Only these taints count: `key` or `key=value`."),
    };
    if !strategy.excluded.is_empty() && !strategy.included.is_empty() {
        args.error_at(
            "includedTaints",
            "included-and-excluded-taints",
            "only one of `excludedTaints` and `includedTaints` can be given",
        );
    }
    Some(Box::new(strategy))
}

impl Strategy for RemovePodsViolatingNodeTaints {
    fn run(&self, turn: &mut Turn<'_, '_>) {
        let snapshot = turn.snapshot();
        let mut found = self.violators(turn);
        if turn.knows_places() {
            owners_take_turns(snapshot, &mut found, |(pod, _)| *pod);
        }
        for (pod, taint) in found {
            let detail = format!("does not tolerate {}", taint.display(snapshot.strings()));
            let reason = Reason::new(TAINT_NOT_TOLERATED, detail);
            let _ = turn.propose(Proposal { pod, reason });
        }
    }

    fn judge<'s>(&'s self, snapshot: &'s Snapshot, _: &[NodeId]) -> Box<dyn Judge<'s> + 's> {
        Box::new(Untolerated { strategy: self, scope: self.scope.bind(snapshot) })
    }

    fn examine(&self, id: PodId, inquiry: &mut Inquiry<'_, '_>) {
        let snapshot = inquiry.snapshot();
        let pod = snapshot.pod(id);
        self.scope.examine(id, inquiry);
        let Some(node) = pod.node else { return };
        let strings = snapshot.strings();
        let counted: Vec<&Taint> = self.counted(snapshot, node).collect();
        let violated = counted.iter().find(|t| !tolerated(&pod.spec.tolerations, t, strings));
        let node = &snapshot.node(node).name;
        let detail = match violated {
            Some(taint) => format!("does not tolerate {} of {node}", taint.display(strings)),
            None if counted.is_empty() => format!("{node} has no taint that counts"),
            None => format!("it tolerates the taints of {node} that count"),
        };
        inquiry.check("taints", violated.is_some(), detail);
    }

    fn survey(&self, node: NodeId, inquiry: &mut Inquiry<'_, '_>) {
        let snapshot = inquiry.snapshot();
        for taint in &snapshot.node(node).taints {
            let counts = self.counts(snapshot, taint);
            let verb = if counts { "counts" } else { "does not count" };
            let taint = taint.display(snapshot.strings());
            inquiry.check("taint", counts, format!("{taint} {verb}"));
        }
    }
}

/// Counts the taints that a pod would not tolerate.
struct Untolerated<'s> {
    strategy: &'s RemovePodsViolatingNodeTaints,
    scope: BoundScope<'s>,
}

impl<'s> Judge<'s> for Untolerated<'s> {
    fn standing(&self, view: &View<'s>, pod: &PodRef<'s>, node: NodeId) -> i64 {
        let snapshot = view.snapshot();
        if !self.scope.admits(pod.id) {
            return 0;
        }
        let tolerations = &pod.spec.tolerations;
        let violated = snapshot.node(node).taints.iter().filter(|taint| {
            self.strategy.counts(snapshot, taint)
                && !tolerated(tolerations, taint, snapshot.strings())
        });
        violated.count() as i64
    }

    fn looks_around(&self) -> bool {
        false
    }

    fn goal(&self, view: &View<'s>, pod: &PodRef<'s>, to: NodeId) -> Result<(), String> {
        match self.standing(view, pod, to) {
            0 => Ok(()),
            _ => Err("which has a taint that it does not tolerate either".to_owned()),
        }
    }
}

impl RemovePodsViolatingNodeTaints {
    /// The pods that do not tolerate a taint of their node, each with the first such taint.
    fn violators<'s>(&self, turn: &Turn<'_, 's>) -> Vec<(PodId, &'s Taint)> {
        let snapshot = turn.snapshot();
        let strings = snapshot.strings();
        let scope = self.scope.bind(snapshot);
        let mut found = Vec::new();
        for &node in turn.nodes() {
            let taints: Vec<&Taint> = self.counted(snapshot, node).collect();
            if taints.is_empty() {
                continue;
            }
            let violated = |pod: PodId| {
                let tolerations = &snapshot.pod(pod).spec.tolerations;
                taints.iter().find(|taint| !tolerated(tolerations, taint, strings)).copied()
            };
            let pods = turn.view().active_pods_on(node).filter(|&pod| scope.admits(pod));
            found.extend(pods.filter_map(|pod| Some((pod, violated(pod)?))));
        }
        found
    }

    /// The taints of a node that count.
    fn counted<'s>(
        &self,
        snapshot: &'s Snapshot,
        node: NodeId,
    ) -> impl Iterator<Item = &'s Taint> {
        snapshot.node(node).taints.iter().filter(move |taint| self.counts(snapshot, taint))
    }

    /// docs/spec/strategies.md section 11.2.
    fn counts(&self, snapshot: &Snapshot, taint: &Taint) -> bool {
        let effect = match taint.effect {
            Effect::NoSchedule => true,
            Effect::PreferNoSchedule => self.prefer_no_schedule,
            Effect::NoExecute => false,
        };
        let (key, value) = (snapshot.text(taint.key), snapshot.text(taint.value));
        let pair = format!("{key}={value}");
        let listed = |list: &[String]| {
            list.iter().any(|entry| *entry == key || (!value.is_empty() && *entry == pair))
        };
        effect && !listed(&self.excluded) && (self.included.is_empty() || listed(&self.included))
    }
}
