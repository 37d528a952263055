//! Two policies side by side.

use std::io;

use super::super::page::Page;
use super::measures::{Row, rows, table};
use crate::commands::simulate::Simulated;
use crate::output::layout::clean;

pub(super) fn write(pair: [&Simulated; 2], page: &mut Page<'_>) -> io::Result<()> {
    let mut all: Vec<Row> = Vec::new();
    let facts = pair.map(facts);
    let mut titles: Vec<&String> = Vec::new();
    for (title, _) in facts.iter().flatten() {
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    let cell = |at: usize, title: &String| {
        let found = facts[at].iter().find(|(known, _)| known == title);
        found.map_or_else(|| "-".to_owned(), |(_, text)| text.clone())
    };
    for title in titles {
        all.push(Row { title: title.clone(), cells: [cell(0, title), cell(1, title)] });
    }
    let names = pair.map(|simulated| clean(&simulated.file).into_owned());
    table("In the end", [&names[0], &names[1]], &all, page)
}

/// What came of one policy, as titles and numbers.
fn facts(simulated: &Simulated) -> Vec<(String, String)> {
    let run = &simulated.run;
    let evictions: usize = run.cycles.iter().map(|cycle| cycle.moves.len()).sum();
    let settled = run.settled_after.map_or_else(|| "never".to_owned(), |at| format!("cycle {at}"));
    let most = run.disruptions.iter().map(|one| one.evictions).max().unwrap_or(0);
    let moves = || run.cycles.iter().flat_map(|cycle| &cycle.moves);
    let back = moves().filter(|one| one.landed.as_ref() == Some(&one.node)).count();
    let lost = moves().filter(|one| one.landed.is_none()).count();
    let mut facts: Vec<(String, String)> = [
        ("at rest in", settled),
        ("evictions", evictions.to_string()),
        ("evictions that came back to their node", back.to_string()),
        ("evictions after which no pod runs", lost.to_string()),
        ("owners disrupted", run.disruptions.len().to_string()),
        ("evictions of one owner at most", most.to_string()),
    ]
    .map(|(title, text)| (title.to_owned(), text))
    .into();
    facts.extend(rows(simulated, &run.after));
    facts
}
