//! What was watched is what would have been read.

use std::collections::BTreeMap;

use serde_json::Value;

use super::order::render_snapshot;
use super::*;
use crate::ingest::store::Store;

const DUMP: &str = include_str!("../../../tests/data/dump.ndjson");

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

fn rendered((snapshot, anomalies): &(Snapshot, Vec<Anomaly>)) -> String {
    format!("{}{:#?}", render_snapshot(snapshot), said(anomalies))
}

/// The objects of the dump, one of each name, with its kind.
fn objects() -> Vec<(Kind, Value)> {
    let mut found = BTreeMap::new();
    for line in DUMP.lines() {
        let object: Value = serde_json::from_str(line).expect("JSON");
        let kind = Kind::of(object["kind"].as_str().unwrap_or_default()).expect("known");
        let namespace = object["metadata"]["namespace"].to_string();
        found.insert((kind, namespace, object["metadata"]["name"].to_string()), object);
    }
    found.into_iter().map(|((kind, ..), object)| (kind, object)).collect()
}

fn put(store: &mut Store, kind: Kind, object: &Value) {
    store.put(kind, object.to_string().as_bytes()).expect("JSON");
}

fn list<'o>(store: &mut Store, kind: Kind, objects: impl Iterator<Item = &'o Value>) -> usize {
    store.begin_list(kind);
    objects.for_each(|object| put(store, kind, object));
    store.end_list(kind)
}

#[test]
fn after_any_changes_the_snapshot_is_that_of_the_objects_that_are_there() {
    let all = objects();
    let kinds: std::collections::BTreeSet<Kind> = all.iter().map(|&(kind, _)| kind).collect();
    assert!(all.len() > 30 && kinds.len() > 5, "{} objects, {} kinds", all.len(), kinds.len());
    let mut store = Store::new();
    for &kind in &kinds {
        list(&mut store, kind, std::iter::empty());
    }
    let mut there = vec![false; all.len()];
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    for round in 0..400 {
        let at = random(all.len());
        let (kind, object) = &all[at];
        match random(3) {
            0 => {
                let mut other = object.clone();
                other["metadata"]["labels"] = serde_json::json!({"state": round.to_string()});
                put(&mut store, *kind, &other);
                // Something else came in between.
                put(&mut store, *kind, object);
                there[at] = true;
            }
            1 => {
                store.delete(*kind, object.to_string().as_bytes()).expect("JSON");
                there[at] = false;
            }
            _ => {
                // A list that lacks this one.
                let of_kind = (0..all.len()).filter(|&i| all[i].0 == *kind && i != at);
                let stay: Vec<usize> = of_kind.filter(|&i| there[i]).collect();
                let gone = list(&mut store, *kind, stay.iter().map(|&i| &all[i].1));
                assert_eq!(gone, usize::from(there[at]), "round {round}");
                there[at] = false;
            }
        }
        if round % 20 == 0 {
            let mut ingest = Ingest::new();
            let source = Source { file: "".into(), index: 0 };
            for (_, object) in all.iter().zip(&there).filter(|(_, there)| **there).map(|(o, _)| o) {
                ingest.add(&source, object.to_string().as_bytes()).expect("JSON");
            }
            let expected = rendered(&ingest.finish(Some(now())));
            assert!(rendered(store.snapshot(now())) == expected, "round {round}");
        }
    }
}

#[test]
fn a_kind_without_objects_is_absent_as_in_a_dump_but_that_there_are_no_pods_is_known() {
    let mut store = Store::new();
    let budget = serde_json::json!({"metadata": {"name": "b", "namespace": "ns", "uid": "1"}});
    let has = |store: &mut Store, kind| store.snapshot(now()).0.has(kind);
    list(&mut store, Kind::PodDisruptionBudget, std::iter::empty());
    assert!(!has(&mut store, Kind::PodDisruptionBudget));
    list(&mut store, Kind::PodDisruptionBudget, std::iter::once(&budget));
    assert!(has(&mut store, Kind::PodDisruptionBudget));
    store.forget(Kind::PodDisruptionBudget);
    assert!(!has(&mut store, Kind::PodDisruptionBudget));

    assert!(!has(&mut store, Kind::Pod));
    list(&mut store, Kind::Pod, std::iter::empty());
    assert!(has(&mut store, Kind::Pod));
}

#[test]
fn a_malformed_pod_is_kept_and_said_until_it_is_mended_or_gone() {
    let mut store = Store::new();
    let (broken, whole) = (pod("a", "", r#", "spec": {"containers": 1}"#), pod("a", "", ""));
    store.put(Kind::Pod, broken.as_bytes()).expect("JSON");
    let (snapshot, anomalies) = store.snapshot(now());
    assert!(only(snapshot).flawed);
    assert_eq!(anomalies.len(), 1);
    assert_eq!(anomalies[0].object, "Pod ns/a");
    assert!(!anomalies[0].to_string().contains("object 0"), "{}", anomalies[0]);

    store.put(Kind::Pod, whole.as_bytes()).expect("JSON");
    assert_eq!(store.snapshot(now()).1, []);
    store.put(Kind::Pod, broken.as_bytes()).expect("JSON");
    store.delete(Kind::Pod, broken.as_bytes()).expect("JSON");
    let (snapshot, anomalies) = store.snapshot(now());
    assert_eq!((snapshot.pods().len(), anomalies.as_slice()), (0, [].as_slice()));
}

#[test]
fn a_pod_that_took_the_name_of_another_is_the_only_one() {
    let mut store = Store::new();
    let other =
        r#"{"metadata": {"name": "a", "namespace": "ns", "uid": "2", "resourceVersion": "7"}}"#;
    store.put(Kind::Pod, pod("a", "", "").as_bytes()).expect("JSON");
    let version = store.put(Kind::Pod, other.as_bytes()).expect("JSON");
    assert_eq!(version.map(u64::from), std::num::NonZeroU64::new(7).map(u64::from));
    let (snapshot, anomalies) = store.snapshot(now());
    assert_eq!((&*only(snapshot).uid, anomalies.len()), ("2", 0));
}

#[test]
fn an_unchanged_snapshot_is_dated_anew() {
    let mut store = Store::new();
    store.put(Kind::Pod, pod("a", "", "").as_bytes()).expect("JSON");
    store.snapshot(now());
    let later: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a moment");
    assert_eq!(store.snapshot(later).0.taken_at(), later);
    assert!(store.put(Kind::Pod, b"{").is_err() && store.delete(Kind::Pod, b"[]").is_err());
}

#[test]
fn labels_that_no_pod_has_any_more_are_dropped() {
    let mut store = Store::new();
    for round in 0..5000 {
        let labelled = pod("a", &format!(r#", "labels": {{"round": "{round}"}}"#), "");
        store.put(Kind::Pod, labelled.as_bytes()).expect("JSON");
    }
    store.put(Kind::Pod, pod("b", r#", "labels": {"x": "y"}"#, "").as_bytes()).expect("JSON");
    store.snapshot(now());
    assert_eq!(store.ingest.pools.groups.len(), 2);
    let (snapshot, _) = store.snapshot(now());
    let labels = snapshot.labels(snapshot.pods()[1]);
    assert_eq!(snapshot.text(labels[0].1), "y");
}
