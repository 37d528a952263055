//! Making a scenario that fails smaller, as long as it fails in the same way.

use crate::checks::Failure;
use crate::faults::KINDS;
use crate::run::Figures;
use crate::scenario::Scenario;

/// So many smaller scenarios are played at most.
const TRIES_MAX: usize = 600;

/// The smallest scenario found in which the same check fails.
pub(crate) fn smallest(
    mut scenario: Scenario,
    check: &'static str,
    play: impl Fn(&Scenario) -> Result<Figures, Failure>,
) -> Scenario {
    let mut tries = 0;
    loop {
        let before = scenario.clone();
        for smaller in SMALLER {
            let mut at = 0;
            while let Some(candidate) = smaller(&scenario, at).filter(|_| tries < TRIES_MAX) {
                tries += 1;
                match play(&candidate) {
                    // What came after has moved up to this place.
                    Err(failure) if failure.check == check => scenario = candidate,
                    Ok(_) | Err(_) => at += 1,
                }
            }
        }
        let size = |scenario: &Scenario| scenario.text("").len();
        if size(&scenario) >= size(&before) || tries >= TRIES_MAX {
            return scenario;
        }
    }
}

/// A way to make a scenario smaller: without the part of that number, if there are so many.
type Smaller = fn(&Scenario, usize) -> Option<Scenario>;

const SMALLER: [Smaller; 8] = [
    |scenario, at| {
        let cycles = [0, scenario.cycles / 2, scenario.cycles.saturating_sub(1)];
        let cycles = *cycles.get(at)?;
        (cycles < scenario.cycles).then(|| Scenario { cycles, ..scenario.clone() })
    },
    |scenario, at| {
        let mut kinds =
            (0..KINDS.len()).filter(|&kind| scenario.world.faults.rate(KINDS[kind]) > 0);
        let kind = kinds.nth(at)?;
        let mut smaller = scenario.clone();
        smaller.world.faults = smaller.world.faults.without(kind);
        Some(smaller)
    },
    |scenario, at| without(scenario, at, |scenario| &mut scenario.settings.rules, 1),
    |scenario, at| without(scenario, at, |scenario| &mut scenario.settings.evictor, 0),
    |scenario, at| {
        let limit = (0..3).filter(|&kind| scenario.settings.limits[kind].is_some()).nth(at)?;
        let mut smaller = scenario.clone();
        smaller.settings.limits[limit] = None;
        Some(smaller)
    },
    |scenario, at| without(scenario, at, |scenario| &mut scenario.world.budgets, 0),
    |scenario, at| {
        let mut smaller = without(scenario, at, |scenario| &mut scenario.world.pods, 0)?;
        let pod = &scenario.world.pods[at];
        if let Some(owner) = smaller.world.workload_of(&pod.key.namespace, &pod.owner) {
            let replicas = &mut smaller.world.workloads[owner].replicas;
            *replicas = replicas.saturating_sub(1);
        }
        Some(smaller)
    },
    |scenario, at| {
        let is_empty =
            |name: &str| !scenario.world.pods.iter().any(|pod| pod.node.as_deref() == Some(name));
        let nodes = scenario.world.nodes.iter();
        let mut empty = nodes.enumerate().filter(|(_, node)| is_empty(&node.name));
        let (node, _) = empty.nth(at)?;
        without(scenario, node, |scenario| &mut scenario.world.nodes, 2)
    },
];

/// Without one part of a list that holds more than `least`.
fn without<T>(
    scenario: &Scenario,
    at: usize,
    list: fn(&mut Scenario) -> &mut Vec<T>,
    least: usize,
) -> Option<Scenario> {
    let mut smaller = scenario.clone();
    let parts = list(&mut smaller);
    if parts.len() <= least || at >= parts.len() {
        return None;
    }
    parts.remove(at);
    Some(smaller)
}
