//! NodePorts: ports of the host (docs/spec/scheduler.md section 3.5).

use descheduler_cluster::{HostPort, NodeId};

use super::{NodeFilter, Prepared, Rejection, not_now};
use crate::cycle::Cycle;
use crate::outcome::Why;

struct Ports;

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    match cycle.pod.spec.host_ports.is_empty() {
        true => Prepared::Skip,
        false => Prepared::filter(Ports),
    }
}

impl<'s> NodeFilter<'s> for Ports {
    fn check(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        let any = cycle.snapshot().sym("0.0.0.0");
        let conflict = |mine: &HostPort, theirs: &HostPort| {
            mine.port == theirs.port
                && mine.protocol == theirs.protocol
                && (mine.ip == theirs.ip || mine.ip == any || theirs.ip == any)
        };
        let wanted = &cycle.pod.spec.host_ports;
        let taken = cycle.occupancy.occupants(node).any(|occupant| {
            let theirs = occupant.pod.spec.host_ports.iter();
            theirs.into_iter().any(|theirs| wanted.iter().any(|mine| conflict(mine, theirs)))
        });
        if taken { not_now(Why::HostPorts) } else { Ok(()) }
    }
}
