//! The HTTPS endpoint (docs/spec/runtime.md section 9): health, readiness, metrics, the latest plan.
//!
//! ```text
//!  News --> Board, .. --> site: a path -> a page
//!                          ^
//!  socket --> connections: TLS, limits --> hyper
//!                ^
//!           certificates: files that are looked at again and again, or one made at the start
//! ```
//!
//! It has a thread of its own, so that the answer to a probe does not wait while a large cluster is
//! read. Whoever asks is a stranger: everything that a client can make last or grow has a limit.

mod board;
mod certificates;
mod connections;
mod site;
mod tls;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};

use self::certificates::Certificates;
use self::connections::Connections;
use crate::observe::{Audience, News, ServingNews};
use crate::stop::{Stop, Stopper};

pub use board::{Board, Check};
pub use certificates::{CertificateError, PairFiles, SniPair};
pub use site::{Page, Site};
pub use tls::{TlsError, TlsSettings};

/// Connections that wait to be accepted.
const BACKLOG: u32 = 128;

/// Where to serve, and how.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The address; an unspecified one of version 4 stands for version 6, too.
    pub address: IpAddr,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// Whether others may listen there, too (`SO_REUSEPORT`).
    pub shares_port: bool,
    /// How connections are encrypted.
    pub tls: TlsSettings,
    /// How many streams a connection of HTTP/2 may have; `None` for HTTP/1.1 alone.
    pub http2_streams_max: Option<u32>,
    /// How long a certificate that was replaced on disk may stay in use.
    pub look_every: Duration,
}

impl Endpoint {
    /// How often files with certificates are looked at. The kubelet takes about a minute to bring a
    /// new Secret into a pod.
    pub const LOOK_EVERY: Duration = Duration::from_secs(10);
}

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The port is in use, or the address is none of this machine.
    #[error("failed to create listener: failed to listen on {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Certificates and keys.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// What is asked of TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// No thread, no events.
    #[error("cannot start the HTTPS endpoint")]
    Start(#[source] io::Error),
}

/// An endpoint that has its port and does not answer yet.
pub struct Admin {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    config: Arc<ServerConfig>,
    certificates: Arc<Certificates>,
    remarks: Vec<String>,
    endpoint: Endpoint,
}

/// An endpoint that answers until it is stopped or dropped.
pub struct Served {
    address: SocketAddr,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Admin {
    /// Takes the port and reads the certificates. Must not be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// The port cannot be had, or the settings cannot be used.
    pub fn bind(endpoint: Endpoint) -> Result<Self, AdminError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(AdminError::Start)?;
        // As upstream, the port comes first: whoever starts a second one by mistake is told that.
        let listener = {
            let _inside = runtime.enter();
            listen(&endpoint)?
        };
        let address = listener.local_addr().map_err(AdminError::Start)?;
        let (provider, versions, remarks) = endpoint.tls.chosen()?;
        let certificates = Arc::new(Certificates::read(&endpoint.tls, &provider)?);
        let http2 = endpoint.http2_streams_max.is_some();
        let config = tls::config(provider, versions, certificates.clone(), http2)?;
        let config = Arc::new(config);
        Ok(Self { runtime, listener, address, config, certificates, remarks, endpoint })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What of the settings cannot be as it was asked for, and is without danger.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Begins to answer.
    ///
    /// # Errors
    ///
    /// There is no thread to be had.
    pub fn start(self, site: Site, audience: Audience) -> Result<Served, AdminError> {
        let Self { runtime, listener, address, config, certificates, remarks: _, endpoint } = self;
        let (stopper, stop) = Stop::new();
        audience.tell(&News::Serving(ServingNews::Listening(address)));
        let connections = Connections {
            listener,
            config,
            certificates,
            look_every: endpoint.look_every,
            http2_streams_max: endpoint.http2_streams_max,
            site: Arc::new(site),
            audience,
        };
        let thread = thread::Builder::new().name("https".to_owned());
        let thread = thread.spawn(move || {
            runtime.block_on(connections.serve(stop));
            // A page that is being made keeps nobody from leaving.
            runtime.shutdown_background();
        });
        let thread = Some(thread.map_err(AdminError::Start)?);
        Ok(Served { address, stopper, thread })
    }
}

impl Served {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Answers what is being asked, for a moment, and nothing more.
impl Drop for Served {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            // If it has panicked, that was told where it happened.
            let _ = thread.join();
        }
    }
}

/// Has to be called within the runtime that will accept.
fn listen(endpoint: &Endpoint) -> Result<TcpListener, AdminError> {
    let Endpoint { address, port, shares_port, .. } = endpoint;
    let asked = SocketAddr::new(*address, *port);
    let open = |address: SocketAddr| {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // As Go does: a port that somebody has just left can be had.
        socket.set_reuseaddr(true)?;
        socket.set_reuseport(*shares_port)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    let both = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), *port);
    let listener = match open(if *address == Ipv4Addr::UNSPECIFIED { both } else { asked }) {
        // A machine without IPv6.
        Err(error) if asked.is_ipv4() && error.kind() != io::ErrorKind::AddrInUse => open(asked),
        other => other,
    };
    listener.map_err(|source| AdminError::Listen { address: asked, source })
}

/// The files of a certificate that is given by `--tls-cert-file` and `--tls-private-key-file`.
impl PairFiles {
    /// Both are needed.
    ///
    /// # Errors
    ///
    /// One is missing.
    pub fn new(cert: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<Self>, TlsError> {
        match (cert, key) {
            (Some(cert), Some(key)) => Ok(Some(Self { cert, key })),
            (None, None) => Ok(None),
            (Some(_), None) => Err(TlsError::Half("--tls-private-key-file")),
            (None, Some(_)) => Err(TlsError::Half("--tls-cert-file")),
        }
    }
}
