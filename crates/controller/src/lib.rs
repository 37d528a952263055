//! The live shell: everything that talks to an API server, and all that is async.
//!
//! ```text
//!  kubeconfig | in-cluster --> client --> Api (every call with a timeout)
//!                                          |
//!            one follower a kind  <--------+   list or stream once, then changes for ever
//!                   |
//!                   v
//!                 Store --> Snapshot, or why there is none
//! ```
//!
//! Nothing here decides anything: what is to be done stands in a plan.

mod api;
mod client;
pub mod clock;
mod dump;
mod limiter;
mod watch;

pub use api::{Api, CallError, chain};
pub use client::{ConnectError, Rate, Settings, connect, user_agent};
pub use dump::{Dump, DumpError, dump};
pub use watch::kinds::Resource;
pub use watch::{Missing, NotReady, Options, Reading, Stores, SyncError, World};
