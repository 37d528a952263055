//! `v1 Pod`. Its `spec` is [`PodSpec`].

use jiff::Timestamp;
use serde::Deserialize;

use super::{Amounts, Int, Metadata, PodSpec, Resources, Text};

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
pub(crate) struct PodStatus<'a> {
    #[serde(borrow)]
    pub(crate) phase: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) reason: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) qos_class: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) nominated_node_name: Option<Text<'a>>,
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
