//! Containers and volumes.

use crate::json::{Json, json};
use crate::plan::model::{Kind, MIB, Pod, Qos, Workload};

fn quantities(cpu_milli: i64, memory: i64) -> Json {
    json!({ "cpu": format!("{cpu_milli}m"), "memory": format!("{}Mi", memory / MIB) })
}

fn resources(w: &Workload, share: i64) -> Json {
    let (cpu, memory) = (w.requests.cpu_milli * share / 100, w.requests.memory * share / 100);
    match w.qos {
        Qos::BestEffort => json!({}),
        Qos::Guaranteed => {
            json!({ "limits": quantities(cpu, memory), "requests": quantities(cpu, memory) })
        }
        Qos::Burstable => {
            json!({
                "limits": quantities(cpu * 4, memory * 2), "requests": quantities(cpu, memory),
            })
        }
    }
}

pub(crate) fn main_container(w: &Workload) -> Json {
    let mut mounts = vec![json!({ "name": "config", "readOnly": true, "mountPath": "/etc/app" })];
    if w.local_storage {
        mounts.push(json!({ "name": "scratch", "mountPath": "/var/scratch" }));
    }
    if w.volume_claims {
        mounts.push(json!({ "name": "data", "mountPath": "/var/lib/data" }));
    }
    mounts.push(json!({
        "name": "kube-api-access",
        "readOnly": true,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    }));
    let probe = |path: &str, period: i64| {
        json!({
            "httpGet": { "path": path, "port": "http", "scheme": "HTTP" },
            "initialDelaySeconds": 10,
            "timeoutSeconds": 3,
            "periodSeconds": period,
            "successThreshold": 1,
            "failureThreshold": 3,
        })
    };
    json!({
        "name": w.name,
        "image": w.image,
        "args": ["--config=/etc/app/config.yaml", "--log-format=json", "--listen=:8080"],
        "ports": [
            { "name": "http", "containerPort": 8080, "protocol": "TCP" },
            { "name": "metrics", "containerPort": 9090, "protocol": "TCP" },
        ],
        "env": [
            {
                "name": "POD_NAME",
                "valueFrom": { "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.name" } },
            },
            {
                "name": "POD_IP",
                "valueFrom": { "fieldRef": { "apiVersion": "v1", "fieldPath": "status.podIP" } },
            },
            { "name": "ENVIRONMENT", "value": "production" },
            { "name": "TEAM", "value": w.team },
            {
                "name": "DATABASE_URL",
                "valueFrom": { "secretKeyRef": { "name": format!("{}-db", w.name), "key": "url" } },
            },
        ],
        "resources": resources(w, if w.sidecar { 80 } else { 100 }),
        "volumeMounts": mounts,
        "livenessProbe": probe("/healthz", 15),
        "readinessProbe": probe("/ready", 5),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "capabilities": { "drop": ["ALL"] },
            "runAsNonRoot": true,
            "allowPrivilegeEscalation": false,
        },
    })
}

pub(crate) fn sidecar(w: &Workload) -> Json {
    json!({
        "name": "envoy",
        "image": "registry.example.com/mesh/envoy:v1.31.3",
        "ports": [{ "name": "envoy-admin", "containerPort": 15_000, "protocol": "TCP" }],
        "resources": resources(w, 20),
        "volumeMounts": [{ "name": "config", "readOnly": true, "mountPath": "/etc/envoy" }],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    })
}

pub(crate) fn volumes(w: &Workload, pod: &Pod) -> Vec<Json> {
    let mut volumes = vec![json!({
        "name": "config",
        "configMap": { "name": format!("{}-config", w.name), "defaultMode": 420 },
    })];
    if w.kind == Kind::DaemonSet {
        volumes.push(json!({ "name": "scratch", "hostPath": { "path": "/var/run", "type": "" } }));
    } else if w.local_storage {
        volumes.push(json!({ "name": "scratch", "emptyDir": { "sizeLimit": "2Gi" } }));
    }
    if w.volume_claims {
        volumes.push(json!({
            "name": "data",
            "persistentVolumeClaim": { "claimName": format!("data-{}", pod.name) },
        }));
    }
    volumes.push(json!({
        "name": "kube-api-access",
        "projected": {
            "sources": [
                { "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } },
                {
                    "configMap": {
                        "name": "kube-root-ca.crt",
                        "items": [{ "key": "ca.crt", "path": "ca.crt" }],
                    },
                },
                { "downwardAPI": { "items": [
                    {
                        "path": "namespace",
                        "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" },
                    },
                ] } },
            ],
            "defaultMode": 420,
        },
    }));
    volumes
}
