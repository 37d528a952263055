//! What the gate asks of the history.

use std::collections::{BTreeMap, BTreeSet};

use descheduler_cluster::{PodId, Snapshot};
use jiff::Timestamp;

use crate::strategy::Purpose;

use super::{History, LoopBreaker, Moved, Streak, Subject};

/// The history, laid out for questions about pods of one snapshot.
pub(crate) struct Recall<'h> {
    history: &'h History,
    snapshot: &'h Snapshot,
    breaker: LoopBreaker,
    /// The moves, as indexes, by the uids of what came of them.
    by_successor: BTreeMap<&'h str, usize>,
    /// The moves that were not judged yet, by whose pods landed where.
    landed: BTreeMap<(&'h Subject, &'h str), Vec<usize>>,
}

/// Why a pod is left alone for some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cooling {
    pub(crate) until: Timestamp,
    pub(crate) why: String,
}

impl<'h> Recall<'h> {
    pub(crate) fn new(history: &'h History, snapshot: &'h Snapshot, breaker: LoopBreaker) -> Self {
        let mut by_successor = BTreeMap::new();
        let mut landed: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, Moved { subject, to, successor, helped, .. }) in history.moves.iter().enumerate() {
            by_successor.extend(successor.as_deref().map(|uid| (uid, at)));
            if let (Some(to), None) = (to, helped) {
                landed.entry((subject, &**to)).or_default().push(at);
            }
        }
        Self { history, snapshot, breaker, by_successor, landed }
    }

    /// Until when a strategy does nothing at all, if it is to rest, and why.
    pub(crate) fn paused(&self, strategy: &str) -> Option<Cooling> {
        let streak = self.history.failures.get(strategy)?.whole.as_ref()?;
        self.cooling(streak, self.breaker.paused_until(streak)?)
    }

    /// Until when a strategy leaves a pod alone because of what it knows already, and why.
    pub(crate) fn cools_down(&self, pod: PodId, strategy: &str) -> Option<Cooling> {
        let subjects = &self.history.failures.get(strategy)?.subjects;
        let streak = subjects.get(&Subject::of(self.snapshot, pod))?;
        self.cooling(streak, self.breaker.cool_until(streak))
    }

    /// The same for a pod that the strategy is about to move: that says by itself that the move
    /// before did not help.
    pub(crate) fn again(&self, pod: PodId, strategy: &str, purpose: Purpose) -> Option<Cooling> {
        let before = self.moved_before(pod, strategy, purpose);
        let failures = self.history.failures.get(strategy);
        let now = self.snapshot.taken_at();
        let mut streak = None;
        for &at in &before {
            let Moved { at, subject, helped, .. } = &self.history.moves[at];
            // What is known to have failed has cooled down.
            if *helped != Some(false) {
                let known =
                    || failures.and_then(|failures| failures.subjects.get(subject).copied());
                streak = streak.or_else(known);
                Streak::extend(&mut streak, *at, now);
            }
        }
        let streak = streak?;
        self.cooling(&streak, self.breaker.cool_until(&streak))
    }

    /// The moves, as indexes, that did not help if a strategy moves this pod.
    pub(super) fn moved_before(
        &self,
        id: PodId,
        strategy: &str,
        purpose: Purpose,
    ) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        if matches!(purpose, Purpose::Renewal | Purpose::Removal) || self.history.moves.is_empty() {
            return found;
        }
        let pod = self.snapshot.pod(id);
        let is_own = |at: &usize| self.history.moves[*at].strategy == strategy;
        found.extend(self.ancestors(&pod.uid).find(is_own));
        if let (Purpose::Place, Some(node)) = (purpose, pod.node) {
            let subject = Subject::of(self.snapshot, id);
            let mates = self.landed.get(&(&subject, &*self.snapshot.node(node).name));
            found.extend(mates.into_iter().flatten().filter(|at| is_own(at)));
        }
        found
    }

    /// The moves that a pod came of, latest first.
    fn ancestors(&self, uid: &str) -> impl Iterator<Item = usize> {
        let first = self.by_successor.get(uid).copied();
        let before = |at: &usize| {
            let before = self.by_successor.get(&*self.history.moves[*at].uid).copied();
            // Only a history that was tampered with could lead in circles.
            before.filter(|before| before < at)
        };
        std::iter::successors(first, before)
    }

    fn cooling(&self, streak: &Streak, until: Timestamp) -> Option<Cooling> {
        let now = self.snapshot.taken_at();
        (until > now).then(|| Cooling { until, why: streak.says(now) })
    }
}
