//! What a workload asks for.

use super::model::{Cluster, Kind, MIB, Pool, Qos, Requests, Spread, TEAMS, Workload};
use crate::options::Options;

impl Cluster {
    /// How many pods a workload has: mostly few, sometimes hundreds.
    pub(crate) fn replicas(&mut self, pods: usize) -> usize {
        let (lo, hi) = [(1, 1), (2, 2), (3, 3), (4, 10), (11, 40), (41, 150), (151, 400)]
            [self.rng.weighted(&[25.0, 20.0, 20.0, 20.0, 11.0, 3.5, 0.5])];
        self.rng.between(lo, hi).min(pods / 20)
    }

    /// A workload without demands and pods.
    pub(crate) fn workload(
        &mut self,
        o: &Options,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Workload {
        let rng = &mut self.rng;
        let hash = rng.suffix(10);
        Workload {
            kind,
            namespace: namespace.into(),
            name: name.into(),
            owner_uid: rng.uid(),
            team: rng.pick(&TEAMS).to_string(),
            image: format!(
                "registry.example.com/{namespace}/{name}:v{}.{}.{}",
                rng.between(0, 9),
                rng.between(0, 40),
                rng.between(0, 20)
            ),
            hash,
            sidecar: kind == Kind::Deployment && rng.chance(0.3),
            requests: Requests::default(),
            qos: Qos::Burstable,
            priority_class: None,
            dedicated: None,
            required_pool: None,
            preferred_pool: None,
            anti_affinity: false,
            spread: Spread::None,
            local_storage: kind == Kind::DaemonSet || rng.chance(o.local_storage),
            volume_claims: kind == Kind::StatefulSet && rng.chance(0.6),
            pdb: None,
            pods: Vec::new(),
        }
    }

    /// Draws what the pods of a workload ask for.
    pub(crate) fn features(&mut self, o: &Options, w: &mut Workload, replicas: usize) {
        let rng = &mut self.rng;
        w.qos =
            [Qos::BestEffort, Qos::Guaranteed, Qos::Burstable][rng.weighted(&[0.08, 0.12, 0.80])];
        if w.qos != Qos::BestEffort {
            let cpu = [10, 25, 50, 100, 200, 250, 500, 1000, 2000];
            let memory = [32, 64, 128, 256, 512, 1024, 2048, 4096];
            w.requests = Requests {
                cpu_milli: cpu[rng.weighted(&[8.0, 10.0, 20.0, 25.0, 15.0, 10.0, 8.0, 3.0, 1.0])],
                memory: memory[rng.weighted(&[5.0, 10.0, 20.0, 25.0, 18.0, 12.0, 7.0, 3.0])] * MIB,
            };
        }
        w.priority_class = match rng.weighted(&[0.60, 0.22, 0.10, 0.08]) {
            0 => None,
            1 => Some("standard"),
            2 => Some("batch-low"),
            _ => Some("business-critical"),
        };
        if matches!(w.kind, Kind::Job | Kind::Bare) {
            return;
        }
        if rng.chance(o.tainted_nodes) {
            w.dedicated = Some(if rng.chance(0.6) { Pool::Spot } else { Pool::Infra });
        } else if rng.chance(o.node_affinity) {
            w.required_pool = Some(if rng.chance(0.7) { Pool::General } else { Pool::Compute });
        } else if rng.chance(o.preferred_affinity) {
            w.preferred_pool = Some(if rng.chance(0.5) { Pool::General } else { Pool::Compute });
        }
        // Anti-affinity keeps each replica on a node of its own, so it is for few replicas.
        w.anti_affinity = (2..=50).contains(&replicas) && rng.chance(o.anti_affinity);
        if replicas > 1 && rng.chance(o.spread) {
            w.spread = match rng.weighted(&[0.55, 0.30, 0.15]) {
                0 => Spread::Zone { hard: true, per_revision: rng.chance(0.3) },
                1 => Spread::Zone { hard: false, per_revision: false },
                _ => Spread::ZoneAndHost,
            };
        }
    }
}
