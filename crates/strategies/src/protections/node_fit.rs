//! Pods that could not run anywhere else.

use descheduler_cluster::{LabelSelector, NodeId, Snapshot};
use descheduler_engine::{Args, Check, Protection, Reason, Stage};

use crate::upstream_fit::UpstreamFit;

const NO_NODE_FITS: &str = "NoNodeFits";

/// Pods that fit on no other ready node, among those with certain labels.
struct NodeFit {
    nodes: Option<LabelSelector>,
}

/// Reads `nodeFit` and `nodeSelector`.
pub(super) fn read(args: &mut Args<'_>) -> Option<Box<dyn Protection>> {
    let fit = args.flag("nodeFit", "Keep pods that would fit on no other node.");
    let doc = "With `nodeFit`: look only at nodes with these labels, such as `pool=a,!gpu`.";
    let nodes = args.arg("nodeSelector", doc).selector_string();
    fit.then(|| Box::new(NodeFit { nodes }) as Box<dyn Protection>)
}

impl Protection for NodeFit {
    fn name(&self) -> &'static str {
        "nodeFit"
    }

    fn change(&self, _: &Reason) -> Option<&'static str> {
        Some("room on another node, or `nodeFit: false`")
    }

    fn stage(&self) -> Stage {
        Stage::PreEviction
    }

    fn overruled_by_annotation(&self) -> bool {
        false
    }

    fn is_about_places(&self) -> bool {
        true
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        let selector = self.nodes.as_ref().map(|nodes| snapshot.compile(nodes));
        let nodes = snapshot.nodes().iter().copied().filter(|&id| {
            let node = snapshot.node(id);
            let labels = selector.as_ref();
            node.ready && labels.is_none_or(|s| s.matches(&node.labels, snapshot.strings()))
        });
        let nodes: Vec<NodeId> = nodes.collect();
        let fit = UpstreamFit::new(snapshot, &nodes);
        Box::new(move |view, pod| {
            fit.elsewhere(view, pod).map_err(|why| Reason::new(NO_NODE_FITS, &*why))
        })
    }
}
