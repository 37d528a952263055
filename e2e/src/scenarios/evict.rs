//! Evictions that do not go as planned, and those of many pods.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::fixture::{only, running, settled};
use super::service::{Policy, Service};
use crate::access::{Account, read_but};
use crate::audit::{self, Entry, evicted_once};
use crate::objects::{Workload, budget};
use crate::plane::{Plane, Shape};
use crate::proxy::{Fault, HalfSent, Proxy};
use crate::scene::Scene;

/// A loop that begins anew each second.
const LOOP: &str = "--descheduling-interval 1s";
/// How long a program that was told to end may take.
const END: Duration = Duration::from_secs(30);

/// A plane with a workload that has run for a while.
fn with(scene: &Scene<'_>, nodes: usize, workload: &Workload, pods: usize) -> Result<Plane> {
    let plane = scene.plane(&Shape::nodes(nodes))?;
    plane.cluster().create([&workload.manifest()])?;
    running(plane.cluster(), pods)?;
    // Ages are whole seconds: only time brings them about.
    sleep(Duration::from_millis(2100));
    Ok(plane)
}

fn codes(entries: &[Entry]) -> Vec<u64> {
    entries.iter().map(Entry::code).collect()
}

/// Waits until a budget is known to allow so many disruptions.
fn allows(plane: &Plane, count: usize) -> Result<()> {
    let path = "/apis/policy/v1/poddisruptionbudgets";
    plane.cluster().wait(&format!("a budget of {count}"), path, |budgets| {
        let known = |one: &Value| {
            one["status"]["disruptionsAllowed"] == count
                && one["status"]["observedGeneration"] == one["metadata"]["generation"]
        };
        budgets.values().any(known).then_some(())
    })
}

/// 2: of three moves the budget allows one. The others are refused with its name, nothing is asked
/// in vain, and the next cycles go on.
pub(super) fn budget_allows_one(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(4))?;
    let cluster = plane.cluster();
    only(cluster, "node-0", || {
        cluster.create([&Workload::deployment("web", 4).manifest()])?;
        running(cluster, 4)
    })?;
    cluster.create([&budget("web", 3)])?;
    allows(&plane, 1)?;
    let service = Service::new(scene, &plane, &Policy::of("RemoveDuplicates", json!({})))?;
    let plan = service.plan("")?;
    let refused = plan["refusals"].as_array().context("no refusals")?;
    let by_budget = refused.iter().filter(|one| one["reason"].to_string().contains("web"));
    ensure!(by_budget.count() >= 2, "{plan}");
    service.once("")?;
    ensure!(codes(&audit::evictions(&plane)?) == [201], "{:?}", audit::evictions(&plane)?);
    let running = service.start(LOOP)?;
    cluster.wait("a pod on each node", "/api/v1/namespaces/default/pods", |pods| {
        let mut nodes: Vec<&Value> = pods.values().map(|pod| &pod["spec"]["nodeName"]).collect();
        nodes.sort_by_key(|node| node.to_string());
        nodes.dedup();
        (pods.len() == 4 && nodes.len() == 4).then_some(())
    })?;
    running.signal("TERM")?;
    running.wait_within(END)?.expect(0, &[])?;
    let all = audit::evictions(&plane)?;
    ensure!(codes(&all) == [201; 3], "{:?}", codes(&all));
    Ok(())
}

/// 3: the budget is tightened after the plan was made. The 429 is a refusal, no error, and is not
/// asked for again.
pub(super) fn budget_tightened(scene: &Scene<'_>) -> Result<()> {
    let plane = with(scene, 2, &Workload::deployment("web", 4), 4)?;
    plane.cluster().create([&budget("web", 3)])?;
    allows(&plane, 1)?;
    let proxy = Proxy::start(&plane, Fault { holds_evictions: true, ..Fault::default() })?;
    let policy = Policy::old_pods("default");
    let server = proxy.server();
    let (service, _) = Service::account(scene, &plane, "service", Some(&server), &policy)?;
    let running = service.start("")?;
    proxy.wait_held(1)?;
    let path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web";
    plane.cluster().patch(path, &json!({"spec": {"minAvailable": 4}}))?;
    allows(&plane, 0)?;
    proxy.set(Fault::default());
    running.wait_within(END)?.expect(0, &[])?;
    let all = audit::evictions(&plane)?;
    ensure!(codes(&all) == [429], "{:?}", codes(&all));
    Ok(())
}

/// 4: throttled by API priority and fairness, which is no budget: waits, tries again, and the pod
/// is evicted once.
pub(super) fn throttled(scene: &Scene<'_>) -> Result<()> {
    let plane = with(scene, 2, &Workload::deployment("web", 1), 1)?;
    let (service, account) =
        Service::account(scene, &plane, "service", None, &Policy::old_pods("default"))?;
    let name = "evictions";
    let subject = json!({"kind": "ServiceAccount",
        "serviceAccount": {"name": "service", "namespace": "kube-system"}});
    plane.cluster().create([
        &json!({"apiVersion": "flowcontrol.apiserver.k8s.io/v1",
            "kind": "PriorityLevelConfiguration", "metadata": {"name": name},
            "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 0,
                "lendablePercent": 0, "borrowingLimitPercent": 0,
                "limitResponse": {"type": "Reject"}}}}),
        &json!({"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema",
            "metadata": {"name": name},
            "spec": {"priorityLevelConfiguration": {"name": name}, "matchingPrecedence": 2,
                "rules": [{"subjects": [subject], "resourceRules": [{"verbs": ["create"],
                    "apiGroups": [""], "resources": ["pods/eviction"], "namespaces": ["*"]}]}]}}),
    ])?;
    let schemas = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
    plane.cluster().wait("the flow schema", schemas, |all| {
        let dangling = &all.get(name)?["status"]["conditions"][0];
        (dangling["type"] == "Dangling" && dangling["status"] == "False").then_some(())
    })?;
    let pods = plane.cluster().get("/api/v1/namespaces/default/pods")?;
    let pod = format!("default/{}", pods["items"][0]["metadata"]["name"].as_str().unwrap_or(""));
    let seat = HalfSent::eviction(&plane, &account, &pod)?;
    let running = service.start("")?;
    audit::wait_for(&plane, 1, |code| code == 429)?;
    drop(seat);
    running.wait_within(2 * END)?.expect(0, &[])?;
    let all = audit::evictions(&plane)?;
    ensure!(evicted_once(&all)? == 1, "{:?}", codes(&all));
    Ok(())
}

/// 5: a budget that has not been processed is left for a later cycle.
pub(super) fn budget_not_processed(scene: &Scene<'_>) -> Result<()> {
    let plane = with(scene, 2, &Workload::deployment("web", 3), 3)?;
    let service = Service::new(scene, &plane, &Policy::old_pods("default"))?;
    plane.kill("controller-manager", "STOP")?;
    plane.cluster().create([&budget("web", 1)])?;
    service.once("")?;
    let first = audit::evictions(&plane)?;
    ensure!(first.iter().all(|entry| entry.code() == 429), "{:?}", codes(&first));
    ensure!(first.len() <= 3, "asked {} times for 3 pods", first.len());
    plane.kill("controller-manager", "CONT")?;
    allows(&plane, 2)?;
    service.once("")?;
    let all = audit::evictions(&plane)?;
    ensure!(evicted_once(&all)? == 2, "{:?}", codes(&all));
    ensure!(codes(&all[first.len()..]) == [201; 2], "{:?}", codes(&all));
    Ok(())
}

/// 6: the API server is killed in the middle and comes back. No pod is evicted twice, and the limit
/// holds over those whose answer was lost.
pub(super) fn api_server_killed(scene: &Scene<'_>) -> Result<()> {
    let plane = with(scene, 4, &Workload::deployment("web", 100), 100)?;
    let policy = Policy::old_pods("default").top("maxNoOfPodsToEvictTotal", json!(60));
    let service = Service::new(scene, &plane, &policy)?;
    let running = service.start("--client-connection-qps 20 --client-connection-burst 1")?;
    audit::wait_for(&plane, 20, |code| code == 201)?;
    plane.kill("apiserver-0", "KILL")?;
    plane.restart("apiserver-0", &[])?;
    // Whether it goes on or gives up, it ends.
    let output = running.wait_within(4 * END)?;
    let done = evicted_once(&audit::evictions(&plane)?)?;
    ensure!(output.code.is_some(), "a signal ended it");
    ensure!((20..=60).contains(&done), "{done} evicted: {}", output.stderr);
    scene.figure(format!("{done} of 60 evicted, exit {:?}", output.code));
    Ok(())
}

/// 7: an answer that is lost counts as an eviction, and the pod is not asked for again.
pub(super) fn answer_lost(scene: &Scene<'_>) -> Result<()> {
    let plane = with(scene, 2, &Workload::deployment("web", 3), 3)?;
    let proxy = Proxy::start(&plane, Fault { lost_evictions: 1, ..Fault::default() })?;
    let policy = Policy::old_pods("default").top("maxNoOfPodsToEvictTotal", json!(1));
    let server = proxy.server();
    let (service, _) = Service::account(scene, &plane, "service", Some(&server), &policy)?;
    let output = service.start("")?.wait_within(2 * END)?;
    let all = audit::evictions(&plane)?;
    ensure!(codes(&all) == [201], "{:?}: {}", codes(&all), output.stderr);
    Ok(())
}

/// 13 and 14: between plan and eviction a pod goes, or another one comes under its name.
pub(super) fn gone_or_replaced(scene: &Scene<'_>) -> Result<()> {
    for (workload, name, code) in [
        (Workload::deployment("web", 1), "", 404),
        (Workload::stateful_set("web", 1), "web-0", 409),
    ] {
        let plane = with(scene, 2, &workload, 1)?;
        let proxy = Proxy::start(&plane, Fault { holds_evictions: true, ..Fault::default() })?;
        let server = proxy.server();
        let policy = Policy::old_pods("default");
        let (service, _) = Service::account(scene, &plane, "service", Some(&server), &policy)?;
        let running = service.start("")?;
        proxy.wait_held(1)?;
        let before = running_pod(&plane)?;
        let old = before["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        plane.cluster().delete(&format!("/api/v1/namespaces/default/pods/{old}"))?;
        let uid = before["metadata"]["uid"].clone();
        let fresh =
            plane.cluster().wait("the next pod", "/api/v1/namespaces/default/pods", |all| {
                let next = all.values().find(|pod| {
                    pod["metadata"]["uid"] != uid && pod["status"]["phase"] == "Running"
                });
                next.filter(|_| all.len() == 1).cloned()
            })?;
        ensure!(name.is_empty() || fresh["metadata"]["name"] == name, "{fresh}");
        proxy.set(Fault::default());
        running.wait_within(END)?.expect(0, &[])?;
        let all = audit::evictions(&plane)?;
        ensure!(codes(&all) == [code], "{:?}, expected {code}", codes(&all));
        let now = running_pod(&plane)?;
        ensure!(now["metadata"]["uid"] == fresh["metadata"]["uid"], "the new pod is gone");
    }
    Ok(())
}

fn running_pod(plane: &Plane) -> Result<Value> {
    let pods = settled(plane.cluster(), "default", 1)?;
    pods.into_values().next().context("no pod")
}

/// 15: a pod that hangs in termination is not evicted again.
pub(super) fn hangs(scene: &Scene<'_>) -> Result<()> {
    let workload = Workload::deployment("web", 3).annotation("e2e/stop", "never");
    let plane = with(scene, 2, &workload, 3)?;
    // Only what was there at the beginning: what replaces it is as old in a moment.
    for pod in settled(plane.cluster(), "default", 3)?.into_values() {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("/api/v1/namespaces/default/pods/{name}");
        plane.cluster().patch(&path, &json!({"metadata": {"labels": {"first": "yes"}}}))?;
    }
    let arguments = json!({"maxPodLifeTimeSeconds": 1,
        "labelSelector": {"matchLabels": {"first": "yes"}}});
    let service = Service::new(scene, &plane, &Policy::of("PodLifeTime", arguments))?;
    for _ in 0..3 {
        service.once("")?;
    }
    let all = audit::evictions(&plane)?;
    ensure!(evicted_once(&all)? == 3 && all.len() == 3, "{:?}", codes(&all));
    Ok(())
}

/// 16: told to stop while it evicts a hundred pods, it sends no further request and ends well.
pub(super) fn told_to_stop(scene: &Scene<'_>) -> Result<()> {
    let plane = with(scene, 4, &Workload::deployment("web", 100), 100)?;
    let (service, _) =
        Service::account(scene, &plane, "service", None, &Policy::old_pods("default"))?;
    let election = "--leader-elect --client-connection-qps 10 --client-connection-burst 1";
    let running = service.start(&format!("--descheduling-interval 5m {election}"))?;
    audit::wait_for(&plane, 5, |code| code == 201)?;
    let told = Instant::now();
    running.signal("TERM")?;
    running.wait_within(END)?.expect(0, &[])?;
    scene.figure(format!("ends {} ms after SIGTERM", told.elapsed().as_millis()));
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/descheduler";
    let holder = plane.cluster().get(lease)?["spec"]["holderIdentity"].clone();
    ensure!(holder == "" || holder.is_null(), "the lease is still held by {holder}");
    let all = audit::evictions(&plane)?;
    ensure!(evicted_once(&all)? == all.len(), "{:?}", codes(&all));
    ensure!(all.len() < 100, "it went on to the end");
    Ok(())
}

/// 11: without the right to evict nothing is evicted, and the right that is missing is named.
pub(super) fn no_right_to_evict(scene: &Scene<'_>) -> Result<()> {
    let plane = with(scene, 2, &Workload::deployment("web", 3), 3)?;
    let account = Account::new(&plane, "reader", &read_but(&[]))?;
    let kubeconfig = account.kubeconfig(&plane, None)?;
    let service = Service::with(scene, &kubeconfig, &Policy::old_pods("default"))?;
    service.start("")?.wait_within(END)?.expect(1, &["pods/eviction", "403"])?;
    let all = audit::evictions(&plane)?;
    ensure!(all.iter().all(|entry| entry.code() == 403), "{:?}", codes(&all));
    Ok(())
}
