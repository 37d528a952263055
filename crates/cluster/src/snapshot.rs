//! The cluster at one moment: sorted, dated, never changed.
//!
//! Ids are slots and stay with their object for as long as it lives; the order in which things
//! are looked at is kept beside them. So a later snapshot can be made from this one by filling
//! and freeing slots and mending the order, without touching what did not change. Iterate with
//! [`Snapshot::nodes`] and [`Snapshot::pods`], never over the range of ids.

use hashbrown::HashMap;
use jiff::Timestamp;

use crate::affinity::NodeMatch;
use crate::disruption::Budget;
use crate::intern::{Interner, Sym};
use crate::labels::{LabelSelector, Labels, Selector};
use crate::node::Node;
use crate::pod::Pod;
use crate::resources::ResourceId;
use crate::spec::PodSpec;

pub(crate) mod groups;
pub(crate) mod objects;
pub(crate) mod tables;

use groups::GroupIndex;
use objects::{Devices, Makers, Storage, Usage};

/// A node of one snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

/// A pod of one snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodId(pub(crate) u32);

/// A disruption budget of one snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BudgetId(pub(crate) u32);

/// A group of pods of one snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub(crate) u32);

macro_rules! index {
    ($($id:ident),*) => {$(
        impl $id {
            /// The slot, for tables beside the snapshot.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            pub(crate) fn from_index(index: usize) -> Self {
                // A snapshot holds far fewer than four thousand million objects of a kind; one
                // that did would run out of memory long before this cast could wrap.
                Self(index as u32)
            }
        }
    )*};
}
index!(NodeId, PodId, BudgetId, GroupId);

/// The pods of one namespace that carry the same labels. Who matches a selector is decided once
/// for each group.
#[derive(Clone, Debug)]
pub struct Group {
    /// Their namespace.
    pub namespace: Sym,
    /// Their labels.
    pub labels: Box<Labels>,
    /// They, in order.
    pub pods: Vec<PodId>,
    /// The budgets of the namespace that cover them, by name.
    pub budgets: Vec<BudgetId>,
}

/// Kinds of objects that a snapshot is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `v1 Node`.
    Node,
    /// `v1 Pod`.
    Pod,
    /// `v1 Namespace`.
    Namespace,
    /// `scheduling.k8s.io/v1 PriorityClass`.
    PriorityClass,
    /// `policy/v1 PodDisruptionBudget`.
    PodDisruptionBudget,
    /// `v1 PersistentVolumeClaim`.
    PersistentVolumeClaim,
    /// `v1 PersistentVolume`.
    PersistentVolume,
    /// `storage.k8s.io/v1 StorageClass`.
    StorageClass,
    /// `storage.k8s.io/v1 CSINode`.
    CsiNode,
    /// `storage.k8s.io/v1 CSIDriver`.
    CsiDriver,
    /// `storage.k8s.io/v1 CSIStorageCapacity`.
    CsiStorageCapacity,
    /// `storage.k8s.io/v1 VolumeAttachment`.
    VolumeAttachment,
    /// `resource.k8s.io/v1 ResourceClaim`.
    ResourceClaim,
    /// `resource.k8s.io/v1 DeviceClass`.
    DeviceClass,
    /// `resource.k8s.io/v1 ResourceSlice`.
    ResourceSlice,
    /// `v1 Service`.
    Service,
    /// `apps/v1 ReplicaSet`.
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
    /// `apps/v1 ControllerRevision`.
    ControllerRevision,
    /// `metrics.k8s.io NodeMetrics`.
    NodeMetrics,
    /// `metrics.k8s.io PodMetrics`.
    PodMetrics,
}

impl Kind {
    /// Every kind that is read, as the API spells it.
    pub(crate) const ALL: [(&str, Kind); 25] = [
        ("Node", Self::Node),
        ("Pod", Self::Pod),
        ("Namespace", Self::Namespace),
        ("PriorityClass", Self::PriorityClass),
        ("PodDisruptionBudget", Self::PodDisruptionBudget),
        ("PersistentVolumeClaim", Self::PersistentVolumeClaim),
        ("PersistentVolume", Self::PersistentVolume),
        ("StorageClass", Self::StorageClass),
        ("CSINode", Self::CsiNode),
        ("CSIDriver", Self::CsiDriver),
        ("CSIStorageCapacity", Self::CsiStorageCapacity),
        ("VolumeAttachment", Self::VolumeAttachment),
        ("ResourceClaim", Self::ResourceClaim),
        ("DeviceClass", Self::DeviceClass),
        ("ResourceSlice", Self::ResourceSlice),
        ("Service", Self::Service),
        ("ReplicaSet", Self::ReplicaSet),
        ("ReplicationController", Self::ReplicationController),
        ("StatefulSet", Self::StatefulSet),
        ("Deployment", Self::Deployment),
        ("Job", Self::Job),
        ("DaemonSet", Self::DaemonSet),
        ("ControllerRevision", Self::ControllerRevision),
        ("NodeMetrics", Self::NodeMetrics),
        ("PodMetrics", Self::PodMetrics),
    ];

    /// As the API spells it.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// The kind that the API spells so, if it is one of these.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, kind)| kind)
    }
}

/// Everything known, with the indexes that questions are answered from.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) taken_at: Timestamp,
    pub(crate) strings: Interner,
    pub(crate) resources: Vec<Box<str>>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) node_order: Vec<NodeId>,
    pub(crate) pods: Vec<Pod>,
    pub(crate) pod_order: Vec<PodId>,
    /// For each node slot its pods, in pod order.
    pub(crate) on_node: Vec<Vec<PodId>>,
    pub(crate) groups: Vec<Group>,
    pub(crate) group_index: GroupIndex,
    /// How many pods refer to an owner, by its uid.
    pub(crate) owned: HashMap<Sym, u32>,
    pub(crate) budgets: Vec<Budget>,
    pub(crate) namespaces: HashMap<Sym, Box<Labels>>,
    /// Pods that wait for a node, in order.
    pub(crate) pending: Vec<PodId>,
    pub(crate) storage: Storage,
    pub(crate) devices: Devices,
    pub(crate) usage: Usage,
    pub(crate) makers: Makers,
    pub(crate) priority_classes: HashMap<Box<str>, i32>,
    pub(crate) kinds: Vec<Kind>,
}

impl Snapshot {
    /// The moment that ages are counted from.
    pub fn taken_at(&self) -> Timestamp {
        self.taken_at
    }

    /// All nodes, by name.
    pub fn nodes(&self) -> &[NodeId] {
        &self.node_order
    }

    /// All pods, by namespace, name and uid.
    pub fn pods(&self) -> &[PodId] {
        &self.pod_order
    }

    /// The pods that wait for a node, in order: those that the scheduler has in its queue
    /// (docs/spec/scheduler.md section 1). Not those with gates, nor those that are ending.
    pub fn pending(&self) -> &[PodId] {
        &self.pending
    }

    /// How many slots node ids index into: the length of a table beside the snapshot.
    pub fn node_slots(&self) -> usize {
        self.nodes.len()
    }

    /// How many slots pod ids index into.
    pub fn pod_slots(&self) -> usize {
        self.pods.len()
    }

    /// How many slots budget ids index into.
    pub fn budget_slots(&self) -> usize {
        self.budgets.len()
    }

    /// How many slots group ids index into.
    pub fn group_slots(&self) -> usize {
        self.groups.len()
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// A pod.
    pub fn pod(&self, id: PodId) -> &Pod {
        &self.pods[id.index()]
    }

    /// A budget.
    pub fn budget(&self, id: BudgetId) -> &Budget {
        &self.budgets[id.index()]
    }

    /// A group of pods.
    pub fn group(&self, id: GroupId) -> &Group {
        &self.groups[id.index()]
    }

    /// The labels of a pod.
    pub fn labels(&self, pod: PodId) -> &Labels {
        &self.group(self.pod(pod).group).labels
    }

    /// The pods bound to a node, whatever their phase, in order.
    pub fn pods_on(&self, node: NodeId) -> &[PodId] {
        &self.on_node[node.index()]
    }

    /// The groups of pods in a namespace, by their first pod.
    pub fn groups_in(&self, namespace: Sym) -> &[GroupId] {
        self.group_index.of(namespace)
    }

    /// The budgets that cover a pod, by name.
    pub fn budgets_of(&self, pod: PodId) -> &[BudgetId] {
        &self.group(self.pod(pod).group).budgets
    }

    /// How many pods of any phase, on any node or none, have an owner reference with this uid.
    pub fn pods_owned_by(&self, owner: Sym) -> u32 {
        self.owned.get(&owner).copied().unwrap_or(0)
    }

    /// The labels of a namespace, if the object is known.
    pub fn namespace_labels(&self, namespace: Sym) -> Option<&Labels> {
        self.namespaces.get(&namespace).map(AsRef::as_ref)
    }

    /// The namespaces that `selector` matches, sorted by name. An empty selector matches those too
    /// whose object is not known but that hold pods.
    pub fn namespaces_matching(&self, selector: &Selector) -> Vec<Sym> {
        let known = self.namespaces.iter();
        let mut found: Vec<Sym> = known
            .filter(|(_, labels)| selector.matches(labels, &self.strings))
            .map(|(&namespace, _)| namespace)
            .collect();
        if selector.is_empty() {
            found.extend(self.group_index.namespaces());
        }
        found.sort_unstable_by_key(|&namespace| self.text(namespace));
        found.dedup();
        found
    }

    /// The groups of pods in a namespace that `selector` matches, by their first pod.
    pub fn groups_matching(&self, namespace: Sym, selector: &Selector) -> Vec<GroupId> {
        self.group_index.matching(&self.groups, namespace, selector, &self.strings)
    }

    /// The value of a PriorityClass.
    pub fn priority_class(&self, name: &str) -> Option<i32> {
        self.priority_classes.get(name).copied()
    }

    /// Whether at least one object of the kind was read.
    pub fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// The string behind a symbol.
    pub fn text(&self, sym: Sym) -> &str {
        self.strings.text(sym)
    }

    /// All strings.
    pub fn strings(&self) -> &Interner {
        &self.strings
    }

    /// The symbol of a string, [`Sym::UNKNOWN`] when no object holds it.
    pub fn sym(&self, text: &str) -> Sym {
        self.strings.get(text)
    }

    /// The id of a resource name, [`ResourceId::UNKNOWN`] when no object names it.
    pub fn resource(&self, name: &str) -> ResourceId {
        self.resources
            .iter()
            .position(|known| **known == *name)
            .map_or(ResourceId::UNKNOWN, |at| ResourceId(at as u16))
    }

    /// The name of a resource.
    pub fn resource_name(&self, resource: ResourceId) -> &str {
        self.resources.get(usize::from(resource.0)).map_or("", AsRef::as_ref)
    }

    /// A selector compiled for this snapshot.
    pub fn compile(&self, selector: &LabelSelector) -> Selector {
        Selector::compile(selector, &self.strings)
    }

    /// A pod as `namespace/name`.
    pub fn pod_name(&self, pod: PodId) -> String {
        let pod = self.pod(pod);
        format!("{}/{}", self.text(pod.namespace), pod.name)
    }

    /// Whether `nodeSelector` and required node affinity of `spec` select `node`
    /// (docs/spec/strategies.md section 3.6).
    pub fn node_matches(&self, spec: &PodSpec, node: NodeId) -> NodeMatch {
        let node = self.node(node);
        let pairs = spec
            .node_selector
            .iter()
            .all(|&(key, value)| crate::labels::value_of(&node.labels, key) == Some(value));
        if !pairs {
            return NodeMatch::No;
        }
        match &spec.required_nodes {
            None => NodeMatch::Yes,
            Some(required) => required.matches(node, &node.labels, &self.strings),
        }
    }

    /// The sum of the weights of the preferred terms that select `node`
    /// (docs/spec/strategies.md section 3.6).
    pub fn node_preference(&self, spec: &PodSpec, node: NodeId) -> i32 {
        let node = self.node(node);
        spec.preferred_nodes
            .iter()
            .filter(|preferred| {
                preferred.term.as_ref().is_some_and(|term| {
                    term.matches(node, &node.labels, &self.strings) == NodeMatch::Yes
                })
            })
            .fold(0, |sum, preferred| i32::wrapping_add(sum, preferred.weight))
    }
}
