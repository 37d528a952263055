//! Pods that ask to be left alone.

use descheduler_cluster::Snapshot;
use descheduler_engine::{Args, Check, Protection, Reason};

const PREFERS_NO_EVICTION: &str = "PrefersNoEviction";

/// Pods with the annotation `descheduler.alpha.kubernetes.io/prefer-no-eviction`.
struct NoEviction;

/// Reads `noEvictionPolicy`.
pub(super) fn read(args: &mut Args<'_>) -> Option<Box<dyn Protection>> {
    let doc = "What the annotation `descheduler.alpha.kubernetes.io/prefer-no-eviction` does: \
               `Preferred` puts such pods last, `Mandatory` keeps them.";
    let mandatory =
        args.arg("noEvictionPolicy", doc).choice(&[("Preferred", false), ("Mandatory", true)]);
    mandatory?.then(|| Box::new(NoEviction) as Box<dyn Protection>)
}

impl Protection for NoEviction {
    fn name(&self) -> &'static str {
        "noEvictionPolicy"
    }

    fn change(&self, _: &Reason) -> Option<&'static str> {
        Some("`noEvictionPolicy: Preferred`")
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        Box::new(|_, pod| match snapshot.pod(pod).prefer_no_eviction {
            true => {
                let detail = "its annotation `descheduler.alpha.kubernetes.io/prefer-no-eviction` \
                              asks to keep it, and noEvictionPolicy is Mandatory";
                Err(Reason::new(PREFERS_NO_EVICTION, detail))
            }
            false => Ok(()),
        })
    }
}
