//! Which of several processes may evict: the one that holds a `coordination.k8s.io/v1 Lease`
//! (docs/spec/runtime.md section 11).
//!
//! What keeps two of them from ever acting at a time:
//!
//! * A lease is taken with the version that was seen, so of two that reach for it one fails.
//! * No clock of another machine is believed. A lease that somebody else holds is free when it has
//!   not changed for its whole duration, by our own watch, since we saw its last change.
//! * Our own tenure is counted from before the request that renewed it was sent, and ends at the
//!   renew deadline, which is before anybody may think that the lease is free. A process that was
//!   halted finds it ended when it wakes up.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::api::{Api, CallError, chain};
use crate::clock;
use crate::observe::{Audience, LeaseNews, News};
use crate::stop::{Stop, Stopper};

/// How much longer than between two tries the renewal must be allowed to take, as in client-go.
const RETRY_ROOM: f64 = 1.2;

/// Giving up the lease at the end is a courtesy, for which nobody waits long.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(3);

/// Which lease, and how it is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseSettings {
    /// Where it is.
    pub namespace: String,
    /// What it is called.
    pub name: String,
    /// Who we are: differs from process to process.
    pub identity: String,
    /// How long others wait for a holder that is silent.
    pub duration: Duration,
    /// How long we act without having renewed it.
    pub renew_deadline: Duration,
    /// How long between two tries to take or renew it.
    pub retry_period: Duration,
}

/// Why a lease cannot be held so; in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// No name.
    #[error("leaderElection: name may not be empty")]
    Name,
    /// No namespace.
    #[error("leaderElection: namespace may not be empty")]
    Namespace,
    /// We would act while others think that it is free.
    #[error("leaderElection: leaseDuration must be greater than renewDeadline")]
    Duration,
    /// There would be no second try.
    #[error("leaderElection: renewDeadline must be greater than retryPeriod*{RETRY_ROOM}")]
    Deadline,
    /// There would be no pause.
    #[error("leaderElection: retryPeriod must be greater than zero")]
    Retry,
}

impl LeaseSettings {
    /// Whether it can be held so.
    ///
    /// # Errors
    ///
    /// It cannot.
    pub fn check(&self) -> Result<(), LeaseError> {
        let Self { namespace, name, identity: _, duration, renew_deadline, retry_period } = self;
        match () {
            () if name.is_empty() => Err(LeaseError::Name),
            () if namespace.is_empty() => Err(LeaseError::Namespace),
            () if duration <= renew_deadline => Err(LeaseError::Duration),
            () if *renew_deadline <= retry_period.mul_f64(RETRY_ROOM) => Err(LeaseError::Deadline),
            () if retry_period.is_zero() => Err(LeaseError::Retry),
            () => Ok(()),
        }
    }

    /// An identity that nobody else has: `<host>_<random>`, as upstream's.
    pub fn new_identity(host: &str) -> String {
        // The standard library seeds its hashers from the system's source of random numbers.
        let random = || RandomState::new().hash_one(host);
        let (high, low) = (random(), random());
        let id = format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | (low >> 48) & 0x3fff,
            low & 0xffff_ffff_ffff,
        );
        if host.is_empty() { id } else { format!("{host}_{id}") }
    }
}

/// Whether it is us, and until when.
#[derive(Clone, Debug)]
pub(crate) struct Tenure(watch::Receiver<Option<Until>>);

/// The end of a tenure that is not renewed. Both clocks count: one stands still while the machine is
/// suspended, the other may be set back.
#[derive(Clone, Copy, Debug)]
struct Until {
    instant: Instant,
    wall: Timestamp,
}

impl Until {
    fn is_over(&self) -> bool {
        Instant::now() >= self.instant || clock::now() >= self.wall
    }
}

impl Tenure {
    /// Whether we may act at this moment.
    pub(crate) fn may_act(&self) -> bool {
        self.0.borrow().is_some_and(|until| !until.is_over())
    }

    /// Waits until we may.
    pub(crate) async fn begins(&mut self) {
        let held = |until: &Option<Until>| until.is_some_and(|until| !until.is_over());
        // Whoever would tell us is gone, so nobody will.
        if self.0.wait_for(held).await.is_err() {
            std::future::pending().await
        }
    }

    /// Waits until we may not.
    pub(crate) async fn ends(&mut self) {
        loop {
            let until = *self.0.borrow_and_update();
            let Some(until) = until.filter(|until| !until.is_over()) else { return };
            tokio::select! {
                changed = self.0.changed() => if changed.is_err() { return },
                () = sleep_until(until.instant) => {}
            }
        }
    }
}

/// Stands for election until it is told to stop, and then gives the lease up.
#[derive(Debug)]
pub(crate) struct Candidacy {
    stopper: Stopper,
    task: JoinHandle<()>,
}

impl Candidacy {
    /// Begins. Has to be called within a tokio runtime.
    pub(crate) fn begin(api: &Api, settings: LeaseSettings, audience: Audience) -> (Self, Tenure) {
        let (stopper, stop) = Stop::new();
        let (until, tenure) = watch::channel(None);
        let candidate = Candidate {
            // Renewals do not stand in line behind evictions.
            api: api.at_once(),
            settings,
            audience,
            until,
            last: None,
            seen: None,
            trouble: None,
            told: None,
        };
        (Self { stopper, task: tokio::spawn(candidate.run(stop)) }, Tenure(tenure))
    }

    /// Gives the lease up, if it is ours, so that the next one need not wait.
    pub(crate) async fn end(self) {
        self.stopper.stop();
        // One that has failed holds nothing that it could give up.
        let _ = self.task.await;
    }
}

struct Candidate {
    api: Api,
    settings: LeaseSettings,
    audience: Audience,
    until: watch::Sender<Option<Until>>,
    /// The lease as we wrote it last, while it is ours.
    last: Option<Lease>,
    /// The version of somebody else's lease, and when it was first seen.
    seen: Option<(Option<String>, Instant)>,
    /// What went wrong since it was renewed.
    trouble: Option<String>,
    told: Option<LeaseNews>,
}

/// How a try ended.
enum Tried {
    Ours(Box<Lease>),
    /// Somebody else holds it.
    Theirs(String),
    Failed(String),
}

impl Candidate {
    async fn run(mut self, mut stop: Stop) {
        loop {
            // A try that is under way may come to its end, but a server that does not answer keeps
            // nobody from leaving.
            let mut patience = stop.clone();
            let gone = async {
                patience.wait().await;
                sleep(RELEASE_TIMEOUT).await;
            };
            let pause = tokio::select! {
                pause = self.step() => pause,
                () = gone => break,
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = stop.wait() => break,
            }
        }
        self.release().await;
    }

    /// One try; says how long to wait until the next.
    async fn step(&mut self) -> Duration {
        // A process that was halted for too long must not go on as if nothing had been.
        self.expire();
        let (begun, wall) = (Instant::now(), clock::now());
        let LeaseSettings { renew_deadline, retry_period, .. } = self.settings;
        // A server that does not answer must leave time for a second try.
        let tried = timeout(renew_deadline / 2, self.try_once()).await;
        let tried = tried.unwrap_or_else(|_| Tried::Failed("no answer in time".to_owned()));
        match tried {
            Tried::Ours(lease) => {
                let span = SignedDuration::try_from(renew_deadline).unwrap_or_default();
                let wall = wall.checked_add(span).unwrap_or(Timestamp::MAX);
                self.last = Some(*lease);
                self.seen = None;
                self.trouble = None;
                self.until.send_replace(Some(Until { instant: begun + renew_deadline, wall }));
                self.tell(LeaseNews::Acquired);
            }
            Tried::Theirs(holder) => {
                self.lose(&format!("`{holder}` holds it"));
                self.tell(LeaseNews::HeldBy(holder));
            }
            Tried::Failed(why) => {
                // What became of the request is not known, so the lease is read next time.
                self.last = None;
                self.trouble = Some(why.clone());
                self.expire();
                if self.until.borrow().is_none() {
                    self.tell(LeaseNews::Failed(why));
                }
            }
        }
        let left = self.until.borrow().map(|until| until.instant.duration_since(Instant::now()));
        // Not beyond the end of our tenure, so that it is told when it ends.
        left.map_or(retry_period, |left| left.min(retry_period))
    }

    async fn try_once(&mut self) -> Tried {
        if let Some(lease) = self.last.take() {
            match self.write(lease).await {
                // Somebody else has written: see who.
                Err(error) if error.code() == Some(409) => {}
                done => return done.map_or_else(|error| failed(&error), Tried::ours),
            }
        }
        let lease = match self.api.get(&self.path(true)).await.map(|body| self.read(&body)) {
            Ok(Ok(lease)) => lease,
            Err(error) if error.code() == Some(404) => {
                return self.create().await.map_or_else(|error| failed(&error), Tried::ours);
            }
            Ok(Err(error)) | Err(error) => return failed(&error),
        };
        match self.holder(&lease) {
            Some(holder) => Tried::Theirs(holder),
            None => self.write(lease).await.map_or_else(|error| failed(&error), Tried::ours),
        }
    }

    /// Who else holds a lease, if somebody does.
    fn holder(&mut self, lease: &Lease) -> Option<String> {
        let spec = lease.spec.as_ref()?;
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        if holder.is_empty() || holder == self.settings.identity {
            return None;
        }
        let version = &lease.metadata.resource_version;
        let since = match &self.seen {
            Some((seen, since)) if seen == version => *since,
            _ => self.seen.insert((version.clone(), Instant::now())).1,
        };
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let lasts = seconds.map_or(self.settings.duration, Duration::from_secs);
        (Instant::now() < since + lasts).then(|| holder.to_owned())
    }

    /// Takes or renews a lease that was seen.
    async fn write(&self, mut lease: Lease) -> Result<Lease, CallError> {
        let spec = lease.spec.get_or_insert_default();
        let us = &self.settings.identity;
        let now = MicroTime(clock::now());
        if spec.holder_identity.as_ref() != Some(us) {
            spec.acquire_time = Some(now.clone());
            let before = spec.lease_transitions.unwrap_or(0);
            spec.lease_transitions = Some(before.saturating_add(1));
        }
        spec.holder_identity = Some(us.clone());
        spec.lease_duration_seconds = Some(self.seconds());
        spec.renew_time = Some(now);
        self.put(&lease).await
    }

    async fn put(&self, lease: &Lease) -> Result<Lease, CallError> {
        let body = serde_json::to_vec(lease).map_err(|error| self.api.odd(&error))?;
        let body = self.api.put(&self.path(true), body).await?;
        self.read(&body)
    }

    async fn create(&self) -> Result<Lease, CallError> {
        let LeaseSettings { namespace, name, identity, .. } = &self.settings;
        let now = MicroTime(clock::now());
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                namespace: Some(namespace.clone()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(identity.clone()),
                lease_duration_seconds: Some(self.seconds()),
                acquire_time: Some(now.clone()),
                renew_time: Some(now),
                lease_transitions: Some(0),
                ..LeaseSpec::default()
            }),
        };
        let body = serde_json::to_vec(&lease).map_err(|error| self.api.odd(&error))?;
        let body = self.api.post(&self.path(false), body).await?;
        self.read(&body)
    }

    fn read(&self, body: &[u8]) -> Result<Lease, CallError> {
        serde_json::from_slice(body).map_err(|error| self.api.odd(&error))
    }

    fn path(&self, of_one: bool) -> String {
        let LeaseSettings { namespace, name, .. } = &self.settings;
        let all = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
        if of_one { format!("{all}/{name}") } else { all }
    }

    /// The duration in whole seconds, in which it is written; never less than it is.
    fn seconds(&self) -> i32 {
        let duration = self.settings.duration;
        let more = u64::from(duration.subsec_nanos() > 0);
        i32::try_from(duration.as_secs() + more).unwrap_or(i32::MAX)
    }

    /// Ends a tenure that is over by the clock.
    fn expire(&mut self) {
        let is_over = self.until.borrow().is_some_and(|until| until.is_over());
        if is_over {
            let why = self.trouble.take();
            let why = why.unwrap_or_else(|| "the process was halted".to_owned());
            let seconds = self.settings.renew_deadline.as_secs();
            self.lose(&format!("it could not be renewed for {seconds} s: {why}"));
        }
    }

    fn lose(&mut self, why: &str) {
        self.last = None;
        if self.until.send_replace(None).is_some() {
            self.tell(LeaseNews::Lost(why.to_owned()));
        }
    }

    async fn release(mut self) {
        let ours = self.until.send_replace(None).is_some();
        let Some(mut lease) = self.last.take().filter(|_| ours) else { return };
        let now = MicroTime(clock::now());
        let spec = lease.spec.get_or_insert_default();
        // As client-go leaves it: nobody's, and only for a second.
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(now.clone());
        spec.acquire_time = Some(now);
        if let Ok(Ok(_)) = timeout(RELEASE_TIMEOUT, self.put(&lease)).await {
            self.tell(LeaseNews::Released);
        }
    }

    /// Tells what is new.
    fn tell(&mut self, news: LeaseNews) {
        if self.told.as_ref() != Some(&news) {
            self.audience.tell(&News::Lease(news.clone()));
            self.told = Some(news);
        }
    }
}

impl Tried {
    fn ours(lease: Lease) -> Self {
        Self::Ours(Box::new(lease))
    }
}

fn failed(error: &CallError) -> Tried {
    Tried::Failed(chain(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(lease: u64, renew: u64, retry: u64) -> LeaseSettings {
        LeaseSettings {
            namespace: "kube-system".to_owned(),
            name: "descheduler".to_owned(),
            identity: "a".to_owned(),
            duration: Duration::from_secs(lease),
            renew_deadline: Duration::from_secs(renew),
            retry_period: Duration::from_secs(retry),
        }
    }

    #[test]
    fn what_could_not_be_held_safely_is_refused() {
        assert_eq!(settings(137, 107, 26).check(), Ok(()));
        assert_eq!(settings(107, 107, 26).check(), Err(LeaseError::Duration));
        assert_eq!(settings(20, 12, 10).check(), Err(LeaseError::Deadline));
        assert_eq!(settings(20, 12, 0).check(), Err(LeaseError::Retry));
        let nameless = LeaseSettings { name: String::new(), ..settings(137, 107, 26) };
        assert_eq!(nameless.check(), Err(LeaseError::Name));
        let homeless = LeaseSettings { namespace: String::new(), ..settings(137, 107, 26) };
        assert_eq!(homeless.check(), Err(LeaseError::Namespace));
    }

    #[test]
    fn no_two_processes_have_one_identity() {
        let (one, other) =
            (LeaseSettings::new_identity("host"), LeaseSettings::new_identity("host"));
        assert_ne!(one, other);
        assert_eq!(one.len(), "host_".len() + 36, "{one}");
        assert_eq!(LeaseSettings::new_identity("").len(), 36);
    }
}
