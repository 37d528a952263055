//! The service: cycles, evictions and what becomes of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use descheduler_controller::observe::{Ended, News, PolicyNews, Verdict};
use descheduler_controller::{Fixed, Look, PolicySource, Service, Stop};
use descheduler_engine::{Limits, Pace, Policy, Settled};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::server::{Answer, Call, Server, bookmark};
use super::toys::{cluster, policy, service};

async fn once(service: &Service, policy: Policy) -> Ended {
    let (_stopper, stop) = Stop::new();
    let ended = service.run(Arc::new(policy), &mut Fixed, stop).await;
    ended.expect("the cluster can be read").expect("there was a cycle")
}

/// Answers evictions by what is written for their pods, one word a request, then `201`.
pub(crate) fn answering(answers: &str) -> impl FnMut(&Call) -> Option<Answer> + Send + 'static {
    let mut words: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for word in answers.split_whitespace() {
        let (pod, words_of) = word.split_once('=').expect("pod=answers");
        words.insert(pod.to_owned(), words_of.split(',').map(str::to_owned).collect());
    }
    move |call| {
        let pod =
            call.path.strip_prefix("/api/v1/namespaces/ns/pods/")?.strip_suffix("/eviction")?;
        let words = words.entry(pod.to_owned()).or_default();
        Some(answer_of(if words.is_empty() { "201".to_owned() } else { words.remove(0) }))
    }
}

fn answer_of(word: String) -> Answer {
    let status = |code: u16, reason: &str, message: &str, cause: Option<&str>| {
        let causes = cause.map(|cause| json!([{"reason": cause, "message": "m"}]));
        let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
            "reason": reason, "message": message, "details": {"causes": causes}});
        Answer::text(code, body.to_string())
    };
    let budget = || {
        let message = "Cannot evict pod as it would violate the pod's disruption budget.";
        status(429, "TooManyRequests", message, Some("DisruptionBudget"))
    };
    match word.as_str() {
        "201" => status(201, "", "", None),
        "slow" => status(201, "", "", None).after(3),
        "404" => status(404, "NotFound", "pods \"p\" not found", None),
        "nobody" => Answer::text(404, "404 page not found"),
        "uid" => status(
            409,
            "Conflict",
            "Operation cannot be fulfilled on Pod \"p\": the UID in the precondition (x) does not \
             match the UID in record (y). The object might have been deleted and then recreated",
            None,
        ),
        "409" => status(409, "Conflict", "the object has been modified", None),
        "budget" => budget(),
        "later" => budget().header("retry-after", "10"),
        "throttled" => Answer::text(429, "Too many requests, please try again later.\n")
            .header("retry-after", "1"),
        "moving" => status(429, "TooManyRequests", "Eviction triggered evacuation of vm", None),
        "403" => status(403, "Forbidden", "cannot create resource \"pods/eviction\"", None),
        "two" => status(500, "", "This pod has more than one PodDisruptionBudget, which..", None),
        "500" => status(500, "InternalError", "etcdserver: request timed out", None),
        "cut" => status(201, "", "", None).cut(),
        "never" => status(201, "", "", None).after(10_000),
        "refused" => Answer::refused(),
        other => panic!("no answer {other}"),
    }
}

/// What was asked for: seconds since the beginning and the pod.
fn asked(server: &Server, begun: Instant) -> String {
    let words = server.calls().into_iter().filter_map(|call| {
        let pod = call.path.strip_suffix("/eviction")?.rsplit('/').next()?;
        Some(format!("{}:{pod}", call.at.duration_since(begun).as_secs()))
    });
    words.collect::<Vec<_>>().join(" ")
}

fn fates(ended: &Ended) -> String {
    let records = ended.receipt.records.iter();
    let words = records.map(|record| format!("{}={}", record.target.pod.name, record.fate.code()));
    words.collect::<Vec<_>>().join(" ")
}

#[tokio::test(start_paused = true)]
async fn each_answer_of_the_server_and_what_follows() {
    for (answers, requests, expected, verdict) in [
        ("", "0:p 0:q", "p=Evicted q=Evicted", Verdict::Fine),
        ("p=404", "0:p 0:q", "p=Gone q=Evicted", Verdict::Fine),
        ("p=uid", "0:p 0:q", "p=Replaced q=Evicted", Verdict::Fine),
        ("p=409", "0:p 0:q 1:p", "p=Evicted q=Evicted", Verdict::Fine),
        ("p=budget", "0:p 0:q", "p=BlockedByBudget q=Evicted", Verdict::Fine),
        ("p=later", "0:p 0:q 10:p", "p=Evicted q=Evicted", Verdict::Fine),
        ("p=throttled", "0:p 1:p 1:q", "p=Evicted q=Evicted", Verdict::Fine),
        ("p=refused,refused", "0:p 1:p 3:p 3:q", "p=Evicted q=Evicted", Verdict::Fine),
        ("p=slow", "0:p 3:q", "p=Evicted q=Evicted", Verdict::Fine),
        // The answer is the head; what comes of the body is not waited for to believe it.
        ("p=cut", "0:p 0:q", "p=Evicted q=Evicted", Verdict::Fine),
        ("p=500", "0:p 0:q", "p=Unknown q=Evicted", Verdict::Fine),
        ("p=never", "0:p 65:q", "p=Unknown q=Evicted", Verdict::Fine),
        ("p=two", "0:p 0:q", "p=Denied q=Evicted", Verdict::Fine),
        // Without the feature it is a server that wants less of us.
        ("p=moving", "0:p 1:p 1:q", "p=Evicted q=Evicted", Verdict::Fine),
        ("p=403 q=403", "0:p 0:q", "p=Denied q=Denied", Verdict::Denied),
        ("p=nobody q=500", "0:p 0:q", "p=Denied q=Unknown", Verdict::Denied),
        ("p=500 q=500", "0:p 0:q", "p=Unknown q=Unknown", Verdict::Failed),
        ("p=500 q=budget", "0:p 0:q", "p=Unknown q=BlockedByBudget", Verdict::Fine),
        ("p=budget q=budget", "0:p 0:q", "p=BlockedByBudget q=BlockedByBudget", Verdict::Fine),
    ] {
        let server = cluster("p q", &[]);
        server.clerk(answering(answers));
        let (service, _) = service(&server, 0);
        let begun = Instant::now();
        let ended = once(&service, policy()).await;
        assert_eq!(asked(&server, begun), requests, "{answers}");
        assert_eq!(fates(&ended), expected, "{answers}");
        assert_eq!(ended.verdict(), verdict, "{answers}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_says_who_asks_and_for_which_pod() {
    let server = cluster("p", &[]);
    server.clerk(answering(""));
    let (service, ear) = service(&server, 0);
    let ended = once(&service, policy()).await;
    let call = &server.calls()[0];
    assert_eq!(
        (call.method.as_str(), &*call.path),
        ("POST", "/api/v1/namespaces/ns/pods/p/eviction")
    );
    assert_eq!(
        call.body,
        json!({"apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": "p", "namespace": "ns", "annotations": {
                "reason": "triggered by main/All: any will do",
                "requested-by": "sigs.k8s.io/descheduler"}},
            "deleteOptions": {"gracePeriodSeconds": 7, "preconditions": {"uid": "u-p"}}})
    );
    assert_eq!(ended.to_string(), "cycle 1: 1 to evict, 0 kept; 1 Evicted; took 0.0 s");
    let heard: Vec<&str> = ear.heard().iter().map(|news| word(news)).collect();
    assert_eq!(heard, ["synced", "policy", "begun", "planned", "decided", "ended"]);
}

fn word(news: &News) -> &'static str {
    match news {
        News::Policy(PolicyNews::Used(_)) => "policy",
        News::Policy(PolicyNews::Refused(_)) => "refused",
        News::Lease(_) => "lease",
        News::Serving(_) => "serving",
        News::Synced => "synced",
        News::Begun(_) => "begun",
        News::Settled(_) => "settled",
        News::Skipped(_) => "skipped",
        News::Planned(_) => "planned",
        News::Decided(_) => "decided",
        News::Ended(_) => "ended",
    }
}

#[tokio::test(start_paused = true)]
async fn a_migration_that_was_asked_for_goes_on_in_the_background() {
    let server = cluster("p q", &[]);
    server.clerk(answering("p=moving"));
    let (service, _) = service(&server, 0);
    let ended = once(&Service { background: true, ..service }, policy()).await;
    assert_eq!((fates(&ended).as_str(), ended.open), ("p=InBackground q=Evicted", 1));
}

#[tokio::test(start_paused = true)]
async fn requests_are_in_flight_together_but_keep_to_limits_and_pace() {
    let server = cluster("p q r s", &[]);
    server.clerk(answering("p=slow q=slow r=slow s=slow"));
    let (one, _) = service(&server, 0);
    let all = Service { pace: Pace { in_flight_max: 3, ..Pace::default() }, ..one };
    let begun = Instant::now();
    let ended = once(&all, policy()).await;
    assert_eq!(asked(&server, begun), "0:p 0:q 0:r 3:s");
    assert_eq!(ended.receipt.records.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_asks_for_nothing() {
    let server = cluster("p q", &[]);
    server.clerk(answering(""));
    let (service, ear) = service(&server, 0);
    let ended = once(&Service { dry_run: true, ..service }, policy()).await;
    assert_eq!(server.calls().len(), 0);
    assert_eq!((ended.planned, ended.verdict()), (2, Verdict::Fine));
    let heard: Vec<&str> = ear.heard().iter().map(|news| word(news)).collect();
    assert_eq!(heard, ["synced", "policy", "begun", "planned", "ended"]);
    assert_eq!(ended.to_string(), "cycle 1 (dry run): 2 to evict, 0 kept; took 0.0 s");
}

#[tokio::test(start_paused = true)]
async fn pods_are_looked_at_right_before_their_turn() {
    // While the answer for `p` is waited for, `q` goes by itself.
    let server = cluster("p q", &["q"]);
    server.clerk(answering("p=never"));
    let (service, _) = service(&server, 0);
    let ended = once(&service, policy()).await;
    assert_eq!(fates(&ended), "p=Unknown q=Gone");
}

#[tokio::test(start_paused = true)]
async fn cycles_follow_each_other_until_the_end() {
    let server = cluster("p", &[]);
    server.clerk(answering("p=budget,budget,budget,budget,budget"));
    let (service, ear) = service(&server, 100);
    let (stopper, stop) = Stop::new();
    let begun = Instant::now();
    let run = async {
        let mut source = Fixed;
        service.run(Arc::new(policy()), &mut source, stop).await
    };
    let end = async {
        sleep(Duration::from_secs(250)).await;
        stopper.stop();
    };
    let (ended, ()) = tokio::join!(run, end);
    assert_eq!(ended.expect("it can be read").expect("there were cycles").cycle, 3);
    assert_eq!(begun.elapsed().as_secs(), 250, "it ends at once");
    let at = server.calls().iter().map(|call| call.at.duration_since(begun).as_secs()).collect();
    let at: Vec<u64> = at;
    // From one beginning to the next it takes the interval and at most a twentieth more.
    assert!(at.windows(2).all(|two| (100..=105).contains(&(two[1] - two[0]))), "{at:?}");
    let first = &ear.ended()[0];
    assert!(first.next_in.is_some_and(|next| next >= Duration::from_secs(100)), "{first:?}");
}

#[tokio::test(start_paused = true)]
async fn a_cycle_that_takes_longer_than_the_interval_is_followed_at_once() {
    let server = cluster("p", &[]);
    server.clerk(answering("p=never,never"));
    let (service, ear) = service(&server, 10);
    let (stopper, stop) = Stop::new();
    let begun = Instant::now();
    let mut source = Fixed;
    let end = async {
        sleep(Duration::from_secs(100)).await;
        stopper.stop();
    };
    let (_, ()) = tokio::join!(service.run(Arc::new(policy()), &mut source, stop), end);
    // Its answer is given up after 65 s. The next cycles leave the pod alone, until it is known that
    // it was no eviction.
    assert_eq!(asked(&server, begun), "0:p");
    let kinds: Vec<(u64, usize, usize)> =
        ear.ended().iter().map(|ended| (ended.cycle, ended.planned, ended.open)).collect();
    assert_eq!(kinds[..2], [(1, 1, 1), (2, 0, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_counts_until_the_pod_is_seen_to_stay() {
    let server = cluster("p q", &[]);
    server.clerk(answering("p=500"));
    let (service, ear) = service(&server, 40);
    let (stopper, stop) = Stop::new();
    let one = Policy { limits: Limits { total: Some(1), ..Limits::default() }, ..policy() };
    let mut source = Fixed;
    let end = async {
        sleep(Duration::from_secs(110)).await;
        stopper.stop();
    };
    let begun = Instant::now();
    let (_, ()) = tokio::join!(service.run(Arc::new(one), &mut source, stop), end);
    let planned: Vec<(usize, usize)> =
        ear.ended().iter().map(|ended| (ended.planned, ended.open)).collect();
    // Snapshots are dated by the wall clock, which does not move here, so it stays open.
    assert_eq!(planned, [(1, 1), (0, 1), (0, 1)]);
    assert_eq!(asked(&server, begun), "0:p");
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_settled_when_the_pod_has_left() {
    let server = cluster("p q", &["p"]);
    server.clerk(answering("p=500 q=budget,budget"));
    let (service, ear) = service(&server, 40);
    let (stopper, stop) = Stop::new();
    let mut source = Fixed;
    let end = async {
        sleep(Duration::from_secs(60)).await;
        stopper.stop();
    };
    let (_, ()) = tokio::join!(service.run(Arc::new(policy()), &mut source, stop), end);
    let settled = ear.heard().into_iter().find_map(|news| match news {
        News::Settled(news) => Some((news.cycle, news.settled)),
        _ => None,
    });
    assert_eq!(settled, Some((2, Settled::Left)));
}

#[tokio::test(start_paused = true)]
async fn a_stop_finishes_what_is_in_flight_and_starts_nothing_new() {
    let server = cluster("p q", &[]);
    server.clerk(answering("p=slow"));
    let (service, ear) = service(&server, 100);
    let (stopper, stop) = Stop::new();
    let begun = Instant::now();
    let mut source = Fixed;
    let end = async {
        sleep(Duration::from_secs(1)).await;
        stopper.stop();
    };
    let (ended, ()) = tokio::join!(service.run(Arc::new(policy()), &mut source, stop), end);
    let ended = ended.expect("it can be read").expect("there was a cycle");
    assert_eq!(fates(&ended), "p=Evicted q=Stopped");
    assert_eq!(begun.elapsed().as_secs(), 3);
    assert_eq!((ended.next_in, ear.ended().len()), (None, 1));
}

#[tokio::test(start_paused = true)]
async fn a_stale_store_skips_the_cycle_and_says_why() {
    let server = cluster("p", &[]);
    server.once("/api/v1/services", "sendInitialEvents", || {
        Answer::stream([bookmark("9", true)]).open()
    });
    server.on("/api/v1/services", "", || Answer::status(500, "nobody at home"));
    server.clerk(answering("p=budget"));
    let (service, ear) = service(&server, 300);
    let (stopper, stop) = Stop::new();
    let mut source = Fixed;
    let end = async {
        sleep(Duration::from_secs(400)).await;
        stopper.stop();
    };
    let (_, ()) = tokio::join!(service.run(Arc::new(policy()), &mut source, stop), end);
    let ended = ear.ended();
    assert_eq!(ended[0].skipped, None);
    let skipped = ended[1].skipped.as_ref().expect("skipped");
    assert_eq!(skipped.code, "NotReady");
    assert!(skipped.why.starts_with("services: nothing was heard"), "{}", skipped.why);
    assert!(skipped.why.ends_with("nobody at home"), "{}", skipped.why);
    assert_eq!(ended[1].verdict(), Verdict::Skipped);
    assert!(ended[1].to_string().starts_with("cycle 2 skipped: services"), "{}", ended[1]);
}

/// Answers with what it is given, look by look.
struct Looks(Vec<Look>);

impl PolicySource for Looks {
    fn look(&mut self) -> Look {
        if self.0.is_empty() { Look::Same } else { self.0.remove(0) }
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_policy_is_used_and_one_that_cannot_be_changes_nothing() {
    let server = cluster("p", &[]);
    server.clerk(answering("p=budget,budget,budget"));
    let (service, ear) = service(&server, 100);
    let (stopper, stop) = Stop::new();
    let none = Policy { profiles: Vec::new(), ..policy() };
    let mut looks = Looks(vec![
        Look::Same,
        Look::New(Arc::new(none)),
        Look::Unusable("error: no".to_owned()),
        Look::New(Arc::new(policy())),
    ]);
    let end = async {
        sleep(Duration::from_secs(350)).await;
        stopper.stop();
    };
    let (_, ()) = tokio::join!(service.run(Arc::new(policy()), &mut looks, stop), end);
    let planned: Vec<usize> = ear.ended().iter().map(|ended| ended.planned).collect();
    assert_eq!(planned, [1, 0, 0, 1]);
    let told = ear.heard();
    let told: Vec<&str> =
        told.iter().map(word).filter(|word| ["policy", "refused"].contains(word)).collect();
    assert_eq!(told, ["policy", "policy", "refused", "policy"]);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_cannot_be_read_is_an_error_that_says_so() {
    let server = Server::new();
    server.on("/api/v1/pods", "", || Answer::status(403, "pods is forbidden"));
    for interval in [0, 100] {
        let (service, _) = service(&server, interval);
        let (_stopper, stop) = Stop::new();
        let error = service.run(Arc::new(policy()), &mut Fixed, stop).await;
        let error = error.expect_err("it cannot be read");
        assert_eq!((error.resource.as_str(), error.code), ("pods", Some(403)));
    }
}
