//! What makes pods. One shape for all kinds: what a kind has not got is absent.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Condition, Int, Metadata, Template, Text};

/// A workload whose selector is written as `S`: a label selector, or labels alone.
#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object",
    bound(deserialize = "'de: 'a, S: Deserialize<'de>")
)]
pub(crate) struct Workload<'a, S> {
    pub(crate) api_version: Option<Text<'a>>,
    pub(crate) metadata: Option<Metadata<'a>>,
    pub(crate) spec: Option<WorkloadSpec<'a, S>>,
    pub(crate) status: Option<WorkloadStatus<'a>>,
}

impl<S> Default for Workload<'_, S> {
    fn default() -> Self {
        Self { api_version: None, metadata: None, spec: None, status: None }
    }
}

#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object",
    bound(deserialize = "'de: 'a, S: Deserialize<'de>")
)]
pub(crate) struct WorkloadSpec<'a, S> {
    pub(crate) replicas: Option<Int>,
    pub(crate) selector: Option<S>,
    pub(crate) template: Option<Template<'a>>,
    /// Deployment.
    pub(crate) paused: Option<bool>,
    /// StatefulSet.
    pub(crate) ordinals: Option<Ordinals>,
    /// StatefulSet.
    pub(crate) update_strategy: Option<UpdateStrategy<'a>>,
    /// StatefulSet.
    pub(crate) volume_claim_templates: Option<Vec<ClaimTemplate<'a>>>,
    /// Job.
    pub(crate) completions: Option<Int>,
    /// Job.
    pub(crate) parallelism: Option<Int>,
    /// Job.
    pub(crate) suspend: Option<bool>,
    /// Job.
    pub(crate) pod_replacement_policy: Option<Text<'a>>,
    /// Job.
    pub(crate) pod_failure_policy: Option<IgnoredAny>,
}

impl<S> Default for WorkloadSpec<'_, S> {
    fn default() -> Self {
        Self {
            replicas: None,
            selector: None,
            template: None,
            paused: None,
            ordinals: None,
            update_strategy: None,
            volume_claim_templates: None,
            completions: None,
            parallelism: None,
            suspend: None,
            pod_replacement_policy: None,
            pod_failure_policy: None,
        }
    }
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Ordinals {
    pub(crate) start: Option<Int>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct UpdateStrategy<'a> {
    #[serde(borrow)]
    pub(crate) r#type: Option<Text<'a>>,
    pub(crate) rolling_update: Option<RollingUpdate>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct RollingUpdate {
    pub(crate) partition: Option<Int>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct ClaimTemplate<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct WorkloadStatus<'a> {
    /// StatefulSet.
    #[serde(borrow)]
    pub(crate) current_revision: Option<Text<'a>>,
    /// StatefulSet.
    #[serde(borrow)]
    pub(crate) update_revision: Option<Text<'a>>,
    /// Job.
    pub(crate) succeeded: Option<Int>,
    /// Job.
    #[serde(borrow)]
    pub(crate) conditions: Option<Vec<Condition<'a>>>,
}

/// `apps/v1 ControllerRevision`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Revision<'a> {
    #[serde(borrow)]
    pub(crate) api_version: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(crate) data: Option<RevisionData<'a>>,
    pub(crate) revision: Option<Int>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct RevisionData<'a> {
    #[serde(borrow)]
    pub(crate) spec: Option<RevisionSpec<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct RevisionSpec<'a> {
    #[serde(borrow)]
    pub(crate) template: Option<Template<'a>>,
}
