//! The process itself, as Linux sees it, under the names that every Prometheus client has.

use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// What Linux counts time in towards programs (`USER_HZ`), on every architecture.
const TICKS_A_SECOND: f64 = 100.0;

/// Reads `/proc` whenever it is asked. What is not there is left out.
#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (stat, status) = (read("/proc/self/stat"), read("/proc/self/status"));
        let mut gauge = |name, help, value: Option<f64>| {
            let Some(value) = value else { return Ok(()) };
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        gauge("process_resident_memory_bytes", "Memory in use.", bytes(&status, "VmRSS:"))?;
        gauge("process_virtual_memory_bytes", "Memory asked for.", bytes(&status, "VmSize:"))?;
        let open = fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as f64);
        gauge("process_open_fds", "Open files and sockets.", open)?;
        let most = most_files(&read("/proc/self/limits"));
        gauge("process_max_fds", "How many there may be.", most)?;
        let started = started(&stat, &read("/proc/stat"));
        gauge("process_start_time_seconds", "When the process began, since 1970.", started)?;
        if let Some(spent) = cpu(&stat) {
            let help = "Time on a processor.";
            let counter = ConstCounter::new(spent);
            let kind = counter.metric_type();
            counter.encode(encoder.encode_descriptor(
                "process_cpu_seconds",
                help,
                None,
                kind,
            )?)?;
        }
        Ok(())
    }
}

/// A field of `/proc/self/stat`, numbered as in proc(5). The name before may hold anything.
fn field(stat: &str, number: usize) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

fn cpu(stat: &str) -> Option<f64> {
    Some((field(stat, 14)? + field(stat, 15)?) / TICKS_A_SECOND)
}

fn started(stat: &str, of_system: &str) -> Option<f64> {
    let booted = of_system.lines().find_map(|line| line.strip_prefix("btime "))?;
    Some(booted.trim().parse::<f64>().ok()? + field(stat, 22)? / TICKS_A_SECOND)
}

fn bytes(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
}

fn most_files(limits: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_read() {
        let stat = "7 (a) b) S 1 1 1 0 -1 4 9 0 0 0 150 50 0 0 20 0 3 0 2500 99 88 1";
        assert_eq!(cpu(stat), Some(2.0));
        assert_eq!(started(stat, "cpu 1\nbtime 1000\n"), Some(1025.0));
        assert_eq!(bytes("VmSize:\t 4 kB\nVmRSS:\t  2 kB\n", "VmRSS:"), Some(2048.0));
        let limits = "Limit  Soft Hard Units\nMax open files            1024   4096   files\n";
        assert_eq!(most_files(limits), Some(1024.0));
        assert_eq!((cpu(""), bytes("", "VmRSS:"), most_files("")), (None, None, None));
    }
}
