//! Evicts pods that share a place with a pod they have anti-affinity to.
//!
//! Required anti-affinity keeps pods apart when they are placed. It does not help when labels
//! change later, or when the other pod came with a scheduler that did not look.
//!
//! ```yaml
//! apiVersion: descheduler/v1alpha2
//! kind: DeschedulerPolicy
//! profiles:
//!   - name: apart
//!     pluginConfig:
//!       - name: RemovePodsViolatingInterPodAntiAffinity
//!         args:
//!           namespaces:
//!             exclude: [kube-system]
//!     plugins:
//!       deschedule:
//!         enabled: [RemovePodsViolatingInterPodAntiAffinity]
//! ```
//!
//! Only the pod's own terms count: a pod without anti-affinity stays even if others want it away.
//! Pods that are protected are still seen by others. `namespaces` and `labelSelector` choose both
//! the pods that may go and those they are compared with. Of pods that conflict with each other
//! the least important go first, and those that are left then need not go.

use std::rc::Rc;

use descheduler_cluster::labels::value_of;
use descheduler_cluster::{GroupId, NodeId, PodId, Snapshot, Sym};
use descheduler_engine::{
    Anywhere, Args, Inquiry, Judge, Pass, Proposal, Reason, Strategy, StrategyDef, Turn,
};
use descheduler_scheduler::View;
use hashbrown::HashMap;

use crate::anti_affinity::KeptAway;
use crate::order::least_important_first;
use crate::scope::{BoundScope, Scope};
use crate::worked_on::WorkedOn;

pub(crate) static DEF: StrategyDef = StrategyDef {
    name: "RemovePodsViolatingInterPodAntiAffinity",
    pass: Pass::Deschedule,
    summary: "Evicts pods that share a place with a pod they have anti-affinity to.",
    build,
};

/// A pod that one of its terms keeps away is in the same place.
const CONFLICTING_POD: &str = "ConflictingPod";

struct RemovePodsViolatingInterPodAntiAffinity {
    scope: Scope,
}

fn build(args: &mut Args<'_>) -> Option<Box<dyn Strategy>> {
    Some(Box::new(RemovePodsViolatingInterPodAntiAffinity { scope: Scope::read(args) }))
}

impl Strategy for RemovePodsViolatingInterPodAntiAffinity {
    fn run(&self, turn: &mut Turn<'_, '_>) {
        let snapshot = turn.snapshot();
        let scope = self.scope.bind(snapshot);
        let mut conflicts = Conflicts::new(scope, turn.nodes(), turn.knows_places());
        for &node in turn.nodes() {
            let pods = turn.view().active_pods_on(node);
            let mut pods: Vec<PodId> = pods
                .filter(|&pod| !snapshot.pod(pod).spec.anti_affinity.is_empty())
                .filter(|&pod| conflicts.scope.admits(pod))
                .collect();
            pods.sort_by(|&a, &b| least_important_first(snapshot, a, b));
            for pod in pods {
                if let Some(detail) = conflicts.of(turn.view(), pod, node) {
                    let reason = Reason::new(CONFLICTING_POD, detail);
                    let _ = turn.propose(Proposal { pod, reason });
                }
            }
        }
    }

    /// The scheduler sees to it that no pod lands where a required term, its own or of a pod there,
    /// keeps it away. So any place that it can land is better, and none that another strategy
    /// sends it to is worse.
    fn judge<'s>(&'s self, _: &'s Snapshot, _: &[NodeId]) -> Box<dyn Judge<'s> + 's> {
        Box::new(Anywhere)
    }

    fn examine(&self, id: PodId, inquiry: &mut Inquiry<'_, '_>) {
        let snapshot = inquiry.snapshot();
        self.scope.examine(id, inquiry);
        let pod = snapshot.pod(id);
        let Some(node) = pod.node else { return };
        let scope = self.scope.bind(snapshot);
        let mut conflicts = Conflicts::new(scope, inquiry.nodes(), inquiry.knows_places());
        let conflict = conflicts.of(inquiry.view(), id, node);
        let none = match &*pod.spec.anti_affinity {
            [] => "it has no required anti-affinity",
            _ => "no pod that its anti-affinity keeps away is in the same domain",
        };
        let detail = conflict.as_deref().unwrap_or(none);
        inquiry.check("anti-affinity", conflict.is_some(), detail);
    }
}

/// Finds whom a pod conflicts with.
struct Conflicts<'s> {
    snapshot: &'s Snapshot,
    scope: BoundScope<'s>,
    nodes: WorkedOn,
    /// Whether a node without the label is a place of its own, as upstream has it
    /// (docs/spec/strategies.md section 9.3). For the scheduler it is none, so that a pod could land
    /// there over and over.
    nodes_are_places: bool,
    kept_away: KeptAway<'s>,
    /// For each set of pods that a term keeps away, and each label of nodes, who is where.
    places: HashMap<(*const [GroupId], Sym), Places>,
}

/// Pods by the place they are in, in order.
type Places = HashMap<Place, Vec<PodId>>;

/// Where two pods meet.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// Nodes whose label has this value.
    Domain(Sym),
    /// A node without the label.
    Node(NodeId),
}

impl Place {
    fn of(snapshot: &Snapshot, node: NodeId, key: Sym) -> Self {
        match value_of(&snapshot.node(node).labels, key) {
            Some(value) => Self::Domain(value),
            None => Self::Node(node),
        }
    }
}

impl<'s> Conflicts<'s> {
    fn new(scope: BoundScope<'s>, worked_on: &[NodeId], knows_places: bool) -> Self {
        let snapshot = scope.snapshot();
        let nodes = WorkedOn::new(snapshot, worked_on);
        let kept_away = KeptAway::new(snapshot);
        let (nodes_are_places, places) = (!knows_places, HashMap::new());
        Self { snapshot, scope, nodes, nodes_are_places, kept_away, places }
    }

    /// The first conflict of a pod, in words.
    fn of(&mut self, view: &View<'s>, id: PodId, node: NodeId) -> Option<String> {
        let snapshot = self.snapshot;
        let pod = snapshot.pod(id);
        pod.spec.anti_affinity.iter().find_map(|term| {
            let key = term.topology_key;
            let groups = self.kept_away.of(term, pod.namespace);
            let place = Place::of(snapshot, node, key);
            if matches!(place, Place::Node(_)) && !self.nodes_are_places {
                return None;
            }
            let there = self.places(&groups, key).get_mut(&place)?;
            // What is planned to go stays gone, so it need not be passed over again.
            let gone = there.iter().take_while(|&&other| view.is_gone(other)).count();
            there.drain(..gone);
            // Upstream compares names alone, so a pod of the same name in another namespace is
            // taken for the pod itself.
            let other = there.iter().find(|&&other| {
                snapshot.pod(other).name != pod.name && !view.is_gone(other)
            })?;
            let other = *other;
            Some(self.describe(other, node, place, key))
        })
    }

    /// Who of `groups` is where, worked out once. The sets live as long as `kept_away` does, so
    /// their address tells them apart.
    fn places(&mut self, groups: &Rc<[GroupId]>, key: Sym) -> &mut Places {
        let Self { snapshot, scope, nodes, places, .. } = self;
        places.entry((Rc::as_ptr(groups), key)).or_insert_with(|| {
            let mut found = Places::new();
            let mut pods: Vec<PodId> = groups
                .iter()
                .flat_map(|&group| &snapshot.group(group).pods)
                .copied()
                .filter(|&pod| snapshot.pod(pod).is_active() && scope.admits(pod))
                .collect();
            let by_name = |&pod: &PodId| {
                let pod = snapshot.pod(pod);
                (snapshot.text(pod.namespace), &*pod.name)
            };
            pods.sort_by(|a, b| by_name(a).cmp(&by_name(b)));
            for pod in pods {
                let node = snapshot.pod(pod).node.filter(|&node| nodes.has(node));
                if let Some(node) = node {
                    found.entry(Place::of(snapshot, node, key)).or_default().push(pod);
                }
            }
            found
        })
    }

    fn describe(&self, other: PodId, node: NodeId, place: Place, key: Sym) -> String {
        let snapshot = self.snapshot;
        let name = snapshot.pod_name(other);
        match snapshot.pod(other).node.filter(|&there| there != node) {
            None => format!("anti-affinity to {name} on the same node"),
            Some(there) => {
                let value = match place {
                    Place::Domain(value) => snapshot.text(value),
                    Place::Node(_) => "",
                };
                let there = &snapshot.node(there).name;
                format!(
                    "anti-affinity to {name} on {there} ({}={value})",
                    snapshot.text(key)
                )
            }
        }
    }
}
