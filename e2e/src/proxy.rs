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
use tokio::task::AbortHandle;
use tokio::time::sleep;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::plane::Plane;
use crate::runtime;

/// What is passed on at once.
const PIECE_BYTES: usize = 64 << 10;

/// What is to go wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    /// Every piece of an answer is late by so much.
    pub(crate) delay: Duration,
}

/// A proxy in front of a plane's first API server; it ends when this is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    task: AbortHandle,
}

impl Proxy {
    /// Begins to listen.
    pub(crate) fn start(plane: &Plane, fault: Fault) -> Result<Self> {
        let certificates = plane.folder().join("certs");
        let server = plane.address("apiserver-0")?;
        let ends = Ends { accept: acceptor(&certificates)?, connect: connector(&certificates)? };
        let (address, task) = runtime::wait(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.context("listen")?;
            let address = listener.local_addr().context("listen")?;
            let task = tokio::spawn(async move {
                while let Ok((client, _)) = listener.accept().await {
                    let one = relay(client, server.clone(), ends.clone(), fault);
                    // A connection that ends badly is what this is for.
                    tokio::spawn(one);
                }
            });
            Ok((address, task.abort_handle()))
        })?;
        Ok(Self { address, task })
    }

    /// Where it listens.
    pub(crate) fn server(&self) -> String {
        format!("https://{}", self.address)
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

/// One connection.
async fn relay(client: TcpStream, server: String, ends: Ends, fault: Fault) -> Result<()> {
    let mut client = ends.accept.accept(client).await?;
    let name = ServerName::try_from("127.0.0.1")?;
    let mut server = ends.connect.connect(name, TcpStream::connect(server).await?).await?;
    loop {
        match either(&mut client, &mut server).await? {
            Piece::Request(bytes) => send(&mut server, &bytes).await?,
            Piece::Answer(bytes) => {
                sleep(fault.delay).await;
                send(&mut client, &bytes).await?;
            }
            Piece::End => return Ok(()),
        }
    }
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
