//! Evicts pods of an owner that share a node while others could take them.
//!
//! Replicas gather on one node when others are down or full for a while, and stay there. Pods
//! count as duplicates when they have the same owner (a ReplicaSet, a StatefulSet, a Job) and the
//! same images, and are on the same node.
//!
//! ```yaml
//! apiVersion: descheduler/v1alpha2
//! kind: DeschedulerPolicy
//! profiles:
//!   - name: spread
//!     pluginConfig:
//!       - name: RemoveDuplicates
//!         args:
//!           excludeOwnerKinds: [Job]
//!     plugins:
//!       balance:
//!         enabled: [RemoveDuplicates]
//! ```
//!
//! The pods of an owner are spread evenly over the nodes that could take them by their node
//! affinity, their tolerations and because they are not cordoned: with 5 pods and 3 such nodes, at
//! most 2 stay on a node. The least important pods go, and of those the youngest. Pods that are
//! protected do not count at all.

use descheduler_cluster::{NodeId, PodId, PodSpec, Snapshot, Sym};
use descheduler_engine::{Args, Pass, Proposal, Reason, Strategy, StrategyDef, Turn};
use hashbrown::HashMap;

use crate::order::least_important_first;
use crate::reach::Reach;
use crate::scope::Namespaces;

pub(crate) static DEF: StrategyDef = StrategyDef {
    name: "RemoveDuplicates",
    pass: Pass::Balance,
    summary: "Evicts pods of an owner that share a node while others could take them.",
    build,
};

/// More pods of the owner are on the node than an even spread would put there.
const DUPLICATE_ON_NODE: &str = "DuplicateOnNode";
/// Duplicates that only one node can take.
const NO_OTHER_NODE: &str = "NoOtherNode";

struct RemoveDuplicates {
    namespaces: Namespaces,
    exclude_owner_kinds: Vec<String>,
}

fn build(args: &mut Args<'_>) -> Option<Box<dyn Strategy>> {
    Some(Box::new(RemoveDuplicates {
        namespaces: Namespaces::read(args),
        exclude_owner_kinds: args
            .list("excludeOwnerKinds", "Pods with an owner of one of these kinds are left alone."),
    }))
}

impl Strategy for RemoveDuplicates {
    fn run(&self, turn: &mut Turn<'_, '_>) {
        let snapshot = turn.snapshot();
        let reach = Reach::lenient(snapshot, turn.nodes());
        for owner in self.find(turn) {
            let places = owner.places(snapshot, &reach);
            for (node, pods) in &owner.crowded {
                let here = pods.len() + 1;
                let name = &snapshot.node(*node).name;
                if places < 2 {
                    for &pod in pods {
                        let detail = format!(
                            "{here} of {} replicas on {name}, but no other node can take one",
                            owner.pods
                        );
                        turn.keep(pod, Reason::new(NO_OTHER_NODE, detail));
                    }
                    continue;
                }
                let most = owner.pods.div_ceil(places);
                for &pod in pods.iter().skip(most - 1) {
                    let detail =
                        format!("{here} of {} replicas on {name}, at most {most}", owner.pods);
                    let reason = Reason::new(DUPLICATE_ON_NODE, detail);
                    let _ = turn.propose(Proposal { pod, reason });
                }
            }
        }
    }
}

/// Whose pods are duplicates of each other: namespace, kind and name of an owner, and the images.
type OwnerKey = (Sym, Sym, Sym, ImagesId);

/// Number of a sorted list of images.
type ImagesId = usize;

/// The pods of one owner.
struct Owner {
    key: OwnerKey,
    /// How many candidates it has on all nodes.
    pods: usize,
    /// For each node with duplicates all but the pod that stays, the next to stay first.
    crowded: Vec<(NodeId, Vec<PodId>)>,
}

impl Owner {
    /// How many nodes could take its duplicates. One whose demands only a single node meets, or
    /// none, adds nothing (docs/spec/strategies.md section 5.4).
    fn places<'s>(&self, snapshot: &'s Snapshot, reach: &Reach<'s>) -> usize {
        let pods = self.crowded.iter().flat_map(|(_, pods)| pods);
        let mut specs: Vec<&'s PodSpec> = pods.map(|&pod| &*snapshot.pod(pod).spec).collect();
        specs.dedup_by(|a, b| std::ptr::eq(*a, *b));
        let reachable: Vec<_> = specs.into_iter().map(|spec| reach.of(spec)).collect();
        let sets = reachable.iter().map(|reachable| &reachable.nodes);
        let mut union: Vec<NodeId> =
            sets.filter(|nodes| nodes.len() > 1).flatten().copied().collect();
        if reachable.len() > 1 {
            union.sort_unstable();
            union.dedup();
        }
        union.len()
    }
}

impl RemoveDuplicates {
    /// All owners with duplicates, by namespace, kind, name and images.
    fn find(&self, turn: &Turn<'_, '_>) -> Vec<Owner> {
        let snapshot = turn.snapshot();
        let namespaces = self.namespaces.bind(snapshot);
        let kinds = self.exclude_owner_kinds.iter();
        let excluded: Vec<Sym> = kinds.map(|kind| snapshot.sym(kind)).collect();
        let mut images = Images::default();
        let mut index: HashMap<OwnerKey, usize> = HashMap::new();
        let mut owners: Vec<Owner> = Vec::new();
        for &node in turn.nodes() {
            let mut here: Vec<PodId> = turn
                .view()
                .active_pods_on(node)
                .filter(|&id| {
                    let pod = snapshot.pod(id);
                    !pod.owners.is_empty()
                        && namespaces.admit(pod.namespace)
                        && !pod.owners.iter().any(|owner| excluded.contains(&owner.kind))
                        && turn.evictable(id).is_ok()
                        && turn.may_leave(id).is_ok()
                })
                .collect();
            // Those that should stay come first.
            here.sort_by(|&a, &b| least_important_first(snapshot, b, a));
            let mut originals: HashMap<Vec<OwnerKey>, PodId> = HashMap::new();
            for id in here {
                let keys = owner_keys(snapshot, id, &mut images);
                for &key in &keys {
                    let at = *index.entry(key).or_insert_with(|| {
                        owners.push(Owner { key, pods: 0, crowded: Vec::new() });
                        owners.len() - 1
                    });
                    owners[at].pods += 1;
                    if originals.contains_key(&keys) {
                        owners[at].add(node, id);
                    }
                }
                originals.entry(keys).or_insert(id);
            }
        }
        owners.retain(|owner| !owner.crowded.is_empty());
        owners.sort_by_cached_key(|owner| {
            let (namespace, kind, name, list) = owner.key;
            let texts = [namespace, kind, name].map(|sym| snapshot.text(sym));
            (texts, images.texts(snapshot, list))
        });
        owners
    }
}

impl Owner {
    fn add(&mut self, node: NodeId, pod: PodId) {
        match self.crowded.last_mut() {
            Some((last, pods)) if *last == node => pods.push(pod),
            _ => self.crowded.push((node, vec![pod])),
        }
    }
}

/// One key for each owner of the pod, sorted. Pods with equal keys are duplicates.
fn owner_keys(snapshot: &Snapshot, id: PodId, images: &mut Images) -> Vec<OwnerKey> {
    let pod = snapshot.pod(id);
    let list = images.id(&pod.spec);
    let mut keys: Vec<OwnerKey> =
        pod.owners.iter().map(|owner| (pod.namespace, owner.kind, owner.name, list)).collect();
    keys.sort_unstable();
    keys
}

/// Sorted lists of images, numbered.
#[derive(Default)]
struct Images {
    lists: Vec<Vec<Sym>>,
    by_list: HashMap<Vec<Sym>, ImagesId>,
    by_spec: HashMap<*const PodSpec, ImagesId>,
}

impl Images {
    fn id(&mut self, spec: &PodSpec) -> ImagesId {
        let Self { lists, by_list, by_spec } = self;
        *by_spec.entry(std::ptr::from_ref(spec)).or_insert_with(|| {
            let mut list = spec.images.to_vec();
            list.sort_unstable();
            *by_list.entry(list).or_insert_with_key(|list| {
                lists.push(list.clone());
                lists.len() - 1
            })
        })
    }

    fn texts<'s>(&self, snapshot: &'s Snapshot, id: ImagesId) -> Vec<&'s str> {
        let mut texts: Vec<&str> =
            self.lists[id].iter().map(|&image| snapshot.text(image)).collect();
        texts.sort_unstable();
        texts
    }
}
