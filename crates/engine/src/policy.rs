//! What the operator asked for, as resolved values: valid by construction.

use std::sync::Arc;

use descheduler_cluster::LabelSelector;
use descheduler_scheduler::Scheduler;

use crate::history::LoopBreaker;
use crate::limits::Limits;
use crate::protection::Shield;
use crate::strategy::{Pass, Purpose, Strategy, StrategyDef};

/// A whole policy.
pub struct Policy {
    /// Only nodes with these labels are worked on (docs/spec/strategies.md section 1.2).
    pub node_selector: Option<LabelSelector>,
    /// How much may be evicted in one cycle, over all profiles and strategies.
    pub limits: Limits,
    /// Grace period of each eviction, in seconds; unset leaves it to the pod.
    pub grace_period_seconds: Option<i64>,
    /// Whether a failed eviction is reported as an event on the pod.
    pub eviction_failure_event_notification: bool,
    /// How a move is judged where its profile does not say; `None` when the policy does not either.
    pub placement: Option<Placement>,
    /// Where it cannot be known which node wins, the share of cases, 0 to 1, in which the move has
    /// to be an improvement.
    pub confidence: f64,
    /// How long moves that did not help are not tried again.
    pub loop_breaker: LoopBreaker,
    /// Which scheduler places the pods; not in the file, but known to whoever reads it.
    pub scheduler: Scheduler,
    /// The profiles, in policy order.
    pub profiles: Vec<Profile>,
}

impl Policy {
    /// How the moves of a profile are judged; by where they lead unless somebody says otherwise.
    pub fn placement_of(&self, profile: &Profile) -> Placement {
        profile.placement.or(self.placement).unwrap_or(Placement::DEFAULT)
    }

    /// Judges all moves so, whatever the policy and its profiles say.
    pub fn override_placement(&mut self, mode: Placement) {
        self.placement = Some(mode);
        self.profiles.iter_mut().for_each(|profile| profile.placement = None);
    }

    /// Whether a strategy goes by what nodes and pods really use.
    pub fn goes_by_use(&self) -> bool {
        self.steps().any(|(_, step)| step.strategy.goes_by_use())
    }

    /// What the moves of a strategy are for.
    pub(crate) fn purpose(&self, strategy: &str) -> Purpose {
        let mut steps = self.steps().map(|(_, step)| step);
        let step = steps.find(|step| step.def.name == strategy);
        step.map_or(Purpose::Place, |step| step.strategy.purpose())
    }

    /// All strategies in the order they run, each with the index of its profile.
    ///
    /// All profiles' deschedule strategies run before any balance strategy
    /// (docs/spec/strategies.md section 1.1).
    pub(crate) fn steps(&self) -> impl Iterator<Item = (usize, &Step)> {
        Pass::ORDER.into_iter().flat_map(|pass| {
            let profiles = self.profiles.iter().enumerate();
            profiles.flat_map(move |(at, profile)| {
                profile.steps(pass).iter().map(move |step| (at, step))
            })
        })
    }
}

/// One profile: strategies and the protections they share.
pub struct Profile {
    /// Its name; may be empty, may repeat.
    pub name: String,
    /// Of the nodes that the policy selects, only those with these labels are worked on.
    pub node_selector: Option<LabelSelector>,
    /// How its moves are judged, if not as the policy says.
    pub placement: Option<Placement>,
    /// Its own [`Policy::confidence`].
    pub confidence: Option<f64>,
    /// What is never evicted under this profile.
    pub shield: Shield,
    /// Deschedule strategies in the order enabled.
    pub deschedule: Vec<Step>,
    /// Balance strategies in the order enabled.
    pub balance: Vec<Step>,
}

impl Profile {
    /// The strategies of one pass.
    pub fn steps(&self, pass: Pass) -> &[Step] {
        match pass {
            Pass::Deschedule => &self.deschedule,
            Pass::Balance => &self.balance,
        }
    }
}

/// One strategy, enabled. A name that is enabled twice is built once and runs twice.
#[derive(Clone)]
pub struct Step {
    /// What it is.
    pub def: &'static StrategyDef,
    /// It, with its arguments.
    pub strategy: Arc<dyn Strategy>,
}

/// How much must be known about where a pod's replacement lands before the pod is evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Nothing: upstream's behaviour.
    Off,
    /// At least one node has to pass every filter of the scheduler.
    Feasible,
    /// Every node that could win has to be an improvement.
    Improving,
}

impl Placement {
    /// The mode of a policy that does not say.
    pub const DEFAULT: Self = Self::Improving;

    /// The confidence of a policy that does not say.
    pub const CONFIDENCE: f64 = 0.95;

    /// The modes as the policy field spells them.
    pub const NAMES: [&str; 3] = ["Off", "Feasible", "Improving"];

    /// As the policy field spells it.
    pub fn name(self) -> &'static str {
        let [off, feasible, improving] = Self::NAMES;
        match self {
            Self::Off => off,
            Self::Feasible => feasible,
            Self::Improving => improving,
        }
    }

    /// Reads a mode in any letter case.
    pub fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "off" => Some(Self::Off),
            "feasible" => Some(Self::Feasible),
            "improving" => Some(Self::Improving),
            _ => None,
        }
    }
}
