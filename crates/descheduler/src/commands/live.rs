//! A live cluster in place of files.

use std::io;
use std::path::Path;

use anyhow::{Context, anyhow};
use descheduler_controller::{
    Api, CallError, ConnectError, Dump, DumpError, Options, Rate, Resource, Settings, Stores,
    SyncError, clock, connect, dump, user_agent,
};
use jiff::Timestamp;
use tokio::runtime::{Builder, Runtime};

use super::inputs::World;
use crate::error::CliError;
use crate::output::notes;
use crate::printer::Printer;

/// So often in a row a kind may fail to be read, which takes some six seconds.
const ATTEMPTS_MAX: u32 = 4;

/// A cluster that can be asked.
pub(crate) struct Live {
    pub(crate) runtime: Runtime,
    pub(crate) api: Api,
}

impl Live {
    /// Whether this is a pod that can ask the cluster that it runs in.
    pub(crate) fn is_in_cluster() -> bool {
        std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
    }

    /// Finds the way to the cluster of a kubeconfig, or to the one that this is a pod of.
    pub(crate) fn connect(kubeconfig: Option<&Path>) -> Result<Self, CliError> {
        Self::connect_at(kubeconfig, Some(Rate::COMMAND))
    }

    /// The same, asking no faster than this.
    pub(crate) fn connect_at(
        kubeconfig: Option<&Path>,
        rate: Option<Rate>,
    ) -> Result<Self, CliError> {
        // Reading a cluster is one stream after the other into one store: a second thread would
        // only wait for the first.
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("cannot start").map_err(CliError::environment)?;
        let settings = Settings {
            kubeconfig: kubeconfig.map(Path::to_owned),
            rate,
            user_agent: user_agent(env!("CARGO_PKG_VERSION")),
        };
        let api = runtime.block_on(connect(&settings)).map_err(|error| match error {
            ConnectError::Kubeconfig { .. } | ConnectError::Client { .. } => CliError::user(error),
            ConnectError::InCluster(_) | ConnectError::UserAgent(..) => {
                CliError::environment(error)
            }
        })?;
        Ok(Self { runtime, api })
    }

    /// Its address.
    pub(crate) fn server(&self) -> &str {
        self.api.server()
    }

    /// The version of the server. That it may not be read is said; whatever else is wrong is left
    /// to the requests that matter.
    pub(crate) fn version(&self, printer: &mut Printer) -> Option<String> {
        match self.runtime.block_on(self.api.version()) {
            Ok(version) => Some(version),
            Err(CallError::Status { code: 403, .. }) => {
                printer.note(
                    "the server does not tell its version; `--scheduler-version` sets that of its \
                     scheduler",
                );
                None
            }
            Err(_) => None,
        }
    }

    /// The version of the server, if it tells.
    pub(crate) fn told_version(&self) -> Option<String> {
        self.runtime.block_on(self.api.version()).ok()
    }

    /// Hands on every object that a plan needs.
    pub(crate) fn dump(
        self,
        each: impl FnMut(&'static Resource, &[u8]) -> io::Result<()>,
    ) -> Result<Dump, DumpError> {
        let Self { runtime, api } = self;
        runtime.block_on(dump(&api, ATTEMPTS_MAX, each))
    }

    /// Reads everything that a plan needs.
    pub(crate) fn world(self, now: Option<Timestamp>) -> Result<World, CliError> {
        let Self { runtime, api } = self;
        let read = async {
            let stores = Stores::start(&api, Options { metrics: true });
            stores.into_world(now.unwrap_or_else(clock::now), ATTEMPTS_MAX).await
        };
        let world = runtime.block_on(read).map_err(failed)?;
        let notes = notes::unreadable(&world.missing).collect();
        let descheduler_controller::World { snapshot, anomalies, missing: _ } = world;
        Ok(World { snapshot, anomalies, notes, is_live: true })
    }
}

/// Who can do something about a cluster that cannot be read.
pub(super) fn failed(error: SyncError) -> CliError {
    let resource = error.resource.clone();
    match error.code {
        Some(401) => {
            CliError::user(anyhow!(error)).help("the credentials are not accepted; renew them")
        }
        Some(403) => CliError::user(anyhow!(error))
            .help(format!("grant the verbs `list` and `watch` on `{resource}` in a ClusterRole")),
        Some(404 | 405) => {
            CliError::user(anyhow!(error)).help("is this the address of a Kubernetes API server?")
        }
        _ => CliError::environment(anyhow!(error)),
    }
}
