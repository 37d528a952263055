//! `validate -o json`.

use std::io::{self, Write};

use descheduler_engine::{Diagnostic, Diagnostics};
use serde::Serialize;

#[derive(Serialize)]
struct Answer<'d> {
    valid: bool,
    diagnostics: Vec<Said<'d>>,
}

#[derive(Serialize)]
struct Said<'d> {
    severity: String,
    code: &'d str,
    message: &'d str,
    file: &'d str,
    line: u32,
    column: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'d str>,
}

/// Everything that was said about some files, and whether all of them can be used.
pub(crate) fn write<'d>(
    valid: bool,
    files: impl Iterator<Item = &'d Diagnostics>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let diagnostics = files.flat_map(Diagnostics::iter).map(said).collect();
    serde_json::to_writer_pretty(&mut *out, &Answer { valid, diagnostics })?;
    writeln!(out)
}

fn said(diagnostic: &Diagnostic) -> Said<'_> {
    let Diagnostic { severity, code, message, file, span, help, related: _ } = diagnostic;
    Said {
        severity: severity.to_string(),
        code,
        message,
        file,
        line: span.line,
        column: span.column,
        help: help.as_deref(),
    }
}
