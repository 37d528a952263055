//! The descheduler binary: reads the command line, runs the command, turns the result into an exit
//! code.

mod capture;
mod cli;
mod commands;
mod error;
mod input;
mod logger;
mod output;
mod printer;
mod progress;
mod timings;

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use anyhow::anyhow;

use crate::error::CliError;
use crate::printer::Printer;

/// Reading a cluster is many small allocations, and this one is quicker at them than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut printer = Printer::new();
    let run = || commands::run(std::env::args_os(), &mut printer);
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    let outcome =
        outcome.unwrap_or_else(|_| Err(CliError::bug(anyhow!("something failed inside"))));
    outcome.unwrap_or_else(|error| {
        printer.error(&error);
        error.exit_code().into()
    })
}
