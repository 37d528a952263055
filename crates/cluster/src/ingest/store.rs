//! What a watch keeps: objects that come, change and go, and a snapshot of them at any time.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::num::NonZeroU64;
use std::sync::Arc;

use hashbrown::HashTable;
use jiff::Timestamp;
use rustc_hash::FxBuildHasher;

use super::anomaly::{Anomaly, Origin, SyntaxError};
use super::drafts::Stated;
use super::{Ingest, finish};
use crate::intern::Sym;
use crate::node::Node;
use crate::pod::Pod;
use crate::snapshot::{Kind, Snapshot};
use crate::wire::{self, text};

/// Where objects come from that were watched: they have no place in a file.
const ORIGIN: Origin = Origin { file: 0, index: 0 };

/// Every object of a live cluster once, by kind, namespace and name.
///
/// A list of all objects of a kind is taken over the ones that are there:
/// [`begin_list`](Store::begin_list), [`put`](Store::put) for each,
/// [`end_list`](Store::end_list). At no time are there two of one object.
#[derive(Debug)]
pub struct Store {
    /// What is there, each object in the state that was put last.
    pub(super) ingest: Ingest,
    /// Where each object stands among those of its kind.
    tables: BTreeMap<Kind, Table>,
    /// What is not as it should be, by kind, namespace and name; rarely anything.
    anomalies: BTreeMap<(Kind, Sym, Box<str>), Vec<Anomaly>>,
    /// The last snapshot and what is said of it, as long as nothing changed.
    last: Option<Arc<(Snapshot, Vec<Anomaly>)>>,
}

/// The objects of one kind.
#[derive(Debug, Default)]
struct Table {
    /// Slots by namespace and name.
    slots: HashTable<u32>,
    /// For each slot the list that it was last seen in.
    seen: Vec<u32>,
    /// The number of the list that is being taken, or was last.
    list: u32,
    /// Whether all objects of the kind have been seen, be there any or none.
    known: bool,
}

/// Runs `$body` with the drafts of a kind.
macro_rules! with_drafts {
    ($ingest:expr, $kind:expr, $drafts:ident => $body:expr) => {
        with_drafts!(@ $ingest, $kind, $drafts, $body;
            Pod pods, Node nodes, Namespace namespaces, PriorityClass priority_classes,
            PodDisruptionBudget budgets, PersistentVolumeClaim claims, PersistentVolume volumes,
            StorageClass classes, CsiNode csi_nodes, CsiDriver csi_drivers,
            CsiStorageCapacity capacities, VolumeAttachment attachments,
            ResourceClaim device_claims, DeviceClass device_classes, ResourceSlice slices,
            Service services, ControllerRevision revisions, NodeMetrics node_usage,
            PodMetrics pod_usage;
            ReplicaSet ReplicationController StatefulSet Deployment Job DaemonSet)
    };
    (@ $ingest:expr, $kind:expr, $drafts:ident, $body:expr;
        $($simple:ident $field:ident),*; $($workload:ident)*) => {
        match $kind {
            $(Kind::$simple => { let $drafts = &mut $ingest.$field; $body })*
            $(Kind::$workload => {
                let kind = crate::workloads::WorkloadKind::$workload;
                let $drafts = $ingest.workloads.entry(kind).or_default();
                $body
            })*
        }
    };
}

impl Default for Store {
    fn default() -> Self {
        let mut ingest = Ingest::default();
        ingest.files.push(Arc::from(""));
        Self { ingest, tables: BTreeMap::new(), anomalies: BTreeMap::new(), last: None }
    }
}

impl Store {
    /// Nothing yet, not even that a kind is there.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a list of all objects of a kind. What is there stays until the list has ended.
    pub fn begin_list(&mut self, kind: Kind) {
        let table = self.tables.entry(kind).or_default();
        table.list = table.list.wrapping_add(1);
    }

    /// Ends a list: objects that it did not hold are gone. Returns how many these were.
    pub fn end_list(&mut self, kind: Kind) -> usize {
        let table = self.tables.entry(kind).or_default();
        if !table.known {
            table.known = true;
            self.last = None;
        }
        let list = table.list;
        self.remove_where(kind, |seen| seen != list)
    }

    /// Forgets that there is such a kind, and all its objects.
    pub fn forget(&mut self, kind: Kind) {
        if let Some(table) = self.tables.get_mut(&kind)
            && std::mem::take(&mut table.known)
        {
            self.last = None;
        }
        self.remove_where(kind, |_| true);
    }

    /// Takes an object of a kind in its new state; the object need not name its kind. Returns its
    /// `resourceVersion`, if that is a number.
    ///
    /// # Errors
    ///
    /// The text is not JSON.
    pub fn put(&mut self, kind: Kind, json: &[u8]) -> Result<Option<NonZeroU64>, SyntaxError> {
        self.last = None;
        let before = with_drafts!(self.ingest, kind, drafts => drafts.len());
        self.ingest.read_kind(ORIGIN, json, kind)?;
        let said = std::mem::take(&mut self.ingest.anomalies);
        let table = self.tables.entry(kind).or_default();
        let placed = with_drafts!(self.ingest, kind, drafts => match drafts.len() > before {
            true => Some(table.place(drafts)),
            // A namesake of the kind, of another API group.
            false => None,
        });
        let Some(Placed { namespace, name, version }) = placed else { return Ok(None) };
        if !said.is_empty() {
            self.anomalies.insert((kind, namespace, name.into()), said);
        } else if !self.anomalies.is_empty() {
            self.anomalies.remove(&(kind, namespace, name.into()));
        }
        Ok(version)
    }

    /// Takes away an object of a kind, given in its last state. One that is not there is no error.
    ///
    /// # Errors
    ///
    /// The text is not JSON, or no object.
    pub fn delete(&mut self, kind: Kind, json: &[u8]) -> Result<Option<NonZeroU64>, SyntaxError> {
        let object: wire::Namespace<'_> = match serde_json::from_slice(json) {
            Ok(object) => object,
            Err(error) => {
                super::check_syntax(json)?;
                return Err(SyntaxError::at_start(super::salvage::without_position(&error)));
            }
        };
        let metadata = object.metadata.unwrap_or_default();
        let namespace = self.ingest.pools.strings.get(text(&metadata.namespace));
        let name = text(&metadata.name);
        let table = self.tables.entry(kind).or_default();
        let slot = with_drafts!(self.ingest, kind, drafts => table.find(drafts, namespace, name));
        if let Some(slot) = slot {
            self.remove(kind, slot);
        }
        Ok(text(&metadata.resource_version).parse().ok())
    }

    /// How many objects of a kind there are.
    pub fn count(&self, kind: Kind) -> usize {
        self.tables.get(&kind).map_or(0, |table| table.seen.len())
    }

    /// The cluster as it is, with ages counted from `now`, and what is not as it should be. Costs
    /// nothing when nothing changed since the last call.
    pub fn snapshot(&mut self, now: Timestamp) -> &(Snapshot, Vec<Anomaly>) {
        self.whole(now)
    }

    /// [`Store::snapshot`] for those who keep it while the store goes on.
    pub fn share(&mut self, now: Timestamp) -> Arc<(Snapshot, Vec<Anomaly>)> {
        self.whole(now).clone()
    }

    fn whole(&mut self, now: Timestamp) -> &Arc<(Snapshot, Vec<Anomaly>)> {
        let last = self.last.take().unwrap_or_else(|| {
            self.complete();
            let whole = finish::finish(self.ingest.clone(), Some(now));
            self.ingest.anomalies.clear();
            Arc::new(whole)
        });
        let last = self.last.insert(last);
        if last.0.taken_at != now {
            // Whoever still holds the last one keeps it as it was.
            Arc::make_mut(last).0.taken_at = now;
        }
        last
    }

    /// A pod as it is now. Its `node` is not looked up, its `node_name` is there.
    pub fn pod(&self, namespace: &str, name: &str) -> Option<&Pod> {
        let slot = self.slot(Kind::Pod, &self.ingest.pods, namespace, name)?;
        Some(&self.ingest.pods[slot].pod)
    }

    /// A node as it is now.
    pub fn node(&self, name: &str) -> Option<&Node> {
        let slot = self.slot(Kind::Node, &self.ingest.nodes, "", name)?;
        Some(&self.ingest.nodes[slot].value)
    }

    fn slot<D: Stated>(
        &self,
        kind: Kind,
        drafts: &[D],
        namespace: &str,
        name: &str,
    ) -> Option<usize> {
        let namespace = self.ingest.pools.strings.get(namespace);
        self.tables.get(&kind)?.find(drafts, namespace, name)
    }

    /// [`Store::snapshot`] for those who need no further one.
    pub fn into_snapshot(mut self, now: Timestamp) -> (Snapshot, Vec<Anomaly>) {
        self.complete();
        finish::finish(self.ingest, Some(now))
    }

    /// Sets what an ingest would have counted and complained of.
    fn complete(&mut self) {
        let Self { ingest, tables, anomalies, .. } = self;
        ingest.counts.clear();
        for (name, kind) in Kind::ALL {
            // Without objects a kind is as good as absent, as it is in a dump of the same cluster:
            // the two must not be judged differently. That there are no nodes or pods is known.
            let is_there = |table: &&Table| {
                !table.seen.is_empty() || table.known && matches!(kind, Kind::Node | Kind::Pod)
            };
            if let Some(table) = tables.get(&kind).filter(is_there) {
                ingest.counts.insert(name.into(), table.seen.len() as u64);
            }
        }
        ingest.anomalies = anomalies.values().flatten().cloned().collect();
        ingest.pools.drop_unused();
        ingest.pools.regroup(&mut ingest.pods);
    }

    fn remove_where(&mut self, kind: Kind, is_gone: impl Fn(u32) -> bool) -> usize {
        let table = self.tables.entry(kind).or_default();
        // From the end, since the last one moves into the place of one that goes.
        let gone: Vec<usize> =
            (0..table.seen.len()).rev().filter(|&slot| is_gone(table.seen[slot])).collect();
        for &slot in &gone {
            self.remove(kind, slot);
        }
        gone.len()
    }

    fn remove(&mut self, kind: Kind, slot: usize) {
        self.last = None;
        let table = self.tables.entry(kind).or_default();
        let (namespace, name) =
            with_drafts!(self.ingest, kind, drafts => table.remove(drafts, slot));
        if !self.anomalies.is_empty() {
            self.anomalies.remove(&(kind, namespace, name));
        }
    }
}

/// Which object was placed.
struct Placed<'d> {
    namespace: Sym,
    name: &'d str,
    version: Option<NonZeroU64>,
}

impl Table {
    /// Puts the last of the drafts where an earlier state of its object stands, if there is one.
    fn place<'d, D: Stated>(&mut self, drafts: &'d mut Vec<D>) -> Placed<'d> {
        let last = drafts.len() - 1;
        let (namespace, name) = (drafts[last].namespace(), drafts[last].name());
        let slot = match self.find(&drafts[..last], namespace, name) {
            Some(slot) => {
                drafts.swap_remove(slot);
                slot
            }
            None => {
                let hash = hash(namespace, name);
                let all = &*drafts;
                self.slots.insert_unique(hash, last as u32, |&slot| hash_of(&all[slot as usize]));
                self.seen.push(self.list);
                last
            }
        };
        self.seen[slot] = self.list;
        let draft = &drafts[slot];
        Placed { namespace: draft.namespace(), name: draft.name(), version: draft.state().version }
    }

    fn find<D: Stated>(&self, drafts: &[D], namespace: Sym, name: &str) -> Option<usize> {
        let is_it = |&slot: &u32| {
            let draft = &drafts[slot as usize];
            draft.namespace() == namespace && draft.name() == name
        };
        self.slots.find(hash(namespace, name), is_it).map(|&slot| slot as usize)
    }

    /// Takes an object out; the last one moves into its place.
    fn remove<D: Stated>(&mut self, drafts: &mut Vec<D>, slot: usize) -> (Sym, Box<str>) {
        let last = drafts.len() - 1;
        if let Ok(entry) = self.slots.find_entry(hash_of(&drafts[slot]), |&at| at as usize == slot)
        {
            entry.remove();
        }
        if slot != last
            && let Some(moved) =
                self.slots.find_mut(hash_of(&drafts[last]), |&at| at as usize == last)
        {
            *moved = slot as u32;
        }
        self.seen.swap_remove(slot);
        let gone = drafts.swap_remove(slot);
        (gone.namespace(), gone.name().into())
    }
}

fn hash_of<D: Stated>(draft: &D) -> u64 {
    hash(draft.namespace(), draft.name())
}

fn hash(namespace: Sym, name: &str) -> u64 {
    FxBuildHasher.hash_one((namespace, name))
}
