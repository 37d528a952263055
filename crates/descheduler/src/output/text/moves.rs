//! Every move, in the order of execution. Strategies take turns, so the moves of one stand together
//! under its name.

use std::io;

use descheduler_engine::Eviction;

use super::page::{Page, Span};
use crate::output::Outcome;
use crate::output::layout::{Ink, clean, count, padded, width};
use crate::output::summary::{label, turns};

/// Reasons get at least this many columns, or what the longest needs; with less they go to a line
/// of their own.
const REASON_MIN: usize = 32;

/// In front of the moves of a strategy.
const INDENT: usize = 2;

const HEADING: &str = "Moves";

/// Between columns.
const GAP: usize = 2;

pub(super) fn write(outcome: &Outcome<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let moves = &outcome.plan.evictions;
    if moves.is_empty() {
        return Ok(());
    }
    let columns = Columns::measure(outcome, moves);
    let turns: Vec<&[Eviction]> = turns(outcome).collect();
    let screen = page.columns();
    match turns.iter().any(|turn| columns.leave_room(turn, screen)) {
        true => columns.heading(page)?,
        false => page.heading(&[Span::new(Ink::Bold, HEADING)])?,
    }
    for (at, turn) in turns.iter().enumerate() {
        let Some(first) = turn.first() else { continue };
        if at > 0 {
            page.blank()?;
        }
        let name = label(outcome, first.profile, first.strategy);
        let pods = format!("  {}", count(turn.len(), "pod"));
        page.line(&[Span::new(Ink::Cyan, name), Span::new(Ink::Dim, pods)])?;
        let in_columns = columns.leave_room(turn, screen);
        for eviction in *turn {
            let row = Row::new(outcome, eviction);
            match in_columns {
                true => row.write_in(&columns, page)?,
                false => row.write_stacked(page)?,
            }
        }
    }
    Ok(())
}

/// How wide the columns are: as wide as what stands in them.
struct Columns {
    pod: usize,
    from: usize,
    /// Nothing where no destination is known.
    to: usize,
}

impl Columns {
    fn measure(outcome: &Outcome<'_>, moves: &[Eviction]) -> Self {
        let mut columns = Self { pod: HEADING.len(), from: 4, to: 0 };
        for eviction in moves {
            let Row { pod, from, to, why: _ } = Row::new(outcome, eviction);
            columns.pod = columns.pod.max(width(&pod));
            columns.from = columns.from.max(width(&from));
            columns.to = columns.to.max(width(&to));
        }
        columns
    }

    /// Whether there is room enough behind them for the reasons of a turn, and for each of their
    /// words.
    fn leave_room(&self, turn: &[Eviction], screen: usize) -> bool {
        let Self { pod, from, to } = *self;
        let gaps = INDENT + if to > 0 { 3 * GAP } else { 2 * GAP };
        let room = screen.saturating_sub(gaps + pod + from + to);
        turn.iter().all(|Eviction { reason, .. }| {
            let longest = reason.detail.split(' ').map(width).max().unwrap_or_default();
            longest <= room && width(&reason.detail).min(REASON_MIN) <= room
        })
    }

    /// The heading of the part is that of its columns.
    fn heading(&self, page: &mut Page<'_>) -> io::Result<()> {
        let Self { pod, from, to } = *self;
        let mut names = padded("from", from + GAP);
        if to > 0 {
            names += &padded("to", to + GAP);
        }
        page.heading(&[
            Span::new(Ink::Bold, padded(HEADING, INDENT + pod + GAP)),
            Span::new(Ink::Dim, names + "why"),
        ])
    }

    fn front(&self, pod: &str, from: &str, to: &str) -> Vec<Span> {
        let mut cells = vec![
            Span::new(Ink::Plain, padded(pod, self.pod + GAP)),
            Span::new(Ink::Plain, padded(from, self.from + GAP)),
        ];
        if self.to > 0 {
            cells.push(Span::new(Ink::Green, padded(to, self.to + GAP)));
        }
        cells
    }
}

/// One move, as text.
struct Row<'o> {
    pod: String,
    from: String,
    to: String,
    why: &'o str,
}

impl<'o> Row<'o> {
    fn new(outcome: &'o Outcome<'_>, eviction: &'o Eviction) -> Self {
        let Eviction { pod, node, profile: _, strategy: _, reason, destinations, set: _ } =
            eviction;
        let name = |node| clean(&outcome.snapshot.node(node).name).into_owned();
        let to = match destinations[..] {
            [] => String::new(),
            [best] => name(best),
            [best, ..] => format!("{} or {} more", name(best), destinations.len() - 1),
        };
        Self {
            pod: clean(&outcome.snapshot.pod_name(*pod)).into_owned(),
            from: name(*node),
            to,
            why: &reason.detail,
        }
    }

    fn write_in(&self, columns: &Columns, page: &mut Page<'_>) -> io::Result<()> {
        let Self { pod, from, to, why } = self;
        page.paragraph(INDENT, &columns.front(pod, from, to), why, Ink::Plain)
    }

    fn write_stacked(&self, page: &mut Page<'_>) -> io::Result<()> {
        let Self { pod, from, to, why } = self;
        let mut spans = vec![
            Span::new(Ink::Plain, format!("{:INDENT$}{pod}", "")),
            Span::new(Ink::Dim, " from "),
            Span::new(Ink::Plain, from),
        ];
        if !to.is_empty() {
            spans.extend([Span::new(Ink::Dim, " to "), Span::new(Ink::Green, to)]);
        }
        page.line(&spans)?;
        page.paragraph(3 * INDENT, &[], why, Ink::Dim)
    }
}
