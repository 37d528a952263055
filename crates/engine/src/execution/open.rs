//! Evictions of which it is not known yet what became of them: carried from cycle to cycle.

use std::collections::BTreeMap;

use descheduler_cluster::Snapshot;
use jiff::{SignedDuration, Timestamp};

use super::room::Slot;
use super::target::PodKey;

/// A request whose answer was lost may still be carried out by the API server, which gives up
/// after its `--request-timeout` of 60 s; a snapshot younger than that proves nothing.
const LOST_MAY_STILL_HAPPEN: SignedDuration = SignedDuration::from_secs(60);

/// How long an eviction in the background is believed in (docs/spec/runtime.md section 8.1).
const BACKGROUND_MAX: SignedDuration = SignedDuration::from_secs(600);

/// Evictions that count against limits and budgets until a snapshot shows what became of them.
///
/// Give what the last [`Receipt`](super::Receipt) left to [`Open::extend`], show it the next
/// snapshot with [`Open::settle`], and hand it to [`Execution::new`](super::Execution::new).
#[derive(Clone, Debug, Default)]
pub struct Open {
    pods: BTreeMap<PodKey, OpenEviction>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenEviction {
    /// The pod.
    pub pod: PodKey,
    /// Whether it was confirmed as going on in the background, or nothing is known.
    pub in_background: bool,
    /// When the answer came or was given up.
    pub since: Timestamp,
    pub(super) slot: Slot,
}

impl OpenEviction {
    /// The node that the pod is leaving, if it is.
    pub fn node(&self) -> &str {
        &self.slot.node
    }

    /// The disruption budget that it takes from.
    pub fn budget(&self) -> Option<&str> {
        self.slot.budget.as_deref()
    }
}

/// What a snapshot has shown of an open eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The pod is gone, terminating or replaced: it was an eviction, of the cycle that asked.
    Left,
    /// The pod is still there: it was none.
    Stayed,
}

impl Open {
    /// Adds what an execution has left open.
    pub fn extend(&mut self, evictions: impl IntoIterator<Item = OpenEviction>) {
        for eviction in evictions {
            self.pods.insert(eviction.pod.clone(), eviction);
        }
    }

    /// Closes what a snapshot, taken later than the requests, decides. A pod that has left frees
    /// its slot at once, as upstream does (docs/spec/runtime.md section 8.4); one that is still
    /// there does so when its request can no longer be carried out.
    pub fn settle(&mut self, snapshot: &Snapshot) -> Vec<(OpenEviction, Settled)> {
        let now = snapshot.taken_at();
        let open = self.pods.keys().map(|key| (key.uid.clone(), false));
        let mut alive: BTreeMap<_, bool> = open.collect();
        for pod in snapshot.pods().iter().map(|&id| snapshot.pod(id)) {
            if let Some(alive) = alive.get_mut(&*pod.uid) {
                *alive = !pod.terminating;
            }
        }
        let mut settled = Vec::new();
        self.pods.retain(|key, eviction| {
            let patience = match eviction.in_background {
                true => BACKGROUND_MAX,
                false => LOST_MAY_STILL_HAPPEN,
            };
            let what = match alive[&key.uid] {
                _ if now <= eviction.since => return true,
                false => Settled::Left,
                true if now >= eviction.since + patience => Settled::Stayed,
                true => return true,
            };
            settled.push((eviction.clone(), what));
            false
        });
        settled
    }

    /// The evictions that are still open.
    pub fn iter(&self) -> impl Iterator<Item = &OpenEviction> {
        self.pods.values()
    }

    pub(super) fn contains(&self, pod: &PodKey) -> bool {
        self.pods.contains_key(pod)
    }
}
