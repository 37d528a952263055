//! The plugins of kube-scheduler, one file each, filter and score together.
//!
//! A plugin first looks at the pod ([`prepare`], the scheduler's PreFilter) and answers with a
//! filter for nodes, with nothing to do, or with a rejection of the whole pod. Of the nodes that
//! pass all filters it may then make scores ([`scores`], the scheduler's PreScore).

use descheduler_cluster::{NodeId, PodSpec, Snapshot, Taint, Toleration, TolerationOperator};

use crate::cycle::Cycle;
use crate::outcome::{Code, Why};
use crate::profile::Plugin;

mod dynamic_resources;
mod image_locality;
mod inter_pod_affinity;
mod node_affinity;
mod node_declared_features;
mod node_name;
mod node_ports;
mod node_resources_balanced_allocation;
mod node_resources_fit;
mod node_unschedulable;
mod node_volume_limits;
mod pod_topology_spread;
mod taint_toleration;
mod volume_binding;
mod volume_restrictions;
mod volume_zone;

pub(crate) use pod_topology_spread::{Eligible, EligibleKey};

/// What looking at the pod came to.
pub(crate) enum Prepared<'c, 's> {
    /// The plugin has nothing to do in this cycle.
    Skip,
    /// Nodes are to be filtered.
    Filter(Box<dyn NodeFilter<'s> + 'c>),
    /// Only nodes with these names, sorted, come into question, and are filtered besides.
    Within(Vec<&'s str>, Box<dyn NodeFilter<'s> + 'c>),
    /// No node will do.
    Reject(Code, Why),
}

impl<'c, 's> Prepared<'c, 's> {
    fn filter(filter: impl NodeFilter<'s> + 'c) -> Self {
        Self::Filter(Box::new(filter))
    }
}

/// Says of single nodes whether they will do.
pub(crate) trait NodeFilter<'s> {
    fn check(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection>;

    /// The nodes of which more is to be known than their zone: what it says of the others is the
    /// same for all nodes of a zone. `None` where that cannot be said of many.
    fn odd(&self, _cycle: &Cycle<'_, 's>) -> Option<Vec<NodeId>> {
        None
    }
}

/// Why a node will not do.
pub(crate) enum Rejection {
    Fault(Code, Why),
    /// The whole cycle fails.
    Error(String),
}

/// The node will not do, whatever happens to other pods.
fn never(why: Why) -> Result<(), Rejection> {
    Err(Rejection::Fault(Code::UnschedulableAndUnresolvable, why))
}

/// The node will not do as it is.
fn not_now(why: Why) -> Result<(), Rejection> {
    Err(Rejection::Fault(Code::Unschedulable, why))
}

/// What preparing to score came to.
pub(crate) enum Scores<'c, 's> {
    /// Nothing: the plugin scores no node.
    Skip,
    /// The cycle fails.
    Error(String),
    /// The scheduler crashes.
    Panic(String),
    /// Scores for nodes.
    By(Box<dyn NodeScore<'s> + 'c>),
}

impl<'c, 's> Scores<'c, 's> {
    fn by(scores: impl NodeScore<'s> + 'c) -> Self {
        Self::By(Box::new(scores))
    }
}

/// Scores single nodes.
pub(crate) trait NodeScore<'s> {
    /// The score before it is made comparable.
    fn raw(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> i64;

    /// The scores of several nodes, in their order.
    fn fill(&self, cycle: &Cycle<'_, 's>, nodes: &[NodeId], raw: &mut Vec<i64>) {
        raw.extend(nodes.iter().map(|&node| self.raw(cycle, node)));
    }

    /// Brings the scores of all feasible nodes into 0 to 100. What becomes of a score may depend on
    /// the least and the most of them, and on the node, but not on how many nodes have it.
    fn normalize(&self, _nodes: &[NodeId], _raw: &mut [i64]) {}

    /// As [`NodeFilter::odd`], of the scores before they are made comparable.
    fn odd(&self, _cycle: &Cycle<'_, 's>) -> Option<Vec<NodeId>> {
        None
    }
}

/// 0 for every node, which is not the same as no score to whoever prints them.
struct Zero;

impl<'s> NodeScore<'s> for Zero {
    fn raw(&self, _: &Cycle<'_, 's>, _: NodeId) -> i64 {
        0
    }

    fn odd(&self, _: &Cycle<'_, 's>) -> Option<Vec<NodeId>> {
        Some(Vec::new())
    }
}

/// Nodes, of which each may stand for several that are alike.
#[derive(Clone, Copy)]
pub(crate) struct Crowd<'n> {
    pub(crate) nodes: &'n [NodeId],
    /// For each how many nodes it stands for; itself alone when `None`.
    pub(crate) times: Option<&'n [usize]>,
}

impl<'n> Crowd<'n> {
    /// Nodes of which each stands for itself.
    pub(crate) fn of(nodes: &'n [NodeId]) -> Self {
        Self { nodes, times: None }
    }

    /// How many nodes there are of those that are so.
    fn count(&self, is_so: impl Fn(NodeId) -> bool) -> usize {
        let such = self.nodes.iter().enumerate().filter(|(_, node)| is_so(**node));
        such.map(|(at, _)| self.times.map_or(1, |times| times[at])).sum()
    }
}

/// What a plugin's word on a node depends on, besides the pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// On what the node is.
    Node,
    /// On the sum of what is on it.
    Sum,
    /// On more than that.
    More,
}

/// What the filter of a plugin looks at.
pub(crate) fn filter_basis(plugin: Plugin) -> Basis {
    match plugin {
        Plugin::NodeUnschedulable
        | Plugin::TaintToleration
        | Plugin::NodeAffinity
        | Plugin::NodeDeclaredFeatures => Basis::Node,
        Plugin::NodeResourcesFit => Basis::Sum,
        _ => Basis::More,
    }
}

/// Whether the filter of a plugin may end the whole cycle with an error.
pub(crate) fn may_fail(plugin: Plugin) -> bool {
    matches!(plugin, Plugin::VolumeBinding | Plugin::NodeVolumeLimits)
}

/// What the scores of a plugin rest on, before they are made comparable.
pub(crate) fn score_basis(plugin: Plugin) -> Basis {
    match plugin {
        Plugin::TaintToleration | Plugin::NodeAffinity => Basis::Node,
        // These are comparable as they are.
        Plugin::NodeResourcesFit | Plugin::NodeResourcesBalancedAllocation => Basis::Sum,
        _ => Basis::More,
    }
}

/// The PreFilter of a plugin.
pub(crate) fn prepare<'c, 's>(plugin: Plugin, cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    match plugin {
        Plugin::NodeUnschedulable => node_unschedulable::prepare(cycle),
        Plugin::NodeName => node_name::prepare(cycle),
        Plugin::TaintToleration => taint_toleration::prepare(),
        Plugin::NodeAffinity => node_affinity::prepare(cycle),
        Plugin::NodePorts => node_ports::prepare(cycle),
        Plugin::NodeResourcesFit => node_resources_fit::prepare(cycle),
        Plugin::VolumeRestrictions => volume_restrictions::prepare(cycle),
        Plugin::NodeVolumeLimits => node_volume_limits::prepare(cycle),
        Plugin::VolumeBinding => volume_binding::prepare(cycle),
        Plugin::VolumeZone => volume_zone::prepare(cycle),
        Plugin::PodTopologySpread => pod_topology_spread::prepare(cycle),
        Plugin::InterPodAffinity => inter_pod_affinity::prepare(cycle),
        Plugin::DynamicResources => dynamic_resources::prepare(cycle),
        Plugin::NodeDeclaredFeatures => node_declared_features::prepare(cycle),
        Plugin::NodeResourcesBalancedAllocation | Plugin::ImageLocality => Prepared::Skip,
    }
}

/// The PreScore of a plugin.
pub(crate) fn scores<'c, 's>(
    plugin: Plugin,
    cycle: &'c Cycle<'c, 's>,
    feasible: Crowd<'c>,
) -> Scores<'c, 's> {
    match plugin {
        Plugin::TaintToleration => taint_toleration::scores(cycle),
        Plugin::NodeAffinity => node_affinity::scores(cycle),
        Plugin::NodeResourcesFit => node_resources_fit::scores(cycle),
        Plugin::VolumeBinding => volume_binding::scores(cycle, feasible.nodes),
        Plugin::PodTopologySpread => pod_topology_spread::scores(cycle, feasible),
        Plugin::InterPodAffinity => inter_pod_affinity::scores(cycle),
        Plugin::NodeResourcesBalancedAllocation => {
            node_resources_balanced_allocation::scores(cycle)
        }
        Plugin::ImageLocality => image_locality::scores(cycle),
        Plugin::NodeUnschedulable
        | Plugin::NodeName
        | Plugin::NodePorts
        | Plugin::VolumeRestrictions
        | Plugin::NodeVolumeLimits
        | Plugin::VolumeZone
        | Plugin::DynamicResources
        | Plugin::NodeDeclaredFeatures => Scores::Skip,
    }
}

/// Whether the pod tolerates a taint. The scheduler does not compare numbers unless an alpha gate
/// says so (docs/spec/scheduler.md section 3.3).
fn tolerates(snapshot: &Snapshot, toleration: &Toleration, taint: &Taint) -> bool {
    let compares = matches!(toleration.operator, TolerationOperator::Lt | TolerationOperator::Gt);
    !compares && toleration.tolerates(taint, snapshot.strings())
}

/// The first taint of a node that keeps the pod away.
pub(crate) fn untolerated<'t>(
    snapshot: &Snapshot,
    spec: &PodSpec,
    taints: &'t [Taint],
) -> Option<&'t Taint> {
    let mut hard = taints.iter().filter(|taint| taint.effect.is_hard());
    hard.find(|taint| !spec.tolerations.iter().any(|one| tolerates(snapshot, one, taint)))
}

/// The scheduler's default normalisation (docs/spec/scheduler.md section 7.1).
fn normalize_by_max(raw: &mut [i64], reverse: bool) {
    let max = raw.iter().copied().max().unwrap_or(0);
    each_value(raw, 0, max, |score| match (max, reverse) {
        (0, true) => 100,
        (0, false) => score,
        (_, true) => 100 - 100 * score / max,
        (_, false) => 100 * score / max,
    });
}

/// Replaces each score. Where these lie close together, each value is worked out once: divisions
/// for thousands of nodes would be most of what a placement costs.
fn each_value(raw: &mut [i64], least: i64, most: i64, new: impl Fn(i64) -> i64) {
    const CLOSE: i64 = 256;
    match most.checked_sub(least) {
        Some(range @ 0..CLOSE) if raw.len() > CLOSE as usize => {
            let of: Vec<i64> = (least..=least + range).map(&new).collect();
            for score in raw {
                let at = usize::try_from(*score - least).ok();
                *score = at.and_then(|at| of.get(at).copied()).unwrap_or_else(|| new(*score));
            }
        }
        _ => raw.iter_mut().for_each(|score| *score = new(*score)),
    }
}
