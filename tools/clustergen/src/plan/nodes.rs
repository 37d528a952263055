//! Nodes, and how full each is to be.

use super::model::{Band, DAY, GIB, Node, Pool};
use crate::options::Options;
use crate::rng::Rng;

/// Makes the nodes, empty.
pub(crate) fn plan(o: &Options, rng: &mut Rng) -> Vec<Node> {
    (0..o.nodes)
        .map(|i| {
            let tainted = o.tainted_nodes;
            let pool = Pool::ALL[rng.weighted(&[
                0.8 * (1.0 - tainted),
                0.2 * (1.0 - tainted),
                0.6 * tainted,
                0.4 * tainted,
            ])];
            let band = [Band::Low, Band::High, Band::Middle]
                [rng.weighted(&[o.low_nodes, o.high_nodes, 1.0 - o.low_nodes - o.high_nodes])];
            let (cpu_milli, memory) =
                if pool == Pool::Compute { (31_850, 120 * GIB) } else { (15_890, 59 * GIB) };
            Node {
                name: format!("ip-10-{}-{}-{}.internal", i / 65_536, i / 256 % 256, i % 256),
                zone: i % o.zones,
                pool,
                band,
                ip: format!("10.{}.{}.{}", i / 65_536, i / 256 % 256, i % 256),
                cpu_milli,
                memory,
                used_cpu: 0,
                used_memory: 0,
                created: o.now - rng.between(90, 900) as i64 * DAY,
            }
        })
        .collect()
}

/// How many pods each node is to get, besides the daemons: `total` in all.
pub(crate) fn slots(o: &Options, nodes: &[Node], total: usize, rng: &mut Rng) -> Vec<usize> {
    let mut slots: Vec<usize> = nodes
        .iter()
        .map(|n| match n.band {
            Band::Low => rng.between(3, 7),
            Band::Middle => 0,
            Band::High => rng.between(56, 66),
        })
        .collect();
    let middle: Vec<usize> = (0..nodes.len()).filter(|&i| nodes[i].band == Band::Middle).collect();
    let given: usize = slots.iter().sum();
    let rest = (total + o.nodes / 4).saturating_sub(given);
    for (k, &i) in middle.iter().enumerate() {
        slots[i] = rest * (k + 1) / middle.len() - rest * k / middle.len();
    }
    slots
}
