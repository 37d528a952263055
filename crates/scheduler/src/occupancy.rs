//! What is on each node, as the scheduler counts it (docs/spec/scheduler.md section 1.1).
//!
//! A pod that is planned to go is still there for the scheduler, only terminating: it holds its
//! resources, ports, volumes and anti-affinity, and no longer counts for spreading. A replacement
//! that was given a place holds that place. All of it can be undone.

use std::rc::Rc;

use descheduler_cluster::pod::{ResizeRules, Scored};
use descheduler_cluster::{GroupId, NodeId, PodId, ResourceId, Resources, Snapshot, Sym};
use hashbrown::HashMap;

use crate::known::OfSums;
use crate::pod::PodRef;
use crate::replacement::Old;
use crate::terms::ExistingTerms;
use crate::topology::Topology;

/// The pods on all nodes.
#[derive(Clone, Debug)]
pub struct Occupancy<'s> {
    snapshot: &'s Snapshot,
    rules: ResizeRules,
    nodes: Vec<NodeUse>,
    /// By pod slot.
    pods: Vec<State>,
    placed: Vec<Placed<'s>>,
    placed_in_group: HashMap<GroupId, Vec<usize>>,
    /// Placed pods with labels that no pod of the snapshot has.
    loose: Vec<usize>,
    topology: Rc<Topology<'s>>,
    terms: ExistingTerms<'s>,
    /// The nodes whose sums changed, in that order, those that were changed back too.
    changed: Vec<NodeId>,
    known: OfSums<'s>,
    log: Vec<Change>,
}

/// What the pods on one node add up to.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeUse {
    /// Requests; `pods` is the number of pods.
    pub(crate) requested: Resources,
    /// What NodeResourcesFit scores with.
    pub(crate) scored: Scored,
    /// Indexes of pods placed here by the plan.
    placed: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// On its node.
    There,
    /// On its node, on its way out.
    Terminating,
    /// On no node that is known, ended, or taken out.
    Elsewhere,
}

#[derive(Clone, Copy, Debug)]
struct Placed<'s> {
    pod: PodRef<'s>,
    node: NodeId,
    /// Not there yet: the node is only kept free for it.
    nominated: bool,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Was(PodId, State),
    Placed,
}

/// A point to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OccupancyMark(usize);

/// A pod on a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occupant<'s> {
    pub(crate) pod: PodRef<'s>,
}

impl<'s> Occupancy<'s> {
    /// The pods of the snapshot on their nodes.
    pub(crate) fn new(
        snapshot: &'s Snapshot,
        topology: Rc<Topology<'s>>,
        rules: ResizeRules,
    ) -> Self {
        let mut occupancy = Self {
            snapshot,
            rules,
            nodes: vec![NodeUse::default(); snapshot.node_slots()],
            pods: vec![State::Elsewhere; snapshot.pod_slots()],
            placed: Vec::new(),
            placed_in_group: HashMap::new(),
            loose: Vec::new(),
            topology,
            terms: ExistingTerms::default(),
            changed: Vec::new(),
            known: OfSums::default(),
            log: Vec::new(),
        };
        for &node in snapshot.nodes() {
            for &id in snapshot.pods_on(node) {
                let pod = snapshot.pod(id);
                if pod.is_active() {
                    let state = if pod.terminating { State::Terminating } else { State::There };
                    occupancy.pods[id.index()] = state;
                    occupancy.book(id, 1);
                }
            }
        }
        occupancy.changed = Vec::new();
        occupancy
    }

    /// The snapshot underneath.
    pub fn snapshot(&self) -> &'s Snapshot {
        self.snapshot
    }

    /// Marks a pod as on its way out: it still holds its place, but does not count for spreading.
    pub fn terminate(&mut self, id: PodId) {
        let state = &mut self.pods[id.index()];
        if *state == State::There {
            self.log.push(Change::Was(id, *state));
            *state = State::Terminating;
        }
    }

    /// Has a pod leave as its replacement will find it.
    pub fn leave(&mut self, id: PodId, old: Old) {
        match old {
            Old::Gone => self.remove(id),
            Old::Terminating | Old::Unknown => self.terminate(id),
        }
    }

    /// Takes a pod off its node.
    pub fn remove(&mut self, id: PodId) {
        let state = std::mem::replace(&mut self.pods[id.index()], State::Elsewhere);
        if state != State::Elsewhere {
            self.log.push(Change::Was(id, state));
            self.book(id, -1);
        }
    }

    /// Puts a pod on a node.
    pub fn place(&mut self, pod: PodRef<'s>, node: NodeId) {
        self.add(Placed { pod, node, nominated: false });
    }

    /// Puts a pod on a node that is kept free for it.
    pub(crate) fn nominate(&mut self, pod: PodRef<'s>, node: NodeId) {
        self.add(Placed { pod, node, nominated: true });
    }

    /// The pods that nodes are kept free for, with these nodes.
    pub(crate) fn nominated(&self) -> impl Iterator<Item = (&PodRef<'s>, NodeId)> {
        self.placed.iter().filter(|placed| placed.nominated).map(|one| (&one.pod, one.node))
    }

    fn add(&mut self, placed: Placed<'s>) {
        let Placed { pod, node, nominated: _ } = placed;
        let at = self.placed.len();
        self.placed.push(placed);
        self.nodes[node.index()].placed.push(at);
        match pod.group {
            Some(group) => self.placed_in_group.entry(group).or_default().push(at),
            None => self.loose.push(at),
        }
        self.book_placed(at, 1);
        self.log.push(Change::Placed);
    }

    /// The present point.
    pub fn mark(&self) -> OccupancyMark {
        OccupancyMark(self.log.len())
    }

    /// Undoes everything since then.
    pub fn undo_to(&mut self, mark: OccupancyMark) {
        while self.log.len() > mark.0 {
            match self.log.pop() {
                Some(Change::Was(id, state)) => {
                    let now = std::mem::replace(&mut self.pods[id.index()], state);
                    if now == State::Elsewhere {
                        self.book(id, 1);
                    }
                }
                Some(Change::Placed) => self.undo_placed(),
                None => {}
            }
        }
    }

    fn undo_placed(&mut self) {
        let at = self.placed.len() - 1;
        self.book_placed(at, -1);
        let Placed { pod, node, nominated: _ } = self.placed[at];
        // The last one placed is the last in every list.
        self.nodes[node.index()].placed.pop();
        match pod.group {
            Some(group) => drop(self.placed_in_group.get_mut(&group).and_then(Vec::pop)),
            None => drop(self.loose.pop()),
        }
        self.placed.pop();
    }

    /// What the pods on a node request together; `pods` is their number.
    pub fn requested(&self, node: NodeId) -> &Resources {
        &self.of(node).requested
    }

    /// What the pods on a node add up to.
    pub(crate) fn of(&self, node: NodeId) -> &NodeUse {
        &self.nodes[node.index()]
    }

    /// The nodes whose sums have changed so far, in that order. The list only grows.
    pub(crate) fn changed(&self) -> &[NodeId] {
        &self.changed
    }

    /// What is kept of what plugins said that look at these sums.
    pub(crate) fn known(&self) -> &OfSums<'s> {
        &self.known
    }

    /// The anti-affinity and preferences of all pods that are there.
    pub(crate) fn terms(&self) -> &ExistingTerms<'s> {
        &self.terms
    }

    /// The pods on a node, terminating ones included.
    pub(crate) fn occupants(&self, node: NodeId) -> impl Iterator<Item = Occupant<'s>> + '_ {
        let there = self.snapshot.pods_on(node).iter();
        let there = there.filter(|id| self.pods[id.index()] != State::Elsewhere);
        let there = there.map(|&id| Occupant { pod: PodRef::of(self.snapshot, id) });
        let placed = self.nodes[node.index()].placed.iter();
        there.chain(placed.map(|&at| Occupant { pod: self.placed[at].pod }))
    }

    /// Calls `found(node, terminating)` for each pod on a node that is in one of `groups`, and for
    /// each placed pod with other labels that `matches`.
    pub(crate) fn each_of(
        &self,
        groups: &[GroupId],
        matches: impl Fn(&PodRef<'s>) -> bool,
        mut found: impl FnMut(NodeId, bool),
    ) {
        for group in groups {
            for &id in &self.snapshot.group(*group).pods {
                let state = self.pods[id.index()];
                let node = self.snapshot.pod(id).node.filter(|_| state != State::Elsewhere);
                if let Some(node) = node {
                    found(node, state == State::Terminating);
                }
            }
            for &at in self.placed_in_group.get(group).into_iter().flatten() {
                found(self.placed[at].node, false);
            }
        }
        for &at in &self.loose {
            if matches(&self.placed[at].pod) {
                found(self.placed[at].node, false);
            }
        }
    }

    /// Whether some pod on a node uses a claim. Of pods that a node is kept free for, the scheduler
    /// compares only the name of the claim.
    pub(crate) fn uses_claim(&self, namespace: Sym, claim: &str) -> bool {
        let uses = |claims: &[Box<str>]| claims.iter().any(|name| **name == *claim);
        let groups = self.snapshot.groups_in(namespace).iter();
        let mut pods = groups.flat_map(|&group| &self.snapshot.group(group).pods);
        pods.any(|&id| {
            let pod = self.snapshot.pod(id);
            self.pods[id.index()] != State::Elsewhere && uses(&pod.claims)
        }) || self.placed.iter().any(|Placed { pod, nominated, .. }| {
            (*nominated || pod.namespace == namespace) && uses(pod.claims)
        })
    }

    fn book(&mut self, id: PodId, by: i64) {
        let pod = self.snapshot.pod(id);
        let Some(node) = pod.node else { return };
        let (held, scored) = pod.held(self.rules);
        self.changed.push(node);
        self.nodes[node.index()].book(held, scored, by);
        self.terms.count(&self.topology, (&pod.spec, pod.namespace), node, by);
    }

    fn book_placed(&mut self, at: usize, by: i64) {
        let Placed { pod, node, nominated: _ } = self.placed[at];
        self.changed.push(node);
        self.nodes[node.index()].book(pod.requests, pod.scored_held, by);
        self.terms.count(&self.topology, (pod.spec, pod.namespace), node, by);
    }
}

impl NodeUse {
    fn book(&mut self, held: &Resources, scored: Scored, by: i64) {
        if by > 0 {
            self.requested.add(held);
        } else {
            self.requested.subtract(held);
        }
        let pods = self.requested.get(ResourceId::PODS) + by;
        self.requested.set(ResourceId::PODS, pods);
        self.scored.cpu += by * scored.cpu;
        self.scored.memory += by * scored.memory;
    }
}
