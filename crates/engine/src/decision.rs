//! The two answers, each with its because.

use std::fmt;

use descheduler_cluster::{NodeId, PodId};
use jiff::Timestamp;

use crate::limits::LimitKind;

/// Why, as a bounded code for events, metrics and tests, and a text with the numbers for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// PascalCase, a constant in the file that gives the reason.
    pub code: &'static str,
    /// Free text; never a metric label.
    pub detail: String,
}

impl Reason {
    /// A reason.
    pub fn new(code: &'static str, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }
}

/// A pod that is to be evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eviction {
    /// Which pod of the snapshot.
    pub pod: PodId,
    /// The node it leaves.
    pub node: NodeId,
    /// The profile, as an index into the policy.
    pub profile: usize,
    /// The strategy that proposed it.
    pub strategy: &'static str,
    /// Why.
    pub reason: Reason,
    /// Where its replacement could land, best guess first; empty where that was not asked.
    pub destinations: Vec<NodeId>,
    /// Moves with the same number make sense only together.
    pub set: Option<usize>,
}

/// Why a pod that a strategy considered stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is in the plan already.
    AlreadyPlanned,
    /// An earlier request to evict it may still be carried out.
    StillOpen,
    /// It is on no node, or on one that is not worked on.
    OutsideNodeSet,
    /// Part of the object could not be read.
    Malformed,
    /// Moves of its owner's pods, or of the strategy, did not help not long ago.
    CoolingDown {
        /// When it may be tried again.
        until: Timestamp,
        /// What was tried.
        why: String,
    },
    /// A protection holds it.
    Protected(Reason),
    /// A limit of the policy is used up.
    Limit {
        /// Which.
        kind: LimitKind,
        /// Its value.
        limit: u64,
    },
    /// Its disruption budget has nothing left.
    Budget {
        /// The budget's name.
        name: String,
        /// What it allowed before this plan.
        allowed: i64,
    },
    /// The disruption controller has not seen the budget's latest change.
    BudgetNotProcessed {
        /// The budget's name.
        name: String,
    },
    /// The budget has no status, and its state cannot be computed from the snapshot.
    BudgetUnknown {
        /// The budget's name.
        name: String,
    },
    /// Several budgets cover the pod; the API server refuses that.
    SeveralBudgets {
        /// Their names.
        names: Vec<String>,
    },
    /// Its replacement would land nowhere, or nowhere better.
    Placement(Reason),
    /// The strategy itself keeps the pod although it violates the rule.
    Kept(Reason),
}

impl Refusal {
    /// The bounded code: PascalCase.
    pub fn code(&self) -> &'static str {
        match self {
            Self::AlreadyPlanned => "AlreadyPlanned",
            Self::StillOpen => "StillOpen",
            Self::OutsideNodeSet => "OutsideNodeSet",
            Self::Malformed => "Malformed",
            Self::CoolingDown { .. } => "CoolingDown",
            Self::Protected(reason) | Self::Placement(reason) | Self::Kept(reason) => reason.code,
            Self::Limit { kind, .. } => kind.code(),
            Self::Budget { .. } => "DisruptionBudget",
            Self::BudgetNotProcessed { .. } => "BudgetNotProcessed",
            Self::BudgetUnknown { .. } => "BudgetUnknown",
            Self::SeveralBudgets { .. } => "SeveralBudgets",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyPlanned => f.write_str("it is in the plan already"),
            Self::StillOpen => {
                f.write_str("an earlier request to evict it may still be carried out")
            }
            Self::OutsideNodeSet => f.write_str("it is on no node that is ready and selected"),
            Self::Malformed => f.write_str("part of the pod could not be read"),
            Self::CoolingDown { until, why } => write!(f, "{why}; not again before {until}"),
            Self::Protected(reason) | Self::Placement(reason) | Self::Kept(reason) => {
                f.write_str(&reason.detail)
            }
            Self::Limit { kind, limit } => write!(f, "{} ({limit}) is reached", kind.field()),
            Self::Budget { name, allowed: 0 } => {
                write!(f, "disruption budget `{name}` allows no disruption")
            }
            Self::Budget { name, allowed } => {
                write!(f, "disruption budget `{name}` allows {allowed}, all planned already")
            }
            Self::BudgetNotProcessed { name } => {
                write!(f, "disruption budget `{name}` has changed and was not processed yet")
            }
            Self::BudgetUnknown { name } => write!(
                f,
                "disruption budget `{name}` has no status and its pods' owners are not known"
            ),
            Self::SeveralBudgets { names } => {
                write!(f, "several disruption budgets cover it: {}", names.join(", "))
            }
        }
    }
}
