//! Nodes and their metrics.

use super::meta::{managed, metadata};
use crate::json::{Json, json};
use crate::options::Options;
use crate::plan::model::{GIB, Node, Pool};
use crate::rng::Rng;
use crate::time;

fn zone_name(zone: usize) -> String {
    format!("eu-west-{}{}", 1 + zone / 6, (b'a' + (zone % 6) as u8) as char)
}

fn instance_type(pool: Pool) -> &'static str {
    if pool == Pool::Compute { "m6i.8xlarge" } else { "m6i.4xlarge" }
}

/// A node as an API server would send it.
pub(crate) fn render_node(node: &Node, o: &Options, rng: &mut Rng) -> Json {
    let mut meta = metadata(None, &node.name, &rng.uid(), node.created);
    meta.insert("labels", labels(node));
    meta.insert(
        "annotations",
        json!({
            "csi.volume.kubernetes.io/nodeid":
                format!("{{\"ebs.csi.aws.com\":\"i-0{}\"}}", rng.hex(16)),
            "node.alpha.kubernetes.io/ttl": "0",
            "projectcalico.org/IPv4Address": format!("{}/16", node.ip),
            "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        }),
    );
    let mut spec =
        json!({ "providerID": format!("aws:///{}/i-0{}", zone_name(node.zone), rng.hex(16)) });
    if node.pool.tainted() {
        spec["taints"] =
            json!([{ "key": "dedicated", "value": node.pool.name(), "effect": "NoSchedule" }]);
    }
    let status = node_status(node, o, rng);
    if !o.no_managed_fields {
        let slim = json!({
            "status": {
                "allocatable": status["allocatable"],
                "capacity": status["capacity"],
                "conditions": status["conditions"],
            },
        });
        let first = json!({
            "metadata": { "annotations": meta["annotations"], "labels": meta["labels"] },
            "spec": spec,
        });
        meta.insert(
            "managedFields",
            json!([
                managed("kubelet", node.created, None, &first),
                managed("kubelet", o.now, Some("status"), &slim),
            ]),
        );
    }
    json!({ "kind": "Node", "apiVersion": "v1", "metadata": meta, "spec": spec, "status": status })
}

fn labels(node: &Node) -> Json {
    json!({
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/instance-type": instance_type(node.pool),
        "beta.kubernetes.io/os": "linux",
        "failure-domain.beta.kubernetes.io/region": "eu-west-1",
        "failure-domain.beta.kubernetes.io/zone": zone_name(node.zone),
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": node.name,
        "kubernetes.io/os": "linux",
        "node.example.com/pool": node.pool.name(),
        "node.example.com/lifecycle": if node.pool == Pool::Spot { "spot" } else { "on-demand" },
        "node.kubernetes.io/instance-type": instance_type(node.pool),
        "topology.ebs.csi.aws.com/zone": zone_name(node.zone),
        "topology.kubernetes.io/region": "eu-west-1",
        "topology.kubernetes.io/zone": zone_name(node.zone),
    })
}

fn node_status(node: &Node, o: &Options, rng: &mut Rng) -> Json {
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({
            "type": kind, "status": status, "lastHeartbeatTime": time::format(o.now),
            "lastTransitionTime": time::format(node.created), "reason": reason,
            "message": format!("kubelet says {reason}"),
        })
    };
    let images: Vec<Json> = (0..20)
        .map(|i| {
            let repository = format!("registry.example.com/library/image-{i}");
            json!({
                "names": [
                    format!("{repository}@sha256:{}", rng.hex(64)),
                    format!("{repository}:v1.{}", rng.below(40)),
                ],
                "sizeBytes": rng.between(10_000_000, 900_000_000),
            })
        })
        .collect();
    json!({
        "capacity": {
            "cpu": if node.pool == Pool::Compute { "32" } else { "16" },
            "ephemeral-storage": "104845292Ki",
            "hugepages-1Gi": "0", "hugepages-2Mi": "0",
            "memory": format!("{}Ki", (node.memory + 3 * GIB) / 1024), "pods": "110",
        },
        "allocatable": {
            "cpu": format!("{}m", node.cpu_milli), "ephemeral-storage": "95551679124",
            "hugepages-1Gi": "0", "hugepages-2Mi": "0",
            "memory": format!("{}Ki", node.memory / 1024), "pods": "110",
        },
        "conditions": [
            condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
            condition("PIDPressure", "False", "KubeletHasSufficientPID"),
            condition("Ready", "True", "KubeletReady"),
        ],
        "addresses": [
            { "type": "InternalIP", "address": node.ip },
            { "type": "Hostname", "address": node.name },
        ],
        "daemonEndpoints": { "kubeletEndpoint": { "Port": 10250 } },
        "nodeInfo": {
            "machineID": rng.hex(32), "systemUUID": rng.uid(), "bootID": rng.uid(),
            "kernelVersion": "6.8.0-1021-aws", "osImage": "Ubuntu 24.04.1 LTS",
            "containerRuntimeVersion": "containerd://1.7.24", "kubeletVersion": "v1.36.1",
            "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64",
        },
        "images": images,
    })
}

pub(crate) fn node_metrics(node: &Node, o: &Options, rng: &mut Rng) -> Json {
    let part = 0.5 + 0.4 * rng.unit();
    json!({
        "kind": "NodeMetrics", "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": metadata(None, &node.name, &rng.uid(), o.now),
        "timestamp": time::format(o.now), "window": "20s",
        "usage": {
            "cpu": format!("{}n", (node.used_cpu as f64 * part) as i64 * 1_000_000),
            "memory": format!("{}Ki", (node.used_memory as f64 * part) as i64 / 1024),
        },
    })
}
