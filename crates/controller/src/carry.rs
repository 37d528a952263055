//! Carries a plan out: drives an [`Execution`] with a clock, a connection and a look at the store.

use std::time::Duration;

use descheduler_engine::{
    Action, Answer, Attempt, Execution, Policy, Receipt, Record, Sight, Target,
};
use jiff::Timestamp;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::api::Api;
use crate::clock::Clock;
use crate::evict::evict;
use crate::lease::Tenure;
use crate::sight::sight;
use crate::stop::Stop;
use crate::watch::Stores;

/// How often a store is looked at again that is not whole for the moment, as while a list is taken
/// anew.
pub(crate) const STORE_RETRY: Duration = Duration::from_secs(1);

/// How long one that stays so is waited for. Then nothing is planned, and pods count as unseen and
/// stay.
pub(crate) const STORE_PATIENCE: Duration = Duration::from_secs(30);

/// What a plan is carried out with.
pub(crate) struct Carrier<'c> {
    pub(crate) api: &'c Api,
    pub(crate) stores: &'c Stores,
    pub(crate) policy: &'c Policy,
    /// Whether an eviction may go on in the background (docs/spec/runtime.md section 8).
    pub(crate) background: bool,
    pub(crate) clock: Clock,
    pub(crate) stop: Stop,
    /// Where only one of several may evict: whether that is us.
    pub(crate) tenure: Option<Tenure>,
}

/// Requests whose answers are waited for.
type Answers = JoinSet<(Attempt, Answer)>;

impl Carrier<'_> {
    /// Does what is to be done, in its order, and tells what became of each eviction. Ends when all
    /// is decided; after a stop, or without the lease, when the requests that have left are.
    pub(crate) async fn carry_out(
        &mut self,
        mut execution: Execution,
        mut tell: impl FnMut(Record, Timestamp),
    ) -> Receipt {
        let mut answers = Answers::new();
        // The turn for the next request, taken before the pod is looked at: a request that has been
        // decided on leaves at once.
        let mut turn = self.api.book();
        let mut blind_since = None;
        loop {
            if self.stop.is_set() || self.tenure.as_ref().is_some_and(|tenure| !tenure.may_act()) {
                execution.stop();
            }
            let action = self.next(&mut execution, turn, &mut blind_since).await;
            for record in execution.news() {
                tell(record, self.clock.now());
            }
            let until = match action {
                Step::Wait(until) => until,
                Step::Do(Action::WaitUntil(at)) => self.clock.instant(at),
                Step::Do(Action::Done(receipt)) => return receipt,
                Step::Do(Action::Evict(attempt)) => {
                    self.send(&mut answers, attempt);
                    turn = self.api.book();
                    continue;
                }
            };
            self.wait(&mut execution, &mut answers, until).await;
        }
    }

    /// What to do now.
    async fn next(
        &self,
        execution: &mut Execution,
        turn: Instant,
        blind_since: &mut Option<Instant>,
    ) -> Step {
        let now = Instant::now();
        if execution.is_stopped() {
            return Step::Do(execution.next(self.clock.now(), |_| Sight::Unseen));
        }
        if now < turn {
            return Step::Wait(turn);
        }
        match self.stores.read().await {
            Ok(reading) => {
                *blind_since = None;
                let look = |target: &Target| sight(reading.store(), target);
                Step::Do(execution.next(self.clock.now(), look))
            }
            Err(_) if now < *blind_since.get_or_insert(now) + STORE_PATIENCE => {
                Step::Wait(now + STORE_RETRY)
            }
            Err(_) => Step::Do(execution.next(self.clock.now(), |_| Sight::Unseen)),
        }
    }

    fn send(&self, answers: &mut Answers, attempt: Attempt) {
        let profile = self.policy.profiles.get(attempt.target.profile);
        let profile = profile.map_or("", |profile| &profile.name);
        let by = format!("{profile}/{}", attempt.target.strategy);
        let (api, tenure) = (self.api.at_once(), self.tenure.clone());
        let background = self.background;
        answers.spawn(async move {
            // A process that was halted in between has to ask again whether it may.
            let answer = match tenure.is_none_or(|tenure| tenure.may_act()) {
                true => evict(&api, &attempt.target, &by, background).await,
                false => Answer::Unreached("the lease could not be renewed in time".to_owned()),
            };
            (attempt, answer)
        });
    }

    /// Waits for an answer, the time, or for being stopped.
    async fn wait(&mut self, execution: &mut Execution, answers: &mut Answers, until: Instant) {
        let is_stopped = execution.is_stopped();
        let stops = async {
            // Once is enough.
            if is_stopped {
                std::future::pending().await
            }
            match &mut self.tenure {
                Some(tenure) => tokio::select! {
                    () = self.stop.wait() => {}
                    () = tenure.ends() => {}
                },
                None => self.stop.wait().await,
            }
        };
        let answer = tokio::select! {
            answer = answers.join_next(), if !answers.is_empty() => answer,
            () = sleep_until(until) => None,
            () = stops => None,
        };
        // A request whose task has failed is one whose answer is lost, which the execution notices.
        if let Some(Ok((attempt, answer))) = answer {
            execution.record(&attempt, answer, self.clock.now());
        }
    }
}

/// What comes next.
enum Step {
    /// Nothing before then.
    Wait(Instant),
    /// What the execution says.
    Do(Action),
}
