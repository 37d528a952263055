//! What earlier cycles left behind: the moves that were made, and whether they helped.
//!
//! ```text
//!              snapshot         snapshot, policy       snapshot, policy, plan
//!                  |                   |                         |
//!  History --> seen() --> History --> plan() --> Plan --> after() --> History, for the next cycle
//! ```
//!
//! [`History::seen`] looks up what came in place of the pods that went, [`plan`](crate::plan())
//! asks before it moves a pod, and [`History::after`] judges the moves by what was planned and adds
//! the new ones. All times are those of snapshots. Whoever carries the plan out calls the two halves
//! of `after` by themselves: [`History::judged`], and [`History::with_made`] once it is known what
//! was made.
//!
//! # What helps
//!
//! The successor of a pod that was moved is the oldest pod of the same owner that was made since
//! and is no other move's successor. A move did **not** help
//!
//! * if the strategy that made it would move the successor again, or what later moves have made of
//!   it, within [`LoopBreaker::max`]. That is, the pod is planned, or only the loop breaker keeps it;
//! * if, at the first look, it would so move another pod of that owner from the node where the
//!   successor landed: equal pods that take turns are a loop, too;
//! * if a move of another strategy led a pod of that owner back to the node that this one had left,
//!   from the node that it had led to. Then neither helped;
//! * if the successor has found no node within [`LoopBreaker::initial`].
//!
//! What a strategy's moves are for ([`Purpose`]) says which of these count. Where nothing comes back,
//! such as for a finished job, nothing is judged.
//!
//! # What follows
//!
//! The failures of a strategy with one owner's pods are a [`Streak`], and so are the cycles in a
//! row in which the strategy's moves failed and none helped. While a streak cools down, which
//! begins when the last failure was seen and takes twice as long with each further cycle that
//! failed, its pods stay. It is forgotten when the cool-down has been over for [`LoopBreaker::max`].

mod breaker;
mod recall;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use descheduler_cluster::{PodId, Snapshot};
use jiff::Timestamp;

use crate::decision::{Eviction, Refusal};
use crate::execution::Open;
use crate::plan::Plan;
use crate::policy::Policy;
use crate::strategy::Purpose;

pub use breaker::{LoopBreaker, Streak};
pub(crate) use recall::{Cooling, Recall};
pub use text::HistoryError;

/// So many moves are remembered at most, the latest. At some 300 bytes each they fit into a
/// ConfigMap, which holds 1 MiB, together with the streaks.
pub const MOVES_MAX: usize = 2_000;

/// So many streaks are remembered at most, those with the latest failures.
pub const STREAKS_MAX: usize = 1_000;

/// The moves of earlier cycles, and which of them keep failing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Oldest first.
    moves: Vec<Moved>,
    /// By strategy.
    failures: BTreeMap<String, Failures>,
}

/// How often a strategy's moves did not help.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Failures {
    /// Whoever's pods they were.
    whole: Option<Streak>,
    subjects: BTreeMap<Subject, Streak>,
}

/// A pod that was moved, by names, since ids do not outlive a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// When it was planned.
    pub at: Timestamp,
    /// By which strategy.
    pub strategy: String,
    /// Whose pod it was.
    pub subject: Subject,
    /// Its uid.
    pub uid: String,
    /// The node that it left.
    pub from: String,
    /// The node of its successor, once it has one.
    pub to: Option<String>,
    /// The uid of its successor, once that is known.
    pub successor: Option<String>,
    /// Whether it helped, once that is known. That it did may turn out to be wrong later.
    pub helped: Option<bool>,
}

/// Whom the history remembers: the first owner of a pod, or the pod itself if it has none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// Namespace.
    pub namespace: String,
    /// Kind of the owner, `Pod` for a pod without one.
    pub kind: String,
    /// Name of the owner or the pod.
    pub name: String,
}

impl Subject {
    /// The subject that a pod belongs to.
    pub fn of(snapshot: &Snapshot, pod: PodId) -> Self {
        let pod = snapshot.pod(pod);
        let (kind, name) = match pod.owners.first() {
            Some(owner) => (snapshot.text(owner.kind), snapshot.text(owner.name)),
            None => ("Pod", &*pod.name),
        };
        Self {
            namespace: snapshot.text(pod.namespace).to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl History {
    /// The moves, oldest first.
    pub fn moves(&self) -> &[Moved] {
        &self.moves
    }

    /// The streaks of failures: of a strategy with a subject's pods, and of a strategy as a whole.
    pub fn streaks(&self) -> impl Iterator<Item = (&str, Option<&Subject>, &Streak)> {
        self.failures.iter().flat_map(|(strategy, Failures { whole, subjects })| {
            let whole = whole.iter().map(|streak| (None, streak));
            let subjects = subjects.iter().map(|(subject, streak)| (Some(subject), streak));
            whole.chain(subjects).map(move |(subject, streak)| (&**strategy, subject, streak))
        })
    }

    /// Looks up in a new snapshot what became of the moves. A move whose pod is still where it was
    /// was not carried out, and is forgotten unless its eviction is still open, as is what is too old
    /// to matter.
    #[must_use]
    pub fn seen(mut self, snapshot: &Snapshot, breaker: LoopBreaker, open: &Open) -> Self {
        if self == Self::default() {
            return self;
        }
        let now = snapshot.taken_at();
        let pods = Pods::of(snapshot, &self.moves);
        let open: BTreeSet<&str> = open.iter().map(|eviction| &*eviction.pod.uid).collect();
        self.moves.retain(|moved| {
            let stays = pods.is_on(&moved.uid, &moved.from) && !open.contains(&*moved.uid);
            now.duration_since(moved.at) < breaker.max && !stays
        });
        self.failures.retain(|_, Failures { whole, subjects }| {
            whole.take_if(|streak| breaker.forgets(streak, now));
            subjects.retain(|_, streak| !breaker.forgets(streak, now));
            whole.is_some() || !subjects.is_empty()
        });
        let successors = self.moves.iter().filter_map(|moved| moved.successor.clone());
        let mut taken: BTreeSet<String> = successors.collect();
        for moved in &mut self.moves {
            // Nothing comes in place of a pod that is still there.
            if moved.successor.is_none() && !pods.is_on(&moved.uid, &moved.from) {
                moved.successor = pods.successor(moved, &taken);
                taken.extend(moved.successor.clone());
            }
            if let (None, Some(successor)) = (&moved.to, &moved.successor) {
                moved.to = pods.node_of(successor).map(str::to_owned);
            }
        }
        self
    }

    /// Judges the moves by what was planned now, and adds those that were planned, where nobody can
    /// say yet what is made of them.
    #[must_use]
    pub fn after(self, snapshot: &Snapshot, policy: &Policy, plan: &Plan) -> Self {
        self.judged(snapshot, policy, plan).with_made(snapshot, policy, &plan.evictions)
    }

    /// Judges the moves by what was planned now.
    #[must_use]
    pub fn judged(mut self, snapshot: &Snapshot, policy: &Policy, plan: &Plan) -> Self {
        self.judge(snapshot, policy, plan);
        self.drop_surplus_streaks();
        self
    }

    /// Adds the moves that were made of a plan for the snapshot, or may have been: those of
    /// [`Receipt::made`](crate::Receipt::made). What came to a pod without our doing says nothing
    /// about the strategy that had wanted it.
    #[must_use]
    pub fn with_made<'p>(
        mut self,
        snapshot: &Snapshot,
        policy: &Policy,
        made: impl IntoIterator<Item = &'p Eviction>,
    ) -> Self {
        let now = snapshot.taken_at();
        for eviction in made {
            let pod = snapshot.pod(eviction.pod);
            // Of a pod that has ended its owner has made the next one long since.
            let purpose = policy.purpose(eviction.strategy);
            if purpose == Purpose::Removal || !pod.is_active() {
                continue;
            }
            self.moves.push(Moved {
                at: now,
                strategy: eviction.strategy.to_owned(),
                subject: Subject::of(snapshot, eviction.pod),
                uid: pod.uid.to_string(),
                from: snapshot.node(eviction.node).name.to_string(),
                to: None,
                successor: None,
                helped: None,
            });
        }
        self.moves.sort_by_key(|moved| moved.at);
        let surplus = self.moves.len().saturating_sub(MOVES_MAX);
        self.moves.drain(..surplus);
        self
    }

    fn judge(&mut self, snapshot: &Snapshot, policy: &Policy, plan: &Plan) {
        let now = snapshot.taken_at();
        let mut failed = self.would_move_again(snapshot, policy, plan);
        failed.extend(self.undone(policy));
        let ran: BTreeSet<&str> = plan.report.runs.iter().map(|run| run.strategy).collect();
        let mut helped = Vec::new();
        for (at, moved) in self.moves.iter().enumerate() {
            let waited = now.duration_since(moved.at) >= policy.loop_breaker.initial;
            match (&moved.successor, &moved.to) {
                (Some(_), None) if waited => drop(failed.insert(at)),
                // A strategy that does not run has no opinion.
                (Some(_), Some(_)) if ran.contains(&*moved.strategy) => helped.push(at),
                _ => {}
            }
        }
        for &at in &failed {
            let moved = &mut self.moves[at];
            if moved.helped == Some(false) {
                continue;
            }
            moved.helped = Some(false);
            let Moved { at, ref strategy, ref subject, .. } = *moved;
            let Failures { whole, subjects } = self.failures.entry(strategy.clone()).or_default();
            Streak::extend(whole, at, now);
            let mut streak = subjects.remove(subject);
            Streak::extend(&mut streak, at, now);
            subjects.extend(streak.map(|streak| (subject.clone(), streak)));
        }
        for at in helped {
            let moved = &mut self.moves[at];
            if moved.helped.is_some() {
                continue;
            }
            moved.helped = Some(true);
            if let Some(Failures { whole, .. }) = self.failures.get_mut(&moved.strategy) {
                whole.take_if(|streak| streak.latest <= moved.at);
            }
        }
    }

    /// The moves whose strategies would move what came of them again.
    fn would_move_again(
        &self,
        snapshot: &Snapshot,
        policy: &Policy,
        plan: &Plan,
    ) -> BTreeSet<usize> {
        let recall = Recall::new(self, snapshot, policy.loop_breaker);
        let refused = plan.report.runs.iter().flat_map(|run| {
            let held = run.refusals.iter();
            let held = held.filter(|one| matches!(one.refusal, Refusal::CoolingDown { .. }));
            held.map(|refused| (run.strategy, refused.pod))
        });
        let planned = plan.evictions.iter().map(|eviction| (eviction.strategy, eviction.pod));
        let again = |(strategy, pod)| recall.moved_before(pod, strategy, policy.purpose(strategy));
        refused.chain(planned).flat_map(again).collect()
    }

    /// The moves that undid each other.
    fn undone(&self, policy: &Policy) -> BTreeSet<usize> {
        let mut ways: BTreeMap<(&Subject, &str, &str), Vec<usize>> = BTreeMap::new();
        let mut found = BTreeSet::new();
        for (at, moved) in self.moves.iter().enumerate() {
            let Some(to) = moved.to.as_deref() else { continue };
            if to == moved.from || policy.purpose(&moved.strategy) != Purpose::Place {
                continue;
            }
            let mut back = ways.get(&(&moved.subject, to, &*moved.from)).into_iter().flatten();
            let other = |&&before: &&usize| self.moves[before].strategy != moved.strategy;
            if let Some(&before) = back.rfind(other) {
                found.extend([before, at]);
            }
            ways.entry((&moved.subject, &moved.from, to)).or_default().push(at);
        }
        found
    }

    fn drop_surplus_streaks(&mut self) {
        let Some(surplus) = self.streaks().count().checked_sub(STREAKS_MAX) else { return };
        let all = self.streaks().map(|(strategy, subject, streak)| {
            (streak.seen, strategy.to_owned(), subject.cloned())
        });
        let mut all: Vec<_> = all.collect();
        all.sort();
        for (_, strategy, subject) in all.drain(..surplus) {
            let Some(Failures { whole, subjects }) = self.failures.get_mut(&strategy) else {
                continue;
            };
            match subject {
                Some(subject) => drop(subjects.remove(&subject)),
                None => *whole = None,
            }
        }
        self.failures.retain(|_, failures| *failures != Failures::default());
    }
}

/// Of the pods of a snapshot those that have to do with moves.
struct Pods<'s> {
    snapshot: &'s Snapshot,
    by_uid: BTreeMap<&'s str, PodId>,
    /// By owner, those that may be successors, oldest first.
    heirs: BTreeMap<Subject, Vec<PodId>>,
}

impl<'s> Pods<'s> {
    fn of(snapshot: &'s Snapshot, moves: &[Moved]) -> Self {
        let uids = moves.iter().flat_map(|moved| [Some(&moved.uid), moved.successor.as_ref()]);
        let uids: BTreeSet<&str> = uids.flatten().map(String::as_str).collect();
        let childless = || moves.iter().filter(|moved| moved.successor.is_none());
        let since = childless().map(|moved| moved.at.as_second()).min();
        let subjects: BTreeSet<&Subject> = childless().map(|moved| &moved.subject).collect();
        let mut by_uid = BTreeMap::new();
        let mut heirs: BTreeMap<Subject, Vec<PodId>> = BTreeMap::new();
        for &id in snapshot.pods() {
            let pod = snapshot.pod(id);
            let made = pod.created.map(Timestamp::as_second);
            let is_new = made.is_some_and(|made| since.is_some_and(|since| made >= since));
            let subject = is_new.then(|| Subject::of(snapshot, id));
            let heir = subject.filter(|subject| subjects.contains(subject));
            if heir.is_some() || uids.contains(&*pod.uid) {
                by_uid.insert(&*pod.uid, id);
            }
            if let Some(subject) = heir {
                heirs.entry(subject).or_default().push(id);
            }
        }
        for heirs in heirs.values_mut() {
            heirs.sort_by_key(|&id| (snapshot.pod(id).created, id));
        }
        Self { snapshot, by_uid, heirs }
    }

    /// The oldest pod of the owner that was made since the move and is nobody's successor. Both
    /// moments are compared in whole seconds, as objects bear them.
    fn successor(&self, moved: &Moved, taken: &BTreeSet<String>) -> Option<String> {
        let heirs = self.heirs.get(&moved.subject)?.iter().map(|&id| self.snapshot.pod(id));
        let mut free = heirs.filter(|pod| {
            let since = pod.created.is_some_and(|made| made.as_second() >= moved.at.as_second());
            since && *pod.uid != *moved.uid && !taken.contains(&*pod.uid)
        });
        free.next().map(|pod| pod.uid.to_string())
    }

    fn node_of(&self, uid: &str) -> Option<&'s str> {
        let node = self.snapshot.pod(*self.by_uid.get(uid)?).node?;
        Some(&self.snapshot.node(node).name)
    }

    /// Whether a pod is on a node, to stay.
    fn is_on(&self, uid: &str, node: &str) -> bool {
        let stays = |&id: &PodId| !self.snapshot.pod(id).terminating;
        self.by_uid.get(uid).is_some_and(stays) && self.node_of(uid) == Some(node)
    }
}
