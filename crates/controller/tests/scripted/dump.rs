//! What a dump makes of an API server's answers.

use std::io;

use descheduler_controller::{DumpError, dump};

use super::server::{Answer, Server, list, pod};

const PODS: &str = "/api/v1/pods";
const ATTEMPTS_MAX: u32 = 3;

/// The names of the pods in a dump, and of the kinds that are missing and that are torn.
async fn dumped(server: &Server) -> Result<(Vec<String>, Vec<String>, Vec<String>), DumpError> {
    let mut pods = Vec::new();
    let api = server.api();
    let dump = dump(&api, ATTEMPTS_MAX, |resource, json| {
        let object: serde_json::Value = serde_json::from_slice(json)?;
        assert_eq!(resource.path, PODS);
        pods.push(object["metadata"]["name"].as_str().unwrap_or_default().to_owned());
        Ok(())
    });
    let dump = dump.await?;
    let missing = dump.missing.into_iter().map(|missing| missing.resource).collect();
    Ok((pods, missing, dump.torn.iter().map(|resource| resource.name()).collect()))
}

#[tokio::test(start_paused = true)]
async fn pages_follow_each_other_and_what_fails_in_passing_is_asked_for_again() {
    let server = Server::new();
    server.once(PODS, "limit=500", || Answer::status(503, "starting"));
    server.on(PODS, "continue=t", || Answer::json(list("4", "", &[pod("b", "1")])));
    server.on(PODS, "limit=500", || Answer::json(list("4", "t", &[pod("a", "1")])));
    let (pods, missing, torn) = dumped(&server).await.expect("a dump");
    assert_eq!((pods, missing, torn), (vec!["a".to_owned(), "b".to_owned()], vec![], vec![]));
}

#[tokio::test(start_paused = true)]
async fn pages_that_expired_are_asked_for_at_once_and_nothing_comes_twice() {
    let server = Server::new();
    server.on(PODS, "continue=", || Answer::status(410, "the continue parameter is too old"));
    server.on(PODS, "limit=500", || Answer::json(list("4", "t", &[pod("a", "1"), pod("b", "1")])));
    server.on(PODS, "", || {
        Answer::json(list("9", "", &[pod("a", "1"), pod("b", "8"), pod("c", "9")]))
    });
    let (pods, _, torn) = dumped(&server).await.expect("a dump");
    assert_eq!((pods.concat(), torn.concat()), ("abc".to_owned(), "pods".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_read_is_missing_and_pods_must_not_be() {
    let server = Server::new();
    server.on("/apis/apps/v1/replicasets", "", || Answer::status(403, "is forbidden"));
    server.on("/apis/metrics.k8s.io/v1beta1/nodes", "", || Answer::status(503, "is down"));
    server.on("/apis/resource.k8s.io/v1/resourceslices", "", || Answer::status(404, "is unknown"));
    let (pods, missing, _) = dumped(&server).await.expect("a dump");
    assert_eq!((pods, missing.concat()), (vec![], "replicasets.apps".to_owned()));

    server.on(PODS, "", || Answer::status(403, "is forbidden"));
    let error = dumped(&server).await.expect_err("no pods");
    let DumpError::Read(error) = error else { panic!("{error}") };
    assert_eq!((error.resource.as_str(), error.code), ("pods", Some(403)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_away_is_given_up() {
    let server = Server::new();
    server.on(PODS, "", || Answer::status(500, "broken"));
    assert!(matches!(dumped(&server).await, Err(DumpError::Read(_))));
    assert_eq!(server.asked(PODS).len(), ATTEMPTS_MAX as usize);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_written_ends_it() {
    let server = Server::new();
    server.on(PODS, "", || Answer::json(list("4", "", &[pod("a", "1")])));
    let api = server.api();
    let dump = dump(&api, ATTEMPTS_MAX, |_, _| Err(io::Error::other("full")));
    assert!(matches!(dump.await, Err(DumpError::Write(_))));
}
