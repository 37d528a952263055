//! What the followers make of an API server's answers.

use std::time::Duration;

use descheduler_cluster::Kind;
use descheduler_controller::{NotReady, Options, Stores};
use jiff::Timestamp;
use tokio::time::sleep;

use super::server::{Answer, Server, added, bookmark, deleted, error_event, list, pod};

const PODS: &str = "/api/v1/pods";
const ATTEMPTS_MAX: u32 = 4;

fn start(server: &Server) -> Stores {
    Stores::start(&server.api(), Options { metrics: false })
}

/// The pods that the stores hold, with their versions of labels.
async fn pods(stores: &Stores) -> Vec<String> {
    let mut reading = stores.read().await.expect("ready");
    let (snapshot, _) = reading.snapshot(Timestamp::UNIX_EPOCH);
    snapshot.pods().iter().map(|&id| snapshot.pod_name(id)).collect()
}

/// Long enough for anything that is going to happen.
async fn settle() {
    sleep(Duration::from_secs(10)).await;
}

#[tokio::test(start_paused = true)]
async fn everything_comes_in_one_stream_and_changes_follow() {
    let server = Server::new();
    server.on(PODS, "sendInitialEvents", || {
        Answer::stream([
            added(&pod("a", "5")),
            added(&pod("b", "3")),
            bookmark("9", true),
            deleted(&pod("a", "10")),
            added(&pod("c", "11")),
        ])
        .open()
    });
    let stores = start(&server);
    stores.synced(ATTEMPTS_MAX).await.expect("all is there");
    settle().await;
    assert_eq!(pods(&stores).await, ["ns/b", "ns/c"]);
    let asked = server.asked(PODS);
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].contains("resourceVersionMatch=NotOlderThan"), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_the_stream_is_asked_once_and_lists_page_by_page() {
    let server = Server::new();
    server.refuse_streams(422);
    server.on(PODS, "continue=to%2Bken", || Answer::json(list("12", "", &[pod("b", "2")])));
    server.on(PODS, "limit=500", || Answer::json(list("12", "to+ken", &[pod("a", "1")])));
    server.on(PODS, "resourceVersion=12", || Answer::stream([added(&pod("c", "13"))]).open());
    let stores = start(&server);
    stores.synced(ATTEMPTS_MAX).await.expect("all is there");
    settle().await;
    assert_eq!(pods(&stores).await, ["ns/a", "ns/b", "ns/c"]);
    // Kinds begin together, so several may hear the no; nobody hears it twice.
    let streams = |path: &str| {
        server.asked(path).iter().filter(|target| target.contains("sendInitialEvents")).count()
    };
    assert!(streams(PODS) <= 1, "{:?}", server.asked(PODS));
}

#[tokio::test(start_paused = true)]
async fn pages_that_expired_are_asked_for_at_once() {
    let server = Server::new();
    server.refuse_streams(422);
    server.on(PODS, "continue=", || {
        Answer::status(410, "the provided continue parameter is too old")
    });
    server.on(PODS, "limit=500", || Answer::json(list("4", "t", &[pod("gone", "1")])));
    server.on(PODS, "watch=true", || Answer::stream([]).open());
    server.on(PODS, "", || Answer::json(list("12", "", &[pod("a", "1"), pod("b", "2")])));
    let stores = start(&server);
    stores.synced(ATTEMPTS_MAX).await.expect("all is there");
    assert_eq!(pods(&stores).await, ["ns/a", "ns/b"]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_cut_is_taken_up_after_the_last_bookmark() {
    let server = Server::new();
    server.on(PODS, "sendInitialEvents", || {
        Answer::stream([
            added(&pod("a", "5")),
            bookmark("9", true),
            added(&pod("b", "12")),
            bookmark("20", false),
        ])
        .cut()
    });
    server.on(PODS, "resourceVersion=20", || Answer::stream([deleted(&pod("a", "21"))]).open());
    let stores = start(&server);
    settle().await;
    assert_eq!(pods(&stores).await, ["ns/b"]);
    assert_eq!(server.asked(PODS).len(), 2, "{:?}", server.asked(PODS));
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_too_old_leads_to_a_new_list_over_what_is_there() {
    let server = Server::new();
    server.once(PODS, "sendInitialEvents", || {
        Answer::stream([added(&pod("a", "5")), added(&pod("b", "6")), bookmark("9", true)])
    });
    server.once(PODS, "resourceVersion=9", || Answer::stream([error_event(410, "too old")]));
    server.on(PODS, "sendInitialEvents", || {
        Answer::stream([added(&pod("b", "40")), added(&pod("c", "41")), bookmark("50", true)])
            .open()
    });
    let stores = start(&server);
    settle().await;
    assert_eq!(pods(&stores).await, ["ns/b", "ns/c"]);
}

#[tokio::test(start_paused = true)]
async fn while_a_list_is_taken_anew_there_is_no_snapshot() {
    let server = Server::new();
    server.once(PODS, "sendInitialEvents", || {
        Answer::stream([added(&pod("a", "5")), bookmark("9", true)])
    });
    server.once(PODS, "resourceVersion=9", || Answer::status(410, "too old"));
    server.on(PODS, "sendInitialEvents", || Answer::stream([added(&pod("b", "40"))]).open());
    let stores = start(&server);
    settle().await;
    let error = stores.read().await.expect_err("half filled");
    assert!(matches!(&error, NotReady::Filling { resource, .. } if resource == "pods"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_for_us_is_absent_and_said_once() {
    let server = Server::new();
    let replica_sets = "/apis/apps/v1/replicasets";
    server.on(replica_sets, "", || Answer::status(403, "replicasets.apps is forbidden"));
    server.on("/apis/resource.k8s.io/v1/deviceclasses", "", || Answer::status(404, "not found"));
    let stores = start(&server);
    stores.synced(ATTEMPTS_MAX).await.expect("the rest is there");
    let missing = stores.missing().await;
    let names: Vec<&str> = missing.iter().map(|missing| missing.resource.as_str()).collect();
    // That there are no such devices is no fault of anybody.
    assert_eq!(names, ["replicasets.apps"]);
    assert!(missing[0].problem.contains("is forbidden"), "{:?}", missing[0]);
    let mut reading = stores.read().await.expect("ready");
    let (snapshot, _) = reading.snapshot(Timestamp::UNIX_EPOCH);
    assert!(!snapshot.has(Kind::ReplicaSet) && snapshot.has(Kind::Pod));
    drop(reading);
    // It is asked for again from time to time, in case the right is granted.
    sleep(Duration::from_secs(1000)).await;
    assert!((3..=6).contains(&server.asked(replica_sets).len()));
}

#[tokio::test(start_paused = true)]
async fn what_is_needed_and_not_allowed_is_an_error_that_names_it() {
    for (code, message) in
        [(403, r#"User "x" cannot list resource "pods" in API group """#), (401, "Unauthorized")]
    {
        let server = Server::new();
        server.on(PODS, "", move || Answer::status(code, message));
        let error = start(&server).synced(ATTEMPTS_MAX).await.expect_err("refused");
        assert_eq!((error.resource.as_str(), error.code), ("pods", Some(code)));
        let expected = format!("cannot read pods of the cluster: the API server answers {code}");
        assert_eq!(error.to_string(), format!("{expected}: {message}"));
        assert_eq!(server.asked(PODS).len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_in_trouble_is_asked_again_ever_more_slowly() {
    let server = Server::new();
    for _ in 0..3 {
        server.once(PODS, "", || Answer::status(500, "etcdserver: leader changed"));
    }
    let begun = tokio::time::Instant::now();
    let stores = start(&server);
    stores.synced(ATTEMPTS_MAX).await.expect("in the end");
    let waited = begun.elapsed().as_millis();
    // 0.8 + 1.6 + 3.2 s, and what keeps kinds apart.
    assert!((5600..6000).contains(&waited), "{waited} ms");

    let server = Server::new();
    server.on(PODS, "", || Answer::status(503, "apiserver is shutting down"));
    let error = start(&server).synced(ATTEMPTS_MAX).await.expect_err("never");
    assert_eq!((error.code, server.asked(PODS).len()), (Some(503), 4));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_makes_the_store_stale() {
    let server = Server::new();
    server.once(PODS, "sendInitialEvents", || {
        Answer::stream([added(&pod("a", "5")), bookmark("9", true)]).open()
    });
    server.on(PODS, "", || Answer::status(500, "nobody at home"));
    let stores = start(&server);
    stores.synced(ATTEMPTS_MAX).await.expect("all is there");
    assert_eq!(stores.read().await.expect("fresh").age, Duration::ZERO);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(stores.read().await.expect("not too old").age, Duration::from_secs(60));
    sleep(Duration::from_secs(140)).await;
    match stores.read().await.expect_err("stale") {
        NotReady::Stale { resource, age, trouble } => {
            assert_eq!((resource.as_str(), age.as_secs()), ("pods", 200));
            assert!(trouble.is_some_and(|text| text.contains("nobody at home")));
        }
        // After some failures a new list is wanted, which is as good a reason.
        NotReady::Filling { .. } => panic!("what was known is not forgotten before it is replaced"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_malformed_object_is_an_anomaly_and_stays() {
    let server = Server::new();
    server.on(PODS, "sendInitialEvents", || {
        let odd = pod("odd", "5").replace("\"spec\":{}", "\"spec\":{\"containers\":7}");
        Answer::stream([added(&odd), added(&pod("a", "6")), bookmark("9", true)]).open()
    });
    let stores = start(&server);
    stores.synced(ATTEMPTS_MAX).await.expect("all is there");
    let mut reading = stores.read().await.expect("ready");
    let (snapshot, anomalies) = reading.snapshot(Timestamp::UNIX_EPOCH);
    let flawed = |name: &str| {
        let of = |id: &&_| *snapshot.pod(**id).name == *name;
        snapshot.pods().iter().find(of).map(|&id| snapshot.pod(id).flawed)
    };
    assert_eq!((flawed("odd"), flawed("a")), (Some(true), Some(false)));
    assert_eq!(anomalies.len(), 1);
    assert!(anomalies[0].to_string().starts_with("Pod ns/odd: `spec.containers`"), "{anomalies:?}");
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_no_json_is_not_believed() {
    let server = Server::new();
    server.once(PODS, "sendInitialEvents", || {
        let broken = "{\"type\":\"ADDED\",\"object\":{\"metadata\":\n".to_owned();
        Answer::stream([added(&pod("a", "5")), bookmark("9", true), broken])
    });
    server.on(PODS, "sendInitialEvents", || {
        Answer::stream([added(&pod("b", "40")), bookmark("50", true)]).open()
    });
    let stores = start(&server);
    settle().await;
    assert_eq!(pods(&stores).await, ["ns/b"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_says_that_everything_was_sent_is_listed() {
    let server = Server::new();
    // Old servers ignore what they do not know and send only what there is.
    server.on(PODS, "sendInitialEvents", || Answer::stream([added(&pod("a", "5"))]).open());
    server.on(PODS, "limit=500", || Answer::json(list("12", "", &[pod("a", "5")])));
    server.on(PODS, "resourceVersion=12", || Answer::stream([]).open());
    let stores = start(&server);
    stores.synced(ATTEMPTS_MAX).await.expect("all is there");
    assert_eq!(pods(&stores).await, ["ns/a"]);
}
