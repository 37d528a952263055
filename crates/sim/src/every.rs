//! All that could happen, on small clusters.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use descheduler_cluster::Snapshot;
use descheduler_engine::{History, Moved, Plan, Policy, Subject};
use jiff::Timestamp;

use crate::chance::Script;
use crate::run::{Options, Stage, Unsound};

/// A cluster of this many nodes is too large: there the scheduler looks only at some of them, and
/// where it begins is open every time.
pub const NODES_TOO_MANY: usize = 100;

/// So many different clusters are followed from one cycle to the next.
const WORLDS_MAX: usize = 200;

/// So many combinations of choices are tried from one of them.
const ROUNDS_MAX: usize = 2_000;

/// What came of following every choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcomes {
    /// Different clusters that were seen, the one at the start included.
    pub worlds: usize,
    /// Nothing had to be left out.
    pub complete: bool,
    /// Some cluster was still not at rest after the last cycle.
    pub unsettled: bool,
    /// The first and the last cycle in which some cluster was found at rest.
    pub settled: Option<(u32, u32)>,
    /// The fewest and the most evictions on the way to the end.
    pub evictions: (usize, usize),
}

/// Follows every choice that the scheduler has. Clusters that are alike, the names and ages of new
/// pods aside, are followed once.
///
/// # Errors
///
/// A plan is not sound.
pub fn every_outcome(
    snapshot: Snapshot,
    policy: &Policy,
    options: Options,
) -> Result<Outcomes, Unsound> {
    let start = Branch { stage: Stage::new(snapshot, options), evictions: (0, 0) };
    let mut all = Outcomes {
        worlds: 1,
        complete: true,
        unsettled: false,
        settled: None,
        evictions: (usize::MAX, 0),
    };
    let mut branches = vec![start];
    for number in 1..=options.cycles_max {
        let mut next: BTreeMap<Likeness, Branch> = BTreeMap::new();
        for branch in branches {
            let plan = branch.stage.plan(policy)?;
            if plan.evictions.is_empty() {
                let first = all.settled.map_or(number, |(first, _)| first);
                all.settled = Some((first, number));
                widen(&mut all.evictions, branch.evictions);
                continue;
            }
            all.complete &= follow(&branch, &plan, policy, &mut next);
        }
        all.worlds += next.len();
        branches = next.into_values().collect();
    }
    all.unsettled = !branches.is_empty();
    branches.iter().for_each(|branch| widen(&mut all.evictions, branch.evictions));
    Ok(all)
}

/// Carries a plan out in every way there is, and adds what comes of it; `false` if something had to
/// be left out.
fn follow(
    branch: &Branch,
    plan: &Plan,
    policy: &Policy,
    found: &mut BTreeMap<Likeness, Branch>,
) -> bool {
    let evicted = plan.evictions.len();
    let evictions = (branch.evictions.0 + evicted, branch.evictions.1 + evicted);
    let mut complete = true;
    let mut script = Script::default();
    for _ in 0..ROUNDS_MAX {
        let stage = branch.stage.clone();
        let (stage, _) = stage.carry_out(plan, policy, &mut script);
        let room = found.len() < WORLDS_MAX;
        match found.entry(Likeness::of(stage.world.snapshot(), &stage.history)) {
            Entry::Occupied(mut known) => widen(&mut known.get_mut().evictions, evictions),
            Entry::Vacant(new) if room => drop(new.insert(Branch { stage, evictions })),
            Entry::Vacant(_) => complete = false,
        }
        if !script.advance() {
            return complete;
        }
    }
    false
}

/// One cluster that things may have led to.
struct Branch {
    stage: Stage,
    /// The fewest and the most evictions that led to it.
    evictions: (usize, usize),
}

/// Has the fewest and the most stand for more clusters.
fn widen((fewest, most): &mut (usize, usize), by: (usize, usize)) {
    (*fewest, *most) = ((*fewest).min(by.0), (*most).max(by.1));
}

/// What a cluster has in common with those that differ from it in names alone.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Likeness {
    /// How many pods of each owner are on each node. Pods without an owner stand for themselves.
    pods: BTreeMap<(String, String), usize>,
    /// What was moved.
    moves: Vec<Way>,
    /// What failed: by whom and whose, when the last failure was seen, and in how many cycles.
    failures: Vec<(String, Option<Subject>, Timestamp, u32)>,
}

/// When, by whom, whose, from where, where to, and whether it helped.
type Way = (Timestamp, String, Subject, String, Option<String>, Option<bool>);

impl Likeness {
    fn of(snapshot: &Snapshot, history: &History) -> Self {
        let mut pods = BTreeMap::new();
        for &id in snapshot.pods() {
            let pod = snapshot.pod(id);
            let owner = pod.owners.first().map_or("", |owner| snapshot.text(owner.uid));
            let who = if owner.is_empty() { &pod.name } else { owner };
            let node = pod.node.map_or("", |node| &snapshot.node(node).name);
            *pods.entry((who.to_owned(), node.to_owned())).or_default() += 1;
        }
        let moves = history.moves().iter().map(|moved| {
            let Moved { at, strategy, subject, uid: _, from, to, successor: _, helped } = moved;
            (*at, strategy.clone(), subject.clone(), from.clone(), to.clone(), *helped)
        });
        let mut moves: Vec<Way> = moves.collect();
        moves.sort();
        let failures = history.streaks().map(|(strategy, subject, streak)| {
            (strategy.to_owned(), subject.cloned(), streak.seen, streak.cycles)
        });
        Self { pods, moves, failures: failures.collect() }
    }
}
