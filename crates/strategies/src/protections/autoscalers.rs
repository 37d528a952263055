//! Pods that autoscalers are asked to leave alone. Whoever asks that of one that drains nodes means
//! everybody who evicts.

use descheduler_cluster::{Pod, Snapshot};
use descheduler_engine::{Check, Protection, Reason};

const DO_NOT_DISRUPT: &str = "DoNotDisrupt";
const NOT_SAFE_TO_EVICT: &str = "NotSafeToEvict";

/// Pods with `karpenter.sh/do-not-disrupt: "true"` or
/// `cluster-autoscaler.kubernetes.io/safe-to-evict: "false"`. Upstream does not know these
/// annotations.
pub(super) struct Undisturbed;

impl Protection for Undisturbed {
    fn name(&self) -> &'static str {
        "autoscaler annotations"
    }

    fn change(&self, _: &Reason) -> Option<&'static str> {
        Some("take that annotation from the pod")
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        Box::new(|_, pod| match wish(snapshot.pod(pod)) {
            Some((code, annotation)) => {
                Err(Reason::new(code, format!("its annotation `{annotation}` asks to keep it")))
            }
            None => Ok(()),
        })
    }
}

/// The wish of a pod, as the code of the reason and as the annotation that holds it.
fn wish(pod: &Pod) -> Option<(&'static str, &'static str)> {
    if pod.do_not_disrupt {
        Some((DO_NOT_DISRUPT, "karpenter.sh/do-not-disrupt: true"))
    } else if pod.unsafe_to_evict {
        Some((NOT_SAFE_TO_EVICT, "cluster-autoscaler.kubernetes.io/safe-to-evict: false"))
    } else {
        None
    }
}
