//! Cycle after cycle: look, plan, carry out, while things go wrong; then the world stands still, and
//! the policy has to come to rest.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;

use descheduler_engine::{
    Action, Answer, Attempt, Audited, History, Open, Pace, Plan, Policy, Receipt, Refusal, Sight,
    Target,
};
use descheduler_sim::{Chance, Dice};
use jiff::{SignedDuration, Timestamp};

use crate::actors;
use crate::checks::{self, Cycle, Failure, Planned, Request, Settling};
use crate::faults::{Deed, Faults};
use crate::product::Product;
use crate::scenario::Scenario;
use crate::server::serve;
use crate::settings::Settings;
use crate::world::{Carried, Key, World};

/// How far back a look at the cluster may be.
const STALE_MAX: usize = 2;

/// So long a world that stands still takes to get there.
const CALM: SignedDuration = SignedDuration::from_mins(30);

/// What a run, or many, came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) runs: u64,
    pub(crate) cycles: u64,
    pub(crate) faults: u64,
    pub(crate) requests: u64,
    pub(crate) evictions: u64,
    /// Runs in which a policy had to come to rest, and did.
    pub(crate) settled: u64,
}

impl Figures {
    pub(crate) fn add(&mut self, other: Self) {
        let Self { runs, cycles, faults, requests, evictions, settled } = other;
        self.runs += runs;
        self.cycles += cycles;
        self.faults += faults;
        self.requests += requests;
        self.evictions += evictions;
        self.settled += settled;
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, cycles, faults, requests, evictions, settled } = self;
        write!(
            f,
            "{runs} runs, {cycles} cycles, {faults} faults, {requests} requests, {evictions} \
             evictions; {settled} policies came to rest"
        )
    }
}

/// Plays a scenario.
///
/// # Errors
///
/// A check fails.
pub(crate) fn run(scenario: &Scenario, product: &dyn Product) -> Result<Figures, Failure> {
    let policy = product.policy(&scenario.settings);
    let mut runner = Runner::new(scenario, &policy, product);
    runner.world.place_soon();
    for _ in 0..scenario.cycles {
        runner.restless_cycle()?;
    }
    runner.calm_down();
    runner.come_to_rest()?;
    let evictions = runner.carried.len() as u64;
    Ok(Figures { evictions, ..runner.figures })
}

struct Runner<'s> {
    scenario: &'s Scenario,
    settings: &'s Settings,
    policy: &'s Policy,
    product: &'s dyn Product,
    world: World,
    /// The world as it was, latest first.
    before: VecDeque<World>,
    history: History,
    open: Open,
    /// What is left open in the world, in executing, and by others.
    chance: Dice,
    server: Dice,
    others: Dice,
    number: u32,
    /// All that was carried out.
    carried: Vec<Carried>,
    figures: Figures,
}

impl<'s> Runner<'s> {
    fn new(scenario: &'s Scenario, policy: &'s Policy, product: &'s dyn Product) -> Self {
        Self {
            scenario,
            settings: &scenario.settings,
            policy,
            product,
            world: scenario.world.clone(),
            before: VecDeque::new(),
            history: History::default(),
            open: Open::default(),
            chance: Dice::new(scenario.seed, "world"),
            server: Dice::new(scenario.seed, "server"),
            others: Dice::new(scenario.seed, "others"),
            number: 0,
            carried: Vec::new(),
            figures: Figures { runs: 1, ..Figures::default() },
        }
    }

    /// Time passes, and things happen.
    fn advance(&mut self, to: Timestamp) {
        let carried = self.world.advance(to, &mut self.chance);
        self.carried.extend(carried);
    }

    fn strikes(&mut self, kind: &str) -> bool {
        let strikes = self.world.faults.strikes(kind, &mut self.others);
        self.figures.faults += u64::from(strikes);
        strikes
    }

    /// Others may do something, while pods are to be evicted or between plans.
    fn disturb(&mut self, planned: &[String]) -> bool {
        let (pods, nodes) = (self.strikes("interference"), self.strikes("nodes"));
        if pods {
            actors::interfere(&mut self.world, planned, &mut self.others);
        }
        if nodes {
            actors::change_nodes(&mut self.world, &mut self.others);
        }
        pods || nodes
    }

    fn restless_cycle(&mut self) -> Result<(), Failure> {
        let until = self.world.now + self.scenario.interval;
        let stale = self.strikes("stale");
        let seen = self.before.back().filter(|_| stale).unwrap_or(&self.world).clone();
        let _ = self.cycle(seen)?;
        for _ in 0..3 {
            self.before.push_front(self.world.clone());
            self.before.truncate(STALE_MAX);
            self.disturb(&[]);
            let left = until.duration_since(self.world.now);
            self.advance(self.world.now + (left / 3).max(SignedDuration::ZERO));
        }
        Ok(())
    }

    /// One cycle by what was seen of the world, as `cycle.rs` of the controller goes about it. Answers
    /// with what was planned.
    fn cycle(&mut self, seen: World) -> Result<(Plan, Vec<Planned>), Failure> {
        self.number += 1;
        self.figures.cycles += 1;
        let snapshot = self.product.see(&seen);
        let _ = self.open.settle(&snapshot);
        let history = std::mem::take(&mut self.history);
        let history = history.seen(&snapshot, self.policy.loop_breaker, &self.open);
        let plan = self.product.plan(&snapshot, self.policy, &history, &self.open);
        let notes = plan.report.runs.iter().flat_map(|run| &run.notes);
        checks::notes(notes.map(String::as_str))?;
        let audited = Audited::check(&plan, &snapshot, self.policy)
            .map_err(|found| Failure::new("audit", format!("{found:?}")))?;
        let moves = plan.evictions.iter().map(|eviction| Planned::of(&snapshot, eviction, &seen));
        let moves: Vec<Planned> = moves.collect();
        let is_calm = seen.now == self.world.now && self.world.faults.is_calm();
        let began = self.world.now;
        let planned: Vec<String> = moves.iter().map(|planned| planned.key.uid.clone()).collect();
        let (receipt, requests, disturbed) = self.carry_out(audited, &planned);
        let history = history.judged(&snapshot, self.policy, &plan);
        self.history = history.with_made(&snapshot, self.policy, receipt.made(&plan));
        let cycle = Cycle {
            number: self.number,
            began,
            seen,
            moves,
            requests,
            carried: &self.carried,
            receipt: &receipt,
            calm: is_calm && !disturbed,
        };
        checks::every(&cycle, self.settings)?;
        let moves = cycle.moves;
        self.open.extend(receipt.open);
        Ok((plan, moves))
    }

    /// Carries a plan out. Answers with what came of it, what was asked for, and whether others did
    /// something meanwhile.
    fn carry_out(
        &mut self,
        audited: Audited<'_>,
        planned: &[String],
    ) -> (Receipt, Vec<Request>, bool) {
        // One after the other, as planned, or several at a time.
        let several = 1 + self.server.pick(4);
        let in_flight_max = if self.world.faults.is_calm() { 1 } else { several };
        let pace = Pace { in_flight_max, ..Pace::default() };
        let mut execution = self.product.execution(audited, &self.open, pace);
        let mut answers: Vec<(Timestamp, Attempt, Answer)> = Vec::new();
        let mut requests = Vec::new();
        let mut disturbed = false;
        loop {
            let now = self.world.now;
            let blind = RefCell::new((self.world.faults, &mut self.others));
            let look = |target: &Target| {
                let (faults, dice) = &mut *blind.borrow_mut();
                match faults.strikes("unseen", dice) {
                    true => Sight::Unseen,
                    false => self.product.look(&self.world, target),
                }
            };
            match execution.next(now, look) {
                Action::Evict(attempt) => {
                    let key = self.product.request(&self.world, &attempt.target);
                    let kept = self.world.pod(&key.uid).is_some_and(|pod| pod.kept);
                    let on_its_way = self.world.is_on_its_way(&key);
                    requests.push(Request { key: key.clone(), kept, on_its_way });
                    self.figures.requests += 1;
                    let (span, answer) = self.ask(key);
                    let answer = self.product.hear(answer);
                    answers.extend(answer.map(|answer| (now + span, attempt, answer)));
                }
                Action::WaitUntil(until) => {
                    let next = answers.iter().map(|(at, ..)| *at).min();
                    disturbed |= self.disturb(planned);
                    self.advance(next.map_or(until, |next| next.min(until)));
                    let now = self.world.now;
                    for (at, attempt, answer) in std::mem::take(&mut answers) {
                        match at <= now {
                            true => drop(execution.record(&attempt, answer, now)),
                            false => answers.push((at, attempt, answer)),
                        }
                    }
                }
                Action::Done(receipt) => return (receipt, requests, disturbed),
            }
        }
    }

    /// The API server is asked for an eviction. Answers with when it says what, if it does.
    fn ask(&mut self, key: Key) -> (SignedDuration, Option<Answer>) {
        let cycle = self.number;
        let second = SignedDuration::from_secs(1);
        let deed = self.world.faults.deed(&mut self.server);
        self.figures.faults += u64::from(!matches!(deed, Deed::Done(_)));
        let (span, answer, later) = match deed {
            Deed::Done(span) => {
                let (answer, carried) = serve(&mut self.world, &key, cycle, &mut self.chance);
                self.carried.extend(carried);
                return (span, Some(answer));
            }
            Deed::Refused(answer) => (second, Some(answer), None),
            Deed::Lost(later) => (second, None, later),
            Deed::Failed(later) => {
                (second, Some(Answer::Unknown("an internal error".to_owned())), later)
            }
            Deed::Background(later) => (second, Some(Answer::InBackground), later),
        };
        if let Some(later) = later {
            self.world.evict_later(key, cycle, later);
        }
        (span, answer)
    }

    /// Nothing goes wrong any more, and what is under way comes to its end.
    fn calm_down(&mut self) {
        self.world.faults = Faults::default();
        for pod in &mut self.world.pods {
            pod.unready = false;
        }
        self.world.reconcile_soon();
        self.world.place_soon();
        let mut until = self.world.now;
        for _ in 0..10 {
            until += CALM;
            self.advance(until);
            if self.world.is_at_rest() {
                break;
            }
        }
        self.world.count();
    }

    /// The world stands still but for what is planned.
    fn come_to_rest(&mut self) -> Result<(), Failure> {
        let must_settle = self.settings.is_improving();
        let mut settling = Settling::new(self.settings, &self.world);
        while settling.has_time(must_settle) {
            let seen = self.world.clone();
            let (plan, moves) = self.cycle(seen.clone())?;
            let cooling = plan.report.runs.iter().flat_map(|run| &run.refusals);
            let until = cooling.filter_map(|refused| match refused.refusal {
                Refusal::CoolingDown { until, .. } => Some(until),
                _ => None,
            });
            let until = until.max();
            let rests = moves.is_empty() && until.is_none();
            if must_settle {
                settling.moved(&moves, &seen)?;
            }
            if rests {
                self.figures.settled += u64::from(must_settle);
                return Ok(());
            }
            let next = self.world.now + SignedDuration::from_mins(5);
            self.advance(until.filter(|_| moves.is_empty()).map_or(next, |until| until.max(next)));
        }
        match must_settle {
            true => Err(settling.never_rests()),
            false => Ok(()),
        }
    }
}
