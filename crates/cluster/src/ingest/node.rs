//! `v1 Node`.

use super::anomaly::{Flaws, Origin};
use super::drafts::Draft;
use super::pools::Pools;
use super::spec::effect;
use super::{Ingest, Object};
use crate::intern::Sym;
use crate::node::Node;
use crate::taints::Taint;
use crate::wire::{self, text};

pub(super) enum NodeObject {}

impl Object for NodeObject {
    type Wire<'a> = wire::Node<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::Node<'_>,
        mut flaws: Flaws,
    ) {
        let metadata = object.metadata.unwrap_or_default();
        let spec = object.spec.unwrap_or_default();
        let status = object.status.unwrap_or_default();
        if text(&metadata.name).is_empty() && !flaws.touch("metadata") {
            flaws.push("metadata.name", "the node has no name");
        }
        let pools = &mut ingest.pools;
        let mut taints = Vec::new();
        for (at, taint) in spec.taints.iter().flatten().enumerate() {
            match effect(text(&taint.effect)) {
                Ok(Some(effect)) => taints.push(Taint {
                    key: pools.sym_of(&taint.key),
                    value: pools.sym_of(&taint.value),
                    effect,
                }),
                Ok(None) | Err(()) => flaws.push(
                    format!("spec.taints[{at}].effect"),
                    format!("`{}` is no effect of a taint", text(&taint.effect)),
                ),
            }
        }
        let allocatable = status.allocatable.as_ref();
        let ready = status.conditions.iter().flatten().all(|condition| {
            text(&condition.r#type) != "Ready" || text(&condition.status) == "True"
        });
        let mut node = Node {
            name: text(&metadata.name).into(),
            created: metadata.creation_timestamp,
            labels: pools.pairs(metadata.labels.as_ref()),
            taints: taints.into_boxed_slice(),
            unschedulable: spec.unschedulable == Some(true),
            ready,
            allocatable: pools.amounts(allocatable, "status.allocatable", &mut flaws),
            capacity: pools.amounts(status.capacity.as_ref(), "status.capacity", &mut flaws),
            images: images(pools, status.images.as_ref()),
            declared_features: features(pools, status.declared_features.as_ref()),
            flawed: false,
        };
        node.flawed = !flaws.is_empty();
        ingest.saw(node.created);
        for condition in status.conditions.iter().flatten() {
            ingest.saw(condition.last_transition_time);
            ingest.saw(condition.last_heartbeat_time);
        }
        ingest.complain_all(origin, &format!("Node {}", node.name), &flaws);
        let draft = Draft::new(&mut ingest.pools, &metadata, false, json, origin, node);
        ingest.nodes.push(draft);
    }
}

/// Every name of every image with its size.
fn images(pools: &mut Pools, images: Option<&Vec<wire::Image<'_>>>) -> Box<[(Sym, i64)]> {
    let mut found = Vec::new();
    for image in images.into_iter().flatten() {
        let size = image.size_bytes.map_or(0, |size| size.0);
        found.extend(image.names.iter().flatten().map(|name| (pools.sym(name), size)));
    }
    // Stable, so that of a name given twice the first size stays.
    found.sort_by_key(|&(name, _)| name);
    found.dedup_by_key(|&mut (name, _)| name);
    found.into_boxed_slice()
}

fn features(pools: &mut Pools, names: Option<&Vec<wire::Text<'_>>>) -> Box<[Sym]> {
    let mut found = pools.syms(names);
    found.sort_unstable();
    found
}
