//! What the service tells about its work while it works: plain data, for whoever makes log lines,
//! metrics, events or pages of it.
//!
//! ```text
//!  News::Policy, News::Lease, News::Serving  at any time
//!  News::Synced                              once, before the first cycle
//!  News::Begun -> Skipped -> Ended       a cycle that could not be planned
//!              -> Settled* -> Planned -> Decided* -> Ended
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use descheduler_cluster::{Anomaly, Snapshot};
use descheduler_engine::{Fate, OpenEviction, Plan, Policy, Receipt, Record, Settled};
use jiff::Timestamp;

use crate::watch::Missing;

/// Told everything in the order in which it happens, on the task that does the work: so it must
/// return at once. Who writes to a socket puts what is told into a queue of a bounded length.
pub trait Listener: Send + Sync {
    /// Something has happened.
    fn hear(&self, news: &News);
}

/// What has happened. What is large is shared, so all of it can be kept.
#[derive(Clone)]
pub enum News {
    /// The whole cluster has been read.
    Synced,
    /// A policy is in use from now on, or a new one cannot be.
    Policy(PolicyNews),
    /// Whether this process may act has changed. Not told where there is no leader election.
    Lease(LeaseNews),
    /// About the HTTPS endpoint.
    Serving(ServingNews),
    /// A cycle begins.
    Begun(Begun),
    /// It is known what became of an eviction of an earlier cycle whose answer was lost, or which
    /// went on in the background.
    Settled(SettledNews),
    /// Nothing can be planned in this cycle.
    Skipped(Skipped),
    /// A plan was made. Without dry run it is carried out now.
    Planned(Arc<Planned>),
    /// What became of one planned eviction is known. Not told in a dry run.
    Decided(Decided),
    /// The cycle is over.
    Ended(Arc<Ended>),
}

/// About the policy.
#[derive(Clone)]
pub enum PolicyNews {
    /// It is used from the next cycle on.
    Used(Arc<Policy>),
    /// The file has changed and cannot be used, so the last good one stays: what is wrong, for
    /// people, over several lines.
    Refused(String),
}

/// About the lease (docs/spec/runtime.md section 11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseNews {
    /// Somebody else holds it.
    HeldBy(String),
    /// We hold it.
    Acquired,
    /// It could not be renewed in time, or somebody else has taken it: nothing more is evicted.
    Lost(String),
    /// We have given it up.
    Released,
    /// It is not ours, and could not be asked for.
    Failed(String),
}

/// About the HTTPS endpoint (docs/spec/runtime.md section 9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServingNews {
    /// It answers from now on.
    Listening(SocketAddr),
    /// The certificate in this file has changed and is in use.
    CertificateReplaced(String),
    /// The certificate in this file has changed and cannot be used, so the last good one stays: why.
    CertificateUnusable(String, String),
}

/// A cycle begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its number, from 1.
    pub cycle: u64,
    /// When.
    pub at: Timestamp,
}

/// What a snapshot has shown of an eviction that was left open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledNews {
    /// The cycle in which it was seen.
    pub cycle: u64,
    /// The eviction.
    pub eviction: OpenEviction,
    /// Whether it was one.
    pub settled: Settled,
}

/// Why nothing can be planned now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The cycle.
    pub cycle: u64,
    /// The bounded code, for metrics: `NotReady` (the store is half filled or stale), `Unsound` (the
    /// plan did not pass the audit) or `Failed` (a bug in planning).
    pub code: &'static str,
    /// For people.
    pub why: String,
}

/// A plan and all that it was made from.
#[derive(Clone)]
pub struct Planned {
    /// The cycle.
    pub cycle: u64,
    /// Whether it will only be looked at.
    pub dry_run: bool,
    /// The cluster and what could not be read of it.
    pub world: Arc<(Snapshot, Vec<Anomaly>)>,
    /// Kinds that we may not read.
    pub missing: Vec<Missing>,
    /// For how long the server had been silent on the kind that it had been silent on for longest
    /// when the snapshot was taken: how old it may be.
    pub age: Duration,
    /// The policy.
    pub policy: Arc<Policy>,
    /// The plan.
    pub plan: Arc<Plan>,
    /// What it cost.
    pub spent: Spent,
}

/// How long the parts of a cycle took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Making the snapshot.
    pub snapshot: Duration,
    /// Making the plan, all strategies included.
    pub plan: Duration,
    /// Checking it.
    pub audit: Duration,
    /// Each run of a strategy, in the order in which they ran.
    pub strategies: Vec<StrategySpent>,
}

/// How long one run of a strategy took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategySpent {
    /// The name of its profile.
    pub profile: String,
    /// The strategy.
    pub strategy: &'static str,
    /// How long it took.
    pub took: Duration,
}

/// What became of one planned eviction.
#[derive(Clone)]
pub struct Decided {
    /// The cycle.
    pub cycle: u64,
    /// When it was known.
    pub at: Timestamp,
    /// The policy that `record.target.profile` is an index into.
    pub policy: Arc<Policy>,
    /// The eviction and what became of it.
    pub record: Record,
}

/// A cycle is over.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its number.
    pub cycle: u64,
    /// Whether it only looked.
    pub dry_run: bool,
    /// Why nothing was planned, if so.
    pub skipped: Option<Skipped>,
    /// How many evictions were planned.
    pub planned: usize,
    /// How many pods are kept although a strategy would have them go.
    pub refused: usize,
    /// What became of the plan; empty in a dry run and where nothing was planned.
    pub receipt: Receipt,
    /// Evictions of this and earlier cycles of which it is not known yet what became of them.
    pub open: usize,
    /// How long the cycle took.
    pub took: Duration,
    /// How long until the next one; `None` if there is none.
    pub next_in: Option<Duration>,
}

/// Everybody who wants to know.
#[derive(Clone, Default)]
pub struct Audience(Vec<Arc<dyn Listener>>);

impl Audience {
    /// These, told in this order.
    pub fn new(listeners: Vec<Arc<dyn Listener>>) -> Self {
        Self(listeners)
    }

    /// Tells everybody.
    pub(crate) fn tell(&self, news: &News) {
        self.0.iter().for_each(|listener| listener.hear(news));
    }
}

/// How a cycle's evictions went, as an exit code has to say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There was nothing to do, or some of it was done, or budgets had a say.
    Fine,
    /// Every request failed: none evicted, found its pod gone, or was refused by a budget; and the
    /// server said no to at least one.
    Denied,
    /// Every request failed, and no answer said why.
    Failed,
    /// Nothing could be planned.
    Skipped,
}

impl Ended {
    /// How it went.
    pub fn verdict(&self) -> Verdict {
        if self.skipped.is_some() {
            return Verdict::Skipped;
        }
        let tried = || self.receipt.records.iter().filter(|record| record.requests > 0);
        let is_fine = |record: &Record| match record.fate {
            Fate::Evicted
            | Fate::InBackground
            | Fate::Gone
            | Fate::Replaced
            | Fate::BlockedByBudget => true,
            Fate::ThrottledOut
            | Fate::Conflict
            | Fate::Unreached(_)
            | Fate::Denied(_)
            | Fate::Unknown(_)
            | Fate::NotTried(_) => false,
        };
        if tried().next().is_none() || tried().any(is_fine) {
            return Verdict::Fine;
        }
        match tried().any(|record| matches!(record.fate, Fate::Denied(_))) {
            true => Verdict::Denied,
            false => Verdict::Failed,
        }
    }
}

/// One line for operators.
impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cycle, dry_run, skipped, planned, refused, receipt, open, took, next_in } = self;
        write!(f, "cycle {cycle}")?;
        match skipped {
            Some(Skipped { why, .. }) => write!(f, " skipped: {why}")?,
            None => {
                let mode = if *dry_run { " (dry run)" } else { "" };
                write!(f, "{mode}: {planned} to evict, {refused} kept")?;
            }
        }
        let mut fates: BTreeMap<&str, usize> = BTreeMap::new();
        for record in &receipt.records {
            *fates.entry(record.fate.code()).or_default() += 1;
        }
        for (at, (code, number)) in fates.into_iter().enumerate() {
            let before = if at == 0 { ";" } else { "," };
            write!(f, "{before} {number} {code}")?;
        }
        if *open > 0 {
            write!(f, "; {open} not known yet")?;
        }
        write!(f, "; took {:.1} s", took.as_secs_f64())?;
        match next_in {
            Some(next_in) => write!(f, ", next in {:.0} s", next_in.as_secs_f64()),
            None => Ok(()),
        }
    }
}
