//! Diagnostics for people: the line, a caret, the help.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use descheduler_engine::{Diagnostic, Diagnostics, Severity, Span};

use crate::source;

/// For what kind of screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Text alone.
    Plain,
    /// With the colours of a terminal.
    Coloured,
}

/// All diagnostics of a file as text, in the order of their places; `bytes` is the content of the
/// file. Ends with a newline unless there is nothing to say.
pub fn render(diagnostics: &Diagnostics, bytes: &[u8], style: Style) -> String {
    let source = source::text(bytes);
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    let each: Vec<String> =
        diagnostics.iter().map(|diagnostic| one(diagnostic, &source, &renderer)).collect();
    match each.is_empty() {
        true => String::new(),
        false => each.join("\n\n") + "\n",
    }
}

fn one(diagnostic: &Diagnostic, source: &str, renderer: &Renderer) -> String {
    let Diagnostic { severity, code, message, file, span, help, related } = diagnostic;
    let level = match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let primary = clipped(*span, source);
    let others: Vec<(Range<usize>, &str)> =
        related.iter().map(|(span, label)| (clipped(*span, source), label.as_str())).collect();

    // Only the lines concerned, since the renderer looks at every line that it is given.
    let first = others.iter().map(|(range, _)| range.start).fold(primary.start, usize::min);
    let last = others.iter().map(|(range, _)| range.end).fold(primary.end, usize::max);
    let start = source[..first].rfind('\n').map_or(0, |newline| newline + 1);
    let end = source[last..].find('\n').map_or(source.len(), |newline| last + newline);
    let line = related.iter().map(|(span, _)| span.line).fold(span.line, u32::min);
    let inside = |range: Range<usize>| range.start - start..range.end - start;

    let snippet = Snippet::source(&source[start..end])
        .line_start(usize::try_from(line).unwrap_or(1))
        .path(file.as_ref())
        .annotation(AnnotationKind::Primary.span(inside(primary)))
        .annotations(
            others
                .into_iter()
                .map(|(range, label)| AnnotationKind::Context.span(inside(range)).label(label)),
        );
    let title = level.primary_title(message.as_str()).id(*code);
    let group = title.element(snippet);
    let group = match help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    };
    renderer.render(&[group])
}

/// A place within the text, cut at the end of its first line.
fn clipped(span: Span, source: &str) -> Range<usize> {
    let boundary = |at: usize| {
        let at = at.min(source.len());
        (0..=at).rev().find(|&at| source.is_char_boundary(at)).unwrap_or(0)
    };
    let (start, end) = (boundary(span.start), boundary(span.end.max(span.start)));
    let line = source[start..end].lines().next().unwrap_or("");
    start..start + line.trim_end().len()
}
