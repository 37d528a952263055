//! ImageLocality (docs/spec/scheduler.md sections 7.4 and 14.4).

use descheduler_cluster::{NodeId, Sym};

use super::{NodeScore, Scores};
use crate::cycle::Cycle;

/// Below this an image is not worth a detour.
const LOW: i64 = 23 << 20;
/// For each container, what is worth the full score.
const HIGH: i64 = 1000 << 20;

struct Images {
    /// The pod's images that some node has, each occurrence, with what having one adds.
    worth: Vec<(Sym, i64)>,
    high: i64,
}

pub(super) fn scores<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Scores<'c, 's> {
    let (spec, rules) = (cycle.pod.spec, &cycle.model.rules);
    let volumes = if rules.image_volumes { &*spec.image_volumes } else { &[] };
    let nodes = cycle.snapshot().nodes().len() as f64;
    let images = spec.locality_images.iter().chain(volumes);
    let worth = images.filter_map(|&image| {
        let state = cycle.model.image(image)?;
        let spread = state.nodes.len() as f64 / nodes;
        Some((image, (state.size as f64 * spread) as i64))
    });
    let raised = if rules.image_volumes_raise_the_bar { spec.image_volumes.len() } else { 0 };
    let high = HIGH * (spec.locality_images.len() + raised) as i64;
    Scores::by(Images { worth: worth.collect(), high })
}

impl Images {
    /// The score of a node whose images are worth so much.
    fn score(&self, sum: i64) -> i64 {
        100 * (sum.clamp(LOW, self.high.max(LOW)) - LOW) / (self.high - LOW)
    }
}

impl<'s> NodeScore<'s> for Images {
    fn raw(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> i64 {
        if self.worth.is_empty() {
            return 0;
        }
        let there = &cycle.snapshot().node(node).images;
        let has = |image: Sym| there.binary_search_by_key(&image, |&(name, _)| name).is_ok();
        let sum = self.worth.iter().filter(|(image, _)| has(*image)).map(|(_, worth)| worth).sum();
        self.score(sum)
    }

    fn fill(&self, cycle: &Cycle<'_, 's>, nodes: &[NodeId], raw: &mut Vec<i64>) {
        if self.worth.is_empty() {
            raw.resize(nodes.len(), 0);
            return;
        }
        let mut sums = vec![0; cycle.snapshot().node_slots()];
        for &(image, worth) in &self.worth {
            let there = cycle.model.image(image).map_or(&[][..], |image| &image.nodes);
            there.iter().for_each(|node| sums[node.index()] += worth);
        }
        raw.extend(nodes.iter().map(|node| self.score(sums[node.index()])));
    }

    fn odd(&self, cycle: &Cycle<'_, 's>) -> Option<Vec<NodeId>> {
        let images = self.worth.iter().filter_map(|&(image, _)| cycle.model.image(image));
        Some(images.flat_map(|image| image.nodes.iter().copied()).collect())
    }
}
