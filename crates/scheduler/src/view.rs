//! The snapshot as it will be after what is already planned: an overlay with undo, not a copy.
//!
//! A pod that is moved appears where its replacement is expected. It is planned already, so no
//! strategy can move it again in the same plan.

use descheduler_cluster::{NodeId, PodId, ResourceId, Resources, Snapshot};
use hashbrown::HashMap;

use crate::pod::PodRef;

/// The cluster as it will be once everything planned so far is done.
#[derive(Debug)]
pub struct View<'s> {
    snapshot: &'s Snapshot,
    /// By pod slot: planned to go.
    gone: Vec<bool>,
    /// Of those that are gone: the replacement, and where it is expected.
    arrived: HashMap<PodId, (PodRef<'s>, NodeId)>,
    /// By node slot: pods whose replacements are expected there, in the order planned.
    arrivals: Vec<Vec<PodId>>,
    /// By node slot: what the pods that stay request.
    requested: Vec<Resources>,
    /// The pods taken out, in order, so that they can be put back.
    log: Vec<PodId>,
    /// For each time that pods were put back, how many were still taken out then.
    undone: Vec<usize>,
}

/// A point in the history of a [`View`] to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(usize);

impl<'s> View<'s> {
    /// The untouched snapshot.
    pub fn new(snapshot: &'s Snapshot) -> Self {
        let mut view = Self {
            snapshot,
            gone: vec![false; snapshot.pod_slots()],
            arrived: HashMap::new(),
            arrivals: vec![Vec::new(); snapshot.node_slots()],
            requested: vec![Resources::default(); snapshot.node_slots()],
            log: Vec::new(),
            undone: Vec::new(),
        };
        for &node in snapshot.nodes() {
            let requested = &mut view.requested[node.index()];
            let mut active = 0;
            for &pod in snapshot.pods_on(node) {
                let pod = snapshot.pod(pod);
                if pod.is_active() {
                    requested.add(&pod.requests);
                    active += 1;
                }
            }
            requested.set(ResourceId::PODS, active);
        }
        view
    }

    /// The snapshot underneath.
    pub fn snapshot(&self) -> &'s Snapshot {
        self.snapshot
    }

    /// Whether the pod is planned to go.
    pub fn is_gone(&self, pod: PodId) -> bool {
        self.gone[pod.index()]
    }

    /// Where a pod is, or where its replacement is expected.
    pub fn node_of(&self, pod: PodId) -> Option<NodeId> {
        match self.is_gone(pod) {
            true => self.arrived.get(&pod).map(|(_, node)| *node),
            false => self.snapshot.pod(pod).node,
        }
    }

    /// A pod, or what is expected in its place.
    pub fn pod(&self, pod: PodId) -> PodRef<'s> {
        let arrived = self.arrived.get(&pod).map(|(pod, _)| *pod);
        arrived.unwrap_or_else(|| PodRef::of(self.snapshot, pod))
    }

    /// The pods whose replacements are expected on a node, in the order planned.
    pub fn arrivals(&self, node: NodeId) -> &[PodId] {
        &self.arrivals[node.index()]
    }

    /// The pods that stay on a node, whatever their phase, in order; then those whose replacements
    /// are expected there, which stand for them.
    pub fn pods_on(&self, node: NodeId) -> impl Iterator<Item = PodId> + '_ {
        let stay = self.snapshot.pods_on(node).iter().filter(|&&pod| !self.is_gone(pod));
        stay.chain(&self.arrivals[node.index()]).copied()
    }

    /// The pods that stay on a node and neither succeeded nor failed, in order.
    pub fn active_pods_on(&self, node: NodeId) -> impl Iterator<Item = PodId> + '_ {
        self.pods_on(node).filter(|&pod| self.snapshot.pod(pod).is_active())
    }

    /// The sum of the requests of a node's active pods; `pods` is their number
    /// (docs/spec/strategies.md section 6.2).
    pub fn requested(&self, node: NodeId) -> &Resources {
        &self.requested[node.index()]
    }

    /// Takes a pod out.
    pub fn remove(&mut self, pod: PodId) {
        if !std::mem::replace(&mut self.gone[pod.index()], true) {
            self.log.push(pod);
            let node = self.snapshot.pod(pod).node;
            self.book(pod, node, self.own_requests(pod), Resources::subtract, -1);
        }
    }

    /// Takes the pod out that `pod` replaces, and expects `pod` on a node.
    pub fn replace(&mut self, pod: PodRef<'s>, node: NodeId) {
        if !self.is_gone(pod.id) {
            self.remove(pod.id);
            self.arrived.insert(pod.id, (pod, node));
            self.arrivals[node.index()].push(pod.id);
            self.book(pod.id, Some(node), pod.requests, Resources::add, 1);
        }
    }

    /// The pods taken out so far, in order, for whoever keeps up with the view. The list only
    /// grows as long as [`View::undone`] stays the same.
    pub fn removed(&self) -> &[PodId] {
        &self.log
    }

    /// How often pods were put back.
    pub fn undone(&self) -> usize {
        self.undone.len()
    }

    /// How much at the beginning of [`View::removed`] is as it was when [`View::undone`] was
    /// `undone`; all of what there was then if this is more.
    pub fn kept_since(&self, undone: usize) -> usize {
        self.undone[undone..].iter().copied().min().unwrap_or(usize::MAX)
    }

    /// The present point, to go back to with [`View::undo_to`].
    pub fn mark(&self) -> Mark {
        Mark(self.log.len())
    }

    /// Puts back what was taken out since `mark`.
    pub fn undo_to(&mut self, mark: Mark) {
        if self.log.len() > mark.0 {
            self.undone.push(mark.0);
        }
        while self.log.len() > mark.0 {
            let Some(pod) = self.log.pop() else { break };
            if let Some((arrived, node)) = self.arrived.remove(&pod) {
                // The last one planned is the last to have arrived.
                self.arrivals[node.index()].pop();
                self.book(pod, Some(node), arrived.requests, Resources::subtract, -1);
            }
            self.gone[pod.index()] = false;
            let node = self.snapshot.pod(pod).node;
            self.book(pod, node, self.own_requests(pod), Resources::add, 1);
        }
    }

    fn own_requests(&self, pod: PodId) -> &'s Resources {
        &self.snapshot.pod(pod).requests
    }

    fn book(
        &mut self,
        pod: PodId,
        node: Option<NodeId>,
        amounts: &Resources,
        change: fn(&mut Resources, &Resources),
        count: i64,
    ) {
        let active = self.snapshot.pod(pod).is_active();
        let Some(node) = node.filter(|_| active) else { return };
        let requested = &mut self.requested[node.index()];
        let pods = requested.get(ResourceId::PODS);
        change(requested, amounts);
        // Pods are counted, whatever a pod may claim to request of them.
        requested.set(ResourceId::PODS, pods + count);
    }
}
