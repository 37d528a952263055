//! Which nodes are in which domain of a topology key, as far as a constraint looks at them.

use std::rc::Rc;

use descheduler_cluster::affinity::NodeMatch;
use descheduler_cluster::labels::value_of;
use descheduler_cluster::taints::untolerated_hard;
use descheduler_cluster::{NodeId, PodSpec, Snapshot, SpreadConstraint, Sym, Toleration};
use hashbrown::HashMap;

use super::{Affinity, Reading};

/// A domain of a layout: nodes with the same value of the key.
pub(crate) type DomainId = usize;

/// The domains of one key.
pub(crate) struct Layout {
    /// By node slot: in which domain pods there count.
    domain_of: Vec<Option<u32>>,
    /// By node slot: whether the node is a place that the constraint wants used.
    open: Vec<bool>,
    /// The values of the key, sorted.
    pub(crate) values: Vec<Sym>,
    /// By domain: its open nodes.
    pub(crate) open_nodes: Vec<Vec<NodeId>>,
}

impl Layout {
    /// In which domain pods on a node count, if at all.
    pub(crate) fn domain_of(&self, node: NodeId) -> Option<DomainId> {
        self.domain_of[node.index()].map(|domain| domain as DomainId)
    }

    /// Whether a node is a place that the constraint wants used.
    pub(crate) fn is_open(&self, node: NodeId) -> bool {
        self.open[node.index()]
    }

    /// Whether a domain has an open node.
    pub(crate) fn has_open(&self, domain: DomainId) -> bool {
        !self.open_nodes[domain].is_empty()
    }
}

/// What decides on a layout.
#[derive(PartialEq, Eq, Hash)]
struct Demands<'s> {
    reading: Reading,
    key: Sym,
    /// The keys that a node must have to count at all, sorted.
    keys: Vec<Sym>,
    affinity: Option<Affinity<'s>>,
    tolerations: Option<&'s [Toleration]>,
    honor: (bool, bool),
}

/// The layouts of a cluster, each worked out once: thousands of pods share a few dozen.
pub(super) struct Layouts<'s> {
    snapshot: &'s Snapshot,
    /// The nodes that are worked on.
    nodes: Vec<NodeId>,
    known: HashMap<Demands<'s>, Rc<Layout>>,
}

impl<'s> Layouts<'s> {
    pub(super) fn new(snapshot: &'s Snapshot, nodes: &[NodeId]) -> Self {
        Self { snapshot, nodes: nodes.to_vec(), known: HashMap::new() }
    }

    /// The layout of a constraint of pods with this spec.
    pub(super) fn of(
        &mut self,
        spec: &'s PodSpec,
        constraint: &'s SpreadConstraint,
        reading: Reading,
    ) -> Rc<Layout> {
        let SpreadConstraint { topology_key: key, honor_affinity, honor_taints, .. } = *constraint;
        // The scheduler leaves out nodes that lack a key of any constraint of the same kind.
        let mut keys = vec![key];
        if reading != Reading::Upstream {
            let same = spec.spread.iter().filter(|other| other.hard == constraint.hard);
            keys.extend(same.map(|other| other.topology_key));
            keys.sort_unstable();
            keys.dedup();
        }
        let soft = reading == Reading::Soft;
        let demands = Demands {
            reading,
            key,
            keys,
            affinity: (soft || honor_affinity)
                .then_some((&*spec.node_selector, spec.required_nodes.as_ref())),
            tolerations: (soft || honor_taints).then_some(&*spec.tolerations),
            honor: (honor_affinity, honor_taints),
        };
        let Self { snapshot, nodes, known } = self;
        if let Some(layout) = known.get(&demands) {
            return Rc::clone(layout);
        }
        let layout = Rc::new(make(snapshot, nodes, spec, &demands));
        known.insert(demands, Rc::clone(&layout));
        layout
    }
}

fn make(
    snapshot: &Snapshot,
    worked_on: &[NodeId],
    spec: &PodSpec,
    demands: &Demands<'_>,
) -> Layout {
    let (honor_affinity, honor_taints) = demands.honor;
    let nodes = match demands.reading {
        Reading::Upstream => worked_on,
        Reading::Hard | Reading::Soft => snapshot.nodes(),
    };
    let mut found: Vec<(Sym, NodeId, bool)> = Vec::new();
    for &id in nodes {
        let node = snapshot.node(id);
        let Some(value) = value_of(&node.labels, demands.key) else { continue };
        if demands.keys.iter().any(|&key| value_of(&node.labels, key).is_none()) {
            continue;
        }
        let selected = || snapshot.node_matches(spec, id) == NodeMatch::Yes;
        let tolerated =
            || untolerated_hard(&node.taints, &spec.tolerations, snapshot.strings()).is_none();
        let included = (!honor_affinity || selected()) && (!honor_taints || tolerated());
        match demands.reading {
            Reading::Hard if included => found.push((value, id, true)),
            Reading::Hard => {}
            Reading::Soft if included => {
                found.push((value, id, !node.unschedulable && selected() && tolerated()));
            }
            Reading::Soft => {}
            // Pods on nodes that are left out count nevertheless, and make domains
            // (docs/spec/strategies.md section 12.4, 3).
            Reading::Upstream => found.push((value, id, included)),
        }
    }
    let mut values: Vec<Sym> = found.iter().map(|&(value, ..)| value).collect();
    values.sort_unstable();
    values.dedup();
    values.sort_unstable_by_key(|&value| snapshot.text(value));
    let numbers: HashMap<Sym, u32> = values.iter().copied().zip(0..).collect();
    let mut layout = Layout {
        domain_of: vec![None; snapshot.node_slots()],
        open: vec![false; snapshot.node_slots()],
        open_nodes: vec![Vec::new(); values.len()],
        values,
    };
    for (value, id, open) in found {
        let domain = numbers[&value];
        layout.domain_of[id.index()] = Some(domain);
        layout.open[id.index()] = open;
        if open {
            layout.open_nodes[domain as usize].push(id);
        }
    }
    layout
}
