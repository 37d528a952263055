//! What nodes and pods were measured to use, as a metrics server tells it
//! (docs/spec/strategies.md section 6.2).

use jiff::Timestamp;

use crate::intern::Sym;
use crate::resources::Resources;

/// A `NodeMetrics` of `metrics.k8s.io`.
#[derive(Clone, Debug)]
pub struct NodeUsage {
    /// The node.
    pub node: Sym,
    /// When it was measured.
    pub measured: Option<Timestamp>,
    /// What it uses.
    pub used: Resources,
}

/// A `PodMetrics` of `metrics.k8s.io`.
#[derive(Clone, Debug)]
pub struct PodUsage {
    /// `metadata.namespace`.
    pub namespace: Sym,
    /// The pod.
    pub name: Box<str>,
    /// When it was measured.
    pub measured: Option<Timestamp>,
    /// What its containers use together. A resource that is not known of one of them is not named.
    pub used: Resources,
}
