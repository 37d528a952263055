//! Pods that have only just started.

use descheduler_cluster::{GoDuration, Snapshot};
use descheduler_engine::{Args, Check, Protection, Reason};

use crate::age::span;

const TOO_YOUNG: &str = "TooYoung";

/// Pods that started less than this before the snapshot was taken, or not yet. As upstream, and
/// against its documentation, this is not about the time of creation (docs/spec/strategies.md
/// section 4.4, n).
struct MinAge(GoDuration);

/// Reads `minPodAge`.
pub(super) fn read(args: &mut Args<'_>) -> Option<Box<dyn Protection>> {
    let doc = "Pods that started less than this ago are kept, such as `10m`.";
    let min = args.optional("minPodAge", doc)?;
    Some(Box::new(MinAge(min)))
}

impl Protection for MinAge {
    fn name(&self) -> &'static str {
        "minPodAge"
    }

    fn change(&self, _: &Reason) -> Option<&'static str> {
        Some("a lower `minPodAge`, or wait")
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        Box::new(|_, pod| {
            let Self(min) = self;
            let Some(started) = snapshot.pod(pod).started else {
                return Err(Reason::new(TOO_YOUNG, "it has not started yet"));
            };
            let age = snapshot.taken_at().duration_since(started);
            match age.as_nanos() < i128::from(min.as_nanos()) {
                true => {
                    let age = span(age.as_secs().max(0).unsigned_abs());
                    let detail = format!("it started {age} ago, minPodAge is {min}");
                    Err(Reason::new(TOO_YOUNG, detail))
                }
                false => Ok(()),
            }
        })
    }
}
