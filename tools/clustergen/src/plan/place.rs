//! Where the pods of a workload run.

use super::model::{Cluster, DAY, Kind, Pod, PodState, Pool, RESTART_LIMIT, Spread, Workload};
use super::tickets::Tickets;
use crate::options::Options;

impl Cluster {
    /// Gives up to `replicas` pods of a workload a node: fewer where there is no room.
    pub(crate) fn place(
        &mut self,
        o: &Options,
        w: &mut Workload,
        replicas: usize,
        tickets: &mut Tickets,
    ) {
        let duplicated = !w.anti_affinity && self.rng.chance(o.duplicates);
        let clash = w.anti_affinity && self.rng.chance(o.anti_affinity_violated);
        let skewed = w.spread != Spread::None && self.rng.chance(o.spread_violated);
        let restarting = self.rng.chance(o.restarting);
        let old = self.rng.chance(o.old);
        let busiest = self.rng.below(o.zones);
        let mut in_zone = vec![0usize; o.zones];
        for i in 0..replicas {
            let pools = self.pools_for(o, w);
            let zone = match w.spread {
                Spread::None => None,
                _ if skewed => {
                    Some(if self.rng.chance(0.7) { busiest } else { self.rng.below(o.zones) })
                }
                _ => {
                    let open = |z: &usize| pools.iter().any(|&p| tickets.left(p, *z) > 0);
                    let zone = (0..o.zones).filter(open).min_by_key(|&z| in_zone[z]);
                    let Some(zone) = zone else { break };
                    Some(zone)
                }
            };
            let together = i > 0 && ((duplicated && self.rng.chance(0.5)) || (clash && i == 1));
            let taken: &[Pod] = &w.pods;
            let (nodes, requests) = (&self.nodes, &w.requests);
            let mut found = None;
            if together {
                let last = taken[i - 1].node;
                let same = |n: usize| n == last && nodes[n].fits(requests);
                // The ticket may come from any node: the last one takes this pod in its stead.
                if same(last) {
                    found = tickets.draw(&mut self.rng, &pools, zone, |_| true).map(|_| last);
                }
            }
            let alone = |n: usize| nodes[n].fits(requests) && taken.iter().all(|p| p.node != n);
            let found = found.or_else(|| tickets.draw(&mut self.rng, &pools, zone, alone));
            let Some(node) = found else { break };
            self.nodes[node].add(&w.requests);
            in_zone[self.nodes[node].zone] += 1;
            let state = match w.kind {
                Kind::Job if self.rng.chance(o.failed / (o.failed + o.succeeded)) => {
                    PodState::Failed { evicted: false }
                }
                Kind::Job => PodState::Succeeded,
                Kind::Bare => PodState::Running,
                _ if self.rng.chance(o.failed * 0.75) => PodState::Failed { evicted: true },
                _ if self.rng.chance(o.succeeded * 0.5) => PodState::Succeeded,
                _ if restarting => {
                    PodState::CrashLoop { restarts: RESTART_LIMIT + self.rng.between(1, 2000) }
                }
                _ => PodState::Running,
            };
            let mut pod = self.pod(o, w, node, state);
            if old {
                pod.created -= (400 + self.rng.between(0, 300) as i64) * DAY;
            }
            w.pods.push(pod);
        }
    }

    /// The pools that this workload's next pod may be put in.
    fn pools_for(&mut self, o: &Options, w: &Workload) -> Vec<Pool> {
        let open = vec![Pool::General, Pool::Compute];
        let other = |pool: Pool| {
            if pool == Pool::General { Pool::Compute } else { Pool::General }
        };
        if let Some(pool) = w.dedicated {
            return vec![pool];
        }
        if let Some(pool) = w.required_pool {
            return vec![if self.rng.chance(o.node_affinity_violated) {
                other(pool)
            } else {
                pool
            }];
        }
        if let Some(pool) = w.preferred_pool {
            return vec![if self.rng.chance(o.preferred_affinity_violated) {
                other(pool)
            } else {
                pool
            }];
        }
        if self.rng.chance(o.taint_violated) {
            return vec![Pool::Spot, Pool::Infra];
        }
        open
    }

    /// A pod of a workload, on a node.
    pub(crate) fn pod(&mut self, o: &Options, w: &Workload, node: usize, state: PodState) -> Pod {
        let rng = &mut self.rng;
        let mut name = match w.kind {
            Kind::Deployment => format!("{}-{}-{}", w.name, w.hash, rng.suffix(5)),
            Kind::StatefulSet => format!("{}-{}", w.name, w.pods.len()),
            Kind::DaemonSet | Kind::Job => format!("{}-{}", w.name, rng.suffix(5)),
            Kind::Bare => w.name.clone(),
        };
        if w.kind == Kind::DaemonSet && !self.daemon_pods.insert(name.clone()) {
            name.push('x');
        }
        // Mostly days old, at least two hours, never more than sixty days.
        let age = (-rng.unit().max(1e-9).ln() * 10.0 * DAY as f64) as i64;
        Pod { name, uid: rng.uid(), node, created: o.now - age.clamp(7200, 60 * DAY), state }
    }
}
