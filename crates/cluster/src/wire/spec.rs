//! `spec` of pods and of templates of pods.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::{Amounts, Expression, Int, LabelSelector, Metadata, Strings, Text};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Template<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(crate) spec: Option<PodSpec<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct PodSpec<'a> {
    #[serde(borrow)]
    pub(crate) node_name: Option<Text<'a>>,
    pub(crate) priority: Option<Int>,
    #[serde(borrow)]
    pub(crate) priority_class_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) preemption_policy: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) scheduler_name: Option<Text<'a>>,
    pub(crate) scheduling_gates: Option<Vec<IgnoredAny>>,
    pub(crate) host_network: Option<bool>,
    pub(crate) host_users: Option<bool>,
    #[serde(borrow)]
    pub(crate) node_selector: Option<Strings<'a>>,
    #[serde(borrow)]
    pub(crate) affinity: Option<Affinity<'a>>,
    #[serde(borrow)]
    pub(crate) topology_spread_constraints: Option<Vec<SpreadConstraint<'a>>>,
    #[serde(borrow)]
    pub(crate) tolerations: Option<Vec<Toleration<'a>>>,
    #[serde(borrow)]
    pub(crate) containers: Option<Vec<Container<'a>>>,
    #[serde(borrow)]
    pub(crate) init_containers: Option<Vec<Container<'a>>>,
    #[serde(borrow)]
    pub(crate) volumes: Option<Vec<Volume<'a>>>,
    #[serde(borrow)]
    pub(crate) resource_claims: Option<Vec<DeviceClaim<'a>>>,
    #[serde(borrow)]
    pub(crate) resources: Option<Resources<'a>>,
    #[serde(borrow)]
    pub(crate) overhead: Option<Amounts<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Container<'a> {
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) image: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) restart_policy: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) restart_policy_rules: Option<Vec<RestartRule<'a>>>,
    #[serde(borrow)]
    pub(crate) ports: Option<Rare<'a>>,
    #[serde(borrow)]
    pub(crate) volume_mounts: Option<Rare<'a>>,
    #[serde(borrow)]
    pub(crate) resources: Option<Resources<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct RestartRule<'a> {
    #[serde(borrow)]
    pub(crate) action: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Port<'a> {
    pub(crate) container_port: Option<Int>,
    pub(crate) host_port: Option<Int>,
    #[serde(borrow, rename = "hostIP")]
    pub(crate) host_ip: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) protocol: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Mount {
    pub(crate) bind_mount_options: Option<IgnoredAny>,
}

/// A list that every pod has and that is read for the sake of one rare key. The parser skips what
/// is not asked for much faster than it reads it.
#[derive(Clone, Copy, Deserialize)]
#[serde(transparent)]
pub(crate) struct Rare<'a>(#[serde(borrow)] &'a RawValue);

impl<'a> Rare<'a> {
    /// The items; none when no item can have the key.
    pub(crate) fn items_with<T: Deserialize<'a>>(
        self,
        key: &str,
    ) -> Result<Vec<T>, serde_json::Error> {
        let text = self.0.get();
        // A key may be written with escapes, although nobody does.
        if text.contains(key) || text.contains('\\') {
            Ok(serde_json::from_str::<Option<Vec<T>>>(text)?.unwrap_or_default())
        } else {
            Ok(Vec::new())
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Resources<'a> {
    #[serde(borrow)]
    pub(crate) requests: Option<Amounts<'a>>,
    #[serde(borrow)]
    pub(crate) limits: Option<Amounts<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
/// The rare sources are boxed: nearly every pod has volumes, and they are moved as they are read.
pub(crate) struct Volume<'a> {
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    pub(crate) empty_dir: Option<IgnoredAny>,
    pub(crate) host_path: Option<IgnoredAny>,
    pub(crate) ephemeral: Option<IgnoredAny>,
    #[serde(borrow)]
    pub(crate) persistent_volume_claim: Option<ClaimSource<'a>>,
    #[serde(borrow)]
    pub(crate) image: Option<Box<ImageSource<'a>>>,
    #[serde(borrow)]
    pub(crate) gce_persistent_disk: Option<Box<Disk<'a>>>,
    #[serde(borrow)]
    pub(crate) aws_elastic_block_store: Option<Box<Disk<'a>>>,
    #[serde(borrow)]
    pub(crate) azure_disk: Option<Box<Disk<'a>>>,
    #[serde(borrow)]
    pub(crate) cinder: Option<Box<Disk<'a>>>,
    #[serde(borrow)]
    pub(crate) portworx_volume: Option<Box<Disk<'a>>>,
    #[serde(borrow)]
    pub(crate) iscsi: Option<Box<Iscsi<'a>>>,
    #[serde(borrow)]
    pub(crate) rbd: Option<Box<Rbd<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct DeviceClaim<'a> {
    #[serde(borrow)]
    pub(crate) resource_claim_name: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct ClaimSource<'a> {
    #[serde(borrow)]
    pub(crate) claim_name: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct ImageSource<'a> {
    #[serde(borrow)]
    pub(crate) reference: Option<Text<'a>>,
}

/// A disk of a cloud, by the name that its cloud gives it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Disk<'a> {
    #[serde(borrow, alias = "pdName", alias = "volumeID", alias = "diskURI")]
    pub(crate) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) kind: Option<Text<'a>>,
    pub(crate) read_only: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Iscsi<'a> {
    #[serde(borrow)]
    pub(crate) iqn: Option<Text<'a>>,
    pub(crate) read_only: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Rbd<'a> {
    #[serde(borrow)]
    pub(crate) monitors: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    pub(crate) pool: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) image: Option<Text<'a>>,
    pub(crate) read_only: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Affinity<'a> {
    #[serde(borrow)]
    pub(crate) node_affinity: Option<NodeAffinity<'a>>,
    #[serde(borrow)]
    pub(crate) pod_affinity: Option<PodAffinity<'a>>,
    #[serde(borrow)]
    pub(crate) pod_anti_affinity: Option<PodAffinity<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct NodeAffinity<'a> {
    #[serde(borrow)]
    pub(crate) required_during_scheduling_ignored_during_execution: Option<NodeSelector<'a>>,
    #[serde(borrow)]
    pub(crate) preferred_during_scheduling_ignored_during_execution: Option<Vec<PreferredTerm<'a>>>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct NodeSelector<'a> {
    #[serde(borrow)]
    pub(crate) node_selector_terms: Option<Vec<NodeSelectorTerm<'a>>>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct NodeSelectorTerm<'a> {
    #[serde(borrow)]
    pub(crate) match_expressions: Option<Vec<Expression<'a>>>,
    #[serde(borrow)]
    pub(crate) match_fields: Option<Vec<Expression<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct PreferredTerm<'a> {
    pub(crate) weight: Option<Int>,
    #[serde(borrow)]
    pub(crate) preference: Option<NodeSelectorTerm<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct PodAffinity<'a> {
    #[serde(borrow)]
    pub(crate) required_during_scheduling_ignored_during_execution:
        Option<Vec<PodAffinityTerm<'a>>>,
    #[serde(borrow)]
    pub(crate) preferred_during_scheduling_ignored_during_execution:
        Option<Vec<WeightedPodTerm<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct WeightedPodTerm<'a> {
    pub(crate) weight: Option<Int>,
    #[serde(borrow)]
    pub(crate) pod_affinity_term: Option<PodAffinityTerm<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct PodAffinityTerm<'a> {
    #[serde(borrow)]
    pub(crate) label_selector: Option<LabelSelector<'a>>,
    #[serde(borrow)]
    pub(crate) namespaces: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    pub(crate) namespace_selector: Option<LabelSelector<'a>>,
    #[serde(borrow)]
    pub(crate) topology_key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) match_label_keys: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    pub(crate) mismatch_label_keys: Option<Vec<Text<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct SpreadConstraint<'a> {
    #[serde(borrow)]
    pub(crate) topology_key: Option<Text<'a>>,
    pub(crate) max_skew: Option<Int>,
    #[serde(borrow)]
    pub(crate) when_unsatisfiable: Option<Text<'a>>,
    pub(crate) min_domains: Option<Int>,
    #[serde(borrow)]
    pub(crate) label_selector: Option<LabelSelector<'a>>,
    #[serde(borrow)]
    pub(crate) match_label_keys: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    pub(crate) node_affinity_policy: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) node_taints_policy: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Toleration<'a> {
    #[serde(borrow)]
    pub(crate) key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) operator: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) value: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) effect: Option<Text<'a>>,
}
