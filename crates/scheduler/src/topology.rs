//! The domains that nodes form, by topology key: numbered, so that counts are arrays.

use std::cell::RefCell;
use std::rc::Rc;

use descheduler_cluster::labels::value_of;
use descheduler_cluster::{NodeId, Snapshot, Sym};
use hashbrown::HashMap;
use smallvec::SmallVec;

/// The label that the kubelet gives every node a value of its own for.
pub(crate) const HOSTNAME: &str = "kubernetes.io/hostname";
/// The label that cloud providers give the nodes of a zone.
pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";

/// Stands for a node without the label.
const NONE: u32 = u32::MAX;

/// The domains of one topology key: the values that nodes have of that label.
#[derive(Debug)]
pub(crate) struct Domains {
    /// By node slot.
    of: Vec<u32>,
    /// The nodes of each domain.
    members: Vec<SmallVec<[NodeId; 1]>>,
    /// The nodes without the label.
    outside: Vec<NodeId>,
    /// The number of the domain whose value is the empty string.
    empty: Option<usize>,
}

impl Domains {
    fn new(snapshot: &Snapshot, key: Sym) -> Self {
        let mut numbers: HashMap<Sym, u32> = HashMap::new();
        let mut of = vec![NONE; snapshot.node_slots()];
        let (mut members, mut outside) = (Vec::<SmallVec<_>>::new(), Vec::new());
        for &node in snapshot.nodes() {
            let Some(value) = value_of(&snapshot.node(node).labels, key) else {
                outside.push(node);
                continue;
            };
            let domain = *numbers.entry(value).or_insert(members.len() as u32);
            if domain as usize == members.len() {
                members.push(SmallVec::new());
            }
            members[domain as usize].push(node);
            of[node.index()] = domain;
        }
        let empty = numbers.get(&Sym::EMPTY).map(|&domain| domain as usize);
        Self { of, members, outside, empty }
    }

    /// The number of the node's domain, below [`Domains::len`]; `None` without the label.
    pub(crate) fn of(&self, node: NodeId) -> Option<usize> {
        match self.of[node.index()] {
            NONE => None,
            domain => Some(domain as usize),
        }
    }

    /// The number of the domain whose value is the empty string, which a label may have.
    pub(crate) fn empty(&self) -> Option<usize> {
        self.empty
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// The nodes of a domain.
    pub(crate) fn members(&self, domain: usize) -> &[NodeId] {
        &self.members[domain]
    }

    /// The nodes that are in none.
    pub(crate) fn outside(&self) -> &[NodeId] {
        &self.outside
    }
}

/// The domains of all keys that somebody asked for.
#[derive(Debug)]
pub(crate) struct Topology<'s> {
    snapshot: &'s Snapshot,
    /// The key [`ZONE`].
    pub(crate) zone: Sym,
    /// The key [`HOSTNAME`].
    pub(crate) host: Sym,
    known: RefCell<HashMap<Sym, Rc<Domains>>>,
}

impl<'s> Topology<'s> {
    pub(crate) fn new(snapshot: &'s Snapshot) -> Self {
        let (zone, host) = (snapshot.sym(ZONE), snapshot.sym(HOSTNAME));
        Self { snapshot, zone, host, known: RefCell::default() }
    }

    /// The domains of a key.
    pub(crate) fn domains(&self, key: Sym) -> Rc<Domains> {
        let mut known = self.known.borrow_mut();
        Rc::clone(known.entry(key).or_insert_with(|| Rc::new(Domains::new(self.snapshot, key))))
    }
}

/// A number for each domain of several topology keys.
#[derive(Debug, Default)]
pub(crate) struct PerDomain(Vec<Numbers>);

/// A number for each domain of one key.
#[derive(Debug)]
struct Numbers {
    key: Sym,
    domains: Rc<Domains>,
    /// By domain.
    of: Vec<i64>,
    /// The domains whose number may be another than 0.
    touched: Vec<usize>,
}

impl PerDomain {
    /// Adds to the number of a domain of a key, 0 until then.
    pub(crate) fn add(&mut self, topology: &Topology<'_>, key: Sym, domain: usize, number: i64) {
        let at = self.0.iter().position(|numbers| numbers.key == key).unwrap_or_else(|| {
            let domains = topology.domains(key);
            let of = vec![0; domains.len()];
            self.0.push(Numbers { key, domains, of, touched: Vec::new() });
            self.0.len() - 1
        });
        let Numbers { of, touched, .. } = &mut self.0[at];
        if of[domain] == 0 {
            touched.push(domain);
        }
        of[domain] += number;
    }

    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of the domain of `key` that the node is in, 0 when it is in none.
    pub(crate) fn at(&self, key: Sym, node: NodeId) -> i64 {
        let numbers = self.0.iter().find(|numbers| numbers.key == key);
        numbers.map_or(0, |numbers| numbers.at(node))
    }

    /// The sum over all keys of the numbers of the domains that the node is in.
    pub(crate) fn sum(&self, node: NodeId) -> i64 {
        self.0.iter().map(|numbers| numbers.at(node)).sum()
    }

    /// Whether the node is in a domain with a number above 0.
    pub(crate) fn any_positive(&self, node: NodeId) -> bool {
        self.0.iter().any(|numbers| numbers.at(node) > 0)
    }

    /// The nodes that are in a domain with a number, if that is not one of the key `but`.
    pub(crate) fn touched(&self, but: Sym) -> impl Iterator<Item = NodeId> + '_ {
        let all = self.0.iter().filter(move |numbers| numbers.key != but);
        all.flat_map(|Numbers { domains, touched, .. }| {
            touched.iter().flat_map(|&domain| domains.members(domain)).copied()
        })
    }
}

impl Numbers {
    fn at(&self, node: NodeId) -> i64 {
        self.domains.of(node).map_or(0, |domain| self.of[domain])
    }
}
