//! How many pods each node is still to get.

use super::model::{Node, Pool};
use crate::rng::Rng;

/// Places left on the nodes: one ticket for each pod still to come, by pool and zone.
pub(crate) struct Tickets {
    buckets: Vec<Vec<u32>>,
    zones: usize,
}

impl Tickets {
    pub(crate) fn new(nodes: &[Node], slots: &[usize], zones: usize, rng: &mut Rng) -> Self {
        let mut buckets = vec![Vec::new(); Pool::ALL.len() * zones];
        for (i, node) in nodes.iter().enumerate() {
            let bucket = &mut buckets[node.pool as usize * zones + node.zone];
            bucket.extend(std::iter::repeat_n(i as u32, slots[i]));
        }
        for bucket in &mut buckets {
            rng.shuffle(bucket);
        }
        Self { buckets, zones }
    }

    pub(crate) fn left(&self, pool: Pool, zone: usize) -> usize {
        self.buckets[pool as usize * self.zones + zone].len()
    }

    /// Takes a ticket from one of the pools (and the zone, if given) that `accept` allows.
    pub(crate) fn draw(
        &mut self,
        rng: &mut Rng,
        pools: &[Pool],
        zone: Option<usize>,
        accept: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let zones: Vec<usize> = zone.map_or_else(|| (0..self.zones).collect(), |z| vec![z]);
        let mut places = Vec::with_capacity(pools.len() * zones.len());
        for &pool in pools {
            places.extend(zones.iter().map(|&z| pool as usize * self.zones + z));
        }
        let weights: Vec<f64> = places.iter().map(|&p| self.buckets[p].len() as f64).collect();
        if weights.iter().sum::<f64>() == 0.0 {
            return None;
        }
        for _ in 0..24 {
            let bucket = &mut self.buckets[places[rng.weighted(&weights)]];
            if bucket.is_empty() {
                continue;
            }
            let at = rng.below(bucket.len());
            if accept(bucket[at] as usize) {
                return Some(bucket.swap_remove(at) as usize);
            }
        }
        None
    }
}
