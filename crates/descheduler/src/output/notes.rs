//! What is worth saying besides moves and refusals: what could not be known, and what the strategies
//! have to say.

use descheduler_cluster::{Ingest, Kind, Snapshot};
use descheduler_engine::Plan;

use super::Note;

/// So many kinds of skipped objects are named.
const KINDS_MAX: usize = 8;

/// What was given besides what any rule looks at.
pub(crate) fn skipped(ingest: &Ingest) -> Option<Note> {
    let unknown = ingest.counts().iter().filter(|(kind, _)| !Ingest::knows(kind));
    let mut unknown: Vec<(&str, u64)> = unknown.map(|(kind, count)| (&**kind, *count)).collect();
    let all: u64 = unknown.iter().map(|(_, count)| count).sum();
    // Most frequent first; the names were sorted already.
    unknown.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let more = unknown.len().saturating_sub(KINDS_MAX);
    unknown.truncate(KINDS_MAX);
    let mut named: Vec<String> =
        unknown.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    if more > 0 {
        named.push(format!("{more} more kinds"));
    }
    let text =
        format!("skipped {all} objects of kinds that no rule looks at: {}", named.join(", "));
    (!named.is_empty()).then_some(Note { strategy: None, text })
}

/// Kinds without which nothing can be planned.
pub(crate) fn missing(snapshot: &Snapshot) -> Vec<Note> {
    let missing = [(Kind::Node, "nodes"), (Kind::Pod, "pods")];
    let missing = missing.into_iter().filter(|(kind, _)| !snapshot.has(*kind));
    let note = |(_, what)| Note {
        strategy: None,
        text: format!("the cluster files hold no {what}, so there is nothing to plan"),
    };
    missing.map(note).collect()
}

/// What the plan itself has to say.
pub(crate) fn of_plan(snapshot: &Snapshot, plan: &Plan) -> Vec<Note> {
    let mut notes = Vec::new();
    // Budgets only ever forbid, so it takes a move for their absence to matter.
    if !plan.evictions.is_empty() && !snapshot.has(Kind::PodDisruptionBudget) {
        let text = "the cluster files hold no PodDisruptionBudget: budgets are taken to be absent";
        notes.push(Note { strategy: None, text: text.to_owned() });
    }
    notes.extend(plan.report.notes.iter().map(|text| Note { strategy: None, text: text.clone() }));
    for run in &plan.report.runs {
        let strategy = Some((run.profile, run.strategy));
        notes.extend(run.notes.iter().map(|text| Note { strategy, text: text.clone() }));
    }
    notes
}
