//! `descheduler validate`: everything that there is to say about policy files, without a cluster.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use descheduler_engine::{Diagnostics, Severity, Span};
use descheduler_policy::Surroundings;
use descheduler_strategies::REGISTRY;

use super::inputs::Source;
use super::scheduler;
use crate::cli::{Format, ValidateArgs};
use crate::error::CliError;
use crate::output::{self, layout::count};
use crate::printer::Printer;

/// Reads every file and says what is wrong with it; the exit code says whether any is.
pub(crate) fn run(arguments: &ValidateArgs, printer: &mut Printer) -> Result<ExitCode, CliError> {
    let scheduler = scheduler::read(&arguments.scheduler, &Source::Files(&[]), printer)?;
    let around = Surroundings {
        placement: arguments.placement.map(Into::into),
        scheduler: scheduler::profiles(&arguments.scheduler, &scheduler),
    };
    let mut said = Vec::new();
    for path in arguments.files.iter().chain(&arguments.policy) {
        said.push(match read(path) {
            Ok((file, bytes)) => {
                let (_, found) = descheduler_policy::load_for(&bytes, &file, &REGISTRY, &around);
                (bytes, found)
            }
            Err(error) => (Vec::new(), unreadable(path, &error)),
        });
    }
    let severities = |(_, diagnostics): &(Vec<u8>, Diagnostics)| {
        diagnostics.iter().map(|found| found.severity).collect::<Vec<_>>()
    };
    let severities: Vec<Severity> = said.iter().flat_map(severities).collect();
    let number = |wanted| severities.iter().filter(|severity| **severity == wanted).count();
    let (errors, warnings) = (number(Severity::Error), number(Severity::Warning));
    let fails = errors > 0 || (arguments.strict && warnings > 0);
    match arguments.output {
        Format::Json => {
            let diagnostics = said.iter().map(|(_, diagnostics)| diagnostics);
            printer.data(|out| output::validate::write(errors == 0, diagnostics, out))?;
        }
        Format::Text => {
            let coloured = printer.screen().coloured;
            let text: String = said
                .iter()
                .map(|(bytes, diagnostics)| {
                    let rendered = descheduler_policy::render(
                        diagnostics,
                        bytes,
                        crate::printer::style(coloured),
                    );
                    if rendered.is_empty() { rendered } else { rendered + "\n" }
                })
                .collect();
            let files = count(said.len(), "file");
            let verdict = if errors == 0 { "valid" } else { "not valid" };
            let numbers = format!("{}, {}", count(errors, "error"), count(warnings, "warning"));
            printer.data(|out| writeln!(out, "{text}{verdict}: {files}, {numbers}"))?;
        }
    }
    Ok(if fails { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// A file that cannot be read keeps nobody from reading the others.
fn unreadable(path: &Path, error: &CliError) -> Diagnostics {
    let mut diagnostics = Diagnostics::new(&path.display().to_string());
    diagnostics.error("unreadable-file", Span::default(), error.to_string());
    diagnostics
}

/// The name for messages and the content of a file, or of standard input for `-`.
pub(super) fn read(path: &Path) -> Result<(String, Vec<u8>), CliError> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = std::io::stdin().read_to_end(&mut bytes);
        read.context("cannot read standard input").map_err(CliError::user)?;
        return Ok(("<stdin>".to_owned(), bytes));
    }
    let file = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{file}`"));
    Ok((file, bytes.map_err(CliError::user)?))
}

/// What a command that cannot use a policy says in the end.
pub(super) fn unusable(file: &str, diagnostics: &Diagnostics, so: &str) -> CliError {
    let errors = diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    let errors = count(errors, "error");
    CliError::user(anyhow!("`{file}` cannot be used: {errors}; {so}"))
}
