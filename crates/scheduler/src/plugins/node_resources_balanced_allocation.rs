//! NodeResourcesBalancedAllocation (docs/spec/scheduler.md section 4.5).

use descheduler_cluster::{NodeId, ResourceId};

use super::node_resources_fit::plain_parts;
use super::{NodeScore, Scores, Zero};
use crate::cycle::Cycle;
use crate::profile::Plugin;

/// What the pod asks of each resource that is balanced.
struct Balance(Vec<(ResourceId, i64)>);

pub(super) fn scores<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Scores<'c, 's> {
    let parts = plain_parts(cycle.snapshot(), &cycle.profile.balanced, cycle.pod.requests);
    // Without its half that prepares, nobody says that there is nothing to do.
    let prepares = cycle.profile.pre_score.contains(&Plugin::NodeResourcesBalancedAllocation);
    match parts.iter().all(|(_, added)| *added == 0) {
        true if prepares => Scores::Skip,
        true => Scores::by(Zero),
        false => Scores::by(Balance(parts)),
    }
}

impl<'s> NodeScore<'s> for Balance {
    fn raw(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> i64 {
        let allocatable = &cycle.snapshot().node(node).allocatable;
        let used = &cycle.occupancy.of(node).requested;
        let balance = |with_pod: bool| {
            let fractions = self.0.iter().filter_map(|&(resource, added)| {
                let capacity = allocatable.get(resource);
                let used = used.get(resource) + if with_pod { added } else { 0 };
                (capacity != 0).then(|| (used as f64 / capacity as f64).min(1.0))
            });
            balance_of(&fractions.collect::<smallvec::SmallVec<[f64; 4]>>())
        };
        match cycle.model.rules.balance_is_a_change {
            true => 50 + (50 + balance(true) - balance(false)) / 2,
            false => balance(true),
        }
    }
}

/// 100 when all fractions are equal, less the more they differ.
fn balance_of(fractions: &[f64]) -> i64 {
    let deviation = match *fractions {
        [] | [_] => 0.0,
        [a, b] => ((a - b) / 2.0).abs(),
        _ => {
            let count = fractions.len() as f64;
            let mean = fractions.iter().sum::<f64>() / count;
            let squares: f64 = fractions.iter().map(|f| (f - mean) * (f - mean)).sum();
            (squares / count).sqrt()
        }
    };
    ((1.0 - deviation) * 100.0) as i64
}
