//! One cycle: look, plan, and unless it is a dry run carry the plan out.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use descheduler_cluster::{Anomaly, Snapshot};
use descheduler_engine::{
    Audited, Execution, History, Observer, Open, Pace, Plan, Policy, Profile, Receipt, Step,
    Violation, plan_beside,
};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use crate::carry::{Carrier, STORE_PATIENCE, STORE_RETRY};
use crate::clock::Clock;
use crate::lease::Tenure;
use crate::observe::{
    Begun, Decided, Ended, News, Planned, SettledNews, Skipped, Spent, StrategySpent,
};
use crate::run::Service;
use crate::stop::Stop;
use crate::watch::{NotReady, Reading, Stores};

/// What is carried from cycle to cycle.
#[derive(Default)]
pub(crate) struct Memory {
    /// How many cycles there were.
    cycles: u64,
    history: History,
    /// Evictions of which it is not known what became of them.
    open: Open,
}

/// What one cycle needs besides the service.
pub(crate) struct Surroundings<'c> {
    pub(crate) stores: &'c Stores,
    pub(crate) policy: &'c Arc<Policy>,
    pub(crate) stop: &'c Stop,
    pub(crate) tenure: Option<&'c Tenure>,
}

/// A plan, what it cost, and how to carry it out if it is sound.
struct Made {
    plan: Plan,
    execution: Result<Execution, Vec<Violation>>,
    history: History,
    spent: Spent,
}

impl Memory {
    /// Runs a cycle. Its end is told by the caller, who knows when the next one is.
    pub(crate) async fn cycle(&mut self, service: &Service, around: Surroundings<'_>) -> Ended {
        self.cycles += 1;
        let (cycle, clock, begun) = (self.cycles, Clock::start(), Instant::now());
        service.audience.tell(&News::Begun(Begun { cycle, at: clock.now() }));
        let mut ended = Ended {
            cycle,
            dry_run: service.dry_run,
            skipped: None,
            planned: 0,
            refused: 0,
            receipt: Receipt::default(),
            open: 0,
            took: Duration::ZERO,
            next_in: None,
        };
        match self.plan(service, &around, clock).await {
            Err(skipped) => {
                service.audience.tell(&News::Skipped(skipped.clone()));
                ended.skipped = Some(skipped);
            }
            Ok((planned, execution)) => {
                ended.planned = planned.plan.evictions.len();
                let runs = &planned.plan.report.runs;
                ended.refused = runs.iter().map(|run| run.refusals.len()).sum();
                service.audience.tell(&News::Planned(planned.clone()));
                if !service.dry_run {
                    ended.receipt = self.carry_out(service, &around, clock, execution).await;
                    let Planned { world, policy, plan, .. } = &*planned;
                    let made = ended.receipt.made(plan);
                    self.history = mem::take(&mut self.history).with_made(&world.0, policy, made);
                }
            }
        }
        ended.open = self.open.iter().count();
        ended.took = begun.elapsed();
        ended
    }

    /// Makes the plan of a cycle.
    async fn plan(
        &mut self,
        service: &Service,
        around: &Surroundings<'_>,
        clock: Clock,
    ) -> Result<(Arc<Planned>, Execution), Skipped> {
        let cycle = self.cycles;
        let skipped = |code, why| Skipped { cycle, code, why };
        let begun = Instant::now();
        let (world, age, missing) = match look(around).await {
            Ok(mut reading) => (reading.share(clock.now()), reading.age, reading.missing()),
            Err(error) => return Err(skipped("NotReady", error.to_string())),
        };
        let snapshot = begun.elapsed();
        for (eviction, settled) in self.open.settle(&world.0) {
            let news = SettledNews { cycle, eviction, settled };
            service.audience.tell(&News::Settled(news));
        }
        let made = self.make(&world, around.policy, service.pace).await;
        let Some(Made { plan, execution, history, mut spent }) = made else {
            return Err(skipped("Failed", "planning failed inside".to_owned()));
        };
        self.history = history;
        spent.snapshot = snapshot;
        let execution = execution.map_err(|violations| {
            let all: Vec<String> = violations.iter().map(ToString::to_string).collect();
            skipped("Unsound", format!("the plan is not sound: {}", all.join("; ")))
        })?;
        // Whoever does not go by what pods use does not miss it.
        let uses = around.policy.goes_by_use();
        let missing = missing.into_iter().filter(|missing| uses || !missing.is_use()).collect();
        let planned = Planned {
            cycle,
            dry_run: service.dry_run,
            world,
            missing,
            age,
            policy: around.policy.clone(),
            plan: Arc::new(plan),
            spent,
        };
        Ok((Arc::new(planned), execution))
    }

    /// The plan itself, on a thread where it holds nobody up. `None` if it panics, which is a bug.
    async fn make(
        &mut self,
        world: &Arc<(Snapshot, Vec<Anomaly>)>,
        policy: &Arc<Policy>,
        pace: Pace,
    ) -> Option<Made> {
        let (world, policy) = (world.clone(), policy.clone());
        let (history, open) = (mem::take(&mut self.history), self.open.clone());
        let make = move || {
            let mut clock = StrategyClock::default();
            let begun = Instant::now();
            let history = history.seen(&world.0, policy.loop_breaker, &open);
            let plan = plan_beside(&world.0, &policy, &history, &open, &mut clock);
            let planned = Instant::now();
            let execution = Audited::check(&plan, &world.0, &policy)
                .map(|audited| Execution::new(audited, &open, pace));
            let spent = Spent {
                snapshot: Duration::ZERO,
                plan: planned.duration_since(begun),
                audit: planned.elapsed(),
                strategies: clock.spent,
            };
            let history = history.judged(&world.0, &policy, &plan);
            Made { plan, execution, history, spent }
        };
        spawn_blocking(make).await.ok()
    }

    async fn carry_out(
        &mut self,
        service: &Service,
        around: &Surroundings<'_>,
        clock: Clock,
        execution: Execution,
    ) -> Receipt {
        let mut carrier = Carrier {
            api: &service.api,
            stores: around.stores,
            policy: around.policy,
            background: service.background,
            clock,
            stop: around.stop.clone(),
            tenure: around.tenure.cloned(),
        };
        let cycle = self.cycles;
        let tell = |record, at| {
            let policy = around.policy.clone();
            service.audience.tell(&News::Decided(Decided { cycle, at, policy, record }));
        };
        let receipt = carrier.carry_out(execution, tell).await;
        self.open.extend(receipt.open.iter().cloned());
        receipt
    }
}

/// A look at a store that is whole, or why there is none by now: it may be half filled for a moment,
/// as while a list is taken anew, and the next cycle may be far away.
async fn look<'s>(around: &Surroundings<'s>) -> Result<Reading<'s>, NotReady> {
    let ends = Instant::now() + STORE_PATIENCE;
    let mut stop = around.stop.clone();
    loop {
        match around.stores.read().await {
            Err(error) if stop.is_set() || Instant::now() >= ends => return Err(error),
            Err(_) => {}
            ready => return ready,
        }
        tokio::select! {
            () = sleep(STORE_RETRY) => {}
            () = stop.wait() => {}
        }
    }
}

/// Measures the runs of strategies.
#[derive(Default)]
struct StrategyClock {
    begun: Option<(String, &'static str, Instant)>,
    spent: Vec<StrategySpent>,
}

impl Observer for StrategyClock {
    fn begins(&mut self, profile: &Profile, step: &Step) {
        self.begun = Some((profile.name.clone(), step.def.name, Instant::now()));
    }

    fn ends(&mut self) {
        if let Some((profile, strategy, begun)) = self.begun.take() {
            self.spent.push(StrategySpent { profile, strategy, took: begun.elapsed() });
        }
    }
}
