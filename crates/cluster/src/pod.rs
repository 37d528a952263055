//! Pods: what each has of its own ([`Pod`]) and what those of one template share ([`PodSpec`]).

use std::sync::Arc;

use jiff::Timestamp;

use crate::affinity::{NodeSelector, PodAffinityTerm, PreferredTerm};
use crate::intern::Sym;
use crate::resources::Resources;
use crate::snapshot::{GroupId, NodeId};
use crate::taints::Toleration;

/// One pod.
#[derive(Clone, Debug)]
pub struct Pod {
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.namespace`.
    pub namespace: Sym,
    /// `metadata.uid`; empty only in a pod that is `flawed`.
    pub uid: Box<str>,
    /// The pods of the same namespace with the same labels.
    pub group: GroupId,
    /// `metadata.ownerReferences`, in the order written.
    pub owners: Arc<[Owner]>,
    /// The node it is bound to, when that node is in the snapshot.
    pub node: Option<NodeId>,
    /// `spec.nodeName`, known or not.
    pub node_name: Option<Sym>,
    /// What it shares with the pods of its template.
    pub spec: Arc<PodSpec>,
    /// Names of the PersistentVolumeClaims that its volumes use, in the order written.
    pub claims: Box<[Box<str>]>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// `status.startTime`.
    pub started: Option<Timestamp>,
    /// `metadata.deletionTimestamp` is there.
    pub terminating: bool,
    /// `status.phase`.
    pub phase: Phase,
    /// `status.reason`, [`Sym::EMPTY`] when there is none.
    pub reason: Sym,
    /// `status.qosClass`, or what docs/spec/strategies.md section 3.9 derives.
    pub qos: QosClass,
    /// `status.conditions`.
    pub conditions: Box<[Condition]>,
    /// The containers' current states, in the order of the status.
    pub containers: Box<[Container]>,
    /// What it asks of a node, as the scheduler counts an incoming pod
    /// (docs/spec/scheduler.md section 4.1).
    pub requests: Arc<Resources>,
    /// What it holds on its node while a resize in place is under way; `None` when that is
    /// `requests`.
    pub held: Option<Box<Resources>>,
    /// Annotation `descheduler.alpha.kubernetes.io/evict`: `false` for the value `false`, `true`
    /// for any other.
    pub evict: Option<bool>,
    /// Annotation `descheduler.alpha.kubernetes.io/prefer-no-eviction`, with any value.
    pub prefer_no_eviction: bool,
    /// Annotation `kubernetes.io/config.mirror`, with any value.
    pub mirror: bool,
    /// Annotation `kubernetes.io/config.source` with a value other than `api`.
    pub static_pod: bool,
    /// Part of the object could not be read: the pod is kept.
    pub flawed: bool,
}

impl Pod {
    /// Whether it still runs or will run: neither Succeeded nor Failed.
    pub fn is_active(&self) -> bool {
        !matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }

    /// Whether its condition `Ready` is `True`.
    pub fn is_ready(&self) -> bool {
        self.conditions.iter().any(|condition| condition.ready)
    }

    /// What it takes of its node.
    pub fn usage(&self) -> &Resources {
        self.held.as_deref().unwrap_or(&self.requests)
    }
}

/// An owner reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// `kind`.
    pub kind: Sym,
    /// `name`.
    pub name: Sym,
    /// `uid`.
    pub uid: Sym,
    /// `controller: true`.
    pub controller: bool,
}

/// `status.phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Accepted, not all containers started yet.
    Pending,
    /// Bound, containers started.
    Running,
    /// Ended well; holds no place.
    Succeeded,
    /// Ended badly; holds no place.
    Failed,
    /// The node no longer answers, or the phase is missing.
    Unknown,
}

impl Phase {
    /// As the API spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Unknown => "Unknown",
        }
    }
}

/// Quality of service, least protected first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QosClass {
    /// No requests and no limits.
    BestEffort,
    /// Some.
    Burstable,
    /// Requests equal limits throughout.
    Guaranteed,
}

/// One entry of `status.conditions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// `type`.
    pub kind: Sym,
    /// `status`.
    pub status: Sym,
    /// `reason`, [`Sym::EMPTY`] when there is none.
    pub reason: Sym,
    /// `lastTransitionTime`.
    pub changed: Option<Timestamp>,
    /// It is the condition `Ready` with status `True`.
    pub ready: bool,
}

/// Which list of containers one stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerKind {
    /// `containers`.
    Regular,
    /// `initContainers`.
    Init,
    /// `ephemeralContainers`.
    Ephemeral,
}

/// The state of one container, from the pod's status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Which list it stands in.
    pub kind: ContainerKind,
    /// `restartCount`.
    pub restarts: i32,
    /// `state`; `lastState` is never asked for.
    pub state: ContainerState,
}

/// `state` of a container status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContainerState {
    /// Running, or nothing is said.
    Running,
    /// Waiting, with its reason.
    Waiting(Sym),
    /// Ended.
    Terminated {
        /// Its reason, [`Sym::EMPTY`] when there is none.
        reason: Sym,
        /// `exitCode`.
        exit_code: i32,
    },
}

/// What the pods of one template have in common; shared between them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodSpec {
    /// `priority`.
    pub priority: Option<i32>,
    /// `nodeSelector`, sorted by key; empty when absent.
    pub node_selector: Box<[(Sym, Sym)]>,
    /// Required node affinity, when the stanza is there.
    pub required_nodes: Option<NodeSelector>,
    /// Preferred node affinity, in the order written.
    pub preferred_nodes: Box<[PreferredTerm]>,
    /// Required pod anti-affinity, in the order written.
    pub anti_affinity: Box<[PodAffinityTerm]>,
    /// `tolerations`, in the order written.
    pub tolerations: Box<[Toleration]>,
    /// Images of the regular containers, in the order written.
    pub images: Box<[Sym]>,
    /// Some volume is an `emptyDir` or a `hostPath`.
    pub local_storage: bool,
    /// `resourceClaims` is not empty.
    pub resource_claims: bool,
}
