//! The world as values: what a descheduler can know about a cluster at one moment.
//!
//! ```text
//!  objects, any order --> Ingest --> Snapshot { nodes, pods, budgets, claims, workloads, .. }
//!                           |            |
//!                           +-> Anomaly  +-- Node  <-- NodeId    name, labels, taints, allocatable
//!                                        +-- Pod   <-- PodId     who, where, state
//!                                        |    +-- PodSpec        what pods of one template share
//!                                        |    +-- Group          pods of one namespace and label set
//!                                        +-- Budget <-- BudgetId what disruptions are left
//!                                        +-- Claim, PersistentVolume, StorageClass, ..
//!                                        +-- Workload, Service   what makes and what finds pods
//! ```
//!
//! Strings that repeat are interned ([`Sym`]); ids are indexes into one snapshot. Nothing here
//! does I/O, reads a clock or draws a random number, and a snapshot never changes once made.

pub mod affinity;
pub mod capture;
pub mod devices;
pub mod disruption;
pub mod duration;
pub mod ingest;
pub mod intern;
pub mod labels;
pub mod node;
pub mod pod;
pub mod quantity;
mod redact;
mod requests;
pub mod resources;
pub mod snapshot;
pub mod spec;
pub mod taints;
pub mod usage;
pub mod volumes;
mod wire;
pub mod workloads;

pub use affinity::{
    NodeMatch, NodeSelector, NodeSelectorTerm, PodAffinityTerm, PreferredPodTerm, PreferredTerm,
};
pub use capture::Capture;
pub use disruption::{Allowance, Budget, UnhealthyPolicy};
pub use duration::GoDuration;
pub use ingest::{Anomaly, Arrival, Changes, Ingest, Store};
pub use intern::{Interner, Sym};
pub use labels::{LabelOperator, LabelRequirement, LabelSelector, Labels, Selector};
pub use node::Node;
pub use pod::{
    Condition, Container, ContainerKind, ContainerState, Held, Owner, Phase, Pod, QosClass,
    ResizeRules, Scored,
};
pub use quantity::Quantity;
pub use redact::{Redaction, Redactor};
pub use resources::{ResourceId, Resources};
pub use snapshot::{BudgetId, Group, GroupId, Kind, NodeId, PodId, Snapshot};
pub use spec::{Features, HostPort, InlineVolume, PodSpec, SpreadConstraint};
pub use taints::{Effect, Taint, Toleration, TolerationOperator};
pub use usage::{NodeUsage, PodUsage};
pub use volumes::{
    AccessModes, Claim, ClaimRef, CsiDriver, CsiNode, CsiStorageCapacity, LegacyVolume,
    MigratedDisk, PersistentVolume, StorageClass, TopologyTerm, VolumeAttachment,
};
pub use workloads::{
    Job, Revision, Service, StatefulSet, Template, Workload, WorkloadDetails, WorkloadKind,
};
