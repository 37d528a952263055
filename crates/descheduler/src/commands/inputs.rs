//! What commands decide from: a policy and a cluster.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use descheduler_cluster::{Anomaly, Ingest, Snapshot};
use descheduler_engine::{Diagnostics, Placement, Policy, Profile};
use descheduler_policy::Surroundings;
use descheduler_scheduler::Scheduler;
use descheduler_strategies::REGISTRY;
use jiff::Timestamp;

use super::live::Live;
use super::{scheduler, validate};
use crate::cli::InputArgs;
use crate::error::CliError;
use crate::input;
use crate::output::{LIVE, Note, notes};
use crate::printer::Printer;
use crate::progress::Progress;

/// Where the cluster is looked at.
pub(crate) enum Source<'a> {
    /// In files.
    Files(&'a [PathBuf]),
    /// Where it runs.
    Live(Live),
}

impl<'a> Source<'a> {
    /// Files if there are any, else a live cluster.
    pub(crate) fn open(files: &'a [PathBuf], kubeconfig: Option<&Path>) -> Result<Self, CliError> {
        match (files, kubeconfig) {
            ([], None) if !Live::is_in_cluster() => {
                let error = anyhow!("neither `--cluster` nor `--kubeconfig` is given");
                Err(CliError::user(error).help(
                    "name files, as `kubectl get -A -o yaml nodes,pods,..` writes them, or a \
                     kubeconfig; in a pod of the cluster neither is needed",
                ))
            }
            ([], kubeconfig) => Live::connect(kubeconfig).map(Self::Live),
            (files, _) => Ok(Self::Files(files)),
        }
    }

    /// The version of the server, if there is or was one and it says so.
    pub(crate) fn version(&self, printer: &mut Printer) -> Option<String> {
        match self {
            Self::Files(files) => input::capture(files)?.server_version,
            Self::Live(live) => live.version(printer),
        }
    }

    /// Reads the cluster.
    pub(crate) fn world(self, now: Option<Timestamp>) -> Result<World, CliError> {
        match self {
            Self::Files(files) => World::read(files, now),
            Self::Live(live) => live.world(now),
        }
    }

    /// As messages name it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Files(files) => {
                let files: Vec<String> =
                    files.iter().map(|path| format!("`{}`", path.display())).collect();
                files.join(", ")
            }
            Self::Live(live) => format!("the cluster at {}", live.server()),
        }
    }
}

/// Reads the policy, with what flags say over it, and says everything that there is to say about
/// it. `without` is what comes of a policy that cannot be used.
pub(crate) fn policy(
    arguments: &InputArgs,
    source: &Source<'_>,
    without: &str,
    printer: &mut Printer,
) -> Result<Policy, CliError> {
    let scheduler = scheduler::read(&arguments.scheduler, source, printer)?;
    policy_for(arguments, &scheduler, without, printer)
}

/// The same where the scheduler is known, as for the second of two policies.
pub(crate) fn policy_for(
    arguments: &InputArgs,
    scheduler: &Scheduler,
    without: &str,
    printer: &mut Printer,
) -> Result<Policy, CliError> {
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    if is_stdin(&arguments.policy) && arguments.cluster.iter().any(is_stdin) {
        let error = anyhow!("`--policy` and `--cluster` cannot both be read from standard input");
        return Err(CliError::user(error).help("put one of them into a file"));
    }
    let (file, bytes) = validate::read(&arguments.policy)?;
    let (policy, diagnostics) = load(arguments, scheduler, &bytes, &file);
    printer.diagnostics(&diagnostics, &bytes);
    let policy = policy.ok_or_else(|| validate::unusable(&file, &diagnostics, without))?;
    let says = |profile: &Profile| profile.placement.or(policy.placement).is_some();
    if !policy.profiles.iter().all(says) {
        printer.note(
            "no `placement` is set, so pods move only where that is known to be better; `--placement \
             off` plans as upstream does",
        );
    }
    Ok(policy)
}

/// The policy that is in a file, with what flags say over it, and what there is to say about it.
pub(crate) fn load(
    arguments: &InputArgs,
    scheduler: &Scheduler,
    bytes: &[u8],
    file: &str,
) -> (Option<Policy>, Diagnostics) {
    let around = Surroundings {
        // Who gives the flag has decided; what does not go with placement off is said of policies.
        placement: arguments.placement.map(|_| Placement::DEFAULT),
        scheduler: scheduler::profiles(&arguments.scheduler, scheduler),
    };
    let (policy, diagnostics) = descheduler_policy::load_for(bytes, file, &REGISTRY, &around);
    let policy = policy.map(|mut policy| {
        policy.scheduler = scheduler.clone();
        if let Some(mode) = arguments.placement {
            policy.override_placement(mode.into());
        }
        policy
    });
    (policy, diagnostics)
}

/// What is known of a cluster.
pub(crate) struct World {
    /// The cluster.
    pub(crate) snapshot: Snapshot,
    /// What could not be read of it.
    pub(crate) anomalies: Vec<Anomaly>,
    /// What is worth saying about how it was read.
    pub(crate) notes: Vec<Note>,
    /// Whether it was read where it runs, now or when it was captured: of such a cluster all is
    /// known that may be.
    pub(crate) is_live: bool,
}

impl World {
    pub(crate) fn read(paths: &[PathBuf], now: Option<Timestamp>) -> Result<Self, CliError> {
        let progress = Progress::start();
        let ingest = input::read(paths, |done, total| progress.update(done, total))
            .map_err(CliError::user)?;
        Ok(Self::new(ingest, now))
    }

    /// What faults are in.
    pub(crate) fn place(&self) -> &'static str {
        if self.is_live { LIVE } else { "the cluster files" }
    }

    pub(crate) fn new(ingest: Ingest, now: Option<Timestamp>) -> Self {
        let mut notes: Vec<Note> = notes::skipped(&ingest).into_iter().collect();
        let capture = ingest.capture();
        let missing = capture.iter().flat_map(|capture| &capture.missing);
        notes.extend(missing.map(|text| Note { strategy: None, text: text.clone() }));
        let is_live = capture.is_some();
        let (snapshot, anomalies) = ingest.finish(now);
        Self { snapshot, anomalies, notes, is_live }
    }
}
