//! Pods that nobody would recreate, or that would be recreated where they are.

use descheduler_cluster::{Phase, Snapshot};
use descheduler_engine::{Check, Protection, Reason};

const NO_OWNER: &str = "NoOwner";
const DAEMON_SET: &str = "DaemonSet";

/// Pods without an owner. Upstream's name for this protection speaks of failed pods, but it keeps
/// all of them; disabling it lets the failed ones go (docs/spec/strategies.md section 4.4, f).
pub(super) struct Bare {
    pub(super) failed_may_go: bool,
}

impl Protection for Bare {
    fn name(&self) -> &'static str {
        "pods without an owner"
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        Box::new(|_, pod| {
            let pod = snapshot.pod(pod);
            let spared = self.failed_may_go && pod.phase == Phase::Failed;
            match pod.owners.is_empty() && !spared {
                true => Err(Reason::new(NO_OWNER, "it has no owner that would recreate it")),
                false => Ok(()),
            }
        })
    }
}

/// Pods with an owner of kind DaemonSet.
pub(super) struct DaemonSet;

impl Protection for DaemonSet {
    fn name(&self) -> &'static str {
        "DaemonSetPods"
    }

    fn change(&self, _: &Reason) -> Option<&'static str> {
        Some("`podProtections.defaultDisabled: [DaemonSetPods]`")
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        let kind = snapshot.sym("DaemonSet");
        Box::new(move |_, pod| {
            match snapshot.pod(pod).owners.iter().any(|owner| owner.kind == kind) {
                true => Err(Reason::new(DAEMON_SET, "it belongs to a DaemonSet")),
                false => Ok(()),
            }
        })
    }
}
