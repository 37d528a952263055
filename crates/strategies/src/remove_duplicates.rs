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
//! most 2 stay on a node. The least important pods go, and of those the youngest. With placement
//! off, pods that are protected do not count at all.

use std::borrow::Cow;

use descheduler_cluster::{NodeId, Pod, PodId, PodSpec, Snapshot, Sym};
use descheduler_engine::{Args, Inquiry, Judge, Pass, Proposal, Reason, Strategy, StrategyDef, Table, Turn};
use descheduler_scheduler::{PodRef, View};
use hashbrown::HashMap;

use crate::order::least_important_first;
use crate::owner_kinds::examine_excluded;
use crate::reach::Reach;
use crate::scope::{BoundNamespaces, Namespaces};
use crate::worked_on::WorkedOn;

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
        match turn.knows_places() {
            true => self.spread(turn),
            false => self.spread_as_upstream(turn),
        }
    }

    fn judge<'s>(&'s self, snapshot: &'s Snapshot, nodes: &[NodeId]) -> Box<dyn Judge<'s> + 's> {
        Box::new(Census::new(self, snapshot, nodes))
    }

    fn examine(&self, id: PodId, inquiry: &mut Inquiry<'_, '_>) {
        let snapshot = inquiry.snapshot();
        self.namespaces.examine(id, inquiry);
        examine_excluded(&self.exclude_owner_kinds, id, inquiry);
        let pod = snapshot.pod(id);
        if pod.owners.is_empty() {
            inquiry.check("owner", false, "it has none, so it is nobody's duplicate");
        }
        let Some(node) = pod.node.filter(|_| inquiry.passes()) else { return };
        let census = Census::new(self, snapshot, inquiry.nodes());
        let this = PodRef::of(snapshot, id);
        let (all, places, most) = census.shares(&this);
        let count = |node: NodeId| {
            let here = inquiry.view().node_of(id) == Some(node);
            census.others(inquiry.view(), &this, node) + usize::from(here)
        };
        let here = count(node);
        let name = &snapshot.node(node).name;
        let places = match places {
            1 => "one node".to_owned(),
            _ => format!("{places} nodes"),
        };
        let detail =
            format!("{here} of {all} replicas on {name}, at most {most} as {places} could take one");
        let holding = inquiry.nodes().iter().map(|&node| (node, count(node)));
        let rows = holding.filter(|(_, count)| *count > 0).map(|(node, count)| {
            vec![snapshot.node(node).name.to_string(), count.to_string(), most.to_string()]
        });
        let rows = rows.collect();
        let columns = ["node", "replicas", "at most"].map(str::to_owned).to_vec();
        inquiry.table(Table { title: "replicas of its owner".to_owned(), columns, rows });
        inquiry.check("replicas", here > most, detail);
    }
}

impl RemoveDuplicates {
    /// Proposes pods until no node holds more of an owner's than an even spread would put there.
    /// Owners take turns, so that a limit does not leave some of them with nothing.
    fn spread(&self, turn: &mut Turn<'_, '_>) {
        let snapshot = turn.snapshot();
        let census = Census::new(self, snapshot, turn.nodes());
        let mut crowds = census.crowds(turn.view(), turn.nodes());
        for crowd in crowds.iter().filter(|crowd| crowd.places < 2) {
            crowd.keep(turn);
        }
        crowds.retain(|crowd| crowd.places > 1);
        let longest = crowds.iter().map(|crowd| crowd.pods.len()).max().unwrap_or(0);
        for round in 0..longest {
            for crowd in &crowds {
                let Some(&pod) = crowd.pods.get(round) else { continue };
                let here = turn.view().pod(pod);
                let here = census.others(turn.view(), &here, crowd.node) + 1;
                if here > crowd.most {
                    let reason = crowd.reason(snapshot, here);
                    let _ = turn.propose(Proposal { pod, reason });
                }
            }
        }
    }

    fn spread_as_upstream(&self, turn: &mut Turn<'_, '_>) {
        let snapshot = turn.snapshot();
        let reach = Reach::lenient(snapshot, turn.nodes());
        for owner in self.find(turn) {
            let places = owner.places(snapshot, &reach);
            let most = owner.pods.div_ceil(places.max(1));
            for (node, pods) in &owner.crowded {
                let here = pods.len() + 1;
                let crowd =
                    Crowd { node: *node, pods: pods.clone(), all: owner.pods, places, most };
                if places < 2 {
                    crowd.keep(turn);
                    continue;
                }
                for &pod in pods.iter().skip(most - 1) {
                    let reason = crowd.reason(snapshot, here);
                    let _ = turn.propose(Proposal { pod, reason });
                }
            }
        }
    }
}

/// Pods of one owner on one node.
struct Crowd {
    node: NodeId,
    /// They, the first to go first; in upstream's reckoning without the one that stays.
    pods: Vec<PodId>,
    /// How many the owner has on all nodes.
    all: usize,
    /// How many nodes could take one.
    places: usize,
    /// How many an even spread would put on a node.
    most: usize,
}

impl Crowd {
    fn reason(&self, snapshot: &Snapshot, here: usize) -> Reason {
        let name = &snapshot.node(self.node).name;
        let (all, most) = (self.all, self.most);
        let detail = format!("{here} of {all} replicas on {name}, at most {most}");
        Reason::new(DUPLICATE_ON_NODE, detail)
    }

    fn keep(&self, turn: &mut Turn<'_, '_>) {
        let name = &turn.snapshot().node(self.node).name;
        let (here, all) = (self.pods.len() + 1, self.all);
        let detail = format!("{here} of {all} replicas on {name}, but no other node can take one");
        for &pod in &self.pods {
            turn.keep(pod, Reason::new(NO_OTHER_NODE, detail.clone()));
        }
    }
}

/// Counts the pods of owners, protected or not.
struct Census<'s> {
    snapshot: &'s Snapshot,
    namespaces: BoundNamespaces,
    excluded: Vec<Sym>,
    reach: Reach<'s>,
    nodes: WorkedOn,
    /// The pods that are alike, counted.
    totals: HashMap<Alike<'s>, Total<'s>>,
}

/// Pods that are alike.
struct Total<'s> {
    /// How many there are.
    pods: usize,
    /// On how many nodes the pickiest of them could be, those aside that have no choice
    /// (docs/spec/strategies.md section 5.4).
    places: usize,
    /// The spec of the one seen last. Most have the same.
    last: &'s PodSpec,
}

/// What makes pods duplicates: namespace, owners by kind and name, and images, both sorted.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Alike<'s> {
    namespace: Sym,
    owners: Cow<'s, [(Sym, Sym)]>,
    images: Cow<'s, [Sym]>,
}

impl<'s> Alike<'s> {
    fn of(pod: &PodRef<'s>) -> Self {
        let mut owners: Vec<(Sym, Sym)> =
            pod.owners.iter().map(|owner| (owner.kind, owner.name)).collect();
        owners.sort_unstable();
        let images = match &*pod.spec.images {
            one @ ([] | [_]) => Cow::Borrowed(one),
            several => {
                let mut sorted = several.to_vec();
                sorted.sort_unstable();
                Cow::Owned(sorted)
            }
        };
        Self { namespace: pod.namespace, owners: Cow::Owned(owners), images }
    }
}

impl<'s> Census<'s> {
    fn new(strategy: &RemoveDuplicates, snapshot: &'s Snapshot, nodes: &[NodeId]) -> Self {
        let mut census = Self {
            snapshot,
            namespaces: strategy.namespaces.bind(snapshot),
            excluded: strategy.exclude_owner_kinds.iter().map(|k| snapshot.sym(k)).collect(),
            reach: Reach::lenient(snapshot, nodes),
            nodes: WorkedOn::new(snapshot, nodes),
            totals: HashMap::new(),
        };
        for &node in nodes {
            for &id in snapshot.pods_on(node) {
                if snapshot.pod(id).is_active() && census.counts(id) {
                    census.add(&PodRef::of(snapshot, id));
                }
            }
        }
        census
    }

    fn add(&mut self, pod: &PodRef<'s>) {
        let reach = &self.reach;
        let places = |spec| reach.of(spec).nodes.len();
        let total = self.totals.entry(Alike::of(pod));
        let total = total.or_insert_with(|| Total { pods: 0, places: places(pod.spec), last: pod.spec });
        total.pods += 1;
        if !std::ptr::eq(total.last, pod.spec) {
            total.last = pod.spec;
            total.places = match (total.places, places(pod.spec)) {
                (known, 0 | 1) if known > 1 => known,
                (0 | 1, more) => total.places.max(more),
                (known, more) => known.min(more),
            };
        }
    }

    /// Whether the strategy looks at a pod.
    fn counts(&self, id: PodId) -> bool {
        let pod = self.snapshot.pod(id);
        !pod.owners.is_empty()
            && self.namespaces.admit(pod.namespace)
            && !pod.owners.iter().any(|owner| self.excluded.contains(&owner.kind))
    }

    /// How many pods there are like this one, how many nodes could take one, and how many an even
    /// spread would put on each.
    fn shares(&self, pod: &PodRef<'s>) -> (usize, usize, usize) {
        let (all, places) = match self.totals.get(&Alike::of(pod)) {
            Some(total) => (total.pods, total.places),
            None => (1, self.reach.of(pod.spec).nodes.len()),
        };
        (all, places, all.div_ceil(places.max(1)))
    }

    /// How many other pods like this one are on a node.
    fn others(&self, view: &View<'s>, pod: &PodRef<'s>, node: NodeId) -> usize {
        let snapshot = self.snapshot;
        // Most pods are told apart by their namespace and the names of their owners.
        let may_be = |other: &Pod| {
            other.namespace == pod.namespace
                && other.owners.len() == pod.owners.len()
                && other.owners.first().map(|owner| owner.name)
                    == pod.owners.first().map(|owner| owner.name)
        };
        let is_alike = |&other: &PodId| {
            other != pod.id
                && (pod.owners.len() > 1 || may_be(snapshot.pod(other)))
                && Alike::of(&view.pod(other)) == Alike::of(pod)
        };
        view.active_pods_on(node).filter(is_alike).count()
    }

    /// Nodes with more than one pod of an owner, by owner and node.
    fn crowds(&self, view: &View<'s>, nodes: &[NodeId]) -> Vec<Crowd> {
        let snapshot = self.snapshot;
        let mut found: Vec<Crowd> = Vec::new();
        for &node in nodes {
            let mut alike: HashMap<Alike<'s>, Vec<PodId>> = HashMap::new();
            for id in view.active_pods_on(node).filter(|&id| self.counts(id)) {
                alike.entry(Alike::of(&view.pod(id))).or_default().push(id);
            }
            for mut pods in alike.into_values().filter(|pods| pods.len() > 1) {
                pods.sort_by(|&a, &b| least_important_first(snapshot, a, b));
                let (all, places, most) = self.shares(&view.pod(pods[0]));
                if places < 2 {
                    pods.pop();
                    found.push(Crowd { node, pods, all, places, most });
                } else if pods.len() > most {
                    found.push(Crowd { node, pods, all, places, most });
                }
            }
        }
        found.sort_by_cached_key(|crowd| {
            let first = snapshot.pod(crowd.pods[0]);
            let owners = first.owners.iter().map(|o| (snapshot.text(o.kind), snapshot.text(o.name)));
            let owners: Vec<_> = owners.collect();
            let name = &snapshot.node(crowd.node).name;
            (snapshot.text(first.namespace), owners, name, &first.name)
        });
        found
    }
}

impl<'s> Judge<'s> for Census<'s> {
    /// How many more pods of the owner are there than an even spread would put there.
    fn standing(&self, view: &View<'s>, pod: &PodRef<'s>, node: NodeId) -> i64 {
        if !self.counts(pod.id) {
            return 0;
        }
        let (_, _, most) = self.shares(pod);
        (self.others(view, pod, node) + 1).saturating_sub(most) as i64
    }

    fn goal(&self, view: &View<'s>, pod: &PodRef<'s>, to: NodeId) -> Result<(), String> {
        self.nodes.keeps(to)?;
        let (all, _, most) = self.shares(pod);
        let there = self.others(view, pod, to) + 1;
        if there > most {
            return Err(format!("which would hold {there} of {all} replicas, at most {most}"));
        }
        let old = view.pod(pod.id);
        let here = view.node_of(pod.id).map_or(0, |node| self.others(view, &old, node) + 1);
        match there < here {
            true => Ok(()),
            false => Err(format!("which would hold {there} of {all} replicas, as here")),
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
