//! Everything that needs all objects at once: order, duplicates, references, indexes.

use hashbrown::HashMap;
use jiff::Timestamp;

use super::budgets::BudgetDraft;
use super::drafts::{Draft, Stated};
use super::pools::Pools;
use super::{Anomaly, Ingest};
use crate::disruption::Budget;
use crate::intern::{Interner, Sym};
use crate::labels::Selector;
use crate::node::Node;
use crate::pod::Pod;
use crate::snapshot::groups::GroupIndex;
use crate::snapshot::objects::Makers;
use crate::snapshot::{BudgetId, Group, GroupId, Kind, NodeId, PodId, Snapshot};

mod objects;

pub(super) fn finish(mut ingest: Ingest, now: Option<Timestamp>) -> (Snapshot, Vec<Anomaly>) {
    let captured = ingest.capture.as_ref().and_then(|capture| capture.taken_at);
    let taken_at = now.or(captured).or(ingest.newest).unwrap_or(Timestamp::UNIX_EPOCH);
    let kinds = kinds(&ingest);
    let nodes = nodes(&mut ingest);
    let mut pods = pods(&mut ingest);
    let anomalies = anomalies(std::mem::take(&mut ingest.anomalies));
    let storage = objects::storage(&mut ingest);
    let devices = objects::devices(&mut ingest);
    let usage = objects::usage(&mut ingest);
    let (makers, priority_classes) = objects::makers(&mut ingest);
    let Ingest { pools, namespaces, budgets, .. } = ingest;
    let Pools { mut strings, resources, groups, .. } = pools;

    let on_node = bind(&nodes, &mut pods, &mut strings);
    let mut groups = renumber(groups, &mut pods);
    let group_index = GroupIndex::new(&groups);
    let budgets = one_per_name(one_per_object(budgets, &strings), |_, _| {});
    let budgets = allot(budgets, &mut groups, &group_index, &pods, &makers, &strings);
    let namespaces = one_per_name(one_per_object(namespaces, &strings), |_, _| {})
        .into_iter()
        .map(|draft| (strings.intern(&draft.name), draft.value))
        .collect();
    let snapshot = Snapshot {
        taken_at,
        owned: owned(&pods),
        node_order: (0..nodes.len()).map(NodeId::from_index).collect(),
        pod_order: (0..pods.len()).map(PodId::from_index).collect(),
        pending: pending(&pods),
        strings,
        resources,
        nodes,
        pods,
        on_node,
        groups,
        group_index,
        budgets,
        namespaces,
        storage,
        devices,
        usage,
        makers,
        priority_classes,
        kinds,
    };
    (snapshot, anomalies)
}

fn kinds(ingest: &Ingest) -> Vec<Kind> {
    let read = Kind::ALL.iter().filter(|(name, _)| ingest.counts.contains_key(*name));
    read.map(|&(_, kind)| kind).collect()
}

/// Sorted, and of each object the one state that counts.
fn one_per_object<D: Stated>(mut drafts: Vec<D>, strings: &Interner) -> Vec<D> {
    drafts.sort_unstable_by(|a, b| a.order(b, strings));
    drafts.dedup_by(|later, first| later.same_object(first));
    drafts
}

/// Of sorted drafts those that no other one of the same name supersedes; `clash` sees the one
/// that stays and the one that goes.
fn one_per_name<D: Stated>(drafts: Vec<D>, mut clash: impl FnMut(&mut D, &D)) -> Vec<D> {
    let mut kept: Vec<D> = Vec::with_capacity(drafts.len());
    for mut draft in drafts {
        match kept.last_mut() {
            Some(last) if last.same_name(&draft) => {
                if draft.supersedes(last) {
                    std::mem::swap(last, &mut draft);
                }
                clash(last, &draft);
            }
            _ => kept.push(draft),
        }
    }
    kept
}

fn nodes(ingest: &mut Ingest) -> Vec<Node> {
    let drafts = one_per_object(std::mem::take(&mut ingest.nodes), &ingest.pools.strings);
    let mut clashes = Vec::new();
    let drafts = one_per_name(drafts, |kept, gone| {
        kept.value.flawed = true;
        clashes.push((gone.state.origin, format!("Node {}", gone.name), kept.uid.clone()));
    });
    for (origin, node, uid) in clashes {
        let problem = format!("there is another node of this name, uid `{uid}`");
        ingest.complain(origin, &node, "metadata.name", &problem);
    }
    drafts.into_iter().map(|draft| draft.value).collect()
}

fn pods(ingest: &mut Ingest) -> Vec<Pod> {
    let mut drafts = one_per_object(std::mem::take(&mut ingest.pods), &ingest.pools.strings);
    let mut problems: Vec<(usize, &str, String)> = Vec::new();
    for (at, draft) in drafts.iter().enumerate() {
        if draft.uid().is_empty() {
            problems.push((at, "metadata.uid", "the pod has no uid".to_owned()));
        }
        let before = at.checked_sub(1).and_then(|before| drafts.get(before));
        let twins = [before, drafts.get(at + 1)];
        if let Some(twin) = twins.into_iter().flatten().find(|twin| twin.same_name(draft)) {
            let problem = format!("there is another pod of this name, uid `{}`", twin.uid());
            problems.push((at, "metadata.name", problem));
        }
    }
    let mut by_uid: Vec<usize> =
        (0..drafts.len()).filter(|&at| !drafts[at].uid().is_empty()).collect();
    by_uid.sort_unstable_by(|&a, &b| drafts[a].uid().cmp(drafts[b].uid()).then(a.cmp(&b)));
    for twins in by_uid.chunk_by(|&a, &b| drafts[a].uid() == drafts[b].uid()) {
        let [first, second, ..] = *twins else { continue };
        for &at in twins {
            let other = &drafts[if at == first { second } else { first }];
            let namespace = ingest.pools.strings.text(other.namespace());
            let problem = format!("has the same uid as Pod {namespace}/{}", other.name());
            problems.push((at, "metadata.uid", problem));
        }
    }
    for (at, field, problem) in problems {
        let draft = &mut drafts[at];
        draft.pod.flawed = true;
        let (origin, namespace) =
            (draft.state.origin, ingest.pools.strings.text(draft.namespace()));
        let pod = format!("Pod {namespace}/{}", draft.name());
        ingest.complain(origin, &pod, field, &problem);
    }
    drafts.into_iter().map(|draft| draft.pod).collect()
}

/// Sorted; what is said of an object that was given twice is said once.
fn anomalies(mut anomalies: Vec<Anomaly>) -> Vec<Anomaly> {
    anomalies.sort_unstable();
    anomalies
        .dedup_by(|later, first| later.object == first.object && later.problem == first.problem);
    anomalies
}

/// Binds pods to the nodes that are known; returns the pods of each.
pub(super) fn bind(nodes: &[Node], pods: &mut [Pod], strings: &mut Interner) -> Vec<Vec<PodId>> {
    let by_name: HashMap<Sym, NodeId> = nodes
        .iter()
        .enumerate()
        .map(|(at, node)| (strings.intern(&node.name), NodeId::from_index(at)))
        .collect();
    let mut on_node = vec![Vec::new(); nodes.len()];
    for (at, pod) in pods.iter_mut().enumerate() {
        pod.node = pod.node_name.and_then(|name| by_name.get(&name).copied());
        if let Some(node) = pod.node {
            on_node[node.index()].push(PodId::from_index(at));
        }
    }
    on_node
}

/// Numbers the groups by their first pods and lists the pods of each. Groups that were those of
/// dropped duplicates alone are gone.
pub(super) fn renumber(groups: Vec<Group>, pods: &mut [Pod]) -> Vec<Group> {
    let mut new_ids: Vec<Option<GroupId>> = vec![None; groups.len()];
    let mut old: Vec<Option<Group>> = groups.into_iter().map(Some).collect();
    let mut found: Vec<Group> = Vec::with_capacity(old.len());
    for (at, pod) in pods.iter_mut().enumerate() {
        let index = pod.group.index();
        if let Some(group) = old[index].take() {
            new_ids[index] = Some(GroupId::from_index(found.len()));
            found.push(group);
        }
        if let Some(id) = new_ids[index] {
            pod.group = id;
            found[id.index()].pods.push(PodId::from_index(at));
        }
    }
    found
}

/// Finds out which groups each budget covers and what it allows.
fn allot(
    drafts: Vec<Draft<BudgetDraft>>,
    groups: &mut [Group],
    index: &GroupIndex,
    pods: &[Pod],
    makers: &Makers,
    strings: &Interner,
) -> Vec<Budget> {
    let mut budgets = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let namespaces = if draft.value.everywhere {
            let mut all: Vec<Sym> = index.namespaces().collect();
            all.sort_unstable_by_key(|&namespace| strings.text(namespace));
            all
        } else {
            vec![draft.namespace]
        };
        for namespace in namespaces {
            let id = BudgetId::from_index(budgets.len());
            let selector = draft.selector();
            let covered = covered(selector, namespace, groups, index, strings);
            let allowance = draft.allowance(members(&covered, groups, pods), makers, strings);
            for group in covered {
                groups[group.index()].budgets.push(id);
            }
            budgets.push(draft.budget(namespace, allowance));
        }
    }
    budgets
}

/// The groups that a budget covers.
pub(super) fn covered(
    selector: Option<&Selector>,
    namespace: Sym,
    groups: &[Group],
    index: &GroupIndex,
    strings: &Interner,
) -> Vec<GroupId> {
    selector.map_or_else(Vec::new, |selector| index.matching(groups, namespace, selector, strings))
}

/// The pods of some groups.
pub(super) fn members<'a>(
    covered: &'a [GroupId],
    groups: &'a [Group],
    pods: &'a [Pod],
) -> impl Iterator<Item = &'a Pod> + Clone {
    let ids = covered.iter().flat_map(|group| &groups[group.index()].pods);
    ids.map(|pod| &pods[pod.index()])
}

/// The pods that the scheduler has in its queue.
pub(super) fn pending(pods: &[Pod]) -> Vec<PodId> {
    (0..pods.len())
        .filter(|&at| {
            let pod = &pods[at];
            pod.node_name.is_none() && pod.is_active() && !pod.terminating && !pod.spec.gated
        })
        .map(PodId::from_index)
        .collect()
}

/// How many pods refer to each owner; a pod that names one twice counts once.
pub(super) fn owned(pods: &[Pod]) -> HashMap<Sym, u32> {
    let mut owned: HashMap<Sym, u32> = HashMap::new();
    for pod in pods {
        for (at, owner) in pod.owners.iter().enumerate() {
            if !pod.owners[..at].iter().any(|earlier| earlier.uid == owner.uid) {
                *owned.entry(owner.uid).or_default() += 1;
            }
        }
    }
    owned
}
