//! What pods of one template have in common ([`PodSpec`]), and its parts.
//!
//! It holds what docs/spec/scheduler.md says kube-scheduler reads, apart from amounts of
//! resources and names of claims, which each pod has of its own.

use crate::affinity::{NodeSelector, PodAffinityTerm, PreferredPodTerm, PreferredTerm};
use crate::intern::Sym;
use crate::labels::{Labels, Selector, value_of};
use crate::taints::Toleration;
use crate::volumes::MigratedDisk;

/// What the pods of one template have in common; shared between them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodSpec {
    /// `priority`.
    pub priority: Option<i32>,
    /// `priorityClassName`, [`Sym::EMPTY`] when there is none.
    pub priority_class: Sym,
    /// `nodeSelector`, sorted by key; empty when absent.
    pub node_selector: Box<[(Sym, Sym)]>,
    /// Required node affinity, when the stanza is there.
    pub required_nodes: Option<NodeSelector>,
    /// Preferred node affinity, in the order written.
    pub preferred_nodes: Box<[PreferredTerm]>,
    /// Required pod affinity, in the order written.
    pub affinity: Box<[PodAffinityTerm]>,
    /// Required pod anti-affinity, in the order written.
    pub anti_affinity: Box<[PodAffinityTerm]>,
    /// Preferred pod affinity, then preferred pod anti-affinity with its weights negated, each in
    /// the order written.
    pub preferred_pods: Box<[PreferredPodTerm]>,
    /// `topologySpreadConstraints`, in the order written.
    pub spread: Box<[SpreadConstraint]>,
    /// `tolerations`, in the order written.
    pub tolerations: Box<[Toleration]>,
    /// Images of the regular containers, in the order written.
    pub images: Box<[Sym]>,
    /// Images of all init and regular containers, one for each container, as ImageLocality spells
    /// them (docs/spec/scheduler.md section 7.4).
    pub locality_images: Box<[Sym]>,
    /// Images that are volumes, spelled likewise.
    pub image_volumes: Box<[Sym]>,
    /// Ports of the node that regular containers take, then those of sidecars (section 3.5).
    pub host_ports: Box<[HostPort]>,
    /// Volumes of the kinds that two pods of a node may not share (section 8).
    pub inline_volumes: Box<[InlineVolume]>,
    /// Volumes that the pod names itself, by drivers that were part of Kubernetes once: they count
    /// against the limits of a node (section 8).
    pub migrated_disks: Box<[MigratedDisk]>,
    /// `schedulerName`, `default-scheduler` when absent.
    pub scheduler_name: Sym,
    /// Features that the node has to declare.
    pub features: Features,
    /// `schedulingGates` is not empty.
    pub gated: bool,
    /// `preemptionPolicy` is `Never`.
    pub never_preempts: bool,
    /// Some volume is an `emptyDir` or a `hostPath`.
    pub local_storage: bool,
    /// `resourceClaims`: the claim that each names, or `None` for one that is made for the pod.
    pub resource_claims: Box<[Option<Sym>]>,
}

/// One of `topologySpreadConstraints` (docs/spec/scheduler.md section 5).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpreadConstraint {
    /// `topologyKey`.
    pub topology_key: Sym,
    /// `maxSkew`.
    pub max_skew: i32,
    /// `whenUnsatisfiable` is not `ScheduleAnyway`.
    pub hard: bool,
    /// `minDomains`.
    pub min_domains: Option<i32>,
    /// `labelSelector`; absent matches no pod.
    pub selector: Option<Selector>,
    /// `matchLabelKeys`, in the order written.
    pub match_label_keys: Box<[Sym]>,
    /// `nodeAffinityPolicy`: nodes that the pod does not select are left out (the default).
    pub honor_affinity: bool,
    /// `nodeTaintsPolicy`: nodes with taints that the pod does not tolerate are left out.
    pub honor_taints: bool,
}

impl SpreadConstraint {
    /// Which pods are counted for a pod with these labels, `matchLabelKeys` included; `None` where
    /// none are.
    pub fn selector_of(&self, labels: &Labels) -> Option<Selector> {
        let pairs =
            self.match_label_keys.iter().filter_map(|&key| Some((key, value_of(labels, key)?)));
        let selector = self.selector.clone()?;
        Some(pairs.fold(selector, |all, (key, value)| all.and_value(key, value, true)))
    }
}

/// A port of the node that a container takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// `hostIP`, `0.0.0.0` when empty.
    pub ip: Sym,
    /// `protocol`, `TCP` when empty.
    pub protocol: Sym,
    /// `hostPort`.
    pub port: i32,
}

/// Features that a node has to declare (docs/spec/scheduler.md sections 3.6 and 14.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features {
    /// A container may have all others restarted: `RestartAllContainersOnContainerExits`.
    pub restart_all_containers: bool,
    /// The network of the node, but users of its own: `UserNamespacesHostNetworkSupport`.
    pub user_namespaces_host_network: bool,
    /// A mount with `bindMountOptions`: `VolumeBindMountOptions`.
    pub bind_mount_options: bool,
}

/// A volume named in the pod itself that the pods of a node may not share, or only to read
/// (docs/spec/scheduler.md section 8).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InlineVolume {
    /// `gcePersistentDisk`.
    GcePersistentDisk {
        /// `pdName`.
        name: Sym,
        /// `readOnly`.
        read_only: bool,
    },
    /// `awsElasticBlockStore`.
    AwsElasticBlockStore {
        /// `volumeID`.
        volume: Sym,
    },
    /// `iscsi`.
    Iscsi {
        /// `iqn`.
        iqn: Sym,
        /// `readOnly`.
        read_only: bool,
    },
    /// `rbd`.
    Rbd {
        /// `monitors`.
        monitors: Box<[Sym]>,
        /// `pool`, `rbd` when empty.
        pool: Sym,
        /// `image`.
        image: Sym,
        /// `readOnly`.
        read_only: bool,
    },
}
