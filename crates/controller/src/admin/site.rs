//! A page for each path.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::board::{Board, Check, Latest};
use crate::observe::{Planned, Skipped};

/// What there is to see.
pub struct Site {
    /// What is known of the service.
    pub board: Arc<Board>,
    /// The latest plan, as `descheduler plan -o json` prints it.
    pub plan: Page<Planned>,
    /// Metrics, unless they are switched off.
    pub metrics: Option<Page<()>>,
    /// One page that takes time is made at a time.
    pub(super) slow: Semaphore,
}

/// Makes the text of a page, with its type, from something. May take its time.
pub type Page<T> = Arc<dyn Fn(&T) -> (HeaderValue, String) + Send + Sync>;

pub(super) type Answer = Response<Full<Bytes>>;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

impl Site {
    /// All of it.
    pub fn new(board: Arc<Board>, plan: Page<Planned>, metrics: Option<Page<()>>) -> Self {
        Self { board, plan, metrics, slow: Semaphore::new(1) }
    }

    /// Answers a request. Its body is read by nobody.
    pub(super) async fn answer<B>(&self, request: &Request<B>, client: IpAddr) -> Answer {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return answer;
        }
        let verbose = asks_for_more(request.uri().query().unwrap_or_default());
        let mut answer = match request.uri().path() {
            "/healthz" | "/livez" => health("healthz", &[alive()], verbose),
            "/healthz/Descheduler" => health("healthz", &[alive()], false),
            "/readyz" => health("readyz", &self.board.checks(Instant::now()), verbose),
            "/metrics" => match &self.metrics {
                Some(metrics) => self.made(metrics.clone(), Arc::new(())).await,
                None => not_found(),
            },
            "/plan" => self.plan(client).await,
            _ => not_found(),
        };
        if *request.method() == Method::HEAD {
            let length = http_body::Body::size_hint(answer.body()).exact().unwrap_or(0);
            answer.headers_mut().insert(CONTENT_LENGTH, length.into());
            *answer.body_mut() = Full::default();
        }
        answer
    }

    /// The plan names pods and says what is wrong with them, and nobody says who he is: so it is for
    /// those who may log in to the pod, forward a port to it, or run on the same machine.
    async fn plan(&self, client: IpAddr) -> Answer {
        if !client.to_canonical().is_loopback() {
            let why = "the plan is shown to clients on the loopback interface, as of `kubectl \
                       port-forward`\n";
            return text(StatusCode::FORBIDDEN, why);
        }
        let not_now = |why: String| {
            let mut answer = text(StatusCode::SERVICE_UNAVAILABLE, why);
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            answer
        };
        match self.board.latest() {
            Latest::Plan(planned) => self.made(self.plan.clone(), planned).await,
            Latest::None => not_now("there was no cycle yet\n".to_owned()),
            Latest::Coming => not_now("the plan is being made\n".to_owned()),
            Latest::Skipped(Skipped { cycle, why, .. }) => {
                not_now(format!("nothing can be planned in cycle {cycle}: {why}\n"))
            }
        }
    }

    async fn made<T: Send + Sync + 'static>(&self, page: Page<T>, of: Arc<T>) -> Answer {
        let made = match self.slow.acquire().await {
            Ok(_turn) => spawn_blocking(move || page(&of)).await.ok(),
            Err(_) => None,
        };
        match made {
            Some((kind, body)) => respond(StatusCode::OK, kind, body),
            // What has panicked was told where it happened.
            None => text(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made\n"),
        }
    }
}

/// Whoever answers is alive. As upstream, that says nothing of the work: a restart would not help.
fn alive() -> Check {
    Check { name: "Descheduler", problem: None }
}

/// As Kubernetes' own programs answer.
fn health(name: &str, checks: &[Check], verbose: bool) -> Answer {
    let is_well = checks.iter().all(|check| check.problem.is_none());
    if is_well && !verbose {
        return text(StatusCode::OK, "ok");
    }
    let lines = checks.iter().map(|Check { name, problem }| match problem {
        None => format!("[+]{name} ok\n"),
        Some(problem) => format!("[-]{name} failed: {problem}\n"),
    });
    let (status, end) = match is_well {
        true => (StatusCode::OK, "passed"),
        false => (StatusCode::INTERNAL_SERVER_ERROR, "failed"),
    };
    text(status, lines.collect::<String>() + &format!("{name} check {end}\n"))
}

fn asks_for_more(query: &str) -> bool {
    query.split('&').any(|word| word == "verbose" || word.starts_with("verbose="))
}

fn not_found() -> Answer {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}

fn text(status: StatusCode, text: impl Into<String>) -> Answer {
    respond(status, TEXT, text.into())
}

fn respond(status: StatusCode, kind: HeaderValue, body: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    answer.headers_mut().extend([
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ]);
    answer
}
