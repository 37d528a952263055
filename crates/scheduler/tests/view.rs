//! The view: what is taken out is gone for every question, and what is put back is as it was.

use descheduler_cluster::{NodeId, PodId, ResourceId, Snapshot};
use descheduler_scheduler::View;
use descheduler_testkit::snapshot;

const CLUSTER: &str = "
    node a
    node b
    pod big on=a cpu=2 memory=1Gi request:gpu=1
    pod done on=a phase=Succeeded cpu=1
    pod lost cpu=1
    pod small on=a cpu=100m
    pod solo on=b cpu=300m
";

fn node(snapshot: &Snapshot, name: &str) -> NodeId {
    let mut nodes = snapshot.nodes().iter().copied();
    nodes.find(|&id| *snapshot.node(id).name == *name).expect("there is such a node")
}

fn pod(snapshot: &Snapshot, name: &str) -> PodId {
    let mut pods = snapshot.pods().iter().copied();
    pods.find(|&id| *snapshot.pod(id).name == *name).expect("there is such a pod")
}

/// Everything that the view says of a node, in one line.
fn seen(view: &View<'_>, name: &str) -> String {
    let snapshot = view.snapshot();
    let node = node(snapshot, name);
    let names = |pods: &mut dyn Iterator<Item = PodId>| {
        pods.map(|pod| &*snapshot.pod(pod).name).collect::<Vec<_>>().join(",")
    };
    let requested = view.requested(node);
    format!(
        "{} active {}: cpu {} memory {} gpu {} pods {}",
        names(&mut view.pods_on(node)),
        names(&mut view.active_pods_on(node)),
        requested.get(ResourceId::CPU),
        requested.get(ResourceId::MEMORY),
        requested.get(snapshot.resource("gpu")),
        requested.get(ResourceId::PODS),
    )
}

#[test]
fn pods_come_and_go() {
    let snapshot = snapshot(CLUSTER);
    let mut view = View::new(&snapshot);
    let untouched = "big,done,small active big,small: cpu 2100 memory 1073741824 gpu 1 pods 2";
    assert_eq!(seen(&view, "a"), untouched);

    let (big, small) = (pod(&snapshot, "big"), pod(&snapshot, "small"));
    view.remove(big);
    assert!(view.is_gone(big) && !view.is_gone(small));
    let without_big = "done,small active small: cpu 100 memory 0 gpu 0 pods 1";
    assert_eq!(seen(&view, "a"), without_big);
    view.remove(big);
    assert_eq!(seen(&view, "a"), without_big, "taken out twice counts once");
    assert_eq!(view.removed(), [big]);

    let mark = view.mark();
    view.remove(small);
    view.remove(pod(&snapshot, "solo"));
    assert_eq!(seen(&view, "a"), "done active : cpu 0 memory 0 gpu 0 pods 0");
    assert_eq!(seen(&view, "b"), " active : cpu 0 memory 0 gpu 0 pods 0");
    assert_eq!(view.undone(), 0);
    view.undo_to(mark);
    assert_eq!(seen(&view, "a"), without_big);
    assert_eq!(seen(&view, "b"), "solo active solo: cpu 300 memory 0 gpu 0 pods 1");
    assert_eq!(view.removed(), [big]);
    assert_eq!(view.undone(), 1);

    view.undo_to(mark);
    assert_eq!(view.undone(), 1, "nothing was put back");
    let fresh = View::new(&snapshot);
    view.remove(small);
    view.undo_to(fresh.mark());
    assert_eq!(seen(&view, "a"), untouched);
    assert!(!view.is_gone(big) && view.removed().is_empty());
}

#[test]
fn pods_that_hold_no_place_free_none() {
    let snapshot = snapshot(CLUSTER);
    let mut view = View::new(&snapshot);
    view.remove(pod(&snapshot, "done"));
    view.remove(pod(&snapshot, "lost"));
    assert_eq!(
        seen(&view, "a"),
        "big,small active big,small: cpu 2100 memory 1073741824 gpu 1 pods 2"
    );
    view.undo_to(View::new(&snapshot).mark());
    assert_eq!(seen(&view, "a"), seen(&View::new(&snapshot), "a"));
}

#[test]
fn pods_are_counted_whatever_they_ask_for() {
    let snapshot = snapshot("node a\npod odd on=a request:pods=5\npod one on=a");
    let mut view = View::new(&snapshot);
    let pods = |view: &View<'_>| view.requested(node(&snapshot, "a")).get(ResourceId::PODS);
    assert_eq!(pods(&view), 2);
    view.remove(pod(&snapshot, "odd"));
    assert_eq!(pods(&view), 1);
    view.undo_to(View::new(&snapshot).mark());
    assert_eq!(pods(&view), 2);
}
