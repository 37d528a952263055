//! What a pod's demands on nodes alone say of each node. It never changes, and pods of many owners
//! share it.

use descheduler_cluster::affinity::NodeMatch;
use descheduler_cluster::{NodeId, NodeSelector, PodSpec, Snapshot, Sym, Toleration};

use crate::plugins::untolerated;

/// The parts of a pod that say which nodes it selects and which taints it tolerates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Demands<'s> {
    node_selector: &'s [(Sym, Sym)],
    required_nodes: Option<&'s NodeSelector>,
    tolerations: &'s [Toleration],
}

impl<'s> Demands<'s> {
    pub(crate) fn of(spec: &'s PodSpec) -> Self {
        Self {
            node_selector: &spec.node_selector,
            required_nodes: spec.required_nodes.as_ref(),
            tolerations: &spec.tolerations,
        }
    }
}

/// By node slot: whether the pod selects the node, and whether it tolerates its taints.
#[derive(Debug)]
pub(crate) struct Reach(Vec<(bool, bool)>);

impl Reach {
    pub(crate) fn new(snapshot: &Snapshot, spec: &PodSpec) -> Self {
        let mut reach = vec![(false, false); snapshot.node_slots()];
        for &node in snapshot.nodes() {
            let selects = snapshot.node_matches(spec, node) == NodeMatch::Yes;
            let tolerates = untolerated(snapshot, spec, &snapshot.node(node).taints).is_none();
            reach[node.index()] = (selects, tolerates);
        }
        Self(reach)
    }

    /// Whether the pod's node selector and required node affinity match the node.
    pub(crate) fn selects(&self, node: NodeId) -> bool {
        self.0[node.index()].0
    }

    /// Whether the pod tolerates the hard taints of the node.
    pub(crate) fn tolerates(&self, node: NodeId) -> bool {
        self.0[node.index()].1
    }
}
