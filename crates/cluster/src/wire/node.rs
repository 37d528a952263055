//! `v1 Node`.

use serde::Deserialize;

use super::{Amounts, Condition, Int, Metadata, Text};

#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Node<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(crate) spec: Option<NodeSpec<'a>>,
    #[serde(borrow)]
    pub(crate) status: Option<NodeStatus<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct NodeSpec<'a> {
    #[serde(borrow)]
    pub(crate) taints: Option<Vec<Taint<'a>>>,
    pub(crate) unschedulable: Option<bool>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Taint<'a> {
    #[serde(borrow)]
    pub(crate) key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) value: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) effect: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct NodeStatus<'a> {
    #[serde(borrow)]
    pub(crate) allocatable: Option<Amounts<'a>>,
    #[serde(borrow)]
    pub(crate) capacity: Option<Amounts<'a>>,
    #[serde(borrow)]
    pub(crate) conditions: Option<Vec<Condition<'a>>>,
    #[serde(borrow)]
    pub(crate) images: Option<Vec<Image<'a>>>,
    #[serde(borrow)]
    pub(crate) declared_features: Option<Vec<Text<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Image<'a> {
    #[serde(borrow)]
    pub(crate) names: Option<Vec<Text<'a>>>,
    pub(crate) size_bytes: Option<Int>,
}
