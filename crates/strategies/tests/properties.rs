//! What holds for every strategy and protection, whatever the cluster.
//!
//! Random small clusters, in which everything that some rule asks for occurs, and random policies.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use descheduler_cluster::{LabelSelector, Snapshot};
use descheduler_engine::{
    Args, ArgsSource, Diagnostics, Entry, History, Limits, LoopBreaker, Map, Node, Pass, Placement,
    Plan, Policy, Profile, Scalar, Span, Step, StrategyDef, Unobserved, Value, audit, plan,
};
use descheduler_scheduler::Scheduler;
use descheduler_strategies::{ALL, REGISTRY};
use descheduler_testkit::Cluster;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;

/// Arguments of each strategy to choose from; every strategy has to be here.
fn args_of(strategy: &str) -> Vec<serde_json::Value> {
    match strategy {
        "HighNodeUtilization" => vec![
            json!({"thresholds": {"cpu": 30}}),
            json!({"thresholds": {"pods": 3, "memory": 30}, "numberOfNodes": 1}),
            json!({
                "thresholds": {"gpu": 60}, "evictionModes": ["OnlyThresholdingResources"],
                "evictableNamespaces": {"exclude": ["y"]},
            }),
        ],
        "LowNodeUtilization" => vec![
            json!({"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 40}}),
            json!({"thresholds": {"pods": 2, "memory": 30}, "targetThresholds": {"pods": 3, "memory": 50}}),
            json!({
                "thresholds": {"cpu": 5}, "targetThresholds": {"cpu": 5},
                "useDeviationThresholds": true, "evictionLimits": {"node": 2},
                "evictableNamespaces": {"exclude": ["y"]},
            }),
        ],
        "PodLifeTime" => vec![
            json!({"maxPodLifeTimeSeconds": 3600}),
            json!({"states": ["Failed", "Pending", "CrashLoopBackOff"]}),
            json!({"maxPodLifeTimeSeconds": 60, "labelSelector": {"matchLabels": {"app": "web"}}}),
        ],
        "RemoveDuplicates" => vec![json!({}), json!({"excludeOwnerKinds": ["Job"]})],
        "RemoveFailedPods" => vec![
            json!({}),
            json!({"minPodLifetimeSeconds": 0, "reasons": ["Error"], "excludeOwnerKinds": ["Job"]}),
            json!({"exitCodes": [1], "includingInitContainers": true}),
        ],
        "RemovePodsHavingTooManyRestarts" => vec![
            json!({"podRestartThreshold": 1}),
            json!({"podRestartThreshold": 10, "states": ["Running"], "includingInitContainers": true}),
        ],
        "RemovePodsViolatingInterPodAntiAffinity" => {
            vec![json!({}), json!({"namespaces": {"exclude": ["y"]}})]
        }
        "RemovePodsViolatingNodeAffinity" => {
            let required = "requiredDuringSchedulingIgnoredDuringExecution";
            let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
            vec![
                json!({"nodeAffinityType": [required]}),
                json!({"nodeAffinityType": [preferred, required]}),
            ]
        }
        "RemovePodsViolatingNodeTaints" => {
            vec![json!({}), json!({"includePreferNoSchedule": true, "excludedTaints": ["gone"]})]
        }
        "RemovePodsViolatingTopologySpreadConstraint" => vec![
            json!({}),
            json!({"constraints": ["ScheduleAnyway"], "topologyBalanceNodeFit": false}),
            json!({
                "constraints": ["DoNotSchedule", "ScheduleAnyway"],
                "labelSelector": {"matchLabels": {"app": "web"}},
            }),
        ],
        other => panic!("give {other} some arguments here"),
    }
}

fn args_of_protections() -> Vec<serde_json::Value> {
    vec![
        json!({}),
        json!({"nodeFit": true}),
        json!({"nodeFit": true, "minReplicas": 2, "nodeSelector": "zone!=z2"}),
        json!({"minPodAge": "30m", "priorityThreshold": {"value": 1000}}),
        json!({"podProtections": {
            "defaultDisabled": ["PodsWithLocalStorage", "FailedBarePods", "DaemonSetPods", "SystemCriticalPods"],
            "extraEnabled": ["PodsWithPVC"],
        }}),
        json!({"nodeFit": true, "podProtections": {"extraEnabled": ["PodsWithoutPDB"]}}),
        json!({"noEvictionPolicy": "Mandatory", "namespaceLabelSelector": {"matchLabels": {"team": "a"}}}),
    ]
}

/// The lines of a random cluster.
fn clusters() -> impl Strategy<Value = Vec<String>> {
    let nodes = vec(node(), 2..7);
    let pods = vec(pod(), 0..24);
    let budgets = vec(budget(), 0..3);
    (nodes, pods, budgets).prop_map(|(nodes, pods, budgets)| {
        let count = nodes.len();
        let mut lines: Vec<String> =
            ["namespace x label:team=a", "namespace y", "pvc x/data class=fast"]
                .map(String::from)
                .into();
        let named = nodes.into_iter().enumerate();
        lines.extend(named.map(|(number, words)| format!("node n{number} {words}")));
        let named = pods.into_iter().enumerate();
        lines.extend(named.map(|(number, (namespace, place, words))| {
            let on = place.map(|place| format!("on=n{}", place % count)).unwrap_or_default();
            format!("pod {namespace}/p{number} {on} {words}")
        }));
        let named = budgets.into_iter().enumerate();
        lines.extend(
            named.map(|(number, (namespace, words))| {
                format!("budget {namespace}/b{number} {words}")
            }),
        );
        lines
    })
}

fn node() -> impl Strategy<Value = String> {
    words(vec![
        (4, vec!["label:zone=z1", "label:zone=z2"]),
        (2, vec!["cpu=1", "cpu=2", "allocatable:gpu=1"]),
        (2, vec!["pods=3", "memory=1Gi"]),
        (1, vec!["cordoned", "notready"]),
        (
            2,
            vec![
                "taint:dedicated=db:NoSchedule",
                "taint:soft:PreferNoSchedule",
                "taint:gone:NoExecute",
            ],
        ),
        (1, vec!["label:pool=x"]),
    ])
}

fn pod() -> impl Strategy<Value = (&'static str, Option<usize>, String)> {
    let words = words(vec![
        (
            9,
            vec![
                "owner=ReplicaSet/web",
                "owner=ReplicaSet/api",
                "owner=StatefulSet/db",
                "owner=Job/once",
                "owner=DaemonSet/agent",
                "owner=ReplicaSet/web owner=ReplicaSet/api",
            ],
        ),
        (9, vec!["label:app=web", "label:app=api", "label:app=db"]),
        (7, vec!["cpu=100m", "cpu=500m", "cpu=1500m memory=1Gi", "request:gpu=1"]),
        (3, vec!["image=x", "image=x,y"]),
        (
            2,
            vec![
                "nodeSelector:zone=z1",
                "affinity:zone=z2",
                "prefers:zone=z1:3",
                "affinity:zone=z1,z2",
            ],
        ),
        (2, vec!["apart:app=web", "apart:app=db@zone", "apart:app=web@zone"]),
        (2, vec!["toleration:dedicated=db:NoSchedule", "toleration:*", "toleration:gone"]),
        (4, vec!["age=10m", "age=1h30m", "age=3d"]),
        (2, vec!["priority=10", "priority=1000", "priority=2000000000"]),
        (
            1,
            vec![
                "phase=Failed",
                "phase=Succeeded",
                "phase=Pending",
                "unready",
                "waiting=CrashLoopBackOff",
            ],
        ),
        (1, vec!["restarts=3", "restarts=30"]),
        (1, vec!["terminating", "emptyDir", "pvc=data", "qos=Guaranteed", "qos=Burstable"]),
        (
            1,
            vec![
                "annotation:descheduler.alpha.kubernetes.io/evict=true",
                "annotation:descheduler.alpha.kubernetes.io/evict=false",
                "annotation:descheduler.alpha.kubernetes.io/prefer-no-eviction=",
            ],
        ),
        // What is merged into the pod comes last: these are lines of their own.
        (4, SPREAD.into()),
    ]);
    let place = prop_oneof![1 => Just(None), 12 => (0..6_usize).prop_map(Some)];
    (select(vec!["x", "x", "y"]), place, words)
}

/// Topology spread constraints.
const SPREAD: [&str; 4] = [
    "\n| spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone,
     |   whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]}",
    "\n| spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname,
     |   whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}]}",
    "\n| spec: {topologySpreadConstraints: [{maxSkew: 2, topologyKey: zone, minDomains: 3,
     |   whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: Honor, matchLabelKeys: [app],
     |   labelSelector: {}}, {maxSkew: 1, topologyKey: kubernetes.io/hostname,
     |   whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: api}}}]}",
    "\n| spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone,
     |   whenUnsatisfiable: ScheduleAnyway, nodeAffinityPolicy: Ignore,
     |   labelSelector: {matchExpressions: [{key: app, operator: Exists}]}}]}",
];

fn budget() -> impl Strategy<Value = (&'static str, String)> {
    let selector = select(vec!["selector:app=web", "selector:app=db", "everything"]);
    let words = (selector, 0..4_i64, select(vec!["", "", "unprocessed", "unhealthy=AlwaysAllow"]));
    let words = words
        .prop_map(|(selector, allowed, words)| format!("{selector} allowed={allowed} {words}"));
    (select(vec!["x", "y"]), words)
}

/// Of each list at most one word, in so many cases of ten.
fn words(lists: Vec<(u32, Vec<&'static str>)>) -> impl Strategy<Value = String> {
    let words: Vec<_> = lists
        .into_iter()
        .map(|(tenths, list)| prop_oneof![10 - tenths => Just(""), tenths => select(list)].boxed())
        .collect();
    words.prop_map(|words| words.join(" "))
}

/// A random policy, as what it is made of.
#[derive(Clone, Debug)]
struct Wish {
    limits: Limits,
    placement: Placement,
    pool: bool,
    profiles: Vec<WishOfProfile>,
}

/// What a profile is made of.
#[derive(Clone, Debug)]
struct WishOfProfile {
    /// The arguments of the protections.
    protections: serde_json::Value,
    /// The strategies with theirs.
    strategies: Vec<(&'static str, serde_json::Value)>,
    placement: Option<Placement>,
    pool: bool,
}

fn wishes() -> impl Strategy<Value = Wish> {
    let limit = || option::weighted(0.3, 0..5_u64);
    let limits = (limit(), limit(), limit()).prop_map(|(total, per_node, per_namespace)| Limits {
        total,
        per_node,
        per_namespace,
    });
    let names: Vec<&'static str> = ALL.iter().map(|def| def.name).collect();
    let strategies = subsequence(names, 1..=ALL.len()).prop_shuffle().prop_flat_map(|names| {
        let with_args = names.into_iter().map(|name| (Just(name), select(args_of(name))));
        with_args.collect::<Vec<_>>()
    });
    let placement = || select(vec![Placement::Off, Placement::Feasible, Placement::Improving]);
    let own = (option::weighted(0.2, placement()), prop::bool::weighted(0.1));
    let profile = (select(args_of_protections()), strategies, own).prop_map(
        |(protections, strategies, (placement, pool))| WishOfProfile {
            protections,
            strategies,
            placement,
            pool,
        },
    );
    let profiles = vec(profile, 1..3);
    (limits, placement(), prop::bool::weighted(0.1), profiles)
        .prop_map(|(limits, placement, pool, profiles)| Wish { limits, placement, pool, profiles })
}

fn policy(wish: &Wish) -> Policy {
    let pool = || LabelSelector::parse("pool=x").expect("it is a selector");
    let profiles = wish.profiles.iter().map(|wish| {
        let WishOfProfile { protections, strategies, placement, pool: in_pool } = wish;
        let steps = strategies.iter().map(|(name, args)| step(name, args));
        let (deschedule, balance) = steps.partition(|step| step.def.pass == Pass::Deschedule);
        let evictor = REGISTRY.evictor;
        let shield = read(evictor.name, protections, |args| (evictor.build)(args));
        Profile {
            name: String::new(),
            node_selector: in_pool.then(pool),
            placement: *placement,
            confidence: None,
            shield,
            deschedule,
            balance,
        }
    });
    Policy {
        node_selector: wish.pool.then(pool),
        limits: wish.limits,
        grace_period_seconds: None,
        eviction_failure_event_notification: false,
        placement: Some(wish.placement),
        confidence: Placement::CONFIDENCE,
        loop_breaker: LoopBreaker::default(),
        scheduler: Scheduler::default(),
        profiles: profiles.collect(),
    }
}

fn step(name: &str, args: &serde_json::Value) -> Step {
    let def: &'static StrategyDef =
        ALL.iter().find(|def| def.name == name).expect("it is a strategy");
    Step { def, strategy: Arc::from(read(name, args, |args| (def.build)(args))) }
}

/// Builds a plugin from arguments that have to be right.
fn read<T>(
    plugin: &str,
    args: &serde_json::Value,
    build: impl FnOnce(&mut Args<'_>) -> Option<T>,
) -> T {
    let mut diagnostics = Diagnostics::new("args");
    let value = value(args);
    let source = ArgsSource { plugin, value: Some(&value), fallback: Span::default() };
    let built = Args::read(source, &mut diagnostics, build);
    let said: Vec<&str> = diagnostics.iter().map(|found| &*found.message).collect();
    assert!(!diagnostics.has_errors(), "{plugin}: {said:?}");
    built.expect("nothing is wrong with it")
}

/// JSON as the reader of arguments wants it.
fn value(json: &serde_json::Value) -> Value {
    let span = Span::default();
    let node = match json {
        serde_json::Value::String(text) => Node::Scalar(Scalar::quoted(text)),
        serde_json::Value::Array(items) => Node::List(items.iter().map(value).collect()),
        serde_json::Value::Object(fields) => {
            let entries = fields.iter().map(|(key, json)| Entry {
                key: key.clone(),
                key_span: span,
                value: value(json),
            });
            Node::Map(Map { entries: entries.collect() })
        }
        plain => Node::Scalar(Scalar::plain(plain.to_string())),
    };
    Value { span, node }
}

/// Everything that a plan says.
fn text(plan: &Plan, snapshot: &Snapshot) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").expect("a string takes all");
    for eviction in &plan.evictions {
        let (pod, node) = (snapshot.pod_name(eviction.pod), &snapshot.node(eviction.node).name);
        let reason = &eviction.reason;
        line(format!("evict {pod} from {node}: {}: {reason:?}", eviction.strategy));
    }
    for run in &plan.report.runs {
        for refused in &run.refusals {
            let pod = snapshot.pod_name(refused.pod);
            line(format!("keep {pod}: {}: {}", run.strategy, refused.refusal));
        }
        for note in &run.notes {
            line(format!("note {}: {note}", run.strategy));
        }
    }
    for note in &plan.report.notes {
        line(format!("note {note}"));
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn every_plan_is_sound(lines in clusters(), wish in wishes(), seed in any::<u64>()) {
        let cluster = Cluster::parse(&lines.join("\n")).expect("the lines are right");
        let (snapshot, policy) = (cluster.snapshot(), policy(&wish));
        let made = || plan(&snapshot, &policy, &History::default(), &mut Unobserved);
        let first = made();
        let said = text(&first, &snapshot);

        prop_assert_eq!(audit(&first, &snapshot, &policy), [], "{}", said);
        prop_assert!(!said.contains("the strategy failed inside"), "{}", said);
        prop_assert_eq!(text(&made(), &snapshot), said.clone(), "the second time");

        let other = cluster.clone().shuffled(seed).snapshot();
        let again = plan(&other, &policy, &History::default(), &mut Unobserved);
        prop_assert_eq!(text(&again, &other), said, "in another order");

        for run in &first.report.runs {
            let pods = first.evictions.iter().filter(|eviction| {
                (eviction.profile, eviction.strategy) == (run.profile, run.strategy)
            });
            let pods: BTreeSet<_> = pods.map(|eviction| eviction.pod).collect();
            prop_assert!(run.planned <= pods.len());
            prop_assert!(run.refusals.iter().all(|refused| !pods.contains(&refused.pod)));
        }
    }
}

/// Nothing is shown by clusters in which nothing happens.
#[test]
fn every_strategy_finds_something() {
    let mut runner = TestRunner::deterministic();
    let mut found = BTreeSet::new();
    for _ in 0..1000 {
        let drawn = (clusters(), wishes()).new_tree(&mut runner).expect("nothing is filtered");
        let (lines, wish) = drawn.current();
        let snapshot = Cluster::parse(&lines.join("\n")).expect("the lines are right").snapshot();
        let plan = plan(&snapshot, &policy(&wish), &History::default(), &mut Unobserved);
        found.extend(plan.evictions.iter().map(|eviction| eviction.strategy));
    }
    let all: BTreeSet<&str> = ALL.iter().map(|def| def.name).collect();
    assert_eq!(found, all);
}
