//! `descheduler place`: where the scheduler could put a pod now, how well, and why not elsewhere.

mod cases;

use std::process::ExitCode;

use anyhow::anyhow;
use descheduler_cluster::{PodId, Snapshot};
use descheduler_engine::did_you_mean;
use descheduler_scheduler::{Model, PodRef, Scheduler};

use super::inputs::Source;
use super::scheduler;
use crate::cli::{Format, PlaceArgs};
use crate::error::CliError;
use crate::output::place::{Answer, write_json};
use crate::output::text::place::write;
use crate::printer::Printer;

/// Answers for one pod of a cluster, or for each of many cases.
pub(crate) fn run(arguments: &PlaceArgs, printer: &mut Printer) -> Result<ExitCode, CliError> {
    let PlaceArgs { cluster, kubeconfig, pod, cases, scheduler, now: _, output } = arguments;
    match (cases, pod) {
        (Some(path), _) => {
            let scheduler = scheduler::read(scheduler, &Source::Files(&[]), printer)?;
            if *output == Some(Format::Text) {
                return Err(CliError::user(anyhow!("cases are answered in JSON only"))
                    .help("use `-o json`, or leave `-o` out"));
            }
            cases::run(path, &scheduler, printer)?;
        }
        (None, Some(pod)) => {
            let source = Source::open(cluster, kubeconfig.as_deref())?;
            let scheduler = scheduler::read(scheduler, &source, printer)?;
            one(arguments, source, pod, &scheduler, printer)?;
        }
        // Not reached: the command line has to name one of the two.
        (None, None) => return Err(CliError::user(anyhow!("`--pod` is missing"))),
    }
    Ok(ExitCode::SUCCESS)
}

/// The pod as if it were pending: without the place that it has.
fn one(
    arguments: &PlaceArgs,
    source: Source<'_>,
    name: &str,
    scheduler: &Scheduler,
    printer: &mut Printer,
) -> Result<(), CliError> {
    let place = source.name();
    let world = source.world(arguments.now)?;
    let snapshot = &world.snapshot;
    let id = find(snapshot, name).ok_or_else(|| unknown_pod(snapshot, name, &place))?;
    let model = Model::new(snapshot, scheduler);
    let pod = PodRef::of(snapshot, id).unbound();
    if pod.spec.gated {
        let error =
            anyhow!("the pod `{name}` has scheduling gates, so the scheduler leaves it alone");
        return Err(CliError::user(error).help("ask again when `spec.schedulingGates` is empty"));
    }
    let Some(profile) = model.profile_of(&pod) else {
        return Err(no_profile(snapshot, &pod));
    };
    let mut occupancy = model.occupancy();
    occupancy.remove(id);
    let placement = model.place(profile, &mut occupancy, &pod, true);
    let winners = model.winners(profile, &placement);
    let answer = Answer {
        snapshot,
        id: name,
        version: scheduler.version,
        profile: &profile.scheduler_name,
        placement: &placement,
        winners: &winners,
    };
    if !world.anomalies.is_empty() {
        let faults = crate::output::layout::count(world.anomalies.len(), "fault");
        printer.note(format!("{faults} in {}; `descheduler plan` names them", world.place()));
    }
    if world.is_live {
        world.notes.iter().for_each(|note| printer.note(&note.text));
    }
    let screen = printer.screen();
    printer.data(|out| match arguments.output.unwrap_or(Format::Text) {
        Format::Json => write_json(&answer, out),
        Format::Text => write(&answer, screen, out),
    })
}

pub(super) fn find(snapshot: &Snapshot, name: &str) -> Option<PodId> {
    let (namespace, name) = name.split_once('/')?;
    let is_it = |id: &PodId| {
        let pod = snapshot.pod(*id);
        *pod.name == *name && snapshot.text(pod.namespace) == namespace
    };
    snapshot.pods().iter().copied().find(is_it)
}

pub(super) fn unknown_pod(snapshot: &Snapshot, name: &str, place: &str) -> CliError {
    // Whoever forgot the namespace knows the name.
    let bare = name.rsplit('/').next().unwrap_or(name);
    let pods = snapshot.pods().iter().copied();
    let namesake = pods.clone().find(|&id| *snapshot.pod(id).name == *bare);
    let namesake = namesake.map(|id| format!("did you mean `{}`?", snapshot.pod_name(id)));
    if !name.contains('/') {
        return CliError::user(anyhow!("expected a pod with its namespace, found `{name}`"))
            .help(namesake.unwrap_or_else(|| format!("write `default/{name}`")));
    }
    let error = CliError::user(anyhow!("there is no pod `{name}` in {place}"));
    let names: Vec<String> = pods.map(|id| snapshot.pod_name(id)).collect();
    let close = || did_you_mean(name, names.iter().map(String::as_str));
    match namesake.or_else(close) {
        Some(help) => error.help(help),
        None => error,
    }
}

/// No profile serves the pod.
fn no_profile(snapshot: &Snapshot, pod: &PodRef<'_>) -> CliError {
    let name = snapshot.text(pod.spec.scheduler_name);
    CliError::user(anyhow!("no profile is called `{name}`, as the pod's `schedulerName` says"))
        .help("where another scheduler would put it is not known")
}
