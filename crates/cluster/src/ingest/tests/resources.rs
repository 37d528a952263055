//! What the scorer of resources counts, and what pods in a resize hold.

use super::*;
use crate::resources::ResourceId;
use crate::{ResizeRules, Scored};

fn snapshot(spec: &str, status: &str) -> Snapshot {
    let rest = format!(r#", "spec": {{{spec}}}, "status": {{{status}}}"#);
    let (snapshot, anomalies) = read(&[&pod("a", "", &rest)]);
    assert_eq!(anomalies, []);
    snapshot
}

fn container(requests: &str) -> String {
    format!(r#"{{"name": "c", "resources": {{"requests": {{{requests}}}}}}}"#)
}

/// Amounts in millicores and MiB: asked for, scored when incoming, scored on a node.
#[test]
fn what_is_scored() {
    let full = container(r#""cpu": "1", "memory": "1Gi""#);
    let silent = r#"{"name": "d"}"#;
    let zero = container(r#""cpu": 0, "memory": 0"#);
    let whole = |amounts: &str| format!(r#", "resources": {{"requests": {{{amounts}}}}}"#);
    let regular =
        |list: &[&str], rest: &str| format!(r#""containers": [{}]{rest}"#, list.join(","));
    let init = |init: &str| format!(r#", "initContainers": [{init}]"#);
    let sidecar = r#"{"name": "s", "restartPolicy": "Always"}"#;
    let overhead = r#", "overhead": {"cpu": "10m", "memory": "16Mi"}"#;
    let table = [
        (regular(&[&full], ""), [(1000, 1024); 3]),
        (regular(&[silent], ""), [(0, 0), (100, 200), (100, 200)]),
        (regular(&[&zero], ""), [(0, 0); 3]),
        (regular(&[&full, silent], ""), [(1000, 1024), (1100, 1224), (1100, 1224)]),
        // An init container runs alone, a sidecar does not.
        (regular(&[&full], &init(silent)), [(1000, 1024); 3]),
        (regular(&[&zero], &init(silent)), [(0, 0), (100, 200), (100, 200)]),
        (regular(&[&full], &init(sidecar)), [(1000, 1024), (1100, 1224), (1100, 1224)]),
        (regular(&[silent], overhead), [(10, 16), (110, 216), (110, 216)]),
        // Requests of the pod as a whole do not count for an incoming pod, and keep a pod on a
        // node from being taken to ask for what they name.
        (regular(&[&full], &whole(r#""cpu": "3""#)), [(3000, 1024), (1000, 1024), (3000, 1024)]),
        (regular(&[silent], &whole(r#""cpu": "3""#)), [(3000, 0), (100, 200), (3000, 200)]),
        (
            regular(&[silent], &whole(r#""cpu": "3", "memory": "2Gi""#)),
            [(3000, 2048), (100, 200), (3000, 2048)],
        ),
        (
            regular(&[silent, &full], &whole(r#""hugepages-2Mi": "2Mi""#)),
            [(1000, 1024), (1100, 1224), (1000, 1024)],
        ),
        // These are no requests that a pod as a whole can have.
        (regular(&[silent], &whole(r#""example.com/gpu": 1"#)), [(0, 0), (100, 200), (100, 200)]),
    ];
    for (spec, expected) in table {
        let snapshot = snapshot(&spec, "");
        let pod = only(&snapshot);
        let mib = |scored: Scored| (scored.cpu, scored.memory >> 20);
        let asked = (pod.requests.get(ResourceId::CPU), pod.requests.get(ResourceId::MEMORY) >> 20);
        assert_eq!([asked, mib(pod.scored), mib(pod.scored_held)], expected, "{spec}");
        assert_eq!(pod.resize, None, "{spec}");
        for rules in ResizeRules::ALL {
            assert_eq!(pod.held(rules), (&*pod.requests, pod.scored_held), "{spec}");
        }
    }
}

/// Processor time in millicores by the rules of 1.34, 1.36 and 1.37.
#[test]
fn what_is_held_in_a_resize() {
    let one = r#""containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]"#;
    let init = format!(
        r#"{one}, "initContainers": [{{"name": "b", "resources": {{"requests": {{"cpu": "1"}}}}}}]"#
    );
    let whole = format!(r#"{one}, "resources": {{"requests": {{"cpu": "2"}}}}"#);
    let infeasible = r#""conditions": [{"type": "Ready", "status": "True"},
        {"type": "PodResizePending", "reason": "Infeasible"}]"#;
    let late = r#""conditions": [{"type": "PodResizePending", "reason": "Deferred"},
        {"type": "PodResizePending", "reason": "Infeasible"}]"#;
    let status = |list: &str, name: &str, fields: &str| {
        format!(r#""{list}Statuses": [{{"name": "{name}", {fields}}}]"#)
    };
    let actual = |cpu: &str| format!(r#""resources": {{"requests": {{"cpu": "{cpu}"}}}}"#);
    let allocated = |cpu: &str| format!(r#""allocatedResources": {{"cpu": "{cpu}"}}"#);
    let both = |a: &str, b: &str| format!("{}, {}", actual(a), allocated(b));
    let of_a = |fields: &str| status("container", "a", fields);
    let table = [
        (one, of_a(&both("2", "3")), [3000; 3]),
        (one, of_a(&both("500m", "500m")), [1000; 3]),
        (one, of_a(&actual("2")), [2000; 3]),
        // Without what is in force, what is allocated counts from 1.37 on.
        (one, of_a(&allocated("2")), [1000, 1000, 2000]),
        (one, format!("{infeasible}, {}", of_a(&actual("250m"))), [250, 250, 250]),
        // The first condition of the kind says what the matter is.
        (one, format!("{late}, {}", of_a(&actual("250m"))), [1000; 3]),
        (one, infeasible.to_owned(), [1000, 1000, 0]),
        // Limits alone are in force: nothing is said of requests.
        (one, of_a(r#""resources": {"limits": {"cpu": "9"}}"#), [1000; 3]),
        // Of a container that is not there.
        (one, status("container", "x", &both("9", "9")), [1000; 3]),
        (&init, status("initContainer", "b", &both("3", "3")), [1000, 1000, 3000]),
        // The pod as a whole: not before 1.36, and there only what its spec names.
        (&whole, both("3", "4"), [2000, 4000, 4000]),
        (&whole, actual("1"), [2000; 3]),
        (&whole, format!("{infeasible}, {}", both("1", "1")), [2000, 1000, 1000]),
        (&whole, format!(r#"{infeasible}, "resources": {{}}"#), [2000, 0, 0]),
        (&whole, allocated("5"), [2000; 3]),
        (one, both("3", "4"), [1000, 1000, 4000]),
        (one, actual("3"), [1000; 3]),
    ];
    for (spec, status, expected) in table {
        let snapshot = snapshot(spec, &status);
        let pod = only(&snapshot);
        let held = ResizeRules::ALL.map(|rules| pod.held(rules).0.get(ResourceId::CPU));
        assert_eq!(held, expected, "{spec} {status}");
        assert_eq!(pod.requests.get(ResourceId::CPU), if spec == whole { 2000 } else { 1000 });
    }
}

/// Nodes report the resources of all their pods; most are as asked for and cost nothing to keep.
#[test]
fn resources_as_asked_for_are_no_resize() {
    let spec = r#""containers": [{"name": "a", "resources": {"requests":
        {"cpu": "1", "memory": "1Gi"}}}]"#;
    for amounts in [r#"{"cpu": "1", "memory": "1Gi"}"#, r#"{"memory": "1024Mi", "cpu": "1000m"}"#] {
        let status = format!(
            r#""containerStatuses": [{{"name": "a", "resources": {{"requests": {amounts}}},
                "allocatedResources": {amounts}}}]"#
        );
        let snapshot = snapshot(spec, &status);
        assert_eq!(only(&snapshot).resize, None, "{amounts}");
    }
}
