//! Which pods go first.

use std::cmp::{Ordering, Reverse};

use descheduler_cluster::{PodId, Snapshot};
use hashbrown::HashMap;

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

/// Lets the owners of equally important pods take turns, the least important pods first; otherwise
/// the order stays. So a limit does not hit the owner whose name comes first.
pub(crate) fn owners_take_turns<T>(
    snapshot: &Snapshot,
    items: &mut [T],
    pod_of: impl Fn(&T) -> PodId,
) {
    let mut served: HashMap<_, usize> = HashMap::new();
    let mut turn = |id: PodId| {
        let pod = snapshot.pod(id);
        let rank = (pod.spec.priority, pod.qos, pod.prefer_no_eviction);
        // A pod without an owner takes turns by itself.
        let owner = pod.owners.first().map_or(Err(id), |owner| Ok(owner.uid));
        let served = served.entry((rank, owner)).or_default();
        *served += 1;
        (rank, *served)
    };
    items.sort_by_cached_key(|item| turn(pod_of(item)));
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
