//! Scenarios on a real control plane: API server, scheduler and controllers as they are, kwok as
//! the kubelets, and our program beside them as anybody would run it.
//!
//! `cargo xtask e2e [FILTER]` builds what this needs and starts it. A scenario is a function in
//! `scenarios/`; it gets planes of its own, so nothing that it does can disturb another one.

mod access;
mod audit;
mod cluster;
mod objects;
mod plane;
mod program;
mod proxy;
mod runtime;
mod scenarios;
mod scene;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Parser;
use libtest_mimic::{Arguments, Failed, Trial};

use scene::{Scene, Tools};

/// Two planes keep two cores busy; a third would only make all of them slow.
const JOBS: usize = 2;

/// So many of the slowest scenarios are named in the end.
const SLOWEST: usize = 5;

/// Scenarios on a real control plane.
#[derive(Parser)]
struct Options {
    /// Only scenarios with this in their name
    filter: Option<String>,
    /// The program that is tested
    #[arg(long, value_name = "FILE")]
    descheduler: PathBuf,
    /// The folder with the control plane's own programs
    #[arg(long, value_name = "FOLDER")]
    bin: PathBuf,
    /// Where planes keep their state; that of failed scenarios stays
    #[arg(long, value_name = "FOLDER")]
    state: PathBuf,
    /// Only say which scenarios there are
    #[arg(long)]
    list: bool,
    /// How many at a time
    #[arg(long, default_value_t = JOBS)]
    jobs: usize,
    /// Keep the state of scenarios that pass, too
    #[arg(long)]
    keep: bool,
}

fn main() -> ExitCode {
    let Options { filter, descheduler, bin, state, list, jobs, keep } = Options::parse();
    let arguments = Arguments { filter, list, test_threads: Some(jobs), ..Arguments::default() };
    let tools = Arc::new(Tools { descheduler, bin, state, keep });
    let times = Arc::new(Mutex::new(Vec::new()));
    let trials = scenarios::ALL.iter().map(|(name, scenario)| {
        let (tools, times) = (tools.clone(), times.clone());
        Trial::test(*name, move || {
            let begun = Instant::now();
            let outcome = Scene::play(&tools, name, *scenario);
            if let Ok(mut times) = times.lock() {
                times.push((begun.elapsed(), *name));
            }
            outcome.map_err(|error| Failed::from(format!("{error:#}")))
        })
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    if let Ok(mut times) = times.lock() {
        slowest(&mut times);
    }
    conclusion.exit_code()
}

#[expect(clippy::print_stdout, reason = "what a runner of tests says")]
fn slowest(times: &mut Vec<(Duration, &str)>) {
    times.sort_unstable_by(|a, b| b.cmp(a));
    for (took, name) in times.iter().take(SLOWEST) {
        println!("{:6.1} s  {name}", took.as_secs_f64());
    }
}
