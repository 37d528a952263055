//! Development tasks: `cargo xtask test`.

mod test;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => test::run(),
        _ => Err(anyhow::anyhow!("usage: cargo xtask test")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The only place that prints.
#[expect(clippy::print_stdout, reason = "a task talks to the person who started it")]
fn report(line: &str) {
    println!("{line}");
}
