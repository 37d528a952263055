//! From objects in any order to a [`Snapshot`]: the only way to make one.
//!
//! Bytes go to slim borrowed structs and from there to the values of this crate, one object at a
//! time; nothing of the text is kept. Text that is no JSON is an error. An object that is JSON
//! but not what its kind should be is an [`Anomaly`]: what can be read of it is kept, and marked
//! so that it is never evicted and never a destination.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::value::RawValue;

use crate::capture::{self, Capture};
use crate::snapshot::{Kind, Snapshot};
use crate::volumes;
use crate::wire;
use crate::workloads::{Revision, Service, Workload, WorkloadKind};

mod anomaly;
mod budgets;
mod devices;
mod drafts;
mod finish;
mod migration;
mod next;
mod node;
mod other;
mod pod;
mod pools;
mod salvage;
mod selectors;
mod spec;
mod storage;
mod store;
mod templates;
mod usage;
mod workloads;

pub use anomaly::{Anomaly, Source, SyntaxError};
use anomaly::{Flaws, Origin};
use budgets::BudgetDraft;
pub(crate) use budgets::Stated as Terms;
use drafts::Draft;
pub use next::{Arrival, Changes};
use pools::Pools;
pub use salvage::check_syntax;
pub use store::Store;
use templates::Class;

/// Lists within lists are followed this deep; each level reads its text once more.
const LIST_DEPTH_MAX: usize = 8;

/// Collects objects until [`Ingest::finish`].
#[derive(Clone, Debug, Default)]
pub struct Ingest {
    pools: Pools,
    files: Vec<Arc<str>>,
    newest: Option<Timestamp>,
    capture: Option<Capture>,
    counts: BTreeMap<Box<str>, u64>,
    anomalies: Vec<Anomaly>,
    nodes: Vec<Draft<crate::node::Node>>,
    pods: Vec<pod::PodDraft>,
    budgets: Vec<Draft<BudgetDraft>>,
    workloads: BTreeMap<WorkloadKind, Vec<Draft<Option<Workload>>>>,
    revisions: Vec<Draft<Option<Revision>>>,
    services: Vec<Draft<Option<Service>>>,
    /// The kind of the workload that is being read; items of a `DeploymentList` do not say so.
    workload_kind: WorkloadKind,
    namespaces: Vec<Draft<Box<crate::labels::Labels>>>,
    priority_classes: Vec<Draft<Option<Class>>>,
    claims: Vec<Draft<Option<volumes::Claim>>>,
    volumes: Vec<Draft<Option<volumes::PersistentVolume>>>,
    classes: Vec<Draft<Option<volumes::StorageClass>>>,
    csi_nodes: Vec<Draft<Option<volumes::CsiNode>>>,
    csi_drivers: Vec<Draft<Option<volumes::CsiDriver>>>,
    attachments: Vec<Draft<Option<volumes::VolumeAttachment>>>,
    capacities: Vec<Draft<Option<volumes::CsiStorageCapacity>>>,
    device_claims: Vec<Draft<Option<crate::devices::ResourceClaim>>>,
    device_classes: Vec<Draft<Option<crate::devices::DeviceClass>>>,
    slices: Vec<Draft<Option<crate::devices::ResourceSlice>>>,
    node_usage: Vec<Draft<Option<crate::usage::NodeUsage>>>,
    pod_usage: Vec<Draft<Option<crate::usage::PodUsage>>>,
}

impl Ingest {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one JSON value: an object with a `kind`, or a list of such, nested or not.
    ///
    /// # Errors
    ///
    /// The text is not JSON, or lists are nested too deep. Nothing of it is taken then, except
    /// for the items of a list before the fault.
    pub fn add(&mut self, source: &Source, json: &[u8]) -> Result<(), SyntaxError> {
        let origin = self.origin(source);
        self.add_value(origin, json, None, LIST_DEPTH_MAX)
    }

    /// Takes one item of a list of `kind`, such as `PodList`; the item may name its own kind.
    ///
    /// # Errors
    ///
    /// As [`Ingest::add`].
    pub fn add_item(
        &mut self,
        source: &Source,
        list_kind: &str,
        json: &[u8],
    ) -> Result<(), SyntaxError> {
        let origin = self.origin(source);
        self.add_value(origin, json, item_kind(list_kind), LIST_DEPTH_MAX)
    }

    /// How many objects of each kind were given, those of no interest included; one given twice
    /// counts twice.
    pub fn counts(&self) -> &BTreeMap<Box<str>, u64> {
        &self.counts
    }

    /// What the objects say of how they were captured, if they were.
    pub fn capture(&self) -> Option<&Capture> {
        self.capture.as_ref()
    }

    /// The `kind` that the object in `json` names, if it is an object and names one.
    pub fn kind_of(json: &[u8]) -> Option<String> {
        let (kind, _) = wire::key_of_object(json).ok()?;
        kind.map(|kind| kind.to_string())
    }

    /// Whether `kind` is one that some rule reads; objects of other kinds are counted and skipped.
    pub fn knows(kind: &str) -> bool {
        Kind::of(kind).is_some()
    }

    /// Sorts what was collected and builds the snapshot.
    ///
    /// Ages count from `now`, else from the moment of a capture, else from the newest timestamp that
    /// an object bears, else from the epoch. The result does not depend on the order in which objects were added.
    pub fn finish(self, now: Option<Timestamp>) -> (Snapshot, Vec<Anomaly>) {
        finish::finish(self, now)
    }

    /// The snapshot that follows when things have happened to a cluster. What did not change is
    /// carried over, so this costs far less than reading a cluster.
    pub fn next(snapshot: Snapshot, changes: Changes) -> Snapshot {
        next::next(snapshot, changes)
    }

    fn origin(&mut self, source: &Source) -> Origin {
        if self.files.last() != Some(&source.file) {
            self.files.push(Arc::clone(&source.file));
        }
        Origin { file: (self.files.len() - 1) as u32, index: source.index }
    }

    fn add_value(
        &mut self,
        origin: Origin,
        json: &[u8],
        default_kind: Option<&str>,
        depth: usize,
    ) -> Result<(), SyntaxError> {
        let (kind, items) = match wire::key_of_object(json) {
            Ok(found) => found,
            Err(error) => {
                salvage::check_syntax(json)?;
                let problem = if error.is_data() { "is not an object" } else { "cannot be read" };
                self.complain(origin, "value without a kind", "", problem);
                return Ok(());
            }
        };
        let kind = kind.as_deref().filter(|kind| !kind.is_empty());
        match kind.or(default_kind) {
            Some(kind) if kind.ends_with("List") => self.add_list(origin, json, kind, depth),
            Some(kind) => self.add_object(origin, json, kind),
            None if items => self.add_list(origin, json, "List", depth),
            None => {
                salvage::check_syntax(json)?;
                let name = salvage::name_of(json);
                self.complain(origin, &name, "kind", "the object has no `kind`");
                Ok(())
            }
        }
    }

    fn add_list(
        &mut self,
        origin: Origin,
        json: &[u8],
        kind: &str,
        depth: usize,
    ) -> Result<(), SyntaxError> {
        salvage::check_syntax(json)?;
        let Some(depth) = depth.checked_sub(1) else {
            return Err(SyntaxError::at_start(format!(
                "lists are nested more than {LIST_DEPTH_MAX} deep"
            )));
        };
        let items: Result<Option<Vec<&RawValue>>, _> =
            serde_json::from_slice(json).and_then(|header: wire::Header<'_>| match header.items {
                Some(items) => serde_json::from_str(items.get()).map(Some),
                None => Ok(None),
            });
        match items {
            Ok(items) => {
                for item in items.into_iter().flatten() {
                    let inner = item.get();
                    // The item's text lies within the list's, so the difference is its place.
                    let before = inner.as_ptr() as usize - json.as_ptr() as usize;
                    self.add_value(origin, inner.as_bytes(), item_kind(kind), depth)
                        .map_err(|error| error.moved(&json[..before]))?;
                }
            }
            Err(error) => {
                let problem = salvage::without_position(&error);
                self.complain(origin, kind, "items", &problem);
            }
        }
        Ok(())
    }

    fn add_object(&mut self, origin: Origin, json: &[u8], kind: &str) -> Result<(), SyntaxError> {
        match Kind::of(kind) {
            Some(kind) => self.read_kind(origin, json, kind)?,
            None => {
                salvage::check_syntax(json)?;
                if kind == capture::KIND && self.add_capture(origin, json) {
                    return Ok(());
                }
            }
        }
        match self.counts.get_mut(kind) {
            Some(count) => *count += 1,
            None => {
                self.counts.insert(kind.into(), 1);
            }
        }
        Ok(())
    }

    /// Takes what a capture says of itself; `false` if this is an object of somebody else's kind.
    fn add_capture(&mut self, origin: Origin, json: &[u8]) -> bool {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Versioned<'a> {
            #[serde(borrow)]
            api_version: wire::Text<'a>,
        }
        let versioned = serde_json::from_slice::<Versioned<'_>>(json);
        if versioned.is_ok_and(|versioned| *versioned.api_version != *capture::API_VERSION) {
            return false;
        }
        match serde_json::from_slice::<Capture>(json) {
            Ok(capture) => self.capture.get_or_insert_default().join(capture),
            Err(error) => {
                let problem = salvage::without_position(&error);
                self.complain(origin, capture::KIND, "", &problem);
            }
        }
        true
    }

    fn read_kind(&mut self, origin: Origin, json: &[u8], kind: Kind) -> Result<(), SyntaxError> {
        match kind {
            Kind::Pod => self.read::<pod::PodObject>(origin, json),
            Kind::Node => self.read::<node::NodeObject>(origin, json),
            Kind::PodDisruptionBudget => self.read::<budgets::BudgetObject>(origin, json),
            Kind::Namespace => self.read::<other::NamespaceObject>(origin, json),
            Kind::PriorityClass => self.read::<other::PriorityClassObject>(origin, json),
            Kind::Service => self.read::<other::ServiceObject>(origin, json),
            Kind::PersistentVolumeClaim => self.read::<storage::ClaimObject>(origin, json),
            Kind::PersistentVolume => self.read::<storage::VolumeObject>(origin, json),
            Kind::StorageClass => self.read::<storage::ClassObject>(origin, json),
            Kind::CsiNode => self.read::<storage::CsiNodeObject>(origin, json),
            Kind::CsiDriver => self.read::<storage::CsiDriverObject>(origin, json),
            Kind::CsiStorageCapacity => self.read::<storage::CapacityObject>(origin, json),
            Kind::VolumeAttachment => self.read::<storage::AttachmentObject>(origin, json),
            Kind::ResourceClaim => self.read::<devices::ClaimObject>(origin, json),
            Kind::DeviceClass => self.read::<devices::ClassObject>(origin, json),
            Kind::ResourceSlice => self.read::<devices::SliceObject>(origin, json),
            Kind::NodeMetrics => self.read::<usage::NodeMetricsObject>(origin, json),
            Kind::PodMetrics => self.read::<usage::PodMetricsObject>(origin, json),
            Kind::ReplicaSet => self.read_workload(origin, json, WorkloadKind::ReplicaSet),
            Kind::StatefulSet => self.read_workload(origin, json, WorkloadKind::StatefulSet),
            Kind::Deployment => self.read_workload(origin, json, WorkloadKind::Deployment),
            Kind::Job => self.read_workload(origin, json, WorkloadKind::Job),
            Kind::DaemonSet => self.read_workload(origin, json, WorkloadKind::DaemonSet),
            Kind::ReplicationController => {
                self.read_workload(origin, json, WorkloadKind::ReplicationController)
            }
            Kind::ControllerRevision => self.read::<workloads::RevisionObject>(origin, json),
        }
    }

    fn read_workload(
        &mut self,
        origin: Origin,
        json: &[u8],
        kind: WorkloadKind,
    ) -> Result<(), SyntaxError> {
        self.workload_kind = kind;
        match kind {
            WorkloadKind::ReplicationController => {
                self.read::<workloads::ControllerObject>(origin, json)
            }
            WorkloadKind::ReplicaSet
            | WorkloadKind::StatefulSet
            | WorkloadKind::Deployment
            | WorkloadKind::Job
            | WorkloadKind::DaemonSet => self.read::<workloads::WorkloadObject>(origin, json),
        }
    }

    /// Reads an object of one kind, as well as can be.
    fn read<K: Object>(&mut self, origin: Origin, json: &[u8]) -> Result<(), SyntaxError> {
        match serde_json::from_slice::<K::Wire<'_>>(json) {
            Ok(object) => {
                K::take(self, origin, json, object, Flaws::default());
            }
            Err(_) => {
                let (text, flaws) =
                    salvage::salvage(json, |text| salvage::probe::<K::Wire<'_>>(text))?;
                let object = serde_json::from_str(&text).unwrap_or_default();
                K::take(self, origin, json, object, flaws);
            }
        }
        Ok(())
    }

    fn saw(&mut self, moment: Option<Timestamp>) {
        self.newest = self.newest.max(moment);
    }

    fn complain(&mut self, origin: Origin, object: &str, field: &str, problem: &str) {
        let problem =
            if field.is_empty() { problem.to_owned() } else { format!("`{field}`: {problem}") };
        self.anomalies.push(Anomaly {
            object: object.to_owned(),
            problem,
            field: field.to_owned(),
            file: Arc::clone(&self.files[origin.file as usize]),
            index: origin.index,
        });
    }

    /// A draft of `value`, of which nothing is kept if it is flawed. What is wrong is said.
    fn settle<T>(
        &mut self,
        origin: Origin,
        json: &[u8],
        kind: (&str, bool),
        metadata: &wire::Metadata<'_>,
        flaws: &Flaws,
        value: T,
    ) -> Draft<Option<T>> {
        self.note(origin, json, kind, metadata, flaws, flaws.is_empty().then_some(value))
    }

    /// A draft of `value`, which may be missing: it still stands for an object. `kind` comes with
    /// whether it has namespaces.
    fn note<T>(
        &mut self,
        origin: Origin,
        json: &[u8],
        (kind, namespaced): (&str, bool),
        metadata: &wire::Metadata<'_>,
        flaws: &Flaws,
        value: Option<T>,
    ) -> Draft<Option<T>> {
        self.saw(metadata.creation_timestamp);
        if !flaws.is_empty() {
            let name = wire::text(&metadata.name);
            let object = match namespaced {
                true => format!("{kind} {}/{name}", pools::namespace_of(metadata)),
                false => format!("{kind} {name}"),
            };
            self.complain_all(origin, &object, flaws);
        }
        Draft::new(&mut self.pools, metadata, namespaced, json, origin, value)
    }

    fn complain_all(&mut self, origin: Origin, object: &str, flaws: &Flaws) {
        for (field, problem) in flaws.iter() {
            self.complain(origin, object, field, problem);
        }
    }
}

/// A kind that is read.
trait Object {
    /// As the API writes it.
    type Wire<'a>: serde::Deserialize<'a> + Default;

    /// Turns it into a draft. `flaws` are the parts that could not be read and were left out.
    fn take(ingest: &mut Ingest, origin: Origin, json: &[u8], object: Self::Wire<'_>, flaws: Flaws);
}

/// What the items of a list are if they do not say so themselves.
fn item_kind(list_kind: &str) -> Option<&str> {
    list_kind.strip_suffix("List").filter(|kind| !kind.is_empty())
}

#[cfg(test)]
mod tests;
