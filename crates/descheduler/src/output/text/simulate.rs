//! `simulate -o text`: first whether the policy settles, then cycle by cycle what moved where, then
//! what it came to.

mod compared;
mod measures;

use std::io::{self, Write};

use descheduler_sim::{Cycle, Disruption, Move, Outcomes, Run};

use super::page::{Page, Span};
use crate::commands::simulate::{Simulated, Simulation};
use crate::output::layout::{Ink, Screen, clean, count, padded, width};

/// So many moves of a cycle are shown; JSON has them all.
const MOVES_MAX: usize = 20;

/// So many cycles are shown with their moves; of a policy that never settles the first few tell all.
const CYCLES_MAX: usize = 10;

/// So many owners are shown.
const OWNERS_MAX: usize = 12;

/// Writes the simulation.
pub(crate) fn write(
    simulation: &Simulation,
    screen: Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Simulation { options, main, other, outcomes } = simulation;
    let mut page = Page::new(out, screen);
    if let Some(other) = other {
        for simulated in [main, other] {
            let text = format!("{}: {}", simulated.file, verdict(&simulated.run));
            page.paragraph(0, &[], &text, Ink::Bold)?;
        }
    } else {
        page.paragraph(0, &[], &sentence(&verdict(&main.run)), Ink::Bold)?;
    }
    if let Some(outcomes) = outcomes {
        page.paragraph(0, &[], &every(outcomes), Ink::Bold)?;
    }
    let before = &main.run.before;
    let cluster = format!(
        "the cluster as of {}: {}, {}; a cycle every {}, seed {}",
        main.run.cycles.first().map_or_else(String::new, |cycle| cycle.at.to_string()),
        count(before.nodes.len(), "node"),
        count(before.pods, "pod"),
        span(options.pace.interval.as_secs()),
        options.seed,
    );
    page.paragraph(0, &[], &cluster, Ink::Dim)?;
    if let Some(other) = other {
        return compared::write([main, other], &mut page);
    }
    cycles(main, &mut page)?;
    measures::write(main, &mut page)?;
    disruptions(&main.run.disruptions, &mut page)
}

/// Whether the policy comes to rest, in a few words.
fn verdict(run: &Run) -> String {
    let evictions: usize = run.cycles.iter().map(|cycle| cycle.moves.len()).sum();
    let all = count(evictions, "eviction");
    let last = run.cycles.last();
    match run.settled_after {
        Some(1) => "settles: there is nothing to do from the start".to_owned(),
        Some(number) => {
            let cycles = count(number as usize - 1, "cycle");
            let held = last.map_or(0, |cycle| cycle.cooling);
            let held = match held {
                0 => String::new(),
                held => format!(
                    ", but only because earlier moves did not help {} that would move again",
                    count(held, "pod")
                ),
            };
            format!("settles: {all} in {cycles}, then nothing more{held}")
        }
        None => {
            let moves = last.map_or(0, |cycle| cycle.moves.len());
            let cycles = count(run.cycles.len(), "cycle");
            format!("does not settle: {all} in {cycles}, {moves} of them in the last")
        }
    }
}

fn sentence(verdict: &str) -> String {
    format!("the policy {verdict}")
}

fn every(outcomes: &Outcomes) -> String {
    let Outcomes { worlds, complete, unsettled, settled, evictions: (fewest, most) } = *outcomes;
    let clusters = count(worlds, "different cluster");
    let all = match complete {
        true => format!("whatever the scheduler chooses ({clusters})"),
        false => format!("of all choices as many as can be followed ({clusters})"),
    };
    let rest = match (unsettled, settled) {
        (false, Some((first, last))) if first == last => format!("it rests in cycle {last}"),
        (false, Some((first, last))) => format!("it rests in cycle {first} to {last}"),
        (true, Some(_)) => "sometimes it rests and sometimes not".to_owned(),
        (_, None) => "it never rests".to_owned(),
    };
    let range = if fewest == most { format!("{most}") } else { format!("{fewest} to {most}") };
    format!("{all}: {rest}, after {range} evictions")
}

/// A span of time as people write it.
fn span(seconds: i64) -> String {
    let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number}{unit}"))
        .collect();
    if parts.is_empty() { "less than a second".to_owned() } else { parts.concat() }
}

fn cycles(simulated: &Simulated, page: &mut Page<'_>) -> io::Result<()> {
    let all = &simulated.run.cycles;
    for cycle in all.iter().take(CYCLES_MAX) {
        one_cycle(simulated, cycle, page)?;
    }
    if let Some(more) = all.len().checked_sub(CYCLES_MAX).filter(|&more| more > 0) {
        let moves: usize = all[CYCLES_MAX..].iter().map(|cycle| cycle.moves.len()).sum();
        let text = format!("and {} more with {}", count(more, "cycle"), count(moves, "eviction"));
        page.blank()?;
        page.paragraph(0, &[], &text, Ink::Dim)?;
    }
    Ok(())
}

fn one_cycle(simulated: &Simulated, cycle: &Cycle, page: &mut Page<'_>) -> io::Result<()> {
    let Cycle { number, at: _, moves, refused, cooling, pending } = cycle;
    let mut facts = match moves.len() {
        0 => vec!["nothing to do".to_owned()],
        moves => vec![count(moves, "eviction")],
    };
    if *refused > 0 {
        facts.push(format!("{refused} kept"));
    }
    if *cooling > 0 {
        facts.push(format!("{cooling} of them since a move did not help"));
    }
    if *pending > 0 {
        facts.push(format!("{} without a node", count(*pending, "pod")));
    }
    page.heading(&[
        Span::new(Ink::Bold, format!("Cycle {number}")),
        Span::new(Ink::Dim, format!("  {}", facts.join(", "))),
    ])?;
    let rows: Vec<[String; 4]> =
        moves.iter().take(MOVES_MAX).map(|moved| row(simulated, moved)).collect();
    let wide = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let [first, second, third] = [wide(0), wide(1), wide(2)];
    for ([pod, from, to, strategy], moved) in rows.iter().zip(moves) {
        let ink = if moved.landed.is_some() { Ink::Green } else { Ink::Yellow };
        page.line(&[
            Span::new(Ink::Plain, format!("  {}  ", padded(pod, first))),
            Span::new(Ink::Plain, format!("{}  ", padded(from, second))),
            Span::new(ink, format!("{}  ", padded(to, third))),
            Span::new(Ink::Dim, strategy),
        ])?;
    }
    page.more(2, moves.len() - rows.len())
}

/// The pod, where it was, where its replacement is, and the strategy.
fn row(simulated: &Simulated, moved: &Move) -> [String; 4] {
    let to = match (&moved.landed, moved.ended) {
        (Some(node), _) if *node == moved.node => format!("-> {node} again"),
        (Some(node), _) => format!("-> {node}"),
        (None, Some(_)) => "nothing came back".to_owned(),
        (None, None) => "waits for a node".to_owned(),
    };
    let strategy = match simulated.policy.profiles.len() {
        0 | 1 => moved.strategy.to_owned(),
        _ => format!("{} ({})", moved.strategy, simulated.profile(moved.profile)),
    };
    let pod = format!("{}/{}", moved.namespace, moved.name);
    [pod, moved.node.clone(), to, strategy].map(|cell| clean(&cell).into_owned())
}

fn disruptions(all: &[Disruption], page: &mut Page<'_>) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let mut all: Vec<&Disruption> = all.iter().collect();
    // Owners are sorted by name, which stays for those that are disrupted alike.
    all.sort_by_key(|disruption| std::cmp::Reverse(disruption.evictions));
    page.heading(&[
        Span::new(Ink::Bold, "Disruptions"),
        Span::new(Ink::Dim, format!("  evictions of {}", count(all.len(), "owner"))),
    ])?;
    let more = all.len().saturating_sub(OWNERS_MAX);
    all.truncate(OWNERS_MAX);
    let wide = all.iter().map(|one| width(&one.evictions.to_string())).max().unwrap_or(0);
    for Disruption { owner, evictions, pods } in all {
        let ink = if evictions > pods { Ink::Yellow } else { Ink::Plain };
        let name = format!("{} {}/{}", owner.kind, owner.namespace, owner.name);
        let evicted = format!("  {evictions:>wide$}  {name}");
        let of = format!("  {}", count(*pods, "pod"));
        page.line(&[Span::new(ink, evicted), Span::new(Ink::Dim, of)])?;
    }
    page.more(2, more)
}
