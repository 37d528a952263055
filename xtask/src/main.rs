//! Development tasks: `cargo xtask test|tidy|codegen|bench|oracle`.

mod bench;
mod codegen;
mod oracle;
mod test;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask test | tidy | codegen [--check] | \
                     bench [--sizes NODES/PODS,..] [--runs N] | \
                     oracle [--cases N] [--seeds N,..] [--file CASES] [--versions 1.36,..] \
                     [--release]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => return test::run(),
        ["tidy"] => tidy::run(&root()),
        ["codegen"] => codegen::write(&root()),
        ["codegen", "--check"] => codegen::check(&root()),
        ["bench", ref options @ ..] => bench::run(&root(), options),
        ["oracle", ref options @ ..] => oracle::run(&root(), options),
        _ => Err(anyhow::anyhow!(USAGE)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The folder of the workspace. The task is always run from the sources that it was built from.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// The only place that prints.
#[expect(clippy::print_stdout, reason = "a task talks to the person who started it")]
fn report(line: &str) {
    println!("{line}");
}
