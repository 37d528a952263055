//! VolumeRestrictions: claims for a single pod and inline disks for a single writer
//! (docs/spec/scheduler.md section 8).

use descheduler_cluster::{AccessModes, InlineVolume, NodeId};

use super::{NodeFilter, Prepared, Rejection, not_now};
use crate::cycle::Cycle;
use crate::outcome::{Code, Why};

struct Exclusive {
    /// A claim that only one pod may use is in use.
    taken: bool,
}

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    let (snapshot, pod) = (cycle.snapshot(), cycle.pod);
    let mut exclusive = Vec::new();
    for name in pod.claims {
        let Some(claim) = snapshot.claim(pod.namespace, name) else {
            return Prepared::Reject(Code::UnschedulableAndUnresolvable, Why::ClaimUnknown);
        };
        if claim.access_modes.contains(AccessModes::READ_WRITE_ONCE_POD) {
            exclusive.push(&**name);
        }
    }
    let mut exclusive = exclusive.into_iter();
    let taken = exclusive.any(|claim| cycle.occupancy.uses_claim(pod.namespace, claim));
    // A claim that is not in use yet may be taken by a pod that a node is kept for: the scheduler
    // does not see that.
    match !taken && pod.spec.inline_volumes.is_empty() {
        true => Prepared::Skip,
        false => Prepared::filter(Exclusive { taken }),
    }
}

impl<'s> NodeFilter<'s> for Exclusive {
    fn check(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        let mine = &cycle.pod.spec.inline_volumes;
        let conflict = !mine.is_empty()
            && cycle.occupancy.occupants(node).any(|occupant| {
                let theirs = &occupant.pod.spec.inline_volumes;
                theirs.iter().any(|theirs| mine.iter().any(|mine| conflict(mine, theirs)))
            });
        match (conflict, self.taken) {
            (true, _) => not_now(Why::DiskConflict),
            (false, true) => not_now(Why::ClaimInUse),
            (false, false) => Ok(()),
        }
    }
}

fn conflict(mine: &InlineVolume, theirs: &InlineVolume) -> bool {
    use InlineVolume::{AwsElasticBlockStore, GcePersistentDisk, Iscsi, Rbd};
    match (mine, theirs) {
        (
            GcePersistentDisk { name, read_only },
            GcePersistentDisk { name: other, read_only: both },
        ) => name == other && !(*read_only && *both),
        (AwsElasticBlockStore { volume }, AwsElasticBlockStore { volume: other }) => {
            volume == other
        }
        (Iscsi { iqn, read_only }, Iscsi { iqn: other, read_only: both }) => {
            iqn == other && !(*read_only && *both)
        }
        (
            Rbd { monitors, pool, image, read_only },
            Rbd { monitors: others, pool: other_pool, image: other_image, read_only: both },
        ) => {
            monitors.iter().any(|monitor| others.contains(monitor))
                && pool == other_pool
                && image == other_image
                && !(*read_only && *both)
        }
        _ => false,
    }
}
