//! What a plan cost, for `--timings`; `cargo xtask bench` reads it.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use descheduler_engine::{Observer, Profile, Step};
use serde::Serialize;

/// The line, as it is printed.
#[derive(Debug, Serialize)]
pub(crate) struct Timings {
    /// From the first byte of the files to the snapshot.
    pub(crate) read_ms: f64,
    /// From the snapshot to the plan.
    pub(crate) plan_ms: f64,
    /// The second opinion on the plan.
    pub(crate) audit_ms: f64,
    /// Printing it.
    pub(crate) write_ms: f64,
    /// The time inside each strategy, over all profiles.
    pub(crate) strategies: BTreeMap<&'static str, f64>,
    /// The most memory that was resident at a time; 0 where the system does not say.
    pub(crate) peak_rss_kib: u64,
}

/// A clock that is stopped by asking it.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Runs from now on.
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Milliseconds since the start or the last lap, to the microsecond.
    pub(crate) fn lap_ms(&mut self) -> f64 {
        let now = Instant::now();
        let lap = now.duration_since(std::mem::replace(&mut self.0, now));
        (lap.as_secs_f64() * 1e6).round() / 1000.0
    }
}

/// Measures the strategies while they run.
#[derive(Default)]
pub(crate) struct StrategyClock {
    spent_ms: BTreeMap<&'static str, f64>,
    running: Option<(&'static str, Stopwatch)>,
}

impl StrategyClock {
    /// The time inside each strategy.
    pub(crate) fn into_spent_ms(self) -> BTreeMap<&'static str, f64> {
        self.spent_ms
    }
}

impl Observer for StrategyClock {
    fn begins(&mut self, _: &Profile, step: &Step) {
        self.running = Some((step.def.name, Stopwatch::start()));
    }

    fn ends(&mut self) {
        if let Some((strategy, mut watch)) = self.running.take() {
            *self.spent_ms.entry(strategy).or_default() += watch.lap_ms();
        }
    }
}

/// The most memory that this process held at a time, as Linux counts it.
pub(crate) fn peak_rss_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    peak_in(&status).unwrap_or(0)
}

fn peak_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read() {
        assert_eq!(peak_in("VmPeak:\t  9 kB\nVmHWM:\t   2048 kB\n"), Some(2048));
        assert_eq!(peak_in(""), None);
    }
}
