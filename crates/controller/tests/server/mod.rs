//! An API server that answers by a script. Kinds that the script does not speak of are empty.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use descheduler_controller::Api;
use futures_util::stream::{self, StreamExt};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use http_body_util::combinators::UnsyncBoxBody;
use kube::client::Body;

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
    chunks: Vec<String>,
    end: End,
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
        Self { code: 200, chunks: vec![body], end: End::Orderly }
    }

    /// Events, and then an orderly end.
    pub(crate) fn stream(events: impl IntoIterator<Item = String>) -> Self {
        Self { code: 200, chunks: events.into_iter().collect(), end: End::Orderly }
    }

    /// A no.
    pub(crate) fn status(code: u16, message: &str) -> Self {
        Self { code, chunks: vec![status(code, message)], end: End::Orderly }
    }

    pub(crate) fn cut(self) -> Self {
        Self { end: End::Cut, ..self }
    }

    pub(crate) fn open(self) -> Self {
        Self { end: End::Open, ..self }
    }

    fn reply(self) -> Reply {
        let Self { code, chunks, end } = self;
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
        Response::builder().status(code).body(body).expect("an answer")
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

    /// What asks this server.
    pub(crate) fn api(&self) -> Api {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let reply = server.answer(&request);
            async move { Ok::<_, Infallible>(reply) }
        });
        Api::new(kube::Client::new(service, "default"), "https://cluster.test")
    }

    fn answer(&self, request: &Request<Body>) -> Reply {
        let uri = request.uri();
        let query = uri.query().unwrap_or_default();
        let mut script = self.0.lock().expect("whole");
        script.asked.push(uri.to_string());
        if let Some(code) = script.refuses_streams
            && query.contains("sendInitialEvents")
        {
            return Answer::status(code, "sendInitialEvents is forbidden for watch").reply();
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
                answer.reply()
            }
            None => nothing(query).reply(),
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
