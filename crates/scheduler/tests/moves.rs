//! Pods that a plan moves count as if they stood where the plan put them: on random clusters,
//! after random changes, `place` says what it says of a cluster that was like that from the start.

use descheduler_cluster::{PodId, Snapshot};
use descheduler_scheduler::{Model, Occupancy, Placement, PodRef, Scheduler, Version};
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
    /// A pod like this one comes to a node.
    Place(Index, Index),
}

/// A pod in words.
#[derive(Clone, Debug)]
struct Words {
    node: Option<usize>,
    words: String,
}

/// A cluster in words, and the pod to be placed in it.
#[derive(Clone, Debug)]
struct Cluster {
    nodes: Vec<String>,
    pods: Vec<Words>,
    asked: String,
}

impl Cluster {
    fn snapshot(&self) -> Snapshot {
        let mut lines = vec![
            "namespace default label:team=a".to_owned(),
            "replicaset web label:app=web".to_owned(),
            "replicaset db label:app=db".to_owned(),
            // Bound, and for a single pod.
            "pvc one\n  | metadata: {annotations: {pv.kubernetes.io/bind-completed: \"yes\"}}\n  \
             | spec: {volumeName: one, accessModes: [ReadWriteOncePod]}"
                .to_owned(),
        ];
        let nodes = self.nodes.iter().enumerate();
        lines.extend(nodes.map(|(number, words)| format!("node n{number} {words}")));
        let pods = self.pods.iter().enumerate();
        lines.extend(pods.map(|(number, Words { node, words })| {
            let on = node.map(|node| format!("on=n{node}")).unwrap_or_default();
            format!("pod p{number} {on} {words}")
        }));
        lines.push(format!("pod asked {}", self.asked));
        snapshot(&lines.join("\n"))
    }

    fn pod(&self, index: Index) -> usize {
        index.index(self.pods.len())
    }

    /// Makes a change in the world of the model.
    fn apply<'s>(&self, change: &Change, snapshot: &'s Snapshot, occupancy: &mut Occupancy<'s>) {
        let id = |pod| pod_named(snapshot, &format!("p{}", self.pod(pod)));
        match *change {
            Change::Terminate(pod) => occupancy.terminate(id(pod)),
            Change::Remove(pod) => occupancy.remove(id(pod)),
            Change::Place(pod, node) => {
                let pod = PodRef::of(snapshot, id(pod)).unbound();
                occupancy.place(pod, snapshot.nodes()[self.node(node)]);
            }
        }
    }

    /// The same nodes over and over, so many that not all are looked at.
    fn widened(mut self) -> Self {
        self.nodes = self.nodes.iter().cycle().take(150).cloned().collect();
        self
    }

    fn node(&self, index: Index) -> usize {
        index.index(self.nodes.len())
    }

    /// Writes the changes down.
    fn changed(&self, changes: &[Change]) -> Self {
        let mut there: Vec<(bool, bool)> = vec![(true, false); self.pods.len()];
        let mut placed = Vec::new();
        for change in changes {
            match *change {
                Change::Terminate(pod) => there[self.pod(pod)].1 = true,
                Change::Remove(pod) => there[self.pod(pod)].0 = false,
                Change::Place(pod, node) => {
                    let words = self.pods[self.pod(pod)].words.clone();
                    placed.push(Words { node: Some(self.node(node)), words });
                }
            }
        }
        let pods = self.pods.iter().zip(there).filter_map(|(pod, (stays, ends))| {
            // A pod that is nowhere neither ends nor leaves.
            let Words { node: Some(_), words } = pod else { return Some(pod.clone()) };
            let (words, more) = words.split_once('\n').unwrap_or((words, ""));
            let ends = if ends { "terminating" } else { "" };
            stays.then(|| Words { words: format!("{words} {ends}\n{more}"), ..pod.clone() })
        });
        let pods = pods.chain(placed).collect();
        Self { pods, ..self.clone() }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<Index>;
    prop_oneof![
        index().prop_map(Change::Terminate),
        index().prop_map(Change::Remove),
        (index(), index()).prop_map(|(pod, node)| Change::Place(pod, node)),
    ]
}

fn node() -> impl Strategy<Value = String> {
    let zone = option::of(select(vec!["label:zone=a", "label:zone=b"]));
    let size = select(vec!["cpu=1", "cpu=2 memory=2Gi", "cpu=4 pods=4", "allocatable:a.b/gpu=2"]);
    let taint = option::weighted(0.3, select(vec!["taint:soft:PreferNoSchedule", "cordoned"]));
    (zone, size, taint)
        .prop_map(|(zone, size, taint)| [zone.unwrap_or(""), size, taint.unwrap_or("")].join(" "))
}

fn pod() -> impl Strategy<Value = String> {
    let owner = select(vec!["", "owner=ReplicaSet/web", "owner=ReplicaSet/db"]);
    let label = select(vec!["label:app=web", "label:app=db", ""]);
    let size = select(vec!["", "cpu=100m", "cpu=300m memory=500Mi", "request:a.b/gpu=1"]);
    let demand = option::weighted(
        0.5,
        select(vec!["affinity:zone=a", "prefers:zone=b:10", "apart:app=web", "apart:app=db@zone"]),
    );
    let claim = option::weighted(0.15, select(vec!["pvc=one"]));
    let more = option::weighted(
        0.6,
        select(vec![
            "topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]",
            "topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, minDomains: 3, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: db}}}]",
            "topologySpreadConstraints: [{topologyKey: zone, maxSkew: 2, whenUnsatisfiable: ScheduleAnyway, nodeTaintsPolicy: Honor, labelSelector: {matchExpressions: [{key: app, operator: Exists}]}}, {topologyKey: kubernetes.io/hostname, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: db}}}]",
            "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: db}}}]}}",
            "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 7, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: web}}}}]}}",
            "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 3, podAffinityTerm: {topologyKey: zone, namespaceSelector: {}, labelSelector: {matchLabels: {app: web}}}}]}}",
            "containers: [{name: c, ports: [{containerPort: 80, hostPort: 80}]}]",
            "volumes: [{name: v, awsElasticBlockStore: {volumeID: vol-1}}]",
            "volumes: [{name: v, gcePersistentDisk: {pdName: d, readOnly: true}}]",
        ]),
    );
    (owner, label, size, demand, claim, more).prop_map(
        |(owner, label, size, demand, claim, more)| {
            let claim = claim.filter(|_| !more.is_some_and(|more| more.starts_with("volumes")));
            let words = [owner, label, size, demand.unwrap_or(""), claim.unwrap_or("")].join(" ");
            match more {
                Some(more) => format!("{words}\n  | spec: {{{more}}}"),
                None => words,
            }
        },
    )
}

fn clusters() -> impl Strategy<Value = Cluster> {
    let pods = vec((option::weighted(0.9, any::<Index>()), pod()), 1..12);
    (vec(node(), 1..6), pods, pod()).prop_map(|(nodes, pods, asked)| {
        let pods = pods
            .into_iter()
            .map(|(node, words)| Words { node: node.map(|node| node.index(nodes.len())), words });
        Cluster { pods: pods.collect(), nodes, asked }
    })
}

fn pod_named(snapshot: &Snapshot, name: &str) -> PodId {
    let mut pods = snapshot.pods().iter().copied();
    pods.find(|&id| *snapshot.pod(id).name == *name).expect("there is such a pod")
}

/// Where the pod could go, in words that two snapshots share.
fn answer<'s>(model: &Model<'s>, occupancy: &mut Occupancy<'s>) -> String {
    let snapshot = model.snapshot();
    let pod = PodRef::of(snapshot, pod_named(snapshot, "asked"));
    let profile = model.profile_of(&pod).expect("it is served by the default profile");
    let placement = model.place(profile, occupancy, &pod, true);
    let Placement { rejected, error, feasible, infeasible, plugins } = &placement;
    let name = |node| &snapshot.node(node).name;
    let mut lines =
        vec![format!("{:?} {error:?}", rejected.map(|fault| (fault.code, fault.plugin)))];
    let totals = feasible.iter();
    lines.extend(
        totals.map(|one| format!("{} {} {plugins:?} {:?}", name(one.node), one.total, one.scores)),
    );
    lines.extend(infeasible.iter().map(|&(node, fault)| {
        let why = fault.why.text(snapshot);
        format!("{} {:?} {:?} {why}", name(node), fault.code, fault.plugin)
    }));
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn moved_pods_count_as_if_they_stood_there(
        cluster in clusters(),
        changes in vec(change(), 0..12),
        version in select(Version::ALL.to_vec()),
    ) {
        let scheduler = Scheduler { version, ..Scheduler::default() };
        let snapshot = cluster.snapshot();
        let model = Model::new(&snapshot, &scheduler);
        let mut occupancy = model.occupancy();
        let untouched = answer(&model, &mut occupancy);
        let mark = occupancy.mark();
        for change in &changes {
            cluster.apply(change, &snapshot, &mut occupancy);
        }
        let changed = cluster.changed(&changes).snapshot();
        let fresh = Model::new(&changed, &scheduler);
        let expected = answer(&fresh, &mut fresh.occupancy());
        prop_assert_eq!(answer(&model, &mut occupancy), expected);
        occupancy.undo_to(mark);
        prop_assert_eq!(answer(&model, &mut occupancy), untouched);
    }

    #[test]
    fn winners_are_the_same_with_and_without_reasons(
        cluster in prop_oneof![clusters(), clusters().prop_map(Cluster::widened)],
        changes in vec(change(), 0..6),
    ) {
        let snapshot = cluster.snapshot();
        let model = Model::new(&snapshot, &Scheduler::default());
        let mut occupancy = model.occupancy();
        // Nothing of what is remembered of the first times may be stale the last time.
        for change in changes.iter().map(Some).chain([None]) {
            for &id in snapshot.pods() {
                let pod = PodRef::of(&snapshot, id).unbound();
                let (_, winners) = model.decide(&mut occupancy, &pod, true);
                prop_assert_eq!(model.winners_for(&mut occupancy, &pod).unwrap_or_default(), winners);
            }
            if let Some(change) = change {
                cluster.apply(change, &snapshot, &mut occupancy);
            }
        }
    }
}
