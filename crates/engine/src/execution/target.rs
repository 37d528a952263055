//! What is to be evicted, in words that outlive the snapshot; and the plans that may be executed.

use std::sync::Arc;

use descheduler_cluster::{PodId, Snapshot};

use crate::audit::{Violation, audit};
use crate::decision::{Eviction, Reason};
use crate::gate::needed;
use crate::plan::Plan;
use crate::policy::Policy;

/// A plan that has passed [`audit`]: nothing else is ever executed.
#[derive(Clone, Copy)]
pub struct Audited<'a> {
    pub(super) plan: &'a Plan,
    pub(super) snapshot: &'a Snapshot,
    pub(super) policy: &'a Policy,
}

impl<'a> Audited<'a> {
    /// Audits a plan against what it was made from.
    pub fn check(
        plan: &'a Plan,
        snapshot: &'a Snapshot,
        policy: &'a Policy,
    ) -> Result<Self, Vec<Violation>> {
        let violations = audit(plan, snapshot, policy);
        if violations.is_empty() { Ok(Self { plan, snapshot, policy }) } else { Err(violations) }
    }
}

/// One pod and no other: a successor of the same name has another UID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodKey {
    /// `metadata.namespace`.
    pub namespace: Arc<str>,
    /// `metadata.name`.
    pub name: Arc<str>,
    /// `metadata.uid`, sent as the precondition of every eviction.
    pub uid: Arc<str>,
}

impl PodKey {
    /// The key of a pod of a snapshot.
    pub fn of(snapshot: &Snapshot, pod: PodId) -> Self {
        let pod = snapshot.pod(pod);
        Self {
            namespace: snapshot.text(pod.namespace).into(),
            name: (&*pod.name).into(),
            uid: (&*pod.uid).into(),
        }
    }
}

/// A planned eviction with all that its request needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The pod.
    pub pod: PodKey,
    /// The node it leaves.
    pub node: Arc<str>,
    /// The profile, as an index into the policy.
    pub profile: usize,
    /// The strategy that proposed it.
    pub strategy: &'static str,
    /// Why.
    pub reason: Reason,
    /// `gracePeriodSeconds` of the request; `None` leaves it to the pod.
    pub grace_period_seconds: Option<i64>,
    /// The disruption budget, in the pod's namespace, that it takes a disruption from.
    pub budget: Option<Arc<str>>,
    /// Moves with the same number make sense only together.
    pub set: Option<usize>,
    /// The nodes that its replacement may land on.
    pub destinations: Vec<Arc<str>>,
}

impl Target {
    /// The target of a planned eviction, and how many disruptions its budget allowed.
    pub(super) fn of(audited: Audited<'_>, eviction: &Eviction) -> (Self, i64) {
        let Audited { snapshot, policy, plan: _ } = audited;
        let Eviction { pod, node, profile, strategy, reason, destinations, set } = eviction;
        let name = |node| Arc::from(&*snapshot.node(node).name);
        // The audit has refused budgets that cannot be spent from.
        let budget = needed(snapshot, *pod).ok().flatten();
        let target = Self {
            pod: PodKey::of(snapshot, *pod),
            node: name(*node),
            profile: *profile,
            strategy,
            reason: reason.clone(),
            grace_period_seconds: policy.grace_period_seconds,
            budget: budget.map(|(id, _)| (&*snapshot.budget(id).name).into()),
            set: *set,
            destinations: destinations.iter().map(|&node| name(node)).collect(),
        };
        (target, budget.map_or(0, |(_, disruptions)| disruptions))
    }
}
