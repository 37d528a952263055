//! What kube-scheduler would see and do.
//!
//! ```text
//!  Snapshot -+-> View        what strategies see: planned pods are gone
//!            |
//!            +-> Occupancy   what the scheduler sees: planned pods are on their way out,
//!            |      |        replacements hold their place
//!            +-> Model ----> place(occupancy, pod) -> Placement { feasible with scores, why not }
//!                  |            PreFilter, Filter, Score: plugins/, one file each
//!               Version, Profiles
//! ```
//!
//! Rules: docs/spec/scheduler.md. What differs between versions stands in `version.rs` alone.

mod contest;
mod cycle;
mod field;
mod known;
mod model;
mod occupancy;
mod outcome;
mod places;
mod plugins;
mod pod;
mod profile;
mod reach;
mod replacement;
mod search;
mod table;
mod terms;
mod topology;
mod version;
mod view;

pub use model::{Model, Scheduler};
pub use occupancy::{Occupancy, OccupancyMark};
pub use outcome::{Candidate, Code, CycleError, Fault, Placement, Stage, TaintKey, Why};
pub use pod::PodRef;
pub use profile::{
    AddedAffinity, DefaultConstraint, FitArgs, InterPodArgs, NodeTerm, NodeTerms, Plugin, Profile,
    ScoringStrategy, ShapePoint, SpreadDefaults,
};
pub use replacement::{Nothing, Old, Replacement};
pub use search::Winners;
pub use version::Version;
pub use view::{Mark, View};
