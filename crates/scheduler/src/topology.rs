//! The domains that nodes form, by topology key: numbered, so that counts are arrays.

use std::cell::RefCell;
use std::rc::Rc;

use descheduler_cluster::labels::value_of;
use descheduler_cluster::{NodeId, Snapshot, Sym};
use hashbrown::HashMap;

/// Stands for a node without the label.
const NONE: u32 = u32::MAX;

/// The domains of one topology key: the values that nodes have of that label.
#[derive(Debug)]
pub(crate) struct Domains {
    /// By node slot.
    of: Vec<u32>,
    len: usize,
    /// The number of the domain whose value is the empty string.
    empty: Option<usize>,
}

impl Domains {
    fn new(snapshot: &Snapshot, key: Sym) -> Self {
        let mut numbers: HashMap<Sym, u32> = HashMap::new();
        let mut of = vec![NONE; snapshot.node_slots()];
        for &node in snapshot.nodes() {
            if let Some(value) = value_of(&snapshot.node(node).labels, key) {
                let next = numbers.len() as u32;
                of[node.index()] = *numbers.entry(value).or_insert(next);
            }
        }
        let empty = numbers.get(&Sym::EMPTY).map(|&domain| domain as usize);
        Self { of, len: numbers.len(), empty }
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
        self.len
    }
}

/// The domains of all keys that somebody asked for.
#[derive(Debug)]
pub(crate) struct Topology<'s> {
    snapshot: &'s Snapshot,
    known: RefCell<HashMap<Sym, Rc<Domains>>>,
}

impl<'s> Topology<'s> {
    pub(crate) fn new(snapshot: &'s Snapshot) -> Self {
        Self { snapshot, known: RefCell::default() }
    }

    /// The domains of a key.
    pub(crate) fn domains(&self, key: Sym) -> Rc<Domains> {
        let mut known = self.known.borrow_mut();
        Rc::clone(known.entry(key).or_insert_with(|| Rc::new(Domains::new(self.snapshot, key))))
    }
}

/// A number for each domain of several topology keys.
#[derive(Debug, Default)]
pub(crate) struct PerDomain(Vec<(Sym, Rc<Domains>, Vec<i64>)>);

impl PerDomain {
    /// Adds to the number of a domain of a key, 0 until then.
    pub(crate) fn add(&mut self, topology: &Topology<'_>, key: Sym, domain: usize, number: i64) {
        let at = self.0.iter().position(|(other, ..)| *other == key).unwrap_or_else(|| {
            let domains = topology.domains(key);
            let numbers = vec![0; domains.len()];
            self.0.push((key, domains, numbers));
            self.0.len() - 1
        });
        self.0[at].2[domain] += number;
    }

    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of the domain of `key` that the node is in, 0 when it is in none.
    pub(crate) fn at(&self, key: Sym, node: NodeId) -> i64 {
        let entry = self.0.iter().find(|(other, ..)| *other == key);
        entry.map_or(0, |entry| number(entry, node))
    }

    /// The sum over all keys of the numbers of the domains that the node is in.
    pub(crate) fn sum(&self, node: NodeId) -> i64 {
        self.0.iter().map(|entry| number(entry, node)).sum()
    }

    /// Whether the node is in a domain with a number above 0.
    pub(crate) fn any_positive(&self, node: NodeId) -> bool {
        self.0.iter().any(|entry| number(entry, node) > 0)
    }
}

fn number((_, domains, numbers): &(Sym, Rc<Domains>, Vec<i64>), node: NodeId) -> i64 {
    domains.of(node).map_or(0, |domain| numbers[domain])
}
