//! Devices that drivers hand out (docs/spec/scheduler.md sections 4.2 and 8).

use super::anomaly::{Flaws, Origin};
use super::selectors::node_selector;
use super::{Ingest, Object};
use crate::devices::{DeviceClass, Reach, ResourceSlice};
use crate::wire;

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
