//! `descheduler capture`: everything that plans are made from, in one file. Changes nothing.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use descheduler_cluster::{Capture, Redactor};
use descheduler_controller::{DumpError, clock};

use super::inputs::Source;
use super::live;
use crate::capture::{Collector, Layout, Summary, Target, Writer};
use crate::cli::CaptureArgs;
use crate::error::CliError;
use crate::input;
use crate::output::layout::count;
use crate::printer::Printer;

/// Writes the capture.
pub(crate) fn run(arguments: &CaptureArgs, printer: &mut Printer) -> Result<ExitCode, CliError> {
    let CaptureArgs { file, cluster, kubeconfig, output, redact, policy, now: _ } = arguments;
    let source = Source::open(cluster, kubeconfig.as_deref())?;
    let kept = match policy {
        Some(path) => fs::read_to_string(path)
            .with_context(|| format!("cannot read `{}`", path.display()))
            .map_err(CliError::user)?,
        None => String::new(),
    };
    let redactor = redact.then(|| Redactor::new(&kept));
    let mut said = Vec::new();
    let file = file.as_deref().filter(|path| *path != Path::new("-"));
    let summary = match file {
        None => {
            let layout = output.unwrap_or(Layout::Json);
            let mut done = None;
            printer.data(|out| {
                let work = work(arguments, source, redactor, (out, layout), &mut said);
                // That nobody wants the rest of it is no error, and known by who calls this.
                let (failed, work) = match work {
                    Err(Failure::Write(error)) => (Err(error), None),
                    Err(Failure::Other(error)) => (Ok(()), Some(Err(error))),
                    Ok(summary) => (Ok(()), Some(Ok(summary))),
                };
                done = work;
                failed
            })?;
            done.transpose()?
        }
        Some(path) => {
            let layout = output.unwrap_or_else(|| Target::layout_of(path));
            let failed = |error: io::Error| {
                let error = anyhow!(error).context(format!("cannot write `{}`", path.display()));
                CliError::user(error)
            };
            let mut target = Target::create(path).map_err(failed)?;
            match work(arguments, source, redactor, (&mut target, layout), &mut said) {
                Ok(summary) => {
                    target.finish().map_err(failed)?;
                    Some(summary)
                }
                Err(failure) => {
                    target.discard();
                    return Err(match failure {
                        Failure::Write(error) => failed(error),
                        Failure::Other(error) => error,
                    });
                }
            }
        }
    };
    said.iter().for_each(|text| printer.note(text));
    if let Some(summary) = summary {
        tell(&summary, file, *redact, printer);
    }
    Ok(ExitCode::SUCCESS)
}

/// Why there is no capture.
enum Failure {
    Write(io::Error),
    Other(CliError),
}

impl From<CliError> for Failure {
    fn from(error: CliError) -> Self {
        Self::Other(error)
    }
}

/// Reads the objects and writes them; `said` is what is worth telling besides.
fn work(
    arguments: &CaptureArgs,
    source: Source<'_>,
    redactor: Option<Redactor>,
    (out, layout): (&mut dyn Write, Layout),
    said: &mut Vec<String>,
) -> Result<Summary, Failure> {
    let writer = Writer::new(out, layout);
    let is_redacted = redactor.is_some();
    let mut missing = Vec::new();
    let taken_at = arguments.now;
    let collector = match source {
        Source::Files(files) => {
            let header = Capture { taken_at, ..Capture::default() };
            let mut collector = Collector::new(writer, header, redactor);
            input::read_into(files, &mut collector, |_, _| ()).map_err(CliError::user)?;
            collector
        }
        Source::Live(live) => {
            let taken_at = Some(taken_at.unwrap_or_else(clock::now));
            let header =
                Capture { taken_at, server_version: live.told_version(), ..Capture::default() };
            let mut collector = Collector::new(writer, header, redactor);
            let dump = live.dump(|resource, json| {
                collector.object(Some(&resource.api_version()), resource.kind.name(), json)
            });
            let dump = dump.map_err(|error| match error {
                DumpError::Read(error) => Failure::Other(live::failed(error)),
                DumpError::Write(error) => Failure::Write(error),
            })?;
            for one in &dump.missing {
                let text = format!("no right to read {}, so {}", one.resource, one.without);
                // What the server says names whoever asked.
                missing.push(match is_redacted {
                    true => text.clone(),
                    false => format!("{text}; {}", one.problem),
                });
                said.push(format!("{text}; {}", one.problem));
            }
            for resource in &dump.torn {
                said.push(format!(
                    "{} changed while they were read, so not all of them are of one moment",
                    resource.name()
                ));
            }
            collector
        }
    };
    // Seeded by the system, and forgotten.
    let seed = RandomState::new().hash_one(0);
    collector.finish(missing, seed).map_err(Failure::Write)
}

fn tell(summary: &Summary, file: Option<&Path>, is_redacted: bool, printer: &mut Printer) {
    let Summary { taken, skipped } = summary;
    let mut text = count(*taken, "object");
    if *skipped > 0 {
        text += &format!(" and not {skipped} others, which no rule looks at");
    }
    match file {
        Some(path) => {
            let path = path.display();
            printer
                .note(format!("captured {text}; `descheduler plan --cluster {path}` reads them"));
        }
        None => printer.note(format!("captured {text}")),
    }
    if !is_redacted {
        printer.note(
            "names, labels and what containers are started with are in it; `--redact` \
                      leaves them out",
        );
    }
}
