//! A cluster that lives: owners make pods anew, the scheduler places them, pods take their time to
//! end and to get ready, and the disruption controller counts. Everything happens in the order of
//! its moment, and whatever is open is drawn from dice.
//!
//! A world is written as the lines of `descheduler_testkit`, so that one in which something fails
//! can be pasted into a case, and is only ever looked at through them.

use std::collections::BTreeMap;

use descheduler_cluster::Snapshot;
use descheduler_scheduler::{Model, PodRef, Scheduler, ScoringStrategy};
use descheduler_sim::{Chance, Dice};
use descheduler_testkit::Cluster;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::checks::Planned;
use crate::faults::Faults;
use crate::lines;

/// Kinds of owners that are objects of the cluster here.
pub(crate) const KNOWN: [&str; 3] = ["ReplicaSet", "ReplicationController", "StatefulSet"];

/// What the API server takes for an eviction that is asked of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) nodes: Vec<Node>,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) pods: Vec<Pod>,
    pub(crate) budgets: Vec<Budget>,
    /// Who places the pods.
    pub(crate) scheduler: Scheduler,
    /// How often things go wrong, and how slowly they go right.
    pub(crate) faults: Faults,
    /// How many pods there have ever been.
    pub(crate) born: usize,
    /// What is still to happen.
    queue: BTreeMap<(Timestamp, usize), Event>,
    queued: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) words: String,
    pub(crate) cordoned: bool,
    pub(crate) notready: bool,
    /// A taint that somebody has put there.
    pub(crate) tainted: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Workload {
    pub(crate) namespace: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) replicas: usize,
    /// `metadata.labels` and `spec` of its pods.
    pub(crate) template: Value,
    /// Whose places its next pods take.
    pub(crate) vacant: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pod {
    pub(crate) key: Key,
    /// Such as `ReplicaSet/w0`; empty if nobody owns it.
    pub(crate) owner: String,
    pub(crate) node: Option<String>,
    /// What is special about it.
    pub(crate) words: String,
    pub(crate) patch: Value,
    pub(crate) made: Timestamp,
    pub(crate) terminating: bool,
    pub(crate) unready: bool,
    /// Somebody has written on it that it must not be evicted.
    pub(crate) kept: bool,
    /// What it has in common with the pods that it has come in place of.
    pub(crate) lineage: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Budget {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The label `app` of the pods that it covers.
    pub(crate) app: String,
    pub(crate) min_available: i64,
    pub(crate) always_allow: bool,
    pub(crate) allowed: i64,
    pub(crate) healthy: i64,
    /// The disruption controller has not seen its last change.
    pub(crate) unprocessed: bool,
}

/// What happens by itself.
#[derive(Clone, Debug)]
enum Event {
    /// A pod that was terminating is gone.
    Gone(String),
    /// An eviction that was asked for earlier is carried out.
    Evict(Key, u32),
    /// An owner counts its pods.
    Reconcile(usize),
    Ready(String),
    Place,
    /// The disruption controller counts.
    Count,
}

/// An eviction that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) at: Timestamp,
    /// The cycle that asked for it.
    pub(crate) cycle: u32,
    pub(crate) key: Key,
    pub(crate) node: String,
    pub(crate) budget: Option<String>,
}

impl World {
    pub(crate) fn new(now: Timestamp, faults: Faults) -> Self {
        Self {
            now,
            nodes: Vec::new(),
            workloads: Vec::new(),
            pods: Vec::new(),
            budgets: Vec::new(),
            scheduler: Scheduler::default(),
            faults,
            born: 0,
            queue: BTreeMap::new(),
            queued: 0,
        }
    }

    /// Has the scheduler fill nodes up instead of spreading pods out.
    pub(crate) fn pack(&mut self) {
        for profile in &mut self.scheduler.profiles {
            profile.fit.strategy = ScoringStrategy::MostAllocated;
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let lines = lines::of(self);
        let mut cluster =
            Cluster::parse(&lines).unwrap_or_else(|faults| panic!("{faults}\n{lines}"));
        cluster.now = Some(self.now);
        cluster.snapshot()
    }

    pub(crate) fn pod(&self, uid: &str) -> Option<&Pod> {
        self.pods.iter().find(|pod| pod.key.uid == uid)
    }

    fn pod_mut(&mut self, uid: &str) -> Option<&mut Pod> {
        self.pods.iter_mut().find(|pod| pod.key.uid == uid)
    }

    /// The budgets that cover a pod.
    pub(crate) fn budgets_of(&self, pod: &Pod) -> Vec<usize> {
        let app = pod.patch["metadata"]["labels"]["app"].as_str().unwrap_or("");
        let covers = |budget: &Budget| {
            budget.namespace == pod.key.namespace && budget.app == app && !app.is_empty()
        };
        (0..self.budgets.len()).filter(|&at| covers(&self.budgets[at])).collect()
    }

    /// Lets time pass, and everything happen that is due by then.
    pub(crate) fn advance(&mut self, to: Timestamp, dice: &mut Dice) -> Vec<Carried> {
        let mut carried = Vec::new();
        while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= to) {
            let ((at, _), event) = entry.remove_entry();
            self.now = self.now.max(at);
            match event {
                Event::Gone(uid) => self.gone(&uid),
                Event::Evict(key, cycle) => carried.extend(self.carry_out(&key, cycle, dice)),
                Event::Reconcile(workload) => self.reconcile(workload, dice),
                Event::Ready(uid) => {
                    if let Some(pod) = self.pod_mut(&uid) {
                        pod.unready = false;
                    }
                    self.after(SignedDuration::ZERO, Event::Count);
                }
                Event::Place => self.place(dice),
                Event::Count => self.count(),
            }
        }
        self.now = self.now.max(to);
        carried
    }

    fn after(&mut self, span: SignedDuration, event: Event) {
        self.queued += 1;
        self.queue.insert((self.now + span, self.queued), event);
    }

    /// Has an eviction carried out some time later.
    pub(crate) fn evict_later(&mut self, key: Key, cycle: u32, span: SignedDuration) {
        self.after(span, Event::Evict(key, cycle));
    }

    /// Whether such an eviction is still to come.
    pub(crate) fn is_on_its_way(&self, key: &Key) -> bool {
        self.queue.values().any(|event| matches!(event, Event::Evict(other, _) if other == key))
    }

    /// Evicts a pod as the API server does, if it may; who asks has to know its uid.
    pub(crate) fn carry_out(&mut self, key: &Key, cycle: u32, dice: &mut Dice) -> Option<Carried> {
        let pod = self.pods.iter().find(|pod| pod.key == *key && !pod.terminating)?.clone();
        let budget = self.spend(&pod).ok()?;
        let carried = Carried {
            at: self.now,
            cycle,
            key: key.clone(),
            node: pod.node.clone().unwrap_or_default(),
            budget: budget.map(|at| self.budgets[at].name.clone()),
        };
        self.terminate(&key.uid, dice);
        Some(carried)
    }

    /// Takes the disruption of a pod from its budget, if there is one, which is answered.
    ///
    /// # Errors
    ///
    /// The budget forbids it.
    fn spend(&mut self, pod: &Pod) -> Result<Option<usize>, ()> {
        let at = match self.charges(pod)? {
            None => return Ok(None),
            Some(at) => at,
        };
        let budget = &mut self.budgets[at];
        budget.allowed -= 1;
        Ok(Some(at))
    }

    /// The budget that the API server would take the disruption of a pod from.
    pub(crate) fn charges(&self, pod: &Pod) -> Result<Option<usize>, ()> {
        if pod.node.is_none() || pod.has_ended() || pod.words.contains("phase=Pending") {
            return Ok(None);
        }
        let at = match *self.budgets_of(pod) {
            [] => return Ok(None),
            [at] => at,
            _ => return Err(()),
        };
        let budget = &self.budgets[at];
        let enough = budget.healthy >= budget.min_available && budget.min_available > 0;
        if pod.is_unready() && (budget.always_allow || (enough && !budget.unprocessed)) {
            return Ok(None);
        }
        match budget.allowed > 0 && !budget.unprocessed {
            true => Ok(Some(at)),
            false => Err(()),
        }
    }

    /// A pod begins to end.
    pub(crate) fn terminate(&mut self, uid: &str, dice: &mut Dice) {
        let Some(pod) = self.pod_mut(uid).filter(|pod| !pod.terminating) else { return };
        pod.terminating = true;
        let (placed, lineage, owner) = (pod.node.is_some(), pod.lineage, pod.owner.clone());
        let namespace = pod.key.namespace.clone();
        let ended = pod.has_ended();
        let grace = match placed {
            true => self.faults.grace(dice),
            false => SignedDuration::ZERO,
        };
        self.after(grace, Event::Gone(uid.to_owned()));
        if let Some(at) = self.workload_of(&namespace, &owner) {
            if !ended {
                self.workloads[at].vacant.push(lineage);
            }
            let delay = self.faults.delay(dice);
            self.after(delay, Event::Reconcile(at));
        }
        // The controller counts what the API server has counted already.
        self.after(SignedDuration::from_secs(1), Event::Count);
    }

    /// A pod is gone all at once, as when its node is.
    pub(crate) fn vanish(&mut self, uid: &str, dice: &mut Dice) {
        self.terminate(uid, dice);
        self.gone(uid);
    }

    /// The disruption controller looks at the budgets after a while.
    pub(crate) fn count_soon(&mut self, dice: &mut Dice) {
        let delay = self.faults.delay(dice);
        self.after(delay, Event::Count);
    }

    fn gone(&mut self, uid: &str) {
        let Some(at) = self.pods.iter().position(|pod| pod.key.uid == uid) else { return };
        let pod = self.pods.remove(at);
        if let Some(at) = self.workload_of(&pod.key.namespace, &pod.owner) {
            self.after(SignedDuration::ZERO, Event::Reconcile(at));
        }
        self.after(SignedDuration::ZERO, Event::Place);
    }

    pub(crate) fn workload_of(&self, namespace: &str, owner: &str) -> Option<usize> {
        self.workloads
            .iter()
            .position(|workload| workload.namespace == namespace && workload.owner() == owner)
    }

    /// An owner sees to it that there are as many pods as it wants.
    pub(crate) fn reconcile(&mut self, at: usize, dice: &mut Dice) {
        let owner = self.workloads[at].owner();
        let Workload { namespace, kind, name, replicas, .. } = self.workloads[at].clone();
        let mut own = self.pods.clone();
        own.retain(|pod| pod.key.namespace == namespace && pod.owner == owner);
        if kind == "DaemonSet" {
            return;
        }
        if kind == "StatefulSet" {
            let names: Vec<String> = own.into_iter().map(|pod| pod.key.name).collect();
            let wanted = (0..replicas).map(|ordinal| format!("{name}-{ordinal}"));
            let missing = wanted.clone().find(|name| !names.contains(name));
            let surplus = names.iter().rfind(|name| !wanted.clone().any(|one| one == **name));
            if let Some(name) = missing {
                self.make(at, name);
                // They come one after the other.
                self.after(SignedDuration::from_secs(1), Event::Reconcile(at));
            } else if let Some(name) = surplus.cloned() {
                self.end_named(at, &name, dice);
            }
            return;
        }
        own.retain(|pod| !pod.terminating && !pod.has_ended());
        let mut alive: Vec<(Timestamp, String)> =
            own.into_iter().map(|pod| (pod.made, pod.key.uid)).collect();
        for _ in alive.len()..replicas {
            let name = format!("{name}-{}", self.born + 1);
            self.make(at, name);
        }
        alive.sort();
        for (_, uid) in alive.drain(replicas.min(alive.len())..).collect::<Vec<_>>() {
            self.terminate(&uid, dice);
            // What was to go does not come back.
            self.workloads[at].vacant.pop();
        }
    }

    fn end_named(&mut self, at: usize, name: &str, dice: &mut Dice) {
        let namespace = &self.workloads[at].namespace;
        let mut pods = self.pods.iter();
        let pod = pods.find(|pod| pod.key.namespace == *namespace && pod.key.name == name);
        if let Some(uid) = pod.map(|pod| pod.key.uid.clone()) {
            self.terminate(&uid, dice);
        }
    }

    fn make(&mut self, at: usize, name: String) {
        self.born += 1;
        let workload = &mut self.workloads[at];
        let lineage = match workload.vacant.is_empty() {
            true => self.born,
            false => workload.vacant.remove(0),
        };
        let uid = format!("uid-{}", self.born);
        self.pods.push(Pod {
            key: Key { namespace: workload.namespace.clone(), name, uid },
            owner: workload.owner(),
            node: None,
            words: String::new(),
            patch: workload.template.clone(),
            made: self.now,
            terminating: false,
            unready: false,
            kept: false,
            lineage,
        });
        self.after(SignedDuration::ZERO, Event::Place);
    }

    /// The scheduler places what waits, by priority and age.
    fn place(&mut self, dice: &mut Dice) {
        self.queue.retain(|_, event| !matches!(event, Event::Place));
        if !self.pods.iter().any(|pod| pod.node.is_none() && !pod.terminating) {
            return;
        }
        for (uid, node) in self.decided(dice) {
            let start = self.faults.start(dice);
            if let Some(pod) = self.pod_mut(&uid) {
                pod.node = Some(node);
                pod.unready = true;
            }
            if let Some(start) = start {
                self.after(start, Event::Ready(uid));
            }
        }
    }

    /// Which pods that wait the scheduler places where, by uid and name.
    fn decided(&self, dice: &mut Dice) -> Vec<(String, String)> {
        let snapshot = self.snapshot();
        let model = Model::new(&snapshot, &self.scheduler);
        let mut occupancy = model.occupancy();
        let mut waiting = snapshot.pending().to_vec();
        waiting.sort_by_key(|&id| {
            let pod = snapshot.pod(id);
            (std::cmp::Reverse(pod.spec.priority.unwrap_or(0)), pod.created, id)
        });
        let mut placed = Vec::new();
        for id in waiting {
            let pod = PodRef::of(&snapshot, id);
            let (_, winners) = model.decide(&mut occupancy, &pod, false);
            if winners.nodes.is_empty() {
                continue;
            }
            let node = winners.nodes[dice.pick(winners.nodes.len())];
            occupancy.place(pod, node);
            let uid = snapshot.pod(id).uid.to_string();
            placed.push((uid, snapshot.node(node).name.to_string()));
        }
        placed
    }

    /// Whether the scheduler could place something that waits.
    pub(crate) fn has_placeable(&self) -> bool {
        self.pods.iter().any(|pod| pod.node.is_none())
            && !self.decided(&mut Dice::new(0, "place")).is_empty()
    }

    /// The world as a plan expects it to be.
    pub(crate) fn predicted(&self, moves: &[Planned]) -> Self {
        let mut world = self.clone();
        for (number, Planned { key, destinations, .. }) in moves.iter().enumerate() {
            let Some(node) = destinations.first() else {
                world.pods.retain(|pod| pod.key != *key);
                continue;
            };
            let (now, born) = (world.now, world.born + number + 1);
            let Some(pod) = world.pods.iter_mut().find(|pod| pod.key == *key) else { continue };
            if !pod.owner.starts_with("StatefulSet/") {
                pod.key.name = format!("{}-{born}", pod.key.name);
            }
            pod.key.uid = format!("uid-{born}");
            (pod.node, pod.made, pod.unready) = (Some(node.clone()), now, false);
            pod.words.clear();
        }
        world
    }

    /// Has the scheduler look at what waits.
    pub(crate) fn place_soon(&mut self) {
        self.after(SignedDuration::ZERO, Event::Place);
    }

    /// Has every owner count its pods.
    pub(crate) fn reconcile_soon(&mut self) {
        for at in 0..self.workloads.len() {
            self.after(SignedDuration::ZERO, Event::Reconcile(at));
        }
    }

    /// The disruption controller looks at every budget.
    pub(crate) fn count(&mut self) {
        self.queue.retain(|_, event| !matches!(event, Event::Count));
        for at in 0..self.budgets.len() {
            let Budget { namespace, app, .. } = &self.budgets[at];
            let healthy = self.pods.iter().filter(|pod| {
                pod.key.namespace == *namespace
                    && pod.patch["metadata"]["labels"]["app"] == json!(app)
                    && !pod.is_unready()
                    && !pod.terminating
            });
            let healthy = i64::try_from(healthy.count()).expect("few");
            let budget = &mut self.budgets[at];
            budget.healthy = healthy;
            budget.allowed = (healthy - budget.min_available).max(0);
            budget.unprocessed = false;
        }
    }

    /// Whether nothing more happens by itself.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.queue.is_empty()
    }
}

impl Workload {
    pub(crate) fn owner(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }
}

impl Pod {
    pub(crate) fn has_ended(&self) -> bool {
        self.words.contains("phase=Failed") || self.words.contains("phase=Succeeded")
    }

    pub(crate) fn is_unready(&self) -> bool {
        self.unready || self.node.is_none() || self.words.contains("unready") || self.has_ended()
    }
}
