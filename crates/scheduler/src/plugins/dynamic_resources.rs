//! DynamicResources, as far as files allow (docs/spec/scheduler.md section 8).
//!
//! Whether a claim can be met, and whether devices can be had for an extended resource, is decided
//! by expressions over devices that are not evaluated here. So it is not known, and what is not
//! known keeps the pod.

use descheduler_cluster::{Kind, NodeId, ResourceId};

use super::{NodeFilter, Prepared, Rejection, never};
use crate::cycle::Cycle;
use crate::outcome::{Code, Why};

/// Extended resources that the pod would get as devices where a node has none of them itself.
struct AsDevices(Vec<ResourceId>);

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    const UNKNOWN: Code = Code::UnschedulableAndUnresolvable;
    if cycle.pod.spec.resource_claims {
        return Prepared::Reject(UNKNOWN, Why::ResourceClaims);
    }
    let wanted = wanted(cycle);
    if wanted.is_empty() {
        return Prepared::Skip;
    }
    let (snapshot, devices) = (cycle.snapshot(), AsDevices(wanted));
    let is_open = |&&node: &&NodeId| devices.needs(cycle, node) && snapshot.may_have_devices(node);
    match snapshot.nodes().iter().find(is_open) {
        // It might win, or not be feasible at all.
        Some(_) => Prepared::Reject(UNKNOWN, Why::ResourceClaims),
        None => Prepared::filter(devices),
    }
}

/// The resources that the pod asks for and that a class of devices stands for.
pub(super) fn wanted(cycle: &Cycle<'_, '_>) -> Vec<ResourceId> {
    let snapshot = cycle.snapshot();
    if !cycle.model.rules.device_resources || !snapshot.has(Kind::DeviceClass) {
        return Vec::new();
    }
    let asked = cycle.pod.requests.iter().filter(|&(_, amount)| amount > 0);
    let asked = asked.map(|(resource, _)| resource);
    asked.filter(|&one| snapshot.is_device_resource(snapshot.resource_name(one))).collect()
}

impl AsDevices {
    fn needs(&self, cycle: &Cycle<'_, '_>, node: NodeId) -> bool {
        let allocatable = &cycle.snapshot().node(node).allocatable;
        self.0.iter().any(|&resource| allocatable.get(resource) == 0)
    }
}

impl<'s> NodeFilter<'s> for AsDevices {
    fn check(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        if self.needs(cycle, node) { never(Why::NoDevices) } else { Ok(()) }
    }
}
