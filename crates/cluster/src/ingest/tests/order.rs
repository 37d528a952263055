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
    objects.extend(VOLUMES);
    objects.extend(WORKLOADS);
    let expected = render(&objects);
    assert!(expected.lines().count() > 100 && !expected.contains("Sym"));
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

/// Volumes and what belongs to them, some of them twice or as two states.
const VOLUMES: [&str; 14] = [
    r#"{"kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "ns", "uid": "1",
        "resourceVersion": "1"}, "spec": {"storageClassName": "sc"}}"#,
    r#"{"kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "ns", "uid": "1",
        "resourceVersion": "2"}, "spec": {"storageClassName": "loc", "volumeName": "v2",
        "selector": {"matchExpressions": [{"key": "z", "operator": "In", "values": ["b", "a"]}]}}}"#,
    r#"{"kind": "PersistentVolumeClaim", "metadata": {"name": "d", "namespace": "ns"},
        "spec": {"resources": {"requests": {"storage": "much"}}}}"#,
    r#"{"kind": "PersistentVolume", "metadata": {"name": "v2", "labels": {"b": "1", "a": "2"}},
        "spec": {"csi": {"driver": "d", "volumeHandle": "h"}}}"#,
    r#"{"kind": "PersistentVolume", "metadata": {"name": "v1"}, "spec": {"cinder": {"volumeID": "x"}}}"#,
    r#"{"kind": "StorageClass", "metadata": {"name": "sc"}, "provisioner": "d"}"#,
    r#"{"kind": "StorageClass", "metadata": {"name": "loc"}, "provisioner": "none"}"#,
    r#"{"kind": "CSINode", "metadata": {"name": "general-a1"}, "spec": {"drivers": [
        {"name": "d", "allocatable": {"count": 1}}]}}"#,
    r#"{"kind": "CSIDriver", "metadata": {"name": "d"}, "spec": {"storageCapacity": true}}"#,
    r#"{"kind": "CSIStorageCapacity", "metadata": {"name": "b"}, "storageClassName": "sc"}"#,
    r#"{"kind": "CSIStorageCapacity", "metadata": {"name": "a"}, "storageClassName": "sc",
        "capacity": 5}"#,
    r#"{"kind": "VolumeAttachment", "metadata": {"name": "b"}, "spec": {"attacher": "d",
        "nodeName": "general-a1", "source": {"persistentVolumeName": "v1"}}}"#,
    r#"{"kind": "VolumeAttachment", "metadata": {"name": "a"}, "spec": {"attacher": "d",
        "nodeName": "general-a1", "source": {"persistentVolumeName": "v2"}}}"#,
    r#"{"kind": "VolumeAttachment", "metadata": {"name": "a", "resourceVersion": "3"},
        "spec": {"attacher": "e", "nodeName": "general-a1"}}"#,
];

/// Workloads that share uids and names, and what finds pods.
const WORKLOADS: [&str; 8] = [
    r#"{"kind": "ReplicaSet", "metadata": {"name": "w", "namespace": "ns", "uid": "9"}}"#,
    r#"{"kind": "Deployment", "metadata": {"name": "w", "namespace": "ns", "uid": "9"}}"#,
    r#"{"kind": "ReplicaSet", "metadata": {"name": "w", "namespace": "ns", "uid": "8"}}"#,
    r#"{"kind": "StatefulSet", "metadata": {"name": "w", "namespace": "ns"}, "spec": {"template":
        {"metadata": {"labels": {"y": "1", "x": "2"}}, "spec": {"priorityClassName": "late",
         "containers": [{"image": "q", "resources": {"limits": {"example.com/z": 1, "cpu": 1}}}]}}}}"#,
    r#"{"kind": "PriorityClass", "metadata": {"name": "late"}, "value": 12345}"#,
    r#"{"kind": "PriorityClass", "metadata": {"name": "usual"}, "value": 3, "globalDefault": true}"#,
    r#"{"kind": "Service", "metadata": {"name": "t", "namespace": "ns"},
        "spec": {"selector": {"y": "1", "x": "2"}}}"#,
    r#"{"kind": "Service", "metadata": {"name": "s", "namespace": "ns"}}"#,
];

/// All that can be asked of a snapshot, without the numbers behind symbols.
fn render(objects: &[&str]) -> String {
    let (snapshot, anomalies) = read(objects);
    format!("{:#?}\n{}", said(&anomalies), render_snapshot(&snapshot))
}

pub(super) fn render_snapshot(snapshot: &Snapshot) -> String {
    let mut text = format!("{}\n", snapshot.taken_at());
    for &id in snapshot.nodes() {
        let node = snapshot.node(id);
        let crate::Node { name, created, labels, taints, unschedulable, ready, .. } = node;
        let taints: Vec<String> =
            taints.iter().map(|taint| taint.display(snapshot.strings())).collect();
        let _ = writeln!(
            text,
            "{name} {created:?} {:?} {taints:?} {unschedulable} {ready} {:?} {:?} {:?}",
            pairs(snapshot, labels),
            amounts(snapshot, &node.allocatable),
            amounts(snapshot, &node.capacity),
            snapshot.pods_on(id),
        );
    }
    for &id in snapshot.pods() {
        render_pod(snapshot, id, &mut text);
    }
    for group in (0..snapshot.group_slots()).map(crate::GroupId::from_index) {
        let group = snapshot.group(group);
        let _ = writeln!(text, "{:?} {:?}", pairs(snapshot, &group.labels), group.pods);
    }
    for budget in (0..snapshot.budget_slots()).map(crate::BudgetId::from_index) {
        let budget = snapshot.budget(budget);
        let _ = writeln!(text, "{} {:?}", budget.name, budget.allowance);
    }
    render_objects(snapshot, &mut text);
    text
}

/// Volumes and workloads, in the order in which they are given.
fn render_objects(snapshot: &Snapshot, text: &mut String) {
    let mut add = |object: &dyn std::fmt::Debug| {
        let _ = writeln!(text, "{}", plain(snapshot, object));
    };
    add(&snapshot.pending());
    snapshot.claims().iter().for_each(|claim| add(claim));
    snapshot.volumes().iter().for_each(|volume| add(volume));
    for &node in snapshot.nodes() {
        let node = snapshot.node(node);
        add(&(&node.images, &node.declared_features));
        let name = snapshot.sym(&node.name);
        add(&(snapshot.csi_node(name), snapshot.attachments_of(name)));
    }
    for class in ["sc", "loc"].map(|name| snapshot.sym(name)) {
        add(&(snapshot.storage_class(class), snapshot.storage_capacities(class)));
    }
    add(&snapshot.csi_driver(snapshot.sym("d")));
    for workload in snapshot.workloads() {
        add(workload);
        add(&snapshot.workload(workload.uid).map(|found| (found.kind, &found.name)));
        add(&snapshot.services_in(workload.namespace));
    }
    add(&snapshot.priority_class("usual"));
}

/// The words of the debug text of `object`, with strings for symbols, sorted: what has an order of
/// its own is shown one by one, and some lists are in the order of symbols.
fn plain(snapshot: &Snapshot, object: &dyn std::fmt::Debug) -> String {
    let shown = format!("{object:?}");
    let mut words: Vec<String> = Vec::new();
    let mut rest = &*shown;
    while let Some(at) = rest.find([' ', ',', '(', '[', '{']) {
        let (word, after) = rest.split_at(at);
        let number = |text: &str| {
            let digits = text.strip_prefix('(')?.split(')').next()?;
            Some((digits.parse::<u32>().ok()?, digits.len() + 2))
        };
        rest = &after[1..];
        let word = word.trim_matches([')', ']', '}']);
        let resolved = match (word, number(after)) {
            ("Sym", Some((id, length))) => {
                Some((snapshot.text(Sym::numbered(id)).to_owned(), length))
            }
            ("ResourceId", Some((id, length))) => {
                let id = crate::ResourceId(u16::try_from(id).expect("an id"));
                Some((snapshot.resource_name(id).to_owned(), length))
            }
            _ => None,
        };
        match resolved {
            Some((name, length)) => {
                words.push(format!("{name:?}"));
                rest = &after[length..];
            }
            None => words.push(word.to_owned()),
        }
    }
    words.push(rest.trim_matches([')', ']', '}']).to_owned());
    words.retain(|word| !word.is_empty());
    words.sort_unstable();
    words.join(" ")
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
    let _ = writeln!(text, "  {}", plain(snapshot, &(spec, pod.nominated, &pod.ephemeral_claims)));
    let _ = writeln!(text, "  {}", plain(snapshot, &(pod.scored, pod.scored_held, &pod.resize)));
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
