//! Carrying a plan out, without doing it: what to ask next, and what the answers mean.
//!
//! ```text
//!            Audited plan, Open, Pace
//!                     |
//!   waiting --next()--> in flight --record()--> decided ---> Receipt
//!      ^  |                 |  |                  ^ ^           |
//!      |  +-- not tried ----|--|------------------+ |           +-> Open: counts on until a
//!      +----- throttled ----+  +-- no answer: may --+               later snapshot decides
//!             (bounded)            be an eviction
//! ```
//!
//! The caller owns the clock and the connection: it calls [`Execution::next`], does what that
//! says, and gives each answer to [`Execution::record`]. Four rules keep the pods safe:
//!
//! * A slot of a limit or budget is taken when the request leaves and given back only when the
//!   answer says that nothing was done. A lost answer keeps its slot, here and, as [`Open`], in
//!   later cycles. It is not asked again: the next plan is made from what is seen then.
//! * Each pod is looked at right before each request for it.
//! * A move waits for earlier ones that it relies on, and is not made when one of those failed: the
//!   members of a set (`Turn::attempt`) rely on each other, and a move relies on those that leave a
//!   node where its replacement may land. That a move fails which others did not rely on only
//!   leaves them more room. What has left already cannot be called back; each member met its goal by
//!   itself, and the next cycle judges the rest anew.
//! * An old plan is dropped: a new one is better.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

mod open;
mod receipt;
mod room;
mod target;

pub use open::{Open, OpenEviction, Settled};
pub use receipt::{Answer, Fate, Receipt, Record, Sight, Untried};
pub use target::{Audited, PodKey, Target};

use room::{Room, Slot};

/// How fast, how often and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Requests without an answer at any time; 0 is taken for 1.
    pub in_flight_max: usize,
    /// Requests for one pod, the first included; 0 is taken for 1.
    pub requests_max: u32,
    /// Delay before the second request for a pod; it doubles with each further one.
    pub backoff_min: SignedDuration,
    /// The longest delay of our own; `Retry-After` may ask for more.
    pub backoff_max: SignedDuration,
    /// An answer that takes longer counts as lost.
    pub answer_max: SignedDuration,
    /// Nothing is asked for once the plan's snapshot is as old as this.
    pub age_max: SignedDuration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            in_flight_max: 4,
            requests_max: 4,
            backoff_min: SignedDuration::from_secs(1),
            backoff_max: SignedDuration::from_secs(30),
            // The API server's own `--request-timeout` is 60 s; its answer may take a little more.
            answer_max: SignedDuration::from_secs(65),
            age_max: SignedDuration::from_secs(300),
        }
    }
}

/// What to do now.
#[derive(Debug)]
pub enum Action {
    /// Ask the API server for this eviction and record the answer.
    Evict(Attempt),
    /// Call again at this time, or after the next answer if that comes first.
    WaitUntil(Timestamp),
    /// All is decided. Later calls say so again, with an empty receipt.
    Done(Receipt),
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Which eviction of the plan: for [`Execution::record`].
    pub number: usize,
    /// Which request for it, from 1.
    pub request: u32,
    /// What to ask for.
    pub target: Target,
}

/// A plan that is being carried out.
#[derive(Debug)]
pub struct Execution {
    pace: Pace,
    /// When the plan is too old.
    ends: Timestamp,
    stopped: bool,
    /// Nothing is asked for before: the server has throttled us.
    not_before: Option<Timestamp>,
    entries: Vec<Entry>,
    waiting: BTreeSet<usize>,
    in_flight: BTreeSet<usize>,
    room: Room,
    /// Undecided evictions, and the first that failed, by what other moves may rely on.
    undecided: BTreeMap<Tie, BTreeSet<usize>>,
    failed: BTreeMap<Tie, usize>,
    open: Vec<OpenEviction>,
    /// Evictions that were decided since somebody asked.
    news: Vec<Record>,
}

#[derive(Debug)]
struct Entry {
    target: Target,
    requests: u32,
    state: State,
}

#[derive(Debug)]
enum State {
    /// For its first request, or for another from then on, since this has come of the last one.
    Waiting {
        again: Option<(Timestamp, Fate)>,
    },
    InFlight {
        lost_at: Timestamp,
    },
    Decided(Fate),
}

/// What ties a move to earlier ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tie {
    Set(usize),
    Node(Arc<str>),
}

impl Execution {
    /// Begins to carry out a plan, next to what earlier ones left open.
    pub fn new(audited: Audited<'_>, open: &Open, pace: Pace) -> Self {
        let Audited { plan, snapshot, policy } = audited;
        let mut room = Room::new(policy.limits);
        open.iter().for_each(|eviction| room.take(&eviction.slot));
        let mut undecided: BTreeMap<Tie, BTreeSet<usize>> = BTreeMap::new();
        let mut entries = Vec::with_capacity(plan.evictions.len());
        for (number, eviction) in plan.evictions.iter().enumerate() {
            let (target, disruptions) = Target::of(audited, eviction);
            room.allow(&Slot::of(&target), disruptions);
            for tie in leaves(&target) {
                undecided.entry(tie).or_default().insert(number);
            }
            entries.push(Entry { target, requests: 0, state: State::Waiting { again: None } });
        }
        let mut execution = Self {
            pace,
            ends: later(snapshot.taken_at(), pace.age_max),
            stopped: false,
            not_before: None,
            waiting: (0..entries.len()).collect(),
            in_flight: BTreeSet::new(),
            entries,
            room,
            undecided,
            failed: BTreeMap::new(),
            open: Vec::new(),
            news: Vec::new(),
        };
        for number in 0..execution.entries.len() {
            if open.contains(&execution.entries[number].target.pod) {
                execution.decide(number, Fate::NotTried(Untried::StillOpen));
            }
        }
        execution
    }

    /// Finishes what is in flight and starts nothing new.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// What to do now. `look` answers what is known of a pod at this moment.
    pub fn next(&mut self, now: Timestamp, look: impl Fn(&Target) -> Sight) -> Action {
        self.give_up_on_answers(now);
        let over = match (self.stopped, now >= self.ends) {
            (true, _) => Some(Untried::Stopped),
            (false, true) => Some(Untried::TooOld),
            (false, false) => None,
        };
        if let Some(why) = over {
            for number in std::mem::take(&mut self.waiting) {
                self.decide(number, Fate::NotTried(why.clone()));
            }
        }
        let paused = self.not_before.is_some_and(|until| now < until);
        if !paused && let Some(attempt) = self.start(now, look) {
            return Action::Evict(attempt);
        }
        if self.waiting.is_empty() && self.in_flight.is_empty() {
            return Action::Done(self.finish());
        }
        Action::WaitUntil(self.wake(now))
    }

    /// Takes in the answer to a request. An answer that nobody waits for, since it was given up or
    /// was recorded already, changes nothing and is answered with `false`.
    pub fn record(&mut self, attempt: &Attempt, answer: Answer, now: Timestamp) -> bool {
        let &Attempt { number, request, .. } = attempt;
        let Some(entry) = self.entries.get(number) else { return false };
        if !matches!(entry.state, State::InFlight { .. }) || entry.requests != request {
            return false;
        }
        let slot = Slot::of(&entry.target);
        self.in_flight.remove(&number);
        match &answer {
            Answer::Evicted | Answer::InBackground | Answer::Unknown(_) => {}
            _ => self.room.give_back(&slot),
        }
        match answer {
            Answer::Evicted => self.decide(number, Fate::Evicted),
            Answer::InBackground => {
                self.leave_open(number, true, now);
                self.decide(number, Fate::InBackground);
            }
            Answer::Gone => self.decide(number, Fate::Gone),
            Answer::Replaced => self.decide(number, Fate::Replaced),
            Answer::Conflict => self.again(number, None, Fate::Conflict, now),
            Answer::BlockedByBudget { retry_after: None } => {
                self.room.close(&slot);
                self.decide(number, Fate::BlockedByBudget);
            }
            Answer::BlockedByBudget { retry_after } => {
                self.again(number, retry_after, Fate::BlockedByBudget, now);
            }
            Answer::Throttled { retry_after } => {
                let until = later(now, self.delay(number, retry_after));
                self.not_before = self.not_before.max(Some(until));
                self.again(number, retry_after, Fate::ThrottledOut, now);
            }
            Answer::Unreached(why) => {
                let until = later(now, self.delay(number, None));
                self.not_before = self.not_before.max(Some(until));
                self.again(number, None, Fate::Unreached(why), now);
            }
            Answer::Denied(why) => self.decide(number, Fate::Denied(why)),
            Answer::Unknown(why) => self.lose(number, why, now),
        }
        true
    }

    /// What was decided since this was asked last.
    pub fn news(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.news)
    }

    /// The first waiting eviction whose turn it is. On the way, those that can no longer be asked
    /// for are decided.
    fn start(&mut self, now: Timestamp, look: impl Fn(&Target) -> Sight) -> Option<Attempt> {
        // An eviction that is decided may decide later ones, never earlier ones: one pass is enough.
        let mut at = 0;
        while self.in_flight.len() < self.pace.in_flight_max.max(1) {
            let number = *self.waiting.range(at..).next()?;
            at = number + 1;
            if let Some(fate) = self.spoilt(number) {
                self.decide(number, fate);
                continue;
            }
            if self.must_wait(number, now) {
                continue;
            }
            let entry = &mut self.entries[number];
            let slot = Slot::of(&entry.target);
            if let Some(lacks) = self.room.lacks(&slot) {
                // What is in flight may still give its slot back.
                if self.in_flight.is_empty() {
                    self.decide(number, Fate::NotTried(lacks));
                }
                continue;
            }
            let fate = match look(&entry.target) {
                Sight::Same => {
                    entry.requests += 1;
                    entry.state = State::InFlight { lost_at: later(now, self.pace.answer_max) };
                    let (request, target) = (entry.requests, entry.target.clone());
                    self.room.take(&slot);
                    self.waiting.remove(&number);
                    self.in_flight.insert(number);
                    return Some(Attempt { number, request, target });
                }
                Sight::Gone => Fate::Gone,
                Sight::Replaced => Fate::Replaced,
                Sight::Held(reason) => Fate::NotTried(Untried::Held(reason)),
                Sight::Unseen => Fate::NotTried(Untried::Unseen),
            };
            self.decide(number, fate);
        }
        None
    }

    /// What becomes of an eviction that relied on one that failed.
    fn spoilt(&self, number: usize) -> Option<Fate> {
        let ties = relies_on(&self.entries[number].target);
        let failed = ties.filter_map(|tie| self.failed.get(&tie)).min();
        let &failed = failed.filter(|&&failed| failed < number)?;
        Some(Fate::NotTried(Untried::ReliedOn(self.entries[failed].target.pod.clone())))
    }

    /// Whether it is not yet this eviction's turn: it is backing off, or relies on one that is not
    /// decided.
    fn must_wait(&self, number: usize, now: Timestamp) -> bool {
        let Entry { target, state, .. } = &self.entries[number];
        let backing_off = matches!(state, State::Waiting { again: Some((from, _)) } if now < *from);
        let undecided = |tie| self.undecided.get(&tie).and_then(BTreeSet::first);
        backing_off || relies_on(target).filter_map(undecided).any(|&other| other < number)
    }

    /// Tries again later, or is content with this fate if there is no later.
    fn again(&mut self, number: usize, after: Option<SignedDuration>, fate: Fate, now: Timestamp) {
        let from = later(now, self.delay(number, after));
        let entry = &mut self.entries[number];
        if entry.requests >= self.pace.requests_max || from >= self.ends || self.stopped {
            return self.decide(number, fate);
        }
        entry.state = State::Waiting { again: Some((from, fate)) };
        self.waiting.insert(number);
    }

    fn delay(&self, number: usize, retry_after: Option<SignedDuration>) -> SignedDuration {
        // 2^20 times anything sensible is beyond `backoff_max`.
        let doublings = self.entries[number].requests.saturating_sub(1).min(20);
        let ours = self.pace.backoff_min.saturating_mul(1 << doublings);
        ours.min(self.pace.backoff_max).max(retry_after.unwrap_or_default())
    }

    fn give_up_on_answers(&mut self, now: Timestamp) {
        for number in self.in_flight.clone() {
            if self.lost_at(number).is_some_and(|at| at <= now) {
                self.in_flight.remove(&number);
                self.lose(number, "no answer".to_owned(), now);
            }
        }
    }

    fn lost_at(&self, number: usize) -> Option<Timestamp> {
        match self.entries[number].state {
            State::InFlight { lost_at } => Some(lost_at),
            State::Waiting { .. } | State::Decided(_) => None,
        }
    }

    /// An answer was lost: the slot stays taken.
    fn lose(&mut self, number: usize, why: String, now: Timestamp) {
        self.leave_open(number, false, now);
        self.decide(number, Fate::Unknown(why));
    }

    fn leave_open(&mut self, number: usize, in_background: bool, since: Timestamp) {
        let target = &self.entries[number].target;
        let (pod, slot) = (target.pod.clone(), Slot::of(target));
        self.open.push(OpenEviction { pod, in_background, since, slot });
    }

    fn decide(&mut self, number: usize, fate: Fate) {
        self.waiting.remove(&number);
        let entry = &mut self.entries[number];
        // Not to be tried again is not the same as not tried.
        let fate = match (&entry.state, fate) {
            (State::Waiting { again: Some((_, last)) }, Fate::NotTried(_)) => last.clone(),
            (_, fate) => fate,
        };
        for tie in leaves(&entry.target) {
            if let Some(undecided) = self.undecided.get_mut(&tie) {
                undecided.remove(&number);
            }
            if !fate.left() {
                let first = self.failed.entry(tie).or_insert(number);
                *first = number.min(*first);
            }
        }
        let Entry { ref target, requests, .. } = *entry;
        self.news.push(Record { target: target.clone(), fate: fate.clone(), requests });
        entry.state = State::Decided(fate);
    }

    /// When to look again: something waits or is in flight.
    fn wake(&self, now: Timestamp) -> Timestamp {
        let answers = self.in_flight.iter().filter_map(|&number| self.lost_at(number));
        let turns = self.waiting.iter().filter_map(|&number| match self.entries[number].state {
            State::Waiting { ref again } => {
                again.as_ref().map(|&(from, _)| from).max(self.not_before)
            }
            State::InFlight { .. } | State::Decided(_) => None,
        });
        let ends = (!self.waiting.is_empty()).then_some(self.ends);
        // What could have begun by now waits for something in flight instead.
        let later = answers.chain(turns).chain(ends).filter(|&at| at > now);
        later.min().unwrap_or(self.ends)
    }

    fn finish(&mut self) -> Receipt {
        let records = std::mem::take(&mut self.entries).into_iter().filter_map(|entry| {
            let Entry { target, requests, state } = entry;
            match state {
                State::Decided(fate) => Some(Record { target, fate, requests }),
                State::Waiting { .. } | State::InFlight { .. } => None,
            }
        });
        Receipt { records: records.collect(), open: std::mem::take(&mut self.open) }
    }
}

/// Whatever the server asks for: no delay is too long to be added.
fn later(now: Timestamp, delay: SignedDuration) -> Timestamp {
    now.checked_add(delay).unwrap_or(Timestamp::MAX)
}

/// What an eviction stands for to others: its set, and room where it was.
fn leaves(target: &Target) -> impl Iterator<Item = Tie> + use<> {
    let set = target.set.map(Tie::Set);
    set.into_iter().chain([Tie::Node(target.node.clone())])
}

/// What an eviction needs of earlier ones.
fn relies_on(target: &Target) -> impl Iterator<Item = Tie> + '_ {
    let set = target.set.map(Tie::Set);
    set.into_iter().chain(target.destinations.iter().cloned().map(Tie::Node))
}
