//! A service that runs for a while: what changes around it, and what it leaves alone.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::fixture::{POLICY, busy, only, running};
use super::service::{Policy, Service};
use crate::audit::{self, Entry, evicted_once};
use crate::cluster::PATIENCE;
use crate::objects::Workload;
use crate::plane::{Plane, Shape};
use crate::program::Running;
use crate::scene::Scene;

/// Waits until the program has said something so often on standard error.
fn says(running: &Running, words: &str, count: usize) -> Result<()> {
    running.wait_until(&format!("`{words}` {count} times"), |said| {
        said.matches(words).count() >= count
    })
}

/// Ends a service that is told to.
fn end(running: Running) -> Result<()> {
    running.signal("TERM")?;
    running.wait_within(PATIENCE)?.expect(0, &[])
}

/// 12: the API server is restarted and does not know the versions any more: everything is listed
/// anew, and nothing is done twice.
pub(super) fn watch_expires(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(4))?;
    let cluster = plane.cluster();
    let service = Service::new(scene, &plane, &Policy::of("RemoveDuplicates", json!({})))?;
    let service = service.start("--descheduling-interval 1s")?;
    says(&service, "cycle 1 begins", 1)?;
    plane.kill("apiserver-0", "KILL")?;
    plane.restart("apiserver-0", &[])?;
    // What comes now is seen only by those who watch again.
    only(cluster, "node-0", || {
        cluster.create([&Workload::deployment("web", 4).manifest()])?;
        running(cluster, 4)
    })?;
    cluster.wait("a pod on each node", "/api/v1/namespaces/default/pods", |pods| {
        let mut nodes: Vec<String> =
            pods.values().map(|pod| pod["spec"]["nodeName"].to_string()).collect();
        nodes.sort();
        nodes.dedup();
        (pods.len() == 4 && nodes.len() == 4).then_some(())
    })?;
    end(service)?;
    let all = audit::evictions(&plane)?;
    ensure!(evicted_once(&all)? == 3, "{:?}", all.iter().map(Entry::what).collect::<Vec<_>>());
    Ok(())
}

/// 17: a policy that changes is used from the next cycle on; one that is broken is reported, and the
/// last good one stays.
pub(super) fn policy_changes(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(2))?;
    plane.cluster().create([&Workload::deployment("web", 2).manifest()])?;
    running(plane.cluster(), 2)?;
    sleep(Duration::from_millis(2100));
    let service = Service::new(scene, &plane, &Policy::old_pods("elsewhere"))?;
    let file = service.policy().to_owned();
    let write = |text: &str| {
        // At once, as a ConfigMap is mounted: nobody reads half a policy.
        let next = file.with_extension("next");
        fs::write(&next, text).and_then(|()| fs::rename(&next, &file)).context("write a policy")
    };
    let service = service.start("--descheduling-interval 1s")?;
    says(&service, "cycle 2 begins", 1)?;
    ensure!(audit::evictions(&plane)?.is_empty(), "something is evicted");
    write("profiles: [")?;
    says(&service, "policy cannot be used", 1)?;
    ensure!(audit::evictions(&plane)?.is_empty(), "something is evicted");
    let policy = Policy::old_pods("default").top("maxNoOfPodsToEvictTotal", json!(1));
    write(&policy.text())?;
    audit::wait_for(&plane, 1, |code| code == 201)?;
    end(service)
}

/// 21: a dry run makes the plan of a real one and writes nothing.
pub(super) fn dry_run(scene: &Scene<'_>) -> Result<()> {
    let plane = busy(scene)?;
    let policy = scene.file("policy.yaml", POLICY)?;
    let service = Service::new(scene, &plane, &Policy::empty())?;
    fs::copy(&policy, service.policy()).context("copy the policy")?;
    for flags in ["--dry-run", "--dry-run --placement off"] {
        let plan = service.plan(flags.trim_start_matches("--dry-run"))?;
        let output = service.once(flags)?;
        for eviction in plan["evictions"].as_array().into_iter().flatten() {
            let name = eviction["name"].as_str().unwrap_or_default();
            ensure!(output.stderr.contains(name), "{name} is not told: {}", output.stderr);
        }
    }
    audit::nothing_written(&plane)
}

/// 27: ten cycles on a cluster that is as it should be: no eviction, and nothing written but the
/// lease.
pub(super) fn settled(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(3))?;
    let web = Workload::deployment("web", 3).requests("500m", "256Mi");
    plane.cluster().create([&web.manifest(), &Workload::daemon_set("agent").manifest()])?;
    running(plane.cluster(), 6)?;
    let policy = scene.file("policy.yaml", POLICY)?;
    let (service, _) = Service::account(scene, &plane, "service", None, &Policy::empty())?;
    fs::copy(&policy, service.policy()).context("copy the policy")?;
    let service = service.start("--descheduling-interval 500ms --leader-elect")?;
    says(&service, "cycle 11 begins", 1)?;
    end(service)?;
    audit::nothing_written(&plane)?;
    let leases = audit::ours(&plane)?.iter().filter(|entry| entry.is_lease()).count();
    ensure!(leases > 0, "there is no lease either");
    Ok(())
}

/// Flags of two replicas, one of which acts.
const ELECTION: &str = "--descheduling-interval 2s --leader-elect \
    --leader-elect-lease-duration 6s --leader-elect-renew-deadline 4s \
    --leader-elect-retry-period 1s";

/// Who evicted, in order, without repetitions.
fn evictors(plane: &Plane) -> Result<Vec<String>> {
    let all = audit::evictions(plane)?;
    let mut users: Vec<String> = all.iter().map(|entry| entry.user().to_owned()).collect();
    users.dedup();
    Ok(users)
}

/// Two replicas that would evict the pods of one namespace, three a cycle, for ever.
fn replicas(scene: &Scene<'_>, plane: &Plane) -> Result<[Running; 2]> {
    plane.cluster().create([&Workload::deployment("web", 3).manifest()])?;
    running(plane.cluster(), 3)?;
    sleep(Duration::from_millis(2100));
    let policy = Policy::old_pods("default");
    let (first, _) = Service::account(scene, plane, "first", None, &policy)?;
    let (second, _) = Service::account(scene, plane, "second", None, &policy)?;
    let first = first.start(ELECTION)?;
    // So that it is known who leads.
    audit::wait_for(plane, 1, |code| code == 201)?;
    Ok([first, second.start(ELECTION)?])
}

/// Waits until somebody else has evicted something, too.
fn takes_over(plane: &Plane, count: usize) -> Result<Vec<String>> {
    let mut evictions = 0;
    loop {
        let users = evictors(plane)?;
        if users.len() >= count {
            return Ok(users);
        }
        evictions += 1;
        audit::wait_for(plane, evictions, |code| code == 201)?;
        ensure!(evictions < 200, "nobody takes over: {users:?}");
    }
}

/// U18 and 8: one of two replicas acts. When it is killed the other one follows after the lease,
/// when it is told to stop at once; and the two never mix.
pub(super) fn leaders(scene: &Scene<'_>) -> Result<()> {
    for signal in ["KILL", "TERM"] {
        let plane = scene.plane(&Shape::nodes(2))?;
        let [first, second] = replicas(scene, &plane)?;
        let before = audit::evictions(&plane)?.len();
        audit::wait_for(&plane, before + 2, |code| code == 201)?;
        ensure!(evictors(&plane)?.len() == 1, "{:?}", evictors(&plane)?);
        first.signal(signal)?;
        first.wait_within(PATIENCE)?;
        let users = takes_over(&plane, 2)?;
        ensure!(users.len() == 2, "{signal}: {users:?}");
        end(second)?;
        ensure!(evictors(&plane)?.len() == 2, "{signal}: {:?}", evictors(&plane)?);
        evicted_once(&audit::evictions(&plane)?)?;
    }
    Ok(())
}

/// 10: a leader that was halted for longer than its lease sends nothing more when it goes on.
pub(super) fn leader_halted(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(2))?;
    let [first, second] = replicas(scene, &plane)?;
    first.signal("STOP")?;
    takes_over(&plane, 2)?;
    first.signal("CONT")?;
    // For some more cycles of the new leader.
    let now = audit::evictions(&plane)?.len();
    audit::wait_for(&plane, now + 6, |code| code == 201)?;
    ensure!(evictors(&plane)?.len() == 2, "{:?}", evictors(&plane)?);
    end(first)?;
    end(second)?;
    evicted_once(&audit::evictions(&plane)?).map(|_| ())
}
