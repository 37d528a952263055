//! DynamicResources, as far as files allow: whether claims for devices can be met is not known,
//! and what is not known keeps the pod (docs/spec/scheduler.md section 8).

use super::Prepared;
use crate::cycle::Cycle;
use crate::outcome::{Code, Why};

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    match cycle.pod.spec.resource_claims {
        true => Prepared::Reject(Code::UnschedulableAndUnresolvable, Why::ResourceClaims),
        false => Prepared::Skip,
    }
}
