//! One file a command, under the name that users type.

mod capture;
mod completion;
mod convert;
mod explain;
mod history;
pub(crate) mod inputs;
mod live;
pub(crate) mod place;
pub(crate) mod plan;
mod report;
mod scheduler;
mod service;
pub(crate) mod simulate;
mod strategies;
mod validate;
mod version;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use descheduler_engine::did_you_mean;

use crate::cli::{Cli, Command};
use crate::error::CliError;
use crate::printer::Printer;

/// Runs what the arguments say; the first one is the name of the program.
pub(crate) fn run(
    arguments: impl IntoIterator<Item = OsString>,
    printer: &mut Printer,
) -> Result<ExitCode, CliError> {
    let Cli { command, service } = match Cli::read(arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, printer),
    };
    match command {
        Some(Command::Plan(arguments)) => plan::run(&arguments, printer),
        Some(Command::Report(arguments)) => report::run(&arguments, printer),
        Some(Command::Explain(arguments)) => explain::run(&arguments, printer),
        Some(Command::Simulate(arguments)) => simulate::run(&arguments, printer),
        Some(Command::Place(arguments)) => place::run(&arguments, printer),
        Some(Command::Validate(arguments)) => validate::run(&arguments, printer),
        Some(Command::Convert(arguments)) => convert::run(&arguments, printer),
        Some(Command::Capture(arguments)) => capture::run(&arguments, printer),
        Some(Command::Strategies(arguments)) => strategies::run(&arguments, printer),
        Some(Command::Version) => version::run(printer),
        Some(Command::Completion(arguments)) => completion::run(&arguments, printer),
        None => service::run(&service, printer),
    }
}

/// A word that is no flag was meant as a command.
fn unknown(word: &str) -> CliError {
    let cli = Cli::command();
    let commands = cli.get_subcommands().filter(|command| !command.is_hide_set());
    let names = commands.map(|command| command.get_name()).chain(["help"]);
    let hint = did_you_mean(word, names);
    CliError::user(anyhow!("unknown command `{word}`"))
        .help(hint.unwrap_or_else(|| "`descheduler --help` lists the commands".into()))
}

/// What clap has to say: help goes to standard output, complaints to standard error.
fn usage(error: &clap::Error, printer: &mut Printer) -> Result<ExitCode, CliError> {
    let render = |coloured| match coloured {
        true => error.render().ansi().to_string(),
        false => error.render().to_string(),
    };
    // Below a command its own usage says more than a list of all commands.
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && !render(false).contains("Usage: descheduler explain")
    {
        return Err(unknown(word));
    }
    if error.use_stderr() {
        let text = render(printer.coloured_err());
        printer.raw(&text);
        // clap would say 2, which is for what the user cannot fix.
        return Ok(ExitCode::from(1));
    }
    let text = render(printer.screen().coloured);
    printer.data(|out| out.write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}
