//! `descheduler completion`: a script for a shell.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::cli::{Cli, CompletionArgs};
use crate::error::CliError;
use crate::printer::Printer;

/// Prints the script.
pub(crate) fn run(arguments: &CompletionArgs, printer: &mut Printer) -> Result<ExitCode, CliError> {
    let CompletionArgs { shell } = arguments;
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut Cli::command(), "descheduler", &mut script);
    printer.data(|out| out.write_all(&script))?;
    Ok(ExitCode::SUCCESS)
}
