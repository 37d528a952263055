//! Claims, volumes, and what decides where a volume can be.

use serde::Deserialize;

use super::{Amount, Amounts, Disk, Int, LabelSelector, Metadata, NodeSelector, Resources, Text};

/// `v1 PersistentVolumeClaim`.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Claim<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(crate) spec: Option<ClaimSpec<'a>>,
    #[serde(borrow)]
    pub(crate) status: Option<Status<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct ClaimSpec<'a> {
    #[serde(borrow)]
    pub(crate) storage_class_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) volume_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) volume_mode: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) volume_attributes_class_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) access_modes: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    pub(crate) selector: Option<LabelSelector<'a>>,
    #[serde(borrow)]
    pub(crate) resources: Option<Resources<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Status<'a> {
    #[serde(borrow)]
    pub(crate) phase: Option<Text<'a>>,
}

/// `v1 PersistentVolume`.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct PersistentVolume<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(crate) spec: Option<VolumeSpec<'a>>,
    #[serde(borrow)]
    pub(crate) status: Option<Status<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct VolumeSpec<'a> {
    #[serde(borrow)]
    pub(crate) capacity: Option<Amounts<'a>>,
    #[serde(borrow)]
    pub(crate) storage_class_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) volume_mode: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) volume_attributes_class_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) access_modes: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    pub(crate) claim_ref: Option<ClaimRef<'a>>,
    #[serde(borrow)]
    pub(crate) node_affinity: Option<VolumeNodeAffinity<'a>>,
    #[serde(borrow)]
    pub(crate) csi: Option<CsiSource<'a>>,
    #[serde(borrow)]
    pub(crate) aws_elastic_block_store: Option<Disk<'a>>,
    #[serde(borrow)]
    pub(crate) gce_persistent_disk: Option<Disk<'a>>,
    #[serde(borrow)]
    pub(crate) azure_disk: Option<Disk<'a>>,
    #[serde(borrow)]
    pub(crate) cinder: Option<Disk<'a>>,
    #[serde(borrow)]
    pub(crate) portworx_volume: Option<Disk<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct ClaimRef<'a> {
    #[serde(borrow)]
    pub(crate) namespace: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) uid: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct VolumeNodeAffinity<'a> {
    #[serde(borrow)]
    pub(crate) required: Option<NodeSelector<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct CsiSource<'a> {
    #[serde(borrow)]
    pub(crate) driver: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) volume_handle: Option<Text<'a>>,
}

/// `storage.k8s.io/v1 StorageClass`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct StorageClass<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(crate) provisioner: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) volume_binding_mode: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) allowed_topologies: Option<Vec<Topology<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Topology<'a> {
    #[serde(borrow)]
    pub(crate) match_label_expressions: Option<Vec<TopologyValues<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct TopologyValues<'a> {
    #[serde(borrow)]
    pub(crate) key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) values: Option<Vec<Text<'a>>>,
}

/// `storage.k8s.io/v1 CSINode`.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct CsiNode<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(crate) spec: Option<CsiNodeSpec<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct CsiNodeSpec<'a> {
    #[serde(borrow)]
    pub(crate) drivers: Option<Vec<CsiNodeDriver<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct CsiNodeDriver<'a> {
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    pub(crate) allocatable: Option<Allocatable>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Allocatable {
    pub(crate) count: Option<Int>,
}

/// `storage.k8s.io/v1 VolumeAttachment`.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct VolumeAttachment<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(crate) spec: Option<AttachmentSpec<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct AttachmentSpec<'a> {
    #[serde(borrow)]
    pub(crate) attacher: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) node_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) source: Option<AttachmentSource<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct AttachmentSource<'a> {
    #[serde(borrow)]
    pub(crate) persistent_volume_name: Option<Text<'a>>,
}

/// `storage.k8s.io/v1 CSIDriver`.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct CsiDriver<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    pub(crate) spec: Option<CsiDriverSpec>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct CsiDriverSpec {
    pub(crate) storage_capacity: Option<bool>,
    pub(crate) prevent_pod_scheduling_if_missing: Option<bool>,
}

/// `storage.k8s.io/v1 CSIStorageCapacity`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct CsiStorageCapacity<'a> {
    #[serde(borrow)]
    pub(crate) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(crate) storage_class_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) node_topology: Option<LabelSelector<'a>>,
    pub(crate) capacity: Option<Amount>,
    pub(crate) maximum_volume_size: Option<Amount>,
}
