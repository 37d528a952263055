//! Devices that drivers hand out, as far as nodes, claims and extended resources are concerned
//! (docs/spec/scheduler.md sections 4.2 and 8).

use crate::affinity::NodeSelector;
use crate::intern::Sym;

/// What a class of devices is called as an extended resource, besides its own name.
pub const CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// A ResourceClaim.
#[derive(Clone, Debug)]
pub struct ResourceClaim {
    /// `metadata.namespace`.
    pub namespace: Sym,
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.deletionTimestamp` is there.
    pub deleting: bool,
    /// `status.allocation`.
    pub allocation: Option<Allocation>,
    /// The uids in `status.reservedFor`: the pods that may use it.
    pub reserved_for: Box<[Sym]>,
}

impl ResourceClaim {
    /// So many pods may use one claim.
    pub const USERS_MAX: usize = 256;
}

/// What a claim was met with.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// `nodeSelector`: where the devices can be used; everywhere when absent.
    pub nodes: Option<NodeSelector>,
    /// Some device has `bindingConditions`: more has to happen before it can be used.
    pub conditional: bool,
}

/// A DeviceClass.
#[derive(Clone, Debug)]
pub struct DeviceClass {
    /// `metadata.name`.
    pub name: Sym,
    /// `spec.extendedResourceName`, [`Sym::EMPTY`] when there is none.
    pub resource: Sym,
}

/// A ResourceSlice: some devices of a driver.
#[derive(Clone, Debug)]
pub struct ResourceSlice {
    /// `metadata.name`.
    pub name: Sym,
    /// The nodes that can use them.
    pub reach: Reach,
}

/// The nodes that can use some devices.
#[derive(Clone, Debug)]
pub enum Reach {
    /// `nodeName`.
    Node(Sym),
    /// `nodeSelector`.
    Matching(NodeSelector),
    /// `allNodes`, or what each device says for itself, which is not read.
    Any,
}
