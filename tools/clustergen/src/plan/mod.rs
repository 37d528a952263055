//! Decides what the cluster consists of and where each pod runs.

mod features;
pub(crate) mod model;
mod nodes;
mod place;
mod tickets;

use std::collections::BTreeSet;

use crate::options::Options;
use crate::rng::Rng;
use model::{Cluster, DAEMONS, Kind, MIB, PodState, Requests, TEAMS};
use tickets::Tickets;

const SERVICES: [&str; 20] = [
    "api",
    "worker",
    "gateway",
    "frontend",
    "consumer",
    "scheduler",
    "cache",
    "indexer",
    "proxy",
    "sync",
    "ingest",
    "notifier",
    "renderer",
    "resolver",
    "exporter",
    "store",
    "router",
    "auth",
    "stream",
    "batch",
];

/// Plans the whole cluster; fails when the options ask for what cannot be.
pub(crate) fn cluster(o: &Options) -> Result<Cluster, String> {
    if o.nodes < 10 || o.zones == 0 || o.pods < o.nodes * 12 || o.pods > o.nodes * 60 {
        return Err("want 10 nodes or more, a zone or more, and 12 to 60 pods a node".into());
    }
    let mut rng = Rng::new(o.seed);
    let nodes = nodes::plan(o, &mut rng);
    let count = o.namespaces.unwrap_or_else(|| (o.pods / 1500).max(8));
    let namespaces = (0..count)
        .map(|i| match i / TEAMS.len() {
            0 => TEAMS[i].to_string(),
            round => format!("{}-{}", TEAMS[i % TEAMS.len()], round + 1),
        })
        .collect();
    let mut cluster =
        Cluster { nodes, namespaces, workloads: Vec::new(), rng, daemon_pods: BTreeSet::new() };
    cluster.plan_daemons(o);
    cluster.plan_workloads(o)?;
    Ok(cluster)
}

impl Cluster {
    fn plan_daemons(&mut self, o: &Options) {
        for name in DAEMONS {
            let requests = Requests { cpu_milli: 20, memory: 64 * MIB };
            let mut w = self.workload(o, Kind::DaemonSet, "kube-system", name);
            w.requests = requests;
            w.priority_class = Some("system-node-critical");
            for i in 0..self.nodes.len() {
                self.nodes[i].add(&requests);
                let pod = self.pod(o, &w, i, PodState::Running);
                w.pods.push(pod);
            }
            self.workloads.push(w);
        }
    }

    fn plan_workloads(&mut self, o: &Options) -> Result<(), String> {
        let mut left = o.pods - DAEMONS.len() * o.nodes;
        let slots = nodes::slots(o, &self.nodes, left, &mut self.rng);
        let mut tickets = Tickets::new(&self.nodes, &slots, o.zones, &mut self.rng);
        let zipf: Vec<f64> = (0..self.namespaces.len())
            .map(|i| 1.0 / ((i + 1) as f64).powf(o.namespace_skew))
            .collect();
        let mut jobs = ((o.failed + o.succeeded) * 0.5 * o.pods as f64) as usize;
        let mut bare = o.pods / 300;
        let mut serial = 0;
        let mut misses = 0;
        while left > 0 {
            let namespace = self.namespaces[self.rng.weighted(&zipf)].clone();
            let service = *self.rng.pick(&SERVICES);
            serial += 1;
            let name =
                format!("{}-{service}-{serial}", namespace.split('-').next().unwrap_or("app"));
            let (kind, replicas) = if jobs > 0 && self.rng.chance(0.2) {
                (Kind::Job, self.rng.between(1, 4).min(jobs))
            } else if bare > 0 && self.rng.chance(0.05) {
                (Kind::Bare, 1)
            } else if self.rng.chance(o.stateful) {
                (Kind::StatefulSet, *self.rng.pick(&[1, 2, 3, 3, 3, 5, 5, 7, 9]))
            } else {
                (Kind::Deployment, self.replicas(o.pods))
            };
            let mut w = self.workload(o, kind, &namespace, &name);
            let target = replicas.min(left);
            self.features(o, &mut w, target);
            self.place(o, &mut w, target, &mut tickets);
            if w.pods.is_empty() {
                misses += 1;
                if misses > 20_000 {
                    return Err(format!(
                        "{left} pods found no room; take fewer pods or more nodes"
                    ));
                }
                continue;
            }
            left -= w.pods.len();
            match kind {
                Kind::Job => jobs -= w.pods.len(),
                Kind::Bare => bare -= 1,
                _ => {
                    if w.pods.len() > 1 && self.rng.chance(o.pdb) {
                        let allowed = if self.rng.chance(o.pdb_blocked) {
                            0
                        } else {
                            w.pods.len().div_ceil(4)
                        };
                        w.pdb = Some(allowed);
                    }
                }
            }
            self.workloads.push(w);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Band;

    use clap::Parser;

    fn cluster() -> (Cluster, Options) {
        let o = Options::parse_from(["", "--nodes", "100", "--pods", "3000"]);
        (super::cluster(&o).unwrap(), o)
    }

    #[test]
    fn has_the_pods_asked_for_and_each_name_once() {
        let (c, o) = cluster();
        assert_eq!(c.workloads.iter().map(|w| w.pods.len()).sum::<usize>(), o.pods);
        let names: BTreeSet<_> = c
            .workloads
            .iter()
            .flat_map(|w| w.pods.iter().map(|p| (&w.namespace, &p.name)))
            .collect();
        assert_eq!(names.len(), o.pods);
    }

    #[test]
    fn bands_hold() {
        let (c, _) = cluster();
        let mut pods = vec![0; c.nodes.len()];
        c.workloads.iter().flat_map(|w| &w.pods).for_each(|p| pods[p.node] += 1);
        for (node, pods) in c.nodes.iter().zip(pods) {
            let cpu = node.used_cpu as f64 / node.cpu_milli as f64;
            match node.band {
                Band::Low => assert!(cpu < 0.2 && pods < 22, "{cpu} {pods}"),
                Band::Middle => assert!(cpu < 0.5),
                Band::High => assert!(cpu < 1.0),
            }
        }
    }
}
