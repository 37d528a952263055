//! `metrics.k8s.io/v1beta1`: what nodes and pods were measured to use.

use jiff::Timestamp;
use serde::Deserialize;

use super::{Amounts, Metadata, Text};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct NodeMetrics<'a> {
    #[serde(borrow)]
    pub(crate) api_version: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    pub(crate) timestamp: Option<Timestamp>,
    #[serde(borrow)]
    pub(crate) usage: Option<Amounts<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct PodMetrics<'a> {
    #[serde(borrow)]
    pub(crate) api_version: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    pub(crate) timestamp: Option<Timestamp>,
    #[serde(borrow)]
    pub(crate) containers: Option<Vec<ContainerMetrics<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct ContainerMetrics<'a> {
    #[serde(borrow)]
    pub(crate) usage: Option<Amounts<'a>>,
}
