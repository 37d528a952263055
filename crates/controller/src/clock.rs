//! The only wall clock. How long something took is asked of tokio, whose time tests can move.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The moment that it is.
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// The time since some moment, which no change of the wall clock moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    at: Timestamp,
    begun: Instant,
}

impl Clock {
    /// Counts on from now.
    pub(crate) fn start() -> Self {
        Self { at: now(), begun: Instant::now() }
    }

    /// The moment that it is.
    pub(crate) fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.begun.elapsed());
        let now = passed.ok().and_then(|passed| self.at.checked_add(passed).ok());
        now.unwrap_or(Timestamp::MAX)
    }

    /// When tokio's clock will say so.
    pub(crate) fn instant(&self, at: Timestamp) -> Instant {
        let after = at.duration_since(self.at).unsigned_abs();
        // Beyond what a clock can hold there is nothing to wait for.
        let never = self.begun + std::time::Duration::from_secs(86_400 * 365);
        if at <= self.at { self.begun } else { self.begun.checked_add(after).unwrap_or(never) }
    }
}
