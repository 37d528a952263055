//! `descheduler plan`: from files to a printed plan. Changes nothing.

use std::mem;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use descheduler_cluster::{Anomaly, Ingest, Snapshot};
use descheduler_engine::{History, Policy, audit, plan};
use descheduler_strategies::REGISTRY;
use jiff::Timestamp;

use super::{scheduler, validate};
use crate::cli::{Format, PlanArgs};
use crate::error::CliError;
use crate::input;
use crate::output::{self, Note, Outcome, notes};
use crate::printer::Printer;
use crate::progress::Progress;
use crate::timings::{Stopwatch, StrategyClock, Timings, peak_rss_kib};

#[cfg(test)]
mod tests;

/// `--check` found something to do.
const EXIT_WORK: u8 = 3;

/// Makes the plan and prints it.
pub(crate) fn run(arguments: &PlanArgs, printer: &mut Printer) -> Result<ExitCode, CliError> {
    refuse_what_is_not_there(arguments)?;
    let mut policy = read_policy(arguments, printer)?;
    if let Some(mode) = arguments.placement {
        policy.placement = Some(mode.into());
    }
    policy.scheduler = scheduler::read(&arguments.scheduler, printer)?;
    if policy.placement.is_none() {
        printer.note(
            "no `placement` is set, so pods move only where that is known to be better; `--placement \
             off` plans as upstream does",
        );
    }

    let mut watch = Stopwatch::start();
    let world = World::read(&arguments.cluster, arguments.now)?;
    let read_ms = watch.lap_ms();
    let mut clock = StrategyClock::default();
    let plan = plan(&world.snapshot, &policy, &History::default(), &mut clock);
    let plan_ms = watch.lap_ms();
    let violations = audit(&plan, &world.snapshot, &policy);
    let audit_ms = watch.lap_ms();
    if !violations.is_empty() {
        for violation in &violations {
            printer.violation(violation);
        }
        return Err(CliError::bug(anyhow!("the plan is not sound, so it is not printed")));
    }

    let outcome = Outcome::new(&world, &policy, &plan);
    let screen = printer.screen();
    printer.data(|out| match arguments.output {
        Format::Text => output::text::write(&outcome, screen, out),
        Format::Json => output::json::write(&outcome, out),
    })?;
    let write_ms = watch.lap_ms();
    if arguments.timings {
        let strategies = clock.into_spent_ms();
        let peak_rss_kib = peak_rss_kib();
        let timings = Timings { read_ms, plan_ms, audit_ms, write_ms, strategies, peak_rss_kib };
        let line = serde_json::to_string(&timings).map_err(CliError::bug)?;
        printer.raw(&format!("{line}\n"));
    }
    let work = arguments.check && !plan.evictions.is_empty();
    // The process ends here. Giving back a gigabyte piece by piece would be the slowest part of
    // all, and the system does it at once.
    mem::forget((world, plan));
    Ok(if work { ExitCode::from(EXIT_WORK) } else { ExitCode::SUCCESS })
}

/// Flags of which we know what they will mean.
fn refuse_what_is_not_there(arguments: &PlanArgs) -> Result<(), CliError> {
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    if is_stdin(&arguments.policy) && arguments.cluster.iter().any(is_stdin) {
        let error = anyhow!("`--policy` and `--cluster` cannot both be read from standard input");
        return Err(CliError::user(error).help("put one of them into a file"));
    }
    match arguments.kubeconfig {
        Some(_) => Err(CliError::user(anyhow!("`--kubeconfig` is not there yet"))
            .help("plans are made from files, given with `--cluster`")),
        None => Ok(()),
    }
}

/// Reads the policy and says everything that there is to say about it.
fn read_policy(arguments: &PlanArgs, printer: &mut Printer) -> Result<Policy, CliError> {
    let (file, bytes) = validate::read(&arguments.policy)?;
    let (policy, diagnostics) = descheduler_policy::load(&bytes, &file, &REGISTRY);
    printer.diagnostics(&diagnostics, &bytes);
    policy.ok_or_else(|| validate::unusable(&file, &diagnostics, "nothing is planned"))
}

/// What is known of a cluster.
pub(crate) struct World {
    /// The cluster.
    pub(crate) snapshot: Snapshot,
    /// What could not be read of it.
    pub(crate) anomalies: Vec<Anomaly>,
    /// What was given besides what any rule looks at.
    pub(crate) skipped: Option<Note>,
}

impl World {
    pub(crate) fn read(paths: &[PathBuf], now: Option<Timestamp>) -> Result<Self, CliError> {
        let progress = Progress::start();
        let ingest = input::read(paths, |done, total| progress.update(done, total))
            .map_err(CliError::user)?;
        Ok(Self::new(ingest, now))
    }

    fn new(ingest: Ingest, now: Option<Timestamp>) -> Self {
        let skipped = notes::skipped(&ingest);
        let (snapshot, anomalies) = ingest.finish(now);
        Self { snapshot, anomalies, skipped }
    }
}
