//! Lists of objects that can be looked things up in.

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::{HashMap, HashTable};
use rustc_hash::FxBuildHasher;

use crate::intern::Sym;
use crate::workloads::WorkloadKind;

/// Objects in order, found by one symbol that each has for itself.
#[derive(Clone, Debug)]
pub(crate) struct BySym<T> {
    items: Vec<T>,
    at: HashMap<Sym, u32, FxBuildHasher>,
}

impl<T> BySym<T> {
    /// Of several with one key the first is found.
    pub(crate) fn new(items: Vec<T>, key: impl Fn(&T) -> Sym) -> Self {
        let mut at = HashMap::with_capacity_and_hasher(items.len(), FxBuildHasher);
        for (index, item) in (0..).zip(&items) {
            at.entry(key(item)).or_insert(index);
        }
        Self { items, at }
    }

    pub(crate) fn get(&self, key: Sym) -> Option<&T> {
        self.at.get(&key).map(|&at| &self.items[at as usize])
    }

    pub(crate) fn all(&self) -> &[T] {
        &self.items
    }

    /// To change what is not the key.
    pub(crate) fn get_mut(&mut self, key: Sym) -> Option<&mut T> {
        self.at.get(&key).map(|&at| &mut self.items[at as usize])
    }

    pub(crate) fn all_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

/// A name: the kind where a table holds several, the namespace, the name.
pub(crate) type Name<'a> = (Option<WorkloadKind>, Sym, &'a str);

/// Something that no other in its table shares the name with.
pub(crate) trait Named {
    /// The whole name.
    fn key(&self) -> Name<'_>;
}

/// Objects in order, found by their names.
#[derive(Clone, Debug)]
pub(crate) struct ByName<T> {
    items: Vec<T>,
    at: HashTable<u32>,
}

impl<T: Named> ByName<T> {
    pub(crate) fn new(items: Vec<T>) -> Self {
        let mut at = HashTable::with_capacity(items.len());
        for (index, item) in (0..).zip(&items) {
            at.insert_unique(hash(item.key()), index, |&at: &u32| hash(items[at as usize].key()));
        }
        Self { items, at }
    }

    pub(crate) fn get(&self, name: Name<'_>) -> Option<&T> {
        let found = self.at.find(hash(name), |&at| self.items[at as usize].key() == name);
        found.map(|&at| &self.items[at as usize])
    }

    pub(crate) fn all(&self) -> &[T] {
        &self.items
    }

    /// To change what is not its name.
    pub(crate) fn get_mut(&mut self, name: Name<'_>) -> Option<&mut T> {
        let at = self.at.find(hash(name), |&at| self.items[at as usize].key() == name).copied();
        at.map(|at| &mut self.items[at as usize])
    }

    pub(crate) fn into_items(self) -> Vec<T> {
        self.items
    }
}

fn hash(name: Name<'_>) -> u64 {
    FxBuildHasher.hash_one(name)
}

/// Objects of which those with one key stand together.
#[derive(Clone, Debug)]
pub(crate) struct Runs<T> {
    items: Vec<T>,
    runs: HashMap<Sym, Range<u32>, FxBuildHasher>,
}

impl<T> Runs<T> {
    /// Keeps the order of `items` within each run.
    pub(crate) fn new(mut items: Vec<T>, key: impl Fn(&T) -> Sym) -> Self {
        items.sort_by_key(&key);
        let mut runs = HashMap::with_hasher(FxBuildHasher);
        let mut start = 0;
        for run in items.chunk_by(|a, b| key(a) == key(b)) {
            let end = start + run.len() as u32;
            runs.insert(key(&run[0]), start..end);
            start = end;
        }
        Self { items, runs }
    }

    pub(crate) fn get(&self, key: Sym) -> &[T] {
        match self.runs.get(&key) {
            Some(run) => &self.items[run.start as usize..run.end as usize],
            None => &[],
        }
    }
}
