//! A plan as one page of HTML, for people who were not there when it was made: to be attached to a
//! change, or looked at in a browser.
//!
//! The page is laid out in `templates/report.html`. It needs no network and runs no script, and what
//! comes from the cluster is escaped.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use askama::Template;
use descheduler_cluster::{NodeId, PodId, ResourceId, Snapshot};
use descheduler_engine::{Eviction, Plan, Refused, StrategyRun};

use super::Outcome;
use super::layout::clean;
use super::summary::{self, Group};

/// So many nodes are shown, those with the most moves.
const NODES_MAX: usize = 100;

/// So many pods of a group are named, and so many faults; JSON has them all.
const PODS_MAX: usize = 200;

/// The page.
///
/// # Errors
///
/// None that a page could have: the template is part of the program.
pub(crate) fn page(outcome: &Outcome<'_>) -> Result<String, askama::Error> {
    let changes = Changes::of(outcome.snapshot, outcome.plan);
    let runs = &outcome.plan.report.runs;
    let page = Page {
        verdict: summary::verdict(outcome),
        cluster: summary::cluster(outcome),
        keeps: runs.iter().any(|run| !run.refusals.is_empty()),
        runs: runs.iter().map(|run| Run::new(outcome, run)).collect(),
        turns: turns(outcome),
        more_nodes: changes.nodes.len().saturating_sub(NODES_MAX),
        nodes: changes.shown(outcome.snapshot),
        lands: changes.lands,
        notes: shown(summary::notes(outcome)),
        place: outcome.place,
        more_faults: outcome.anomalies.len().saturating_sub(PODS_MAX),
        faults: shown(outcome.anomalies.iter().take(PODS_MAX).map(ToString::to_string)),
        version: env!("CARGO_PKG_VERSION"),
    };
    page.render()
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'o> {
    verdict: String,
    cluster: String,
    runs: Vec<Run<'o>>,
    keeps: bool,
    turns: Vec<Turn<'o>>,
    nodes: Vec<NodeChange<'o>>,
    more_nodes: usize,
    /// Whether it is known where replacements land.
    lands: bool,
    notes: Vec<String>,
    place: &'static str,
    faults: Vec<String>,
    more_faults: usize,
    version: &'static str,
}

/// What a strategy did, and what it did not get.
struct Run<'o> {
    name: String,
    moves: usize,
    kept: usize,
    groups: Vec<KeptGroup<'o>>,
}

impl<'o> Run<'o> {
    fn new(outcome: &Outcome<'o>, run: &'o StrategyRun) -> Self {
        let groups = summary::groups(run);
        Self {
            name: summary::label(outcome, run.profile, run.strategy),
            moves: run.planned,
            kept: run.refusals.len(),
            groups: groups.iter().map(|group| KeptGroup::new(outcome, group)).collect(),
        }
    }
}

/// Pods that stay for one kind of reason.
struct KeptGroup<'o> {
    code: &'static str,
    count: usize,
    /// The reason that all of them share, or nothing.
    why: String,
    pods: Vec<KeptPod<'o>>,
    more: usize,
}

struct KeptPod<'o> {
    pod: String,
    node: Cow<'o, str>,
    /// Nothing where the group says it.
    why: String,
}

impl<'o> KeptGroup<'o> {
    fn new(outcome: &Outcome<'o>, group: &Group<'o>) -> Self {
        let Group { code, pods, same } = group;
        let why = |refused: &Refused| clean(&refused.refusal.to_string()).into_owned();
        let kept = pods.iter().take(PODS_MAX).map(|&refused| KeptPod {
            pod: pod_name(outcome.snapshot, refused.pod),
            node: outcome
                .snapshot
                .pod(refused.pod)
                .node
                .map_or("".into(), |node| node_name(outcome.snapshot, node)),
            why: if *same { String::new() } else { why(refused) },
        });
        Self {
            code,
            count: pods.len(),
            why: pods.first().filter(|_| *same).map_or_else(String::new, |first| why(first)),
            pods: kept.collect(),
            more: pods.len().saturating_sub(PODS_MAX),
        }
    }
}

/// Moves that stand together in the order of execution.
struct Turn<'o> {
    name: String,
    moves: Vec<Move<'o>>,
}

struct Move<'o> {
    /// Which one it is of all, from 1.
    number: usize,
    pod: String,
    from: Cow<'o, str>,
    /// Best guess first.
    to: Vec<Cow<'o, str>>,
    code: &'static str,
    why: Cow<'o, str>,
}

fn turns<'o>(outcome: &Outcome<'o>) -> Vec<Turn<'o>> {
    let snapshot = outcome.snapshot;
    let mut numbers = 1..;
    let mut row = |eviction: &'o Eviction| {
        let Eviction { pod, node, profile: _, strategy: _, reason, destinations, set: _ } =
            eviction;
        Move {
            number: numbers.next().unwrap_or_default(),
            pod: pod_name(snapshot, *pod),
            from: node_name(snapshot, *node),
            to: destinations.iter().map(|&node| node_name(snapshot, node)).collect(),
            code: reason.code,
            why: clean(&reason.detail),
        }
    };
    let turn = summary::turns(outcome).filter_map(|turn| {
        let Eviction { profile, strategy, .. } = turn.first()?;
        let name = summary::label(outcome, *profile, strategy);
        Some(Turn { name, moves: turn.iter().map(&mut row).collect() })
    });
    turn.collect()
}

/// Who leaves each node and who comes, as far as it changes.
struct Changes {
    nodes: BTreeMap<NodeId, (Vec<PodId>, Vec<PodId>)>,
    lands: bool,
}

impl Changes {
    fn of(snapshot: &Snapshot, plan: &Plan) -> Self {
        let mut changes = Self { nodes: BTreeMap::new(), lands: false };
        for Eviction { pod, node, destinations, .. } in &plan.evictions {
            // One that has ended holds no place, and nothing is known to come for it.
            if !snapshot.pod(*pod).is_active() {
                continue;
            }
            changes.nodes.entry(*node).or_default().0.push(*pod);
            if let Some(&best) = destinations.first() {
                changes.nodes.entry(best).or_default().1.push(*pod);
                changes.lands = true;
            }
        }
        changes
    }

    /// Those with the most moves first.
    fn shown<'o>(&self, snapshot: &'o Snapshot) -> Vec<NodeChange<'o>> {
        let mut nodes: Vec<_> = self.nodes.iter().collect();
        // By name where that is equal.
        nodes.sort_by_key(|(id, (leave, come))| {
            (Reverse(leave.len() + come.len()), &snapshot.node(**id).name)
        });
        nodes.truncate(NODES_MAX);
        let change = |(id, (leave, come)): (&NodeId, &(Vec<PodId>, Vec<PodId>))| {
            NodeChange::new(snapshot, *id, leave, come)
        };
        nodes.into_iter().map(change).collect()
    }
}

/// A node before and after.
struct NodeChange<'o> {
    name: Cow<'o, str>,
    leave: usize,
    come: usize,
    pods: (usize, usize),
    cpu: Share,
    memory: Share,
}

/// How much of what a node has is requested, in percent, before and after.
struct Share {
    before: i64,
    after: i64,
}

impl<'o> NodeChange<'o> {
    fn new(snapshot: &'o Snapshot, id: NodeId, leave: &[PodId], come: &[PodId]) -> Self {
        let sum = |pods: &mut dyn Iterator<Item = PodId>, resource| -> i64 {
            pods.map(|pod| snapshot.pod(pod).requests.get(resource)).sum()
        };
        let there = || {
            let pods = snapshot.pods_on(id).iter().copied();
            pods.filter(|&pod| snapshot.pod(pod).is_active())
        };
        let capacity = snapshot.node(id).measured_capacity();
        let share = |resource| {
            let before = sum(&mut there(), resource);
            let gone = sum(&mut leave.iter().copied(), resource);
            let new = sum(&mut come.iter().copied(), resource);
            Share::new([before, before - gone + new], capacity.get(resource))
        };
        let before = there().count();
        Self {
            name: node_name(snapshot, id),
            leave: leave.len(),
            come: come.len(),
            pods: (before, before + come.len() - leave.len()),
            cpu: share(ResourceId::CPU),
            memory: share(ResourceId::MEMORY),
        }
    }
}

impl Share {
    fn new(amounts: [i64; 2], capacity: i64) -> Self {
        // Wide enough for bytes of a hundred exbibytes.
        let percent = |amount: i64| match capacity {
            0 => 0,
            _ => i64::try_from(i128::from(amount) * 100 / i128::from(capacity)).unwrap_or(i64::MAX),
        };
        let [before, after] = amounts.map(percent);
        Self { before, after }
    }

    /// How long a bar is, of a hundred.
    fn bar(percent: &i64) -> i64 {
        (*percent).clamp(0, 100)
    }
}

fn pod_name(snapshot: &Snapshot, pod: PodId) -> String {
    clean(&snapshot.pod_name(pod)).into_owned()
}

fn node_name(snapshot: &Snapshot, node: NodeId) -> Cow<'_, str> {
    clean(&snapshot.node(node).name)
}

/// What could play tricks on a reader is shown as what it is.
fn shown(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    texts.into_iter().map(|text| clean(&text).into_owned()).collect()
}
