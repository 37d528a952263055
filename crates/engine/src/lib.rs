//! How decisions are made.
//!
//! ```text
//!            Policy: profiles of strategies, protections, limits
//!               |
//!  Snapshot -> plan() --- for each pass, profile, strategy ---> Plan { evictions, report }
//!               |            strategy.run(&mut Turn)               |
//!               |               | propose(pod, reason)             +-> audit(): is it sound?
//!  History -----+               v
//!                 the gate: still there? cooling down? protected? limits? budget? placement?
//! ```
//!
//! Read [`plan()`] first. Everything here is pure: no clock, no I/O, no random numbers.

mod args;
mod audit;
mod decision;
mod diagnostic;
mod execution;
mod explain;
mod gate;
mod history;
mod limits;
mod placer;
mod plan;
mod policy;
mod pool;
mod protection;
mod report;
mod strategy;
mod suggest;
mod turn;
mod value;

pub use args::{
    Arg, Args, ArgsSource, Argument, ArgumentDoc, ArgumentType, Mismatch, Percent, Place,
};
pub use audit::{Violation, audit};
pub use decision::{Eviction, Reason, Refusal};
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use execution::{
    Action, Answer, Attempt, Audited, Execution, Fate, Open, OpenEviction, Pace, PodKey, Receipt,
    Record, Settled, Sight, Target, Untried,
};
pub use explain::{
    Account, Finding, Inquiry, NodeExplanation, NodeStep, Outcome, PodExplanation, PodStep, Table,
    Trial, explain_node, explain_pod,
};
pub use history::{
    History, HistoryError, LoopBreaker, MOVES_MAX, Moved, STREAKS_MAX, Streak, Subject,
};
pub use limits::{LimitKind, Limits};
pub use placer::{Outlook, Reading};
pub use plan::{Observer, Plan, Unobserved, plan, plan_beside};
pub use policy::{Placement, Policy, Profile, Step};
pub use pool::node_set;
pub use protection::{Check, Protection, Shield, Stage};
pub use report::{PlanReport, Refused, StrategyRun};
pub use strategy::{Anywhere, EvictorDef, Judge, Pass, Purpose, Registry, Strategy, StrategyDef};
pub use suggest::{closest, did_you_mean};
pub use turn::{Proposal, Turn, Verdict};
pub use value::{Entry, Map, Node, Scalar, ScalarKind, Span, Value};
