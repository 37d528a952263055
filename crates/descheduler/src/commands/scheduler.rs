//! `--scheduler-config` and `--scheduler-version`: which scheduler is reckoned with.

use std::fs;

use anyhow::{Context, anyhow};
use descheduler_engine::Severity;
use descheduler_scheduler::{Profile, Scheduler, Version};

use super::inputs::Source;
use crate::cli::SchedulerArgs;
use crate::error::CliError;
use crate::output::layout::count;
use crate::printer::Printer;

/// The profiles of the scheduler that was read for these flags, if they name a configuration.
pub(super) fn profiles<'s>(
    arguments: &SchedulerArgs,
    scheduler: &'s Scheduler,
) -> Option<&'s [Profile]> {
    arguments.scheduler_config.is_some().then_some(&scheduler.profiles)
}

/// Reads what the flags name, and says everything that there is to say about it. Where they name no
/// version it is that of the cluster, or else the default.
pub(super) fn read(
    arguments: &SchedulerArgs,
    source: &Source<'_>,
    printer: &mut Printer,
) -> Result<Scheduler, CliError> {
    let SchedulerArgs { scheduler_config, scheduler_version } = arguments;
    let mut scheduler = Scheduler::default();
    if let Some(text) = scheduler_version {
        scheduler.version = version(text, printer)?;
    } else if let Some(text) = source.version(printer) {
        // A server that calls itself something odd has a scheduler like any other.
        if Version::parse(&text).is_some() {
            scheduler.version = version(&text, printer)?;
        }
    }
    if let Some(path) = scheduler_config {
        let file = path.display().to_string();
        let bytes = fs::read(path)
            .with_context(|| format!("cannot read `{file}`"))
            .map_err(CliError::user)?;
        let (profiles, diagnostics) =
            descheduler_policy::scheduler::load(&bytes, &file, scheduler.version);
        printer.diagnostics(&diagnostics, &bytes);
        scheduler.profiles = profiles.ok_or_else(|| {
            let errors =
                diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
            let errors = count(errors, "error");
            CliError::user(anyhow!("`{file}` cannot be used: {errors}"))
        })?;
    }
    Ok(scheduler)
}

fn version(text: &str, printer: &mut Printer) -> Result<Version, CliError> {
    let known = Version::ALL.map(|version| version.to_string()).join(", ");
    let Some((version, is_known)) = Version::parse(text) else {
        let error = anyhow!("`--scheduler-version`: `{text}` is no version");
        return Err(CliError::user(error).help(format!("known: {known}")));
    };
    if !is_known {
        printer.note(format!(
            "kube-scheduler {text} is not known (known: {known}); it is taken for {version}"
        ));
    }
    Ok(version)
}
