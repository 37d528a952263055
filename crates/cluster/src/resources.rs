//! Amounts of resources, as integers.
//!
//! Processor time counts in millicores, everything else in whole units (bytes, devices, pods),
//! rounded up once per pod or node from exact quantities (docs/spec/scheduler.md section 4.1).

use smallvec::SmallVec;

/// A resource name, as an index into the names of one snapshot.
///
/// The four that every node has are the same everywhere; all others are handed out in order of
/// arrival, so sort by name wherever an order can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(pub(crate) u16);

impl ResourceId {
    /// `cpu`, in millicores.
    pub const CPU: Self = Self(0);
    /// `memory`, in bytes.
    pub const MEMORY: Self = Self(1);
    /// `pods`, a count.
    pub const PODS: Self = Self(2);
    /// `ephemeral-storage`, in bytes.
    pub const EPHEMERAL_STORAGE: Self = Self(3);
    /// A name that no object of the snapshot holds.
    pub const UNKNOWN: Self = Self(u16::MAX);

    /// The names of the fixed ids, in their order.
    pub(crate) const FIXED: [&str; 4] = ["cpu", "memory", "pods", "ephemeral-storage"];
}

/// Amounts by resource, sorted by id. A resource that is absent differs from one that is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resources(SmallVec<[(ResourceId, i64); 4]>);

impl Resources {
    /// The amount, zero when absent.
    pub fn get(&self, resource: ResourceId) -> i64 {
        self.find(resource).unwrap_or(0)
    }

    /// The amount, if the resource is named at all.
    pub fn find(&self, resource: ResourceId) -> Option<i64> {
        // Nearly all have processor time and memory, which are then where their ids say.
        match self.0.get(usize::from(resource.0)) {
            Some(&(here, amount)) if here == resource => Some(amount),
            _ => self.0.binary_search_by_key(&resource, |&(r, _)| r).ok().map(|at| self.0[at].1),
        }
    }

    /// Sets one amount.
    pub fn set(&mut self, resource: ResourceId, amount: i64) {
        *self.entry(resource) = amount;
    }

    /// Adds each amount of `other`, naming the resources that were absent.
    pub fn add(&mut self, other: &Resources) {
        for (resource, amount) in other.iter() {
            let mine = self.entry(resource);
            *mine = mine.saturating_add(amount);
        }
    }

    /// Takes away each amount of `other`.
    pub fn subtract(&mut self, other: &Resources) {
        for (resource, amount) in other.iter() {
            let mine = self.entry(resource);
            *mine = mine.saturating_sub(amount);
        }
    }

    /// Every named resource with its amount, by id.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceId, i64)> + '_ {
        self.0.iter().copied()
    }

    /// Whether no resource is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn entry(&mut self, resource: ResourceId) -> &mut i64 {
        let at = match self.0.binary_search_by_key(&resource, |&(r, _)| r) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, (resource, 0));
                at
            }
        };
        &mut self.0[at].1
    }
}

impl FromIterator<(ResourceId, i64)> for Resources {
    fn from_iter<I: IntoIterator<Item = (ResourceId, i64)>>(amounts: I) -> Self {
        let mut resources = Self::default();
        for (resource, amount) in amounts {
            resources.set(resource, amount);
        }
        resources
    }
}
