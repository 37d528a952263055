//! Evicts pods whose node affinity speaks against the node they are on.
//!
//! Node affinity decides where a pod is placed; when labels of nodes change later, the pod stays.
//! With `requiredDuringSchedulingIgnoredDuringExecution` pods go that could not be placed on their
//! node today. With `preferredDuringSchedulingIgnoredDuringExecution` pods go for which some other
//! node weighs more.
//!
//! ```yaml
//! apiVersion: descheduler/v1alpha2
//! kind: DeschedulerPolicy
//! profiles:
//!   - name: affinity
//!     pluginConfig:
//!       - name: RemovePodsViolatingNodeAffinity
//!         args:
//!           nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]
//!     plugins:
//!       deschedule:
//!         enabled: [RemovePodsViolatingNodeAffinity]
//! ```
//!
//! Pods that have only a `nodeSelector` are left alone. With placement off a pod goes if some node
//! fits it: one that is not cordoned, that its affinity selects, whose taints it tolerates and that
//! has room. In the preferred case its own node may be that node, so a pod may come back; `nodeFit`
//! of DefaultEvictor asks for another one.

use std::cell::RefCell;

use descheduler_cluster::affinity::NodeMatch;
use descheduler_cluster::{NodeId, PodId, PodSpec, PreferredTerm, Snapshot};
use descheduler_engine::{Args, Inquiry, Judge, Pass, Proposal, Reason, Strategy, StrategyDef, Turn};
use descheduler_scheduler::{PodRef, View};
use hashbrown::HashMap;

use crate::scope::{BoundScope, Scope};
use crate::upstream_fit::UpstreamFit;

pub(crate) static DEF: StrategyDef = StrategyDef {
    name: "RemovePodsViolatingNodeAffinity",
    pass: Pass::Deschedule,
    summary: "Evicts pods whose node affinity speaks against their node.",
    build,
};

/// The required affinity does not select the node.
const NODE_NOT_SELECTED: &str = "NodeNotSelected";
/// Another node is preferred.
const NODE_LESS_PREFERRED: &str = "NodeLessPreferred";
/// A violator that has no node to go to.
const NO_NODE_FITS: &str = "NoNodeFits";

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

struct RemovePodsViolatingNodeAffinity {
    scope: Scope,
    kinds: Vec<Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Required,
    Preferred,
}

fn build(args: &mut Args<'_>) -> Option<Box<dyn Strategy>> {
    let scope = Scope::read(args);
    let doc = "Which affinity counts: `requiredDuringSchedulingIgnoredDuringExecution`, \
               `preferredDuringSchedulingIgnoredDuringExecution` or both.";
    let names: Vec<String> = args.arg("nodeAffinityType", doc).required().list();
    let mut kinds = Vec::new();
    for (at, name) in names.iter().enumerate() {
        match name.as_str() {
            REQUIRED => kinds.push(Kind::Required),
            PREFERRED => kinds.push(Kind::Preferred),
            // Upstream skips what it does not know, so it is no error here.
            _ => {
                let message = format!("`nodeAffinityType[{at}]`: `{name}` is unknown and ignored");
                let place = args.at("nodeAffinityType").item(at);
                let help = descheduler_engine::did_you_mean(name, [REQUIRED, PREFERRED])
                    .unwrap_or_else(|| format!("known: `{REQUIRED}`, `{PREFERRED}`"));
                args.warning(place, "unknown-node-affinity-type", message).help(help);
            }
        }
    }
    Some(Box::new(RemovePodsViolatingNodeAffinity { scope, kinds }))
}

impl Strategy for RemovePodsViolatingNodeAffinity {
    fn run(&self, turn: &mut Turn<'_, '_>) {
        let snapshot = turn.snapshot();
        let scope = self.scope.bind(snapshot);
        let fit = UpstreamFit::new(snapshot, turn.nodes());
        let best = Best::new(snapshot, turn.nodes());
        for kind in &self.kinds {
            for &node in turn.nodes() {
                for (pod, reason) in violators(turn, &scope, &best, *kind, node) {
                    move_if_it_fits(turn, &fit, pod, reason);
                }
            }
        }
    }

    fn judge<'s>(&'s self, snapshot: &'s Snapshot, nodes: &[NodeId]) -> Box<dyn Judge<'s> + 's> {
        Box::new(Attraction {
            kinds: &self.kinds,
            scope: self.scope.bind(snapshot),
            best: Best::new(snapshot, nodes),
        })
    }

    fn examine(&self, id: PodId, inquiry: &mut Inquiry<'_, '_>) {
        let snapshot = inquiry.snapshot();
        self.scope.examine(id, inquiry);
        let Some(node) = snapshot.pod(id).node else { return };
        let best = Best::new(snapshot, inquiry.nodes());
        let why = self.kinds.iter().find_map(|kind| violation(snapshot, &best, *kind, id, node));
        let (passes, detail) = match why {
            Some(reason) => (true, reason.detail),
            None => {
                let node = &snapshot.node(node).name;
                (false, format!("nothing speaks against {node} in what it asks of nodes"))
            }
        };
        inquiry.check("nodeAffinityType", passes, detail);
    }
}

/// How far a node is from the best that a pod's affinity knows.
struct Attraction<'s> {
    kinds: &'s [Kind],
    scope: BoundScope<'s>,
    best: Best<'s>,
}

/// More than all weights of preferences add up to.
const NOT_SELECTED: i64 = 1 << 40;

impl<'s> Judge<'s> for Attraction<'s> {
    fn standing(&self, view: &View<'s>, pod: &PodRef<'s>, node: NodeId) -> i64 {
        let (snapshot, spec) = (view.snapshot(), pod.spec);
        if !self.scope.admits(pod.id) {
            return 0;
        }
        let of_kind = |kind: &Kind| match kind {
            Kind::Required => {
                let selected = spec.required_nodes.is_none()
                    || snapshot.node_matches(spec, node) == NodeMatch::Yes;
                if selected { 0 } else { NOT_SELECTED }
            }
            Kind::Preferred if spec.preferred_nodes.is_empty() => 0,
            Kind::Preferred => {
                let short = self.best.of(spec).0 - snapshot.node_preference(spec, node);
                i64::from(short.max(0))
            }
        };
        self.kinds.iter().map(of_kind).sum()
    }

    fn looks_around(&self) -> bool {
        false
    }

    fn goal(&self, view: &View<'s>, pod: &PodRef<'s>, to: NodeId) -> Result<(), String> {
        let old = view.pod(pod.id);
        let here = view.node_of(pod.id).map_or(0, |node| self.standing(view, &old, node));
        match self.standing(view, pod, to) < here {
            true => Ok(()),
            false => Err("which its node affinity does not prefer".to_owned()),
        }
    }
}

/// The pods of a node that the affinity speaks against, each with why.
fn violators<'t, 's: 't>(
    turn: &Turn<'t, 's>,
    scope: &BoundScope<'_>,
    best: &Best<'t>,
    kind: Kind,
    node: NodeId,
) -> Vec<(PodId, Reason)> {
    let snapshot = turn.snapshot();
    let pods = turn.view().active_pods_on(node).filter(|&pod| scope.admits(pod));
    pods.filter_map(|pod| Some((pod, violation(snapshot, best, kind, pod, node)?))).collect()
}

/// What the affinity of a pod has against a node, if anything.
fn violation<'s>(
    snapshot: &'s Snapshot,
    best: &Best<'s>,
    kind: Kind,
    pod: PodId,
    node: NodeId,
) -> Option<Reason> {
    let spec = &*snapshot.pod(pod).spec;
    match kind {
        Kind::Required => {
            let violated = spec.required_nodes.is_some()
                && snapshot.node_matches(spec, node) != NodeMatch::Yes;
            let detail = "its required node affinity does not select the node";
            violated.then(|| Reason::new(NODE_NOT_SELECTED, detail))
        }
        Kind::Preferred if spec.preferred_nodes.is_empty() => None,
        Kind::Preferred => {
            let here = snapshot.node_preference(spec, node);
            let (there, which) = best.of(spec);
            let detail = || {
                let which = &snapshot.node(which?).name;
                Some(format!("preferred with weight {here} here, {there} on {which}"))
            };
            (there > here).then(|| Reason::new(NODE_LESS_PREFERRED, detail().unwrap_or_default()))
        }
    }
}

/// Proposes a violator that some node fits. What protects it is told first.
fn move_if_it_fits<'s>(turn: &mut Turn<'_, 's>, fit: &UpstreamFit<'s>, pod: PodId, reason: Reason) {
    if !turn.knows_places()
        && turn.evictable(pod).is_ok()
        && let Err(why) = fit.anywhere(turn.view(), pod)
    {
        turn.keep(pod, Reason::new(NO_NODE_FITS, &*why));
        return;
    }
    let _ = turn.propose(Proposal { pod, reason });
}

/// A weight and the node that has it.
type Top = (i32, Option<NodeId>);

/// The best weight that preferred affinity gives to any node and the first node that has it, for
/// each list of preferences; at least 0 (docs/spec/strategies.md section 3.6).
struct Best<'s> {
    snapshot: &'s Snapshot,
    nodes: Vec<NodeId>,
    known: RefCell<HashMap<&'s [PreferredTerm], Top>>,
}

impl<'s> Best<'s> {
    fn new(snapshot: &'s Snapshot, nodes: &[NodeId]) -> Self {
        Self { snapshot, nodes: nodes.to_vec(), known: RefCell::default() }
    }

    fn of(&self, spec: &'s PodSpec) -> Top {
        let Self { snapshot, nodes, known } = self;
        *known.borrow_mut().entry(&*spec.preferred_nodes).or_insert_with(|| {
            nodes.iter().fold((0, None), |(best, which), &node| {
                let weight = snapshot.node_preference(spec, node);
                if weight > best { (weight, Some(node)) } else { (best, which) }
            })
        })
    }
}
