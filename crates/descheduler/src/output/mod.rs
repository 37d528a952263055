//! What is printed. Each format has types of its own: those of the engine may change, what programs
//! read must not.

pub(crate) mod explain;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod layout;
pub(crate) mod notes;
pub(crate) mod place;
pub(crate) mod simulate;
pub(crate) mod strategies;
pub(crate) mod summary;
pub(crate) mod text;
pub(crate) mod validate;

use descheduler_cluster::{Anomaly, Snapshot};
use descheduler_controller::observe::Planned;
use descheduler_engine::{Plan, Policy};

use crate::commands::inputs::World;

/// What faults of a live cluster are in.
pub(crate) const LIVE: &str = "the cluster";

/// Everything that a format may tell.
pub(crate) struct Outcome<'o> {
    pub(crate) snapshot: &'o Snapshot,
    pub(crate) policy: &'o Policy,
    pub(crate) plan: &'o Plan,
    pub(crate) anomalies: &'o [Anomaly],
    pub(crate) notes: Vec<Note>,
    /// What faults are in.
    pub(crate) place: &'static str,
}

/// Something worth saying, of a strategy or about the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// The profile, as an index into the policy, and the strategy.
    pub(crate) strategy: Option<(usize, &'static str)>,
    pub(crate) text: String,
}

impl<'o> Outcome<'o> {
    /// A plan with all that there is to say about it.
    pub(crate) fn new(world: &'o World, policy: &'o Policy, plan: &'o Plan) -> Self {
        let World { snapshot, anomalies, notes: of_world, is_live } = world;
        let mut notes = notes::of_plan(snapshot, plan, *is_live);
        notes.extend(notes::modes(policy));
        notes.extend(of_world.iter().cloned());
        Self { snapshot, policy, plan, anomalies, notes, place: world.place() }
    }

    /// The plan of a cycle of the service.
    pub(crate) fn of_live(planned: &'o Planned) -> Self {
        let Planned { world, missing, policy, plan, .. } = planned;
        let (snapshot, anomalies) = &**world;
        let mut notes = notes::of_plan(snapshot, plan, true);
        notes.extend(notes::modes(policy));
        notes.extend(notes::unreadable(missing));
        Self { snapshot, policy, plan, anomalies, notes, place: LIVE }
    }

    /// The notes that are no strategy's own.
    pub(crate) fn general_notes(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().filter(|note| note.strategy.is_none()).map(|note| &*note.text)
    }

    /// What could not be read of an object.
    pub(crate) fn faults_of(&self, kind: &str, name: &str) -> Vec<String> {
        let object = format!("{kind} {name}");
        let own = self.anomalies.iter().filter(|anomaly| anomaly.object == object);
        own.map(ToString::to_string).collect()
    }

    /// The name of a profile.
    pub(crate) fn profile(&self, index: usize) -> &str {
        self.policy.profiles.get(index).map_or("", |profile| &profile.name)
    }
}
