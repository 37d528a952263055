//! The descheduler binary: reads the command line, runs the command, turns the result into an exit
//! code.

mod cli;
mod commands;
mod error;
mod input;
mod output;
mod printer;
mod progress;
mod timings;

use std::process::ExitCode;

use crate::printer::Printer;

/// Reading a cluster is many small allocations, and this one is quicker at them than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut printer = Printer::new();
    match commands::run(std::env::args_os(), &mut printer) {
        Ok(code) => code,
        Err(error) => {
            printer.error(&error);
            error.exit_code().into()
        }
    }
}
