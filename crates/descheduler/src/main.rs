//! The descheduler binary.

#[allow(dead_code, reason = "the commands that read clusters are not built yet")]
mod input;

fn main() {}
