//! The cluster as it is now: a store of all objects that is kept up to date, and snapshots of it.

mod event;
pub(crate) mod follow;
pub(crate) mod kinds;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use descheduler_cluster::{Anomaly, Kind, Snapshot, Store};
use jiff::Timestamp;
use tokio::sync::{Mutex, MutexGuard, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::api::{Api, CallError, chain};
use follow::Follower;
use kinds::Resource;

/// A kind of which nothing was heard for so long may have changed beyond recognition. Every kind
/// is heard of more than once a minute, so this is several failures in a row.
const STALE: Duration = Duration::from_secs(180);

/// What to watch.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether what nodes and pods really use is asked for.
    pub metrics: bool,
}

/// The followers of all kinds and what they have gathered. They end when this is dropped.
#[derive(Debug)]
pub struct Stores {
    shared: Shared,
    followers: Vec<AbortHandle>,
}

/// What the followers share.
#[derive(Clone, Debug)]
struct Shared {
    inner: Arc<Mutex<Inner>>,
    changed: Arc<watch::Sender<()>>,
    /// The server does not send everything in one stream; asking once is enough.
    no_stream: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Inner {
    store: Store,
    health: BTreeMap<Kind, Health>,
}

/// How it stands with one kind.
#[derive(Debug)]
struct Health {
    resource: &'static Resource,
    state: State,
    /// When the server last said something about it.
    heard: Instant,
    /// What went wrong last, and how often in a row something did.
    trouble: Option<(Trouble, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not everything has been seen.
    Filling,
    Filled,
    /// It is not there, or we may not read it.
    Absent {
        forbidden: bool,
    },
}

#[derive(Clone, Debug)]
struct Trouble {
    code: Option<u16>,
    text: String,
}

/// A kind that may not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// As roles name it.
    pub resource: String,
    /// What the server says.
    pub problem: String,
    /// What follows from it.
    pub without: &'static str,
}

impl Missing {
    /// Whether it is about what nodes and pods really use.
    pub(crate) fn is_use(&self) -> bool {
        self.resource.ends_with(".metrics.k8s.io")
    }
}

/// Why the cluster cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {resource} of the cluster: {problem}")]
pub struct SyncError {
    /// As roles name it.
    pub resource: String,
    /// What the server says, or what the way to it does.
    pub problem: String,
    /// The status that it answered with, if it did.
    pub code: Option<u16>,
}

/// Why there is no snapshot now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// Not everything is known.
    #[error("{resource}: not all of them have been read yet{}", because(.trouble))]
    Filling {
        /// As roles name it.
        resource: String,
        /// What went wrong last, if anything.
        trouble: Option<String>,
    },
    /// What is known is too old.
    #[error(
        "{resource}: nothing was heard from the API server for {} s{}",
        .age.as_secs(), because(.trouble)
    )]
    Stale {
        /// As roles name it.
        resource: String,
        /// For how long.
        age: Duration,
        /// What went wrong last, if anything.
        trouble: Option<String>,
    },
}

fn because(trouble: &Option<String>) -> String {
    trouble.as_ref().map_or_else(String::new, |trouble| format!(": {trouble}"))
}

/// What is known of a cluster, for those who need it once.
#[derive(Debug)]
pub struct World {
    /// The cluster.
    pub snapshot: Snapshot,
    /// What is not as it should be.
    pub anomalies: Vec<Anomaly>,
    /// Kinds that we may not read.
    pub missing: Vec<Missing>,
}

/// A look at the store. Nothing changes in it meanwhile.
#[derive(Debug)]
pub struct Reading<'s> {
    inner: MutexGuard<'s, Inner>,
    /// How long ago the server last spoke of the kind that it has been silent on for longest.
    pub age: Duration,
}

impl Reading<'_> {
    /// The cluster, with ages counted from `now`, and what is not as it should be.
    pub fn snapshot(&mut self, now: Timestamp) -> &(Snapshot, Vec<Anomaly>) {
        self.inner.store.snapshot(now)
    }

    /// The same for those who keep it while the store goes on.
    pub(crate) fn share(&mut self, now: Timestamp) -> Arc<(Snapshot, Vec<Anomaly>)> {
        self.inner.store.share(now)
    }

    /// The objects themselves.
    pub(crate) fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Kinds that we may not read.
    pub(crate) fn missing(&self) -> Vec<Missing> {
        self.inner.missing()
    }
}

impl Stores {
    /// Begins to gather everything. Has to be called within a tokio runtime.
    pub fn start(api: &Api, options: Options) -> Self {
        let watched = |resource: &&Resource| resource.watched || options.metrics;
        let resources: Vec<&'static Resource> = Resource::ALL.iter().filter(watched).collect();
        let health = resources.iter().map(|resource| (resource.kind, Health::new(resource)));
        let inner = Inner { store: Store::new(), health: health.collect() };
        let shared = Shared {
            inner: Arc::new(Mutex::new(inner)),
            changed: Arc::new(watch::Sender::new(())),
            no_stream: Arc::default(),
        };
        let follow = |(number, &resource): (usize, &&'static Resource)| {
            let follower = Follower {
                api: api.clone(),
                resource,
                shared: shared.clone(),
                number,
                version: String::new(),
            };
            tokio::spawn(follower.run()).abort_handle()
        };
        let followers = resources.iter().enumerate().map(follow).collect();
        Self { shared, followers }
    }

    /// Waits until everything has been seen that can be.
    ///
    /// # Errors
    ///
    /// A kind that is needed may not be read, or one could not be read `attempts_max` times in a
    /// row.
    pub async fn synced(&self, attempts_max: u32) -> Result<(), SyncError> {
        let mut changed = self.shared.changed.subscribe();
        loop {
            if let Some(done) = self.shared.lock().await.progress(attempts_max) {
                return done;
            }
            // The sender lives as long as we do.
            let _ = changed.changed().await;
        }
    }

    /// A look at the cluster as it is now.
    ///
    /// # Errors
    ///
    /// Not everything is known, or it is too old.
    pub async fn read(&self) -> Result<Reading<'_>, NotReady> {
        let inner = self.shared.lock().await;
        let now = Instant::now();
        let mut age = Duration::ZERO;
        for health in inner.health.values() {
            let trouble = || health.trouble.as_ref().map(|(trouble, _)| trouble.text.clone());
            let silence = now.saturating_duration_since(health.heard);
            match health.state {
                State::Absent { .. } => {}
                State::Filling => {
                    let (resource, trouble) = (health.resource.name(), trouble());
                    return Err(NotReady::Filling { resource, trouble });
                }
                State::Filled if silence > STALE => {
                    let (resource, trouble) = (health.resource.name(), trouble());
                    return Err(NotReady::Stale { resource, age: silence, trouble });
                }
                State::Filled => age = age.max(silence),
            }
        }
        Ok(Reading { inner, age })
    }

    /// Kinds that we may not read.
    pub async fn missing(&self) -> Vec<Missing> {
        self.shared.lock().await.missing()
    }

    /// Waits for everything, takes a snapshot and ends.
    ///
    /// # Errors
    ///
    /// As [`Stores::synced`].
    pub async fn into_world(self, now: Timestamp, attempts_max: u32) -> Result<World, SyncError> {
        self.synced(attempts_max).await?;
        let mut inner = self.shared.lock().await;
        let missing = inner.missing();
        let (snapshot, anomalies) = std::mem::take(&mut inner.store).into_snapshot(now);
        Ok(World { snapshot, anomalies, missing })
    }
}

impl Drop for Stores {
    fn drop(&mut self) {
        self.followers.iter().for_each(AbortHandle::abort);
    }
}

impl Shared {
    async fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().await
    }

    /// Tells those who wait that something happened.
    fn tell(&self) {
        self.changed.send_replace(());
    }

    fn may_stream(&self) -> bool {
        !self.no_stream.load(Ordering::Relaxed)
    }

    fn refuse_stream(&self) {
        self.no_stream.store(true, Ordering::Relaxed);
    }

    async fn begin_list(&self, resource: &Resource) {
        let mut inner = self.lock().await;
        inner.heard(resource);
        inner.store.begin_list(resource.kind);
        if let Some(health) = inner.health.get_mut(&resource.kind) {
            // What cannot be watched is as it was between one list and the next.
            if resource.watched || health.state != State::Filled {
                health.state = State::Filling;
            }
        }
    }

    async fn heard(&self, resource: &Resource) {
        let mut inner = self.lock().await;
        inner.heard(resource);
        if let Some(health) = inner.health.get_mut(&resource.kind) {
            health.trouble = None;
        }
    }

    async fn absent(&self, resource: &Resource, error: &CallError) {
        let mut inner = self.lock().await;
        inner.store.forget(resource.kind);
        if let Some(health) = inner.health.get_mut(&resource.kind) {
            health.state = State::Absent { forbidden: error.code() == Some(403) };
            health.trouble = Some((Trouble::of(error), 0));
        }
        drop(inner);
        self.tell();
    }

    async fn failed(&self, resource: &Resource, error: &CallError, failures: u32) {
        if let Some(health) = self.lock().await.health.get_mut(&resource.kind) {
            health.trouble = Some((Trouble::of(error), failures));
        }
        self.tell();
    }
}

impl Inner {
    fn heard(&mut self, resource: &Resource) {
        if let Some(health) = self.health.get_mut(&resource.kind) {
            health.heard = Instant::now();
        }
    }

    fn end_list(&mut self, resource: &Resource) {
        self.store.end_list(resource.kind);
        if let Some(health) = self.health.get_mut(&resource.kind) {
            health.state = State::Filled;
            health.trouble = None;
        }
    }

    /// Whether there is anything left to wait for.
    fn progress(&self, attempts_max: u32) -> Option<Result<(), SyncError>> {
        let mut is_whole = true;
        for health in self.health.values().filter(|health| health.state == State::Filling) {
            is_whole = false;
            let Some((Trouble { code, text }, failures)) = &health.trouble else { continue };
            // No right to it, or nobody knows us: asking again changes nothing soon.
            if *failures >= attempts_max || matches!(code, Some(401 | 403..=405)) {
                return Some(Err(SyncError {
                    resource: health.resource.name(),
                    problem: text.clone(),
                    code: *code,
                }));
            }
        }
        is_whole.then_some(Ok(()))
    }

    fn missing(&self) -> Vec<Missing> {
        let forbidden = State::Absent { forbidden: true };
        let missing = self.health.values().filter(|health| health.state == forbidden);
        let missing = missing.map(|health| Missing {
            resource: health.resource.name(),
            problem: health.trouble.as_ref().map_or_else(String::new, |(one, _)| one.text.clone()),
            without: health.resource.without,
        });
        missing.collect()
    }
}

impl Health {
    fn new(resource: &'static Resource) -> Self {
        Self { resource, state: State::Filling, heard: Instant::now(), trouble: None }
    }
}

impl Trouble {
    fn of(error: &CallError) -> Self {
        Self { code: error.code(), text: chain(error) }
    }
}
