//! What is remembered for pods that are alike changes no answer: on random clusters, after random
//! changes, `place` says the same with and without.

use descheduler_cluster::{NodeId, PodId, Snapshot};
use descheduler_scheduler::{Candidate, Model, Placement, PodRef, Scheduler};
use descheduler_testkit::snapshot;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Something that happens to the pods on nodes.
#[derive(Clone, Debug)]
enum Change {
    Terminate(Index),
    Remove(Index),
    Place(Index, Index),
    /// All changes since the point of this number are undone.
    UndoTo(Index),
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<Index>;
    prop_oneof![
        2 => index().prop_map(Change::Terminate),
        2 => index().prop_map(Change::Remove),
        4 => (index(), index()).prop_map(|(pod, node)| Change::Place(pod, node)),
        1 => index().prop_map(Change::UndoTo),
    ]
}

fn node() -> impl Strategy<Value = String> {
    let zone = option::of(select(vec!["label:zone=a", "label:zone=b", "label:zone=c"]));
    let size = select(vec!["cpu=1", "cpu=2 memory=2Gi", "cpu=4 pods=3", "allocatable:gpu=2"]);
    let taint = option::weighted(
        0.4,
        select(vec!["taint:soft:PreferNoSchedule", "taint:own=db:NoSchedule", "cordoned"]),
    );
    let images = select(vec![
        "",
        "\n  | status: {images: [{names: [app], sizeBytes: 600000000}]}",
        "\n  | status: {images: [{names: [app, db], sizeBytes: 90000000}]}",
    ]);
    (zone, size, taint, images).prop_map(|(zone, size, taint, images)| {
        [zone.unwrap_or(""), size, taint.unwrap_or(""), images].join(" ")
    })
}

fn pod() -> impl Strategy<Value = String> {
    let owner = select(vec!["", "owner=ReplicaSet/web", "owner=ReplicaSet/db"]);
    let label = select(vec!["label:app=web", "label:app=db", ""]);
    let size = select(vec!["", "cpu=100m", "cpu=300m memory=500Mi", "request:gpu=1"]);
    let demand = option::weighted(
        0.6,
        select(vec![
            "nodeSelector:zone=a",
            "affinity:zone=a,b",
            "prefers:zone=b:10",
            "apart:app=web",
            "apart:app=db@zone",
            "toleration:own=db:NoSchedule",
            "image=app,db",
        ]),
    );
    let more = option::weighted(
        0.4,
        select(vec![
            "topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]",
            "topologySpreadConstraints: [{topologyKey: zone, maxSkew: 2, whenUnsatisfiable: ScheduleAnyway, nodeTaintsPolicy: Honor, labelSelector: {}}, {topologyKey: kubernetes.io/hostname, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: db}}}]",
            "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: db}}}]}}",
            "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 3, podAffinityTerm: {topologyKey: zone, namespaceSelector: {}, labelSelector: {matchLabels: {app: web}}}}]}}",
        ]),
    );
    (owner, label, size, demand, more).prop_map(|(owner, label, size, demand, more)| {
        let more = more.map(|spec| format!("\n  | spec: {{{spec}}}")).unwrap_or_default();
        [owner, label, size, demand.unwrap_or(""), &more].join(" ")
    })
}

fn clusters() -> impl Strategy<Value = Snapshot> {
    let pods = vec((option::weighted(0.8, any::<Index>()), pod()), 1..14);
    (vec(node(), 1..7), pods).prop_map(|(nodes, pods)| {
        let mut lines = vec![
            "replicaset web label:app=web".to_owned(),
            "replicaset db label:app=db".to_owned(),
            "namespace default".to_owned(),
        ];
        for (number, (on, words)) in pods.iter().enumerate() {
            let on = on.map(|on| format!("on=n{}", on.index(nodes.len()))).unwrap_or_default();
            lines.push(format!("pod p{number} {on} {words}"));
        }
        let nodes = nodes.into_iter().enumerate();
        lines.extend(nodes.map(|(number, words)| format!("node n{number} {words}")));
        snapshot(&lines.join("\n"))
    })
}

/// Without the score of each plugin.
fn totals(answer: Placement) -> Placement {
    let feasible = answer.feasible.into_iter();
    let feasible = feasible.map(|candidate| Candidate { scores: Vec::new(), ..candidate });
    Placement { feasible: feasible.collect(), ..answer }
}

fn pod_of(snapshot: &Snapshot, index: Index) -> PodId {
    snapshot.pods()[index.index(snapshot.pods().len())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn memory_changes_no_answer(
        snapshot in clusters(),
        changes in vec(change(), 0..20),
        asked in any::<Index>(),
    ) {
        let model = Model::new(&snapshot, &Scheduler::default());
        let mut occupancy = model.occupancy();
        let mut marks = vec![occupancy.mark()];
        let nodes: Vec<NodeId> = snapshot.nodes().to_vec();
        for change in changes {
            match change {
                Change::Terminate(pod) => occupancy.terminate(pod_of(&snapshot, pod)),
                Change::Remove(pod) => occupancy.remove(pod_of(&snapshot, pod)),
                Change::Place(pod, node) => {
                    let pod = PodRef::of(&snapshot, pod_of(&snapshot, pod)).unbound();
                    occupancy.place(pod, nodes[node.index(nodes.len())]);
                }
                Change::UndoTo(mark) => {
                    marks.truncate(mark.index(marks.len()) + 1);
                    occupancy.undo_to(marks[marks.len() - 1]);
                }
            }
            marks.push(occupancy.mark());
            // One pod again and again, and all of them in turn.
            let turn = marks.len() % snapshot.pods().len();
            for id in [pod_of(&snapshot, asked), snapshot.pods()[turn]] {
                let pod = PodRef::of(&snapshot, id).unbound();
                let profile = model.profile_of(&pod).unwrap_or(model.fallback());
                let quick = model.place(profile, &mut occupancy, &pod, false);
                let plain = model.place(profile, &mut occupancy, &pod, true);
                let refused = model.refused(profile, &mut occupancy, &pod, &nodes);
                let infeasible: Vec<NodeId> =
                    plain.infeasible.iter().map(|(node, _)| *node).collect();
                prop_assert_eq!(&infeasible, &refused);
                prop_assert_eq!(quick, totals(plain), "{:?}", pod);
            }
        }
    }
}
