//! `descheduler convert`: the v1alpha2 policy that a v1alpha1 policy stands for.

use std::process::ExitCode;

use descheduler_strategies::REGISTRY;

use super::validate::{read, unusable};
use crate::cli::ConvertArgs;
use crate::error::CliError;
use crate::printer::Printer;

/// Prints it, and says on standard error what there is to say about the old one.
pub(crate) fn run(arguments: &ConvertArgs, printer: &mut Printer) -> Result<ExitCode, CliError> {
    let path = arguments.file.as_ref().or(arguments.policy.as_ref());
    let (file, bytes) = read(path.map_or("-".as_ref(), |path| path.as_path()))?;
    let (text, diagnostics) = descheduler_policy::convert(&bytes, &file, &REGISTRY);
    printer.diagnostics(&diagnostics, &bytes);
    let text = text.ok_or_else(|| unusable(&file, &diagnostics, "nothing is converted"))?;
    printer.data(|out| out.write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}
