//! What a pod reports.

use crate::json::{Json, json};
use crate::plan::model::{Node, Pod, PodState, Qos, Workload};
use crate::rng::Rng;
use crate::time;

fn container_status(name: &str, image: &str, state: PodState, started: i64, rng: &mut Rng) -> Json {
    let id = format!("containerd://{}", rng.hex(64));
    let terminated = |code: i32, reason: &str| {
        json!({ "terminated": {
            "exitCode": code, "reason": reason, "startedAt": time::format(started),
            "finishedAt": time::format(started + 600), "containerID": id,
        } })
    };
    let (now, last, restarts, running) = match state {
        PodState::Running => (
            json!({ "running": { "startedAt": time::format(started) } }),
            json!({}),
            rng.below(3),
            true,
        ),
        PodState::CrashLoop { restarts } => (
            json!({ "waiting": {
                "reason": "CrashLoopBackOff",
                "message": format!("back-off 5m0s restarting failed container={name} pod"),
            } }),
            terminated(1, "Error"),
            restarts,
            false,
        ),
        PodState::Failed { .. } => (terminated(1, "Error"), json!({}), 0, false),
        PodState::Succeeded => (terminated(0, "Completed"), json!({}), 0, false),
    };
    json!({
        "name": name, "state": now, "lastState": last, "ready": running, "restartCount": restarts,
        "image": image,
        "imageID": format!("{}@sha256:{}", image.split(':').next().unwrap_or(image), rng.hex(64)),
        "containerID": id, "started": running,
    })
}

pub(crate) fn pod_status(w: &Workload, pod: &Pod, node: &Node, ip: &str, rng: &mut Rng) -> Json {
    let at = time::format(pod.created + 5);
    let (phase, ready) = match pod.state {
        PodState::Running => ("Running", "True"),
        PodState::CrashLoop { .. } => ("Running", "False"),
        PodState::Failed { .. } => ("Failed", "False"),
        PodState::Succeeded => ("Succeeded", "False"),
    };
    let condition = |kind: &str, status: &str| {
        json!({
            "type": kind, "status": status, "lastProbeTime": null, "lastTransitionTime": at,
        })
    };
    let mut status = json!({
        "phase": phase,
        "conditions": [
            condition("PodReadyToStartContainers", "True"), condition("Initialized", "True"),
            condition("Ready", ready),
            condition("ContainersReady", ready),
            condition("PodScheduled", "True"),
        ],
    });
    if let PodState::Failed { evicted: true } = pod.state {
        status["reason"] = json!("Evicted");
        status["message"] =
            json!("The node was low on resource: memory. Threshold quantity: 100Mi.");
    }
    status["hostIP"] = json!(node.ip);
    status["hostIPs"] = json!([{ "ip": node.ip }]);
    status["podIP"] = json!(ip);
    status["podIPs"] = json!([{ "ip": ip }]);
    status["startTime"] = json!(time::format(pod.created + 1));
    let mut containers = vec![container_status(&w.name, &w.image, pod.state, pod.created + 5, rng)];
    if w.sidecar {
        let state = if matches!(pod.state, PodState::CrashLoop { .. }) {
            PodState::Running
        } else {
            pod.state
        };
        let image = "registry.example.com/mesh/envoy:v1.31.3";
        containers.push(container_status("envoy", image, state, pod.created + 5, rng));
    }
    status["containerStatuses"] = json!(containers);
    status["qosClass"] = json!(match w.qos {
        Qos::BestEffort => "BestEffort",
        Qos::Burstable => "Burstable",
        Qos::Guaranteed => "Guaranteed",
    });
    status
}
