//! What stays although a strategy would move it: in groups, since the same few reasons hold for
//! nearly all.

use std::collections::BTreeSet;
use std::io;

use descheduler_engine::{Refused, StrategyRun};

use super::page::{Page, Span};
use crate::output::Outcome;
use crate::output::layout::{Ink, count, padded, width};
use crate::output::summary::{Group, groups, label};

/// So many pods of a group are named.
const EXAMPLES: usize = 2;

pub(super) fn write(outcome: &Outcome<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let runs: Vec<&StrategyRun> =
        outcome.plan.report.runs.iter().filter(|run| !run.refusals.is_empty()).collect();
    if runs.is_empty() {
        return Ok(());
    }
    let pods: BTreeSet<_> = runs.iter().flat_map(|run| &run.refusals).map(|r| r.pod).collect();
    let pods = format!("  {} that a strategy would move", count(pods.len(), "pod"));
    page.heading(&[Span::new(Ink::Bold, "Kept"), Span::new(Ink::Dim, pods)])?;
    let groups: Vec<Vec<Group<'_>>> = runs.iter().map(|run| groups(run)).collect();
    let codes = groups.iter().flatten().map(|group| width(group.code));
    let code_wide = codes.max().unwrap_or_default();
    let counts = groups.iter().flatten().map(|group| width(&group.pods.len().to_string()));
    let count_wide = counts.max().unwrap_or_default();
    for (at, (run, groups)) in runs.iter().zip(&groups).enumerate() {
        if at > 0 {
            page.blank()?;
        }
        let pods = format!("  {}", count(run.refusals.len(), "pod"));
        let name = label(outcome, run.profile, run.strategy);
        page.line(&[Span::new(Ink::Cyan, name), Span::new(Ink::Dim, pods)])?;
        for group in groups {
            write_group(outcome, group, (count_wide, code_wide), page)?;
        }
    }
    Ok(())
}

fn write_group(
    outcome: &Outcome<'_>,
    group: &Group<'_>,
    (count_wide, code_wide): (usize, usize),
    page: &mut Page<'_>,
) -> io::Result<()> {
    let Group { code, pods, same } = group;
    let name = |refused: &&Refused| outcome.snapshot.pod_name(refused.pod);
    let examples = &pods[..pods.len().min(EXAMPLES)];
    let more = pods.len() - examples.len();
    let mut lines = Vec::new();
    if *same {
        lines.extend(examples.first().map(|first| (first.refusal.to_string(), Ink::Plain)));
        let mut names = examples.iter().map(name).collect::<Vec<_>>().join(", ");
        if more > 0 {
            names += &format!(" and {more} more");
        }
        lines.push((names, Ink::Dim));
    } else {
        let line = |refused| (format!("{}: {}", name(refused), refused.refusal), Ink::Plain);
        lines.extend(examples.iter().map(line));
        if more > 0 {
            lines.push((format!("and {more} more"), Ink::Dim));
        }
    }
    let mut front = format!("{:>count_wide$}  ", pods.len());
    let mut code = padded(code, code_wide + 2);
    for (text, ink) in lines {
        page.paragraph(
            2,
            &[Span::new(Ink::Plain, front.as_str()), Span::new(Ink::Yellow, code.as_str())],
            &text,
            ink,
        )?;
        front = padded("", width(&front));
        code = padded("", width(&code));
    }
    Ok(())
}
