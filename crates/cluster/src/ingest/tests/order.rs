//! A snapshot does not depend on the order of the objects.

use std::fmt::Write;

use super::*;
use crate::resources::Resources;

const DUMP: &str = include_str!("../../../tests/data/dump.ndjson");

#[test]
fn twenty_shuffles_make_the_same_snapshot() {
    let mut objects: Vec<&str> = DUMP.lines().collect();
    // Something to disagree about: states of one object, and twins.
    let extra = [
        pod("a", r#", "resourceVersion": "1""#, ""),
        pod("a", r#", "resourceVersion": "2", "labels": {"x": "y"}"#, ""),
        pod("a", r#", "resourceVersion": "2", "labels": {"x": "z"}"#, r#", "spec": 1"#),
        r#"{"kind": "Pod", "metadata": {"name": "b", "namespace": "ns", "uid": "1"}}"#.into(),
        r#"{"kind": "Pod", "metadata": {"name": "b", "namespace": "ns", "uid": "2"}}"#.into(),
    ];
    objects.extend(extra.iter().map(String::as_str));
    let expected = render(&objects);
    assert!(expected.lines().count() > 100);
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..20 {
        for at in (1..objects.len()).rev() {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            objects.swap(at, (seed % (at as u64 + 1)) as usize);
        }
        assert!(render(&objects) == expected, "shuffle {round}");
    }
}

/// All that can be asked of a snapshot, without the numbers behind symbols.
fn render(objects: &[&str]) -> String {
    let (snapshot, anomalies) = read(objects);
    let mut text = format!("{}\n{:#?}\n", snapshot.taken_at(), said(&anomalies));
    for &id in snapshot.nodes() {
        let node = snapshot.node(id);
        let crate::Node { name, created, labels, taints, unschedulable, ready, .. } = node;
        let taints: Vec<String> =
            taints.iter().map(|taint| taint.display(snapshot.strings())).collect();
        let _ = writeln!(
            text,
            "{name} {created:?} {:?} {taints:?} {unschedulable} {ready} {:?} {:?} {:?}",
            pairs(&snapshot, labels),
            amounts(&snapshot, &node.allocatable),
            amounts(&snapshot, &node.capacity),
            snapshot.pods_on(id),
        );
    }
    for &id in snapshot.pods() {
        render_pod(&snapshot, id, &mut text);
    }
    for group in (0..snapshot.group_slots()).map(crate::GroupId::from_index) {
        let group = snapshot.group(group);
        let _ = writeln!(text, "{:?} {:?}", pairs(&snapshot, &group.labels), group.pods);
    }
    for budget in (0..snapshot.budget_slots()).map(crate::BudgetId::from_index) {
        let budget = snapshot.budget(budget);
        let _ = writeln!(text, "{} {:?}", budget.name, budget.allowance);
    }
    text
}

fn render_pod(snapshot: &Snapshot, id: PodId, text: &mut String) {
    let pod = snapshot.pod(id);
    let sym = |sym: Sym| snapshot.text(sym);
    let _ = writeln!(
        text,
        "{} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {}",
        snapshot.pod_name(id),
        pod.uid,
        pod.group,
        pod.node,
        pod.created,
        pod.started,
        pod.phase,
        pod.qos,
        snapshot.budgets_of(id),
        pod.flawed,
    );
    for owner in pod.owners.iter() {
        let owned = snapshot.pods_owned_by(owner.uid);
        let _ = writeln!(text, "  {} {} {owned}", sym(owner.kind), sym(owner.name));
    }
    for condition in &pod.conditions {
        let _ = writeln!(text, "  {} {:?}", sym(condition.kind), condition.changed);
    }
    for claim in &pod.claims {
        let class = snapshot.claim_class(pod.namespace, claim).map(sym);
        let _ = writeln!(text, "  {claim} {class:?}");
    }
    let spec = &pod.spec;
    let tolerations: Vec<_> =
        spec.tolerations.iter().map(|t| (sym(t.key), sym(t.value), t.effect)).collect();
    let images: Vec<_> = spec.images.iter().map(|&image| sym(image)).collect();
    let fits: Vec<_> = snapshot
        .nodes()
        .iter()
        .map(|&node| (snapshot.node_matches(spec, node), snapshot.node_preference(spec, node)))
        .collect();
    let repelled: Vec<_> = spec
        .anti_affinity
        .iter()
        .flat_map(|term| snapshot.pods().iter().map(move |&other| (term, other)))
        .map(|(term, other)| {
            let labels = snapshot.labels(other);
            term.selector.as_ref().is_some_and(|s| s.matches(labels, snapshot.strings()))
        })
        .collect();
    let _ = writeln!(
        text,
        "  {:?} {:?} {tolerations:?} {images:?} {fits:?} {repelled:?} {:?} {:?} {:?}",
        spec.priority,
        pairs(snapshot, &spec.node_selector),
        amounts(snapshot, &pod.requests),
        amounts(snapshot, pod.held(crate::ResizeRules::V1_37).0),
        snapshot.namespace_labels(pod.namespace).map(|labels| pairs(snapshot, labels)),
    );
}

fn pairs<'s>(snapshot: &'s Snapshot, labels: &crate::Labels) -> Vec<(&'s str, &'s str)> {
    let mut pairs: Vec<_> =
        labels.iter().map(|&(key, value)| (snapshot.text(key), snapshot.text(value))).collect();
    pairs.sort_unstable();
    pairs
}

fn amounts<'s>(snapshot: &'s Snapshot, amounts: &Resources) -> Vec<(&'s str, i64)> {
    let mut named: Vec<_> =
        amounts.iter().map(|(id, amount)| (snapshot.resource_name(id), amount)).collect();
    named.sort_unstable();
    named
}
