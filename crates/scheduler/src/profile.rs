//! A profile of kube-scheduler: which plugins run where, with which weights and arguments.

use std::fmt;

use descheduler_cluster::LabelSelector;

/// The plugins of the default profile that filter or score, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are the scheduler's own")]
pub enum Plugin {
    NodeUnschedulable,
    NodeName,
    TaintToleration,
    NodeAffinity,
    NodePorts,
    NodeResourcesFit,
    VolumeRestrictions,
    NodeVolumeLimits,
    VolumeBinding,
    VolumeZone,
    PodTopologySpread,
    InterPodAffinity,
    DynamicResources,
    NodeResourcesBalancedAllocation,
    ImageLocality,
    NodeDeclaredFeatures,
}

impl Plugin {
    /// All, in the order of the default profile.
    pub const ALL: [Self; 16] = [
        Self::NodeUnschedulable,
        Self::NodeName,
        Self::TaintToleration,
        Self::NodeAffinity,
        Self::NodePorts,
        Self::NodeResourcesFit,
        Self::VolumeRestrictions,
        Self::NodeVolumeLimits,
        Self::VolumeBinding,
        Self::VolumeZone,
        Self::PodTopologySpread,
        Self::InterPodAffinity,
        Self::DynamicResources,
        Self::NodeResourcesBalancedAllocation,
        Self::ImageLocality,
        Self::NodeDeclaredFeatures,
    ];

    /// Whether it has a filter.
    pub fn filters(self) -> bool {
        !matches!(self, Self::NodeResourcesBalancedAllocation | Self::ImageLocality)
    }

    /// The weight of its score in the default profile, if it has one
    /// (docs/spec/scheduler.md section 2).
    pub fn default_weight(self) -> Option<i64> {
        match self {
            Self::TaintToleration => Some(3),
            Self::NodeAffinity | Self::PodTopologySpread | Self::InterPodAffinity => Some(2),
            Self::NodeResourcesFit
            | Self::VolumeBinding
            | Self::NodeResourcesBalancedAllocation
            | Self::ImageLocality => Some(1),
            Self::NodeUnschedulable
            | Self::NodeName
            | Self::NodePorts
            | Self::VolumeRestrictions
            | Self::NodeVolumeLimits
            | Self::VolumeZone
            | Self::DynamicResources
            | Self::NodeDeclaredFeatures => None,
        }
    }

    /// The scheduler's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NodeUnschedulable => "NodeUnschedulable",
            Self::NodeName => "NodeName",
            Self::TaintToleration => "TaintToleration",
            Self::NodeAffinity => "NodeAffinity",
            Self::NodePorts => "NodePorts",
            Self::NodeResourcesFit => "NodeResourcesFit",
            Self::VolumeRestrictions => "VolumeRestrictions",
            Self::NodeVolumeLimits => "NodeVolumeLimits",
            Self::VolumeBinding => "VolumeBinding",
            Self::VolumeZone => "VolumeZone",
            Self::PodTopologySpread => "PodTopologySpread",
            Self::InterPodAffinity => "InterPodAffinity",
            Self::DynamicResources => "DynamicResources",
            Self::NodeResourcesBalancedAllocation => "NodeResourcesBalancedAllocation",
            Self::ImageLocality => "ImageLocality",
            Self::NodeDeclaredFeatures => "NodeDeclaredFeatures",
        }
    }

    /// The plugin of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.name() == name)
    }
}

impl fmt::Display for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The profile that serves pods of one `schedulerName`.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Pods that name this scheduler are placed by it.
    pub scheduler_name: String,
    /// Plugins that look at the pod before nodes are filtered, in this order.
    pub pre_filter: Vec<Plugin>,
    /// Plugins that filter, in this order.
    pub filter: Vec<Plugin>,
    /// Plugins that prepare their scores.
    pub pre_score: Vec<Plugin>,
    /// Plugins that score, with their weights.
    pub score: Vec<(Plugin, i64)>,
    /// `percentageOfNodesToScore`; 0 for what the number of nodes makes of it.
    pub percentage_of_nodes_to_score: i32,
    /// Arguments of NodeResourcesFit.
    pub fit: FitArgs,
    /// `resources` of NodeResourcesBalancedAllocation.
    pub balanced: Vec<String>,
    /// `addedAffinity` of NodeAffinity.
    pub added_affinity: AddedAffinity,
    /// Arguments of InterPodAffinity.
    pub inter_pod: InterPodArgs,
    /// Arguments of PodTopologySpread.
    pub spread: SpreadDefaults,
    /// `shape` of VolumeBinding.
    pub volume_shape: Vec<ShapePoint>,
}

impl Default for Profile {
    fn default() -> Self {
        let scoring = Plugin::ALL.into_iter();
        Self {
            scheduler_name: "default-scheduler".to_owned(),
            pre_filter: Plugin::ALL.to_vec(),
            filter: Plugin::ALL.into_iter().filter(|plugin| plugin.filters()).collect(),
            pre_score: Plugin::ALL.to_vec(),
            score: scoring.filter_map(|plugin| Some((plugin, plugin.default_weight()?))).collect(),
            percentage_of_nodes_to_score: 0,
            fit: FitArgs::default(),
            balanced: vec!["cpu".to_owned(), "memory".to_owned()],
            added_affinity: AddedAffinity::default(),
            inter_pod: InterPodArgs::default(),
            spread: SpreadDefaults::System,
            volume_shape: vec![
                ShapePoint { utilization: 0, score: 10 },
                ShapePoint { utilization: 100, score: 0 },
            ],
        }
    }
}

/// Arguments of NodeResourcesFit (docs/spec/scheduler.md sections 4.2 and 4.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitArgs {
    /// Extended resources that are not filtered by.
    pub ignored_resources: Vec<String>,
    /// What stands before the slash of extended resources that are not filtered by.
    pub ignored_groups: Vec<String>,
    /// How what is left is scored.
    pub strategy: ScoringStrategy,
    /// The resources that are scored, with their weights.
    pub resources: Vec<(String, i64)>,
}

impl Default for FitArgs {
    fn default() -> Self {
        Self {
            ignored_resources: Vec::new(),
            ignored_groups: Vec::new(),
            strategy: ScoringStrategy::LeastAllocated,
            resources: vec![("cpu".to_owned(), 1), ("memory".to_owned(), 1)],
        }
    }
}

/// How NodeResourcesFit scores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScoringStrategy {
    /// Emptier nodes are better.
    LeastAllocated,
    /// Fuller nodes are better.
    MostAllocated,
    /// A broken line over the use.
    RequestedToCapacityRatio(Vec<ShapePoint>),
}

/// A point of a broken line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapePoint {
    /// Percent, 0 to 100.
    pub utilization: i64,
    /// 0 to 10.
    pub score: i64,
}

/// Node affinity that the scheduler adds to every pod's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedAffinity {
    /// A node must match.
    pub required: Option<NodeTerms>,
    /// Matching nodes are preferred.
    pub preferred: Vec<(i32, NodeTerm)>,
}

/// Terms of which one has to match, not yet compiled for a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeTerms(pub Vec<NodeTerm>);

/// One term: all of it must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeTerm {
    /// Conditions on labels.
    pub labels: LabelSelector,
    /// Conditions on the name: equal (`true`) or different.
    pub names: Vec<(String, bool)>,
}

/// Arguments of InterPodAffinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterPodArgs {
    /// Weight of required affinity of existing pods to the new one, in scoring; 0 to 100.
    pub hard_weight: i64,
    /// Existing pods' terms are not scored when the new pod has none itself.
    pub ignore_existing: bool,
}

impl Default for InterPodArgs {
    fn default() -> Self {
        Self { hard_weight: 1, ignore_existing: false }
    }
}

/// What holds for pods without spread constraints of their own (docs/spec/scheduler.md section
/// 5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpreadDefaults {
    /// Softly over hosts and zones.
    System,
    /// These.
    List(Vec<DefaultConstraint>),
}

/// A spread constraint without a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultConstraint {
    /// The label of nodes that makes domains.
    pub topology_key: String,
    /// How much fuller than the emptiest domain one may be.
    pub max_skew: i32,
    /// Whether it must hold (`DoNotSchedule`).
    pub hard: bool,
    /// `minDomains`.
    pub min_domains: Option<i32>,
    /// `nodeAffinityPolicy`: nodes that the pod does not select are left out (the default).
    pub honor_affinity: bool,
    /// `nodeTaintsPolicy`: nodes with taints that the pod does not tolerate are left out.
    pub honor_taints: bool,
}

impl DefaultConstraint {
    /// A soft constraint as the scheduler has it by itself.
    pub(crate) fn soft(topology_key: &str, max_skew: i32) -> Self {
        Self {
            topology_key: topology_key.to_owned(),
            max_skew,
            hard: false,
            min_domains: None,
            honor_affinity: true,
            honor_taints: false,
        }
    }
}
