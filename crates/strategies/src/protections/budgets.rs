//! Pods whose disruption nobody has thought about.

use descheduler_cluster::Snapshot;
use descheduler_engine::{Check, Protection, Reason};

const NO_DISRUPTION_BUDGET: &str = "NoDisruptionBudget";

/// Pods that no disruption budget covers.
pub(super) struct Unbudgeted;

impl Protection for Unbudgeted {
    fn name(&self) -> &'static str {
        "PodsWithoutPDB"
    }

    fn change(&self, _: &Reason) -> Option<&'static str> {
        Some("a disruption budget that covers it")
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        Box::new(|_, pod| match snapshot.budgets_of(pod).is_empty() {
            true => Err(Reason::new(NO_DISRUPTION_BUDGET, "no disruption budget covers it")),
            false => Ok(()),
        })
    }
}
