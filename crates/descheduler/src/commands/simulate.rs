//! `descheduler simulate`: many cycles on the model cluster. Changes nothing.

use std::mem;
use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use descheduler_cluster::Snapshot;
use descheduler_engine::Policy;
use descheduler_sim::{
    NODES_TOO_MANY, Options, Outcomes, Pace, Run, Unsound, every_outcome, simulate,
};

use super::inputs::{self, Source, World};
use crate::cli::{Format, InputArgs, SimulateArgs};
use crate::error::CliError;
use crate::output;
use crate::printer::Printer;

/// What comes of a policy that cannot be used.
const WITHOUT: &str = "nothing is simulated";

/// One policy and what came of it.
pub(crate) struct Simulated {
    /// The file of the policy, as it was given.
    pub(crate) file: String,
    pub(crate) policy: Policy,
    pub(crate) run: Run,
}

/// All that there is to print.
pub(crate) struct Simulation {
    pub(crate) options: Options,
    pub(crate) main: Simulated,
    pub(crate) other: Option<Simulated>,
    pub(crate) outcomes: Option<Outcomes>,
}

/// Simulates and prints what happened.
pub(crate) fn run(arguments: &SimulateArgs, printer: &mut Printer) -> Result<ExitCode, CliError> {
    let SimulateArgs { inputs, compare, cycles, interval, seed, exhaustive, output } = arguments;
    let source = Source::open(&inputs.cluster, inputs.kubeconfig.as_deref())?;
    let main = inputs::policy(inputs, &source, WITHOUT, printer)?;
    let other = match compare {
        Some(path) => {
            let inputs = InputArgs { policy: path.clone(), ..inputs.clone() };
            Some((path, inputs::policy_for(&inputs, &main.scheduler, WITHOUT, printer)?))
        }
        None => None,
    };
    let world = source.world(inputs.now)?;
    for note in output::notes::missing(&world.snapshot).iter().chain(&world.notes) {
        printer.note(&note.text);
    }
    for anomaly in &world.anomalies {
        printer.note(anomaly);
    }
    let options = Options {
        cycles_max: *cycles,
        pace: Pace { interval: *interval, ..Pace::default() },
        seed: *seed,
    };
    let outcomes = match exhaustive {
        true => Some(every(&world.snapshot, &main, options, printer)?),
        false => None,
    };
    let World { snapshot, .. } = world;
    let (snapshot, other) = match other {
        Some((path, policy)) => {
            let copy = snapshot.clone();
            (snapshot, Some(simulated(path, policy, copy, options, printer)?))
        }
        None => (snapshot, None),
    };
    let main = simulated(&inputs.policy, main, snapshot, options, printer)?;
    let simulation = Simulation { options, main, other, outcomes };
    let screen = printer.screen();
    printer.data(|out| match output {
        Format::Text => output::text::simulate::write(&simulation, screen, out),
        Format::Json => output::simulate::write(&simulation, out),
    })?;
    // As in `plan`, the system gives the memory back sooner than we could.
    mem::forget(simulation);
    Ok(ExitCode::SUCCESS)
}

fn simulated(
    path: &Path,
    policy: Policy,
    snapshot: Snapshot,
    options: Options,
    printer: &mut Printer,
) -> Result<Simulated, CliError> {
    let run =
        simulate(snapshot, &policy, options).map_err(|unsound| not_sound(&unsound, printer))?;
    Ok(Simulated { file: path.display().to_string(), policy, run })
}

fn every(
    snapshot: &Snapshot,
    policy: &Policy,
    options: Options,
    printer: &mut Printer,
) -> Result<Outcomes, CliError> {
    let nodes = snapshot.nodes().len();
    if nodes >= NODES_TOO_MANY {
        let error = anyhow!("`--exhaustive` is for small clusters, and this one has {nodes} nodes");
        let help = format!(
            "try several values of `--seed`; below {NODES_TOO_MANY} nodes every choice can be followed"
        );
        return Err(CliError::user(error).help(help));
    }
    every_outcome(snapshot.clone(), policy, options).map_err(|unsound| not_sound(&unsound, printer))
}

fn not_sound(unsound: &Unsound, printer: &mut Printer) -> CliError {
    let Unsound { cycle, violations } = unsound;
    for violation in violations {
        printer.violation(violation);
    }
    CliError::bug(anyhow!("the plan of cycle {cycle} is not sound, so nothing is printed"))
}
