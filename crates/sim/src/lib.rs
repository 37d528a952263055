//! The model cluster: what becomes of a cluster when plans are carried out.
//!
//! ```text
//!            +--------------------------------------------------------------+
//!            v                                                              |
//!  World { Snapshot } -- plan(), audit() --> evictions                      |
//!            |                                  |                           |
//!            +-- turn(evicted, chance) <--------+                           |
//!                  | pods terminate, owners recreate them (workload.rs)     |
//!                  | the scheduler model places them (placing.rs)           |
//!                  +-> Fate of each eviction, Changes -- Ingest::next() ----+
//! ```
//!
//! [`World`] knows nothing of plans: whoever drives it says which pods were evicted, so that a
//! driver can lose some of a plan's evictions on the way. [`simulate`] is the driver without
//! faults; [`every_outcome`] follows all choices that the scheduler has.
//!
//! Everything here is a function of its arguments. Where the scheduler could choose one of several
//! nodes, a [`Chance`] chooses, and the usual one, [`Dice`], is made from a seed.

mod chance;
mod every;
mod measure;
mod placing;
mod run;
mod workload;
mod world;

pub use chance::{Chance, Dice, Script};
pub use every::{NODES_TOO_MANY, Outcomes, every_outcome};
pub use measure::{Measures, NodeMeasure, Spread};
pub use run::{Cycle, Disruption, Move, Options, Run, Unsound, simulate};
pub use world::{Fate, Pace, World};
