//! What the cluster is to be like.

use std::path::PathBuf;

#[derive(clap::Parser, Clone)]
#[command(about)]
pub(crate) struct Options {
    /// Nodes
    #[arg(long, default_value_t = 500)]
    pub(crate) nodes: usize,
    /// Pods, all kinds together (from about 12 to 60 a node)
    #[arg(long, default_value_t = 15_000)]
    pub(crate) pods: usize,
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Where to write; standard output if not given
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// The moment the cluster is seen at; every age counts back from it
    #[arg(long, default_value = "2026-12-01T00:00:00Z", value_parser = crate::time::parse)]
    pub(crate) now: i64,
    #[arg(long, default_value_t = 3)]
    pub(crate) zones: usize,
    /// Application namespaces; one for each 1500 pods (8 at least) if not given
    #[arg(long)]
    pub(crate) namespaces: Option<usize>,
    /// Zipf exponent of the namespaces' sizes: 0 makes them equal
    #[arg(long, default_value_t = 1.0)]
    pub(crate) namespace_skew: f64,

    /// Nodes under 20 % of everything / over 50 % of something
    #[arg(long, default_value_t = 0.12)]
    pub(crate) low_nodes: f64,
    #[arg(long, default_value_t = 0.12)]
    pub(crate) high_nodes: f64,
    /// Nodes with a NoSchedule taint
    #[arg(long, default_value_t = 0.15)]
    pub(crate) tainted_nodes: f64,

    /// Pods that failed / are done / restart all the time / are over a year old
    #[arg(long, default_value_t = 0.01)]
    pub(crate) failed: f64,
    #[arg(long, default_value_t = 0.01)]
    pub(crate) succeeded: f64,
    #[arg(long, default_value_t = 0.01)]
    pub(crate) restarting: f64,
    #[arg(long, default_value_t = 0.02)]
    pub(crate) old: f64,

    /// Workloads with replicas that share a node
    #[arg(long, default_value_t = 0.05)]
    pub(crate) duplicates: f64,
    /// Workloads with required pod anti-affinity, and the part of them that is violated
    #[arg(long, default_value_t = 0.15)]
    pub(crate) anti_affinity: f64,
    #[arg(long, default_value_t = 0.05)]
    pub(crate) anti_affinity_violated: f64,
    /// Workloads with required node affinity, and the part of their pods on a wrong node
    #[arg(long, default_value_t = 0.15)]
    pub(crate) node_affinity: f64,
    #[arg(long, default_value_t = 0.05)]
    pub(crate) node_affinity_violated: f64,
    /// Workloads with preferred node affinity, and the part of their pods on a worse node
    #[arg(long, default_value_t = 0.05)]
    pub(crate) preferred_affinity: f64,
    #[arg(long, default_value_t = 0.20)]
    pub(crate) preferred_affinity_violated: f64,
    /// Pods that run on a tainted node without tolerating the taint
    #[arg(long, default_value_t = 0.005)]
    pub(crate) taint_violated: f64,
    /// Workloads with topology spread constraints, and the part of them that is skewed
    #[arg(long, default_value_t = 0.30)]
    pub(crate) spread: f64,
    #[arg(long, default_value_t = 0.10)]
    pub(crate) spread_violated: f64,

    /// Workloads with an emptyDir volume (protected from eviction by default)
    #[arg(long, default_value_t = 0.15)]
    pub(crate) local_storage: f64,
    /// Workloads that are StatefulSets
    #[arg(long, default_value_t = 0.10)]
    pub(crate) stateful: f64,
    /// Workloads of two replicas or more with a PodDisruptionBudget, and the part of
    /// those that allow no disruption
    #[arg(long, default_value_t = 0.40)]
    pub(crate) pdb: f64,
    #[arg(long, default_value_t = 0.05)]
    pub(crate) pdb_blocked: f64,
    /// Leave out the metadata.managedFields of pods and nodes
    #[arg(long)]
    pub(crate) no_managed_fields: bool,
    /// Add a PodMetrics object for each running pod (NodeMetrics always come)
    #[arg(long)]
    pub(crate) pod_metrics: bool,
}
