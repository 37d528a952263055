//! What must be true whatever happens, by counting of its own: nothing here asks the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use descheduler_cluster::Snapshot;
use descheduler_engine::{Eviction, Fate, Receipt};
use jiff::Timestamp;

use crate::rules::{FRESH, HIGH};
use crate::settings::Settings;
use crate::world::{Carried, Key, Pod, World};

/// A check that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Which.
    pub(crate) check: &'static str,
    /// Over what.
    pub(crate) what: String,
}

impl Failure {
    pub(crate) fn new(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, what: what.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check, self.what)
    }
}

/// A move of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) key: Key,
    pub(crate) node: String,
    pub(crate) strategy: &'static str,
    /// Where its successor may land, best guess first.
    pub(crate) destinations: Vec<String>,
    pub(crate) lineage: usize,
}

impl Planned {
    pub(crate) fn of(snapshot: &Snapshot, eviction: &Eviction, world: &World) -> Self {
        let name = |node| snapshot.node(node).name.to_string();
        let pod = snapshot.pod(eviction.pod);
        Self {
            key: Key {
                namespace: snapshot.text(pod.namespace).to_owned(),
                name: pod.name.to_string(),
                uid: pod.uid.to_string(),
            },
            node: name(eviction.node),
            strategy: eviction.strategy,
            destinations: eviction.destinations.iter().map(|&node| name(node)).collect(),
            lineage: world.pod(&pod.uid).map_or(0, |pod| pod.lineage),
        }
    }
}

/// What was asked of the API server.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) key: Key,
    /// Whether somebody had said by then that the pod must not be evicted.
    pub(crate) kept: bool,
    /// Whether an eviction of the pod that was asked for before was still to come.
    pub(crate) on_its_way: bool,
}

/// One cycle, when it is over.
pub(crate) struct Cycle<'r> {
    pub(crate) number: u32,
    /// When its plan began to be carried out.
    pub(crate) began: Timestamp,
    /// The world that it was planned from.
    pub(crate) seen: World,
    pub(crate) moves: Vec<Planned>,
    pub(crate) requests: Vec<Request>,
    /// All that was carried out in the run so far.
    pub(crate) carried: &'r [Carried],
    pub(crate) receipt: &'r Receipt,
    /// Whether nobody but us has done anything since it was seen, and nothing went wrong.
    pub(crate) calm: bool,
}

/// No strategy has failed inside, by what the report notes.
pub(crate) fn notes<'n>(mut notes: impl Iterator<Item = &'n str>) -> Result<(), Failure> {
    match notes.find(|note| note.contains("failed inside")) {
        Some(note) => Err(Failure::new("panic", note)),
        None => Ok(()),
    }
}

/// All that holds for every cycle.
pub(crate) fn every(cycle: &Cycle<'_>, settings: &Settings) -> Result<(), Failure> {
    limits(cycle, settings)?;
    budgets(cycle)?;
    uids(cycle)?;
    protected(cycle, settings)?;
    accounts(cycle)?;
    open(cycle)?;
    improves(cycle, settings)
}

/// Evictions never exceed the limits: not those that a cycle has asked for, whenever they were
/// carried out, and not those that were carried out since a cycle began, whoever asked.
pub(crate) fn limits(cycle: &Cycle<'_>, settings: &Settings) -> Result<(), Failure> {
    let asked = cycle.carried.iter().filter(|one| one.cycle == cycle.number);
    let before = cycle.carried.iter().filter(|one| one.cycle + 1 == cycle.number);
    let since = cycle.carried.iter().filter(|one| one.at >= cycle.began);
    for counted in [asked.collect::<Vec<_>>(), before.collect(), since.collect()] {
        let mut counts: BTreeMap<(usize, &str), u64> = BTreeMap::new();
        for Carried { key, node, .. } in counted {
            for place in [(0, ""), (1, node), (2, &key.namespace)] {
                *counts.entry(place).or_default() += 1;
            }
        }
        for ((kind, name), count) in counts {
            if settings.limits[kind].is_some_and(|limit| count > limit) {
                let what = ["in total", "of node", "in namespace"][kind];
                return Err(Failure::new("limits", format!("{count} evictions {what} {name}")));
            }
        }
    }
    Ok(())
}

/// No cycle takes more of a budget than that allowed when it was seen; and where nobody interferes,
/// the server never has to say so.
pub(crate) fn budgets(cycle: &Cycle<'_>) -> Result<(), Failure> {
    let mut taken: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for Carried { key, budget, .. } in cycle.carried.iter().filter(|one| one.cycle == cycle.number)
    {
        if let Some(budget) = budget {
            *taken.entry((&key.namespace, budget)).or_default() += 1;
        }
    }
    for budget in &cycle.seen.budgets {
        let taken = taken.get(&(&*budget.namespace, &*budget.name)).copied().unwrap_or(0);
        if taken > budget.allowed && (taken > 0 && budget_counts(cycle, budget.name.as_str())) {
            let what =
                format!("{taken} taken of {}, which allowed {}", budget.name, budget.allowed);
            return Err(Failure::new("budgets", what));
        }
    }
    let blocked = cycle.receipt.records.iter().find(|one| one.fate == Fate::BlockedByBudget);
    match blocked.filter(|_| cycle.calm) {
        Some(record) => {
            let pod = &record.target.pod.name;
            Err(Failure::new("budgets", format!("the budget of {pod} had nothing left")))
        }
        None => Ok(()),
    }
}

/// Whether all pods that were taken from a budget were its own when they were seen, and ready: one
/// that got ready meanwhile, or was placed, may be charged to a budget that did not count it.
fn budget_counts(cycle: &Cycle<'_>, budget: &str) -> bool {
    let mut charged = cycle
        .carried
        .iter()
        .filter(|one| one.cycle == cycle.number && one.budget.as_deref() == Some(budget));
    charged.all(|one| cycle.seen.pod(&one.key.uid).is_some_and(|pod| !pod.is_unready()))
}

/// Nothing is asked for a pod that is protected.
pub(crate) fn protected(cycle: &Cycle<'_>, settings: &Settings) -> Result<(), Failure> {
    for Request { key, kept, .. } in &cycle.requests {
        let Some(pod) = cycle.seen.pod(&key.uid) else {
            return Err(Failure::new("protected", format!("{} was not seen", key.name)));
        };
        let meanwhile = kept.then_some("its annotation says so by now");
        if let Some(why) = protection(pod, &cycle.seen, settings).or(meanwhile) {
            return Err(Failure::new("protected", format!("{}: {why}", key.name)));
        }
    }
    Ok(())
}

/// What protects a pod.
fn protection(pod: &Pod, world: &World, settings: &Settings) -> Option<&'static str> {
    const EVICT: &str = "annotation:descheduler.alpha.kubernetes.io/evict=";
    let has = |word: &str| pod.words.split(' ').any(|known| known == word);
    if pod.terminating {
        return Some("it is being deleted");
    }
    if pod.kept || has(&format!("{EVICT}false")) {
        return Some("its annotation says so");
    }
    if has(&format!("{EVICT}true")) {
        return None;
    }
    if pod.owner.is_empty() {
        return Some("nobody owns it");
    }
    if pod.owner.starts_with("DaemonSet/") {
        return Some("a DaemonSet owns it");
    }
    if settings.mode != "Off" && has("annotation:karpenter.sh/do-not-disrupt=true") {
        return Some("it is not to be disrupted");
    }
    let spec = &pod.patch["spec"];
    let volumes = spec["volumes"].as_array().map_or(&[][..], Vec::as_slice);
    let local = volumes.iter().any(|volume| !volume["emptyDir"].is_null());
    if local && !settings.has("evictLocalStoragePods: true") {
        return Some("it has local storage");
    }
    let priority = spec["priority"].as_i64().unwrap_or(0);
    if settings.has("priorityThreshold: {value: 500}") && priority >= 500 {
        return Some("it is important");
    }
    let siblings = world
        .pods
        .iter()
        .filter(|other| (&other.key.namespace, &other.owner) == (&pod.key.namespace, &pod.owner));
    let alone = settings.has("minReplicas: 2") && siblings.count() < 2;
    alone.then_some("its owner has no other")
}

/// Every request is for a pod that was planned, as it was then; and nothing else was evicted.
pub(crate) fn uids(cycle: &Cycle<'_>) -> Result<(), Failure> {
    let planned: BTreeSet<&Key> = cycle.moves.iter().map(|planned| &planned.key).collect();
    let asked: BTreeSet<&Key> = cycle.requests.iter().map(|request| &request.key).collect();
    let strange = asked.iter().find(|key| key.uid.is_empty() || !planned.contains(*key));
    if let Some(key) = strange {
        return Err(Failure::new("uids", format!("{key:?} was not planned")));
    }
    let mut carried = cycle.carried.iter().filter(|one| one.cycle == cycle.number);
    match carried.find(|one| !asked.contains(&one.key)) {
        Some(one) => Err(Failure::new("uids", format!("{:?} was not asked for", one.key))),
        None => Ok(()),
    }
}

/// A pod whose eviction may still come is left alone until it is known that it does not.
pub(crate) fn open(cycle: &Cycle<'_>) -> Result<(), Failure> {
    match cycle.requests.iter().find(|request| request.on_its_way) {
        Some(Request { key, .. }) => {
            let what = format!("{} is asked for again, but may still go", key.name);
            Err(Failure::new("open", what))
        }
        None => Ok(()),
    }
}

/// The receipt tells of every planned eviction once, and tells the truth.
pub(crate) fn accounts(cycle: &Cycle<'_>) -> Result<(), Failure> {
    let told = cycle.receipt.records.iter().map(|record| &*record.target.pod.uid);
    let planned = cycle.moves.iter().map(|planned| &*planned.key.uid);
    if !told.eq(planned) {
        return Err(Failure::new("accounts", "the receipt is not about the plan"));
    }
    for record in &cycle.receipt.records {
        let uid = &*record.target.pod.uid;
        let mut carried = cycle.carried.iter();
        let carried = carried.any(|one| one.cycle == cycle.number && one.key.uid == *uid);
        let wrong = match &record.fate {
            Fate::NotTried(_) | Fate::Replaced | Fate::Denied(_) | Fate::BlockedByBudget => carried,
            Fate::Conflict | Fate::ThrottledOut | Fate::Unreached(_) => carried,
            Fate::Evicted | Fate::InBackground | Fate::Gone | Fate::Unknown(_) => false,
        };
        if wrong {
            let what = format!("{uid} was evicted, but its fate is {}", record.fate.code());
            return Err(Failure::new("accounts", what));
        }
    }
    Ok(())
}

/// If everything goes as planned, no strategy has more to do afterwards, and one has less.
pub(crate) fn improves(cycle: &Cycle<'_>, settings: &Settings) -> Result<(), Failure> {
    let Cycle { seen, moves, .. } = cycle;
    if !settings.is_improving() || moves.is_empty() || seen.has_placeable() {
        return Ok(());
    }
    let (before, after) = (seen.snapshot(), seen.predicted(moves).snapshot());
    let mut fell = settings.runs(HIGH);
    for rule in &settings.rules {
        let (worst, worse) = (rule.worst(&before, &before), rule.worst(&after, &before));
        if worse > worst {
            let what = format!("{}: {worst} before, {worse} after", rule.name);
            return Err(Failure::new("improves", what));
        }
        fell |= rule.sum(&after, &before) < rule.sum(&before, &before);
    }
    match fell {
        true => Ok(()),
        false => Err(Failure::new("improves", "nothing is better afterwards")),
    }
}

/// A policy on its way to rest, in a world that stands still otherwise.
pub(crate) struct Settling {
    /// So many cycles it may take.
    left: usize,
    /// By what pods have in common with those that they came in place of.
    moves: BTreeMap<usize, Vec<Way>>,
}

/// Who has moved a pod from where, and where that led, once that is known.
type Way = (&'static str, String, Option<String>);

impl Settling {
    pub(crate) fn new(settings: &Settings, world: &World) -> Self {
        let limited = settings.limits.iter().any(Option::is_some) || !world.budgets.is_empty();
        let left = 12 + if limited { 3 * world.pods.len() } else { 0 };
        Self { left, moves: BTreeMap::new() }
    }

    /// Whether there is time for one more cycle.
    pub(crate) fn has_time(&mut self, must_settle: bool) -> bool {
        if !must_settle {
            self.left = self.left.min(3);
        }
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }

    /// What is planned now, when the moves before have led somewhere.
    ///
    /// # Errors
    ///
    /// It has been done before, or undoes what has been done.
    pub(crate) fn moved(&mut self, moves: &[Planned], seen: &World) -> Result<(), Failure> {
        for pod in &seen.pods {
            let last = self.moves.get_mut(&pod.lineage).and_then(|moves| moves.last_mut());
            if let (Some((_, _, to @ None)), Some(node), false) = (last, &pod.node, pod.terminating)
            {
                *to = Some(node.clone());
            }
        }
        for Planned { key, node, strategy, lineage, destinations } in moves {
            let before = self.moves.entry(*lineage).or_default();
            let fresh = FRESH.contains(strategy);
            if !fresh && before.iter().any(|(by, ..)| by == strategy) {
                let what = format!("{strategy} moves {} a second time: {before:?}", key.name);
                return Err(Failure::new("twice", what));
            }
            let undone = before.iter().find(|(by, from, to)| {
                to.as_ref() == Some(node) && destinations.first() == Some(from) && by != strategy
            });
            if let Some((by, ..)) = undone.filter(|(by, ..)| !fresh && !FRESH.contains(by)) {
                let what = format!("{strategy} undoes for {} what {by} has done", key.name);
                return Err(Failure::new("undone", what));
            }
            before.push((strategy, node.clone(), None));
        }
        Ok(())
    }

    pub(crate) fn never_rests(&self) -> Failure {
        Failure::new("rest", format!("there is still something to do; {:?}", self.moves))
    }
}
