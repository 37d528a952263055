//! NodeUnschedulable: cordoned nodes (docs/spec/scheduler.md section 3.1).

use descheduler_cluster::{Effect, NodeId, Sym, Taint};

use super::{NodeFilter, Prepared, Rejection, never, tolerates};
use crate::cycle::Cycle;
use crate::outcome::Why;

/// Whether the pod tolerates the taint that cordoning stands for.
struct Cordon {
    tolerated: bool,
}

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    let taint = Taint {
        key: cycle.snapshot().sym("node.kubernetes.io/unschedulable"),
        value: Sym::EMPTY,
        effect: Effect::NoSchedule,
    };
    let mut tolerations = cycle.pod.spec.tolerations.iter();
    let tolerated = tolerations.any(|toleration| tolerates(cycle.snapshot(), toleration, &taint));
    Prepared::filter(Cordon { tolerated })
}

impl<'s> NodeFilter<'s> for Cordon {
    fn check(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        match cycle.snapshot().node(node).unschedulable && !self.tolerated {
            true => never(Why::Unschedulable),
            false => Ok(()),
        }
    }
}
