//! What others do to a cluster meanwhile.

use descheduler_sim::{Chance, Dice};

use crate::scenario;
use crate::world::World;

/// With fewer nodes than this none leaves.
const NODES_MIN: usize = 2;

/// More nodes than this do not come.
const NODES_MAX: usize = 9;

/// Something that concerns pods, every other time one of those that a plan is about: what happens to
/// them is what matters most.
pub(crate) fn interfere(world: &mut World, planned: &[String], dice: &mut Dice) {
    let (what, which) = (dice.pick(7), dice.pick(1000));
    let is_planned = |at: &usize| planned.contains(&world.pods[*at].key.uid);
    let all = 0..world.pods.len();
    let mut concerned: Vec<usize> =
        all.clone().filter(|_| which % 2 == 0).filter(is_planned).collect();
    if concerned.is_empty() {
        concerned.extend(all);
    }
    let pod = concerned.get(which / 2 % concerned.len().max(1)).copied();
    let workloads = world.workloads.len();
    match (what, pod) {
        (0, Some(pod)) => {
            let uid = world.pods[pod].key.uid.clone();
            world.terminate(&uid, dice);
        }
        (1, Some(pod)) => {
            let uid = world.pods[pod].key.uid.clone();
            world.vanish(&uid, dice);
        }
        (2 | 3, _) if workloads > 0 => {
            let replicas = dice.pick(7);
            world.workloads[which % workloads].replicas = replicas;
            world.reconcile_soon();
        }
        (4, Some(pod)) => world.pods[pod].kept = true,
        (5, Some(pod)) => {
            let pod = &mut world.pods[pod];
            pod.unready = !pod.unready;
        }
        (6, _) if !world.budgets.is_empty() => {
            let at = which % world.budgets.len();
            let budget = &mut world.budgets[at];
            budget.min_available = i64::try_from(which % 4).expect("few");
            budget.unprocessed = true;
            world.count_soon(dice);
        }
        _ => {}
    }
}

/// Something that concerns nodes.
pub(crate) fn change_nodes(world: &mut World, dice: &mut Dice) {
    let (what, which) = (dice.pick(6), dice.pick(1000));
    let nodes = world.nodes.len();
    let at = which % nodes;
    match what {
        0 if nodes < NODES_MAX => {
            let number = world.nodes.iter().filter_map(|node| node.name[1..].parse().ok()).max();
            let number: usize = number.unwrap_or(0);
            let node = scenario::node(number + 1, dice);
            world.nodes.push(node);
        }
        1 if nodes > NODES_MIN => {
            let name = world.nodes.remove(at).name;
            let there = world.pods.iter().filter(|pod| pod.node.as_ref() == Some(&name));
            let there: Vec<String> = there.map(|pod| pod.key.uid.clone()).collect();
            there.iter().for_each(|uid| world.vanish(uid, dice));
        }
        2 => world.nodes[at].cordoned ^= true,
        3 | 4 => world.nodes[at].tainted ^= true,
        5 => world.nodes[at].notready ^= true,
        _ => {}
    }
    world.place_soon();
}
