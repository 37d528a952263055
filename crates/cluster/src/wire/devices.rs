//! Devices that drivers hand out.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Metadata, NodeSelector, Text};

/// `resource.k8s.io/v1 ResourceClaim`.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct ResourceClaim<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(crate) status: Option<ResourceClaimStatus<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct ResourceClaimStatus<'a> {
    #[serde(borrow)]
    pub(crate) allocation: Option<Allocation<'a>>,
    #[serde(borrow)]
    pub(crate) reserved_for: Option<Vec<Consumer<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Allocation<'a> {
    pub(crate) devices: Option<AllocatedDevices>,
    #[serde(borrow)]
    pub(crate) node_selector: Option<NodeSelector<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct AllocatedDevices {
    pub(crate) results: Option<Vec<AllocatedDevice>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct AllocatedDevice {
    pub(crate) binding_conditions: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Consumer<'a> {
    #[serde(borrow)]
    pub(crate) uid: Option<Text<'a>>,
}

/// `resource.k8s.io/v1 DeviceClass`.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct DeviceClass<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(crate) spec: Option<DeviceClassSpec<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct DeviceClassSpec<'a> {
    #[serde(borrow)]
    pub(crate) extended_resource_name: Option<Text<'a>>,
}

/// `resource.k8s.io/v1 ResourceSlice`.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct ResourceSlice<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(crate) spec: Option<ResourceSliceSpec<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct ResourceSliceSpec<'a> {
    #[serde(borrow)]
    pub(crate) node_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) node_selector: Option<NodeSelector<'a>>,
}
