//! One run of the program.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// What a run cost.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Measured {
    pub(super) wall_s: f64,
    /// User and system time of the process, its end included: freeing a gigabyte takes time too.
    pub(super) cpu_s: f64,
    pub(super) evictions: usize,
    pub(super) refusals: usize,
    #[serde(flatten)]
    pub(super) timings: Timings,
}

/// What the program says about itself in the last line of standard error under `--timings`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Timings {
    /// From the first byte of the files to the snapshot.
    pub(super) read_ms: f64,
    /// From the snapshot to the plan.
    pub(super) plan_ms: f64,
    /// The time inside each strategy.
    pub(super) strategies: BTreeMap<String, f64>,
    /// The most memory that was resident at a time.
    pub(super) peak_rss_kib: u64,
}

impl Measured {
    /// Takes over what another run of the same did faster, and where it needed more memory.
    pub(super) fn keep_least(&mut self, other: Self) {
        let Self { wall_s, cpu_s, evictions: _, refusals: _, timings } = other;
        let Timings { read_ms, plan_ms, strategies, peak_rss_kib } = timings;
        self.wall_s = self.wall_s.min(wall_s);
        self.cpu_s = self.cpu_s.min(cpu_s);
        self.timings.read_ms = self.timings.read_ms.min(read_ms);
        self.timings.plan_ms = self.timings.plan_ms.min(plan_ms);
        for (name, ms) in strategies {
            self.timings.strategies.entry(name).and_modify(|least| *least = least.min(ms));
        }
        self.timings.peak_rss_kib = self.timings.peak_rss_kib.max(peak_rss_kib);
    }
}

impl Timings {
    /// Finds the line among whatever else was said.
    fn read(stderr: &str) -> Option<Self> {
        stderr.lines().rev().find_map(|line| serde_json::from_str(line).ok())
    }
}

/// What is planned, and how moves are judged.
pub(super) struct Task<'a> {
    pub(super) policy: &'a Path,
    /// The configuration of the scheduler, where it is not the usual one.
    pub(super) scheduler: Option<&'a Path>,
    pub(super) mode: &'a str,
}

/// Plans a cluster once; the plan is left in `plan`.
pub(super) fn plan(
    binary: &Path,
    task: &Task<'_>,
    cluster: &Path,
    plan: &Path,
) -> Result<Measured> {
    let context = || plan.display().to_string();
    let Task { policy, scheduler, mode } = task;
    let before = cpu_of_children()?;
    let begun = Instant::now();
    let output = Command::new(binary)
        .arg("plan")
        .arg("--policy")
        .arg(policy)
        .arg("--cluster")
        .arg(cluster)
        .args(["--placement", mode, "-o", "json", "--timings"])
        .args(scheduler.iter().flat_map(|file| ["--scheduler-config".as_ref(), file.as_os_str()]))
        .stdin(Stdio::null())
        .stdout(File::create(plan).with_context(context)?)
        .stderr(Stdio::piped())
        .spawn()
        .and_then(|child| child.wait_with_output())
        .context("start descheduler")?;
    let wall_s = begun.elapsed().as_secs_f64();
    let cpu_s = cpu_of_children()? - before;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{}: {stderr}", output.status);
    }
    let timings = Timings::read(&stderr).with_context(|| format!("no timings in: {stderr}"))?;
    let Counts { evictions, refusals } =
        serde_json::from_str(&fs::read_to_string(plan).with_context(context)?)
            .with_context(context)?;
    let (evictions, refusals) = (evictions.len(), refusals.len());
    Ok(Measured { wall_s, cpu_s, evictions, refusals, timings })
}

#[derive(Deserialize)]
struct Counts {
    evictions: Vec<IgnoredAny>,
    refusals: Vec<IgnoredAny>,
}

/// CPU-seconds of all children that have ended. Linux counts in hundredths of a second here, on
/// every architecture that we build for.
fn cpu_of_children() -> Result<f64> {
    let path = "/proc/self/stat";
    let stat = fs::read_to_string(path).context(path)?;
    cpu_in(&stat).with_context(|| format!("{path} is not as expected: {stat}"))
}

/// The sum of the fields `cutime` and `cstime`, the 16th and 17th of the line. The second is the
/// name of the program in parentheses, which may hold anything.
fn cpu_in(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(13).map(|field| field.parse::<u32>().ok());
    let (user, system) = (fields.next()??, fields.next()??);
    Some(f64::from(user + system) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_timings_is_found() {
        let line = r#"{"read_ms": 1.5, "plan_ms": 2, "strategies": {"A": 0.25}, "peak_rss_kib": 7, "more": 1}"#;
        let timings = Timings::read(&format!("note: {{\n{line}\n")).expect("it is there");
        assert_eq!(timings.strategies["A"], 0.25);
        assert_eq!(Timings::read("{}"), None);
    }

    #[test]
    fn the_time_of_children_is_read() {
        let stat = "1 (a b) c) R 0 1 1 0 -1 4194560 100 200 0 0 5 6 250 50 20 0 1 0 9 0 0";
        assert_eq!(cpu_in(stat), Some(3.0));
    }
}
