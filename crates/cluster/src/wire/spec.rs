//! `spec` of pods and of templates of pods.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

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
    pub(crate) resource_claims: Option<Vec<IgnoredAny>>,
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
    pub(crate) ports: Option<Vec<Port<'a>>>,
    pub(crate) volume_mounts: Option<Mounts>,
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

/// Mounts, of which only one thing is ever asked; every container has some.
#[derive(Default)]
pub(crate) struct Mounts {
    /// Some mount has `bindMountOptions`.
    pub(crate) options: bool,
}

impl<'de> Deserialize<'de> for Mounts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", expecting = "an object")]
        struct Mount {
            bind_mount_options: Option<IgnoredAny>,
        }
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Mounts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut mounts: A) -> Result<Mounts, A::Error> {
                let mut options = false;
                while let Some(mount) = mounts.next_element::<Mount>()? {
                    options |= mount.bind_mount_options.is_some();
                }
                Ok(Mounts { options })
            }
        }
        from.deserialize_seq(List)
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
pub(crate) struct Volume<'a> {
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    pub(crate) empty_dir: Option<IgnoredAny>,
    pub(crate) host_path: Option<IgnoredAny>,
    pub(crate) ephemeral: Option<IgnoredAny>,
    #[serde(borrow)]
    pub(crate) persistent_volume_claim: Option<ClaimSource<'a>>,
    #[serde(borrow)]
    pub(crate) image: Option<ImageSource<'a>>,
    #[serde(borrow)]
    pub(crate) gce_persistent_disk: Option<Disk<'a>>,
    #[serde(borrow)]
    pub(crate) aws_elastic_block_store: Option<Disk<'a>>,
    #[serde(borrow)]
    pub(crate) iscsi: Option<Iscsi<'a>>,
    #[serde(borrow)]
    pub(crate) rbd: Option<Rbd<'a>>,
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct NodeSelector<'a> {
    #[serde(borrow)]
    pub(crate) node_selector_terms: Option<Vec<NodeSelectorTerm<'a>>>,
}

#[derive(Deserialize)]
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
