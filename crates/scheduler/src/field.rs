//! The nodes in the order in which they are searched, and which of them are feasible
//! (docs/spec/scheduler.md section 9).

use descheduler_cluster::labels::value_of;
use descheduler_cluster::{NodeId, Snapshot, Sym};
use hashbrown::HashMap;

use crate::outcome::Placement;

/// The order in which nodes are searched: one of each zone in turn.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) nodes: Vec<NodeId>,
    /// How many slots the snapshot has for nodes.
    slots: usize,
}

/// The order for the nodes of a snapshot.
pub(crate) fn order(snapshot: &Snapshot) -> Order {
    let label = |node: NodeId, keys: [&str; 2]| {
        let labels = &snapshot.node(node).labels;
        keys.into_iter().find_map(|key| value_of(labels, snapshot.sym(key))).unwrap_or(Sym::EMPTY)
    };
    let mut zones: Vec<Vec<NodeId>> = Vec::new();
    let mut index: HashMap<(Sym, Sym), usize> = HashMap::new();
    for &node in snapshot.nodes() {
        let region = ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"];
        let zone = ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"];
        let at = *index.entry((label(node, region), label(node, zone))).or_insert_with(|| {
            zones.push(Vec::new());
            zones.len() - 1
        });
        zones[at].push(node);
    }
    let longest = zones.iter().map(Vec::len).max().unwrap_or(0);
    let rounds = (0..longest).flat_map(|round| zones.iter().map(move |zone| zone.get(round)));
    Order { nodes: rounds.flatten().copied().collect(), slots: snapshot.node_slots() }
}

/// What a node is in a search.
pub(crate) enum Entry {
    Feasible,
    Infeasible,
    /// Not among those that come into question.
    Outside,
}

/// The feasible nodes in the order of the search, as a ring.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Field {
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) totals: Vec<i64>,
    /// For each how many starts make it the first to be found.
    pub(crate) starts: Vec<u32>,
    /// How many nodes come into question.
    pub(crate) candidates: usize,
}

impl Field {
    pub(crate) fn with_capacity(order: &Order) -> Self {
        let room = order.nodes.len();
        let (nodes, starts) = (Vec::with_capacity(room), Vec::with_capacity(room));
        Self { nodes, starts, ..Self::default() }
    }

    /// Goes once around. Starts at nodes that are not feasible lead to the next one that is.
    pub(crate) fn fill(&mut self, order: &Order, mut entry: impl FnMut(NodeId) -> Entry) {
        let mut waiting = 0;
        self.candidates = order.nodes.len();
        for &node in &order.nodes {
            waiting += 1;
            match entry(node) {
                Entry::Feasible => {
                    self.nodes.push(node);
                    self.starts.push(std::mem::take(&mut waiting));
                }
                Entry::Infeasible => {}
                Entry::Outside => self.candidates -= 1,
            }
        }
        if let Some(first) = self.starts.first_mut() {
            *first += waiting;
        }
    }

    /// The field of a placement.
    pub(crate) fn of(placement: &Placement, order: &Order) -> Self {
        // By node slot; no score is that low.
        const INFEASIBLE: i64 = i64::MIN;
        let mut totals = vec![INFEASIBLE; order.slots];
        for candidate in &placement.feasible {
            totals[candidate.node.index()] = candidate.total;
        }
        let mut field = Self::with_capacity(order);
        field.fill(order, |node| match totals[node.index()] {
            INFEASIBLE => Entry::Infeasible,
            _ => Entry::Feasible,
        });
        field.totals = field.nodes.iter().map(|node| totals[node.index()]).collect();
        let outside = placement.infeasible.iter().filter(|(_, fault)| fault.plugin.is_none());
        field.candidates = order.nodes.len() - outside.count();
        field
    }
}
