//! DynamicResources, as far as files allow (docs/spec/scheduler.md section 8).
//!
//! Whether a claim can be met, and whether devices can be had for an extended resource, is decided
//! by expressions over devices that are not evaluated here. So it is not known, and what is not
//! known keeps the pod. Known is where a claim can be used that was met before, and stays so
//! because other pods use it.

use descheduler_cluster::affinity::NodeMatch;
use descheduler_cluster::devices::ResourceClaim;
use descheduler_cluster::{Kind, NodeId, NodeSelector, ResourceId, Sym};

use super::{NodeFilter, Prepared, Rejection, never};
use crate::cycle::Cycle;
use crate::outcome::{Code, Why};

struct Devices<'s> {
    /// Where the claims of the pod can be used.
    claims: Vec<&'s NodeSelector>,
    /// Extended resources that the pod would get as devices where a node has none of them itself.
    resources: Vec<ResourceId>,
}

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    let claims = cycle.pod.spec.resource_claims.iter();
    let claims: Result<Vec<_>, Why> = claims.map(|&claim| reach_of(cycle, claim)).collect();
    let claims = match claims {
        Ok(claims) => claims.into_iter().flatten().collect(),
        Err(why) => return Prepared::Reject(Code::UnschedulableAndUnresolvable, why),
    };
    let devices = Devices { claims, resources: wanted(cycle) };
    if devices.claims.is_empty() && devices.resources.is_empty() {
        return Prepared::Skip;
    }
    let snapshot = cycle.snapshot();
    let is_open = |&&node: &&NodeId| devices.needs(cycle, node) && snapshot.may_have_devices(node);
    match snapshot.nodes().iter().find(is_open) {
        // It might win, or not be feasible at all.
        Some(_) => Prepared::Reject(Code::UnschedulableAndUnresolvable, Why::ResourceClaims),
        None => Prepared::filter(devices),
    }
}

/// Where a claim of the pod can be used, if that is known; everywhere when `None`.
fn reach_of<'s>(
    cycle: &Cycle<'_, 's>,
    claim: Option<Sym>,
) -> Result<Option<&'s NodeSelector>, Why> {
    let (snapshot, pod) = (cycle.snapshot(), cycle.pod);
    // One that is made for each pod has yet to be met.
    let name = snapshot.text(claim.ok_or(Why::ResourceClaims)?);
    let claim = snapshot.resource_claim(pod.namespace, name).ok_or(Why::ResourceClaims)?;
    let stored = snapshot.pod(pod.id);
    let own = snapshot.sym(&stored.uid);
    // A pod that has a node will be another by then.
    let is_user = stored.node_name.is_none() && claim.reserved_for.contains(&own);
    let is_full = claim.reserved_for.len() >= ResourceClaim::USERS_MAX;
    if claim.deleting || (claim.allocation.is_some() && is_full && !is_user) {
        return Err(Why::ResourceClaimInUse);
    }
    // What nobody uses any more is given back.
    let stays = is_user || claim.reserved_for.iter().any(|&user| user != own);
    match &claim.allocation {
        Some(allocation) if stays && !allocation.conditional => Ok(allocation.nodes.as_ref()),
        _ => Err(Why::ResourceClaims),
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

impl Devices<'_> {
    /// Whether the node would have to hand out devices for extended resources.
    fn needs(&self, cycle: &Cycle<'_, '_>, node: NodeId) -> bool {
        let allocatable = &cycle.snapshot().node(node).allocatable;
        self.resources.iter().any(|&resource| allocatable.get(resource) == 0)
    }
}

impl<'s> NodeFilter<'s> for Devices<'_> {
    fn check(&self, cycle: &Cycle<'_, 's>, id: NodeId) -> Result<(), Rejection> {
        let node = cycle.snapshot().node(id);
        let strings = cycle.snapshot().strings();
        let reaches =
            |&nodes: &&NodeSelector| nodes.matches(node, &node.labels, strings) == NodeMatch::Yes;
        if !self.claims.iter().all(reaches) {
            return never(Why::ResourceClaimElsewhere);
        }
        if self.needs(cycle, id) { never(Why::NoDevices) } else { Ok(()) }
    }
}
