//! `descheduler strategies`: what there is to enable, from the same source as `docs/strategies/`.

use std::process::ExitCode;

use anyhow::anyhow;
use descheduler_engine::did_you_mean;
use descheduler_strategies::{MANUALS, Manual};

use crate::cli::{Format, StrategiesArgs};
use crate::error::CliError;
use crate::output::strategies;
use crate::printer::Printer;

/// Prints the list, or everything about one plugin.
pub(crate) fn run(arguments: &StrategiesArgs, printer: &mut Printer) -> Result<ExitCode, CliError> {
    let StrategiesArgs { name, output } = arguments;
    let found = name.as_deref().map(find).transpose()?;
    let screen = printer.screen();
    match (output, found) {
        (Format::Json, None) => printer.data(|out| strategies::json(MANUALS, out))?,
        (Format::Json, Some(manual)) => {
            printer.data(|out| strategies::json(std::slice::from_ref(manual), out))?;
        }
        (Format::Text, None) => printer.data(|out| strategies::list(MANUALS, screen, out))?,
        (Format::Text, Some(manual)) => {
            printer.data(|out| strategies::page(manual, screen, out))?
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The plugin of that name, in any letter case: nothing is configured here.
fn find(name: &str) -> Result<&'static Manual, CliError> {
    let found = MANUALS.iter().find(|manual| manual.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let hint = did_you_mean(name, MANUALS.iter().map(|manual| manual.name));
        CliError::user(anyhow!("unknown strategy `{name}`"))
            .help(hint.unwrap_or_else(|| "`descheduler strategies` lists them".to_owned()))
    })
}
