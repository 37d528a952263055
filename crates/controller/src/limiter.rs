//! How fast we may ask: a token bucket, as in client-go.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::client::Rate;

/// Makes requests wait in the order in which they come.
#[derive(Debug)]
pub(crate) struct Limiter(Mutex<Bucket>);

impl Limiter {
    pub(crate) fn new(rate: Rate) -> Self {
        Self(Mutex::new(Bucket::full(rate, Instant::now())))
    }

    /// Waits until it is our turn.
    pub(crate) async fn turn(&self) {
        sleep_until(self.book()).await;
    }

    /// Takes a turn; says when it is.
    pub(crate) fn book(&self) -> Instant {
        // A bucket is whole whoever panicked while holding it.
        let mut bucket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        now + bucket.take(now)
    }
}

#[derive(Debug)]
struct Bucket {
    rate: Rate,
    /// Below zero when tokens were given out that are yet to come.
    tokens: f64,
    at: Instant,
}

impl Bucket {
    fn full(rate: Rate, at: Instant) -> Self {
        Self { rate, tokens: f64::from(rate.burst), at }
    }

    /// Takes a token; says how long to wait until it is there.
    fn take(&mut self, now: Instant) -> Duration {
        let per_second = f64::from(self.rate.per_second);
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * per_second;
        self.at = now;
        self.tokens = (self.tokens + gained).min(f64::from(self.rate.burst)) - 1.0;
        Duration::try_from_secs_f64(-self.tokens / per_second).unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_then_the_rate_holds() {
        let start = Instant::now();
        let mut bucket = Bucket::full(Rate { per_second: 5.0, burst: 3 }, start);
        let waits: Vec<u128> = (0..6).map(|_| bucket.take(start).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 200, 400, 600]);
        // Three tokens are owed; two seconds give ten, of which the bucket holds three.
        let later = start + Duration::from_secs(2);
        let waits: Vec<u128> = (0..4).map(|_| bucket.take(later).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 200]);
    }
}
