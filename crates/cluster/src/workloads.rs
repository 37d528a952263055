//! What makes pods, and what finds them: workloads, their templates, services.

use std::sync::Arc;

use crate::intern::Sym;
use crate::labels::{Labels, Selector};
use crate::pod::{Owner, Scored};
use crate::resources::Resources;
use crate::spec::PodSpec;

/// The kinds of [`Workload`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkloadKind {
    /// `apps/v1 ReplicaSet`.
    #[default]
    ReplicaSet,
    /// `v1 ReplicationController`.
    ReplicationController,
    /// `apps/v1 StatefulSet`.
    StatefulSet,
    /// `apps/v1 Deployment`.
    Deployment,
    /// `batch/v1 Job`.
    Job,
    /// `apps/v1 DaemonSet`.
    DaemonSet,
}

impl WorkloadKind {
    /// As the API spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReplicaSet => "ReplicaSet",
            Self::ReplicationController => "ReplicationController",
            Self::StatefulSet => "StatefulSet",
            Self::Deployment => "Deployment",
            Self::Job => "Job",
            Self::DaemonSet => "DaemonSet",
        }
    }
}

/// Something that makes pods, or that makes what makes them.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its kind.
    pub kind: WorkloadKind,
    /// `metadata.namespace`.
    pub namespace: Sym,
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.uid`, as in [`Owner::uid`].
    pub uid: Sym,
    /// Its own controller.
    pub owner: Option<Owner>,
    /// `spec.replicas`, 1 when absent; `None` for kinds without it.
    pub replicas: Option<i64>,
    /// `metadata.deletionTimestamp` is there.
    pub deleting: bool,
    /// `spec.paused` of a Deployment.
    pub paused: bool,
    /// `spec.selector`.
    pub selector: Option<Selector>,
    /// `spec.template`; `None` when it is missing or could not be read. A ReplicaSet or
    /// ReplicationController that asks for no pods has none either: a Deployment leaves many.
    pub template: Option<Template>,
    /// Annotation `deployment.kubernetes.io/revision`, [`Sym::EMPTY`] when there is none.
    pub revision: Sym,
    /// What only some kinds have.
    pub details: WorkloadDetails,
}

/// What only workloads of one kind have.
#[derive(Clone, Debug)]
pub enum WorkloadDetails {
    /// Nothing.
    None,
    /// A StatefulSet.
    StatefulSet(StatefulSet),
    /// A Job.
    Job(Job),
}

/// What only StatefulSets have.
#[derive(Clone, Debug)]
pub struct StatefulSet {
    /// `spec.ordinals.start`, 0 when absent.
    pub start: i64,
    /// `spec.updateStrategy.type` is `OnDelete`.
    pub on_delete: bool,
    /// `spec.updateStrategy.rollingUpdate.partition`.
    pub partition: Option<i64>,
    /// `status.currentRevision`, [`Sym::EMPTY`] when there is none.
    pub current_revision: Sym,
    /// `status.updateRevision`, [`Sym::EMPTY`] when there is none.
    pub update_revision: Sym,
    /// Names in `spec.volumeClaimTemplates`, in the order written. The claims of a pod are called
    /// `<name>-<pod>`, and a volume of the same name in the template gives way.
    pub claim_templates: Box<[Sym]>,
}

/// What only Jobs have.
#[derive(Clone, Debug)]
pub struct Job {
    /// `spec.completions`.
    pub completions: Option<i64>,
    /// `spec.parallelism`, 1 when absent.
    pub parallelism: i64,
    /// `status.succeeded`.
    pub succeeded: i64,
    /// `spec.suspend`.
    pub suspend: bool,
    /// `spec.podReplacementPolicy` is `Failed`.
    pub pod_replacement_failed: bool,
    /// `spec.podFailurePolicy` is there.
    pub pod_failure_policy: bool,
    /// Condition `Complete` or `SuccessCriteriaMet` is `True`.
    pub complete: bool,
    /// Condition `Failed` or `FailureTarget` is `True`.
    pub failed: bool,
}

/// The pod that a workload would make, as admission would let it in
/// (docs/spec/scheduler.md section 11.2). Left to whoever makes the pod: `matchLabelKeys`, claims of
/// a StatefulSet, LimitRanges and RuntimeClasses.
#[derive(Clone, Debug)]
pub struct Template {
    /// `spec`.
    pub spec: Arc<PodSpec>,
    /// `metadata.labels`.
    pub labels: Box<Labels>,
    /// What the pod would ask for.
    pub requests: Arc<Resources>,
    /// What the scorer of resources would count for it.
    pub scored: Scored,
    /// The volumes that use claims by their names, as (volume, claim).
    pub claims: Box<[(Sym, Sym)]>,
    /// Names of the ephemeral volumes; their claims are called `<pod>-<volume>`.
    pub ephemeral_volumes: Box<[Sym]>,
}

/// A ControllerRevision: an earlier or later state of a StatefulSet.
#[derive(Clone, Debug)]
pub struct Revision {
    /// `metadata.namespace`.
    pub namespace: Sym,
    /// `metadata.name`.
    pub name: Box<str>,
    /// The uid of its controller.
    pub owner: Sym,
    /// `revision`.
    pub number: i64,
    /// The template in `data`, where the owner is a StatefulSet.
    pub template: Option<Template>,
}

/// A Service, as far as it finds pods.
#[derive(Clone, Debug)]
pub struct Service {
    /// `metadata.namespace`.
    pub namespace: Sym,
    /// `metadata.name`.
    pub name: Box<str>,
    /// `spec.selector`; absent finds none.
    pub selector: Option<Box<Labels>>,
}
