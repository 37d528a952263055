//! A plan in sentences and groups, which are the same in text and on a page.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use descheduler_engine::{Eviction, Refused, StrategyRun};
use jiff::Timestamp;

use super::layout::count;
use super::notes::NOTHING;
use super::{Note, Outcome};

/// What would happen, in one sentence.
pub(crate) fn verdict(outcome: &Outcome<'_>) -> String {
    let Outcome { snapshot, plan, .. } = outcome;
    let moves = &plan.evictions;
    if moves.is_empty() {
        return format!("nothing would move: {}", why_nothing(outcome));
    }
    let strategies: BTreeSet<_> = moves.iter().map(|eviction| eviction.strategy).collect();
    let nodes: BTreeSet<_> = moves.iter().map(|eviction| eviction.node).collect();
    format!(
        "{} of {} would move: {}, {} relieved",
        moves.len(),
        count(snapshot.pods().len(), "pod"),
        count(strategies.len(), "strategy"),
        count(nodes.len(), "node"),
    )
}

fn why_nothing(outcome: &Outcome<'_>) -> String {
    let plan = outcome.plan;
    let texts = outcome.notes.iter().map(|note| &note.text);
    if let Some(why) = texts.filter_map(|text| text.strip_prefix(NOTHING)).next() {
        return why.to_owned();
    }
    let refused = plan.report.runs.iter().flat_map(|run| &run.refusals);
    let refused: BTreeSet<_> = refused.map(|refused| refused.pod).collect();
    match (refused.len(), plan.report.runs.len()) {
        (_, 0) => "the policy enables no strategy".to_owned(),
        (0, 1) => "the one strategy enabled finds no pod to move".to_owned(),
        (0, runs) => format!("none of {} finds a pod to move", count(runs, "strategy")),
        (1, _) => "the one pod that a strategy would move has to stay".to_owned(),
        (pods, _) => format!("all {pods} pods that a strategy would move have to stay"),
    }
}

/// Which cluster, of which moment.
pub(crate) fn cluster(outcome: &Outcome<'_>) -> String {
    let snapshot = outcome.snapshot;
    // The epoch is what is left when no object bears a date.
    let dated = match snapshot.taken_at() {
        moment if moment == Timestamp::UNIX_EPOCH => String::new(),
        moment => format!(" as of {moment}"),
    };
    let nodes = count(snapshot.nodes().len(), "node");
    format!("the cluster{dated}: {nodes}, {}", count(snapshot.pods().len(), "pod"))
}

/// A strategy's name, with its profile where there are several.
pub(crate) fn label(outcome: &Outcome<'_>, profile: usize, strategy: &str) -> String {
    match outcome.policy.profiles.len() {
        0 | 1 => strategy.to_owned(),
        _ => format!("{strategy} ({})", outcome.profile(profile)),
    }
}

/// The moves in the order of execution. Strategies take turns, so those of one stand together.
pub(crate) fn turns<'o>(outcome: &Outcome<'o>) -> impl Iterator<Item = &'o [Eviction]> {
    let moves = &outcome.plan.evictions;
    moves.chunk_by(|a, b| (a.profile, a.strategy) == (b.profile, b.strategy))
}

/// The pods that one strategy does not get, for one kind of reason; never empty.
pub(crate) struct Group<'o> {
    pub(crate) code: &'static str,
    pub(crate) pods: Vec<&'o Refused>,
    /// The reason is the same to the letter for all.
    pub(crate) same: bool,
}

/// What stays although a strategy would move it: in groups, since the same few reasons hold for
/// nearly all. The largest first.
pub(crate) fn groups(run: &StrategyRun) -> Vec<Group<'_>> {
    let mut by_code: BTreeMap<&str, Vec<&Refused>> = BTreeMap::new();
    for refused in &run.refusals {
        by_code.entry(refused.refusal.code()).or_default().push(refused);
    }
    let groups = by_code.into_iter().map(|(code, pods)| {
        let same = pods.windows(2).all(|pair| pair[0].refusal == pair[1].refusal);
        Group { code, pods, same }
    });
    let mut groups: Vec<_> = groups.collect();
    groups.sort_by_key(|group| Reverse(group.pods.len()));
    groups
}

/// What else is worth knowing. The same text of several strategies is one note, and what the
/// verdict says is none.
pub(crate) fn notes(outcome: &Outcome<'_>) -> Vec<String> {
    let mut texts: Vec<(&str, Vec<String>)> = Vec::new();
    for Note { strategy, text } in &outcome.notes {
        if text.starts_with(NOTHING) {
            continue;
        }
        let who = strategy.map(|(profile, strategy)| label(outcome, profile, strategy));
        match texts.iter_mut().find(|(known, _)| known == text) {
            Some((_, all)) => all.extend(who),
            None => texts.push((text, who.into_iter().collect())),
        }
    }
    let texts = texts.into_iter().map(|(text, who)| match who.is_empty() {
        true => text.to_owned(),
        false => format!("{}: {text}", who.join(", ")),
    });
    texts.collect()
}
