//! A policy, a cluster and a service of a line each.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use descheduler_cluster::{NodeId, PodId, Snapshot};
use descheduler_controller::observe::{Audience, Ended, Listener, News};
use descheduler_controller::{Options, Service};
use descheduler_engine::{
    Anywhere, Inquiry, Judge, Limits, LoopBreaker, Pace, Pass, Placement, Policy, Profile,
    Proposal, Reason, Shield, Step, Strategy, StrategyDef, Turn,
};
use descheduler_scheduler::Scheduler;
use serde_json::json;

use super::server::{Answer, Server, added, bookmark, deleted};

/// Proposes every pod.
struct All;

static ALL: StrategyDef =
    StrategyDef { name: "All", pass: Pass::Deschedule, summary: "", build: |_| None };

impl Strategy for All {
    fn run(&self, turn: &mut Turn<'_, '_>) {
        for &pod in turn.snapshot().pods() {
            let _ = turn.propose(Proposal { pod, reason: Reason::new("Any", "any will do") });
        }
    }

    fn judge<'s>(&'s self, _: &'s Snapshot, _: &[NodeId]) -> Box<dyn Judge<'s> + 's> {
        Box::new(Anywhere)
    }

    fn examine(&self, _: PodId, inquiry: &mut Inquiry<'_, '_>) {
        inquiry.check("all", true, "");
    }
}

/// Has every pod go.
pub(crate) fn policy() -> Policy {
    let profile = Profile {
        name: "main".to_owned(),
        node_selector: None,
        placement: None,
        confidence: None,
        shield: Shield::default(),
        deschedule: vec![Step { def: &ALL, strategy: Arc::new(All) }],
        balance: Vec::new(),
    };
    Policy {
        node_selector: None,
        limits: Limits::default(),
        grace_period_seconds: Some(7),
        eviction_failure_event_notification: false,
        placement: Some(Placement::Off),
        confidence: Placement::CONFIDENCE,
        loop_breaker: LoopBreaker::default(),
        scheduler: Scheduler::default(),
        profiles: vec![profile],
    }
}

fn pod(name: &str) -> String {
    json!({"metadata": {"name": name, "namespace": "ns", "uid": format!("u-{name}"),
            "labels": {"app": name}},
        "spec": {"nodeName": "a"}, "status": {"phase": "Running"}})
    .to_string()
}

/// A server with two nodes and these pods, and what changes of the pods later.
pub(crate) fn cluster(pods: &str, changes: &'static [&'static str]) -> Server {
    let server = Server::new();
    server.on("/api/v1/nodes", "sendInitialEvents", || {
        let node = |name| added(&json!({"metadata": {"name": name}}).to_string());
        Answer::stream([node("a"), node("b"), bookmark("9", true)]).open()
    });
    let pods: Vec<String> = pods.split_whitespace().map(|name| added(&pod(name))).collect();
    server.on("/api/v1/pods", "sendInitialEvents", move || {
        let mut events = pods.clone();
        events.push(bookmark("9", true));
        // The stream stays, or what is to change comes with the next one.
        let answer = Answer::stream(events);
        if changes.is_empty() { answer.open() } else { answer }
    });
    if !changes.is_empty() {
        server.on("/api/v1/pods", "resourceVersion=9", move || {
            let gone = changes.iter().map(|name| deleted(&pod(name)));
            Answer::stream(gone).open().after(5)
        });
    }
    server
}

/// Hears everything.
#[derive(Default)]
pub(crate) struct Ear(Mutex<Vec<News>>);

impl Listener for Ear {
    fn hear(&self, news: &News) {
        self.0.lock().expect("whole").push(news.clone());
    }
}

impl Ear {
    pub(crate) fn heard(&self) -> Vec<News> {
        self.0.lock().expect("whole").clone()
    }

    /// How the cycles ended.
    pub(crate) fn ended(&self) -> Vec<Arc<Ended>> {
        let ended = |news| match news {
            News::Ended(ended) => Some(ended),
            _ => None,
        };
        self.heard().into_iter().filter_map(ended).collect()
    }
}

/// A service of that server, and what it tells.
pub(crate) fn service(server: &Server, interval: u64) -> (Service, Arc<Ear>) {
    let ear = Arc::new(Ear::default());
    let service = Service {
        api: server.api(),
        options: Options { metrics: false },
        audience: Audience::new(vec![ear.clone()]),
        interval: Duration::from_secs(interval),
        dry_run: false,
        background: false,
        pace: Pace { in_flight_max: 1, ..Pace::default() },
        lease: None,
        seed: 1,
    };
    (service, ear)
}
