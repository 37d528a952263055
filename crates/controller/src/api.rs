//! Calls to the API server. None of them can hang.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, Request, Response, request};
use http_body_util::BodyExt;
use k8s_openapi::apimachinery::pkg::version::Info;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use tokio::time::{Instant, timeout};

use crate::client::Rate;
use crate::limiter::Limiter;

/// What we speak.
const JSON: &str = "application/json";

/// How long the first byte of an answer may take. API servers end requests after a minute.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(65);

/// How long an answer may pause.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(30);

/// The same for the rest of an answer that says nothing new.
const REST_TIMEOUT: Duration = Duration::from_secs(1);

/// More than this is no answer to anything that we ask.
const BODY_BYTES_MAX: usize = 1 << 30;

/// What is kept of an answer that says no.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

/// An API server.
#[derive(Clone)]
pub struct Api {
    client: Client,
    server: String,
    /// Makes requests wait for their turn.
    limiter: Option<Arc<Limiter>>,
}

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The server said no.
    #[error("the API server answers {code}: {message}")]
    Status {
        /// The HTTP status, or that of an event in a watch.
        code: u16,
        /// Its own words.
        message: String,
        /// Its `reason`; empty where the answer is no `Status`, such as that of a proxy.
        reason: String,
        /// The reasons of its causes.
        causes: Vec<String>,
        /// When to ask again, if it says so.
        retry_after: Option<Duration>,
    },
    /// It said nothing.
    #[error("the API server `{server}` did not answer within {} s", .after.as_secs())]
    Timeout {
        /// Its address.
        server: String,
        /// How long we waited.
        after: Duration,
    },
    /// There was no connection, or it broke.
    #[error("cannot talk to the API server `{server}`")]
    Transport {
        /// Its address.
        server: String,
        /// What went wrong.
        source: Box<kube::Error>,
    },
    /// The answer is not what was asked for.
    #[error("cannot read the answer of the API server `{server}`: {problem}")]
    Answer {
        /// Its address.
        server: String,
        /// What is wrong.
        problem: String,
    },
}

impl CallError {
    /// The status that the server answered with.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Status { code, .. } => Some(*code),
            Self::Timeout { .. } | Self::Transport { .. } | Self::Answer { .. } => None,
        }
    }

    /// Whether the request surely did not reach anybody: there was no connection to send it over.
    pub fn is_unsent(&self) -> bool {
        let Self::Transport { source, .. } = self else { return false };
        let first: &(dyn Error + 'static) = &**source;
        std::iter::successors(Some(first), |&error| error.source()).any(|error| {
            let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
            matches!(
                kind,
                Some(
                    io::ErrorKind::ConnectionRefused
                        | io::ErrorKind::HostUnreachable
                        | io::ErrorKind::NetworkUnreachable
                )
            )
        })
    }
}

/// An error and its causes in one line. A cause that the text before it tells already, as wrappers
/// tend to repeat what they wrap, is left out.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut said = String::new();
    for cause in std::iter::successors(Some(error), |&error| error.source()) {
        let cause = cause.to_string();
        if said.contains(&cause) {
            continue;
        }
        if !said.is_empty() {
            said += ": ";
        }
        said += &cause;
    }
    said
}

impl Api {
    /// A server that is reached through `client`; `server` is what messages call it.
    pub fn new(client: Client, server: impl Into<String>) -> Self {
        Self { client, server: server.into(), limiter: None }
    }

    /// The same server, asked no faster than this.
    #[must_use]
    pub fn limited(self, rate: Rate) -> Self {
        Self { limiter: Some(Arc::new(Limiter::new(rate))), ..self }
    }

    /// The same server, asked at once: for what has waited for its turn already, and for what must
    /// not stand behind other requests.
    pub(crate) fn at_once(&self) -> Self {
        Self { limiter: None, ..self.clone() }
    }

    /// Takes a turn; says when it is.
    pub(crate) fn book(&self) -> Instant {
        self.limiter.as_ref().map_or_else(Instant::now, |limiter| limiter.book())
    }

    /// Its address.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Its version, as `v1.36.3`.
    ///
    /// # Errors
    ///
    /// It does not say.
    pub async fn version(&self) -> Result<String, CallError> {
        let body = self.get("/version").await?;
        let info: Info = serde_json::from_slice(&body).map_err(|error| self.odd(&error))?;
        Ok(info.git_version)
    }

    /// The whole answer to a GET.
    pub(crate) async fn get(&self, target: &str) -> Result<Vec<u8>, CallError> {
        let request = Request::get(target).header(ACCEPT, JSON).body(Body::empty());
        self.whole(request).await
    }

    /// Sends JSON to be created, and takes the whole answer.
    pub(crate) async fn post(&self, target: &str, json: Vec<u8>) -> Result<Vec<u8>, CallError> {
        self.write(Request::post(target), json).await
    }

    /// Sends JSON in place of what is there, and takes the whole answer.
    pub(crate) async fn put(&self, target: &str, json: Vec<u8>) -> Result<Vec<u8>, CallError> {
        self.write(Request::put(target), json).await
    }

    /// Sends JSON to be created, where the head of the answer says all there is to know.
    pub(crate) async fn submit(&self, target: &str, json: Vec<u8>) -> Result<(), CallError> {
        let mut answer = self.send(with(Request::post(target), json)).await?;
        // The rest is taken so that the connection can be used again; what is missing of it is not
        // missed.
        while let Ok(Some(_)) = self.more(&mut answer, REST_TIMEOUT).await {}
        Ok(())
    }

    async fn write(&self, to: request::Builder, json: Vec<u8>) -> Result<Vec<u8>, CallError> {
        self.whole(with(to, json)).await
    }

    async fn whole(&self, request: http::Result<Request<Body>>) -> Result<Vec<u8>, CallError> {
        let mut answer = self.send(request).await?;
        let mut body = Vec::new();
        while let Some(data) = self.more(&mut answer, PAUSE_TIMEOUT).await? {
            if body.len() + data.len() > BODY_BYTES_MAX {
                return Err(self.odd(&"it is longer than 1 GiB"));
            }
            body.extend_from_slice(&data);
        }
        Ok(body)
    }

    /// An answer that goes on and on.
    pub(crate) async fn stream(&self, target: &str) -> Result<Response<Body>, CallError> {
        // Servers from 1.37 on compress each event by itself, which the client does not undo.
        let request = Request::get(target).header(ACCEPT, JSON).header(ACCEPT_ENCODING, "identity");
        self.send(request.body(Body::empty())).await
    }

    /// The next piece of an answer; `None` at its end, and an error if nothing comes for so long.
    pub(crate) async fn more(
        &self,
        answer: &mut Response<Body>,
        patience: Duration,
    ) -> Result<Option<Bytes>, CallError> {
        loop {
            match timeout(patience, answer.body_mut().frame()).await {
                Err(_) => return Err(self.silent(patience)),
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => return Err(self.broken(error)),
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    async fn send(
        &self,
        request: http::Result<Request<Body>>,
    ) -> Result<Response<Body>, CallError> {
        let request = request.map_err(|error| self.odd(&error))?;
        if let Some(limiter) = &self.limiter {
            limiter.turn().await;
        }
        let mut answer = match timeout(ANSWER_TIMEOUT, self.client.send(request)).await {
            Err(_) => return Err(self.silent(ANSWER_TIMEOUT)),
            Ok(Err(error)) => return Err(self.broken(error)),
            Ok(Ok(answer)) => answer,
        };
        if answer.status().is_success() {
            return Ok(answer);
        }
        let mut body = Vec::new();
        while body.len() < REFUSAL_BYTES_MAX {
            // What is missing of a refusal is not missed.
            let Ok(Some(data)) = self.more(&mut answer, PAUSE_TIMEOUT).await else { break };
            body.extend_from_slice(&data);
        }
        Err(refusal(answer.status(), answer.headers(), &body))
    }

    fn silent(&self, after: Duration) -> CallError {
        CallError::Timeout { server: self.server.clone(), after }
    }

    fn broken(&self, error: kube::Error) -> CallError {
        CallError::Transport { server: self.server.clone(), source: Box::new(error) }
    }

    pub(crate) fn odd(&self, problem: &dyn std::fmt::Display) -> CallError {
        CallError::Answer { server: self.server.clone(), problem: problem.to_string() }
    }
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").field("server", &self.server).finish_non_exhaustive()
    }
}

fn with(to: request::Builder, json: Vec<u8>) -> http::Result<Request<Body>> {
    to.header(ACCEPT, JSON).header(CONTENT_TYPE, JSON).body(Body::from(json))
}

/// `v1 Status`, as far as it is looked at.
#[derive(Default, Deserialize)]
pub(crate) struct Status {
    #[serde(default)]
    pub(crate) code: u16,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) reason: String,
    #[serde(default)]
    pub(crate) details: Option<Details>,
}

/// What a status is about.
#[derive(Default, Deserialize)]
pub(crate) struct Details {
    #[serde(default)]
    causes: Option<Vec<Cause>>,
}

#[derive(Deserialize)]
struct Cause {
    #[serde(default)]
    reason: String,
}

impl Status {
    /// As an error; `code` is that of the answer, where the status does not say.
    pub(crate) fn into_error(self, retry_after: Option<Duration>) -> CallError {
        let Self { code, message, reason, details } = self;
        let causes = details.unwrap_or_default().causes.unwrap_or_default();
        let causes = causes.into_iter().map(|cause| cause.reason).collect();
        CallError::Status { code, message, reason, causes, retry_after }
    }
}

fn refusal(status: http::StatusCode, headers: &HeaderMap, body: &[u8]) -> CallError {
    let said: Status = serde_json::from_slice(body).unwrap_or_default();
    let text = String::from_utf8_lossy(body);
    let message = match (said.message.as_str(), text.trim()) {
        ("", "") => status.canonical_reason().unwrap_or("no reason given"),
        // Throttling, and proxies, answer with bare text.
        ("", text) if !text.starts_with(['{', '<']) => text.lines().next().unwrap_or_default(),
        ("", _) => status.canonical_reason().unwrap_or("no reason given"),
        (message, _) => message,
    };
    let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let said = Status { code: status.as_u16(), message: message.to_owned(), ..said };
    said.into_error(seconds.map(Duration::from_secs))
}
