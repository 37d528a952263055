//! What became of a plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;

use crate::decision::{Eviction, Reason};
use crate::limits::LimitKind;
use crate::plan::Plan;

use super::open::OpenEviction;
use super::target::{PodKey, Target};

/// What the API server said to an eviction request, or did not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// 2xx: the pod is terminating or gone.
    Evicted,
    /// 429 with the confirmation of a background eviction (docs/spec/runtime.md section 8.1).
    InBackground,
    /// 404: there is no such pod.
    Gone,
    /// 409 for the UID: the name belongs to another pod now.
    Replaced,
    /// Any other 409: somebody else changed an object at the same time; nothing was done.
    Conflict,
    /// 429 with the cause `DisruptionBudget`. The server names a delay only when the budget was
    /// not processed yet; without one the budget is spent.
    BlockedByBudget {
        /// `Retry-After`, unless it is absent or 0.
        retry_after: Option<SignedDuration>,
    },
    /// Any other 429: the server wants less of us.
    Throttled {
        /// `Retry-After`, unless it is absent or 0.
        retry_after: Option<SignedDuration>,
    },
    /// The request did not leave us: there was no connection, or we may not act any more.
    Unreached(String),
    /// Any other 4xx: nothing was done, and nothing will be.
    Denied(String),
    /// A 5xx, a broken connection or no answer: it may be an eviction.
    Unknown(String),
}

/// What a look at the pod, right before its turn, has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// It is as it was planned: same UID, not terminating, not protected.
    Same,
    /// It is gone, or terminating without us.
    Gone,
    /// Another pod has its name.
    Replaced,
    /// Something holds it that did not when the plan was made.
    Held(Reason),
    /// It could not be looked at, so it stays.
    Unseen,
}

/// What became of one planned eviction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was evicted.
    Evicted,
    /// It is being evicted in the background.
    InBackground,
    /// It was gone already, or going.
    Gone,
    /// Another pod has its name now.
    Replaced,
    /// Its disruption budget forbade it.
    BlockedByBudget,
    /// The server throttled every try.
    ThrottledOut,
    /// Every try met another change.
    Conflict,
    /// No try reached the server.
    Unreached(String),
    /// The server refused.
    Denied(String),
    /// The answer was lost: it may be an eviction.
    Unknown(String),
    /// Nobody asked for it.
    NotTried(Untried),
}

/// Why an eviction was not asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Untried {
    /// The execution was stopped.
    Stopped,
    /// The plan had become too old.
    TooOld,
    /// Earlier evictions that count, or may, use the limit up.
    Limit(LimitKind),
    /// Earlier evictions that count, or may, use the budget up.
    Budget(Arc<str>),
    /// It made sense only with another eviction, which did not happen.
    ReliedOn(PodKey),
    /// An earlier request for the same pod is still open.
    StillOpen,
    /// Something holds it that did not when the plan was made.
    Held(Reason),
    /// It could not be looked at.
    Unseen,
}

impl Fate {
    /// The bounded code, for metrics: PascalCase.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Evicted => "Evicted",
            Self::InBackground => "InBackground",
            Self::Gone => "Gone",
            Self::Replaced => "Replaced",
            Self::BlockedByBudget => "BlockedByBudget",
            Self::ThrottledOut => "ThrottledOut",
            Self::Conflict => "Conflict",
            Self::Unreached(_) => "Unreached",
            Self::Denied(_) => "Denied",
            Self::Unknown(_) => "Unknown",
            Self::NotTried(why) => why.code(),
        }
    }

    /// Whether the pod has surely left where it was, or is about to.
    pub(super) fn left(&self) -> bool {
        matches!(self, Self::Evicted | Self::InBackground | Self::Gone)
    }

    /// Whether it was our doing that the pod leaves, or may have been.
    fn is_ours(&self) -> bool {
        matches!(self, Self::Evicted | Self::InBackground | Self::Unknown(_))
    }
}

impl Untried {
    fn code(&self) -> &'static str {
        match self {
            Self::Stopped => "Stopped",
            Self::TooOld => "TooOld",
            Self::Limit(kind) => kind.code(),
            Self::Budget(_) => "BudgetSpent",
            Self::ReliedOn(_) => "ReliedOnAnother",
            Self::StillOpen => "StillOpen",
            Self::Held(_) => "Held",
            Self::Unseen => "Unseen",
        }
    }
}

/// What became of a whole plan.
#[must_use]
#[derive(Clone, Debug, Default)]
pub struct Receipt {
    /// Every planned eviction, once, in plan order.
    pub records: Vec<Record>,
    /// What counts on until a later snapshot decides it: for [`Open::extend`](super::Open::extend).
    pub open: Vec<OpenEviction>,
}

/// What became of one planned eviction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which.
    pub target: Target,
    /// What became of it.
    pub fate: Fate,
    /// How many requests were made.
    pub requests: u32,
}

impl Receipt {
    /// The moves of the plan that this is the receipt for which were made, or may have been.
    pub fn made<'p>(&self, plan: &'p Plan) -> impl Iterator<Item = &'p Eviction> {
        let records = plan.evictions.iter().zip(&self.records);
        records.filter(|(_, record)| record.fate.is_ours()).map(|(eviction, _)| eviction)
    }

    /// How many evictions of each profile (an index into the policy) and strategy met which fate,
    /// by its code.
    pub fn counts(&self) -> BTreeMap<(usize, &'static str, &'static str), u64> {
        let mut counts = BTreeMap::new();
        for Record { target: Target { profile, strategy, .. }, fate, .. } in &self.records {
            *counts.entry((*profile, *strategy, fate.code())).or_default() += 1;
        }
        counts
    }
}
