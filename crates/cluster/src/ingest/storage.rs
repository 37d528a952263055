//! Claims, volumes, and what decides where a volume can be (docs/spec/scheduler.md section 8).
//!
//! Half an object would pass for one that asks for less than it does, so one that is flawed is
//! left out: what is not known stops a pod from being moved, what is known wrongly does not.

use super::anomaly::{Flaws, Origin};
use super::migration;
use super::pools::{Pools, complain_of_amounts, namespace_of};
use super::selectors::{node_selector, selector_of};
use super::{Ingest, Object};
use crate::intern::Sym;
use crate::quantity::Quantity;
use crate::requests::Totals;
use crate::volumes::{
    AccessModes, Claim, ClaimRef, CsiDriver, CsiNode, CsiStorageCapacity, PersistentVolume,
    StorageClass, TopologyTerm, VolumeAttachment,
};
use crate::wire::{self, Amount, Amounts, Metadata, Text, text};

pub(super) enum ClaimObject {}

impl Object for ClaimObject {
    type Wire<'a> = wire::Claim<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::Claim<'_>,
        mut flaws: Flaws,
    ) {
        let metadata = object.metadata.unwrap_or_default();
        let spec = object.spec.unwrap_or_default();
        let pools = &mut ingest.pools;
        let requests = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
        let requested = storage(requests, "spec.resources.requests", &mut flaws);
        let field = || "spec.selector".to_owned();
        let selector = selector_of(pools, spec.selector.as_ref(), field, &mut flaws);
        let annotations = metadata.annotations.as_ref();
        let volume = pools.sym_of(&spec.volume_name);
        let spec_class = pools.sym_of(&spec.storage_class_name);
        let claim = Claim {
            namespace: pools.sym(namespace_of(&metadata)),
            name: text(&metadata.name).into(),
            uid: text(&metadata.uid).into(),
            owners: pools.share_owners(metadata.owner_references.as_ref()),
            class: class(pools, &metadata, spec_class),
            spec_class,
            volume,
            bound: volume != Sym::EMPTY && annotations.is_some_and(|a| a.bind_completed.is_some()),
            lost: text(&object.status.unwrap_or_default().phase) == "Lost",
            deleting: metadata.deletion_timestamp.is_some(),
            requested,
            access_modes: access_modes(spec.access_modes.as_ref()),
            selected_node: annotations.and_then(|a| pools.name_of(&a.selected_node)),
            block: text(&spec.volume_mode) == "Block",
            selector: selector.unwrap_or_default(),
            attributes_class: pools.sym_of(&spec.volume_attributes_class_name),
        };
        let draft =
            ingest.settle(origin, json, ("PersistentVolumeClaim", true), &metadata, &flaws, claim);
        ingest.claims.push(draft);
    }
}

pub(super) enum VolumeObject {}

impl Object for VolumeObject {
    type Wire<'a> = wire::PersistentVolume<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::PersistentVolume<'_>,
        mut flaws: Flaws,
    ) {
        let metadata = object.metadata.unwrap_or_default();
        let spec = object.spec.unwrap_or_default();
        let pools = &mut ingest.pools;
        let spec_class = pools.sym_of(&spec.storage_class_name);
        let affinity = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
        let volume = PersistentVolume {
            name: pools.sym_of(&metadata.name),
            labels: pools.pairs(metadata.labels.as_ref()),
            deleting: metadata.deletion_timestamp.is_some(),
            capacity: storage(spec.capacity.as_ref(), "spec.capacity", &mut flaws),
            class: class(pools, &metadata, spec_class),
            block: text(&spec.volume_mode) == "Block",
            attributes_class: pools.sym_of(&spec.volume_attributes_class_name),
            claim: spec.claim_ref.as_ref().map(|claim| ClaimRef {
                namespace: pools.sym_of(&claim.namespace),
                name: text(&claim.name).into(),
                uid: text(&claim.uid).into(),
            }),
            available: text(&object.status.unwrap_or_default().phase) == "Available",
            access_modes: access_modes(spec.access_modes.as_ref()),
            affinity: affinity.map(|affinity| node_selector(pools, affinity)),
            csi: spec
                .csi
                .as_ref()
                .map(|csi| (pools.sym_of(&csi.driver), pools.sym_of(&csi.volume_handle))),
            legacy: migration::of_volume(pools, &spec, metadata.labels.as_ref()),
        };
        let draft =
            ingest.settle(origin, json, ("PersistentVolume", false), &metadata, &flaws, volume);
        ingest.volumes.push(draft);
    }
}

pub(super) enum ClassObject {}

impl Object for ClassObject {
    type Wire<'a> = wire::StorageClass<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::StorageClass<'_>,
        flaws: Flaws,
    ) {
        let metadata = object.metadata.unwrap_or_default();
        let pools = &mut ingest.pools;
        let topologies = object.allowed_topologies.iter().flatten();
        let class = StorageClass {
            name: pools.sym_of(&metadata.name),
            provisioner: pools.sym_of(&object.provisioner),
            delayed: text(&object.volume_binding_mode) == "WaitForFirstConsumer",
            allowed_topologies: topologies
                .map(|topology| -> TopologyTerm {
                    let keys = topology.match_label_expressions.iter().flatten();
                    keys.map(|one| (pools.sym_of(&one.key), pools.syms(one.values.as_ref())))
                        .collect()
                })
                .collect(),
        };
        let draft = ingest.settle(origin, json, ("StorageClass", false), &metadata, &flaws, class);
        ingest.classes.push(draft);
    }
}

pub(super) enum CsiNodeObject {}

impl Object for CsiNodeObject {
    type Wire<'a> = wire::CsiNode<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::CsiNode<'_>,
        flaws: Flaws,
    ) {
        let metadata = object.metadata.unwrap_or_default();
        let spec = object.spec.unwrap_or_default();
        let pools = &mut ingest.pools;
        let annotations = metadata.annotations.as_ref();
        let migrated = annotations.and_then(|a| a.migrated_plugins.as_deref()).unwrap_or_default();
        let names = migrated.split(',').filter(|name| !name.is_empty());
        let mut migrated: Vec<Sym> = names.map(|name| pools.sym(name)).collect();
        migrated.sort_unstable();
        let drivers = spec.drivers.iter().flatten();
        let node = CsiNode {
            node: pools.sym_of(&metadata.name),
            drivers: drivers
                .map(|driver| {
                    let count = driver.allocatable.as_ref().and_then(|room| room.count);
                    (pools.sym_of(&driver.name), count.map(|count| count.0))
                })
                .collect(),
            migrated: migrated.into_boxed_slice(),
        };
        let draft = ingest.settle(origin, json, ("CSINode", false), &metadata, &flaws, node);
        ingest.csi_nodes.push(draft);
    }
}

pub(super) enum AttachmentObject {}

impl Object for AttachmentObject {
    type Wire<'a> = wire::VolumeAttachment<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::VolumeAttachment<'_>,
        flaws: Flaws,
    ) {
        let metadata = object.metadata.unwrap_or_default();
        let spec = object.spec.unwrap_or_default();
        let pools = &mut ingest.pools;
        let volume = spec.source.as_ref().map(|source| &source.persistent_volume_name);
        let attachment = VolumeAttachment {
            name: text(&metadata.name).into(),
            attacher: pools.sym_of(&spec.attacher),
            node: pools.sym_of(&spec.node_name),
            volume: volume.map_or(Sym::EMPTY, |volume| pools.sym_of(volume)),
        };
        let draft =
            ingest.settle(origin, json, ("VolumeAttachment", false), &metadata, &flaws, attachment);
        ingest.attachments.push(draft);
    }
}

pub(super) enum CsiDriverObject {}

impl Object for CsiDriverObject {
    type Wire<'a> = wire::CsiDriver<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::CsiDriver<'_>,
        flaws: Flaws,
    ) {
        let metadata = object.metadata.unwrap_or_default();
        let spec = object.spec.unwrap_or_default();
        let driver = CsiDriver {
            name: ingest.pools.sym_of(&metadata.name),
            storage_capacity: spec.storage_capacity == Some(true),
            prevent_if_missing: spec.prevent_pod_scheduling_if_missing == Some(true),
        };
        let draft = ingest.settle(origin, json, ("CSIDriver", false), &metadata, &flaws, driver);
        ingest.csi_drivers.push(draft);
    }
}

pub(super) enum CapacityObject {}

impl Object for CapacityObject {
    type Wire<'a> = wire::CsiStorageCapacity<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::CsiStorageCapacity<'_>,
        mut flaws: Flaws,
    ) {
        let metadata = object.metadata.unwrap_or_default();
        let pools = &mut ingest.pools;
        let field = || "nodeTopology".to_owned();
        let topology = selector_of(pools, object.node_topology.as_ref(), field, &mut flaws);
        let capacity = CsiStorageCapacity {
            namespace: pools.sym(namespace_of(&metadata)),
            name: text(&metadata.name).into(),
            class: pools.sym_of(&object.storage_class_name),
            topology: topology.unwrap_or_default(),
            capacity: bytes(object.capacity.as_ref(), "capacity", &mut flaws),
            maximum_volume_size: bytes(
                object.maximum_volume_size.as_ref(),
                "maximumVolumeSize",
                &mut flaws,
            ),
        };
        let draft =
            ingest.settle(origin, json, ("CSIStorageCapacity", true), &metadata, &flaws, capacity);
        ingest.capacities.push(draft);
    }
}

/// The storage class: what the annotation from before there was a field says comes first.
fn class(pools: &mut Pools, metadata: &Metadata<'_>, of_spec: Sym) -> Sym {
    let annotations = metadata.annotations.as_ref();
    let annotation = annotations.and_then(|annotations| annotations.storage_class.as_ref());
    annotation.map_or(of_spec, |class| pools.sym(class))
}

fn access_modes(modes: Option<&Vec<Text<'_>>>) -> AccessModes {
    modes.into_iter().flatten().fold(AccessModes::default(), |modes, mode| {
        modes.and(match &**mode {
            "ReadWriteOnce" => AccessModes::READ_WRITE_ONCE,
            "ReadOnlyMany" => AccessModes::READ_ONLY_MANY,
            "ReadWriteMany" => AccessModes::READ_WRITE_MANY,
            "ReadWriteOncePod" => AccessModes::READ_WRITE_ONCE_POD,
            // No such mode: the API server lets none through.
            _ => AccessModes::default(),
        })
    })
}

/// The amount of `storage` in bytes, 0 when there is none.
fn storage(amounts: Option<&Amounts<'_>>, field: &str, flaws: &mut Flaws) -> i64 {
    complain_of_amounts(amounts, || field.to_owned(), flaws);
    Totals::of(amounts).find("storage").map_or(0, Quantity::value)
}

fn bytes(amount: Option<&Amount>, field: &str, flaws: &mut Flaws) -> Option<i64> {
    match &amount?.0 {
        Ok(amount) => Some(amount.value()),
        Err(problem) => {
            flaws.push(field, problem.to_string());
            None
        }
    }
}
