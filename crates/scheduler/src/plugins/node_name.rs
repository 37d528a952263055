//! NodeName: pods that ask for a node by name (docs/spec/scheduler.md sections 3.2 and 14.5).

use descheduler_cluster::{NodeId, Sym};

use super::{NodeFilter, Prepared, Rejection, never};
use crate::cycle::Cycle;
use crate::outcome::Why;

struct Named(Sym);

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    let Some(name) = cycle.pod.node_name else { return Prepared::Skip };
    let filter = Named(name);
    if !cycle.model.rules.node_name_first {
        return Prepared::filter(filter);
    }
    Prepared::Within(vec![cycle.snapshot().text(name)], Box::new(filter))
}

impl<'s> NodeFilter<'s> for Named {
    fn check(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        let snapshot = cycle.snapshot();
        match *snapshot.node(node).name == *snapshot.text(self.0) {
            true => Ok(()),
            false => never(Why::OtherNode),
        }
    }
}
