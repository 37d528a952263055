//! All that a run is a function of, made from a seed or read from a case.

use descheduler_sim::{Chance, Dice};
use descheduler_testkit::fixture::NOW;
use descheduler_testkit::{Case, Cluster, Format};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::faults::Faults;
use crate::lines;
use crate::rules::HIGH;
use crate::rules::words::{Lists, NODES, OWN, TEMPLATES, sorted};
use crate::settings::Settings;
use crate::world::{Budget, KNOWN, Key, Node, Pod, Workload, World};

/// The sections of a case.
pub(crate) const FORMAT: Format = Format { given: &["policy", "cluster", "run"], expected: &[] };

/// All that a run is a function of.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) settings: Settings,
    pub(crate) world: World,
    /// Cycles in which things go wrong, before the world stands still.
    pub(crate) cycles: u32,
    /// From one cycle to the next.
    pub(crate) interval: SignedDuration,
}

impl Scenario {
    pub(crate) fn random(seed: u64) -> Self {
        let mut dice = Dice::new(seed, "scenario");
        let dice = &mut dice;
        let settings = Settings::random(dice);
        let faults = match dice.pick(4) {
            0 => Faults::default(),
            _ => Faults::random(dice),
        };
        let mut world = World::new(NOW, faults);
        for number in 0..2 + dice.pick(6) {
            world.nodes.push(node(number, dice));
        }
        for number in 0..1 + dice.pick(6) {
            workload(number, &mut world, dice);
        }
        for number in 0..dice.pick(4) {
            let (namespace, app) = (["x", "y"][dice.pick(2)], ["web", "api", "db"][dice.pick(3)]);
            world.budgets.push(Budget {
                namespace: namespace.to_owned(),
                name: format!("b{number}"),
                app: app.to_owned(),
                min_available: i64::try_from(dice.pick(3)).expect("few"),
                always_allow: dice.pick(3) == 0,
                allowed: 0,
                healthy: 0,
                unprocessed: false,
            });
        }
        world.count();
        if settings.runs(HIGH) {
            world.pack();
        }
        let cycles = u32::try_from(1 + dice.pick(10)).expect("few");
        let interval = [30, 120, 300, 900][dice.pick(4)];
        Self { seed, settings, world, cycles, interval: SignedDuration::from_secs(interval) }
    }

    /// The scenario as a case.
    pub(crate) fn text(&self, about: &str) -> String {
        let Self { seed, settings, world, cycles, interval } = self;
        format!(
            "{about}\n\n-- policy --\n{}-- cluster --\n{}-- run --\nseed={seed} cycles={cycles} \
             interval={}\n{}\n",
            settings.text(),
            lines::of(world),
            interval.as_secs(),
            world.faults,
        )
    }

    /// Reads a case.
    pub(crate) fn parse(case: &Case) -> Result<Self, String> {
        let section = |name: &str| case.get(name).ok_or_else(|| format!("no section `{name}`"));
        let run = section("run")?;
        let (run, faults) = run.split_once('\n').unwrap_or((run, ""));
        let number = |name: &str| {
            let words = run.split_whitespace().filter_map(|word| word.split_once('='));
            let mut found = words.filter(|(key, _)| *key == name);
            let number = found.next().and_then(|(_, number)| number.parse::<u64>().ok());
            number.ok_or_else(|| format!("`{name}=` with a number"))
        };
        let settings = Settings::parse(section("policy")?)?;
        let mut world = lines::parse(section("cluster")?, faults.parse()?)?;
        if settings.runs(HIGH) {
            world.pack();
        }
        Ok(Self {
            seed: number("seed")?,
            settings,
            world,
            cycles: u32::try_from(number("cycles")?).map_err(|error| error.to_string())?,
            interval: SignedDuration::from_secs(number("interval")?.min(86_400).cast_signed()),
        })
    }
}

/// A node with some of its words.
pub(crate) fn node(number: usize, dice: &mut Dice) -> Node {
    let words = some_of(NODES, dice);
    let words = words.iter().flat_map(|words| words.split(' '));
    let state = |word: &&str| {
        *word == "cordoned" || *word == "notready" || word.starts_with("taint:node.kubernetes.io")
    };
    Node {
        name: format!("n{number}"),
        words: words.filter(|word| !state(word)).collect::<Vec<_>>().join(" "),
        cordoned: dice.pick(12) == 0,
        notready: dice.pick(20) == 0,
        tainted: dice.pick(12) == 0,
    }
}

/// An owner with its pods, wherever they are.
fn workload(number: usize, world: &mut World, dice: &mut Dice) {
    let kinds = ["ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "ReplicationController"];
    let kind = match dice.pick(12) {
        0 => "DaemonSet",
        1 => "",
        _ => kinds[dice.pick(kinds.len())],
    };
    let namespace = ["x", "x", "y"][dice.pick(3)].to_owned();
    let template = template(&some_of(TEMPLATES, dice));
    let workload = Workload {
        namespace,
        kind: kind.to_owned(),
        name: format!("w{number}"),
        replicas: dice.pick(7),
        template,
        vacant: Vec::new(),
    };
    // On so many of the nodes.
    let spread = match dice.pick(2) {
        0 => world.nodes.len(),
        _ => 1 + dice.pick(world.nodes.len()),
    };
    let mut ended = 0;
    for ordinal in 0..workload.replicas {
        let own = some_of(OWN, dice);
        let words = own.iter().flat_map(|words| words.split(' '));
        let (ages, words): (Vec<&str>, Vec<&str>) =
            words.partition(|word| word.starts_with("age="));
        let hours = ages.first().map_or(24, |_| [0, 2, 72, 2000][dice.pick(4)]);
        let has_ended = words.iter().any(|word| word.starts_with("phase="));
        ended += usize::from(has_ended && kind != "StatefulSet");
        world.born += 1;
        let placed = dice.pick(20) > 0 || has_ended;
        let node = placed.then(|| world.nodes[dice.pick(spread)].name.clone());
        world.pods.push(Pod {
            key: Key {
                namespace: workload.namespace.clone(),
                name: format!("w{number}-{ordinal}"),
                uid: format!("uid-{}", world.born),
            },
            owner: if kind.is_empty() { String::new() } else { workload.owner() },
            node,
            terminating: false,
            unready: words.contains(&"unready"),
            words: words
                .into_iter()
                .filter(|word| !["unready", "terminating"].contains(word))
                .collect::<Vec<_>>()
                .join(" "),
            patch: workload.template.clone(),
            made: NOW - SignedDuration::from_hours(hours),
            kept: false,
            lineage: world.born,
        });
    }
    if KNOWN.contains(&kind) {
        let replicas = workload.replicas - ended;
        world.workloads.push(Workload { replicas, ..workload });
    }
}

/// Labels and specification of pods with these words.
fn template(words: &[&str]) -> Value {
    let (words, patch) = sorted(words);
    let lines = format!("pod x/t {words}\n  | {patch}");
    let pod = Cluster::parse(&lines).unwrap_or_else(|faults| panic!("{faults}\n{lines}"));
    let pod: Value = serde_json::from_str(&pod.objects[0]).expect("it is JSON");
    json!({"metadata": {"labels": pod["metadata"]["labels"]}, "spec": pod["spec"]})
}

/// Of each list at most one word, in so many cases of ten.
fn some_of(lists: &'static Lists, dice: &mut Dice) -> Vec<&'static str> {
    let mut words = Vec::new();
    for (tenths, list) in lists {
        let word = list[dice.pick(list.len())];
        if dice.pick(10) < usize::try_from(*tenths).expect("few") {
            words.push(word);
        }
    }
    words
}
