//! A second opinion on a finished plan, by its own counting: nothing here calls the gate.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use descheduler_cluster::{Allowance, Phase, Snapshot, UnhealthyPolicy};
use descheduler_scheduler::{Model, Occupancy, Old, PodRef, Replacement, View};

use crate::decision::Eviction;
use crate::plan::Plan;
use crate::policy::{Placement, Policy, Profile};
use crate::pool::{NODES_MIN, Pool};
use crate::protection::{Asked, Stage};
use crate::strategy::Pass;

/// Something that a sound plan cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks a finished plan against what it was made from. Empty means sound; a plan that is not
/// must not be executed.
pub fn audit(plan: &Plan, snapshot: &Snapshot, policy: &Policy) -> Vec<Violation> {
    let mut violations = Vec::new();
    check_pods(plan, snapshot, policy, &mut violations);
    check_protections(plan, snapshot, policy, &mut violations);
    check_limits(plan, snapshot, policy, &mut violations);
    check_budgets(plan, snapshot, &mut violations);
    check_destinations(plan, snapshot, policy, &mut violations);
    violations
}

fn check_pods(plan: &Plan, snapshot: &Snapshot, policy: &Policy, found: &mut Vec<Violation>) {
    let pools = Pool::all(snapshot, policy);
    for (at, pool) in pools.iter().enumerate() {
        let nodes = pool.nodes.len();
        if nodes < NODES_MIN && plan.evictions.iter().any(|eviction| eviction.profile == at) {
            found.push(Violation(format!("evictions are planned with {nodes} nodes to work on")));
        }
    }
    let mut seen = BTreeSet::new();
    for Eviction { pod: id, node, profile, .. } in &plan.evictions {
        let pod = snapshot.pod(*id);
        let mut must = |sound: bool, what: &str| {
            if !sound {
                found.push(Violation(format!("{}: {what}", snapshot.pod_name(*id))));
            }
        };
        must(seen.insert(*id), "planned twice");
        must(pod.node == Some(*node), "planned from a node it is not on");
        let works_on = pools.get(*profile).is_none_or(|pool| pool.works_on(*node));
        must(works_on, "planned from a node outside the node set");
        must(!pod.flawed && !pod.uid.is_empty(), "planned although it could not be read");
    }
}

fn check_protections(
    plan: &Plan,
    snapshot: &Snapshot,
    policy: &Policy,
    found: &mut Vec<Violation>,
) {
    // A protection that asks whether a pod fits elsewhere may count on room that earlier moves of
    // the plan free, so the moves are made again one by one.
    let mut view = View::new(snapshot);
    let shields: Vec<_> = policy.profiles.iter().map(|p| p.shield.bind(snapshot)).collect();
    for Eviction { pod, profile: index, strategy, destinations, .. } in &plan.evictions {
        let mut add = |what: String| {
            found.push(Violation(format!("{}: {what}", snapshot.pod_name(*pod))));
        };
        match policy.profiles.get(*index) {
            None => add(format!("planned by profile {index}, which is not there")),
            Some(profile) if !runs(profile, strategy) => {
                add(format!("planned by {strategy}, which its profile does not run"));
            }
            Some(_) => {}
        }
        let places_known = mode(policy, *index) != Placement::Off;
        let verdict = shields.get(*index).map_or(Ok(()), |shield| {
            let mut stages = [Stage::Filter, Stage::PreEviction].into_iter();
            stages.try_for_each(|stage| shield.check(&view, Asked { stage, places_known }, *pod))
        });
        if let Err(reason) = verdict {
            add(format!("planned although protected: {}", reason.detail));
        }
        match destinations.first() {
            Some(&node) => view.replace(PodRef::of(snapshot, *pod), node),
            None => view.remove(*pod),
        }
    }
}

/// Replays the plan on untouched nodes with the scheduler model: every destination of a move must
/// be feasible when it is its turn. Where nobody asked for destinations there are none, and whatever
/// the pod holds it holds until the end.
fn check_destinations(
    plan: &Plan,
    snapshot: &Snapshot,
    policy: &Policy,
    found: &mut Vec<Violation>,
) {
    let asked = |eviction: &Eviction| mode(policy, eviction.profile) != Placement::Off;
    for eviction in plan.evictions.iter().filter(|eviction| !asked(eviction)) {
        if !eviction.destinations.is_empty() {
            let pod = snapshot.pod_name(eviction.pod);
            found.push(Violation(format!("{pod}: a destination that nobody asked for")));
        }
    }
    if !plan.evictions.iter().any(asked) {
        return;
    }
    let model = Model::new(snapshot, &policy.scheduler);
    let mut occupancy = model.occupancy();
    model.place_pending(&mut occupancy);
    for eviction in &plan.evictions {
        if !asked(eviction) {
            occupancy.terminate(eviction.pod);
        } else if snapshot.pod(eviction.pod).is_active()
            && let Err(what) = replay(&model, &mut occupancy, eviction)
        {
            found.push(Violation(format!("{}: {what}", snapshot.pod_name(eviction.pod))));
        }
    }
}

fn replay<'s>(
    model: &Model<'s>,
    occupancy: &mut Occupancy<'s>,
    eviction: &Eviction,
) -> Result<(), String> {
    let id = eviction.pod;
    let Ok(coming) = model.replacement(id) else {
        return Err("planned although nothing would come back".to_owned());
    };
    let Some(&best) = eviction.destinations.first() else {
        return Err("planned without a destination".to_owned());
    };
    // Each has to be possible under some reading of what comes.
    let mut refused = eviction.destinations.clone();
    for (pod, old) in coming.readings() {
        let profile = model.profile_of(&pod).unwrap_or(model.fallback());
        let mark = occupancy.mark();
        occupancy.leave(id, old);
        refused = model.refused(profile, occupancy, &pod, &refused);
        occupancy.undo_to(mark);
    }
    if let Some(&node) = refused.first() {
        let name = &model.snapshot().node(node).name;
        return Err(format!("planned for {name}, where it cannot be placed"));
    }
    let Replacement { pod, old, .. } = coming;
    match old == Old::Gone && best == eviction.node {
        true => occupancy.remove(id),
        false => occupancy.terminate(id),
    }
    occupancy.place(pod, best);
    Ok(())
}

/// How the moves of a profile are judged. That it exists is checked elsewhere.
fn mode(policy: &Policy, profile: usize) -> Placement {
    match policy.profiles.get(profile) {
        Some(profile) => policy.placement_of(profile),
        None => policy.placement.unwrap_or(Placement::DEFAULT),
    }
}

fn runs(profile: &Profile, strategy: &str) -> bool {
    let steps = Pass::ORDER.into_iter().flat_map(|pass| profile.steps(pass));
    steps.map(|step| step.def.name).any(|name| name == strategy)
}

fn check_limits(plan: &Plan, snapshot: &Snapshot, policy: &Policy, found: &mut Vec<Violation>) {
    let mut counts: BTreeMap<(&str, String), u64> = BTreeMap::new();
    for eviction in &plan.evictions {
        let namespace = snapshot.text(snapshot.pod(eviction.pod).namespace).to_owned();
        let node = snapshot.node(eviction.node).name.to_string();
        for key in [("total", String::new()), ("node", node), ("namespace", namespace)] {
            *counts.entry(key).or_default() += 1;
        }
    }
    for ((what, name), count) in counts {
        let limit = match what {
            "total" => policy.limits.total,
            "node" => policy.limits.per_node,
            _ => policy.limits.per_namespace,
        };
        if limit.is_some_and(|limit| count > limit) {
            found.push(Violation(format!("{count} evictions break the {what} limit {name}")));
        }
    }
}

fn check_budgets(plan: &Plan, snapshot: &Snapshot, found: &mut Vec<Violation>) {
    let mut taken: BTreeMap<_, i64> = BTreeMap::new();
    for eviction in &plan.evictions {
        let pod = snapshot.pod(eviction.pod);
        if matches!(pod.phase, Phase::Pending | Phase::Succeeded | Phase::Failed) {
            continue;
        }
        let budgets = snapshot.budgets_of(eviction.pod);
        if budgets.len() > 1 {
            let pod = snapshot.pod_name(eviction.pod);
            found.push(Violation(format!("{pod}: covered by several budgets")));
        }
        for &id in budgets {
            let budget = snapshot.budget(id);
            let spared = !pod.is_ready()
                && (budget.unhealthy == UnhealthyPolicy::AlwaysAllow
                    || matches!(budget.allowance, Allowance::Known { healthy: true, .. }));
            if !spared {
                *taken.entry(id).or_default() += 1;
            }
        }
    }
    for (id, taken) in taken {
        let budget = snapshot.budget(id);
        let sound = match budget.allowance {
            Allowance::Known { disruptions, .. } => taken <= disruptions,
            Allowance::NotProcessed | Allowance::Unknown => false,
        };
        if !sound {
            found.push(Violation(format!("budget {}: {taken} disruptions planned", budget.name)));
        }
    }
}
