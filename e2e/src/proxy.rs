//! A way to an API server on which things go wrong exactly when they are wanted to.
//!
//! It ends the client's TLS with the certificate of the API server's own address and speaks TLS to
//! the server in turn.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::access::Account;
use crate::cluster::PATIENCE;
use crate::plane::Plane;
use crate::runtime;

/// What is passed on at once.
const PIECE_BYTES: usize = 64 << 10;

/// What is to go wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fault {
    /// Every piece of an answer is late by so much.
    pub(crate) delay: Duration,
    /// The next so many answers to evictions never arrive: the connection is cut instead, once the
    /// server has answered.
    pub(crate) lost_evictions: usize,
    /// Evictions do not get through to the server before this is over.
    pub(crate) holds_evictions: bool,
}

/// A proxy in front of a plane's first API server; it ends when this is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    state: State,
    task: AbortHandle,
}

/// What all connections share.
#[derive(Clone)]
struct State {
    fault: Arc<watch::Sender<Fault>>,
    /// How many evictions were held so far.
    held: Arc<watch::Sender<usize>>,
}

impl Proxy {
    /// Begins to listen.
    pub(crate) fn start(plane: &Plane, fault: Fault) -> Result<Self> {
        let certificates = plane.folder().join("certs");
        let server = plane.address("apiserver-0")?;
        let ends = Ends { accept: acceptor(&certificates)?, connect: connector(&certificates)? };
        let state = State {
            fault: Arc::new(watch::Sender::new(fault)),
            held: Arc::new(watch::Sender::new(0)),
        };
        let shared = state.clone();
        let (address, task) = runtime::wait(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.context("listen")?;
            let address = listener.local_addr().context("listen")?;
            let task = tokio::spawn(async move {
                while let Ok((client, _)) = listener.accept().await {
                    let one = relay(client, server.clone(), ends.clone(), shared.clone());
                    // A connection that ends badly is what this is for.
                    tokio::spawn(one);
                }
            });
            Ok((address, task.abort_handle()))
        })?;
        Ok(Self { address, state, task })
    }

    /// Where it listens.
    pub(crate) fn server(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Changes what goes wrong.
    pub(crate) fn set(&self, fault: Fault) {
        self.state.fault.send_replace(fault);
    }

    /// Waits until so many evictions are held.
    pub(crate) fn wait_held(&self, count: usize) -> Result<()> {
        let mut held = self.state.held.subscribe();
        runtime::wait(async move {
            let enough = timeout(PATIENCE, held.wait_for(|held| *held >= count)).await;
            enough.context("no eviction arrives at the proxy")??;
            Ok(())
        })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Both sides of TLS.
#[derive(Clone)]
struct Ends {
    accept: TlsAcceptor,
    connect: TlsConnector,
}

impl Ends {
    async fn server(&self, address: &str) -> Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from("127.0.0.1")?;
        Ok(self.connect.connect(name, TcpStream::connect(address).await?).await?)
    }
}

fn acceptor(folder: &Path) -> Result<TlsAcceptor> {
    let chain: Vec<_> = CertificateDer::pem_file_iter(folder.join("serving.crt"))
        .and_then(Iterator::collect)
        .context("read the server's certificate")?;
    let key = PrivateKeyDer::from_pem_file(folder.join("serving.key")).context("read its key")?;
    let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn connector(folder: &Path) -> Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("ca.crt")).context("read the CA")?)?;
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// One connection. It carries one request at a time, so what comes back after a request has been
/// seen is its answer.
async fn relay(client: TcpStream, server: String, ends: Ends, state: State) -> Result<()> {
    let mut client = ends.accept.accept(client).await?;
    let mut server = ends.server(&server).await?;
    let (mut seen, mut loses) = (Vec::new(), false);
    loop {
        match either(&mut client, &mut server).await? {
            Piece::Request(bytes) => {
                seen.extend_from_slice(&bytes);
                while let Some(line) = take(&mut seen) {
                    if line.starts_with("POST ") && line.contains("/eviction") {
                        loses = state.eviction().await?;
                    }
                }
                // Only now the end of the request is sent, so its answer cannot be here yet.
                send(&mut server, &bytes).await?;
            }
            Piece::Answer(_) if loses => return Ok(()),
            Piece::Answer(bytes) => {
                let delay = state.fault.borrow().delay;
                sleep(delay).await;
                send(&mut client, &bytes).await?;
            }
            Piece::End => return Ok(()),
        }
    }
}

impl State {
    /// An eviction is on its way: holds it if it is to be held, and tells whether its answer gets
    /// lost.
    async fn eviction(&self) -> Result<bool> {
        let mut fault = self.fault.subscribe();
        if fault.borrow().holds_evictions {
            self.held.send_modify(|held| *held += 1);
            fault.wait_for(|fault| !fault.holds_evictions).await?;
        }
        let mut loses = false;
        self.fault.send_if_modified(|fault| {
            loses = fault.lost_evictions > 0;
            fault.lost_evictions = fault.lost_evictions.saturating_sub(1);
            loses
        });
        Ok(loses)
    }
}

/// A request of which the end is never sent: as long as this lives it holds a seat at the server.
pub(crate) struct HalfSent(
    #[expect(dead_code, reason = "it is open as long as it is there")] TlsStream<TcpStream>,
);

impl HalfSent {
    /// Begins an eviction in the name of an account.
    pub(crate) fn eviction(plane: &Plane, account: &Account, pod: &str) -> Result<Self> {
        let connect = connector(&plane.folder().join("certs"))?;
        let server = plane.address("apiserver-0")?;
        let (namespace, name) = pod.split_once('/').context("a pod without a namespace")?;
        let request = format!(
            "POST /api/v1/namespaces/{namespace}/pods/{name}/eviction HTTP/1.1\r\nHost: {server}\r\n\
             Authorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{{",
            account.token()
        );
        runtime::wait(async move {
            let name = ServerName::try_from("127.0.0.1")?;
            let mut stream = connect.connect(name, TcpStream::connect(server).await?).await?;
            send(&mut stream, request.as_bytes()).await?;
            Ok(Self(stream))
        })
    }
}

/// Takes one whole request, which is its head and as much as that promises, and returns its first
/// line.
fn take(seen: &mut Vec<u8>) -> Option<String> {
    const END: &[u8] = b"\r\n\r\n";
    let head = seen.windows(END.len()).position(|four| four == END)?;
    let text = String::from_utf8_lossy(&seen[..head]).into_owned();
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let whole = head + END.len() + length.unwrap_or(0);
    if seen.len() < whole {
        return None;
    }
    seen.drain(..whole);
    text.lines().next().map(str::to_owned)
}

/// What arrives at the proxy.
enum Piece {
    /// From the client.
    Request(Vec<u8>),
    /// From the server.
    Answer(Vec<u8>),
    /// Either of them has nothing more to say.
    End,
}

/// The next piece from either side.
async fn either(
    client: &mut (impl AsyncRead + Unpin),
    server: &mut (impl AsyncRead + Unpin),
) -> Result<Piece> {
    let (mut request, mut answer) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
    let piece = poll_fn(|context| {
        let mut buffer = ReadBuf::new(&mut request);
        if let Poll::Ready(read) = Pin::new(&mut *client).poll_read(context, &mut buffer) {
            return Poll::Ready(read.map(|()| Piece::Request(buffer.filled().to_vec())));
        }
        let mut buffer = ReadBuf::new(&mut answer);
        Pin::new(&mut *server)
            .poll_read(context, &mut buffer)
            .map_ok(|()| Piece::Answer(buffer.filled().to_vec()))
    });
    Ok(match piece.await? {
        Piece::Request(bytes) | Piece::Answer(bytes) if bytes.is_empty() => Piece::End,
        piece => piece,
    })
}

/// Sends all of it.
async fn send(to: &mut (impl AsyncWrite + Unpin), mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        let count = poll_fn(|context| Pin::new(&mut *to).poll_write(context, bytes)).await?;
        bytes = &bytes[count..];
    }
    Ok(poll_fn(|context| Pin::new(&mut *to).poll_flush(context)).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart_wherever_they_are_cut() {
        let text =
            "POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\n\r\nGET /c";
        for at in 0..text.len() {
            let (mut seen, mut lines) = (Vec::new(), Vec::new());
            for part in [&text[..at], &text[at..]] {
                seen.extend_from_slice(part.as_bytes());
                lines.extend(std::iter::from_fn(|| take(&mut seen)));
            }
            assert_eq!(lines, ["POST /a HTTP/1.1", "GET /b HTTP/1.1"], "cut at {at}");
        }
    }
}
