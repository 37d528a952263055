//! How much may go in one cycle (docs/spec/strategies.md section 1.4).

use std::collections::BTreeMap;

use descheduler_cluster::{NodeId, Sym};

/// The policy's limits; `None` is unlimited, 0 is nothing at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// `maxNoOfPodsToEvictTotal`.
    pub total: Option<u64>,
    /// `maxNoOfPodsToEvictPerNode`.
    pub per_node: Option<u64>,
    /// `maxNoOfPodsToEvictPerNamespace`.
    pub per_namespace: Option<u64>,
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// Over the whole cycle.
    Total,
    /// For the pod's node.
    Node,
    /// For the pod's namespace.
    Namespace,
}

impl LimitKind {
    /// The refusal's code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Total => "TotalLimit",
            Self::Node => "NodeLimit",
            Self::Namespace => "NamespaceLimit",
        }
    }

    /// The field of the policy that sets it.
    pub fn field(self) -> &'static str {
        match self {
            Self::Total => "maxNoOfPodsToEvictTotal",
            Self::Node => "maxNoOfPodsToEvictPerNode",
            Self::Namespace => "maxNoOfPodsToEvictPerNamespace",
        }
    }
}

/// What was planned so far, counted the way limits count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    total: u64,
    by_node: BTreeMap<NodeId, u64>,
    by_namespace: BTreeMap<Sym, u64>,
}

impl Tally {
    /// The first limit, in upstream's order, that one more eviction would break.
    pub(crate) fn exceeds(
        &self,
        limits: &Limits,
        node: NodeId,
        namespace: Sym,
    ) -> Option<(LimitKind, u64)> {
        let used = self.used(limits, node, namespace).into_iter();
        let mut reached = used.filter(|(_, limit, used)| limit.is_some_and(|limit| *used >= limit));
        reached.next().and_then(|(kind, limit, _)| Some((kind, limit?)))
    }

    /// Each limit in upstream's order, with what it is set to and what counts against it already.
    pub(crate) fn used(
        &self,
        limits: &Limits,
        node: NodeId,
        namespace: Sym,
    ) -> [(LimitKind, Option<u64>, u64); 3] {
        let Limits { total, per_node, per_namespace } = *limits;
        let on_node = self.by_node.get(&node).copied().unwrap_or(0);
        let in_namespace = self.by_namespace.get(&namespace).copied().unwrap_or(0);
        [
            (LimitKind::Total, total, self.total),
            (LimitKind::Node, per_node, on_node),
            (LimitKind::Namespace, per_namespace, in_namespace),
        ]
    }

    pub(crate) fn add(&mut self, node: NodeId, namespace: Sym) {
        self.total += 1;
        *self.by_node.entry(node).or_default() += 1;
        *self.by_namespace.entry(namespace).or_default() += 1;
    }

    /// Counts an eviction that may have happened; its node may be gone.
    pub(crate) fn add_open(&mut self, node: Option<NodeId>, namespace: Sym) {
        self.total += 1;
        if let Some(node) = node {
            *self.by_node.entry(node).or_default() += 1;
        }
        *self.by_namespace.entry(namespace).or_default() += 1;
    }

    pub(crate) fn take_back(&mut self, node: NodeId, namespace: Sym) {
        self.total -= 1;
        *self.by_node.entry(node).or_default() -= 1;
        *self.by_namespace.entry(namespace).or_default() -= 1;
    }
}
