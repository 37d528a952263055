//! Objects between their reading and their place in the snapshot, and which state of one counts.

use std::cmp::Ordering;
use std::num::NonZeroU64;

use rustc_hash::FxHasher;

use super::anomaly::Origin;
use super::pools::{Pools, namespace_of};
use crate::intern::{Interner, Sym};
use crate::wire::{Metadata, text};

/// An object that has been read but not placed.
#[derive(Clone, Debug)]
pub(super) struct Draft<T> {
    pub(super) namespace: Sym,
    pub(super) name: Box<str>,
    pub(super) uid: Box<str>,
    pub(super) state: State,
    pub(super) value: T,
}

/// What tells one state of an object from another.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// `metadata.resourceVersion`, if it is a number: the greater one is the later state.
    pub(super) version: Option<NonZeroU64>,
    /// A number that depends on the text of the object alone; decides between two states of one
    /// object when the version does not.
    content: u64,
    pub(super) origin: Origin,
}

impl State {
    pub(super) fn new(metadata: &Metadata<'_>, json: &[u8], origin: Origin) -> Self {
        let version = text(&metadata.resource_version).parse().ok();
        Self { version, content: content_of(json), origin }
    }
}

/// What is known of an object, with what tells it from another of its name.
pub(super) trait Stated {
    fn namespace(&self) -> Sym;
    fn name(&self) -> &str;
    fn uid(&self) -> &str;
    fn state(&self) -> &State;

    /// Whether `self` comes before `other`: by namespace, name, uid, and of one object the state
    /// that counts first.
    fn order(&self, other: &Self, strings: &Interner) -> Ordering {
        let namespaces = if self.namespace() == other.namespace() {
            Ordering::Equal
        } else {
            strings.text(self.namespace()).cmp(strings.text(other.namespace()))
        };
        let (mine, others) = (self.state(), other.state());
        namespaces
            .then_with(|| self.name().cmp(other.name()))
            .then_with(|| self.uid().cmp(other.uid()))
            .then_with(|| others.version.cmp(&mine.version))
            .then_with(|| mine.content.cmp(&others.content))
    }

    fn same_object(&self, other: &Self) -> bool {
        self.same_name(other) && self.uid() == other.uid()
    }

    fn same_name(&self, other: &Self) -> bool {
        self.namespace() == other.namespace() && self.name() == other.name()
    }

    /// Whether `self` is a later state than `other`, which has the same name and another uid.
    fn supersedes(&self, other: &Self) -> bool {
        (self.state().version, self.uid()) > (other.state().version, other.uid())
    }
}

impl<T> Draft<T> {
    pub(super) fn new(
        pools: &mut Pools,
        metadata: &Metadata<'_>,
        namespaced: bool,
        json: &[u8],
        origin: Origin,
        value: T,
    ) -> Self {
        let namespace = if namespaced { namespace_of(metadata) } else { "" };
        Self {
            namespace: pools.sym(namespace),
            name: text(&metadata.name).into(),
            uid: text(&metadata.uid).into(),
            state: State::new(metadata, json, origin),
            value,
        }
    }
}

impl<T> Stated for Draft<T> {
    fn namespace(&self) -> Sym {
        self.namespace
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn uid(&self) -> &str {
        &self.uid
    }

    fn state(&self) -> &State {
        &self.state
    }
}

fn content_of(json: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = FxHasher::default();
    hasher.write(json);
    hasher.finish()
}
