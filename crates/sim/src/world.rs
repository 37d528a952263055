//! A cluster that goes on living.

use descheduler_cluster::{Arrival, Changes, Ingest, NodeId, PodId, Snapshot};
use descheduler_scheduler::{Model, Old, PodRef, Scheduler};
use jiff::{SignedDuration, Timestamp};

use crate::chance::Chance;
use crate::placing::{Placing, queue_key, waiting};
use crate::workload::{Heir, Names, ordinal};

/// How time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// From one look at the cluster to the next.
    pub interval: SignedDuration,
    /// How long a pod takes to end; one that takes no time gives up its place before its owner
    /// makes another.
    pub grace: SignedDuration,
}

impl Default for Pace {
    /// As the chart runs the descheduler, and as long as pods are given that do not say.
    fn default() -> Self {
        Self { interval: SignedDuration::from_mins(5), grace: SignedDuration::from_secs(30) }
    }
}

/// What became of a pod that was evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its owner's new pod runs on this node.
    Landed(NodeId),
    /// Its owner's new pod finds no node.
    Waits,
    /// Nothing came back, for a reason.
    Ended(&'static str),
}

/// The cluster at one moment, and what it takes to go on from there.
#[derive(Clone, Debug)]
pub struct World {
    snapshot: Snapshot,
    names: Names,
    pace: Pace,
}

impl World {
    /// A cluster as it was found. The seed is for the names of new pods.
    pub fn new(snapshot: Snapshot, pace: Pace, seed: u64) -> Self {
        Self { snapshot, names: Names::new(seed), pace }
    }

    /// The cluster as it is now.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Evicts pods, in this order, and lets time pass until the next look at the cluster. Tells what
    /// became of each.
    ///
    /// Pods that wait for a node come first. Then each evicted pod terminates, and if its owner
    /// makes another at once, that is placed before the next pod is evicted. When the old pods are
    /// gone, those follow whose owners waited for that, together with whatever found no node
    /// before. By the next look all that have a node are ready.
    pub fn turn(
        self,
        evicted: &[PodId],
        scheduler: &Scheduler,
        chance: &mut dyn Chance,
    ) -> (Self, Vec<Fate>) {
        let Self { snapshot, mut names, pace } = self;
        let (changes, fates) =
            Turn::new(&snapshot, scheduler, pace, chance).play(evicted, &mut names);
        (Self { snapshot: Ingest::next(snapshot, changes), names, pace }, fates)
    }
}

/// What happens between two looks at a cluster.
struct Turn<'c, 's> {
    snapshot: &'s Snapshot,
    placing: Placing<'c, 's>,
    pace: Pace,
    /// The pods that are on their way out.
    leaving: Vec<PodId>,
    newcomers: Vec<Newcomer<'s>>,
}

/// A pod that was made anew, or that waited all along.
struct Newcomer<'s> {
    pod: PodRef<'s>,
    /// When it was made; `None` of a pod that was there before.
    made: Option<Timestamp>,
    node: Option<NodeId>,
    /// Which of the evictions it is due to.
    due_to: Option<usize>,
}

impl<'c, 's> Turn<'c, 's> {
    fn new(
        snapshot: &'s Snapshot,
        scheduler: &Scheduler,
        pace: Pace,
        chance: &'c mut dyn Chance,
    ) -> Self {
        let placing = Placing::new(Model::new(snapshot, scheduler), chance);
        Self { snapshot, placing, pace, leaving: Vec::new(), newcomers: Vec::new() }
    }

    fn play(mut self, evicted: &[PodId], names: &mut Names) -> (Changes, Vec<Fate>) {
        let now = self.snapshot.taken_at();
        let Pace { interval, grace } = self.pace;
        for pod in waiting(&self.placing.model) {
            let node = self.placing.place(pod);
            self.newcomers.push(Newcomer { pod, made: None, node, due_to: None });
        }
        let mut late = self.already_leaving();
        let mut fates = vec![Fate::Waits; evicted.len()];
        for (at, &id) in evicted.iter().enumerate() {
            self.leaving.push(id);
            let old = if grace.is_positive() { Old::Terminating } else { Old::Gone };
            let heir = Heir::of(&self.placing.model, id);
            self.placing.leave(id, old);
            match heir {
                Heir::AtOnce(pod) => {
                    let node = self.placing.place(pod);
                    let made = Some(now);
                    self.newcomers.push(Newcomer { pod, made, node, due_to: Some(at) });
                }
                Heir::Afterwards(pod) => late.push((pod, Some(at))),
                Heir::None(why) => fates[at] = Fate::Ended(why),
            }
        }
        self.after_grace(late, later(now, grace.min(interval)));
        for Newcomer { node, due_to, .. } in &self.newcomers {
            if let (Some(node), Some(at)) = (node, due_to) {
                fates[*at] = Fate::Landed(*node);
            }
        }
        (self.changes(names, later(now, interval)), fates)
    }

    /// Pods that were ending when the cluster was looked at. Who waits for one to be gone makes
    /// another then.
    fn already_leaving(&mut self) -> Vec<(PodRef<'s>, Option<usize>)> {
        let mut late = Vec::new();
        for &id in self.snapshot.pods() {
            if !self.snapshot.pod(id).terminating {
                continue;
            }
            self.leaving.push(id);
            if let Heir::Afterwards(pod) = Heir::of(&self.placing.model, id) {
                late.push((pod, None));
            }
        }
        late
    }

    /// The old pods are gone, and those that waited for that come in.
    fn after_grace(&mut self, mut late: Vec<(PodRef<'s>, Option<usize>)>, then: Timestamp) {
        for &id in &self.leaving {
            self.placing.leave(id, Old::Gone);
        }
        late.sort_by_key(|(pod, _)| ordinal(self.snapshot, pod.id));
        let late = late.into_iter().map(|(pod, due_to)| Newcomer {
            pod,
            made: Some(then),
            node: None,
            due_to,
        });
        self.newcomers.extend(late);
        let mut queue: Vec<usize> =
            (0..self.newcomers.len()).filter(|&at| self.newcomers[at].node.is_none()).collect();
        queue.sort_by_key(|&at| {
            let Newcomer { pod, made, .. } = &self.newcomers[at];
            let (priority, created) = queue_key(self.snapshot, pod);
            (priority, made.or(created))
        });
        for at in queue {
            self.newcomers[at].node = self.placing.place(self.newcomers[at].pod);
        }
    }

    fn changes(self, names: &mut Names, now: Timestamp) -> Changes {
        let Self { snapshot, leaving, newcomers, .. } = self;
        let mut bound = Vec::new();
        let mut come: Vec<Arrival> = Vec::new();
        for Newcomer { pod, made, node, due_to: _ } in newcomers {
            match (made, node) {
                (Some(made), _) => come.push(names.arrival(snapshot, &pod, made, node)),
                (None, Some(node)) => bound.push((pod.id, node)),
                (None, None) => {}
            }
        }
        Changes { now, gone: leaving, bound, come }
    }
}

/// A moment as far in the future as can be, if not that far.
fn later(moment: Timestamp, span: SignedDuration) -> Timestamp {
    moment.checked_add(span).unwrap_or(Timestamp::MAX)
}
