//! Pods that hold claims to volumes or devices.

use descheduler_cluster::{Snapshot, Sym};
use descheduler_engine::{Check, Protection, Reason};

const PERSISTENT_VOLUME_CLAIM: &str = "PersistentVolumeClaim";
const CLAIM_UNKNOWN: &str = "ClaimUnknown";
const RESOURCE_CLAIM: &str = "ResourceClaim";

/// Pods with PersistentVolumeClaims: all, or those with one of a protected storage class. A claim
/// that is not known, or names no class, may be of any (docs/spec/strategies.md section 4.6).
pub(super) struct Claims {
    pub(super) protected_classes: Vec<String>,
}

impl Protection for Claims {
    fn name(&self) -> &'static str {
        "PodsWithPVC"
    }

    fn change(&self, held: &Reason) -> Option<&'static str> {
        Some(match held.code {
            CLAIM_UNKNOWN => {
                "its PersistentVolumeClaim in the dump, or the right to read it, or take \
                 `PodsWithPVC` out of `podProtections.extraEnabled`"
            }
            _ if !self.protected_classes.is_empty() => {
                "take its class out of `protectedStorageClasses`, or `PodsWithPVC` out of \
                 `podProtections.extraEnabled`"
            }
            _ => "take `PodsWithPVC` out of `podProtections.extraEnabled`",
        })
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        let protected: Vec<Sym> =
            self.protected_classes.iter().map(|name| snapshot.sym(name)).collect();
        Box::new(move |_, pod| {
            let pod = snapshot.pod(pod);
            if pod.claims.is_empty() {
                return Ok(());
            }
            if self.protected_classes.is_empty() {
                return Err(Reason::new(PERSISTENT_VOLUME_CLAIM, "it has a PersistentVolumeClaim"));
            }
            for claim in &pod.claims {
                let class = snapshot.claim_class(pod.namespace, claim);
                let Some(class) = class.filter(|class| *class != Sym::EMPTY) else {
                    let detail = format!("the storage class of its claim `{claim}` is not known");
                    return Err(Reason::new(CLAIM_UNKNOWN, detail));
                };
                if protected.contains(&class) {
                    let class = snapshot.text(class);
                    let detail = format!("its claim `{claim}` is of storage class `{class}`");
                    return Err(Reason::new(PERSISTENT_VOLUME_CLAIM, detail));
                }
            }
            Ok(())
        })
    }
}

/// Pods with resource claims (dynamic resource allocation).
pub(super) struct ResourceClaims;

impl Protection for ResourceClaims {
    fn name(&self) -> &'static str {
        "PodsWithResourceClaims"
    }

    fn change(&self, _: &Reason) -> Option<&'static str> {
        Some("take `PodsWithResourceClaims` out of `podProtections.extraEnabled`")
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        Box::new(|_, pod| match *snapshot.pod(pod).spec.resource_claims {
            [] => Ok(()),
            _ => Err(Reason::new(RESOURCE_CLAIM, "it has a resource claim")),
        })
    }
}
