//! `plan --kubeconfig`: what is read of a real cluster, and that nothing is written to it.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::fixture::{POLICY, busy};
use crate::access::{Account, read_but};
use crate::audit;
use crate::plane::Plane;
use crate::program::Arguments;
use crate::proxy::{Fault, Proxy};
use crate::scene::Scene;

/// What `kubectl get` is asked for to dump a cluster: every kind that a plan is made from.
const KINDS: &str = "nodes,pods,namespaces,priorityclasses,pdb,pvc,pv,storageclasses,csinodes,\
    csidrivers,csistoragecapacities,volumeattachments,replicasets,replicationcontrollers,\
    statefulsets,deployments,jobs,daemonsets,services,controllerrevisions,resourceclaims,\
    resourceslices,deviceclasses";

/// All placement modes.
const MODES: [&str; 3] = ["off", "feasible", "improving"];

/// The plan of a live cluster is that of a dump of it, in every placement mode.
pub(super) fn live_is_dump(scene: &Scene<'_>) -> Result<()> {
    let plane = busy(scene)?;
    let policy = scene.file("policy.yaml", POLICY)?;
    let now = now(&plane)?;
    for format in ["yaml", "json"] {
        let dump = plane.kubectl(&["get", "-A", "-o", format, KINDS])?;
        let dump = scene.file(&format!("dump.{format}"), &dump)?;
        for mode in MODES {
            let flags = format!("--placement {mode} --now {now}");
            let live = scene.plan(&plane.kubeconfig(), &policy, &flags)?;
            let of_dump = Arguments::of("plan -o json")
                .path("--cluster", &dump)
                .path("--policy", &policy)
                .and(&flags);
            same(&live, &scene.run(of_dump)?.json()?)?;
            ensure!(!evictions(&live).is_empty(), "nothing is planned in mode {mode}");
        }
    }
    Ok(())
}

/// What may not be read is named, and without what a plan cannot do without there is none.
pub(super) fn without_rights(scene: &Scene<'_>) -> Result<()> {
    let plane = busy(scene)?;
    let policy = scene.file("policy.yaml", POLICY)?;
    let all = Account::new(&plane, "reader", &read_but(&[]))?.kubeconfig(&plane, None)?;
    let whole = scene.plan(&all, &policy, "")?;
    for resource in ["nodes", "pods"] {
        let account = Account::new(&plane, &format!("no-{resource}"), &read_but(&[resource]))?;
        let plan = Arguments::of("plan")
            .path("--kubeconfig", &account.kubeconfig(&plane, None)?)
            .path("--policy", &policy);
        let grant = format!("grant the verbs `list` and `watch` on `{resource}`");
        let forbidden =
            format!("cannot read {resource} of the cluster: the API server answers 403");
        scene.run(plan)?.expect(1, &[&forbidden, &grant])?;
    }
    // Without budgets and without the kinds of owners there is a plan, which says what it lacks.
    for (resource, name) in [
        ("poddisruptionbudgets", "poddisruptionbudgets.policy"),
        ("replicasets", "replicasets.apps"),
    ] {
        let account = Account::new(&plane, &format!("no-{resource}"), &read_but(&[resource]))?;
        let plan = scene.plan(&account.kubeconfig(&plane, None)?, &policy, "")?;
        let notes = plan["notes"].to_string();
        ensure!(notes.contains(&format!("no right to read {name}")), "{notes}");
        ensure!(!whole["notes"].to_string().contains(name), "{}", whole["notes"]);
    }
    // And nobody at all.
    let nobody = Account::new(&plane, "nobody", &[])?;
    let plan = Arguments::of("plan")
        .path("--kubeconfig", &nobody.kubeconfig(&plane, None)?)
        .path("--policy", &policy);
    scene.run(plan)?.expect(1, &["cannot read ", "403", "help: grant"])?;
    audit::nothing_written(&plane)
}

/// A server that comes back while a plan is being made is waited for.
pub(super) fn api_server_restarts(scene: &Scene<'_>) -> Result<()> {
    let plane = busy(scene)?;
    let policy = scene.file("policy.yaml", POLICY)?;
    let kubeconfig = plane.kubeconfig();
    let flags = format!("--now {}", now(&plane)?);
    let before = scene.plan(&kubeconfig, &policy, &flags)?;
    plane.kill("apiserver-0", "KILL")?;
    let gone = Arguments::of("plan").path("--kubeconfig", &kubeconfig).path("--policy", &policy);
    scene.run(gone)?.expect(2, &["cannot talk to the API server", "refused"])?;
    plane.restart("apiserver-0", &[])?;
    same(&scene.plan(&kubeconfig, &policy, &flags)?, &before)
}

/// Planning, explaining and simulating leave no trace.
pub(super) fn writes_nothing(scene: &Scene<'_>) -> Result<()> {
    let plane = busy(scene)?;
    let policy = scene.file("policy.yaml", POLICY)?;
    let kubeconfig = plane.kubeconfig();
    let planned = scene.plan(&kubeconfig, &policy, "--placement off")?;
    let first = evictions(&planned).first().copied().cloned().unwrap_or_default();
    let pod = format!("{}/{}", text(&first, "namespace"), text(&first, "name"));
    for command in ["plan", &format!("explain pod {pod}"), "explain node node-0", "simulate"] {
        let run = Arguments::of(command).path("--kubeconfig", &kubeconfig);
        scene.run(run.path("--policy", &policy).and("-o json"))?.json()?;
    }
    audit::nothing_written(&plane)?;
    // The log would have told.
    let code = plane.cluster().evict(text(&first, "namespace"), text(&first, "name"))?;
    let seen = audit::evictions_of_all(&plane)?.len();
    ensure!(code == 201 && seen == 1, "{code}, and {seen} evictions in the audit log");
    Ok(())
}

/// A server without WatchList refuses the stream with a 422, and the lists in its place say the
/// same.
pub(super) fn watch_list_off(scene: &Scene<'_>) -> Result<()> {
    let plane = busy(scene)?;
    let policy = scene.file("policy.yaml", POLICY)?;
    let flags = format!("--now {}", now(&plane)?);
    let with = scene.plan(&plane.kubeconfig(), &policy, &flags)?;
    plane.kill("apiserver-0", "KILL")?;
    plane.restart("apiserver-0", &["--feature-gates=WatchList=false"])?;
    same(&scene.plan(&plane.kubeconfig(), &policy, &flags)?, &with)
}

/// A slow server gives the same plan, later.
pub(super) fn slow_api_server(scene: &Scene<'_>) -> Result<()> {
    let plane = busy(scene)?;
    let policy = scene.file("policy.yaml", POLICY)?;
    let account = Account::new(&plane, "reader", &read_but(&[]))?;
    let flags = format!("--now {}", now(&plane)?);
    let direct = scene.plan(&account.kubeconfig(&plane, None)?, &policy, &flags)?;
    let delay = Duration::from_millis(500);
    let proxy = Proxy::start(&plane, Fault { delay, ..Fault::default() })?;
    let through = account.kubeconfig(&plane, Some(&proxy.server()))?;
    let begun = Instant::now();
    same(&scene.plan(&through, &policy, &flags)?, &direct)?;
    ensure!(begun.elapsed() >= delay, "the proxy does not delay anything");
    Ok(())
}

/// A moment for all plans of a scenario: the server's own time, and no pod is younger.
fn now(plane: &Plane) -> Result<String> {
    // Events carry the time at which they are recorded; a lease does, too, but to the microsecond.
    let marker = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"generateName": "now-"}});
    let marker = plane.cluster().post("/api/v1/namespaces/default/configmaps", &marker)?;
    Ok(text(&marker["metadata"], "creationTimestamp").to_owned())
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

fn evictions(plan: &Value) -> Vec<&Value> {
    plan["evictions"].as_array().into_iter().flatten().collect()
}

/// Fails unless two plans are the same in everything that they say.
fn same(left: &Value, right: &Value) -> Result<()> {
    for part in ["snapshot", "evictions", "refusals", "anomalies", "notes"] {
        ensure!(left[part] == right[part], "{part} differ:\n{}\n{}", left[part], right[part]);
    }
    ensure!(left == right, "the plans differ:\n{left}\n{right}");
    Ok(())
}
