//! Devices that drivers hand out (docs/spec/scheduler.md sections 4.2 and 8).

use super::anomaly::{Flaws, Origin};
use super::pools::namespace_of;
use super::selectors::node_selector;
use super::{Ingest, Object};
use crate::devices::{Allocation, DeviceClass, Reach, ResourceClaim, ResourceSlice};
use crate::wire::{self, text};

pub(super) enum ClaimObject {}

impl Object for ClaimObject {
    type Wire<'a> = wire::ResourceClaim<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::ResourceClaim<'_>,
        flaws: Flaws,
    ) {
        let metadata = object.metadata.unwrap_or_default();
        let status = object.status.unwrap_or_default();
        let pools = &mut ingest.pools;
        let allocation = status.allocation.as_ref().map(|allocation| {
            let devices = allocation.devices.iter().flat_map(|devices| &devices.results).flatten();
            let mut conditions = devices.filter_map(|device| device.binding_conditions.as_ref());
            let nodes = allocation.node_selector.as_ref();
            Allocation {
                nodes: nodes.map(|nodes| node_selector(pools, nodes)),
                conditional: conditions.any(|conditions| !conditions.is_empty()),
            }
        });
        let users = status.reserved_for.iter().flatten();
        let claim = ResourceClaim {
            namespace: pools.sym(namespace_of(&metadata)),
            name: text(&metadata.name).into(),
            deleting: metadata.deletion_timestamp.is_some(),
            allocation,
            reserved_for: users.map(|user| pools.sym_of(&user.uid)).collect(),
        };
        let draft = ingest.settle(origin, json, ("ResourceClaim", true), &metadata, &flaws, claim);
        ingest.device_claims.push(draft);
    }
}

pub(super) enum ClassObject {}

impl Object for ClassObject {
    type Wire<'a> = wire::DeviceClass<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::DeviceClass<'_>,
        flaws: Flaws,
    ) {
        let metadata = object.metadata.unwrap_or_default();
        let class = DeviceClass {
            name: ingest.pools.sym_of(&metadata.name),
            resource: ingest.pools.sym_of(&object.spec.unwrap_or_default().extended_resource_name),
        };
        let draft = ingest.settle(origin, json, ("DeviceClass", false), &metadata, &flaws, class);
        ingest.device_classes.push(draft);
    }
}

pub(super) enum SliceObject {}

impl Object for SliceObject {
    type Wire<'a> = wire::ResourceSlice<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::ResourceSlice<'_>,
        flaws: Flaws,
    ) {
        let metadata = object.metadata.unwrap_or_default();
        let spec = object.spec.unwrap_or_default();
        let pools = &mut ingest.pools;
        let reach = match (pools.name_of(&spec.node_name), &spec.node_selector) {
            (Some(node), _) => Reach::Node(node),
            (None, Some(selector)) => Reach::Matching(node_selector(pools, selector)),
            (None, None) => Reach::Any,
        };
        let slice = ResourceSlice { name: pools.sym_of(&metadata.name), reach };
        let draft = ingest.settle(origin, json, ("ResourceSlice", false), &metadata, &flaws, slice);
        ingest.slices.push(draft);
    }
}
