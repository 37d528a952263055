//! Pods of owners with few replicas.

use descheduler_cluster::Snapshot;
use descheduler_engine::{Args, Check, Protection, Reason};

const TOO_FEW_REPLICAS: &str = "TooFewReplicas";

/// Pods of an owner with fewer pods than this, of whatever phase and wherever. Pods with several
/// owners pass (docs/spec/strategies.md section 4.7).
struct MinReplicas(u64);

/// Reads `minReplicas`.
pub(super) fn read(args: &mut Args<'_>) -> Option<Box<dyn Protection>> {
    let doc = "Pods of owners with fewer pods than this are kept.";
    let min: Option<u64> = args.optional("minReplicas", doc);
    if min == Some(1) {
        let message = "`minReplicas`: 1 has no effect";
        args.note(args.at("minReplicas"), "no-effect", message);
    }
    let min = min.filter(|&min| min > 1)?;
    Some(Box::new(MinReplicas(min)))
}

impl Protection for MinReplicas {
    fn name(&self) -> &'static str {
        "minReplicas"
    }

    fn change(&self, _: &Reason) -> Option<&'static str> {
        Some("more replicas, or a lower `minReplicas`")
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        Box::new(|_, pod| {
            let Self(min) = *self;
            let [owner] = &*snapshot.pod(pod).owners else { return Ok(()) };
            let pods = u64::from(snapshot.pods_owned_by(owner.uid));
            match pods < min {
                true => {
                    let detail = format!("its owner has {pods} pods, fewer than minReplicas {min}");
                    Err(Reason::new(TOO_FEW_REPLICAS, detail))
                }
                false => Ok(()),
            }
        })
    }
}
