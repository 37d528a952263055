//! Devices that drivers hand out, as far as nodes and extended resources are concerned
//! (docs/spec/scheduler.md sections 4.2 and 8).

use crate::affinity::NodeSelector;
use crate::intern::Sym;

/// What a class of devices is called as an extended resource, besides its own name.
pub const CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

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
