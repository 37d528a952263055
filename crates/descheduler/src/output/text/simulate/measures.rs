//! The cluster before and after.

use std::io;

use descheduler_sim::{Measures, NodeMeasure, Spread};

use super::super::page::{Page, Span};
use crate::commands::simulate::Simulated;
use crate::output::layout::{Ink, padded, width};

/// So many nodes are shown, those that changed most.
const NODES_MAX: usize = 12;

pub(super) fn write(simulated: &Simulated, page: &mut Page<'_>) -> io::Result<()> {
    let (before, after) = (&simulated.run.before, &simulated.run.after);
    let rows: Vec<Row> = rows(simulated, before)
        .into_iter()
        .zip(rows(simulated, after))
        .map(|((title, was), (_, is))| Row { title, cells: [was, is] })
        .collect();
    table("Before and after", ["before", "after"], &rows, page)?;
    nodes(&before.nodes, &after.nodes, page)
}

/// A line of a table of two columns.
pub(super) struct Row {
    pub(super) title: String,
    pub(super) cells: [String; 2],
}

/// Writes a table; a row whose columns differ stands out.
pub(super) fn table(
    heading: &str,
    columns: [&str; 2],
    rows: &[Row],
    page: &mut Page<'_>,
) -> io::Result<()> {
    let title_wide = rows.iter().map(|row| width(&row.title)).max().unwrap_or(0);
    let title_wide = title_wide.max(width(heading).saturating_sub(2));
    let wide = |at: usize| {
        let cells = rows.iter().map(|row| width(&row.cells[at]));
        cells.max().unwrap_or(0).max(width(columns[at]))
    };
    let [first, second] = [wide(0), wide(1)];
    page.heading(&[
        Span::new(Ink::Bold, padded(heading, title_wide + 4)),
        Span::new(Ink::Dim, format!("{:>first$}  {:>second$}", columns[0], columns[1])),
    ])?;
    for Row { title, cells: [left, right] } in rows {
        let ink = if left == right { Ink::Dim } else { Ink::Plain };
        let text = format!("  {}  {left:>first$}  {right:>second$}", padded(title, title_wide));
        page.line(&[Span::new(ink, text)])?;
    }
    Ok(())
}

/// What a cluster is like, as titles and numbers; the titles are the same for the same policy.
pub(super) fn rows(simulated: &Simulated, measures: &Measures) -> Vec<(String, String)> {
    let Measures { nodes, spread, violations, pending, pods: _ } = measures;
    let Spread { constraints, broken, excess, skew } = spread;
    let mut rows = Vec::new();
    for &(profile, strategy, pods) in violations {
        let profile = match simulated.policy.profiles.len() {
            0 | 1 => String::new(),
            _ => format!(" ({})", simulated.profile(profile)),
        };
        rows.push((format!("pods that {strategy}{profile} would move"), pods.to_string()));
    }
    rows.push(("pods without a node".to_owned(), pending.to_string()));
    if *constraints > 0 {
        let broken = format!("{broken} of {constraints}");
        rows.push(("spread constraints that are broken".to_owned(), broken));
        rows.push(("pods too many in their domains".to_owned(), excess.to_string()));
        rows.push(("largest skew".to_owned(), skew.to_string()));
    }
    for (what, share) in SHARES {
        let mut shares: Vec<u64> = nodes.iter().filter_map(share).collect();
        shares.sort_unstable();
        if let (Some(least), Some(most)) = (shares.first(), shares.last()) {
            let middle = shares[shares.len() / 2];
            let range = format!("{least}%..{middle}%..{most}%");
            rows.push((format!("{what} requested: least, median, most"), range));
        }
    }
    rows
}

/// What is shown of nodes.
type Share = fn(&NodeMeasure) -> Option<u64>;

const SHARES: [(&str, Share); 2] = [
    ("cpu", |node| percent(node.cpu, node.cpu_max)),
    ("memory", |node| percent(node.memory, node.memory_max)),
];

/// In percent, rounded; none of nothing.
fn percent(part: i64, whole: i64) -> Option<u64> {
    let (part, whole) = (u128::try_from(part).ok()?, u128::try_from(whole).ok()?);
    u64::try_from((part * 200 + whole) / (whole * 2).max(1)).ok().filter(|_| whole > 0)
}

/// The nodes that changed.
fn nodes(before: &[NodeMeasure], after: &[NodeMeasure], page: &mut Page<'_>) -> io::Result<()> {
    // A simulation adds no nodes and takes none away.
    let mut changed: Vec<(&NodeMeasure, &NodeMeasure)> =
        before.iter().zip(after).filter(|(was, is)| was != is).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let more = changed.len().saturating_sub(NODES_MAX);
    if more > 0 {
        let size = |(was, is): &(&NodeMeasure, &NodeMeasure)| {
            let cpu = |node: &NodeMeasure| percent(node.cpu, node.cpu_max).unwrap_or(0);
            (cpu(was).abs_diff(cpu(is)), was.pods.abs_diff(is.pods))
        };
        changed.sort_by_key(|pair| std::cmp::Reverse(size(pair)));
        changed.truncate(NODES_MAX);
    }
    let wide = changed.iter().map(|(was, _)| width(&was.name)).max().unwrap_or(0).max(11);
    page.heading(&[
        Span::new(Ink::Bold, padded("Nodes that changed", wide + 4)),
        Span::new(Ink::Dim, "          cpu        memory          pods"),
    ])?;
    let share = |of: Share, node| of(node).map_or_else(|| "-".to_owned(), |n| format!("{n}%"));
    for (was, is) in changed {
        let mut line = format!("  {}", padded(&was.name, wide));
        for (_, of) in SHARES {
            line += &format!("  {:>4} -> {:>4}", share(of, was), share(of, is));
        }
        line += &format!("  {:>4} -> {:>4}", was.pods, is.pods);
        page.line(&[Span::new(Ink::Plain, line)])?;
    }
    page.more(2, more)
}
