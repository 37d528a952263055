//! `policy/v1 PodDisruptionBudget`, and the workloads whose replicas it counts with.

use super::anomaly::{Flaws, Origin};
use super::drafts::Draft;
use super::pools::namespace_of;
use super::selectors::label_selector;
use super::{Ingest, Object};
use crate::disruption::{Allowance, Budget, UnhealthyPolicy};
use crate::intern::{Interner, Sym};
use crate::labels::Selector;
use crate::pod::{Phase, Pod};
use crate::snapshot::objects::Makers;
use crate::wire::{self, IntOrPercent, text};
use crate::workloads::WorkloadKind;

/// A budget as read; what it allows is found when all pods are known.
#[derive(Clone, Debug)]
pub(super) struct BudgetDraft {
    selector: Option<Selector>,
    unhealthy: UnhealthyPolicy,
    allowance: Stated,
    /// Its namespace could not be read: it may be about any pod.
    pub(super) everywhere: bool,
}

/// What the object itself says about its allowance.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stated {
    /// It could not be read, so nothing is known, now or later.
    Unreadable,
    /// The status says so.
    Status {
        allowance: Allowance,
        /// `status.desiredHealthy`, if it is about the budget that holds now.
        desired: Option<i64>,
        /// What to go by once pods have come and gone.
        bound: Bound,
    },
    /// No status: to be computed from `spec`.
    ToCompute(Bound),
}

/// `spec.minAvailable` or `spec.maxUnavailable`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    Neither,
    MinAvailable(Share),
    MaxUnavailable(Share),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Share {
    Count(i64),
    Percent(i64),
}

pub(super) enum BudgetObject {}

impl Object for BudgetObject {
    type Wire<'a> = wire::Budget<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::Budget<'_>,
        mut flaws: Flaws,
    ) {
        let metadata = object.metadata.unwrap_or_default();
        ingest.saw(metadata.creation_timestamp);
        let spec = object.spec.unwrap_or_default();
        let selector = match &spec.selector {
            // A selector that was cut out may have matched anything.
            None => flaws.touch("spec").then(Selector::default),
            Some(selector) => match label_selector(&mut ingest.pools, selector) {
                Ok(selector) => Some(selector),
                Err(problem) => {
                    flaws.push("spec.selector", problem);
                    Some(Selector::default())
                }
            },
        };
        let bound = bound(&spec, &mut flaws);
        let allowance = if flaws.is_empty() {
            stated(&metadata, object.status.as_ref(), bound)
        } else {
            Stated::Unreadable
        };
        let everywhere = flaws.touch("metadata") && text(&metadata.namespace).is_empty();
        let unhealthy = match text(&spec.unhealthy_pod_eviction_policy) {
            "AlwaysAllow" => UnhealthyPolicy::AlwaysAllow,
            _ => UnhealthyPolicy::IfHealthyBudget,
        };
        let name =
            format!("PodDisruptionBudget {}/{}", namespace_of(&metadata), text(&metadata.name));
        ingest.complain_all(origin, &name, &flaws);
        let draft = BudgetDraft { selector, unhealthy, allowance, everywhere };
        let draft = Draft::new(&mut ingest.pools, &metadata, true, json, origin, draft);
        ingest.budgets.push(draft);
    }
}

fn bound(spec: &wire::BudgetSpec<'_>, flaws: &mut Flaws) -> Bound {
    let mut share = |given: &IntOrPercent, field: &str| match given {
        IntOrPercent::Int(count) => Some(Share::Count(count.0)),
        IntOrPercent::Percent(text) => {
            let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
            if percent.is_none() {
                flaws.push(field, format!("`{text}` is neither a number nor a percentage"));
            }
            percent.map(Share::Percent)
        }
    };
    // The API allows one of the two; the controller looks at this one first.
    if let Some(given) = &spec.max_unavailable {
        share(given, "spec.maxUnavailable").map_or(Bound::Neither, Bound::MaxUnavailable)
    } else if let Some(given) = &spec.min_available {
        share(given, "spec.minAvailable").map_or(Bound::Neither, Bound::MinAvailable)
    } else {
        Bound::Neither
    }
}

fn stated(
    metadata: &wire::Metadata<'_>,
    status: Option<&wire::BudgetStatus>,
    bound: Bound,
) -> Stated {
    let Some(wire::BudgetStatus {
        observed_generation,
        disruptions_allowed: Some(disruptions),
        current_healthy,
        desired_healthy,
    }) = status
    else {
        return Stated::ToCompute(bound);
    };
    if let (Some(observed), Some(generation)) = (observed_generation, metadata.generation)
        && observed.0 < generation.0
    {
        return Stated::Status { allowance: Allowance::NotProcessed, desired: None, bound };
    }
    let given = desired_healthy.as_ref().map(|number| number.0);
    let desired = given.unwrap_or(0);
    let current = current_healthy.as_ref().map_or(0, |number| number.0);
    let healthy = current >= desired && desired > 0;
    let allowance = Allowance::Known { disruptions: disruptions.0, healthy };
    Stated::Status { allowance, desired: given, bound }
}

impl Makers {
    /// The number of replicas that the controllers of `pods` ask for together, as the disruption
    /// controller adds them up: pods without a controller do not count, and each controller
    /// counts once. `None` if one of them is not known.
    fn expected<'p>(&self, pods: impl Iterator<Item = &'p Pod>, strings: &Interner) -> Option<i64> {
        let mut counted = hashbrown::HashSet::<Sym>::new();
        let mut sum = 0i64;
        for pod in pods {
            let Some(owner) = pod.owners.iter().find(|owner| owner.controller) else { continue };
            if counted.contains(&owner.uid) {
                continue;
            }
            let (uid, replicas) = self.scale(owner.kind, owner.uid, strings)?;
            counted.insert(owner.uid);
            // A Deployment is reached through each of its ReplicaSets.
            if uid == owner.uid || counted.insert(uid) {
                sum = sum.saturating_add(replicas);
            }
        }
        Some(sum)
    }

    fn scale(&self, kind: Sym, uid: Sym, strings: &Interner) -> Option<(Sym, i64)> {
        let workload = self.workload(uid)?;
        if workload.kind.as_str() != strings.text(kind) {
            return None;
        }
        match &workload.owner {
            Some(owner)
                if workload.kind == WorkloadKind::ReplicaSet
                    && strings.text(owner.kind) == WorkloadKind::Deployment.as_str() =>
            {
                let deployment = self.workload(owner.uid)?;
                (deployment.kind == WorkloadKind::Deployment)
                    .then_some(deployment.replicas)?
                    .map(|replicas| (owner.uid, replicas))
            }
            _ => workload.replicas.map(|replicas| (uid, replicas)),
        }
    }
}

impl Draft<BudgetDraft> {
    /// The budget, in the namespace that it holds for.
    pub(super) fn budget(&self, namespace: Sym, allowance: Allowance) -> Budget {
        Budget {
            name: self.name.clone(),
            namespace,
            selector: self.value.selector.clone(),
            unhealthy: self.value.unhealthy,
            allowance,
            terms: self.value.allowance,
        }
    }

    pub(super) fn selector(&self) -> Option<&Selector> {
        self.value.selector.as_ref()
    }

    /// What the budget allows, `pods` being all that it covers.
    pub(super) fn allowance<'p>(
        &self,
        pods: impl Iterator<Item = &'p Pod> + Clone,
        makers: &Makers,
        strings: &Interner,
    ) -> Allowance {
        match self.value.allowance {
            Stated::Unreadable => Allowance::Unknown,
            Stated::Status { allowance, .. } => allowance,
            Stated::ToCompute(bound) => {
                computed(bound, pods, makers, strings).unwrap_or(Allowance::Unknown)
            }
        }
    }
}

impl Budget {
    /// What the budget allows once pods have come and gone, `pods` being all that it covers now.
    pub(super) fn allowance_now<'p>(
        &self,
        pods: impl Iterator<Item = &'p Pod> + Clone,
        makers: &Makers,
        strings: &Interner,
    ) -> Allowance {
        match self.terms {
            Stated::Unreadable => Allowance::Unknown,
            Stated::ToCompute(bound) => {
                computed(bound, pods, makers, strings).unwrap_or(Allowance::Unknown)
            }
            Stated::Status { desired, bound, .. } => {
                let wanted = wanted(bound, pods.clone(), makers, strings);
                let Some((expected, desired)) = wanted.or(desired.map(|desired| (1, desired)))
                else {
                    return self.allowance;
                };
                // The controller saw pods that are healthy, though the dump may not say so of each.
                let ready = strings.get("Ready");
                let is_silent = |pod: &Pod| !pod.conditions.iter().any(|one| one.kind == ready);
                let silent = pods.clone().filter(|pod| pod.phase == Phase::Running);
                let silent = silent.filter(|pod| !pod.terminating && is_silent(pod)).count();
                let healthy = count_healthy(pods).saturating_add(integer(silent));
                allowed(expected, desired, healthy)
            }
        }
    }
}

/// As the disruption controller computes it (`getExpectedPodCount`, `countHealthyPods` and
/// `updatePdbStatus` in k8s.io/kubernetes/pkg/controller/disruption).
fn computed<'p>(
    bound: Bound,
    pods: impl Iterator<Item = &'p Pod> + Clone,
    makers: &Makers,
    strings: &Interner,
) -> Option<Allowance> {
    let (expected, desired) = wanted(bound, pods.clone(), makers, strings)?;
    Some(allowed(expected, desired, count_healthy(pods)))
}

/// How many pods there should be, and how many of them healthy.
fn wanted<'p>(
    bound: Bound,
    pods: impl Iterator<Item = &'p Pod> + Clone,
    makers: &Makers,
    strings: &Interner,
) -> Option<(i64, i64)> {
    let expected = || makers.expected(pods.clone(), strings);
    Some(match bound {
        Bound::Neither => (0, 0),
        Bound::MaxUnavailable(share) => {
            let expected = expected()?;
            (expected, expected.saturating_sub(share.of(expected)).max(0))
        }
        Bound::MinAvailable(Share::Count(count)) => (integer(pods.count()), count),
        Bound::MinAvailable(share) => {
            let expected = expected()?;
            (expected, share.of(expected))
        }
    })
}

fn count_healthy<'p>(pods: impl Iterator<Item = &'p Pod>) -> i64 {
    integer(pods.filter(|pod| !pod.terminating && pod.is_ready()).count())
}

fn integer(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn allowed(expected: i64, desired: i64, healthy: i64) -> Allowance {
    let disruptions = if expected <= 0 { 0 } else { healthy.saturating_sub(desired).max(0) };
    Allowance::Known { disruptions, healthy: healthy >= desired && desired > 0 }
}

impl Share {
    /// The share of `total`, a percentage rounded up.
    fn of(self, total: i64) -> i64 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => {
                let hundredfold = i128::from(percent) * i128::from(total);
                let whole =
                    hundredfold.div_euclid(100) + i128::from(hundredfold.rem_euclid(100) != 0);
                i64::try_from(whole).unwrap_or(i64::MAX)
            }
        }
    }
}
