//! The lease: who may evict, and when not any more.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use descheduler_controller::observe::{LeaseNews, News};
use descheduler_controller::{Fixed, LeaseSettings, Service, Stop, Stopper};
use descheduler_engine::Policy;
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, advance, sleep};

use super::server::{Answer, Call, Server};
use super::toys::{Ear, cluster, policy, service};

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

/// A lease of 30 s, which is renewed each 5 s and given up after 20 s.
fn settings(identity: &str) -> LeaseSettings {
    LeaseSettings {
        namespace: "kube-system".to_owned(),
        name: "descheduler".to_owned(),
        identity: identity.to_owned(),
        duration: Duration::from_secs(30),
        renew_deadline: Duration::from_secs(20),
        retry_period: Duration::from_secs(5),
    }
}

/// The lease as the server has it.
#[derive(Default)]
struct Desk {
    lease: Option<Value>,
    version: u64,
    /// Who is answered with an error instead.
    barred: BTreeSet<String>,
    /// Nobody is answered in time.
    silent: bool,
}

impl Desk {
    fn answer(&mut self, call: &Call) -> Option<Answer> {
        let name = call.path.strip_prefix(LEASES)?;
        if self.silent {
            return Some(Answer::json(String::new()).after(1_000));
        }
        let holder = call.body["spec"]["holderIdentity"].as_str().unwrap_or_default();
        if self.barred.contains(holder) {
            return Some(Answer::status(500, "etcdserver: no leader"));
        }
        let current = self.version.to_string();
        Some(match (&call.method, name) {
            (&Method::GET, "/descheduler") => match &self.lease {
                Some(lease) => Answer::json(lease.to_string()),
                None => Answer::status(404, "leases \"descheduler\" not found"),
            },
            (&Method::POST, "") if self.lease.is_none() => self.keep(&call.body),
            (&Method::PUT, "/descheduler")
                if call.body["metadata"]["resourceVersion"] == json!(current) =>
            {
                self.keep(&call.body)
            }
            _ => Answer::status(409, "the object has been modified"),
        })
    }

    fn keep(&mut self, lease: &Value) -> Answer {
        self.version += 1;
        let mut lease = lease.clone();
        lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.lease = Some(lease.clone());
        Answer::json(lease.to_string())
    }

    /// Somebody else holds it, for so many seconds, and says that it was renewed then.
    fn held_by(&mut self, holder: &str, seconds: u64, renewed: &str) {
        self.keep(&json!({"metadata": {"name": "descheduler", "namespace": "kube-system"},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds,
                "acquireTime": renewed, "renewTime": renewed, "leaseTransitions": 4}}));
    }

    fn spec(&self) -> Value {
        self.lease.as_ref().map_or(Value::Null, |lease| lease["spec"].clone())
    }
}

/// A cluster with a lease, and the services that reach for it.
struct Scene {
    server: Server,
    desk: Arc<Mutex<Desk>>,
    begun: Instant,
}

/// One of them.
struct Candidate {
    stopper: Stopper,
    ear: Arc<Ear>,
    task: JoinHandle<()>,
}

impl Scene {
    /// Every eviction takes so many seconds, and is refused by a budget in the end.
    fn new(pods: &str, seconds: u64) -> Self {
        let server = cluster(pods, &[]);
        let desk = Arc::new(Mutex::new(Desk::default()));
        let of_clerk = desk.clone();
        server.clerk(move |call| {
            if call.path.ends_with("/eviction") {
                let body = json!({"kind": "Status", "code": 429, "reason": "TooManyRequests",
                    "details": {"causes": [{"reason": "DisruptionBudget"}]}});
                return Some(Answer::text(429, body.to_string()).after(seconds));
            }
            of_clerk.lock().expect("whole").answer(call)
        });
        Self { server, desk, begun: Instant::now() }
    }

    fn start(&self, name: &str, interval: u64) -> Candidate {
        self.start_with(name, interval, |service| service)
    }

    fn start_with(
        &self,
        name: &str,
        interval: u64,
        change: impl FnOnce(Service) -> Service,
    ) -> Candidate {
        let (service, ear) = service(&self.server, interval);
        let service = change(Service { lease: Some(settings(name)), ..service });
        let mut policy: Policy = policy();
        policy.profiles[0].name = name.to_owned();
        let (stopper, stop) = Stop::new();
        let task = tokio::spawn(async move {
            let run = service.run(Arc::new(policy), &mut Fixed, stop).await;
            run.expect("the cluster can be read");
        });
        Candidate { stopper, ear, task }
    }

    fn desk(&self) -> std::sync::MutexGuard<'_, Desk> {
        self.desk.lock().expect("whole")
    }

    /// Who asked for evictions, each with the seconds since the beginning.
    fn evictions(&self) -> Vec<(String, u64)> {
        let eviction = |call: Call| {
            let reason = call.body["metadata"]["annotations"]["reason"].as_str()?;
            let by = reason.strip_prefix("triggered by ")?.split('/').next()?;
            Some((by.to_owned(), call.at.duration_since(self.begun).as_secs()))
        };
        self.server.calls().into_iter().filter_map(eviction).collect()
    }
}

impl Candidate {
    fn told(&self) -> Vec<LeaseNews> {
        let lease = |news| match news {
            News::Lease(news) => Some(news),
            _ => None,
        };
        self.ear.heard().into_iter().filter_map(lease).collect()
    }

    async fn end(self) {
        self.stopper.stop();
        self.task.await.expect("it ends well");
    }
}

async fn seconds(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_not_there_is_made_kept_and_given_up() {
    let scene = Scene::new("p", 0);
    let one = scene.start("one", 10);
    seconds(1).await;
    let made = scene.desk().spec();
    assert_eq!(
        (&made["holderIdentity"], &made["leaseDurationSeconds"], &made["leaseTransitions"]),
        (&json!("one"), &json!(30), &json!(0))
    );
    assert_eq!(scene.evictions(), [("one".to_owned(), 0)]);
    seconds(20).await;
    let kept = scene.desk().spec();
    assert_eq!(
        (&kept["holderIdentity"], &kept["acquireTime"]),
        (&json!("one"), &made["acquireTime"])
    );
    assert_ne!(kept["renewTime"], made["renewTime"]);
    // Made, and renewed each 5 s without being read again.
    assert_eq!(scene.desk().version, 5);
    let lease_calls = scene.server.calls().into_iter().filter(|call| call.path.starts_with(LEASES));
    let methods: Vec<String> = lease_calls.map(|call| call.method.to_string()).collect();
    assert_eq!(methods, ["GET", "POST", "PUT", "PUT", "PUT", "PUT"]);
    assert_eq!(one.told(), [LeaseNews::Acquired]);
    one.end().await;
    let left = scene.desk().spec();
    assert_eq!((&left["holderIdentity"], &left["leaseDurationSeconds"]), (&json!(""), &json!(1)));
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_free_when_it_has_not_changed_for_its_duration_whatever_clocks_say() {
    // Renewed long ago or far in the future, by a clock that is not ours.
    for renewed in ["2001-01-01T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z"] {
        let scene = Scene::new("p", 0);
        scene.desk().held_by("other", 60, renewed);
        let one = scene.start("one", 10);
        seconds(59).await;
        assert_eq!(scene.evictions(), [], "{renewed}");
        assert_eq!(one.told(), [LeaseNews::HeldBy("other".to_owned())]);
        seconds(7).await;
        assert_eq!(scene.evictions().len(), 1, "{renewed}");
        let spec = scene.desk().spec();
        assert_eq!(
            (&spec["holderIdentity"], &spec["leaseTransitions"]),
            (&json!("one"), &json!(5))
        );
        one.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_renews_is_waited_for_and_one_that_gives_up_is_not() {
    let scene = Scene::new("p", 0);
    let one = scene.start("one", 10);
    seconds(1).await;
    let two = scene.start("two", 10);
    seconds(100).await;
    assert!(scene.evictions().iter().all(|(by, _)| by == "one"), "{:?}", scene.evictions());
    one.end().await;
    let before = scene.evictions().len();
    // Not the whole duration: the next try finds it free.
    seconds(6).await;
    let after = scene.evictions();
    assert_eq!(after[before..].iter().map(|(by, _)| &**by).collect::<Vec<_>>(), ["two"]);
    assert_eq!(two.told(), [LeaseNews::HeldBy("one".to_owned()), LeaseNews::Acquired]);
    two.end().await;
}

#[tokio::test(start_paused = true)]
async fn of_two_that_reach_for_a_free_lease_one_gets_it() {
    let scene = Scene::new("p", 0);
    let (one, two) = (scene.start("one", 10), scene.start("two", 10));
    seconds(100).await;
    let who: BTreeSet<String> = scene.evictions().into_iter().map(|(by, _)| by).collect();
    assert_eq!(who.len(), 1, "{who:?}");
    one.end().await;
    two.end().await;
}

#[tokio::test(start_paused = true)]
async fn evictions_end_before_the_lease_can_be_lost() {
    // Each takes 4 s: a plan of a minute and a half.
    let pods = (10..33).map(|number| format!("p{number}")).collect::<Vec<_>>().join(" ");
    for silent in [false, true] {
        let scene = Scene::new(&pods, 4);
        let one = scene.start("one", 1_000);
        seconds(11).await;
        // The last renewal was at 10 s.
        match silent {
            true => scene.desk().silent = true,
            false => drop(scene.desk().barred.insert("one".to_owned())),
        }
        let two = scene.start("two", 1_000);
        seconds(60).await;
        let last = |who: &str| {
            let all = scene.evictions().into_iter().filter(|(by, _)| by == who);
            all.map(|(_, at)| at).collect::<Vec<_>>()
        };
        let ones = last("one");
        assert_eq!(ones, [0, 4, 8, 12, 16, 20, 24, 28], "silent: {silent}");
        let lost = one.told().into_iter().find_map(|news| match news {
            LeaseNews::Lost(why) => Some(why),
            _ => None,
        });
        let why = lost.expect("it was lost");
        assert!(why.starts_with("it could not be renewed for 20 s: "), "{why}");
        if !silent {
            // The lease was seen by the other one at 11 s and lasts 30 s.
            assert!(last("two").first().is_some_and(|&at| at >= 41), "{:?}", last("two"));
        }
        scene.desk().silent = false;
        two.end().await;
        one.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_robbed_of_the_lease_stops_at_once() {
    let scene = Scene::new("p q r s t u", 4);
    let one = scene.start("one", 1_000);
    seconds(7).await;
    scene.desk().held_by("robber", 30, "2026-01-01T00:00:00.000000Z");
    seconds(60).await;
    // It is noticed at the renewal at 10 s; what has left by then comes to its end.
    assert_eq!(scene.evictions().iter().map(|(_, at)| *at).collect::<Vec<_>>(), [0, 4, 8]);
    let told = one.told();
    assert_eq!(told[1], LeaseNews::Lost("`robber` holds it".to_owned()));
    assert_eq!(told[2], LeaseNews::HeldBy("robber".to_owned()));
    one.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_halted_sends_nothing_more() {
    let scene = Scene::new("p q r s t u", 4);
    let one = scene.start("one", 1_000);
    seconds(6).await;
    let before = scene.evictions().len();
    // The clock goes on and nobody runs: what was waited for is over all at once.
    advance(Duration::from_secs(100)).await;
    scene.desk().held_by("other", 30, "2026-01-01T00:00:00.000000Z");
    seconds(20).await;
    assert_eq!(scene.evictions().len(), before);
    let told = one.told();
    assert!(matches!(&told[1], LeaseNews::Lost(why) if why.ends_with("halted")), "{told:?}");
    one.end().await;
    assert_eq!(scene.desk().spec()["holderIdentity"], json!("other"), "it is not ours to give up");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_keeps_nobody_from_leaving() {
    let scene = Scene::new("p", 0);
    let one = scene.start("one", 1_000);
    seconds(4).await;
    scene.desk().silent = true;
    // The renewal at 5 s is under way and would be given up at 15 s.
    seconds(2).await;
    one.end().await;
    assert!(scene.begun.elapsed() < Duration::from_secs(10), "{:?}", scene.begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_server_without_leases_is_asked_again() {
    let scene = Scene::new("p", 0);
    scene.desk().barred.insert("one".to_owned());
    let one = scene.start("one", 10);
    seconds(12).await;
    let told = one.told();
    assert!(
        matches!(&told[..], [LeaseNews::Failed(why)] if why.contains("no leader")),
        "said once: {told:?}"
    );
    scene.desk().barred.clear();
    seconds(6).await;
    assert_eq!(scene.evictions().len(), 1);
    one.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_may_hold_the_lease_and_does_nothing_else() {
    let scene = Scene::new("p", 0);
    let one = scene.start_with("one", 10, |service| Service { dry_run: true, ..service });
    seconds(25).await;
    assert_eq!(scene.evictions(), []);
    assert_eq!(scene.desk().spec()["holderIdentity"], json!("one"));
    assert!(one.ear.ended().len() >= 2);
    one.end().await;
}
