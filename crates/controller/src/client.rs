//! The way to an API server.

use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::Config;
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::api::Api;

/// Who does not answer the telephone by then is not at home.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How to reach a cluster, and how hard.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file that says where the cluster is and who we are; without one we are a pod of the
    /// cluster itself.
    pub kubeconfig: Option<PathBuf>,
    /// How fast requests may follow each other; `None` for as fast as they come.
    pub rate: Option<Rate>,
    /// Who we say that we are.
    pub user_agent: String,
}

/// Requests a second, and how many may come at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Above zero.
    pub per_second: f32,
    /// At least one.
    pub burst: u32,
}

impl Rate {
    /// What client-go does when it is told nothing.
    pub const DEFAULT: Self = Self { per_second: 5.0, burst: 10 };
    /// What a command may do that reads once and ends.
    pub const COMMAND: Self = Self { per_second: 50.0, burst: 100 };
}

/// Why there is no way to the cluster.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The file cannot be read, or what it says does not fit together.
    #[error("cannot use the kubeconfig `{path}`")]
    Kubeconfig {
        /// The file as given.
        path: String,
        /// What is wrong.
        source: Box<kube::config::KubeconfigError>,
    },
    /// There is no service account to use.
    #[error("cannot use the service account of this pod")]
    InCluster(#[source] Box<kube::config::InClusterError>),
    /// Certificates, proxies, credentials.
    #[error("cannot set up the connection to `{server}`")]
    Client {
        /// The address of the API server.
        server: String,
        /// What is wrong.
        source: Box<kube::Error>,
    },
    /// Not what an HTTP header may hold.
    #[error("cannot send the user agent `{0}`")]
    UserAgent(String, #[source] http::header::InvalidHeaderValue),
}

/// Reads how to reach the cluster. Nothing is sent yet, but a plugin for credentials may run.
///
/// Certificates, tokens (read anew as they are replaced), plugins for credentials and proxies are
/// as the kubeconfig or the service account have them.
///
/// # Errors
///
/// The configuration cannot be used.
pub async fn connect(settings: &Settings) -> Result<Api, ConnectError> {
    let mut config = configuration(settings).await?;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    // An eviction that a budget forbids is answered with 429, and sending it again and again is
    // not how to take a no. Who wants to ask again does so where it is known what for.
    config.default_retry = false;
    let user_agent = HeaderValue::from_str(&settings.user_agent)
        .map_err(|error| ConnectError::UserAgent(settings.user_agent.clone(), error))?;
    config.headers.push((USER_AGENT, user_agent));
    let server = config.cluster_url.to_string();
    let builder = ClientBuilder::try_from(config).map_err(|source| ConnectError::Client {
        server: server.clone(),
        source: Box::new(source),
    })?;
    let api = Api::new(builder.build(), server);
    Ok(match settings.rate {
        Some(rate) => api.limited(rate),
        None => api,
    })
}

async fn configuration(settings: &Settings) -> Result<Config, ConnectError> {
    let Some(path) = &settings.kubeconfig else {
        return Config::incluster().map_err(|error| ConnectError::InCluster(Box::new(error)));
    };
    let unusable = |error| ConnectError::Kubeconfig {
        path: path.display().to_string(),
        source: Box::new(error),
    };
    let file = Kubeconfig::read_from(path).map_err(unusable)?;
    Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.map_err(unusable)
}

/// What clients of Kubernetes say of themselves: `descheduler/1.2.3 (linux/amd64)`.
pub fn user_agent(version: &str) -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("descheduler/{version} ({}/{arch})", std::env::consts::OS)
}
