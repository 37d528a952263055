//! The API server, as far as evictions are concerned.

use descheduler_engine::{Answer, PodKey, Reason, Sight, Target};
use descheduler_sim::Dice;
use jiff::SignedDuration;

use crate::world::{Carried, Key, World};

/// The pod that a request is about.
pub(crate) fn key_of(target: &Target) -> Key {
    let PodKey { namespace, name, uid } = &target.pod;
    Key { namespace: namespace.to_string(), name: name.to_string(), uid: uid.to_string() }
}

/// What is known of a pod right before its turn.
pub(crate) fn look(world: &World, key: &Key) -> Sight {
    let named = |pod: &&crate::world::Pod| {
        (&pod.key.namespace, &pod.key.name) == (&key.namespace, &key.name)
    };
    match world.pods.iter().find(named) {
        None => Sight::Gone,
        Some(pod) if pod.key.uid != key.uid => Sight::Replaced,
        Some(pod) if pod.terminating => Sight::Gone,
        Some(pod) if pod.kept => Sight::Held(Reason::new("Kept", "somebody has said so")),
        Some(_) => Sight::Same,
    }
}

/// Does what is asked, if it may be done.
pub(crate) fn serve(
    world: &mut World,
    key: &Key,
    cycle: u32,
    dice: &mut Dice,
) -> (Answer, Option<Carried>) {
    let named = |pod: &&crate::world::Pod| {
        (&pod.key.namespace, &pod.key.name) == (&key.namespace, &key.name)
    };
    let Some(pod) = world.pods.iter().find(named) else { return (Answer::Gone, None) };
    if pod.key.uid != key.uid {
        return (Answer::Replaced, None);
    }
    if pod.terminating {
        return (Answer::Evicted, None);
    }
    let budgets = world.budgets_of(pod);
    if let Some(carried) = world.carry_out(key, cycle, dice) {
        return (Answer::Evicted, Some(carried));
    }
    let unprocessed = budgets.iter().any(|&at| world.budgets[at].unprocessed);
    let answer = match (budgets.len(), unprocessed) {
        (2.., _) => Answer::Unknown("more than one budget".to_owned()),
        (_, true) => Answer::BlockedByBudget { retry_after: Some(SignedDuration::from_secs(10)) },
        (_, false) => Answer::BlockedByBudget { retry_after: None },
    };
    (answer, None)
}
