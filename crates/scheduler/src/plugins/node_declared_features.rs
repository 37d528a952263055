//! NodeDeclaredFeatures (docs/spec/scheduler.md sections 3.6 and 14.7).

use descheduler_cluster::{NodeId, Sym};

use super::{NodeFilter, Prepared, Rejection, never};
use crate::cycle::Cycle;
use crate::outcome::Why;

/// Features that a node must have declared.
struct Needed(Vec<Sym>);

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    let rules = &cycle.model.rules;
    let features = cycle.pod.spec.features;
    let needed = [
        (features.restart_all_containers, "RestartAllContainersOnContainerExits"),
        (features.user_namespaces_host_network, "UserNamespacesHostNetworkSupport"),
        (features.bind_mount_options && rules.bind_mount_options, "VolumeBindMountOptions"),
    ];
    let needed = needed.into_iter().filter(|(is_needed, _)| *is_needed);
    let needed: Vec<Sym> = needed.map(|(_, name)| cycle.snapshot().sym(name)).collect();
    match rules.declared_features && !needed.is_empty() {
        true => Prepared::filter(Needed(needed)),
        false => Prepared::Skip,
    }
}

impl<'s> NodeFilter<'s> for Needed {
    fn check(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        let declared = &cycle.snapshot().node(node).declared_features;
        match self.0.iter().all(|feature| declared.contains(feature)) {
            true => Ok(()),
            false => never(Why::MissingFeature),
        }
    }
}
