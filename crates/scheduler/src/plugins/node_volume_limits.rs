//! NodeVolumeLimits: how many volumes of a CSI driver a node can attach
//! (docs/spec/scheduler.md sections 8 and 14.6).

use descheduler_cluster::volumes::successor;
use descheduler_cluster::{Claim, CsiNode, NodeId, Sym};
use hashbrown::{HashMap, HashSet};

use super::{NodeFilter, Prepared, Rejection, never, not_now};
use crate::cycle::Cycle;
use crate::outcome::Why;
use crate::pod::PodRef;

/// A volume, by its driver and what names it there.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Volume<'s> {
    Known {
        driver: Sym,
        handle: Sym,
    },
    /// To be made for a claim.
    Wanted {
        driver: Sym,
        namespace: Sym,
        claim: &'s str,
    },
}

impl Volume<'_> {
    fn driver(self) -> Sym {
        match self {
            Self::Known { driver, .. } | Self::Wanted { driver, .. } => driver,
        }
    }
}

struct Limits;

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    let pod = cycle.pod;
    let nothing = pod.claims.is_empty()
        && pod.ephemeral_claims.is_empty()
        && pod.spec.migrated_disks.is_empty();
    if nothing { Prepared::Skip } else { Prepared::filter(Limits) }
}

impl<'s> NodeFilter<'s> for Limits {
    fn check(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        let snapshot = cycle.snapshot();
        let name = snapshot.sym(&snapshot.node(node).name);
        let csi_node = snapshot.csi_node(name);
        let mut new = HashSet::new();
        volumes_of(cycle, csi_node, cycle.pod, true, &mut new)?;
        if cycle.model.rules.missing_drivers_count {
            let lacks = |volume: &Volume<'_>| lacks_required(cycle, csi_node, volume.driver());
            if new.iter().any(lacks) {
                return not_now(Why::DriverMissing);
            }
        }
        let Some(csi_node) = csi_node else { return Ok(()) };
        let limits: HashMap<Sym, i64> =
            csi_node.drivers.iter().filter_map(|&(driver, limit)| Some((driver, limit?))).collect();
        if new.is_empty() || limits.is_empty() {
            return Ok(());
        }
        let mut used = HashSet::new();
        for occupant in cycle.occupancy.occupants(node) {
            volumes_of(cycle, Some(csi_node), &occupant.pod, false, &mut used)?;
        }
        new.retain(|volume| !used.contains(volume));
        // A volume that is attached without being used counts here and, if it is the pod's own,
        // among the new ones too.
        for attachment in snapshot.attachments_of(name) {
            let volume = snapshot.volume(attachment.volume).and_then(|volume| volume.csi);
            if let Some((_, handle)) = volume {
                used.insert(Volume::Known { driver: attachment.attacher, handle });
            }
        }
        let count = |volumes: &HashSet<Volume<'_>>, driver: Sym| {
            volumes.iter().filter(|volume| volume.driver() == driver).count() as i64
        };
        let exceeded = new.iter().any(|volume| {
            let driver = volume.driver();
            let limit = limits.get(&driver);
            limit.is_some_and(|&limit| count(&used, driver) + count(&new, driver) > limit)
        });
        if exceeded { not_now(Why::VolumeLimit) } else { Ok(()) }
    }
}

fn lacks_required(cycle: &Cycle<'_, '_>, csi_node: Option<&CsiNode>, driver: Sym) -> bool {
    let required = cycle.snapshot().csi_driver(driver).is_some_and(|d| d.prevent_if_missing);
    let has = |node: &CsiNode| node.drivers.iter().any(|&(name, _)| name == driver);
    required && !csi_node.is_some_and(has)
}

/// Adds the attachable volumes of a pod. A claim that is not known is passed over where the pod is
/// there already; any other fault ends the cycle.
fn volumes_of<'s>(
    cycle: &Cycle<'_, 's>,
    csi_node: Option<&CsiNode>,
    pod: &PodRef<'s>,
    new: bool,
    found: &mut HashSet<Volume<'s>>,
) -> Result<(), Rejection> {
    let claims = pod.claims.iter().map(|name| (name, false));
    for (name, ephemeral) in claims.chain(pod.ephemeral_claims.iter().map(|name| (name, true))) {
        let Some(claim) = cycle.snapshot().claim(pod.namespace, name) else {
            if new {
                return never(Why::ClaimUnknown);
            }
            continue;
        };
        if ephemeral && !super::volume_binding::is_for(cycle, claim, pod) {
            let problem = format!("claim `{name}` was not made for the pod");
            return Err(Rejection::Error(problem));
        }
        found.extend(volume_of(cycle, csi_node, claim));
    }
    for disk in &pod.spec.migrated_disks {
        if takes_over(cycle, csi_node, disk.plugin) {
            let Some(handle) = disk.handle else {
                let problem = "a volume has no name with the driver that took over";
                return Err(Rejection::Error(problem.to_owned()));
            };
            found.insert(Volume::Known { driver: disk.driver, handle });
        }
    }
    Ok(())
}

/// Whether the volumes of a driver that was part of Kubernetes count on a node.
fn takes_over(cycle: &Cycle<'_, '_>, csi_node: Option<&CsiNode>, plugin: Sym) -> bool {
    let announced = cycle.model.rules.migration_is_announced
        && cycle.snapshot().text(plugin) == "kubernetes.io/portworx-volume";
    csi_node.is_some_and(|node| !announced || node.migrated.contains(&plugin))
}

fn volume_of<'s>(
    cycle: &Cycle<'_, 's>,
    csi_node: Option<&CsiNode>,
    claim: &'s Claim,
) -> Option<Volume<'s>> {
    let snapshot = cycle.snapshot();
    if let Some(volume) = snapshot.volume(claim.volume) {
        if let Some((driver, handle)) = volume.csi {
            return Some(Volume::Known { driver, handle });
        }
        let disk = volume.legacy.as_ref()?.disk;
        let handle = disk.handle.filter(|_| takes_over(cycle, csi_node, disk.plugin))?;
        return Some(Volume::Known { driver: disk.driver, handle });
    }
    let provisioner = snapshot.storage_class(claim.class)?.provisioner;
    let driver = match successor(snapshot.text(provisioner)) {
        Some(driver) => takes_over(cycle, csi_node, provisioner).then(|| snapshot.sym(driver))?,
        None => provisioner,
    };
    Some(Volume::Wanted { driver, namespace: claim.namespace, claim: &claim.name })
}
