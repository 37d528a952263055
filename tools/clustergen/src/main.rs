//! Makes a cluster that looks like production, one JSON object a line.
//!
//! `plan` decides what there is and where each pod runs; `render` writes the objects. The shares in
//! [`Options`] say how much there is for each descheduling strategy to do.

mod json;
mod options;
mod plan;
mod render;
mod rng;
mod time;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;

use options::Options;

fn main() -> ExitCode {
    match write(&Options::parse()) {
        Ok(counts) => {
            report(&counts);
            ExitCode::SUCCESS
        }
        Err(message) => {
            report(&format!("clustergen: {message}"));
            ExitCode::FAILURE
        }
    }
}

/// Writes the cluster and says what is in it.
fn write(options: &Options) -> Result<String, String> {
    let cluster = plan::cluster(options)?;
    let fail = |error: io::Error| format!("cannot write: {error}");
    let out: Box<dyn Write> = match &options.out {
        Some(path) => Box::new(File::create(path).map_err(fail)?),
        None => Box::new(io::stdout().lock()),
    };
    let mut out = BufWriter::with_capacity(1 << 20, out);
    let counts = render::write(&cluster, options, &mut out).map_err(fail)?;
    out.flush().map_err(fail)?;
    Ok(counts)
}

/// The objects go to standard output, so what there is to say goes here.
#[expect(clippy::print_stderr, reason = "the only place that talks to the person at the terminal")]
fn report(line: &str) {
    eprintln!("{line}");
}
