//! Connections: accepted, encrypted, answered, and ended when they last too long.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::certificates::Certificates;
use super::site::Site;
use crate::observe::{Audience, News};
use crate::stop::Stop;

/// More than the kubelet and a Prometheus or two would have. One more ends the oldest, so that a
/// probe is answered even when somebody opens connections and leaves them open.
const CONNECTIONS_MAX: usize = 128;

/// Who wants to talk has said hello by then.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// A request is read by then (upstream: 32 s), which is also how long a connection may be idle.
const HEADER_MAX: Duration = Duration::from_secs(32);

/// The longest request, headers included, give or take what comes in one piece.
const HEADER_BYTES_MAX: usize = 64 * 1024;

/// A connection that was open so long is ended after the request that is being answered.
const AGE_MAX: Duration = Duration::from_secs(600);

/// So long an answer may take after the connection should have ended.
const GRACE: Duration = Duration::from_secs(1);

/// What Go allows where it is not told.
const STREAMS_MAX: u32 = 100;

/// How long to wait when the system has no room for another connection.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// All that is needed to answer.
pub(super) struct Connections {
    pub(super) listener: TcpListener,
    pub(super) config: Arc<ServerConfig>,
    pub(super) certificates: Arc<Certificates>,
    pub(super) look_every: Duration,
    pub(super) http2_streams_max: Option<u32>,
    pub(super) site: Arc<Site>,
    pub(super) audience: Audience,
}

impl Connections {
    /// Answers until it is told to stop.
    pub(super) async fn serve(self, mut stop: Stop) {
        let mut open = JoinSet::new();
        let mut oldest_first: VecDeque<AbortHandle> = VecDeque::new();
        let mut look = interval(self.look_every);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, client)) => {
                        oldest_first.retain(|connection| !connection.is_finished());
                        if oldest_first.len() >= CONNECTIONS_MAX
                            && let Some(oldest) = oldest_first.pop_front()
                        {
                            oldest.abort();
                        }
                        let answer = self.connection(stream, client, stop.clone());
                        oldest_first.push_back(open.spawn(answer));
                    }
                    // A client that went away, or too many open files.
                    Err(_) => sleep(ACCEPT_RETRY).await,
                },
                _ = open.join_next(), if !open.is_empty() => {}
                _ = look.tick() => {
                    for news in self.certificates.look(self.config.crypto_provider()) {
                        self.audience.tell(&News::Serving(news));
                    }
                }
                () = stop.wait() => break,
            }
        }
        // What is not answered by then is cut off.
        let _ = timeout(GRACE, async { while open.join_next().await.is_some() {} }).await;
    }

    /// One connection, which nobody is told about: whoever fails at it is a stranger.
    fn connection(
        &self,
        stream: TcpStream,
        client: SocketAddr,
        mut stop: Stop,
    ) -> impl Future<Output = ()> + use<> {
        let acceptor = TlsAcceptor::from(self.config.clone());
        let (site, http) = (self.site.clone(), self.http());
        async move {
            // Small answers should not wait for each other.
            let _ = stream.set_nodelay(true);
            let Ok(Ok(stream)) = timeout(HANDSHAKE_MAX, acceptor.accept(stream)).await else {
                return;
            };
            let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let http = if is_http2 { http.http2_only() } else { http.http1_only() };
            let answer = service_fn(move |request: Request<Incoming>| {
                let site = site.clone();
                async move { Ok::<_, Infallible>(site.answer(&request, client.ip()).await) }
            });
            let mut connection = pin!(http.serve_connection(TokioIo::new(stream), answer));
            tokio::select! {
                _ = connection.as_mut() => return,
                () = sleep(AGE_MAX) => {}
                () = stop.wait() => {}
            }
            connection.as_mut().graceful_shutdown();
            let _ = timeout(GRACE, connection).await;
        }
    }

    fn http(&self) -> auto::Builder<TokioExecutor> {
        let mut http = auto::Builder::new(TokioExecutor::new());
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_MAX)
            .max_buf_size(HEADER_BYTES_MAX);
        let streams = self.http2_streams_max.filter(|&streams| streams > 0);
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(streams.unwrap_or(STREAMS_MAX))
            .max_header_list_size(u32::try_from(HEADER_BYTES_MAX).unwrap_or(u32::MAX))
            .keep_alive_interval(HEADER_MAX)
            .keep_alive_timeout(HANDSHAKE_MAX);
        http
    }
}
