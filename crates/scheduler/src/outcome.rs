//! What the scheduler says about a pod: where it could go, how well, and why not elsewhere.

use std::fmt;

use descheduler_cluster::{NodeId, ResourceId, Snapshot, Taint};

use crate::profile::Plugin;

/// How final a rejection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// Removing pods from the node might help.
    Unschedulable,
    /// Nothing that happens to other pods helps.
    UnschedulableAndUnresolvable,
}

impl Code {
    /// As the scheduler spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unschedulable => "Unschedulable",
            Self::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
        }
    }
}

/// Why a node, or all of them, will not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fault {
    /// How final that is.
    pub code: Code,
    /// Who says so; `None` when the sets of nodes that plugins allow have nothing in common, or
    /// the node is outside of them.
    pub plugin: Option<Plugin>,
    /// The reason.
    pub why: Why,
}

/// The reasons, in the scheduler's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each is explained by its text below")]
pub enum Why {
    Unschedulable,
    OtherNode,
    OutsideSet,
    Taint(TaintKey),
    NodeAffinity,
    AddedNodeAffinity,
    NoNodeNamed,
    HostPorts,
    TooManyPods,
    Insufficient(ResourceId),
    PodAffinity,
    PodAntiAffinity,
    OthersAntiAffinity,
    SpreadKeyMissing,
    Spread,
    ClaimUnknown,
    ClaimLost,
    ClaimDeleting,
    ClaimUnbound,
    VolumeUnknown,
    ClaimInUse,
    DiskConflict,
    VolumeLimit,
    DriverMissing,
    VolumeNodeAffinity,
    SelectedNode,
    NoVolumeToBind,
    NoStorageLeft,
    VolumeZone,
    ResourceClaims,
    ResourceClaimInUse,
    ResourceClaimElsewhere,
    NoDevices,
    MissingFeature,
}

/// A taint, by the symbols of one snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaintKey(pub Taint);

impl PartialOrd for TaintKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TaintKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |TaintKey(taint): &Self| (taint.key, taint.value, taint.effect);
        key(self).cmp(&key(other))
    }
}

impl Why {
    /// The reason as a phrase about a number of nodes, such as `had untolerated taint(s)`.
    pub fn text(self, snapshot: &Snapshot) -> String {
        let fixed = match self {
            Self::Taint(TaintKey(taint)) => {
                return format!("untolerated taint {}", taint.display(snapshot.strings()));
            }
            Self::Insufficient(resource) => {
                return format!("Insufficient {}", snapshot.resource_name(resource));
            }
            Self::Unschedulable => "node(s) were unschedulable",
            Self::OtherNode => "node(s) didn't match the requested node name",
            Self::OutsideSet => "node(s) didn't satisfy the pod's node names",
            Self::NodeAffinity => "node(s) didn't match Pod's node affinity/selector",
            Self::AddedNodeAffinity => "node(s) didn't match scheduler-enforced node affinity",
            Self::NoNodeNamed => "pod affinity terms conflict",
            Self::HostPorts => "node(s) didn't have free ports for the requested pod ports",
            Self::TooManyPods => "Too many pods",
            Self::PodAffinity => "node(s) didn't match pod affinity rules",
            Self::PodAntiAffinity => "node(s) didn't match pod anti-affinity rules",
            Self::OthersAntiAffinity => "node(s) didn't satisfy existing pods anti-affinity rules",
            Self::SpreadKeyMissing => {
                "node(s) didn't match pod topology spread constraints (missing required label)"
            }
            Self::Spread => "node(s) didn't match pod topology spread constraints",
            Self::ClaimUnknown => "persistentvolumeclaim not found",
            Self::ClaimLost => "persistentvolumeclaim bound to non-existent persistentvolume",
            Self::ClaimDeleting => "persistentvolumeclaim is being deleted",
            Self::ClaimUnbound => "pod has unbound immediate PersistentVolumeClaims",
            Self::VolumeUnknown => "persistentvolume not found",
            Self::ClaimInUse => {
                "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
            }
            Self::DiskConflict => "node(s) had no available disk",
            Self::VolumeLimit => "node(s) exceed max volume count",
            Self::DriverMissing => "node(s) lack a CSI driver that the pod needs",
            Self::VolumeNodeAffinity => "node(s) didn't match PersistentVolume's node affinity",
            Self::SelectedNode => "node(s) are not the one selected for the volume",
            Self::NoVolumeToBind => "node(s) didn't find available persistent volumes to bind",
            Self::NoStorageLeft => "node(s) did not have enough free storage",
            Self::VolumeZone => "node(s) had no available volume zone",
            Self::ResourceClaims => {
                "whether devices can be had for its claims or resources is not known"
            }
            Self::ResourceClaimInUse => "resourceclaim in use",
            Self::ResourceClaimElsewhere => "resourceclaim not available on the node",
            Self::NoDevices => "cannot allocate all claims",
            Self::MissingFeature => "node declared features check failed",
        };
        fixed.to_owned()
    }
}

/// The scheduler gives up on the pod for this cycle, with an error of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CycleError {
    /// In which stage.
    pub stage: Stage,
    /// The plugin that failed.
    pub plugin: Plugin,
    /// What it said.
    pub message: String,
}

/// The stages of a scheduling cycle in which a plugin can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before nodes are looked at.
    PreFilter,
    /// While nodes are looked at.
    Filter,
    /// Before nodes are scored.
    PreScore,
    /// While nodes are scored.
    Score,
    /// The scheduler crashes.
    Panic,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PreFilter => "PreFilter",
            Self::Filter => "Filter",
            Self::PreScore => "PreScore",
            Self::Score => "Score",
            Self::Panic => "Panic",
        })
    }
}

/// The answer about one pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// The whole pod was rejected before any node was looked at.
    pub rejected: Option<Fault>,
    /// The cycle failed.
    pub error: Option<CycleError>,
    /// The nodes that pass every filter, in the order of the nodes, with their scores.
    pub feasible: Vec<Candidate>,
    /// The others, in the same order.
    pub infeasible: Vec<(NodeId, Fault)>,
    /// The plugins that scored, in the order of [`Candidate::scores`].
    pub plugins: Vec<Plugin>,
}

/// A node with its scores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The node.
    pub node: NodeId,
    /// The weighted sum.
    pub total: i64,
    /// The weighted score of each plugin; empty unless they were asked for.
    pub scores: Vec<i64>,
}

impl Placement {
    pub(crate) fn rejected(fault: Fault) -> Self {
        Self { rejected: Some(fault), ..Self::default() }
    }

    pub(crate) fn failed(error: CycleError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}
