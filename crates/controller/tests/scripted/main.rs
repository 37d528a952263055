//! The shell against an API server that answers by a script, in virtual time: the clock moves when
//! everybody waits.

mod dump;
mod lease;
mod metrics;
mod server;
mod service;
mod toys;
mod watch;
