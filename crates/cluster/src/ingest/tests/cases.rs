//! The cases that the model of the scheduler is held to can all be read.

use serde_json::Value;

use super::*;
use crate::resources::ResourceId;
use crate::{ResizeRules, Scored};

const CASES: &str = include_str!("../../../../../docs/spec/cases/scheduler_cases.json");
const CASES_1_37: &str = include_str!("../../../../../docs/spec/cases/scheduler_cases_1.37.jsonl");

/// All cases: those of the one file, then those of the other.
fn cases() -> Vec<Value> {
    let mut cases: Vec<Value> = serde_json::from_str(CASES).expect("a list of cases");
    cases.extend(CASES_1_37.lines().map(|line| serde_json::from_str(line).expect("a case")));
    cases
}

fn list_kind(key: &str) -> Option<&'static str> {
    Some(match key {
        "nodes" => "NodeList",
        "pods" | "nominated" | "pod" => "PodList",
        "namespaces" => "NamespaceList",
        "services" => "ServiceList",
        "replicaSets" => "ReplicaSetList",
        "statefulSets" => "StatefulSetList",
        "pvcs" => "PersistentVolumeClaimList",
        "pvs" => "PersistentVolumeList",
        "storageClasses" => "StorageClassList",
        "csiNodes" => "CSINodeList",
        "csiDrivers" => "CSIDriverList",
        "csiStorageCapacities" => "CSIStorageCapacityList",
        "volumeAttachments" => "VolumeAttachmentList",
        "id" | "title" | "config" | "expect" => return None,
        other => panic!("`{other}` holds objects of a kind that is not known here"),
    })
}

fn snapshot(case: &Value) -> (Snapshot, Vec<Anomaly>) {
    let mut ingest = Ingest::new();
    let source = Source { file: "cases".into(), index: 0 };
    for (key, value) in case.as_object().expect("an object") {
        let Some(kind) = list_kind(key) else { continue };
        let objects = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for object in objects {
            ingest.add_item(&source, kind, object.to_string().as_bytes()).expect("JSON");
        }
    }
    ingest.finish(None)
}

#[test]
fn every_object_of_every_case_can_be_read() {
    let cases = cases();
    assert_eq!(cases.len(), 123 + 13);
    for case in cases {
        let (snapshot, anomalies) = snapshot(&case);
        assert_eq!(anomalies, [], "{}", case["id"]);
        let count = |key: &str| case[key].as_array().map_or(0, Vec::len);
        assert_eq!(snapshot.nodes().len(), count("nodes"), "{}", case["id"]);
        assert_eq!(snapshot.pods().len(), count("pods") + count("nominated") + 1);
        assert_eq!(snapshot.claims().len(), count("pvcs"));
        assert_eq!(snapshot.volumes().len(), count("pvs"));
        assert_eq!(snapshot.workloads().len(), count("replicaSets") + count("statefulSets"));
        for pod in snapshot.pods() {
            assert!(!snapshot.pod(*pod).flawed, "{}", case["id"]);
        }
    }
}

/// What the pod `a` of the cases about resizes holds: 1.34, 1.36 and 1.37 differ, and so do the
/// real schedulers of these versions (docs/spec/scheduler.md section 14.2).
#[test]
fn pods_in_resize() {
    const GI: i64 = 1 << 30;
    let same = |cpu, memory| [(cpu, memory), (cpu, memory)];
    let table = [
        ("K1", [same(1000, GI), same(1000, GI), same(3000, GI)]),
        ("K2", [same(4000, 2 * GI), same(4000, 2 * GI), same(3000, 2 * GI)]),
        ("K3", [same(1000, GI), same(1000, GI), same(3000, GI)]),
        ("K4", [same(1000, GI), same(1000, GI), same(1000, GI)]),
        ("K5", [same(2000, GI), same(2000, GI), same(3000, GI)]),
        ("K6", [same(1000, GI), same(1000, GI), same(1000, 7 * GI)]),
        ("K7", [same(3000, GI), same(3000, GI), [(0, 0), (100, 200 << 20)]]),
        ("K13", [[(1000, 0), (1000, 200 << 20)]; 3]),
        ("A21", [same(3000, GI); 3]),
    ];
    for (id, expected) in table {
        let case = cases().into_iter().find(|case| case["id"] == *id).expect("a case");
        let (snapshot, _) = snapshot(&case);
        let pod = snapshot.pod(snapshot.pods()[0]);
        assert_eq!(&*pod.name, "a", "{id}");
        let found = ResizeRules::ALL.map(|rules| {
            let (held, Scored { cpu, memory }) = pod.held(rules);
            let held = (held.get(ResourceId::CPU), held.get(ResourceId::MEMORY));
            [held, (cpu, memory)]
        });
        assert_eq!(found, expected, "{id}");
        // Whatever it holds, it asks for what its spec says.
        assert_eq!(pod.resize.is_none(), id == "K13", "{id}");
    }
}
