//! Calls to the API server. None of them can hang.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, RETRY_AFTER};
use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt;
use k8s_openapi::apimachinery::pkg::version::Info;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use tokio::time::timeout;

/// How long the first byte of an answer may take. API servers end requests after a minute.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(65);

/// How long an answer may pause.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(30);

/// More than this is no answer to anything that we ask.
const BODY_BYTES_MAX: usize = 1 << 30;

/// What is kept of an answer that says no.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

/// An API server.
#[derive(Clone)]
pub struct Api {
    client: Client,
    server: String,
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
        Self { client, server: server.into() }
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
        let mut answer = self.send(target, false).await?;
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
        self.send(target, true).await
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

    async fn send(&self, target: &str, is_stream: bool) -> Result<Response<Body>, CallError> {
        let mut request = Request::get(target).header(ACCEPT, "application/json");
        if is_stream {
            // Servers from 1.37 on compress each event by itself, which the client does not undo.
            request = request.header(ACCEPT_ENCODING, "identity");
        }
        let request = request.body(Body::empty()).map_err(|error| self.odd(&error))?;
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

/// `v1 Status`, as far as it is looked at.
#[derive(Default, Deserialize)]
pub(crate) struct Status {
    #[serde(default)]
    pub(crate) code: u16,
    #[serde(default)]
    pub(crate) message: String,
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
    CallError::Status {
        code: status.as_u16(),
        message: message.to_owned(),
        retry_after: seconds.map(Duration::from_secs),
    }
}
