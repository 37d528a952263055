//! The HTTPS endpoint, as the kubelet and others ask it.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::fixture::{POLICY, busy};
use super::service::{Policy, Service};
use crate::cluster::PATIENCE;
use crate::plane::{Plane, Shape};
use crate::scene::Scene;

/// A port that nobody had a moment ago.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("find a port")?;
    Ok(listener.local_addr().context("find a port")?.port())
}

/// What a path answers to somebody without credentials. `trust` is a flag of kubectl.
fn ask(plane: &Plane, port: u16, path: &str, trust: &str) -> Result<String> {
    let server = format!("--server=https://127.0.0.1:{port}");
    // Without a token it would ask for a name.
    let nobody = ["--kubeconfig", "/dev/null", "--token", "none"];
    plane.kubectl(&[&nobody[..], &[&server, trust, "get", "--raw", path]].concat())
}

/// Believes any certificate, as the kubelet does.
const ANY: &str = "--insecure-skip-tls-verify";

/// 19: probes are answered from the start on, readiness follows the work, metrics have upstream's
/// names, the plan can be looked at, and a second process on the same port says what is wrong.
pub(super) fn health(scene: &Scene<'_>) -> Result<()> {
    let plane = busy(scene)?;
    // Pods that are to be older than a second are so in both plans.
    sleep(Duration::from_millis(2100));
    let policy = scene.file("policy.yaml", POLICY)?;
    let service = Service::new(scene, &plane, &Policy::empty())?;
    fs::copy(&policy, service.policy()).context("copy the policy")?;
    let port = free_port()?;
    let flags = format!("--dry-run --descheduling-interval 1h --secure-port {port}");
    let running = service.start(&flags)?;
    running.wait_until("the endpoint", |said| said.contains("Serving securely on"))?;
    let get = |path: &str| ask(&plane, port, path, ANY);
    ensure!(get("/healthz")? == "ok", "{}", running.said());
    running.wait_until("a cycle", |said| said.contains("cycle 1 (dry run): "))?;
    ensure!(get("/readyz")? == "ok", "{}", running.said());
    let shown: Value = serde_json::from_str(&get("/plan")?).context("the plan is no JSON")?;
    let plan = service.plan("")?;
    ensure!(plan["evictions"].as_array().is_some_and(|all| !all.is_empty()), "{plan}");
    ensure!(moves(&shown) == moves(&plan), "{shown}\nis not\n{plan}");
    let metrics = get("/metrics")?;
    for line in [
        "descheduler_pods_evicted_total{result=\"success\",strategy=\"PodLifeTime\",profile=\"all\",",
        "descheduler_pods_evicted{result=\"success\",strategy=\"PodLifeTime\",profile=\"all\",",
        "descheduler_loop_duration_seconds_count 1\n",
        "descheduler_policy_valid 1\n",
        "process_cpu_seconds_total ",
    ] {
        ensure!(metrics.contains(line), "{line} is not in\n{metrics}");
    }

    let second = service.start(&flags)?.wait()?;
    let listen = format!("failed to create listener: failed to listen on 0.0.0.0:{port}");
    second.expect(1, &[&listen, "in use", "--secure-port"])?;

    running.signal("TERM")?;
    running.wait_within(PATIENCE)?.expect(0, &[])?;
    ensure!(get("/healthz").is_err(), "it still answers");
    Ok(())
}

/// What a plan does; the ages in its reasons go on.
fn moves(plan: &Value) -> Vec<[&Value; 3]> {
    let all = plan["evictions"].as_array().into_iter().flatten();
    all.map(|one| [&one["uid"], &one["code"], &one["destinations"]]).collect()
}

/// 19: a certificate that is replaced on disk is shown to the next client, without a restart.
pub(super) fn certificate_replaced(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(1))?;
    let policy = Policy::of("RemoveDuplicates", json!({}));
    let service = Service::new(scene, &plane, &policy)?;
    let (cert, key) = (scene.file("tls.crt", "")?, scene.file("tls.key", "")?);
    let (new_cert, new_key) = (scene.file("new.crt", "")?, scene.file("new.key", "")?);
    certify(&cert, &key)?;
    certify(&new_cert, &new_key)?;
    let old_cert = scene.file("old.crt", &fs::read_to_string(&cert).context("read it")?)?;
    let port = free_port()?;
    let running = service.start(&format!(
        "--descheduling-interval 1h --secure-port {port} --tls-cert-file {} \
         --tls-private-key-file {}",
        cert.display(),
        key.display()
    ))?;
    running.wait_until("the endpoint", |said| said.contains("Serving securely on"))?;
    let trusted = |authority: &Path| {
        let trust = format!("--certificate-authority={}", authority.display());
        ask(&plane, port, "/healthz", &trust).is_ok()
    };
    ensure!(trusted(&old_cert) && !trusted(&new_cert), "{}", running.said());
    for (new, old) in [(&new_cert, &cert), (&new_key, &key)] {
        fs::rename(new, old).context("replace a file")?;
    }
    let end = Instant::now() + PATIENCE;
    while !trusted(&cert) {
        ensure!(Instant::now() < end, "the old one is still shown: {}", running.said());
        sleep(Duration::from_millis(500));
    }
    ensure!(!trusted(&old_cert), "the old one is shown, too");
    running.signal("TERM")?;
    running.wait_within(PATIENCE)?.expect(0, &["was replaced and is in use"])
}

/// Makes a certificate for this machine, and its key.
fn certify(cert: &Path, key: &Path) -> Result<()> {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=descheduler", "-addext", "subjectAltName=IP:127.0.0.1"])
        .arg("-out")
        .arg(cert)
        .arg("-keyout")
        .arg(key)
        .stdin(Stdio::null())
        .output()
        .context("start openssl")?;
    ensure!(made.status.success(), "openssl: {}", String::from_utf8_lossy(&made.stderr));
    Ok(())
}
