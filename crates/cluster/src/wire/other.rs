//! Kinds of which a name and a number or two are read.

use serde::Deserialize;

use super::{Int, LabelSelector, Metadata, Strings, Text};

/// An integer or a percentage such as `30%`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "an integer or a percentage")]
pub(crate) enum IntOrPercent {
    Int(Int),
    Percent(String),
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Namespace<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct PriorityClass<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    pub(crate) value: Option<Int>,
    pub(crate) global_default: Option<bool>,
    #[serde(borrow)]
    pub(crate) preemption_policy: Option<Text<'a>>,
}

/// `v1 Service`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Service<'a> {
    #[serde(borrow)]
    pub(crate) api_version: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(crate) spec: Option<ServiceSpec<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct ServiceSpec<'a> {
    #[serde(borrow)]
    pub(crate) selector: Option<Strings<'a>>,
}

/// `policy/v1 PodDisruptionBudget`.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Budget<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(crate) spec: Option<BudgetSpec<'a>>,
    pub(crate) status: Option<BudgetStatus>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct BudgetSpec<'a> {
    #[serde(borrow)]
    pub(crate) selector: Option<LabelSelector<'a>>,
    pub(crate) min_available: Option<IntOrPercent>,
    pub(crate) max_unavailable: Option<IntOrPercent>,
    #[serde(borrow)]
    pub(crate) unhealthy_pod_eviction_policy: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct BudgetStatus {
    pub(crate) observed_generation: Option<Int>,
    pub(crate) disruptions_allowed: Option<Int>,
    pub(crate) current_healthy: Option<Int>,
    pub(crate) desired_healthy: Option<Int>,
}
