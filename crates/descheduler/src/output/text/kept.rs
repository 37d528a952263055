//! What stays although a strategy would move it: in groups, since the same few reasons hold for
//! nearly all.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use descheduler_engine::{Refused, StrategyRun};

use super::label;
use super::page::{Page, Span};
use crate::output::Outcome;
use crate::output::layout::{Ink, count, padded, width};

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
    let counts = groups.iter().flatten().map(|group| width(&group.count.to_string()));
    let count_wide = counts.max().unwrap_or_default();
    for (at, (run, groups)) in runs.iter().zip(&groups).enumerate() {
        if at > 0 {
            page.blank()?;
        }
        let pods = format!("  {}", count(run.refusals.len(), "pod"));
        page.line(&[Span::new(Ink::Cyan, label(outcome, run)), Span::new(Ink::Dim, pods)])?;
        for group in groups {
            group.write(outcome, (count_wide, code_wide), page)?;
        }
    }
    Ok(())
}

/// The pods that one strategy does not get, for one kind of reason.
struct Group<'o> {
    code: &'static str,
    count: usize,
    examples: Vec<&'o Refused>,
    /// The reason is the same to the letter for all.
    same: bool,
}

/// The largest first.
fn groups(run: &StrategyRun) -> Vec<Group<'_>> {
    let mut by_code: BTreeMap<&str, Group<'_>> = BTreeMap::new();
    for refused in &run.refusals {
        let code = refused.refusal.code();
        let group = by_code.entry(code).or_insert_with(|| Group {
            code,
            count: 0,
            examples: Vec::new(),
            same: true,
        });
        group.count += 1;
        group.same &= group.examples.first().is_none_or(|first| first.refusal == refused.refusal);
        if group.examples.len() < EXAMPLES {
            group.examples.push(refused);
        }
    }
    let mut groups: Vec<_> = by_code.into_values().collect();
    groups.sort_by_key(|group| Reverse(group.count));
    groups
}

impl Group<'_> {
    fn write(
        &self,
        outcome: &Outcome<'_>,
        (count_wide, code_wide): (usize, usize),
        page: &mut Page<'_>,
    ) -> io::Result<()> {
        let Self { code, count, examples, same } = self;
        let name = |refused: &&Refused| outcome.snapshot.pod_name(refused.pod);
        let more = count - examples.len();
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
        let mut front = format!("{count:>count_wide$}  ");
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
}
