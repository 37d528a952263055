//! The descheduler binary.
fn main() {}
