//! Which pods go first.

use std::cmp::{Ordering, Reverse};

use descheduler_cluster::{PodId, Snapshot};

/// Least important first: no priority, then by priority, then BestEffort before Burstable before
/// Guaranteed, then pods that would rather not be evicted last (docs/spec/strategies.md section
/// 3.13). Upstream leaves open what follows; here the younger pod goes first, as it loses less,
/// and then names decide.
pub(crate) fn least_important_first(snapshot: &Snapshot, a: PodId, b: PodId) -> Ordering {
    let key = |id: PodId| {
        let pod = snapshot.pod(id);
        (pod.spec.priority, pod.qos, pod.prefer_no_eviction, Reverse(pod.created))
    };
    key(a).cmp(&key(b)).then_with(|| by_name(snapshot, a, b))
}

/// Oldest first, then by name (docs/spec/strategies.md section 3.14). A pod without a time of
/// creation counts as older than any other.
pub(crate) fn oldest_first(snapshot: &Snapshot, a: PodId, b: PodId) -> Ordering {
    let created = |id: PodId| snapshot.pod(id).created;
    created(a).cmp(&created(b)).then_with(|| by_name(snapshot, a, b))
}

/// By namespace, name and uid: the order of the snapshot.
fn by_name(snapshot: &Snapshot, a: PodId, b: PodId) -> Ordering {
    let key = |id: PodId| {
        let pod = snapshot.pod(id);
        (snapshot.text(pod.namespace), &*pod.name, &*pod.uid)
    };
    key(a).cmp(&key(b))
}
