//! What is tried: what this project ships, or the same with a mistake in it (`broken.rs`).

use descheduler_cluster::Snapshot;
use descheduler_engine::{
    Answer, Audited, Execution, History, Open, Pace, Plan, Policy, Sight, Target, Unobserved,
    plan_beside,
};

use crate::server::{key_of, look};
use crate::settings::Settings;
use crate::world::{Key, World};

/// The steps of a cycle, each as the controller takes it.
pub(crate) trait Product: Sync {
    /// Reads the policy.
    fn policy(&self, settings: &Settings) -> Policy {
        settings.policy()
    }

    /// Looks at the cluster.
    fn see(&self, world: &World) -> Snapshot {
        world.snapshot()
    }

    /// Plans beside what is still open.
    fn plan(&self, snapshot: &Snapshot, policy: &Policy, history: &History, open: &Open) -> Plan {
        plan_beside(snapshot, policy, history, open, &mut Unobserved)
    }

    /// Begins to carry a plan out.
    fn execution(&self, audited: Audited<'_>, open: &Open, pace: Pace) -> Execution {
        Execution::new(audited, open, pace)
    }

    /// Looks at a pod right before its turn.
    fn look(&self, world: &World, target: &Target) -> Sight {
        look(world, &key_of(target))
    }

    /// Names the pod to the API server.
    fn request(&self, _world: &World, target: &Target) -> Key {
        key_of(target)
    }

    /// Takes in what the API server answers; `None` if nothing ever comes.
    fn hear(&self, answer: Option<Answer>) -> Option<Answer> {
        answer
    }
}

/// What this project ships.
pub(crate) struct Shipped;

impl Product for Shipped {}
