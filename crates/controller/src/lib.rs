//! The live shell: everything that talks to an API server, and all that is async.
//!
//! ```text
//!  kubeconfig | in-cluster --> client --> Api (every call with a timeout) <-- lease: may we act?
//!                                          |    ^                               |
//!            one follower a kind  <--------+    | evict                         v
//!                   |                           +------ carry: Execution <-- cycle <-- run: the loop
//!                   v                                       | sight            |
//!                 Store --> Snapshot, or why there is none -+---- plan --------+--> observe: News
//!                                                      admin: health, the plan; metrics <---+
//! ```
//!
//! Nothing here decides anything: what is to be done stands in a plan.

pub mod admin;
mod api;
mod carry;
mod client;
pub mod clock;
mod cycle;
mod dump;
mod evict;
mod lease;
mod limiter;
pub mod metrics;
pub mod observe;
mod run;
mod sight;
mod stop;
mod watch;

pub use api::{Api, CallError, chain};
pub use client::{ConnectError, Rate, Settings, connect, user_agent};
pub use dump::{Dump, DumpError, dump};
pub use lease::{LeaseError, LeaseSettings};
pub use run::{Fixed, Look, PolicySource, Service};
pub use stop::{Stop, Stopper};
pub use watch::kinds::Resource;
pub use watch::{Missing, NotReady, Options, Reading, Stores, SyncError, World};
