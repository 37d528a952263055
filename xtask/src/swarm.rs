//! `cargo xtask swarm`: more seeds of the swarm than the tests take. What it does is said in
//! `crates/descheduler/tests/swarm/main.rs`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

/// Which seeds are tried.
#[derive(Args)]
pub(crate) struct Options {
    /// How many.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Builds it with all optimizations, which pays from some thousand seeds on.
    #[arg(long)]
    release: bool,
}

/// Runs the swarm.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let Options { seeds, from, release } = options;
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["test", "--quiet", "--package", "descheduler", "--test", "swarm"])
        .args(release.then_some("--release"))
        .args(["--", "seeds", "--exact", "--nocapture"])
        .env("SWARM_SEEDS", seeds.to_string())
        .env("SWARM_FROM", from.to_string())
        .status()
        .context("start cargo")?;
    ensure!(status.success(), "a seed fails; the case above is the same in small");
    Ok(())
}
