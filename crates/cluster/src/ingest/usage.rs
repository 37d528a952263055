//! NodeMetrics and PodMetrics.

use super::anomaly::{Flaws, Origin};
use super::pools::namespace_of;
use super::{Ingest, Object};
use crate::resources::Resources;
use crate::usage::{NodeUsage, PodUsage};
use crate::wire::{self, is_of_group, text};

const GROUP: &str = "metrics.k8s.io";

pub(super) enum NodeMetricsObject {}

impl Object for NodeMetricsObject {
    type Wire<'a> = wire::NodeMetrics<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::NodeMetrics<'_>,
        mut flaws: Flaws,
    ) {
        if !is_of_group(&object.api_version, GROUP) {
            return;
        }
        let metadata = object.metadata.unwrap_or_default();
        let usage = NodeUsage {
            node: ingest.pools.sym_of(&metadata.name),
            measured: object.timestamp,
            used: ingest.pools.amounts(object.usage.as_ref(), "usage", &mut flaws),
        };
        ingest.saw(usage.measured);
        let draft = ingest.settle(origin, json, ("NodeMetrics", false), &metadata, &flaws, usage);
        ingest.node_usage.push(draft);
    }
}

pub(super) enum PodMetricsObject {}

impl Object for PodMetricsObject {
    type Wire<'a> = wire::PodMetrics<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::PodMetrics<'_>,
        mut flaws: Flaws,
    ) {
        if !is_of_group(&object.api_version, GROUP) {
            return;
        }
        let metadata = object.metadata.unwrap_or_default();
        let pools = &mut ingest.pools;
        let mut used: Option<Resources> = None;
        for (at, container) in object.containers.iter().flatten().enumerate() {
            let field = format!("containers[{at}].usage");
            let amounts = pools.amounts(container.usage.as_ref(), &field, &mut flaws);
            used = Some(match used {
                None => amounts,
                // What is not known of one container is not known of the pod.
                Some(sum) => {
                    let both = sum.iter().filter_map(|(resource, amount)| {
                        Some((resource, amount.saturating_add(amounts.find(resource)?)))
                    });
                    both.collect()
                }
            });
        }
        let usage = PodUsage {
            namespace: pools.sym(namespace_of(&metadata)),
            name: text(&metadata.name).into(),
            measured: object.timestamp,
            used: used.unwrap_or_default(),
        };
        ingest.saw(usage.measured);
        let draft = ingest.settle(origin, json, ("PodMetrics", true), &metadata, &flaws, usage);
        ingest.pod_usage.push(draft);
    }
}
