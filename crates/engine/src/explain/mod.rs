//! Why a pod goes or stays: the plan is made once more, with a witness who asks every question
//! about that pod, also those that the plan did not come to.

mod inquiry;
mod node;
mod pod;
mod trial;

pub use inquiry::{Account, Finding, Inquiry, Table};
pub use node::{NodeExplanation, NodeStep, explain_node};
pub use pod::{Outcome, PodExplanation, PodStep, explain_pod};
pub use trial::Trial;

pub(crate) use trial::Watch;

use descheduler_cluster::PodId;

use crate::policy::Step;
use crate::turn::Turn;

/// Looks on while a plan is made. It cannot change it.
pub(crate) trait Witness<'s> {
    /// The pod about which the gate is to be asked everything, if there is one.
    fn watched(&self) -> Option<PodId>;
    /// A strategy is about to run.
    fn before(&mut self, step: &Step, turn: &mut Turn<'_, 's>);
    /// It has run.
    fn after(&mut self, step: &Step, turn: &mut Turn<'_, 's>);
}

/// The witness who looks away.
pub(crate) struct Nobody;

impl Witness<'_> for Nobody {
    fn watched(&self) -> Option<PodId> {
        None
    }

    fn before(&mut self, _: &Step, _: &mut Turn<'_, '_>) {}

    fn after(&mut self, _: &Step, _: &mut Turn<'_, '_>) {}
}
