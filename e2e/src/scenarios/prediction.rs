//! 1: where replacements land, and whether that was foretold. This is what `improving` rests on.
//!
//! A plan of one move is as good as the model of the scheduler. In a plan of several moves, which
//! leave at once, the replacements are placed in whatever order their owners make them: a
//! StatefulSet only when the old pod is gone, a ReplicaSet at once. The plan knows one order, so
//! it is right less often there. Both rates are printed.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::fixture::{label, settled};
use super::service::{Policy, Service};
use crate::cluster::Objects;
use crate::objects::{Workload, namespace};
use crate::plane::{Plane, Shape};
use crate::scene::Scene;

/// Clusters that are drawn, each on what the ones before it have left.
const CLUSTERS: u64 = 12;
/// Moves in the two cycles on each, and how many of a hundred replacements have to land where they
/// were expected. Of single moves all did when this was written, of six at a time 71.
const CYCLES: [(usize, usize); 2] = [(1, 90), (6, 50)];
const NODES: usize = 12;
const ZONES: usize = 3;

/// What was planned for the pods of one workload: for each, where it could land.
type Planned<'p> = BTreeMap<String, Vec<Vec<&'p str>>>;

/// What became of the moves of cycles of one length.
#[derive(Default)]
struct Tally {
    moved: usize,
    hits: usize,
    misses: Vec<String>,
}

/// Draws clusters, runs cycles in each, and compares where the replacements are with the plan.
pub(super) fn prediction(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(NODES).zones(ZONES).flag("--node-cpu=8"))?;
    for node in 0..NODES {
        let pool = if node % 4 == 0 { "small" } else { "large" };
        label(plane.cluster(), &format!("node-{node}"), json!({"pool": pool}))?;
    }
    let mut tallies = CYCLES.map(|_| Tally::default());
    for seed in 1..=CLUSTERS {
        let name = format!("cluster-{seed}");
        let (workloads, pods) = draw(&mut Random(seed), &name);
        plane.cluster().create([&namespace(&name)])?;
        plane.cluster().create(&workloads)?;
        for (tally, (moves, _)) in tallies.iter_mut().zip(CYCLES) {
            cycle(scene, &plane, &name, (pods, moves), tally)?;
        }
    }
    for (Tally { moved, hits, misses }, (moves, wanted)) in tallies.iter().zip(CYCLES) {
        let said = format!("{hits} of {moved} replacements landed where they were expected");
        scene.figure(format!("{moves} at a time: {said}"));
        ensure!(
            *moved > 0 && hits * 100 >= moved * wanted,
            "{moves} at a time: {said}: {misses:#?}"
        );
    }
    Ok(())
}

/// Plans so many moves, makes them, and counts.
fn cycle(
    scene: &Scene<'_>,
    plane: &Plane,
    name: &str,
    (pods, moves): (usize, usize),
    tally: &mut Tally,
) -> Result<()> {
    let before = settled(plane.cluster(), name, pods)?;
    let arguments = json!({"podRestartThreshold": 1, "includingInitContainers": true,
        "namespaces": {"include": [name]}});
    let policy = Policy::of("RemovePodsHavingTooManyRestarts", arguments)
        .top("maxNoOfPodsToEvictTotal", json!(moves));
    let service = Service::new(scene, plane, &policy)?;
    let plan = service.plan("")?;
    service.once("")?;
    let evicted: Vec<&Value> = plan["evictions"].as_array().into_iter().flatten().collect();
    ensure!(!evicted.is_empty(), "{name}: nothing is planned: {plan}");
    let after = replaced(plane, name, pods, &evicted)?;
    for (app, wanted) in planned(&evicted, &before) {
        let landed = landed(&app, &before, &after);
        let found = matched(&wanted, &landed);
        tally.moved += wanted.len();
        tally.hits += found;
        if found < wanted.len() {
            tally.misses.push(format!("{name}/{app}: expected {wanted:?}, landed {landed:?}"));
        }
    }
    Ok(())
}

/// Waits until all evicted pods are replaced.
fn replaced(plane: &Plane, name: &str, pods: usize, evicted: &[&Value]) -> Result<Objects> {
    let path = format!("/api/v1/namespaces/{name}/pods");
    plane.cluster().wait("the replacements", &path, |all| {
        let runs = |pod: &Value| {
            pod["status"]["phase"] == "Running" && pod["metadata"]["deletionTimestamp"].is_null()
        };
        let is_old = |pod: &Value| evicted.iter().any(|one| one["uid"] == pod["metadata"]["uid"]);
        let done = all.len() == pods && all.values().all(|pod| runs(pod) && !is_old(pod));
        done.then(|| all.clone())
    })
}

/// The destinations of all evictions, by workload.
fn planned<'p>(evicted: &[&'p Value], before: &Objects) -> Planned<'p> {
    let mut by_app = Planned::new();
    for eviction in evicted {
        let text = |field: &str| eviction[field].as_str().unwrap_or_default();
        let pod = before.get(&format!("{}/{}", text("namespace"), text("name")));
        let app = pod.map_or(String::new(), app);
        let destinations = eviction["destinations"].as_array().into_iter().flatten();
        by_app.entry(app).or_default().push(destinations.filter_map(Value::as_str).collect());
    }
    by_app
}

fn app(pod: &Value) -> String {
    pod["metadata"]["labels"]["app"].as_str().unwrap_or_default().to_owned()
}

/// The nodes of the pods of a workload that were not there before.
fn landed<'a>(wanted: &str, before: &Objects, after: &'a Objects) -> Vec<&'a str> {
    let uid = |pod: &Value| pod["metadata"]["uid"].clone();
    let is_new = |pod: &Value| !before.values().any(|old| uid(old) == uid(pod));
    let new = after.values().filter(|pod| app(pod) == wanted && is_new(pod));
    new.filter_map(|pod| pod["spec"]["nodeName"].as_str()).collect()
}

/// How many of the plans can be told to have come true: replacements of one owner are alike, so any
/// of them may stand for any.
fn matched(wanted: &[Vec<&str>], landed: &[&str]) -> usize {
    fn find(
        at: usize,
        wanted: &[Vec<&str>],
        landed: &[&str],
        seen: &mut [bool],
        taken: &mut [Option<usize>],
    ) -> bool {
        for (place, node) in landed.iter().enumerate() {
            if !wanted[at].contains(node) || std::mem::replace(&mut seen[place], true) {
                continue;
            }
            if taken[place].is_none_or(|other| find(other, wanted, landed, seen, taken)) {
                taken[place] = Some(at);
                return true;
            }
        }
        false
    }
    let mut taken = vec![None; landed.len()];
    let tried = (0..wanted.len())
        .filter(|&at| find(at, wanted, landed, &mut vec![false; landed.len()], &mut taken));
    tried.count()
}

/// Some workloads with all kinds of wishes, and how many pods they have.
fn draw(random: &mut Random, namespace: &str) -> (Vec<Value>, usize) {
    let (mut workloads, mut pods) = (Vec::new(), 0);
    for number in 0..3 + random.below(3) {
        let replicas = 1 + random.below(4);
        pods += replicas;
        let name = format!("app-{number}");
        let mut workload = match random.below(3) {
            0 => Workload::stateful_set(&name, replicas),
            _ => Workload::deployment(&name, replicas),
        };
        let (cpu, memory) = (50 * (1 + random.below(10)), 64 * (1 + random.below(8)));
        workload = workload
            .namespace(namespace)
            .requests(&format!("{cpu}m"), &format!("{memory}Mi"))
            .annotation("e2e/restarts", "3")
            // While its replacement is being placed, the old pod is still there.
            .annotation("e2e/stop", "slow")
            .with("terminationGracePeriodSeconds", json!(2));
        workloads.push(wish(random, workload, &name).manifest());
    }
    (workloads, pods)
}

/// Adds a wish, or none.
fn wish(random: &mut Random, workload: Workload, name: &str) -> Workload {
    let selector = json!({"matchLabels": {"app": name}});
    let term = json!({"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"});
    match random.below(6) {
        0 => workload.with(
            "topologySpreadConstraints",
            json!([{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}]),
        ),
        1 => workload.with(
            "topologySpreadConstraints",
            json!([{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}]),
        ),
        2 => workload.with(
            "affinity",
            json!({"podAntiAffinity":
                {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}),
        ),
        3 => workload.with(
            "affinity",
            json!({"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
                [{"weight": 50, "podAffinityTerm": term}]}}),
        ),
        4 => workload.with("nodeSelector", json!({"pool": "large"})),
        _ => workload,
    }
}

/// Numbers that look random and are the same for the same seed (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // Bounds are small, so the bias is, too.
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_replacement_may_stand_for_any() {
        let wanted = vec![vec!["a", "b"], vec!["a"]];
        assert_eq!(matched(&wanted, &["a", "b"]), 2);
        assert_eq!(matched(&wanted, &["a", "a"]), 2);
        assert_eq!(matched(&wanted, &["b", "b"]), 1);
        assert_eq!(matched(&wanted, &["c", "d"]), 0);
    }
}
