//! Pods that eviction cannot help: on their way out already, or not the API server's to remove.

use descheduler_cluster::Snapshot;
use descheduler_engine::{Check, Protection, Reason};

const TERMINATING: &str = "Terminating";
const MIRROR_POD: &str = "MirrorPod";
const STATIC_POD: &str = "StaticPod";

/// Pods that are being deleted.
pub(super) struct Terminating;

impl Protection for Terminating {
    fn name(&self) -> &'static str {
        "being deleted"
    }

    fn overruled_by_annotation(&self) -> bool {
        false
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        Box::new(|_, pod| match snapshot.pod(pod).terminating {
            true => Err(Reason::new(TERMINATING, "it is being deleted already")),
            false => Ok(()),
        })
    }
}

/// Mirror pods: a kubelet's own pods, which come back from its files at once.
pub(super) struct Mirror;

impl Protection for Mirror {
    fn name(&self) -> &'static str {
        "mirror pod"
    }

    fn overruled_by_annotation(&self) -> bool {
        false
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        Box::new(|_, pod| match snapshot.pod(pod).mirror {
            true => {
                Err(Reason::new(MIRROR_POD, "it is a mirror pod; its kubelet would restore it"))
            }
            false => Ok(()),
        })
    }
}

/// Static pods, as the annotation `kubernetes.io/config.source` says.
pub(super) struct Static;

impl Protection for Static {
    fn name(&self) -> &'static str {
        "static pod"
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        Box::new(|_, pod| match snapshot.pod(pod).static_pod {
            true => Err(Reason::new(STATIC_POD, "it is a static pod")),
            false => Ok(()),
        })
    }
}
