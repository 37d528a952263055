//! What limits and budgets leave, with everything counted that may be an eviction.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::limits::{LimitKind, Limits};

use super::receipt::Untried;
use super::target::{PodKey, Target};

/// What an eviction takes room from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) node: Arc<str>,
    pub(super) namespace: Arc<str>,
    pub(super) budget: Option<Arc<str>>,
}

impl Slot {
    pub(super) fn of(target: &Target) -> Self {
        let Target { pod: PodKey { namespace, .. }, node, budget, .. } = target;
        Self { node: node.clone(), namespace: namespace.clone(), budget: budget.clone() }
    }
}

/// Evictions counted as limits and budgets count them.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    limits: Limits,
    total: u64,
    by_node: BTreeMap<Arc<str>, u64>,
    by_namespace: BTreeMap<Arc<str>, u64>,
    budgets: BTreeMap<(Arc<str>, Arc<str>), Budget>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Budget {
    allowed: i64,
    taken: i64,
}

impl Room {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Says how many disruptions a slot's budget allows.
    pub(super) fn allow(&mut self, slot: &Slot, disruptions: i64) {
        if let Some(budget) = self.budget(slot) {
            budget.allowed = disruptions;
        }
    }

    /// Lets nothing more go from a slot's budget: the API server has said that it is spent.
    pub(super) fn close(&mut self, slot: &Slot) {
        if let Some(budget) = self.budget(slot) {
            budget.allowed = budget.allowed.min(budget.taken);
        }
    }

    pub(super) fn take(&mut self, slot: &Slot) {
        self.total += 1;
        *self.by_node.entry(slot.node.clone()).or_default() += 1;
        *self.by_namespace.entry(slot.namespace.clone()).or_default() += 1;
        if let Some(budget) = self.budget(slot) {
            budget.taken += 1;
        }
    }

    /// Undoes [`Room::take`] for an eviction that is known not to have happened.
    pub(super) fn give_back(&mut self, slot: &Slot) {
        self.total -= 1;
        *self.by_node.entry(slot.node.clone()).or_default() -= 1;
        *self.by_namespace.entry(slot.namespace.clone()).or_default() -= 1;
        if let Some(budget) = self.budget(slot) {
            budget.taken -= 1;
        }
    }

    /// What one more eviction would break: limits in upstream's order (docs/spec/runtime.md
    /// section 7.2), then the budget.
    pub(super) fn lacks(&self, slot: &Slot) -> Option<Untried> {
        let Limits { total, per_node, per_namespace } = self.limits;
        let used = |map: &BTreeMap<Arc<str>, u64>, key| map.get(key).copied().unwrap_or(0);
        for (kind, limit, used) in [
            (LimitKind::Total, total, self.total),
            (LimitKind::Node, per_node, used(&self.by_node, &slot.node)),
            (LimitKind::Namespace, per_namespace, used(&self.by_namespace, &slot.namespace)),
        ] {
            if limit.is_some_and(|limit| used >= limit) {
                return Some(Untried::Limit(kind));
            }
        }
        let name = slot.budget.clone()?;
        let budget = self.budgets.get(&(slot.namespace.clone(), name.clone()));
        let spent = budget.is_none_or(|budget| budget.taken >= budget.allowed);
        spent.then_some(Untried::Budget(name))
    }

    fn budget(&mut self, slot: &Slot) -> Option<&mut Budget> {
        let key = (slot.namespace.clone(), slot.budget.clone()?);
        Some(self.budgets.entry(key).or_default())
    }
}
