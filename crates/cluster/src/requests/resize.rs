//! What a pod holds on its node while a resize in place is under way
//! (docs/spec/scheduler.md sections 4.1 and 14.2).

use super::{Defaults, Totals, asked, asked_of, containers, has_whole, whole_pod};
use crate::pod::{ResizeRules, Scored};
use crate::quantity::Quantity;
use crate::wire::{Amounts, Container, ContainerStatus, PodSpec, PodStatus, text};

/// What a pod holds by each of [`ResizeRules::ALL`], and what the scorer counts for that; `None`
/// when its status has nothing to say that differs from what it asks for.
pub(crate) fn resized<'a>(
    spec: &'a PodSpec<'a>,
    status: &'a PodStatus<'a>,
) -> Option<[(Totals<'a>, Scored); 3]> {
    let resize = Resize { spec, status, infeasible: infeasible(status) };
    if resize.is_none() {
        return None;
    }
    Some(ResizeRules::ALL.map(|rules| {
        let held = resize.held(rules, Defaults::NONE);
        let scored = resize.held(rules, Defaults::on_node(spec, &held)).scored();
        (held, scored)
    }))
}

#[derive(Clone, Copy)]
struct Resize<'a> {
    spec: &'a PodSpec<'a>,
    status: &'a PodStatus<'a>,
    /// The node cannot do it: what the spec asks for does not count.
    infeasible: bool,
}

fn infeasible(status: &PodStatus<'_>) -> bool {
    status
        .conditions
        .iter()
        .flatten()
        .find(|condition| text(&condition.r#type) == "PodResizePending")
        .is_some_and(|condition| text(&condition.reason) == "Infeasible")
}

impl<'a> Resize<'a> {
    /// Whether nothing is under way: a cheap look, since a node reports the resources of all its
    /// pods, and nearly all are as asked for.
    fn is_none(&self) -> bool {
        let Self { spec, status, infeasible } = self;
        let mut containers =
            [&spec.containers, &spec.init_containers].into_iter().flatten().flatten();
        !infeasible
            && status.resources.is_none()
            && status.allocated_resources.is_none()
            && containers.all(|container| {
                let Some(status) = self.status_of(container) else { return true };
                let actual = status.resources.as_ref().and_then(|actual| actual.requests.as_ref());
                [actual, status.allocated_resources.as_ref()]
                    .into_iter()
                    .flatten()
                    .all(|amounts| asked_of(container, true) == Totals::of(Some(amounts)))
            })
    }

    fn status_of(&self, container: &Container<'_>) -> Option<&'a ContainerStatus<'a>> {
        let PodStatus { container_statuses, init_container_statuses, .. } = self.status;
        [container_statuses, init_container_statuses]
            .into_iter()
            .flatten()
            .flatten()
            .find(|status| text(&status.name) == text(&container.name))
    }

    fn held(self, rules: ResizeRules, defaults: Defaults) -> Totals<'a> {
        let Self { spec, .. } = self;
        match rules {
            ResizeRules::V1_34 => {
                let sum = containers(
                    spec,
                    |container, lasting| self.larger(container, lasting),
                    defaults,
                );
                whole_pod(spec, sum, asked(spec.resources.as_ref()))
            }
            ResizeRules::V1_36 => {
                let sum = containers(
                    spec,
                    |container, lasting| self.larger(container, lasting),
                    defaults,
                );
                let mut whole = asked(spec.resources.as_ref());
                if let Some(in_force) = self.whole_in_force() {
                    // What the spec names is replaced, be it by nothing; no more than that.
                    for (name, amount) in &mut whole.0 {
                        *amount = in_force.find(name).unwrap_or(Quantity::ZERO);
                    }
                }
                whole_pod(spec, sum, whole)
            }
            ResizeRules::V1_37 => {
                let whole = if has_whole(spec) {
                    self.whole_in_force().unwrap_or_else(|| asked(spec.resources.as_ref()))
                } else {
                    Totals::default()
                };
                whole_pod(spec, self.largest_sum(defaults), whole)
            }
        }
    }

    /// Up to 1.36: the largest of what one container asks for and what its status says.
    fn larger(&self, container: &'a Container<'a>, lasting: bool) -> Totals<'a> {
        let mine = asked_of(container, lasting);
        match self.status_of(container) {
            Some(ContainerStatus { resources: Some(actual), allocated_resources, .. })
                if lasting =>
            {
                self.in_force(mine, actual.requests.as_ref(), allocated_resources.as_ref())
            }
            _ => mine,
        }
    }

    /// From 1.37 on: the largest of three sums.
    fn largest_sum(&self, defaults: Defaults) -> Totals<'a> {
        let PodStatus { resources, allocated_resources, .. } = self.status;
        let whole_actual = resources.as_ref().and_then(|actual| actual.requests.as_ref());
        let (allocated, actual) = match (allocated_resources.as_ref(), whole_actual) {
            (Some(allocated), Some(actual)) => {
                (Totals::of(Some(allocated)), Totals::of(Some(actual)))
            }
            _ => {
                let allocated = |container, _| self.allocated(container);
                let actual = |container, _| self.actual(container);
                (
                    containers(self.spec, allocated, defaults),
                    containers(self.spec, actual, defaults),
                )
            }
        };
        let mut sum = if self.infeasible {
            Totals::default()
        } else {
            containers(self.spec, asked_of, defaults)
        };
        sum.raise(&allocated);
        sum.raise(&actual);
        sum
    }

    fn allocated(&self, container: &'a Container<'a>) -> Totals<'a> {
        match self.status_of(container).and_then(|status| status.allocated_resources.as_ref()) {
            Some(allocated) => Totals::of(Some(allocated)),
            None if self.infeasible => Totals::default(),
            None => asked_of(container, true),
        }
    }

    fn actual(&self, container: &'a Container<'a>) -> Totals<'a> {
        let status = self.status_of(container).and_then(|status| status.resources.as_ref());
        match status.and_then(|actual| actual.requests.as_ref()) {
            Some(actual) => Totals::of(Some(actual)),
            None => self.allocated(container),
        }
    }

    /// What the pod as a whole holds, if its status speaks of that.
    fn whole_in_force(&self) -> Option<Totals<'a>> {
        let actual = self.status.resources.as_ref()?;
        let allocated = self.status.allocated_resources.as_ref();
        let whole = asked(self.spec.resources.as_ref());
        Some(self.in_force(whole, actual.requests.as_ref(), allocated))
    }

    fn in_force(
        &self,
        asked: Totals<'a>,
        actual: Option<&'a Amounts<'a>>,
        allocated: Option<&'a Amounts<'a>>,
    ) -> Totals<'a> {
        let mut largest = if self.infeasible { Totals::default() } else { asked };
        largest.raise(&Totals::of(actual));
        largest.raise(&Totals::of(allocated));
        largest
    }
}
