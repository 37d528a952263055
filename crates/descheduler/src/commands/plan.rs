//! `descheduler plan`: from files or a live cluster to a printed plan. Changes nothing.

use std::mem;
use std::process::ExitCode;

use anyhow::anyhow;
use descheduler_cluster::Snapshot;
use descheduler_engine::{History, Open, Plan, Policy, audit, plan};

use super::history;
use super::inputs::{self, Source};
use crate::cli::{Format, PlanArgs};
use crate::error::CliError;
use crate::output::{self, Outcome};
use crate::printer::Printer;
use crate::timings::{Stopwatch, StrategyClock, Timings, peak_rss_kib};

#[cfg(test)]
mod tests;

/// `--check` found something to do.
const EXIT_WORK: u8 = 3;

/// Makes the plan and prints it.
pub(crate) fn run(arguments: &PlanArgs, printer: &mut Printer) -> Result<ExitCode, CliError> {
    let PlanArgs { inputs, history: remembered, .. } = arguments;
    let history = remembered.as_deref().map_or_else(|| Ok(History::default()), history::read)?;
    let source = Source::open(&inputs.cluster, inputs.kubeconfig.as_deref())?;
    let policy = inputs::policy(inputs, &source, "nothing is planned", printer)?;
    let mut watch = Stopwatch::start();
    let world = source.world(inputs.now)?;
    let read_ms = watch.lap_ms();
    let mut clock = StrategyClock::default();
    let history = history.seen(&world.snapshot, policy.loop_breaker, &Open::default());
    let plan = plan(&world.snapshot, &policy, &history, &mut clock);
    let plan_ms = watch.lap_ms();
    hold_sound(&plan, &world.snapshot, &policy, printer)?;
    let audit_ms = watch.lap_ms();

    let outcome = Outcome::new(&world, &policy, &plan);
    let screen = printer.screen();
    printer.data(|out| match arguments.output {
        Format::Text => output::text::write(&outcome, screen, out),
        Format::Json => output::json::write(&outcome, out),
    })?;
    match remembered {
        Some(path) => history::write(path, &history.after(&world.snapshot, &policy, &plan))?,
        None if plan.evictions.is_empty() => {}
        None => printer.note(
            "no `--history` is given, so it cannot be seen whether pods move in a loop from one run \
             to the next",
        ),
    }
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

/// Shows no plan that the audit objects to.
pub(super) fn hold_sound(
    plan: &Plan,
    snapshot: &Snapshot,
    policy: &Policy,
    printer: &mut Printer,
) -> Result<(), CliError> {
    let violations = audit(plan, snapshot, policy);
    violations.iter().for_each(|violation| printer.violation(violation));
    match violations.is_empty() {
        true => Ok(()),
        false => Err(CliError::bug(anyhow!("the plan is not sound, so it is not printed"))),
    }
}
