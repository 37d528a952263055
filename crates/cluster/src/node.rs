//! Nodes.

use jiff::Timestamp;

use crate::intern::Sym;
use crate::labels::Labels;
use crate::resources::Resources;
use crate::taints::Taint;

/// One node, as far as anything here asks.
#[derive(Clone, Debug)]
pub struct Node {
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// `metadata.labels`.
    pub labels: Box<Labels>,
    /// `spec.taints`, in the order written.
    pub taints: Box<[Taint]>,
    /// `spec.unschedulable`: the node is cordoned.
    pub unschedulable: bool,
    /// No condition of type `Ready` says anything but `True` (docs/spec/strategies.md 3.1).
    pub ready: bool,
    /// `status.allocatable`.
    pub allocatable: Resources,
    /// `status.capacity`.
    pub capacity: Resources,
    /// `status.images`: every name of every image with its size in bytes, sorted by symbol; of a
    /// name given twice the first size counts.
    pub images: Box<[(Sym, i64)]>,
    /// `status.declaredFeatures`, sorted by symbol.
    pub declared_features: Box<[Sym]>,
    /// Part of the object could not be read: never a destination.
    pub flawed: bool,
}

impl Node {
    /// What usage is measured against: allocatable if it names anything, else capacity
    /// (docs/spec/strategies.md section 6.3).
    pub fn measured_capacity(&self) -> &Resources {
        if self.allocatable.is_empty() { &self.capacity } else { &self.allocatable }
    }
}
