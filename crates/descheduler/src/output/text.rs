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

use std::io::{self, Write};

use descheduler_engine::StrategyRun;

use super::Outcome;
use super::layout::{Ink, Screen, padded, width};
use super::summary::{self, label};
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
    page.paragraph(0, &[], &summary::verdict(outcome), Ink::Bold)?;
    page.paragraph(0, &[], &summary::cluster(outcome), Ink::Dim)
}

/// What each strategy did, in numbers, where there are several.
fn overview(outcome: &Outcome<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let runs = &outcome.plan.report.runs;
    let idle = runs.iter().all(|run| run.planned == 0 && run.refusals.is_empty());
    if runs.len() < 2 || idle {
        return Ok(());
    }
    let names: Vec<String> =
        runs.iter().map(|run| label(outcome, run.profile, run.strategy)).collect();
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

fn notes(outcome: &Outcome<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let texts = summary::notes(outcome);
    if texts.is_empty() {
        return Ok(());
    }
    page.heading(&[Span::new(Ink::Bold, "Notes")])?;
    texts.iter().take(LINES_MAX).try_for_each(|text| page.paragraph(2, &[], text, Ink::Plain))?;
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
