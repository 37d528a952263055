//! Disruption budgets: who is covered and how much disruption is left.

use crate::ingest::Terms;
use crate::intern::Sym;
use crate::labels::Selector;

/// One PodDisruptionBudget.
#[derive(Clone, Debug)]
pub struct Budget {
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.namespace`.
    pub namespace: Sym,
    /// `spec.selector`; absent matches nothing, empty everything in the namespace.
    pub selector: Option<Selector>,
    /// `spec.unhealthyPodEvictionPolicy`.
    pub unhealthy: UnhealthyPolicy,
    /// What it allows at the time of the snapshot.
    pub allowance: Allowance,
    /// What that comes from.
    pub(crate) terms: Terms,
}

/// `spec.unhealthyPodEvictionPolicy`: what happens to running pods that are not Ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnhealthyPolicy {
    /// They may go only while the application is healthy enough (the default).
    IfHealthyBudget,
    /// They may always go.
    AlwaysAllow,
}

/// What a budget allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    /// The disruption controller has said so, or it was computed as that controller would.
    Known {
        /// `status.disruptionsAllowed`.
        disruptions: i64,
        /// Enough pods are healthy: `currentHealthy >= desiredHealthy > 0`.
        healthy: bool,
    },
    /// `status.observedGeneration` is behind `metadata.generation`: the status is about another
    /// budget than the one that holds now.
    NotProcessed,
    /// There is no status, and what is needed to compute one is not in the snapshot.
    Unknown,
}
