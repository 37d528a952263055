//! `explain -o text`: for a person who asks why a pod goes or stays, or what is wrong with a node.
//!
//! First the verdict in a sentence, then each strategy in the order they run, with each check, its
//! numbers and what would turn it, and where the replacement would land.

mod node;

use std::io::{self, Write};

use descheduler_engine::{Account, Finding, Outcome, Outlook, PodStep, Reading, Refusal, Table};

use super::page::{Page, Span};
use super::place;
use crate::output::Outcome as World;
use crate::output::explain::{PodAnswer, because, changes, held, placed};
use crate::output::layout::{Ink, Screen, count, padded, width};
use crate::output::notes::NOTHING;

pub(crate) use node::write as write_node;

/// So many rows of a table are shown; JSON has them all.
const ROWS_MAX: usize = 12;

/// Checks have their names in a column of this width at most.
const CHECK_MAX: usize = 28;

/// Writes what there is to say about a pod.
pub(crate) fn write_pod(
    answer: &PodAnswer<'_>,
    screen: Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page::new(out, screen);
    verdict(answer, &mut page)?;
    let mut shown: Option<&Outlook> = None;
    for step in &answer.explanation.steps {
        strategy(answer, step, &mut page)?;
        let outlook = step.trial.outlook.as_ref();
        let placed = outlook.is_none_or(|outlook| outlook.refusal.is_none());
        advice(&changes(step), placed, &mut page)?;
        let asked = matches!(step.outcome, Outcome::Planned(_) | Outcome::Refused(_));
        if let Some(outlook) = outlook.filter(|_| asked) {
            if shown.is_none_or(|shown| !same_answers(shown, outlook)) {
                landing(answer, outlook, &mut page)?;
            }
            shown = Some(outlook);
        }
    }
    besides(answer, &mut page)?;
    let last = answer.explanation.steps.last();
    if let (None, Some(outlook)) = (shown, last.and_then(|step| step.trial.outlook.as_ref())) {
        landing(answer, outlook, &mut page)?;
    }
    let name = answer.world.snapshot.pod_name(answer.pod);
    faults(answer.world, "Pod", &name, &mut page)?;
    // Why there is no plan at all is said by the verdict.
    notes(answer.notes().filter(|note| !note.starts_with(NOTHING)), &mut page)
}

/// What could not be read of the object.
fn faults(world: &World<'_>, kind: &str, name: &str, page: &mut Page<'_>) -> io::Result<()> {
    let faults = world.faults_of(kind, name);
    if !faults.is_empty() {
        page.heading(&[Span::new(Ink::Bold, format!("Faults in {}", world.place))])?;
    }
    faults.iter().try_for_each(|fault| page.paragraph(2, &[], fault, Ink::Plain))
}

/// What is worth knowing about the plan as a whole.
fn notes<'n>(notes: impl Iterator<Item = &'n str>, page: &mut Page<'_>) -> io::Result<()> {
    let mut notes = notes.peekable();
    if notes.peek().is_some() {
        page.heading(&[Span::new(Ink::Bold, "Notes")])?;
    }
    notes.try_for_each(|note| page.paragraph(2, &[], note, Ink::Plain))
}

/// What would hold the pod if some strategy found fault with it.
fn besides(answer: &PodAnswer<'_>, page: &mut Page<'_>) -> io::Result<()> {
    for (profile, findings) in held(answer.explanation) {
        let verdict = Span::new(Ink::Dim, "whatever the strategy");
        heading("Protections and limits", answer.world.profile(profile), Some(verdict), page)?;
        gate(findings.iter().copied(), page)?;
        let against = findings.into_iter().filter(|finding| !finding.passes);
        advice(&against.collect::<Vec<_>>(), true, page)?;
    }
    Ok(())
}

fn verdict(answer: &PodAnswer<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let snapshot = answer.world.snapshot;
    let pod = snapshot.pod(answer.pod);
    let name = snapshot.pod_name(answer.pod);
    let place = match pod.node {
        Some(node) => format!("on {}", snapshot.node(node).name),
        None => "on no node".to_owned(),
    };
    let steps = &answer.explanation.steps;
    let refused = steps.iter().find_map(|step| match &step.outcome {
        Outcome::Refused(refusal) => Some((step.strategy, refusal)),
        _ => None,
    });
    let text = match (answer.planned(), refused) {
        (Some((step, eviction)), _) => {
            format!(
                "{name} {place} would be evicted by {}: {}",
                step.strategy, eviction.reason.detail
            )
        }
        (None, Some((strategy, refusal))) => {
            format!("{name} {place} stays, though {strategy} would move it: {refusal}")
        }
        (None, None) if steps.is_empty() => {
            let notes = answer.explanation.plan.report.notes.join("; ");
            let why = if notes.is_empty() { "the policy enables no strategy" } else { &notes };
            format!("{name} {place} stays: {why}")
        }
        (None, None) if steps.iter().all(|step| step.outcome == Outcome::Outside) => {
            format!("{name} {place} stays: no strategy works there")
        }
        (None, None) => format!("{name} {place} stays: no strategy finds fault with its place"),
    };
    page.paragraph(0, &[], &text, Ink::Bold)?;
    let owners: Vec<String> = pod
        .owners
        .iter()
        .map(|owner| format!("{} {}", snapshot.text(owner.kind), snapshot.text(owner.name)))
        .collect();
    let owners = match owners.is_empty() {
        true => "without an owner".to_owned(),
        false => format!("owned by {}", owners.join(" and ")),
    };
    let about = format!("phase {}, {owners}", pod.phase.as_str());
    page.paragraph(0, &[], &about, Ink::Dim)
}

fn strategy(answer: &PodAnswer<'_>, step: &PodStep, page: &mut Page<'_>) -> io::Result<()> {
    let (verdict, code, because) = because(step);
    let ink = match step.outcome {
        Outcome::Planned(_) => Ink::Green,
        Outcome::Refused(_) => Ink::Yellow,
        Outcome::PlannedBefore | Outcome::Outside | Outcome::NotConsidered => Ink::Dim,
    };
    let verdict = match code {
        "" => verdict.to_owned(),
        code => format!("{verdict}, {code}"),
    };
    let verdict = Span::new(ink, verdict);
    heading(step.strategy, answer.world.profile(step.profile), Some(verdict), page)?;
    if !because.is_empty() {
        page.paragraph(2, &[], &because, Ink::Plain)?;
    }
    if matches!(step.outcome, Outcome::PlannedBefore | Outcome::Outside) {
        return Ok(());
    }
    account(&step.account, page)?;
    if let Some(afterwards) = &step.afterwards {
        page.paragraph(2, &[], "after the other moves of this strategy:", Ink::Dim)?;
        account(afterwards, page)?;
    }
    for note in &step.notes {
        page.paragraph(2, &[], note, Ink::Dim)?;
    }
    if step.outcome == Outcome::NotConsidered {
        return Ok(());
    }
    if let Outcome::Refused(Refusal::Kept(reason)) = &step.outcome
        && step.account.passes()
    {
        mark(false, page, "the strategy itself", &reason.detail)?;
    }
    gate(&step.trial.findings, page)?;
    match &step.trial.outlook {
        Some(outlook) => findings(&[placement(answer, outlook)], page),
        None => Ok(()),
    }
}

/// The head of what a strategy says.
pub(super) fn heading(
    strategy: &str,
    profile: &str,
    verdict: Option<Span>,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let mut spans = vec![Span::new(Ink::Bold, strategy)];
    if !profile.is_empty() {
        spans.push(Span::new(Ink::Dim, format!("  profile {profile}")));
    }
    if let Some(verdict) = verdict {
        spans.extend([Span::new(Ink::Plain, "  "), verdict]);
    }
    page.heading(&spans)
}

/// What the strategy itself says.
pub(super) fn account(account: &Account, page: &mut Page<'_>) -> io::Result<()> {
    findings(&account.findings, page)?;
    account.tables.iter().try_for_each(|one| table(one, page))
}

/// What the gate says; protections that have nothing to say are counted.
fn gate<'f>(all: impl IntoIterator<Item = &'f Finding>, page: &mut Page<'_>) -> io::Result<()> {
    let silent = |finding: &&Finding| finding.passes && finding.detail.is_empty();
    let (silent, telling): (Vec<&Finding>, Vec<&Finding>) = all.into_iter().partition(silent);
    findings(telling, page)?;
    match silent.len() {
        0 => Ok(()),
        silent => {
            let text = format!("{} let it go", count(silent, "protection"));
            mark(true, page, "protections", &text)
        }
    }
}

fn findings<'f>(all: impl IntoIterator<Item = &'f Finding>, page: &mut Page<'_>) -> io::Result<()> {
    all.into_iter()
        .try_for_each(|finding| mark(finding.passes, page, &finding.check, &finding.detail))
}

fn mark(passes: bool, page: &mut Page<'_>, check: &str, detail: &str) -> io::Result<()> {
    let sign = match passes {
        true => Span::new(Ink::Green, "goes   "),
        false => Span::new(Ink::Red, "stays  "),
    };
    let name = Span::new(Ink::Plain, format!("{}  ", padded(check, CHECK_MAX)));
    page.paragraph(2, &[sign, name], detail, Ink::Plain)
}

fn placement(answer: &PodAnswer<'_>, outlook: &Outlook) -> Finding {
    let snapshot = answer.world.snapshot;
    let detail = match &outlook.refusal {
        Some(refusal) => refusal.to_string(),
        None if outlook.destinations.is_empty() => "it has ended and holds no place".to_owned(),
        None => {
            let names = outlook.destinations.iter().take(4);
            let names: Vec<&str> = names.map(|&node| &*snapshot.node(node).name).collect();
            let more = outlook.destinations.len() - names.len();
            let more = if more > 0 { format!(" or {more} more") } else { String::new() };
            format!("its replacement lands on {}{more}", names.join(" or "))
        }
    };
    Finding::new("placement", outlook.refusal.is_none(), detail)
}

/// A small table, in columns.
pub(super) fn table(table: &Table, page: &mut Page<'_>) -> io::Result<()> {
    let Table { title, columns, rows } = table;
    if rows.is_empty() {
        return Ok(());
    }
    page.paragraph(9, &[], title, Ink::Dim)?;
    let widths: Vec<usize> = (0..columns.len())
        .map(|at| {
            let cells = rows.iter().filter_map(|row| row.get(at)).chain(columns.get(at));
            cells.map(|cell| width(cell)).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).enumerate();
        let cells = cells.map(|(at, (cell, &wide))| match at {
            0 => padded(cell, wide),
            _ => format!("{cell:>wide$}"),
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    page.line(&[Span::new(Ink::Dim, format!("{:11}{}", "", line(columns)))])?;
    for row in rows.iter().take(ROWS_MAX) {
        page.line(&[Span::new(Ink::Plain, format!("{:11}{}", "", line(row)))])?;
    }
    page.more(11, rows.len().saturating_sub(ROWS_MAX))
}

/// Where the replacement would land, in the scheduler's words.
fn landing(answer: &PodAnswer<'_>, outlook: &Outlook, page: &mut Page<'_>) -> io::Result<()> {
    let name = answer.world.snapshot.pod_name(answer.pod);
    for reading in &outlook.readings {
        let head = format!("Where its replacement would land, {}", reading.old.text());
        page.heading(&[Span::new(Ink::Bold, head)])?;
        if !reading.known {
            let text = format!(
                "how the scheduler `{}` is configured is not known, so any of these may win",
                reading.scheduler
            );
            page.paragraph(2, &[], &text, Ink::Dim)?;
        }
        place::body(&placed(answer, &name, reading), page)?;
        against(answer, reading, page)?;
    }
    Ok(())
}

/// What speaks against nodes that could win, and how much is missing elsewhere.
fn against(answer: &PodAnswer<'_>, reading: &Reading, page: &mut Page<'_>) -> io::Result<()> {
    let snapshot = answer.world.snapshot;
    if !reading.against.is_empty() {
        page.paragraph(2, &[], "no improvement:", Ink::Dim)?;
    }
    for (node, reason) in reading.against.iter().take(ROWS_MAX) {
        let text = format!("{}, {reason}", snapshot.node(*node).name);
        page.paragraph(4, &[], &text, Ink::Plain)?;
    }
    page.more(4, reading.against.len().saturating_sub(ROWS_MAX))?;
    let least = reading.short.iter().min_by_key(|(_, _, asked, free)| asked - free);
    let Some(&(node, resource, asked, free)) = least else { return Ok(()) };
    let name = snapshot.resource_name(resource);
    let amount = |value| amount(name, value);
    let text = format!(
        "closest: {} has {} of {} free, and {} is asked for",
        snapshot.node(node).name,
        amount(free),
        name,
        amount(asked),
    );
    page.paragraph(2, &[], &text, Ink::Dim)
}

/// An amount of a resource as people write it.
fn amount(resource: &str, value: i64) -> String {
    let in_bytes =
        matches!(resource, "memory" | "ephemeral-storage") || resource.starts_with("hugepages-");
    let units = [("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
    let unit = units.into_iter().find(|(_, size)| value.abs() >= *size);
    match (resource, unit.filter(|_| in_bytes)) {
        ("cpu", _) => format!("{value}m"),
        (_, Some((unit, size))) => format!("{:.1}{unit}", value as f64 / size as f64),
        (_, None) => value.to_string(),
    }
}

fn same_answers(one: &Outlook, other: &Outlook) -> bool {
    let pairs = one.readings.iter().zip(&other.readings);
    one.readings.len() == other.readings.len()
        && pairs.into_iter().all(|(a, b)| a.answer == b.answer && a.against == b.against)
}

/// What would have to change for the pod to go.
fn advice(against: &[&Finding], placed: bool, page: &mut Page<'_>) -> io::Result<()> {
    let known = against.iter().filter_map(|finding| finding.change.as_deref());
    let known: Vec<&str> = known.collect();
    if known.is_empty() {
        return Ok(());
    }
    let head = match (against.len(), placed) {
        (1, true) => "what would let it go:",
        _ => "for it to go, among other things:",
    };
    page.paragraph(2, &[], head, Ink::Cyan)?;
    known.into_iter().try_for_each(|change| page.paragraph(4, &[], change, Ink::Plain))
}
