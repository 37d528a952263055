//! TaintToleration (docs/spec/scheduler.md sections 3.3 and 7.2).

use descheduler_cluster::{Effect, NodeId, Toleration};

use super::{
    NodeFilter, NodeScore, Prepared, Rejection, Scores, never, normalize_by_max, tolerates,
    untolerated,
};
use crate::cycle::Cycle;
use crate::outcome::{TaintKey, Why};

struct HardTaints;

pub(super) fn prepare<'c, 's: 'c>() -> Prepared<'c, 's> {
    Prepared::filter(HardTaints)
}

impl<'s> NodeFilter<'s> for HardTaints {
    fn check(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        let taints = &cycle.snapshot().node(node).taints;
        match untolerated(cycle.snapshot(), cycle.pod.spec, taints) {
            Some(taint) => never(Why::Taint(TaintKey(*taint))),
            None => Ok(()),
        }
    }
}

/// Counts soft taints that are not tolerated; fewer is better.
struct SoftTaints<'c>(Vec<&'c Toleration>);

pub(super) fn scores<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Scores<'c, 's> {
    let tolerations = cycle.pod.spec.tolerations.iter();
    let soft = tolerations.filter(|toleration| {
        toleration.effect.is_none_or(|effect| effect == Effect::PreferNoSchedule)
    });
    Scores::by(SoftTaints(soft.collect()))
}

impl<'s> NodeScore<'s> for SoftTaints<'_> {
    fn raw(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> i64 {
        let taints = cycle.snapshot().node(node).taints.iter();
        let soft = taints.filter(|taint| taint.effect == Effect::PreferNoSchedule);
        soft.filter(|taint| !self.0.iter().any(|one| tolerates(cycle.snapshot(), one, taint)))
            .count() as i64
    }

    fn normalize(&self, _: &[NodeId], raw: &mut [i64]) {
        normalize_by_max(raw, true);
    }
}
