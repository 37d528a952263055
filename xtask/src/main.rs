//! Development tasks: `cargo xtask test|tidy|codegen|bench|oracle|e2e|swarm`.

mod bench;
mod codegen;
mod e2e;
mod oracle;
mod swarm;
mod test;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Development tasks.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Everything that must pass before a change lands.
    Test,
    /// Checks the layout of the repository and rules that no other tool knows.
    Tidy,
    /// Writes what is made from the sources: manual pages, JSON Schema.
    Codegen {
        /// Only says whether something is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Measures reading and planning on generated clusters.
    Bench(bench::Options),
    /// Compares the scheduler model with the plugins of the real kube-scheduler.
    Oracle(oracle::Options),
    /// Plays scenarios on a real control plane.
    E2e(e2e::Options),
    /// Plays random clusters in which everything goes wrong that can.
    Swarm(swarm::Options),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().task {
        Task::Test => return test::run(),
        Task::Tidy => tidy::run(&root()),
        Task::Codegen { check: false } => codegen::write(&root()),
        Task::Codegen { check: true } => codegen::check(&root()),
        Task::Bench(options) => bench::run(&root(), &options),
        Task::Oracle(options) => oracle::run(&root(), options),
        Task::E2e(options) => e2e::run(&root(), &options),
        Task::Swarm(options) => swarm::run(&root(), &options),
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_are_read() {
        let read = |line: &str| Cli::try_parse_from(line.split(' ')).map(|cli| cli.task);
        for right in [
            "xtask codegen --check",
            "xtask bench --sizes 10,20/70 --runs 2",
            "xtask oracle --cases 5 --seeds 1,2 --versions 1.34,1.37 --release",
            "xtask oracle --file cases.jsonl",
            "xtask e2e 12- --release --keep",
            "xtask e2e --list",
            "xtask swarm --seeds 20000 --from 7 --release",
        ] {
            assert!(read(right).is_ok(), "{right}");
        }
        for wrong in [
            "xtask",
            "xtask bench --sizes many",
            "xtask bench --runs 0",
            "xtask oracle --versions 1.3",
            "xtask swarm --seeds 0",
            "xtask oracle --file cases.jsonl --seeds 1",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
