//! `-o text`: for a person who wants to know what would happen, and then why.
//!
//! First the verdict in a sentence, then the strategies in numbers, then every move in the order of
//! execution, then what stays, in groups, then what else is worth knowing.

pub(crate) mod explain;
mod kept;
mod moves;
mod page;
pub(crate) mod place;
pub(crate) mod simulate;

use std::collections::BTreeSet;
use std::io::{self, Write};

use descheduler_engine::StrategyRun;
use jiff::Timestamp;

use super::layout::{Ink, Screen, count, padded, width};
use super::notes::NOTHING;
use super::{Note, Outcome};
use page::{Page, Span};

/// So many notes and anomalies are shown; JSON has them all.
const LINES_MAX: usize = 15;

/// Writes the plan.
pub(crate) fn write(outcome: &Outcome<'_>, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(out, screen);
    verdict(outcome, &mut page)?;
    overview(outcome, &mut page)?;
    moves::write(outcome, &mut page)?;
    kept::write(outcome, &mut page)?;
    notes(outcome, &mut page)?;
    anomalies(outcome, &mut page)
}

fn verdict(outcome: &Outcome<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let Outcome { snapshot, plan, .. } = outcome;
    let moves = &plan.evictions;
    let text = if moves.is_empty() {
        format!("nothing would move: {}", why_nothing(outcome))
    } else {
        let strategies: BTreeSet<_> = moves.iter().map(|eviction| eviction.strategy).collect();
        let nodes: BTreeSet<_> = moves.iter().map(|eviction| eviction.node).collect();
        format!(
            "{} of {} would move: {}, {} relieved",
            moves.len(),
            count(snapshot.pods().len(), "pod"),
            count(strategies.len(), "strategy"),
            count(nodes.len(), "node"),
        )
    };
    page.paragraph(0, &[], &text, Ink::Bold)?;
    // The epoch is what is left when no object bears a date.
    let dated = match snapshot.taken_at() {
        moment if moment == Timestamp::UNIX_EPOCH => String::new(),
        moment => format!(" as of {moment}"),
    };
    let cluster = format!(
        "the cluster{dated}: {}, {}",
        count(snapshot.nodes().len(), "node"),
        count(snapshot.pods().len(), "pod"),
    );
    page.paragraph(0, &[], &cluster, Ink::Dim)
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

/// What each strategy did, in numbers, where there are several.
fn overview(outcome: &Outcome<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let runs = &outcome.plan.report.runs;
    let idle = runs.iter().all(|run| run.planned == 0 && run.refusals.is_empty());
    if runs.len() < 2 || idle {
        return Ok(());
    }
    let names: Vec<String> = runs.iter().map(|run| label(outcome, run)).collect();
    let wide = names.iter().map(|name| width(name)).max().unwrap_or_default();
    page.blank()?;
    page.line(&[Span::new(Ink::Dim, format!("{}  moves   kept", padded("", wide)))])?;
    for (run, name) in runs.iter().zip(&names) {
        let StrategyRun { planned, refusals, .. } = run;
        let ink = if *planned > 0 { Ink::Plain } else { Ink::Dim };
        let line = format!("{}  {planned:>5}  {:>5}", padded(name, wide), refusals.len());
        page.line(&[Span::new(ink, line)])?;
    }
    Ok(())
}

/// A strategy's name, with its profile where there are several.
fn label(outcome: &Outcome<'_>, run: &StrategyRun) -> String {
    strategy_label(outcome, run.profile, run.strategy)
}

fn strategy_label(outcome: &Outcome<'_>, profile: usize, strategy: &str) -> String {
    match outcome.policy.profiles.len() {
        0 | 1 => strategy.to_owned(),
        _ => format!("{strategy} ({})", outcome.profile(profile)),
    }
}

fn notes(outcome: &Outcome<'_>, page: &mut Page<'_>) -> io::Result<()> {
    // The same text of several strategies is one note.
    let mut texts: Vec<(&str, Vec<String>)> = Vec::new();
    for Note { strategy, text } in &outcome.notes {
        // The verdict says so.
        if text.starts_with(NOTHING) {
            continue;
        }
        let who = strategy.map(|(profile, strategy)| strategy_label(outcome, profile, strategy));
        match texts.iter_mut().find(|(known, _)| known == text) {
            Some((_, all)) => all.extend(who),
            None => texts.push((text, who.into_iter().collect())),
        }
    }
    if texts.is_empty() {
        return Ok(());
    }
    page.heading(&[Span::new(Ink::Bold, "Notes")])?;
    for (text, who) in texts.iter().take(LINES_MAX) {
        let text = match who.is_empty() {
            true => (*text).to_owned(),
            false => format!("{}: {text}", who.join(", ")),
        };
        page.paragraph(2, &[], &text, Ink::Plain)?;
    }
    page.more(2, texts.len().saturating_sub(LINES_MAX))
}

fn anomalies(outcome: &Outcome<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let Outcome { anomalies, place, .. } = outcome;
    if anomalies.is_empty() {
        return Ok(());
    }
    page.heading(&[
        Span::new(Ink::Bold, format!("Faults in {place}")),
        Span::new(Ink::Dim, format!("  {}; what they concern stays", anomalies.len())),
    ])?;
    for anomaly in anomalies.iter().take(LINES_MAX) {
        page.paragraph(2, &[], &anomaly.to_string(), Ink::Plain)?;
    }
    page.more(2, anomalies.len().saturating_sub(LINES_MAX))
}
