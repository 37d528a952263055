//! What there is in a cluster.

use std::collections::BTreeSet;

use crate::rng::Rng;

pub(crate) const GIB: i64 = 1 << 30;
pub(crate) const MIB: i64 = 1 << 20;
/// Pods of DaemonSets on each node.
pub(crate) const DAEMONS: [&str; 3] = ["kube-proxy", "calico-node", "node-exporter"];
/// Fewest restarts of a pod that restarts all the time.
pub(crate) const RESTART_LIMIT: usize = 100;
pub(crate) const DAY: i64 = 86_400;
/// Namespaces and owners of workloads.
pub(crate) const TEAMS: [&str; 24] = [
    "payments", "checkout", "search", "catalog", "identity", "billing", "shipping", "orders",
    "pricing", "risk", "ads", "feed", "media", "mail", "chat", "maps", "ml", "data", "etl",
    "reports", "mobile", "web", "edge", "tools",
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pool {
    General,
    Compute,
    /// Tainted `dedicated=spot:NoSchedule`
    Spot,
    /// Tainted `dedicated=infra:NoSchedule`
    Infra,
}

impl Pool {
    pub(crate) const ALL: [Pool; 4] = [Pool::General, Pool::Compute, Pool::Spot, Pool::Infra];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Pool::General => "general",
            Pool::Compute => "compute",
            Pool::Spot => "spot",
            Pool::Infra => "infra",
        }
    }

    pub(crate) fn tainted(self) -> bool {
        matches!(self, Pool::Spot | Pool::Infra)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Band {
    /// Under 20 % of everything
    Low,
    Middle,
    /// Over 50 % of something
    High,
}

pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) zone: usize,
    pub(crate) pool: Pool,
    pub(crate) band: Band,
    pub(crate) ip: String,
    pub(crate) cpu_milli: i64,
    pub(crate) memory: i64,
    pub(crate) used_cpu: i64,
    pub(crate) used_memory: i64,
    pub(crate) created: i64,
}

impl Node {
    pub(crate) fn fits(&self, requests: &Requests) -> bool {
        let limit = match self.band {
            Band::Low => 0.17,
            Band::Middle => 0.48,
            Band::High => 0.95,
        };
        (self.used_cpu + requests.cpu_milli) as f64 <= self.cpu_milli as f64 * limit
            && (self.used_memory + requests.memory) as f64 <= self.memory as f64 * limit
    }

    pub(crate) fn add(&mut self, requests: &Requests) {
        self.used_cpu += requests.cpu_milli;
        self.used_memory += requests.memory;
    }
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Requests {
    pub(crate) cpu_milli: i64,
    pub(crate) memory: i64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Deployment,
    StatefulSet,
    DaemonSet,
    Job,
    /// No owner
    Bare,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Qos {
    BestEffort,
    Burstable,
    Guaranteed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    None,
    /// Over zones; `hard` is DoNotSchedule
    Zone {
        hard: bool,
        per_revision: bool,
    },
    /// Over zones and, softly, over nodes
    ZoneAndHost,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PodState {
    Running,
    CrashLoop { restarts: usize },
    Failed { evicted: bool },
    Succeeded,
}

pub(crate) struct Pod {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) node: usize,
    pub(crate) created: i64,
    pub(crate) state: PodState,
}

pub(crate) struct Workload {
    pub(crate) kind: Kind,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The ReplicaSet's or revision's hash
    pub(crate) hash: String,
    pub(crate) owner_uid: String,
    pub(crate) team: String,
    pub(crate) image: String,
    pub(crate) sidecar: bool,
    pub(crate) requests: Requests,
    pub(crate) qos: Qos,
    pub(crate) priority_class: Option<&'static str>,
    /// A nodeSelector and a toleration for this tainted pool
    pub(crate) dedicated: Option<Pool>,
    pub(crate) required_pool: Option<Pool>,
    pub(crate) preferred_pool: Option<Pool>,
    pub(crate) anti_affinity: bool,
    pub(crate) spread: Spread,
    pub(crate) local_storage: bool,
    pub(crate) volume_claims: bool,
    /// `Some(disruptionsAllowed)`
    pub(crate) pdb: Option<usize>,
    pub(crate) pods: Vec<Pod>,
}

pub(crate) const PRIORITY_CLASSES: [(&str, i64); 5] = [
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
    ("business-critical", 1_000_000),
    ("standard", 1_000),
    ("batch-low", -10),
];

pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    pub(crate) namespaces: Vec<String>,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) rng: Rng,
    /// Names given: with thousands of pods in one DaemonSet, suffixes do come twice
    pub(crate) daemon_pods: BTreeSet<String>,
}
