//! Writes a planned cluster as Kubernetes objects, with the metadata that real ones carry.

mod constraints;
mod container;
mod meta;
mod node;
mod other;
mod pod;
mod status;

use std::io::{self, Write};

use crate::json::{Json, json};
use crate::options::Options;
use crate::plan::model::{Band, Cluster, PRIORITY_CLASSES, Pod, PodState, Workload};
use crate::rng::Rng;
use node::{node_metrics, render_node};
use other::{disruption_budget, namespace, pod_metrics, priority_class, volume_claim};
use pod::render_pod;

/// Writes every object and says how many there are.
pub(crate) fn write(cluster: &Cluster, o: &Options, out: &mut impl Write) -> io::Result<String> {
    let mut w = Writer { out, version: 100_000, bytes: 0, count: 0 };
    let mut rng = Rng::new(o.seed ^ 0xfeed);
    for (name, value) in PRIORITY_CLASSES {
        w.put(priority_class(name, value, o, &mut rng))?;
    }
    for name in
        ["default", "kube-system"].into_iter().chain(cluster.namespaces.iter().map(String::as_str))
    {
        w.put(namespace(name, o, &mut rng))?;
    }
    for node in &cluster.nodes {
        w.put(render_node(node, o, &mut rng))?;
        w.put(node_metrics(node, o, &mut rng))?;
    }
    for workload in &cluster.workloads {
        if let Some(allowed) = workload.pdb {
            w.put(disruption_budget(workload, allowed, o, &mut rng))?;
        }
        if workload.volume_claims {
            for pod in &workload.pods {
                w.put(volume_claim(workload, pod, o, &mut rng))?;
            }
        }
    }
    let others = w.count;
    let before = w.bytes;
    let mut pods: Vec<(&Workload, &Pod)> =
        cluster.workloads.iter().flat_map(|w| w.pods.iter().map(move |p| (w, p))).collect();
    // As they would have come: oldest first.
    pods.sort_by(|a, b| (a.1.created, &a.1.uid).cmp(&(b.1.created, &b.1.uid)));
    for (workload, pod) in &pods {
        w.put(render_pod(workload, pod, &cluster.nodes[pod.node], o, &mut rng))?;
    }
    let (count, bytes) = (w.count - others, w.bytes - before);
    if o.pod_metrics {
        for (workload, pod) in &pods {
            if matches!(pod.state, PodState::Running) {
                w.put(pod_metrics(workload, pod, o, &mut rng))?;
            }
        }
    }
    let band = |b| cluster.nodes.iter().filter(|n| n.band == b).count();
    Ok(format!(
        "{} nodes ({} low, {} high), {count} pods of {} workloads in {} namespaces, \
         {:.0} bytes a pod, {} other objects",
        cluster.nodes.len(),
        band(Band::Low),
        band(Band::High),
        cluster.workloads.len(),
        cluster.namespaces.len(),
        bytes as f64 / count.max(1) as f64,
        w.count - count - cluster.nodes.len(),
    ))
}

struct Writer<'a, W> {
    out: &'a mut W,
    version: u64,
    bytes: usize,
    count: usize,
}

impl<W: Write> Writer<'_, W> {
    fn put(&mut self, mut object: Json) -> io::Result<()> {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let line = format!("{object}\n");
        self.bytes += line.len();
        self.count += 1;
        self.out.write_all(line.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;
    use crate::plan::model::DAEMONS;
    use clap::Parser;
    use serde_json::Value;

    #[test]
    fn output_is_deterministic_and_whole() {
        let o = Options::parse_from(["", "--nodes", "20", "--pods", "500", "--pod-metrics"]);
        let make = || {
            let mut out = Vec::new();
            write(&plan::cluster(&o).unwrap(), &o, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let text = make();
        assert_eq!(text, make());
        let objects: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let count = |kind: &str| objects.iter().filter(|v| v["kind"] == kind).count();
        assert_eq!((count("Node"), count("Pod")), (20, 500));
        let owner = |v: &Value| v["metadata"]["ownerReferences"][0]["kind"] == "DaemonSet";
        assert_eq!(objects.iter().filter(|v| owner(v)).count(), 20 * DAEMONS.len());
    }
}
