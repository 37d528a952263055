//! `descheduler report`: a plan as one page of HTML. Changes nothing.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use descheduler_engine::{History, Open, plan};

use super::inputs::{self, Source};
use super::{history, plan as plans};
use crate::capture::Target;
use crate::cli::{ReportArgs, ReportFormat};
use crate::error::CliError;
use crate::output::{Outcome, html};
use crate::printer::Printer;
use crate::timings::StrategyClock;

/// Makes the plan and writes the page.
pub(crate) fn run(arguments: &ReportArgs, printer: &mut Printer) -> Result<ExitCode, CliError> {
    let ReportArgs { file, inputs, history: remembered, output: ReportFormat::Html } = arguments;
    let history = remembered.as_deref().map_or_else(|| Ok(History::default()), history::read)?;
    let source = Source::open(&inputs.cluster, inputs.kubeconfig.as_deref())?;
    let policy = inputs::policy(inputs, &source, "nothing is reported", printer)?;
    let world = source.world(inputs.now)?;
    let history = history.seen(&world.snapshot, policy.loop_breaker, &Open::default());
    let plan = plan(&world.snapshot, &policy, &history, &mut StrategyClock::default());
    plans::hold_sound(&plan, &world.snapshot, &policy, printer)?;
    let page = html::page(&Outcome::new(&world, &policy, &plan)).map_err(CliError::bug)?;
    match file.as_deref().filter(|path| *path != Path::new("-")) {
        None => printer.data(|out| out.write_all(page.as_bytes()))?,
        Some(path) => keep(path, &page).map_err(|error| {
            let error = anyhow!(error).context(format!("cannot write `{}`", path.display()));
            CliError::user(error)
        })?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Leaves a page that is whole, or what was there before.
fn keep(path: &Path, page: &str) -> io::Result<()> {
    let mut target = Target::create(path)?;
    match io::Write::write_all(&mut target, page.as_bytes()) {
        Ok(()) => target.finish(),
        Err(error) => {
            target.discard();
            Err(error)
        }
    }
}
