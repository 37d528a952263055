//! `descheduler version`: one line in the form that upstream prints it in
//! (docs/spec/runtime.md section 1.7).

use std::env::consts::{ARCH, OS};
use std::process::ExitCode;

use crate::error::CliError;
use crate::printer::Printer;

/// Prints the version.
pub(crate) fn run(printer: &mut Printer) -> Result<ExitCode, CliError> {
    let line = line(env!("CARGO_PKG_VERSION"), OS, ARCH);
    printer.data(|out| writeln!(out, "{line}"))?;
    Ok(ExitCode::SUCCESS)
}

/// The fields are upstream's, for those that take it apart; what is not known of a build is empty,
/// as it is there. `Minor` is minor and patch.
fn line(version: &str, system: &str, processor: &str) -> String {
    let (major, minor) = version.split_once('.').unwrap_or((version, ""));
    // As Go names them.
    let system = if system == "macos" { "darwin" } else { system };
    let processor = match processor {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!(
        "Descheduler version {{Major:{major} Minor:{minor} GitVersion:v{version} GitBranch: GitSha1: \
         BuildDate: GoVersion: Compiler:rustc Platform:{system}/{processor}}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_as_upstream_tells_it() {
        assert_eq!(
            line("1.2.3", "macos", "aarch64"),
            "Descheduler version {Major:1 Minor:2.3 GitVersion:v1.2.3 GitBranch: GitSha1: BuildDate: \
             GoVersion: Compiler:rustc Platform:darwin/arm64}"
        );
    }
}
