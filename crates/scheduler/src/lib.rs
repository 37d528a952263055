//! What kube-scheduler would see and do.
//!
//! [`View`] is the snapshot seen through the moves planned so far. It is where later decisions
//! learn of earlier ones, and the only thing about the world that changes while a plan is made.

mod view;

pub use view::{Mark, View};
