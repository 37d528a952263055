//! The nodes that are worked on.

use descheduler_cluster::{NodeId, Snapshot};

/// Those nodes, to ask whether one is among them.
pub(crate) struct WorkedOn {
    /// By node slot.
    nodes: Vec<bool>,
}

impl WorkedOn {
    pub(crate) fn new(snapshot: &Snapshot, worked_on: &[NodeId]) -> Self {
        let mut nodes = vec![false; snapshot.node_slots()];
        for node in worked_on {
            nodes[node.index()] = true;
        }
        Self { nodes }
    }

    /// Whether a node is worked on.
    pub(crate) fn has(&self, node: NodeId) -> bool {
        self.nodes[node.index()]
    }

    /// What is even over these nodes is no longer so where pods leave them: the next cycle would not
    /// see a pod that went elsewhere, and send others after it.
    pub(crate) fn keeps(&self, to: NodeId) -> Result<(), String> {
        match self.has(to) {
            true => Ok(()),
            false => Err("which is not ready, or not among the nodes to work on".to_owned()),
        }
    }
}
