//! What is known already of each node for pods that are alike.
//!
//! Most plugins look at a node by itself, and what they say of it depends on little. Either on what
//! the node is, which never changes, and on a few demands that pods of many owners share; or on
//! the sum of what is on it, which changes with each move on two nodes, and on the pod's requests.
//! Both are kept, and of the second kind only the nodes that changed are looked at again.

use std::cell::RefCell;
use std::convert::Infallible;
use std::hash::Hash;
use std::rc::Rc;

use descheduler_cluster::pod::Scored;
use descheduler_cluster::{Features, NodeId, PodSpec, PreferredTerm, Resources, Snapshot};
use hashbrown::HashMap;

use crate::contest;
use crate::cycle::{self, Cycle, Step};
use crate::outcome::{CycleError, Fault};
use crate::plugins::{self, Basis, Crowd, Eligible, EligibleKey, NodeScore, Scores};
use crate::profile::Plugin;
use crate::reach::{Demands, Reach};
use crate::table::{Groups, Table};

/// How many entries each memory holds before it starts anew: what a cluster has of different
/// demands and requests, so that strange ones cost time and not memory.
const MOST: usize = 512;

/// For each node the first fault that some of the filters find, with the place of its filter in
/// the profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdicts {
    /// By node slot: 0 for none, otherwise a number in `faults` and 1.
    of: Vec<u32>,
    faults: Vec<(usize, Fault)>,
    numbers: HashMap<(usize, Fault), u32>,
}

impl Verdicts {
    fn new(slots: usize) -> Self {
        Self { of: vec![0; slots], ..Self::default() }
    }

    fn set(&mut self, node: NodeId, fault: Option<(usize, Fault)>) {
        let number = fault.map_or(0, |fault| {
            *self.numbers.entry(fault).or_insert_with(|| {
                self.faults.push(fault);
                self.faults.len() as u32
            })
        });
        self.of[node.index()] = number;
    }

    fn get(&self, node: NodeId) -> Option<(usize, Fault)> {
        match self.of[node.index()] {
            0 => None,
            number => Some(self.faults[number as usize - 1]),
        }
    }
}

/// The scores of one plugin before they are made comparable.
#[derive(Debug)]
pub(crate) enum Raw {
    /// The same for every node.
    Same(i64),
    /// By node slot.
    Each(Vec<i64>),
}

impl Raw {
    pub(crate) fn at(&self, node: NodeId) -> i64 {
        match self {
            Self::Same(score) => *score,
            Self::Each(each) => each[node.index()],
        }
    }
}

/// Everything that is read of a pod by plugins that look at what a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeKey<'s> {
    profile: usize,
    demands: Demands<'s>,
    preferred: &'s [PreferredTerm],
    features: Features,
}

/// Everything that is read of a pod by plugins that look at the sum of what is on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SumKey<'s> {
    profile: usize,
    requests: &'s Resources,
    scored: Scored,
}

/// What never changes, of one snapshot.
#[derive(Debug, Default)]
pub(crate) struct OfNodes<'s> {
    reach: RefCell<HashMap<Demands<'s>, Rc<Reach>>>,
    verdicts: RefCell<HashMap<NodeKey<'s>, Rc<Verdicts>>>,
    raws: RefCell<HashMap<(NodeKey<'s>, Plugin), Rc<Raw>>>,
    /// `None` where there would be too many.
    groups: RefCell<HashMap<NodeKey<'s>, Rc<Option<Rc<Groups>>>>>,
    pub(crate) eligible: RefCell<HashMap<EligibleKey<'s>, Rc<Vec<Eligible>>>>,
}

impl<'s> OfNodes<'s> {
    /// Which nodes a pod selects and which taints it tolerates.
    pub(crate) fn reach(&self, snapshot: &Snapshot, spec: &'s PodSpec) -> Rc<Reach> {
        let Ok(reach) = remember(&self.reach, Demands::of(spec), || {
            Ok::<_, Infallible>(Reach::new(snapshot, spec))
        });
        reach
    }
}

/// What is in a memory, made if it is not.
pub(crate) fn remember<K: Hash + Eq, V, E>(
    memory: &RefCell<HashMap<K, Rc<V>>>,
    key: K,
    make: impl FnOnce() -> Result<V, E>,
) -> Result<Rc<V>, E> {
    if let Some(known) = memory.borrow().get(&key) {
        return Ok(Rc::clone(known));
    }
    let made = Rc::new(make()?);
    let mut memory = memory.borrow_mut();
    if memory.len() >= MOST {
        memory.clear();
    }
    memory.insert(key, Rc::clone(&made));
    Ok(made)
}

/// What changes with the pods on nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfSums<'s> {
    sums: RefCell<HashMap<SumKey<'s>, Sums>>,
    tables: RefCell<HashMap<(NodeKey<'s>, SumKey<'s>), Table>>,
}

/// What plugins say that look at the sum of what is on a node.
#[derive(Clone, Debug)]
struct Sums {
    verdicts: Verdicts,
    /// By node slot: the weighted sum of these plugins' scores.
    scores: Vec<i64>,
    /// How many changes of nodes are taken into account; `None` before the first time.
    seen: Option<usize>,
}

impl Sums {
    fn new(slots: usize) -> Self {
        Self { verdicts: Verdicts::new(slots), scores: vec![0; slots], seen: None }
    }

    /// Looks again at the nodes that changed.
    fn catch_up<'s>(
        &mut self,
        cycle: &Cycle<'_, 's>,
        steps: &[Step<'_, 's>],
    ) -> Result<(), CycleError> {
        let steps: Vec<_> = of_basis(steps, Basis::Sum).collect();
        let scorers = cycle.profile.score.iter().filter_map(|&(plugin, weight)| {
            match plugins::score_basis(plugin) == Basis::Sum {
                true => match plugins::scores(plugin, cycle, Crowd::of(&[])) {
                    Scores::By(scores) => Some((scores, weight)),
                    Scores::Skip | Scores::Error(_) | Scores::Panic(_) => None,
                },
                false => None,
            }
        });
        let scorers: Vec<_> = scorers.collect();
        let changed = cycle.occupancy.changed();
        let nodes = cycle.snapshot().nodes();
        let stale = match self.seen {
            Some(seen) if changed.len() - seen <= nodes.len() => &changed[seen..],
            _ => nodes,
        };
        for &node in stale {
            self.verdicts.set(node, cycle::check(cycle, steps.iter().copied(), node)?);
            let scores = scorers.iter().map(|(scores, weight)| scores.raw(cycle, node) * weight);
            self.scores[node.index()] = scores.sum();
        }
        self.seen = Some(changed.len());
        Ok(())
    }
}

/// What is known for the pod of a cycle.
pub(crate) struct Known<'s> {
    nodes: NodeKey<'s>,
    sum: SumKey<'s>,
    verdicts: Rc<Verdicts>,
    sums: Sums,
}

impl<'s> Known<'s> {
    /// `None` with a profile that is not of the model: nothing is kept for these.
    pub(crate) fn of(
        cycle: &Cycle<'_, 's>,
        steps: &[Step<'_, 's>],
    ) -> Result<Option<Self>, CycleError> {
        let Some(profile) = cycle.model.number_of(cycle.profile) else { return Ok(None) };
        let pod = cycle.pod;
        let nodes = NodeKey {
            profile,
            demands: Demands::of(pod.spec),
            preferred: &pod.spec.preferred_nodes,
            features: pod.spec.features,
        };
        let verdicts = remember(&cycle.model.known.verdicts, nodes, || {
            let mut verdicts = Verdicts::new(cycle.snapshot().node_slots());
            for &node in cycle.snapshot().nodes() {
                let found = cycle::check(cycle, of_basis(steps, Basis::Node), node)?;
                verdicts.set(node, found);
            }
            Ok(verdicts)
        })?;
        let sum = SumKey { profile, requests: pod.requests, scored: pod.scored };
        let sums = cycle.occupancy.known().sums.borrow_mut().remove(&sum);
        let mut sums = sums.unwrap_or_else(|| Sums::new(cycle.snapshot().node_slots()));
        sums.catch_up(cycle, steps)?;
        Ok(Some(Self { nodes, sum, verdicts, sums }))
    }

    /// Whether anything is known against a node.
    #[inline]
    pub(crate) fn has_fault(&self, node: NodeId) -> bool {
        self.verdicts.of[node.index()] | self.sums.verdicts.of[node.index()] != 0
    }

    /// The first fault of a node that is known, with the place of its filter in the profile.
    #[inline]
    pub(crate) fn fault(&self, node: NodeId) -> Option<(usize, Fault)> {
        // Most nodes have none, and this is asked of every node for every pod.
        if self.has_fault(node) { self.first_fault(node) } else { None }
    }

    fn first_fault(&self, node: NodeId) -> Option<(usize, Fault)> {
        match (self.verdicts.get(node), self.sums.verdicts.get(node)) {
            (Some(one), Some(other)) => Some(if one.0 < other.0 { one } else { other }),
            (one, other) => one.or(other),
        }
    }

    /// The weighted sum of the scores that rest on the sum of what is on a node.
    pub(crate) fn score(&self, node: NodeId) -> i64 {
        self.sums.scores[node.index()]
    }

    /// The scores of a plugin that looks at what a node is.
    pub(crate) fn raw(
        &self,
        cycle: &Cycle<'_, 's>,
        plugin: Plugin,
        scores: &dyn NodeScore<'s>,
    ) -> Rc<Raw> {
        let Ok(raw) = remember(&cycle.model.known.raws, (self.nodes, plugin), || {
            let nodes = cycle.snapshot().nodes();
            let mut each = vec![0; cycle.snapshot().node_slots()];
            for &node in nodes {
                each[node.index()] = scores.raw(cycle, node);
            }
            let first = nodes.first().map_or(0, |node| each[node.index()]);
            Ok::<_, Infallible>(match nodes.iter().all(|node| each[node.index()] == first) {
                true => Raw::Same(first),
                false => Raw::Each(each),
            })
        });
        raw
    }

    /// Whether a node keeps pods like this one off by what it is.
    pub(crate) fn can_never_take(&self, node: NodeId) -> bool {
        self.verdicts.of[node.index()] != 0
    }

    /// The same in layers; `None` where nodes are of too many kinds for that. Whoever takes it gives
    /// it back to [`Known::keep`].
    pub(crate) fn take_table(&self, cycle: &Cycle<'_, 's>) -> Option<Table> {
        let key = (self.nodes, self.sum);
        let order = &cycle.model.order;
        let table = cycle.occupancy.known().tables.borrow_mut().remove(&key);
        let mut table = match table {
            Some(table) => table,
            None => {
                let Ok(groups) = remember(&cycle.model.known.groups, self.nodes, || {
                    Ok::<_, Infallible>(contest::groups(cycle, self))
                });
                Table::new(order, Rc::clone((*groups).as_ref()?))
            }
        };
        let score = |node| (!self.has_fault(node)).then(|| self.score(node));
        table.catch_up(order, cycle.occupancy.changed(), score);
        Some(table)
    }

    /// Keeps it for the next pod.
    pub(crate) fn keep(self, memory: &OfSums<'s>, table: Option<Table>) {
        if let Some(table) = table {
            keep(&memory.tables, (self.nodes, self.sum), table);
        }
        keep(&memory.sums, self.sum, self.sums);
    }
}

fn keep<K: Hash + Eq, V>(memory: &RefCell<HashMap<K, V>>, key: K, value: V) {
    let mut memory = memory.borrow_mut();
    if memory.len() >= MOST {
        memory.clear();
    }
    memory.insert(key, value);
}

fn of_basis<'a, 'c, 's>(
    steps: &'a [Step<'c, 's>],
    basis: Basis,
) -> impl Iterator<Item = &'a Step<'c, 's>> {
    steps.iter().filter(move |step| plugins::filter_basis(step.plugin) == basis)
}
