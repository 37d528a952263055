//! The snapshot after this one: pods went, waited no longer, or came.
//!
//! Whatever is about single pods is moved over; what is derived from all of them, such as the order
//! and the indexes, is derived again, which takes a fraction of the time that reading takes.

use std::cmp::Ordering;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use jiff::Timestamp;

use super::finish::{bind, covered, members, owned, pending, renumber};
use crate::disruption::Budget;
use crate::intern::{Interner, Sym};
use crate::labels::Labels;
use crate::pod::{Condition, Container, ContainerKind, ContainerState, Owner, Phase, Pod, Scored};
use crate::resources::Resources;
use crate::snapshot::groups::GroupIndex;
use crate::snapshot::tables::ByName;
use crate::snapshot::{BudgetId, Group, GroupId, NodeId, PodId, Snapshot};
use crate::spec::PodSpec;
use crate::usage::PodUsage;

/// What happened to a cluster.
#[derive(Debug)]
pub struct Changes {
    /// The moment that ages are counted from afterwards.
    pub now: Timestamp,
    /// Pods that are no more.
    pub gone: Vec<PodId>,
    /// Pods that waited and were given a node, where they run now.
    pub bound: Vec<(PodId, NodeId)>,
    /// Pods that are new.
    pub come: Vec<Arrival>,
}

/// A pod that takes the place of another. What is not said here is as it was with that one.
#[derive(Debug)]
pub struct Arrival {
    /// The pod that it stands in for, of the snapshot before.
    pub of: PodId,
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// `metadata.labels`, sorted by key.
    pub labels: Box<Labels>,
    /// What it shares with the pods of its template.
    pub spec: Arc<PodSpec>,
    /// What it asks of a node.
    pub requests: Arc<Resources>,
    /// What the scorer of resources counts for it while it is yet to be placed.
    pub scored: Scored,
    /// The same once it is on a node.
    pub scored_held: Scored,
    /// `metadata.creationTimestamp`.
    pub created: Timestamp,
    /// Where it runs and is ready; it waits if this is `None`.
    pub node: Option<NodeId>,
}

pub(super) fn next(mut snapshot: Snapshot, changes: Changes) -> Snapshot {
    move_usage(&mut snapshot, &changes);
    let Changes { now, gone, bound, come } = changes;
    let words = Words::intern(&mut snapshot.strings);
    for (pod, node) in bound {
        let name = snapshot.strings.intern(&snapshot.nodes[node.index()].name);
        words.start(&mut snapshot.pods[pod.index()], name, now);
    }
    let mut groups = Groups::empty(std::mem::take(&mut snapshot.groups));
    let arrivals: Vec<Pod> =
        come.into_iter().map(|one| arrival(one, &mut snapshot, &words, &mut groups)).collect();
    let mut pods = std::mem::take(&mut snapshot.pods);
    let mut is_gone = vec![false; pods.len()];
    gone.iter().for_each(|pod| is_gone[pod.index()] = true);
    let mut gone = is_gone.into_iter();
    pods.retain(|_| gone.next() != Some(true));
    pods.extend(arrivals);
    // Nearly all of it is in order, which the sort makes use of.
    pods.sort_by(|a, b| order(a, b, &snapshot.strings));

    snapshot.on_node = bind(&snapshot.nodes, &mut pods, &mut snapshot.strings);
    snapshot.groups = renumber(groups.all, &mut pods);
    snapshot.group_index = GroupIndex::new(&snapshot.groups);
    snapshot.owned = owned(&pods);
    snapshot.pending = pending(&pods);
    snapshot.pod_order = (0..pods.len()).map(PodId::from_index).collect();
    snapshot.pods = pods;
    snapshot.taken_at = now;
    snapshot.budgets = budgets(&mut snapshot);
    snapshot
}

/// As pods are sorted.
fn order(a: &Pod, b: &Pod, strings: &Interner) -> Ordering {
    let namespaces = match a.namespace == b.namespace {
        true => Ordering::Equal,
        false => strings.text(a.namespace).cmp(strings.text(b.namespace)),
    };
    namespaces.then_with(|| a.name.cmp(&b.name)).then_with(|| a.uid.cmp(&b.uid))
}

/// What the statuses of new pods are written with.
struct Words {
    ready: Sym,
    yes: Sym,
}

impl Words {
    fn intern(strings: &mut Interner) -> Self {
        Self { ready: strings.intern("Ready"), yes: strings.intern("True") }
    }

    /// Has a pod run on a node, ready.
    fn start(&self, pod: &mut Pod, node: Sym, now: Timestamp) {
        pod.node_name = Some(node);
        pod.nominated = None;
        pod.phase = Phase::Running;
        pod.reason = Sym::EMPTY;
        pod.started = Some(now);
        pod.conditions = Box::new([Condition {
            kind: self.ready,
            status: self.yes,
            reason: Sym::EMPTY,
            changed: Some(now),
            ready: true,
        }]);
    }
}

/// The pod that an arrival describes.
fn arrival(arrival: Arrival, snapshot: &mut Snapshot, words: &Words, groups: &mut Groups) -> Pod {
    let Arrival { of, name, uid, labels, spec, requests, scored, scored_held, created, node } =
        arrival;
    let old = &snapshot.pods[of.index()];
    let mut pod = Pod {
        name,
        uid,
        group: groups.of(old.namespace, labels),
        node: None,
        node_name: None,
        spec,
        nominated: None,
        created: Some(created),
        started: None,
        terminating: false,
        phase: Phase::Pending,
        reason: Sym::EMPTY,
        conditions: Box::default(),
        containers: containers(&old.containers),
        requests,
        scored,
        scored_held,
        resize: None,
        ..old.clone()
    };
    if let Some(node) = node {
        let node = snapshot.strings.intern(&snapshot.nodes[node.index()].name);
        words.start(&mut pod, node, created);
    }
    // The claims that were made for the old pod alone stand for those of the new one.
    let uid = snapshot.strings.intern(&pod.uid);
    for name in &pod.ephemeral_claims {
        if let Some(claim) = snapshot.storage.claims.get_mut((None, pod.namespace, name)) {
            let handed = |owner: &Owner| match owner.controller {
                true => Owner { uid, ..owner.clone() },
                false => owner.clone(),
            };
            claim.owners = claim.owners.iter().map(handed).collect();
        }
    }
    pod
}

/// Containers as they are at the start.
fn containers(old: &[Container]) -> Box<[Container]> {
    let lasting = old.iter().filter(|container| container.kind != ContainerKind::Ephemeral);
    let fresh = |container: &Container| Container {
        kind: container.kind,
        restarts: 0,
        state: ContainerState::Running,
    };
    lasting.map(fresh).collect()
}

/// The groups of pods while pods come and go.
struct Groups {
    all: Vec<Group>,
    /// By namespace and labels, made when the first pod comes.
    ids: Option<HashMap<(Sym, Box<Labels>), GroupId>>,
}

impl Groups {
    fn empty(mut all: Vec<Group>) -> Self {
        for group in &mut all {
            group.pods.clear();
            group.budgets.clear();
        }
        Self { all, ids: None }
    }

    fn of(&mut self, namespace: Sym, labels: Box<Labels>) -> GroupId {
        let Self { all, ids } = self;
        let ids = ids.get_or_insert_with(|| {
            let known = all.iter().enumerate();
            let known = known.map(|(at, group)| {
                ((group.namespace, group.labels.clone()), GroupId::from_index(at))
            });
            known.collect()
        });
        *ids.entry((namespace, labels)).or_insert_with_key(|(namespace, labels)| {
            let (namespace, labels) = (*namespace, labels.clone());
            all.push(Group { namespace, labels, pods: Vec::new(), budgets: Vec::new() });
            GroupId::from_index(all.len() - 1)
        })
    }
}

/// Has what pods were measured to use go where their successors are. What is measured later is
/// taken to be what was measured before, so the samples do not age.
fn move_usage(snapshot: &mut Snapshot, changes: &Changes) {
    if snapshot.usage.pods.all().is_empty() && snapshot.usage.nodes.all().is_empty() {
        return;
    }
    let Changes { now, gone, come, .. } = changes;
    let passed = now.duration_since(snapshot.taken_at);
    let later = |measured: Timestamp| measured.checked_add(passed).unwrap_or(*now);
    for node in snapshot.usage.nodes.all_mut() {
        node.measured = node.measured.map(later);
    }
    let Snapshot { nodes, pods, usage, strings, .. } = &mut *snapshot;
    let leaving: HashSet<(Sym, &str)> = gone.iter().map(|id| name_of(pods, *id)).collect();
    let table = std::mem::replace(&mut usage.pods, ByName::new(Vec::new()));
    let mut stays: Vec<PodUsage> = Vec::new();
    let mut left: HashMap<(Sym, Box<str>), PodUsage> = HashMap::new();
    for mut one in table.into_items() {
        one.measured = one.measured.map(later);
        match leaving.contains(&(one.namespace, &*one.name)) {
            true => drop(left.insert((one.namespace, one.name.clone()), one)),
            false => stays.push(one),
        }
    }
    let used_by = |id: PodId| {
        let (namespace, name) = name_of(pods, id);
        left.get(&(namespace, name.into()))
    };
    let node_of = |id: NodeId| strings.get(&nodes[id.index()].name);
    for &id in gone {
        if let (Some(used), Some(node)) = (used_by(id), pods[id.index()].node)
            && let Some(measured) = usage.nodes.get_mut(node_of(node))
        {
            measured.used.subtract(&used.used);
        }
    }
    for one in come {
        let (Some(used), Some(node)) = (used_by(one.of), one.node) else { continue };
        if let Some(measured) = usage.nodes.get_mut(node_of(node)) {
            measured.used.add(&used.used);
        }
        stays.push(PodUsage { name: one.name.clone(), ..used.clone() });
    }
    usage.pods = ByName::new(stays);
}

fn name_of(pods: &[Pod], id: PodId) -> (Sym, &str) {
    let pod = &pods[id.index()];
    (pod.namespace, &pod.name)
}

/// The budgets, with what they allow now, and the groups told of them.
fn budgets(snapshot: &mut Snapshot) -> Vec<Budget> {
    let mut budgets = std::mem::take(&mut snapshot.budgets);
    for (at, budget) in budgets.iter_mut().enumerate() {
        let Snapshot { groups, group_index, pods, makers, strings, .. } = &mut *snapshot;
        let selector = budget.selector.as_ref();
        let covered = covered(selector, budget.namespace, groups, group_index, strings);
        let members = members(&covered, groups, pods);
        budget.allowance = budget.allowance_now(members, makers, strings);
        for group in covered {
            groups[group.index()].budgets.push(BudgetId::from_index(at));
        }
    }
    budgets
}
