//! `v1 Pod`.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Amounts, Expression, Int, LabelSelector, Metadata, Strings, Text};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Condition<'a> {
    #[serde(borrow)]
    pub(crate) r#type: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) status: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) reason: Option<Text<'a>>,
    pub(crate) last_transition_time: Option<Timestamp>,
    pub(crate) last_heartbeat_time: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Pod<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(crate) spec: Option<PodSpec<'a>>,
    #[serde(borrow)]
    pub(crate) status: Option<PodStatus<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct PodSpec<'a> {
    #[serde(borrow)]
    pub(crate) node_name: Option<Text<'a>>,
    pub(crate) priority: Option<Int>,
    #[serde(borrow)]
    pub(crate) node_selector: Option<Strings<'a>>,
    #[serde(borrow)]
    pub(crate) affinity: Option<Affinity<'a>>,
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
    pub(crate) resources: Option<Resources<'a>>,
}

#[derive(Deserialize)]
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
    pub(crate) empty_dir: Option<IgnoredAny>,
    pub(crate) host_path: Option<IgnoredAny>,
    #[serde(borrow)]
    pub(crate) persistent_volume_claim: Option<ClaimSource<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct ClaimSource<'a> {
    #[serde(borrow)]
    pub(crate) claim_name: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Affinity<'a> {
    #[serde(borrow)]
    pub(crate) node_affinity: Option<NodeAffinity<'a>>,
    #[serde(borrow)]
    pub(crate) pod_anti_affinity: Option<PodAntiAffinity<'a>>,
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
pub(crate) struct PodAntiAffinity<'a> {
    #[serde(borrow)]
    pub(crate) required_during_scheduling_ignored_during_execution:
        Option<Vec<PodAffinityTerm<'a>>>,
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

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct PodStatus<'a> {
    #[serde(borrow)]
    pub(crate) phase: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) reason: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) qos_class: Option<Text<'a>>,
    pub(crate) start_time: Option<Timestamp>,
    #[serde(borrow)]
    pub(crate) conditions: Option<Vec<Condition<'a>>>,
    #[serde(borrow)]
    pub(crate) container_statuses: Option<Vec<ContainerStatus<'a>>>,
    #[serde(borrow)]
    pub(crate) init_container_statuses: Option<Vec<ContainerStatus<'a>>>,
    #[serde(borrow)]
    pub(crate) ephemeral_container_statuses: Option<Vec<ContainerStatus<'a>>>,
    /// Requests of the pod as a whole that are in force.
    #[serde(borrow)]
    pub(crate) resources: Option<Resources<'a>>,
    #[serde(borrow)]
    pub(crate) allocated_resources: Option<Amounts<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct ContainerStatus<'a> {
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    pub(crate) restart_count: Option<Int>,
    #[serde(borrow)]
    pub(crate) state: Option<ContainerState<'a>>,
    #[serde(borrow)]
    pub(crate) resources: Option<Resources<'a>>,
    #[serde(borrow)]
    pub(crate) allocated_resources: Option<Amounts<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct ContainerState<'a> {
    #[serde(borrow)]
    pub(crate) waiting: Option<Ended<'a>>,
    #[serde(borrow)]
    pub(crate) terminated: Option<Ended<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Ended<'a> {
    #[serde(borrow)]
    pub(crate) reason: Option<Text<'a>>,
    pub(crate) exit_code: Option<Int>,
}
