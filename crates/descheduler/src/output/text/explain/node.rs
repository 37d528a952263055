//! What there is to say about one node.

use std::io::{self, Write};

use super::{account, faults, heading, notes};
use crate::output::explain::{Moves, NodeAnswer};
use crate::output::layout::{Ink, Screen, count};
use crate::output::text::page::{Page, Span};

/// So many pods are shown of a kind; JSON has them all.
const PODS_MAX: usize = 20;

/// Writes what there is to say about a node.
pub(crate) fn write(
    answer: &NodeAnswer<'_>,
    screen: Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page::new(out, screen);
    let moves = Moves::new(answer);
    verdict(answer, &moves, &mut page)?;
    for step in &answer.explanation.steps {
        let silent = step.account.findings.is_empty() && step.account.tables.is_empty();
        if silent && step.notes.is_empty() {
            continue;
        }
        heading(step.strategy, answer.world.profile(step.profile), None, &mut page)?;
        account(&step.account, &mut page)?;
        for note in &step.notes {
            page.paragraph(2, &[], note, Ink::Dim)?;
        }
    }
    let Moves { leaving, arriving, staying } = &moves;
    list("Leaving", leaving, &mut page, |pod| {
        let to = match &*pod.destinations {
            [] => String::new(),
            [best, ..] => format!(" -> {best}"),
        };
        (format!("{}/{}{to}", pod.namespace, pod.name), format!("{}: {}", pod.strategy, pod.reason))
    })?;
    list("Coming", arriving, &mut page, |pod| {
        let likely = if pod.likely { "" } else { ", if it does not land elsewhere" };
        (format!("{}/{}", pod.namespace, pod.name), format!("from {}{likely}", pod.from))
    })?;
    list("Staying, though a strategy would move it", staying, &mut page, |pod| {
        let why = format!("{}: {} ({})", pod.strategy, pod.reason, pod.code);
        (format!("{}/{}", pod.namespace, pod.name), why)
    })?;
    let node = answer.world.snapshot.node(answer.node);
    faults(answer.world, "Node", &node.name, &mut page)?;
    notes(answer.world.general_notes(), &mut page)
}

fn verdict(answer: &NodeAnswer<'_>, moves: &Moves<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let snapshot = answer.world.snapshot;
    let node = snapshot.node(answer.node);
    let state = match (node.ready, node.unschedulable) {
        (false, _) => "not ready, so no strategy works on it",
        (true, true) => "ready, cordoned",
        (true, false) => "ready",
    };
    let pods = count(snapshot.pods_on(answer.node).len(), "pod");
    let Moves { leaving, arriving, staying } = moves;
    let text = format!(
        "{} ({state}) holds {pods}: {} would leave, {} could come, {} would have to stay",
        node.name,
        leaving.len(),
        arriving.len(),
        staying.len(),
    );
    page.paragraph(0, &[], &text, Ink::Bold)
}

fn list<T>(
    title: &str,
    pods: &[T],
    page: &mut Page<'_>,
    line: impl Fn(&T) -> (String, String),
) -> io::Result<()> {
    if pods.is_empty() {
        return Ok(());
    }
    page.heading(&[
        Span::new(Ink::Bold, title),
        Span::new(Ink::Dim, format!("  {}", count(pods.len(), "pod"))),
    ])?;
    for pod in pods.iter().take(PODS_MAX) {
        let (name, why) = line(pod);
        page.line(&[Span::new(Ink::Plain, format!("  {name}"))])?;
        page.paragraph(6, &[], &why, Ink::Dim)?;
    }
    page.more(2, pods.len().saturating_sub(PODS_MAX))
}
