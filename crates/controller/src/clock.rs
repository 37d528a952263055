//! The only wall clock. How long something took is asked of tokio, whose time tests can move.

use jiff::Timestamp;

/// The moment that it is.
pub fn now() -> Timestamp {
    Timestamp::now()
}
