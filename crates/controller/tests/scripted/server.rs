//! An API server that answers by a script. Kinds that the script does not speak of are empty.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use descheduler_controller::Api;
use futures_util::stream::{self, StreamExt};
use http::request::Parts;
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use kube::client::Body;
use serde_json::Value;
use tokio::time::{Instant, sleep};

type Reply = Response<UnsyncBoxBody<Bytes, std::io::Error>>;

/// The server.
#[derive(Clone, Default)]
pub(crate) struct Server(Arc<Mutex<Script>>);

#[derive(Default)]
struct Script {
    rules: Vec<Rule>,
    /// What was asked, path and query.
    asked: Vec<String>,
    refuses_streams: Option<u16>,
    clerk: Option<Clerk>,
    calls: Vec<Call>,
}

/// Answers what the rules do not speak of.
type Clerk = Box<dyn FnMut(&Call) -> Option<Answer> + Send>;

/// A request that was answered by the clerk.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) at: Instant,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Value,
}

struct Rule {
    path: &'static str,
    /// What the query has to hold.
    query: &'static str,
    once: bool,
    answer: Box<dyn Fn() -> Answer + Send>,
}

/// What comes back.
pub(crate) struct Answer {
    code: u16,
    headers: Vec<(&'static str, String)>,
    chunks: Vec<String>,
    end: End,
    delay: Duration,
    /// There is no connection.
    refused: bool,
}

enum End {
    Orderly,
    /// The connection breaks.
    Cut,
    /// Nothing more comes, and the connection stays.
    Open,
}

impl Answer {
    /// One piece of JSON.
    pub(crate) fn json(body: String) -> Self {
        Self::new(200, vec![body])
    }

    fn new(code: u16, chunks: Vec<String>) -> Self {
        let (headers, delay) = (Vec::new(), Duration::ZERO);
        Self { code, headers, chunks, end: End::Orderly, delay, refused: false }
    }

    /// Events, and then an orderly end.
    pub(crate) fn stream(events: impl IntoIterator<Item = String>) -> Self {
        Self::new(200, events.into_iter().collect())
    }

    /// A no.
    pub(crate) fn status(code: u16, message: &str) -> Self {
        Self::new(code, vec![status(code, message)])
    }

    /// Any code with any body.
    pub(crate) fn text(code: u16, body: impl Into<String>) -> Self {
        Self::new(code, vec![body.into()])
    }

    /// No connection.
    pub(crate) fn refused() -> Self {
        Self { refused: true, ..Self::new(0, Vec::new()) }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Comes so much later.
    pub(crate) fn after(self, seconds: u64) -> Self {
        Self { delay: Duration::from_secs(seconds), ..self }
    }

    pub(crate) fn cut(self) -> Self {
        Self { end: End::Cut, ..self }
    }

    pub(crate) fn open(self) -> Self {
        Self { end: End::Open, ..self }
    }

    fn reply(self) -> Reply {
        let Self { code, headers, chunks, end, delay: _, refused: _ } = self;
        let chunks =
            stream::iter(chunks.into_iter().map(|text| Ok(Frame::data(Bytes::from(text)))));
        let body = match end {
            End::Orderly => chunks.boxed(),
            End::Cut => {
                let broken = std::io::Error::other("connection reset by peer");
                chunks.chain(stream::once(async { Err(broken) })).boxed()
            }
            End::Open => chunks.chain(stream::pending()).boxed(),
        };
        let body = UnsyncBoxBody::new(StreamBody::new(body));
        let mut response = Response::builder().status(code);
        for (name, value) in headers {
            response = response.header(name, value);
        }
        response.body(body).expect("an answer")
    }
}

impl Server {
    /// A server without objects.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Answers requests for `path` whose query holds `query`. Of several rules the first counts.
    pub(crate) fn on(
        &self,
        path: &'static str,
        query: &'static str,
        answer: impl Fn() -> Answer + Send + 'static,
    ) {
        self.rule(path, query, false, Box::new(answer));
    }

    /// The same for the first such request.
    pub(crate) fn once(
        &self,
        path: &'static str,
        query: &'static str,
        answer: impl Fn() -> Answer + Send + 'static,
    ) {
        self.rule(path, query, true, Box::new(answer));
    }

    fn rule(
        &self,
        path: &'static str,
        query: &'static str,
        once: bool,
        answer: Box<dyn Fn() -> Answer + Send>,
    ) {
        self.0.lock().expect("whole").rules.push(Rule { path, query, once, answer });
    }

    /// Has every request for everything in one stream be answered with a no.
    pub(crate) fn refuse_streams(&self, code: u16) {
        self.0.lock().expect("whole").refuses_streams = Some(code);
    }

    /// The requests for a path, in order.
    pub(crate) fn asked(&self, path: &str) -> Vec<String> {
        let script = self.0.lock().expect("whole");
        let is_it = |target: &&String| target.split('?').next() == Some(path);
        script.asked.iter().filter(is_it).cloned().collect()
    }

    /// Who answers what the rules do not speak of.
    pub(crate) fn clerk(&self, clerk: impl FnMut(&Call) -> Option<Answer> + Send + 'static) {
        self.0.lock().expect("whole").clerk = Some(Box::new(clerk));
    }

    /// What the clerk has answered so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.0.lock().expect("whole").calls.clone()
    }

    /// What asks this server.
    pub(crate) fn api(&self) -> Api {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await.expect("a body").to_bytes();
                let answer = server.answer(&parts, &body);
                sleep(answer.delay).await;
                match answer.refused {
                    true => Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
                    false => Ok(answer.reply()),
                }
            }
        });
        Api::new(kube::Client::new(service, "default"), "https://cluster.test")
    }

    fn answer(&self, request: &Parts, body: &[u8]) -> Answer {
        let uri = &request.uri;
        let query = uri.query().unwrap_or_default();
        let mut script = self.0.lock().expect("whole");
        script.asked.push(uri.to_string());
        let call = Call {
            at: Instant::now(),
            method: request.method.clone(),
            path: uri.path().to_owned(),
            body: serde_json::from_slice(body).unwrap_or_default(),
        };
        if let Some(answer) = script.clerk.as_mut().and_then(|clerk| clerk(&call)) {
            script.calls.push(call);
            return answer;
        }
        if let Some(code) = script.refuses_streams
            && query.contains("sendInitialEvents")
        {
            return Answer::status(code, "sendInitialEvents is forbidden for watch");
        }
        let found = script
            .rules
            .iter()
            .position(|rule| rule.path == uri.path() && query.contains(rule.query));
        match found {
            Some(at) => {
                let answer = (script.rules[at].answer)();
                if script.rules[at].once {
                    script.rules.remove(at);
                }
                answer
            }
            None => nothing(query),
        }
    }
}

/// What a server without objects of a kind says.
fn nothing(query: &str) -> Answer {
    match (query.contains("sendInitialEvents"), query.contains("watch=true")) {
        (true, _) => Answer::stream([bookmark("1", true)]).open(),
        (false, true) => Answer::stream([]).open(),
        (false, false) => Answer::json(list("1", "", &[])),
    }
}

/// A pod of that name and version.
pub(crate) fn pod(name: &str, version: &str) -> String {
    format!(
        r#"{{"kind":"Pod","metadata":{{"name":"{name}","namespace":"ns","uid":"u-{name}","resourceVersion":"{version}"}},"spec":{{}}}}"#
    )
}

pub(crate) fn added(object: &str) -> String {
    event("ADDED", object)
}

pub(crate) fn deleted(object: &str) -> String {
    event("DELETED", object)
}

pub(crate) fn error_event(code: u16, message: &str) -> String {
    event("ERROR", &status(code, message))
}

/// That everything up to a version has been sent, at the start or later.
pub(crate) fn bookmark(version: &str, ends_list: bool) -> String {
    let end = r#","annotations":{"k8s.io/initial-events-end":"true"}"#;
    let end = if ends_list { end } else { "" };
    event("BOOKMARK", &format!(r#"{{"metadata":{{"resourceVersion":"{version}"{end}}}}}"#))
}

fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

/// A page of a list.
pub(crate) fn list(version: &str, token: &str, items: &[String]) -> String {
    let items = items.join(",");
    format!(
        r#"{{"metadata":{{"resourceVersion":"{version}","continue":"{token}"}},"items":[{items}]}}"#
    )
}

fn status(code: u16, message: &str) -> String {
    let message = message.replace('"', "\\\"");
    format!(r#"{{"kind":"Status","status":"Failure","code":{code},"message":"{message}"}}"#)
}
