//! NodeResourcesFit (docs/spec/scheduler.md sections 4.2 to 4.4).

use descheduler_cluster::{NodeId, ResourceId, Resources, Snapshot};

use super::{
    NodeFilter, NodeScore, Prepared, Rejection, Scores, dynamic_resources, never, not_now,
};
use crate::cycle::Cycle;
use crate::outcome::Why;
use crate::profile::{FitArgs, ScoringStrategy, ShapePoint};

/// What the scheduler takes a resource for, by its name (docs/spec/scheduler.md section 4.1).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// cpu, memory, ephemeral-storage.
    Basic,
    /// Something with a vendor's domain in front.
    Extended,
    /// Huge pages, attachable volumes and what Kubernetes itself names.
    Scalar,
    /// Neither asked for nor given, as far as the scheduler is concerned.
    Ignored,
}

impl Class {
    fn of(name: &str) -> Self {
        let extended = name.contains('/')
            && !name.contains("kubernetes.io/")
            && !name.starts_with("requests.")
            && is_qualified(name);
        match name {
            "cpu" | "memory" | "ephemeral-storage" => Self::Basic,
            _ if extended => Self::Extended,
            _ if name.starts_with("hugepages-")
                || name.contains("kubernetes.io/")
                || name.starts_with("attachable-volumes-") =>
            {
                Self::Scalar
            }
            _ => Self::Ignored,
        }
    }
}

/// `domain/name` within the limits of the API.
fn is_qualified(name: &str) -> bool {
    let Some((domain, rest)) = name.split_once('/') else { return false };
    let part = |text: &str, inside: fn(char) -> bool| {
        !text.is_empty()
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.ends_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || inside(c))
    };
    // The scheduler puts `requests.` in front before it looks at the length.
    domain.len() + "requests.".len() <= 253
        && part(domain, |c| matches!(c, '-' | '.'))
        && !domain.chars().any(|c| c.is_ascii_uppercase())
        && rest.len() <= 63
        && part(rest, |c| matches!(c, '-' | '_' | '.'))
}

/// What the pod asks for and nodes are filtered by.
struct Fit {
    asked: Vec<(ResourceId, i64)>,
    /// Those of them that nodes without any may have as devices, which is not asked here.
    as_devices: Vec<ResourceId>,
}

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    let snapshot = cycle.snapshot();
    let args = &cycle.profile.fit;
    let asked = cycle.pod.requests.iter().filter(|&(resource, amount)| {
        let name = snapshot.resource_name(resource);
        amount > 0
            && match Class::of(name) {
                Class::Basic | Class::Scalar => true,
                Class::Extended => !is_ignored(args, name),
                Class::Ignored => false,
            }
    });
    Prepared::filter(Fit { asked: asked.collect(), as_devices: dynamic_resources::wanted(cycle) })
}

fn is_ignored(args: &FitArgs, name: &str) -> bool {
    let group = name.split('/').next().unwrap_or_default();
    args.ignored_resources.iter().any(|ignored| ignored == name)
        || args.ignored_groups.iter().any(|ignored| ignored == group)
}

impl<'s> NodeFilter<'s> for Fit {
    fn check(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        let allocatable = &cycle.snapshot().node(node).allocatable;
        let used = &cycle.occupancy.of(node).requested;
        let asked = || {
            let is_asked = |&(resource, _): &(ResourceId, i64)| {
                allocatable.get(resource) != 0 || !self.as_devices.contains(&resource)
            };
            self.asked.iter().copied().filter(is_asked)
        };
        let lacks = |&(resource, amount): &(ResourceId, i64)| {
            amount > allocatable.get(resource) - used.get(resource)
        };
        let hopeless = asked().find(|&(resource, amount)| amount > allocatable.get(resource));
        if let Some((resource, _)) = hopeless {
            return never(Why::Insufficient(resource));
        }
        if used.get(ResourceId::PODS) + 1 > allocatable.get(ResourceId::PODS) {
            return not_now(Why::TooManyPods);
        }
        match asked().find(lacks) {
            Some((resource, _)) => not_now(Why::Insufficient(resource)),
            None => Ok(()),
        }
    }
}

/// One resource that is scored.
struct Part {
    resource: ResourceId,
    weight: i64,
    /// What the incoming pod adds.
    added: i64,
}

struct FitScore<'c> {
    parts: Vec<Part>,
    strategy: &'c ScoringStrategy,
}

pub(super) fn scores<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Scores<'c, 's> {
    let FitArgs { strategy, resources, .. } = &cycle.profile.fit;
    let snapshot = cycle.snapshot();
    let parts = resources.iter().filter_map(|(name, weight)| {
        let resource = snapshot.resource(name);
        let added = match resource {
            ResourceId::CPU => cycle.pod.scored.cpu,
            ResourceId::MEMORY => cycle.pod.scored.memory,
            _ => cycle.pod.requests.get(resource),
        };
        (added > 0 || !is_scalar(name)).then_some(Part { resource, weight: *weight, added })
    });
    Scores::by(FitScore { parts: parts.collect(), strategy })
}

/// Whether a resource that the pod does not ask for is left out of the score.
pub(super) fn is_scalar(name: &str) -> bool {
    Class::of(name) != Class::Basic
}

/// The resources of a list that count for a pod, with what the pod asks of each.
pub(super) fn plain_parts(
    snapshot: &Snapshot,
    names: &[String],
    requests: &Resources,
) -> Vec<(ResourceId, i64)> {
    let parts = names.iter().map(|name| (name, snapshot.resource(name)));
    let parts = parts.map(|(name, resource)| (name, resource, requests.get(resource)));
    parts
        .filter(|(name, _, added)| *added > 0 || !is_scalar(name))
        .map(|(_, resource, added)| (resource, added))
        .collect()
}

impl<'s> NodeScore<'s> for FitScore<'_> {
    fn raw(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> i64 {
        let allocatable = &cycle.snapshot().node(node).allocatable;
        let of = cycle.occupancy.of(node);
        let (mut sum, mut weights) = (0, 0);
        for &Part { resource, weight, added } in &self.parts {
            let capacity = allocatable.get(resource);
            if capacity == 0 {
                continue;
            }
            let used = added
                + match resource {
                    ResourceId::CPU => of.scored.cpu,
                    ResourceId::MEMORY => of.scored.memory,
                    _ => of.requested.get(resource),
                };
            let score = score(self.strategy, used, capacity);
            if score == 0 && matches!(self.strategy, ScoringStrategy::RequestedToCapacityRatio(_)) {
                continue;
            }
            sum += score * weight;
            weights += weight;
        }
        match self.strategy {
            _ if weights == 0 => 0,
            ScoringStrategy::RequestedToCapacityRatio(_) => {
                (sum as f64 / weights as f64).round() as i64
            }
            ScoringStrategy::LeastAllocated | ScoringStrategy::MostAllocated => sum / weights,
        }
    }
}

fn score(strategy: &ScoringStrategy, used: i64, capacity: i64) -> i64 {
    match strategy {
        ScoringStrategy::LeastAllocated if used > capacity => 0,
        ScoringStrategy::LeastAllocated => percent(capacity - used, capacity),
        ScoringStrategy::MostAllocated => percent(used.min(capacity), capacity),
        ScoringStrategy::RequestedToCapacityRatio(shape) => {
            let use_ = if used > capacity { 100 } else { percent(used, capacity) };
            on_line(shape, use_)
        }
    }
}

/// Whole hundredths, without overflow for any amount of bytes.
fn percent(part: i64, whole: i64) -> i64 {
    match part.checked_mul(100) {
        Some(hundredfold) => hundredfold / whole,
        None => (i128::from(part) * 100 / i128::from(whole)) as i64,
    }
}

/// The value of a broken line, its scores stretched to 0 to 100.
pub(super) fn on_line(shape: &[ShapePoint], at: i64) -> i64 {
    let score = |point: &ShapePoint| point.score * 10;
    let Some(first) = shape.first().filter(|first| at > first.utilization) else {
        return shape.first().map_or(0, score);
    };
    let mut left = first;
    for right in &shape[1..] {
        if at <= right.utilization {
            let (from, to) = (left.utilization, right.utilization);
            return score(left) + (score(right) - score(left)) * (at - from) / (to - from);
        }
        left = right;
    }
    score(left)
}
