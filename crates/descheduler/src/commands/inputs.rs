//! What commands decide from: a policy and a cluster.

use std::path::PathBuf;

use anyhow::anyhow;
use descheduler_cluster::{Anomaly, Ingest, Snapshot};
use descheduler_engine::{Placement, Policy, Profile};
use descheduler_policy::Surroundings;
use descheduler_strategies::REGISTRY;
use jiff::Timestamp;

use super::{scheduler, validate};
use crate::cli::InputArgs;
use crate::error::CliError;
use crate::input;
use crate::output::{Note, notes};
use crate::printer::Printer;
use crate::progress::Progress;

/// Reads the policy, with what flags say over it, and says everything that there is to say about
/// it. `without` is what comes of a policy that cannot be used.
pub(crate) fn policy(
    arguments: &InputArgs,
    without: &str,
    printer: &mut Printer,
) -> Result<Policy, CliError> {
    refuse_what_is_not_there(arguments)?;
    let scheduler = scheduler::read(&arguments.scheduler, printer)?;
    let around = Surroundings {
        // Who gives the flag has decided; what does not go with placement off is said of policies.
        placement: arguments.placement.map(|_| Placement::DEFAULT),
        scheduler: scheduler::profiles(&arguments.scheduler, &scheduler),
    };
    let (file, bytes) = validate::read(&arguments.policy)?;
    let (policy, diagnostics) = descheduler_policy::load_for(&bytes, &file, &REGISTRY, &around);
    printer.diagnostics(&diagnostics, &bytes);
    let mut policy = policy.ok_or_else(|| validate::unusable(&file, &diagnostics, without))?;
    policy.scheduler = scheduler;
    if let Some(mode) = arguments.placement {
        policy.override_placement(mode.into());
    }
    let says = |profile: &Profile| profile.placement.or(policy.placement).is_some();
    if !policy.profiles.iter().all(says) {
        printer.note(
            "no `placement` is set, so pods move only where that is known to be better; `--placement \
             off` plans as upstream does",
        );
    }
    Ok(policy)
}

/// Reads the cluster.
pub(crate) fn world(arguments: &InputArgs) -> Result<World, CliError> {
    World::read(&arguments.cluster, arguments.now)
}

/// Flags of which we know what they will mean.
fn refuse_what_is_not_there(arguments: &InputArgs) -> Result<(), CliError> {
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    if is_stdin(&arguments.policy) && arguments.cluster.iter().any(is_stdin) {
        let error = anyhow!("`--policy` and `--cluster` cannot both be read from standard input");
        return Err(CliError::user(error).help("put one of them into a file"));
    }
    match arguments.kubeconfig {
        Some(_) => Err(CliError::user(anyhow!("`--kubeconfig` is not there yet"))
            .help("plans are made from files, given with `--cluster`")),
        None => Ok(()),
    }
}

/// What is known of a cluster.
pub(crate) struct World {
    /// The cluster.
    pub(crate) snapshot: Snapshot,
    /// What could not be read of it.
    pub(crate) anomalies: Vec<Anomaly>,
    /// What was given besides what any rule looks at.
    pub(crate) skipped: Option<Note>,
}

impl World {
    pub(crate) fn read(paths: &[PathBuf], now: Option<Timestamp>) -> Result<Self, CliError> {
        let progress = Progress::start();
        let ingest = input::read(paths, |done, total| progress.update(done, total))
            .map_err(CliError::user)?;
        Ok(Self::new(ingest, now))
    }

    pub(crate) fn new(ingest: Ingest, now: Option<Timestamp>) -> Self {
        let skipped = notes::skipped(&ingest);
        let (snapshot, anomalies) = ingest.finish(now);
        Self { snapshot, anomalies, skipped }
    }
}
