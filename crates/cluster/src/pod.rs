//! Pods: what each has of its own. What those of one template share is [`PodSpec`].

use std::sync::Arc;

use jiff::Timestamp;

use crate::intern::Sym;
use crate::resources::Resources;
use crate::snapshot::{GroupId, NodeId};
use crate::spec::PodSpec;

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
    /// `status.nominatedNodeName`, known or not: where the scheduler holds a place for it.
    pub nominated: Option<Sym>,
    /// Names of the PersistentVolumeClaims that its volumes use, in the order written.
    pub claims: Box<[Box<str>]>,
    /// Names of the claims that belong to its ephemeral volumes, in the order written.
    pub ephemeral_claims: Box<[Box<str>]>,
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
    /// What the scorer of resources counts for it while it is yet to be placed
    /// (docs/spec/scheduler.md section 4.3).
    pub scored: Scored,
    /// The same once it is on a node, when no resize in place is under way.
    pub scored_held: Scored,
    /// What it holds on its node while a resize in place is under way, by [`ResizeRules`]; `None`
    /// when that is `requests` and `scored_held` by all of them.
    pub resize: Option<Box<[Held; 3]>>,
    /// Annotation `descheduler.alpha.kubernetes.io/evict`: `false` for the value `false`, `true`
    /// for any other.
    pub evict: Option<bool>,
    /// Annotation `descheduler.alpha.kubernetes.io/prefer-no-eviction`, with any value.
    pub prefer_no_eviction: bool,
    /// Annotation `karpenter.sh/do-not-disrupt` with the value `true`.
    pub do_not_disrupt: bool,
    /// Annotation `cluster-autoscaler.kubernetes.io/safe-to-evict` with the value `false`.
    pub unsafe_to_evict: bool,
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

    /// What it takes of its node by the rules of one version, and what the scorer of resources
    /// counts for that.
    pub fn held(&self, rules: ResizeRules) -> (&Resources, Scored) {
        match &self.resize {
            None => (&self.requests, self.scored_held),
            Some(held) => {
                let Held { amounts, scored } = &held[rules as usize];
                (amounts, *scored)
            }
        }
    }
}

/// Processor time and memory as the scorer of resources counts them: a container that asks for
/// none is taken to ask for a little (docs/spec/scheduler.md section 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scored {
    /// In millicores.
    pub cpu: i64,
    /// In bytes.
    pub memory: i64,
}

/// How kube-scheduler counts a pod whose resources are being changed in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResizeRules {
    /// As 1.34 and 1.35 do: container by container (docs/spec/scheduler.md section 4.1).
    V1_34,
    /// As 1.36 does: the requests of the pod as a whole may change, too (section 4.1).
    V1_36,
    /// As 1.37 does: sums are compared, not containers (section 14.2).
    V1_37,
}

impl ResizeRules {
    /// All, in the order of their numbers.
    pub(crate) const ALL: [Self; 3] = [Self::V1_34, Self::V1_36, Self::V1_37];
}

/// What a pod in a resize holds by the rules of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// What it takes of the node.
    pub amounts: Resources,
    /// What the scorer counts for it.
    pub scored: Scored,
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
    /// Its `apiVersion` says that it is called like a kind of Kubernetes' own, but is none.
    pub foreign: bool,
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
