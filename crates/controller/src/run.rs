//! The loop: wait for the cluster, for the lease and for the time, run a cycle, begin anew.

use std::sync::Arc;
use std::time::Duration;

use descheduler_engine::{Pace, Policy};
use tokio::time::{Instant, sleep_until};

use crate::api::Api;
use crate::cycle::{Memory, Surroundings};
use crate::lease::{Candidacy, LeaseSettings, Tenure};
use crate::observe::{Audience, Ended, News, PolicyNews};
use crate::stop::Stop;
use crate::watch::{Options, Stores, SyncError};

/// So often in a row a kind may fail to be read before a single cycle, which takes some six seconds.
/// A loop goes on asking.
const ATTEMPTS_OF_ONE: u32 = 4;

/// A cycle begins up to a twentieth of the interval late, and at most so much, so that programs
/// that were started together do not stay together.
const JITTER_PART: u32 = 20;
const JITTER_MAX: Duration = Duration::from_secs(30);

/// What to do, and with what.
pub struct Service {
    /// Whom to ask.
    pub api: Api,
    /// What to look at.
    pub options: Options,
    /// Who wants to know.
    pub audience: Audience,
    /// From the beginning of one cycle to that of the next; zero for one cycle and no more.
    pub interval: Duration,
    /// Plans are made and told, and nothing is changed.
    pub dry_run: bool,
    /// Whether an eviction may go on in the background (docs/spec/runtime.md section 8).
    pub background: bool,
    /// How fast plans are carried out.
    pub pace: Pace,
    /// Where only one of several processes may act: how that one is found.
    pub lease: Option<LeaseSettings>,
    /// What the lateness of cycles is drawn from; differs from process to process.
    pub seed: u64,
}

/// Where the policy comes from.
pub trait PolicySource: Send {
    /// Whether there is another one than when this was asked last.
    fn look(&mut self) -> Look;
}

/// What a policy source has found.
pub enum Look {
    /// Nothing new.
    Same,
    /// This one is to be used.
    New(Arc<Policy>),
    /// There is a new one, which cannot be used: why, for people.
    Unusable(String),
}

/// A policy that stays as it is.
pub struct Fixed;

impl PolicySource for Fixed {
    fn look(&mut self) -> Look {
        Look::Same
    }
}

impl Service {
    /// Runs until it is told to stop, or for one cycle. Answers with how the last cycle ended, if
    /// there was one.
    ///
    /// # Errors
    ///
    /// The cluster cannot be read.
    pub async fn run(
        &self,
        mut policy: Arc<Policy>,
        source: &mut dyn PolicySource,
        mut stop: Stop,
    ) -> Result<Option<Ended>, SyncError> {
        let stores = Stores::start(&self.api, self.options);
        let attempts = if self.interval.is_zero() { ATTEMPTS_OF_ONE } else { u32::MAX };
        tokio::select! {
            synced = stores.synced(attempts) => synced?,
            () = stop.wait() => return Ok(None),
        }
        self.audience.tell(&News::Synced);
        self.audience.tell(&News::Policy(PolicyNews::Used(policy.clone())));
        let (candidacy, mut tenure) = match &self.lease {
            Some(lease) => {
                let (one, tenure) =
                    Candidacy::begin(&self.api, lease.clone(), self.audience.clone());
                (Some(one), Some(tenure))
            }
            None => (None, None),
        };
        let (mut memory, mut jitter) = (Memory::default(), Jitter(self.seed));
        let mut last = None;
        loop {
            tokio::select! {
                () = may_begin(&mut tenure) => {}
                () = stop.wait() => break,
            }
            let begun = Instant::now();
            self.renew(&mut policy, source);
            let (stores, policy, stop_now) = (&stores, &policy, &stop);
            let around = Surroundings { stores, policy, stop: stop_now, tenure: tenure.as_ref() };
            let mut ended = memory.cycle(self, around).await;
            let goes_on = !self.interval.is_zero() && !stop.is_set();
            let next = begun + self.interval + jitter.next(self.interval);
            ended.next_in = goes_on.then(|| next.saturating_duration_since(Instant::now()));
            self.audience.tell(&News::Ended(Arc::new(ended.clone())));
            last = Some(ended);
            if !goes_on {
                break;
            }
            tokio::select! {
                () = sleep_until(next) => {}
                () = stop.wait() => break,
            }
        }
        if let Some(candidacy) = candidacy {
            candidacy.end().await;
        }
        Ok(last)
    }

    /// Takes over a new policy, if there is one that can be used.
    fn renew(&self, policy: &mut Arc<Policy>, source: &mut dyn PolicySource) {
        let news = match source.look() {
            Look::Same => return,
            Look::New(new) => {
                *policy = new.clone();
                PolicyNews::Used(new)
            }
            Look::Unusable(why) => PolicyNews::Refused(why),
        };
        self.audience.tell(&News::Policy(news));
    }
}

async fn may_begin(tenure: &mut Option<Tenure>) {
    if let Some(tenure) = tenure {
        tenure.begins().await;
    }
}

/// How late cycles are.
struct Jitter(u64);

impl Jitter {
    /// Steps of the generator that Java and musl have, of which the upper bits are good.
    fn next(&mut self, interval: Duration) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let most = (interval / JITTER_PART).min(JITTER_MAX);
        most.mul_f64(f64::from((self.0 >> 32) as u32) / f64::from(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_a_little_late_and_never_early() {
        let mut jitter = Jitter(7);
        let late: Vec<Duration> = (0..100).map(|_| jitter.next(Duration::from_secs(100))).collect();
        assert!(late.iter().all(|&late| late <= Duration::from_secs(5)), "{late:?}");
        assert!(late.iter().any(|&late| late > Duration::from_secs(4)), "{late:?}");
        assert!(late.iter().any(|&late| late < Duration::from_secs(1)), "{late:?}");
        assert!(jitter.next(Duration::from_secs(86_400)) <= JITTER_MAX);
        assert_eq!(jitter.next(Duration::ZERO), Duration::ZERO);
    }
}
