//! Requests that admission adds to a pod (docs/spec/scheduler.md section 11.2).

use std::borrow::Cow;

use super::{Defaults, asked_of, containers, of_whole};
use crate::wire::{Amount, Amounts, Pairs, PodSpec, Resources, Text};

/// Copies limits to missing requests. What the pod as a whole may use at most makes its requests,
/// too: the sum of its containers', or failing that the limit itself.
pub(crate) fn admit(spec: &mut PodSpec<'_>) {
    let lists = [&mut spec.containers, &mut spec.init_containers];
    for container in lists.into_iter().flatten().flatten() {
        if let Some(resources) = &mut container.resources {
            copy_limits(resources, |_| true);
        }
    }
    let limits = spec.resources.as_ref().and_then(|resources| resources.limits.as_ref());
    if limits.is_none_or(|limits| limits.0.is_empty()) {
        return;
    }
    let sum: Vec<_> = containers(spec, asked_of, Defaults::NONE)
        .0
        .into_iter()
        .filter(|(name, _)| matches!(*name, "cpu" | "memory"))
        .map(|(name, amount)| (Text(Cow::Owned(name.to_owned())), Amount(Ok(amount))))
        .collect();
    let Some(resources) = &mut spec.resources else { return };
    let requests = resources.requests.get_or_insert_with(|| Pairs(Vec::new()));
    for (name, amount) in sum {
        add_missing(requests, &name, &amount);
    }
    copy_limits(resources, of_whole);
}

fn copy_limits(resources: &mut Resources<'_>, takes: impl Fn(&str) -> bool) {
    let Resources { requests, limits } = resources;
    for (name, amount) in limits.iter().flat_map(|limits| &limits.0) {
        if takes(name) {
            add_missing(requests.get_or_insert_with(|| Pairs(Vec::new())), name, amount);
        }
    }
}

fn add_missing<'a>(requests: &mut Amounts<'a>, name: &Text<'a>, amount: &Amount) {
    if !requests.0.iter().any(|(known, _)| known == name) {
        requests.0.push((name.clone(), amount.clone()));
    }
}
