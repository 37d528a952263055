//! Access to volumes and workloads, and to what belongs to them.

use hashbrown::HashMap;

use super::tables::{ByName, BySym, Name, Named, Runs};
use super::{Kind, NodeId, PodId, Snapshot};
use crate::affinity::NodeMatch;
use crate::devices::{CLASS_PREFIX, DeviceClass, Reach, ResourceClaim, ResourceSlice};
use crate::intern::Sym;
use crate::usage::{NodeUsage, PodUsage};
use crate::volumes::{
    Claim, CsiDriver, CsiNode, CsiStorageCapacity, PersistentVolume, StorageClass, VolumeAttachment,
};
use crate::workloads::{Revision, Service, Workload, WorkloadKind};

/// Where volumes are and may be.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    pub(crate) claims: ByName<Claim>,
    pub(crate) volumes: BySym<PersistentVolume>,
    pub(crate) classes: BySym<StorageClass>,
    pub(crate) nodes: BySym<CsiNode>,
    pub(crate) drivers: BySym<CsiDriver>,
    /// By node.
    pub(crate) attachments: Runs<VolumeAttachment>,
    /// By class.
    pub(crate) capacities: Runs<CsiStorageCapacity>,
}

/// What drivers hand out.
#[derive(Clone, Debug)]
pub(crate) struct Devices {
    pub(crate) claims: ByName<ResourceClaim>,
    pub(crate) classes: BySym<DeviceClass>,
    pub(crate) slices: BySym<ResourceSlice>,
}

/// What was measured.
#[derive(Clone, Debug)]
pub(crate) struct Usage {
    pub(crate) nodes: BySym<NodeUsage>,
    pub(crate) pods: ByName<PodUsage>,
}

/// What makes pods and what finds them.
#[derive(Clone, Debug)]
pub(crate) struct Makers {
    pub(crate) workloads: ByName<Workload>,
    /// Places among the workloads.
    pub(crate) by_uid: HashMap<Sym, u32>,
    pub(crate) revisions: ByName<Revision>,
    /// By namespace.
    pub(crate) services: Runs<Service>,
}

impl Makers {
    pub(crate) fn workload(&self, uid: Sym) -> Option<&Workload> {
        self.by_uid.get(&uid).map(|&at| &self.workloads.all()[at as usize])
    }
}

impl Named for Claim {
    fn key(&self) -> Name<'_> {
        (None, self.namespace, &self.name)
    }
}

impl Named for ResourceClaim {
    fn key(&self) -> Name<'_> {
        (None, self.namespace, &self.name)
    }
}

impl Named for PodUsage {
    fn key(&self) -> Name<'_> {
        (None, self.namespace, &self.name)
    }
}

impl Named for Workload {
    fn key(&self) -> Name<'_> {
        (Some(self.kind), self.namespace, &self.name)
    }
}

impl Named for Revision {
    fn key(&self) -> Name<'_> {
        (None, self.namespace, &self.name)
    }
}

impl Snapshot {
    /// What a node was measured to use, if that is known.
    pub fn node_usage(&self, node: NodeId) -> Option<&NodeUsage> {
        self.usage.nodes.get(self.sym(&self.node(node).name))
    }

    /// What a pod was measured to use, if that is known.
    pub fn pod_usage(&self, pod: PodId) -> Option<&PodUsage> {
        let pod = self.pod(pod);
        self.usage.pods.get((None, pod.namespace, &pod.name))
    }

    /// A claim, if it is known.
    pub fn claim(&self, namespace: Sym, name: &str) -> Option<&Claim> {
        self.storage.claims.get((None, namespace, name))
    }

    /// The `storageClassName` of a claim: `None` when the claim is not known, [`Sym::EMPTY`] when
    /// it names none.
    pub fn claim_class(&self, namespace: Sym, name: &str) -> Option<Sym> {
        self.claim(namespace, name).map(|claim| claim.spec_class)
    }

    /// All claims, by namespace and name.
    pub fn claims(&self) -> &[Claim] {
        self.storage.claims.all()
    }

    /// A volume, if it is known.
    pub fn volume(&self, name: Sym) -> Option<&PersistentVolume> {
        self.storage.volumes.get(name)
    }

    /// All volumes, by name.
    pub fn volumes(&self) -> &[PersistentVolume] {
        self.storage.volumes.all()
    }

    /// A storage class, if it is known.
    pub fn storage_class(&self, name: Sym) -> Option<&StorageClass> {
        self.storage.classes.get(name)
    }

    /// The drivers of a node, if the object is known.
    pub fn csi_node(&self, node: Sym) -> Option<&CsiNode> {
        self.storage.nodes.get(node)
    }

    /// A driver, if the object is known.
    pub fn csi_driver(&self, name: Sym) -> Option<&CsiDriver> {
        self.storage.drivers.get(name)
    }

    /// A claim for devices, if it is known.
    pub fn resource_claim(&self, namespace: Sym, name: &str) -> Option<&ResourceClaim> {
        self.devices.claims.get((None, namespace, name))
    }

    /// Whether an extended resource may be had as devices of a class.
    pub fn is_device_resource(&self, name: &str) -> bool {
        let Devices { classes, .. } = &self.devices;
        if let Some(class) = name.strip_prefix(CLASS_PREFIX)
            && classes.get(self.sym(class)).is_some()
        {
            return true;
        }
        let name = self.sym(name);
        name != Sym::EMPTY && classes.all().iter().any(|class| class.resource == name)
    }

    /// Whether there may be devices that a node can use: some are known, or none at all are.
    pub fn may_have_devices(&self, id: NodeId) -> bool {
        let node = self.node(id);
        let reaches = |slice: &ResourceSlice| match &slice.reach {
            Reach::Any => true,
            Reach::Node(name) => *self.text(*name) == *node.name,
            Reach::Matching(selector) => {
                selector.matches(node, &node.labels, self.strings()) == NodeMatch::Yes
            }
        };
        !self.has(Kind::ResourceSlice) || self.devices.slices.all().iter().any(reaches)
    }

    /// The attachments of volumes to a node, by name.
    pub fn attachments_of(&self, node: Sym) -> &[VolumeAttachment] {
        self.storage.attachments.get(node)
    }

    /// The room there is for volumes of a class, by namespace and name.
    pub fn storage_capacities(&self, class: Sym) -> &[CsiStorageCapacity] {
        self.storage.capacities.get(class)
    }

    /// The services of a namespace, by name.
    pub fn services_in(&self, namespace: Sym) -> &[Service] {
        self.makers.services.get(namespace)
    }

    /// The workload with a uid, as an owner reference gives it.
    pub fn workload(&self, uid: Sym) -> Option<&Workload> {
        self.makers.workload(uid)
    }

    /// The workload of a kind and name.
    pub fn workload_named(
        &self,
        kind: WorkloadKind,
        namespace: Sym,
        name: &str,
    ) -> Option<&Workload> {
        self.makers.workloads.get((Some(kind), namespace, name))
    }

    /// All workloads, by kind, namespace and name.
    pub fn workloads(&self) -> &[Workload] {
        self.makers.workloads.all()
    }

    /// A ControllerRevision.
    pub fn revision(&self, namespace: Sym, name: &str) -> Option<&Revision> {
        self.makers.revisions.get((None, namespace, name))
    }
}
