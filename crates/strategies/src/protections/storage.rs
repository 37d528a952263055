//! Pods that keep data on their node.

use descheduler_cluster::Snapshot;
use descheduler_engine::{Check, Protection, Reason};

const LOCAL_STORAGE: &str = "LocalStorage";

/// Pods with an `emptyDir` or a `hostPath`.
pub(super) struct LocalStorage;

impl Protection for LocalStorage {
    fn name(&self) -> &'static str {
        "PodsWithLocalStorage"
    }

    fn change(&self, _: &Reason) -> Option<&'static str> {
        Some("`podProtections.defaultDisabled: [PodsWithLocalStorage]`")
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        Box::new(|_, pod| match snapshot.pod(pod).spec.local_storage {
            true => Err(Reason::new(LOCAL_STORAGE, "it has a volume on its node")),
            false => Ok(()),
        })
    }
}
