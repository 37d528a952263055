//! Claims, volumes, and what decides where a volume can be (docs/spec/scheduler.md section 8).

use std::sync::Arc;

use crate::affinity::NodeSelector;
use crate::intern::Sym;
use crate::labels::{Labels, Selector};
use crate::pod::Owner;

/// A PersistentVolumeClaim.
#[derive(Clone, Debug)]
pub struct Claim {
    /// `metadata.namespace`.
    pub namespace: Sym,
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// `metadata.ownerReferences`.
    pub owners: Arc<[Owner]>,
    /// The storage class that the scheduler sees: annotation
    /// `volume.beta.kubernetes.io/storage-class` if it is there, else `spec.storageClassName`;
    /// [`Sym::EMPTY`] when neither is.
    pub class: Sym,
    /// `spec.storageClassName` alone.
    pub spec_class: Sym,
    /// `spec.volumeName`, [`Sym::EMPTY`] when there is none.
    pub volume: Sym,
    /// It has a volume, and annotation `pv.kubernetes.io/bind-completed` says for good.
    pub bound: bool,
    /// `status.phase` is `Lost`.
    pub lost: bool,
    /// `metadata.deletionTimestamp` is there.
    pub deleting: bool,
    /// `spec.resources.requests.storage` in bytes, rounded up.
    pub requested: i64,
    /// `spec.accessModes`.
    pub access_modes: AccessModes,
    /// Annotation `volume.kubernetes.io/selected-node`.
    pub selected_node: Option<Sym>,
    /// `spec.volumeMode` is `Block`.
    pub block: bool,
    /// `spec.selector`.
    pub selector: Option<Selector>,
    /// `spec.volumeAttributesClassName`, [`Sym::EMPTY`] when there is none.
    pub attributes_class: Sym,
}

/// A set of access modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AccessModes(u8);

impl AccessModes {
    /// `ReadWriteOnce`.
    pub const READ_WRITE_ONCE: Self = Self(1);
    /// `ReadOnlyMany`.
    pub const READ_ONLY_MANY: Self = Self(2);
    /// `ReadWriteMany`.
    pub const READ_WRITE_MANY: Self = Self(4);
    /// `ReadWriteOncePod`.
    pub const READ_WRITE_ONCE_POD: Self = Self(8);

    /// Whether all modes of `other` are among these.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The modes of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A PersistentVolume.
#[derive(Clone, Debug)]
pub struct PersistentVolume {
    /// `metadata.name`.
    pub name: Sym,
    /// `metadata.labels`.
    pub labels: Box<Labels>,
    /// `metadata.deletionTimestamp` is there.
    pub deleting: bool,
    /// `spec.capacity.storage` in bytes, rounded up.
    pub capacity: i64,
    /// Its storage class, as for a claim.
    pub class: Sym,
    /// `spec.volumeMode` is `Block`.
    pub block: bool,
    /// `spec.volumeAttributesClassName`, [`Sym::EMPTY`] when there is none.
    pub attributes_class: Sym,
    /// `spec.claimRef`.
    pub claim: Option<ClaimRef>,
    /// `status.phase` is `Available`.
    pub available: bool,
    /// `spec.accessModes`.
    pub access_modes: AccessModes,
    /// `spec.nodeAffinity.required`.
    pub affinity: Option<NodeSelector>,
    /// `spec.csi`: the driver and the handle of the volume.
    pub csi: Option<(Sym, Sym)>,
    /// The volume of a driver that was part of Kubernetes once.
    pub legacy: Option<LegacyVolume>,
}

/// `spec.claimRef` of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRef {
    /// `namespace`.
    pub namespace: Sym,
    /// `name`.
    pub name: Box<str>,
    /// `uid`, empty when the volume is only set aside for the claim.
    pub uid: Box<str>,
}

/// A PersistentVolume of a driver that was part of Kubernetes.
#[derive(Clone, Debug)]
pub struct LegacyVolume {
    /// How the driver that took over names it.
    pub disk: MigratedDisk,
    /// `spec.nodeAffinity.required` as that driver would have written it, which holds on nodes
    /// whose CSINode says that it took over.
    pub affinity: Option<NodeSelector>,
}

/// A volume as a driver that was part of Kubernetes names it, and as the one that took over does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MigratedDisk {
    /// The name of the old driver, such as `kubernetes.io/aws-ebs`; a CSINode may list it.
    pub plugin: Sym,
    /// The new driver, such as `ebs.csi.aws.com`.
    pub driver: Sym,
    /// The handle that the volume has with the new driver; `None` when that driver has no name
    /// for such a volume.
    pub handle: Option<Sym>,
}

/// The CSI driver that took over from a driver that was part of Kubernetes, for those whose
/// volumes count against the limits of a node.
pub fn successor(plugin: &str) -> Option<&'static str> {
    Some(match plugin {
        "kubernetes.io/aws-ebs" => "ebs.csi.aws.com",
        "kubernetes.io/gce-pd" => "pd.csi.storage.gke.io",
        "kubernetes.io/azure-disk" => "disk.csi.azure.com",
        "kubernetes.io/cinder" => "cinder.csi.openstack.org",
        "kubernetes.io/portworx-volume" => "pxd.portworx.com",
        _ => return None,
    })
}

/// A StorageClass.
#[derive(Clone, Debug)]
pub struct StorageClass {
    /// `metadata.name`.
    pub name: Sym,
    /// `provisioner`.
    pub provisioner: Sym,
    /// `volumeBindingMode` is `WaitForFirstConsumer`.
    pub delayed: bool,
    /// `allowedTopologies`, in the order written.
    pub allowed_topologies: Box<[TopologyTerm]>,
}

/// One term of `allowedTopologies`: keys, each with the values allowed for it.
pub type TopologyTerm = Box<[(Sym, Box<[Sym]>)]>;

/// A CSINode: which drivers run on a node.
#[derive(Clone, Debug)]
pub struct CsiNode {
    /// `metadata.name`, which is that of the node.
    pub node: Sym,
    /// The drivers, with the number of volumes that each can attach where that is limited.
    pub drivers: Box<[(Sym, Option<i64>)]>,
    /// Annotation `storage.alpha.kubernetes.io/migrated-plugins`, sorted by symbol.
    pub migrated: Box<[Sym]>,
}

/// A VolumeAttachment.
#[derive(Clone, Debug)]
pub struct VolumeAttachment {
    /// `metadata.name`.
    pub name: Box<str>,
    /// `spec.attacher`, the driver.
    pub attacher: Sym,
    /// `spec.nodeName`.
    pub node: Sym,
    /// `spec.source.persistentVolumeName`, [`Sym::EMPTY`] when the volume has none.
    pub volume: Sym,
}

/// A CSIDriver.
#[derive(Clone, Debug)]
pub struct CsiDriver {
    /// `metadata.name`.
    pub name: Sym,
    /// `spec.storageCapacity`: it says how much room there is.
    pub storage_capacity: bool,
    /// `spec.preventPodSchedulingIfMissing`.
    pub prevent_if_missing: bool,
}

/// A CSIStorageCapacity: how much room there is for volumes of a class in a part of the cluster.
#[derive(Clone, Debug)]
pub struct CsiStorageCapacity {
    /// `metadata.namespace`.
    pub namespace: Sym,
    /// `metadata.name`.
    pub name: Box<str>,
    /// `storageClassName`.
    pub class: Sym,
    /// `nodeTopology`; absent selects no node.
    pub topology: Option<Selector>,
    /// `capacity` in bytes, rounded up.
    pub capacity: Option<i64>,
    /// `maximumVolumeSize` in bytes, rounded up.
    pub maximum_volume_size: Option<i64>,
}
