//! `cargo xtask bench`: what reading and planning cost on generated clusters of three sizes.
//!
//! Each policy of `tools/clustergen/policies/` is planned on each cluster: `none.yaml` is reading
//! alone, one file each strategy alone, `all.yaml` all of them together; each in every placement
//! mode. A file of the same name in `tools/clustergen/schedulers/` is the configuration of the
//! scheduler that is reckoned with. Of several runs the least of each time counts: on a machine with other work, more is noise.

mod measure;
mod table;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Serialize;

use crate::report;
use measure::{Measured, Task};

/// Where the policies lie.
const POLICIES: &str = "tools/clustergen/policies";

/// Where the configurations of the scheduler lie that some of them need.
const SCHEDULERS: &str = "tools/clustergen/schedulers";

/// The policy of nothing but reading.
const NONE: &str = "none";

/// Where pods may go: as upstream plans, wherever there is room, only where it is better.
const MODES: [&str; 3] = ["off", "feasible", "improving"];

/// A cluster to measure on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Size {
    nodes: usize,
    pods: usize,
}

const SIZES: [Size; 3] = [
    Size { nodes: 500, pods: 15_000 },
    Size { nodes: 2_000, pods: 60_000 },
    Size { nodes: 5_000, pods: 150_000 },
];

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.nodes, self.pods)
    }
}

/// The best of several runs of one policy on one cluster in one mode, each figure by itself.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    size: Size,
    policy: String,
    mode: &'static str,
    #[serde(flatten)]
    measured: Measured,
}

/// What is measured.
#[derive(Args)]
pub(crate) struct Options {
    /// Sizes of the clusters: NODES/PODS, or NODES for thirty pods a node.
    #[arg(long, value_delimiter = ',', value_parser = size, default_values_t = SIZES)]
    sizes: Vec<Size>,
    /// Runs of each policy on each cluster; the least of each time counts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..))]
    runs: u8,
}

/// Measures, prints a table, and writes the same to `bench/results.json` in the target folder.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let folder = target.join("bench");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    build()?;
    let binary = target.join("release/descheduler");
    let policies = policies(&root.join(POLICIES))?;
    let plan = folder.join("plan.json");
    let mut rows = Vec::new();
    for &size in &options.sizes {
        let cluster = cluster(&target.join("release/clustergen"), &folder, size)?;
        for (policy, mode) in policies.iter().flat_map(|policy| MODES.map(|mode| (policy, mode))) {
            let name = policy.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            // Nobody asks where pods may go when none is to be moved.
            if name == NONE && mode != MODES[0] {
                continue;
            }
            let scheduler = root.join(SCHEDULERS).join(policy.file_name().unwrap_or_default());
            let scheduler = scheduler.exists().then_some(&*scheduler);
            let task = Task { policy, scheduler, mode };
            let measured = best(options.runs, || measure::plan(&binary, &task, &cluster, &plan))
                .with_context(|| format!("plan {} on {} nodes", policy.display(), size.nodes))?;
            let row = Row { size, policy: name, mode, measured };
            report(&table::line(&row));
            rows.push(row);
        }
    }
    let exponents = table::exponents(&rows);
    report("");
    report(&table::text(&rows, &exponents));
    let results = serde_json::json!({ "runs": rows, "exponents": exponents });
    let path = folder.join("results.json");
    fs::write(&path, format!("{results:#}\n")).with_context(|| path.display().to_string())
}

/// Reads `2000/60000`, or `2000` for thirty pods a node.
fn size(text: &str) -> Result<Size> {
    let number = |text: &str| {
        text.parse().with_context(|| format!("expected NODES or NODES/PODS, found `{text}`"))
    };
    match text.split_once('/') {
        Some((nodes, pods)) => Ok(Size { nodes: number(nodes)?, pods: number(pods)? }),
        None => number(text).map(|nodes| Size { nodes, pods: nodes * 30 }),
    }
}

/// The least of each time over several runs.
fn best(runs: u8, run: impl Fn() -> Result<Measured>) -> Result<Measured> {
    let mut best = run()?;
    for _ in 1..runs {
        best.keep_least(run()?);
    }
    Ok(best)
}

fn build() -> Result<()> {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--package", "descheduler", "--package", "clustergen"])
        .status()
        .context("start cargo")?;
    ensure!(status.success(), "the release build failed");
    Ok(())
}

/// The policies: reading alone first, all strategies last.
fn policies(folder: &Path) -> Result<Vec<PathBuf>> {
    let context = || folder.display().to_string();
    let entries = fs::read_dir(folder).with_context(context)?;
    let paths = entries.map(|entry| Ok(entry.with_context(context)?.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<Result<_>>()?;
    let place = |path: &Path| match path.file_stem().and_then(|stem| stem.to_str()) {
        Some(NONE) => 0,
        Some("all") => 2,
        _ => 1,
    };
    paths.sort_by_key(|path| (place(path), path.clone()));
    Ok(paths)
}

/// The generated cluster; made anew when the generator is younger than the file.
fn cluster(generator: &Path, folder: &Path, size: Size) -> Result<PathBuf> {
    let Size { nodes, pods } = size;
    let path = folder.join(format!("cluster-{nodes}-{pods}.ndjson"));
    let made = |path: &Path| fs::metadata(path).and_then(|data| data.modified());
    if let (Ok(file), Ok(program)) = (made(&path), made(generator))
        && file > program
    {
        return Ok(path);
    }
    // Under another name until it is whole, in case somebody interrupts this.
    let unfinished = path.with_extension("part");
    let status = Command::new(generator)
        .args(["--nodes", &nodes.to_string(), "--pods", &pods.to_string(), "--out"])
        .arg(&unfinished)
        .status()
        .context("start clustergen")?;
    ensure!(status.success(), "clustergen failed");
    fs::rename(&unfinished, &path).with_context(|| path.display().to_string())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(size("10").unwrap(), Size { nodes: 10, pods: 300 });
        assert_eq!(size("20/70").unwrap(), Size { nodes: 20, pods: 70 });
        assert!(size("many").is_err());
        for default in SIZES {
            assert_eq!(size(&default.to_string()).unwrap(), default);
        }
    }
}
