//! What is known of the service at the moment, and whether it does what it is there for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::observe::{Ended, LeaseNews, Listener, News, Planned, PolicyNews, Skipped};

/// So long nothing needs to be heard of a cycle that goes on: a request that is answered by nobody
/// is given up after a minute, and a plan for the largest clusters takes less.
const SILENCE_MAX: Duration = Duration::from_secs(600);

/// A cycle that has not begun so long after its time will not.
const LATE_MAX: Duration = Duration::from_secs(60);

/// Keeps what was told last.
#[derive(Default)]
pub struct Board {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whether there is a leader election.
    elects: bool,
    /// Whether the cluster has been read.
    synced: bool,
    lease: Option<LeaseNews>,
    cycle: Cycle,
    latest: Latest,
}

/// Where the loop is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Cycle {
    /// There was none.
    #[default]
    None,
    /// One goes on.
    Running { number: u64, heard: Instant },
    /// One has ended.
    Over {
        number: u64,
        /// Why nothing was planned in it, by its code.
        skipped: Option<&'static str>,
        /// When the next one begins, if there is one.
        next: Option<Instant>,
    },
}

/// The latest plan, if it is there.
#[derive(Clone, Default)]
pub(super) enum Latest {
    /// There was no cycle.
    #[default]
    None,
    /// It is being made.
    Coming,
    /// This one. It holds the whole cluster as it was, and nobody holds it for longer than he must:
    /// a snapshot that is held has to be copied for the next cycle.
    Plan(Arc<Planned>),
    /// None could be made: why.
    Skipped(Skipped),
}

/// One thing that must be so for the service to be ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What it is called.
    pub name: &'static str,
    /// What is wrong, if it is not so. Says nothing of what the API server has answered, since
    /// anybody may ask.
    pub problem: Option<String>,
}

impl Board {
    /// An empty one, of a service with or without leader election.
    pub fn new(elects: bool) -> Self {
        let state = State { elects, ..State::default() };
        Self { state: Mutex::new(state) }
    }

    /// What readiness consists of: the cluster has been read; the lease is ours or somebody else's;
    /// and while it is ours, or where there is none, cycles begin in time and have a plan.
    pub fn checks(&self, now: Instant) -> Vec<Check> {
        let state = self.lock();
        let unread = "the cluster has not been read yet";
        let is_ours = matches!(state.lease, Some(LeaseNews::Acquired));
        let acts = is_ours || !state.elects;
        let check = |name, problem| Check { name, problem };
        vec![
            check("synced", (!state.synced).then(|| unread.to_owned())),
            check("lease", state.elects.then(|| of_lease(state.lease.as_ref())).flatten()),
            check("cycle", acts.then(|| state.cycle.problem(now)).flatten()),
        ]
    }

    pub(super) fn latest(&self) -> Latest {
        self.lock().latest.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn of_lease(lease: Option<&LeaseNews>) -> Option<String> {
    let problem = match lease? {
        // A replica that waits does what it is there for.
        LeaseNews::Acquired | LeaseNews::HeldBy(_) => return None,
        LeaseNews::Lost(_) => "the lease is lost",
        LeaseNews::Released => "the lease is given up",
        LeaseNews::Failed(_) => "the lease cannot be asked for",
    };
    Some(problem.to_owned())
}

impl Cycle {
    fn problem(self, now: Instant) -> Option<String> {
        match self {
            Self::None => None,
            Self::Running { number, heard } => {
                let silent = now.saturating_duration_since(heard);
                (silent > SILENCE_MAX).then(|| {
                    format!("nothing was heard of cycle {number} for {} s", silent.as_secs())
                })
            }
            Self::Over { number, skipped: Some(code), .. } => {
                Some(format!("cycle {number} has no plan: {code}"))
            }
            Self::Over { number, skipped: None, next } => {
                let late = now.saturating_duration_since(next?);
                (late > LATE_MAX).then(|| {
                    format!(
                        "no cycle after {number} has begun, {} s after its time",
                        late.as_secs()
                    )
                })
            }
        }
    }
}

impl State {
    fn hear(&mut self, news: &News, now: Instant) {
        if let Cycle::Running { heard, .. } = &mut self.cycle {
            *heard = now;
        }
        match news {
            News::Synced => self.synced = true,
            News::Lease(news) => self.lease = Some(news.clone()),
            News::Begun(begun) => {
                self.cycle = Cycle::Running { number: begun.cycle, heard: now };
                // Before the next snapshot is made.
                self.latest = Latest::Coming;
            }
            News::Planned(planned) => self.latest = Latest::Plan(planned.clone()),
            News::Skipped(skipped) => self.latest = Latest::Skipped(skipped.clone()),
            News::Ended(ended) => {
                let Ended { cycle, skipped, next_in, .. } = &**ended;
                self.cycle = Cycle::Over {
                    number: *cycle,
                    skipped: skipped.as_ref().map(|skipped| skipped.code),
                    next: next_in.map(|next_in| now + next_in),
                };
            }
            News::Policy(PolicyNews::Used(_) | PolicyNews::Refused(_))
            | News::Serving(_)
            | News::Settled(_)
            | News::Decided(_) => {}
        }
    }
}

impl Listener for Board {
    fn hear(&self, news: &News) {
        self.lock().hear(news, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use descheduler_engine::Receipt;
    use jiff::Timestamp;

    use super::*;
    use crate::observe::Begun;

    fn begun(cycle: u64) -> News {
        News::Begun(Begun { cycle, at: Timestamp::UNIX_EPOCH })
    }

    fn ended(cycle: u64, code: Option<&'static str>, next_in: Option<u64>) -> News {
        News::Ended(Arc::new(Ended {
            cycle,
            dry_run: false,
            skipped: code.map(|code| Skipped { cycle, code, why: String::new() }),
            planned: 0,
            refused: 0,
            receipt: Receipt::default(),
            open: 0,
            took: Duration::ZERO,
            next_in: next_in.map(Duration::from_secs),
        }))
    }

    /// What is wrong so many seconds after all of that was told, seconds before each of it.
    fn problems(elects: bool, told: &[(u64, News)], after: u64) -> String {
        let board = Board::new(elects);
        let mut now = Instant::now();
        for (before, news) in told {
            now += Duration::from_secs(*before);
            board.lock().hear(news, now);
        }
        let checks = board.checks(now + Duration::from_secs(after));
        let problems = checks
            .into_iter()
            .filter_map(|check| check.problem.map(|problem| format!("{}: {problem}", check.name)));
        problems.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn it_is_ready_when_the_cluster_has_been_read_and_cycles_come_in_time() {
        let unread = "synced: the cluster has not been read yet";
        assert_eq!(problems(false, &[], 0), unread);
        assert_eq!(problems(false, &[(0, News::Synced)], 9_999), "");
        let running = [(0, News::Synced), (0, begun(1))];
        assert_eq!(problems(false, &running, 600), "");
        let silent = "cycle: nothing was heard of cycle 1 for 601 s";
        assert_eq!(problems(false, &running, 601), silent);
        let over = [(0, News::Synced), (0, begun(1)), (5, ended(1, None, Some(300)))];
        assert_eq!(problems(false, &over, 360), "");
        let late = "cycle: no cycle after 1 has begun, 61 s after its time";
        assert_eq!(problems(false, &over, 361), late);
        let last = [(0, News::Synced), (0, begun(1)), (5, ended(1, None, None))];
        assert_eq!(problems(false, &last, 9_999), "");
    }

    #[test]
    fn it_is_not_ready_when_nothing_can_be_planned() {
        let mut told = vec![(0, News::Synced), (0, ended(3, Some("NotReady"), Some(300)))];
        assert_eq!(problems(false, &told, 0), "cycle: cycle 3 has no plan: NotReady");
        told.push((300, begun(4)));
        told.push((0, ended(4, None, Some(300))));
        assert_eq!(problems(false, &told, 0), "");
    }

    #[test]
    fn a_replica_is_ready_to_wait_for_its_turn() {
        let lease = |news| vec![(0, News::Synced), (0, News::Lease(news))];
        assert_eq!(problems(true, &lease(LeaseNews::HeldBy("a".to_owned())), 9_999), "");
        assert_eq!(problems(true, &lease(LeaseNews::Acquired), 9_999), "");
        let failed = lease(LeaseNews::Failed("403".to_owned()));
        assert_eq!(problems(true, &failed, 0), "lease: the lease cannot be asked for");
        // What it did not do in time is somebody else's since.
        let mut told = lease(LeaseNews::Acquired);
        told.push((0, ended(1, Some("NotReady"), Some(1))));
        assert_ne!(problems(true, &told, 999), "");
        told.push((0, News::Lease(LeaseNews::HeldBy("b".to_owned()))));
        assert_eq!(problems(true, &told, 999), "");
    }
}
