//! What is worth saying besides moves and refusals: what could not be known, and what the strategies
//! have to say.

use descheduler_cluster::{Ingest, Kind, Snapshot};
use descheduler_controller::Missing;
use descheduler_engine::{Plan, Policy, Profile};
use jiff::Timestamp;

use super::Note;
use super::layout::count;

/// How a note begins that tells why there is no plan at all. The engine's begins so, too.
pub(crate) const NOTHING: &str = "nothing is planned: ";

/// What is worth knowing where something moves.
pub(crate) const NO_BUDGETS: &str =
    "the cluster files hold no PodDisruptionBudget: budgets are taken to be absent";

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
    let objects = count(usize::try_from(all).unwrap_or(usize::MAX), "object");
    let text = format!("skipped {objects} of kinds that no rule looks at: {}", named.join(", "));
    (!named.is_empty()).then_some(Note { strategy: None, text })
}

/// Kinds of a live cluster that may not be read.
pub(crate) fn unreadable(missing: &[Missing]) -> impl Iterator<Item = Note> {
    missing.iter().map(|Missing { resource, problem, without }| Note {
        strategy: None,
        text: format!("no right to read {resource}, so {without}; {problem}"),
    })
}

/// Without these nothing can be planned, or not well.
pub(crate) fn missing(snapshot: &Snapshot) -> Vec<Note> {
    let kinds = [(Kind::Node, "no nodes"), (Kind::Pod, "no pods")];
    let missing: Vec<&str> =
        kinds.iter().filter(|(kind, _)| !snapshot.has(*kind)).map(|(_, what)| *what).collect();
    let text = if !missing.is_empty() {
        format!("{NOTHING}the cluster files hold {}", missing.join(" and "))
    } else if snapshot.taken_at() == Timestamp::UNIX_EPOCH {
        "no object bears a timestamp and `--now` is not given: ages are counted from 1970"
            .to_owned()
    } else {
        return Vec::new();
    };
    vec![Note { strategy: None, text }]
}

/// How the moves of each profile are judged, where that is not the same for all.
pub(crate) fn modes(policy: &Policy) -> Option<Note> {
    let mode = |profile: &Profile| policy.placement_of(profile);
    if policy.profiles.windows(2).all(|pair| mode(&pair[0]) == mode(&pair[1])) {
        return None;
    }
    let named = policy.profiles.iter().map(|p| format!("{} in `{}`", mode(p).name(), p.name));
    let text = format!("placement differs by profile: {}", named.collect::<Vec<_>>().join(", "));
    Some(Note { strategy: None, text })
}

/// What the plan itself has to say.
pub(crate) fn of_plan(snapshot: &Snapshot, plan: &Plan, is_live: bool) -> Vec<Note> {
    let mut notes = missing(snapshot);
    // Budgets only ever forbid, so it takes a move for their absence to matter.
    // What may not be read of a live cluster is said by whoever read it.
    if !is_live && !plan.evictions.is_empty() && !snapshot.has(Kind::PodDisruptionBudget) {
        notes.push(Note { strategy: None, text: NO_BUDGETS.to_owned() });
    }
    // Why there is no plan is said once.
    let said = notes.iter().any(|note| note.text.starts_with(NOTHING));
    let new = plan.report.notes.iter().filter(|text| !(said && text.starts_with(NOTHING)));
    notes.extend(new.map(|text| Note { strategy: None, text: text.clone() }));
    for run in &plan.report.runs {
        let strategy = Some((run.profile, run.strategy));
        notes.extend(run.notes.iter().map(|text| Note { strategy, text: text.clone() }));
    }
    notes
}
