//! On which nodes a pod could be, as far as its spec and the nodes alone decide.
//!
//! Thousands of pods share a few dozen combinations of node selector, node affinity and
//! tolerations, so the answer is worked out once for each combination.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use descheduler_cluster::taints::untolerated_hard;
use descheduler_cluster::{
    NodeId, NodeSelector, PodSpec, Snapshot, Sym, Toleration, affinity::NodeMatch,
};
use hashbrown::HashMap;

/// What a pod asks of a node.
type Demands<'s> = (&'s [(Sym, Sym)], Option<&'s NodeSelector>, &'s [Toleration]);

/// Of some nodes those that a pod could be on, with why not the others.
#[derive(Debug, Default)]
pub(crate) struct Reachable {
    /// The nodes, in the order given.
    pub(crate) nodes: Vec<NodeId>,
    /// The same, by node slot.
    within: Vec<bool>,
    /// Where among the nodes room was found last.
    found_at: Cell<usize>,
    /// How many of the others are cordoned.
    pub(crate) cordoned: usize,
    /// How many of the others the pod's node selector or affinity rules out.
    pub(crate) mismatched: usize,
    /// How many of the others have a taint that the pod does not tolerate.
    pub(crate) tainted: usize,
}

impl Reachable {
    /// Whether the node is one of them.
    pub(crate) fn contains(&self, node: NodeId) -> bool {
        self.within[node.index()]
    }

    /// Any node that answers yes, looked for from where one was found last: where the first nodes
    /// are full for one pod they are for the next.
    pub(crate) fn find(&self, yes: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        let (before, after) = self.nodes.split_at_checked(self.found_at.get())?;
        let around = after.iter().chain(before).copied();
        let found = around.enumerate().find(|&(_, node)| yes(node));
        found.map(|(steps, node)| {
            self.found_at.set((self.found_at.get() + steps) % self.nodes.len());
            node
        })
    }

    /// How many nodes were looked at.
    pub(crate) fn looked_at(&self) -> usize {
        let Self { nodes, within: _, found_at: _, cordoned, mismatched, tainted } = self;
        nodes.len() + cordoned + mismatched + tainted
    }
}

/// Answers for the pods of a snapshot and a list of nodes.
pub(crate) struct Reach<'s> {
    snapshot: &'s Snapshot,
    nodes: Vec<NodeId>,
    /// Whether a term of node affinity that cannot be read selects every node.
    unreadable_matches: bool,
    known: RefCell<HashMap<Demands<'s>, Rc<Reachable>>>,
}

impl<'s> Reach<'s> {
    /// Nodes that are not cordoned, whose hard taints the pod tolerates and that its node
    /// selector and affinity select; a term that cannot be read selects nothing
    /// (docs/spec/strategies.md section 3.11, 1 to 3).
    pub(crate) fn new(snapshot: &'s Snapshot, nodes: &[NodeId]) -> Self {
        let nodes = nodes.to_vec();
        Self { snapshot, nodes, unreadable_matches: false, known: RefCell::default() }
    }

    /// The same, except that a term that cannot be read selects everything, as upstream has it in
    /// RemoveDuplicates (docs/spec/strategies.md section 3.6).
    pub(crate) fn lenient(snapshot: &'s Snapshot, nodes: &[NodeId]) -> Self {
        Self { unreadable_matches: true, ..Self::new(snapshot, nodes) }
    }

    /// The nodes that pods with this spec could be on.
    pub(crate) fn of(&self, spec: &'s PodSpec) -> Rc<Reachable> {
        let demands: Demands<'s> =
            (&spec.node_selector, spec.required_nodes.as_ref(), &spec.tolerations);
        let mut known = self.known.borrow_mut();
        Rc::clone(known.entry(demands).or_insert_with(|| Rc::new(self.look(spec))))
    }

    fn look(&self, spec: &PodSpec) -> Reachable {
        let mut found =
            Reachable { within: vec![false; self.snapshot.node_slots()], ..Reachable::default() };
        for &id in &self.nodes {
            let node = self.snapshot.node(id);
            let selected = match self.snapshot.node_matches(spec, id) {
                NodeMatch::Yes => true,
                NodeMatch::No => false,
                NodeMatch::Invalid => self.unreadable_matches,
            };
            let strings = self.snapshot.strings();
            if node.unschedulable {
                found.cordoned += 1;
            } else if !selected {
                found.mismatched += 1;
            } else if untolerated_hard(&node.taints, &spec.tolerations, strings).is_some() {
                found.tainted += 1;
            } else {
                found.nodes.push(id);
                found.within[id.index()] = true;
            }
        }
        found
    }
}
