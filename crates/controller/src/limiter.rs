//! How fast we may ask: a token bucket, as in client-go.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};
use tower::{Layer, Service};

use crate::client::Rate;

/// Makes requests wait in the order in which they come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitLayer(pub(crate) Rate);

impl<S> Layer<S> for LimitLayer {
    type Service = Limit<S>;

    fn layer(&self, inner: S) -> Limit<S> {
        let bucket = Bucket::full(self.0, Instant::now());
        Limit { inner, bucket, is_paid: false, wait: None }
    }
}

/// A service behind a bucket.
#[derive(Debug)]
pub(crate) struct Limit<S> {
    inner: S,
    bucket: Bucket,
    /// Whether the next request has its token.
    is_paid: bool,
    wait: Option<Pin<Box<Sleep>>>,
}

impl<R, S: Service<R>> Service<R> for Limit<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        if !self.is_paid {
            self.is_paid = true;
            let delay = self.bucket.take(Instant::now());
            self.wait = (!delay.is_zero()).then(|| Box::pin(sleep(delay)));
        }
        if let Some(wait) = &mut self.wait {
            ready!(wait.as_mut().poll(context));
            self.wait = None;
        }
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> S::Future {
        self.is_paid = false;
        self.inner.call(request)
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
