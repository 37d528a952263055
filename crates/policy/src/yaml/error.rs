//! What is wrong with the notation itself, in words that help.

use descheduler_engine::{Diagnostics, Span};
use granit_parser::{ErrorKind, Marker, ScanError};

/// Reports that the text is no YAML from some point on.
pub(super) fn report(text: &str, error: &ScanError, diagnostics: &mut Diagnostics) {
    let marker = error.marker();
    let at = marker.byte_offset().unwrap_or(text.len()).min(text.len());
    // The parser notices an indentation that is wrong only where it ends.
    if let Some(tab) = indenting_tab(text, at).filter(|_| !is_bracket_error(error.kind())) {
        diagnostics
            .error("tab", tab, "a tab is used for indentation, which YAML does not allow")
            .help("use spaces".to_owned());
        return;
    }
    let (code, message) = match error.kind() {
        ErrorKind::RecursionLimitExceeded => ("too-deep", "nested too deep".to_owned()),
        kind => ("syntax", message(kind)),
    };
    let span = character_at(text, at, marker);
    let hint = if is_template(text, span) {
        Some("this is a template: what it is rendered to can be read".to_owned())
    } else {
        hint(error.kind())
    };
    diagnostics.error(code, span, message).help(hint);
}

/// Whether what is wrong is an action of a template, as the charts of Helm are made of.
fn is_template(text: &str, span: Span) -> bool {
    let start = text.get(..span.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    line.find("{{").is_some_and(|begins| line[begins..].contains("}}"))
}

/// A tab in the white space that begins a line: that of the error, the one before or the one
/// after, since a value may have begun or ended there.
fn indenting_tab(text: &str, at: usize) -> Option<Span> {
    let boundary = (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let number = text[..boundary].matches('\n').count();
    let begins = |newline: usize| newline + 1;
    let start = text[..boundary].rfind('\n').map_or(0, begins);
    let before = start.checked_sub(1).map(|end| text[..end].rfind('\n').map_or(0, begins));
    let after = text[boundary..].find('\n').map(|newline| begins(boundary + newline));
    let lines = [(Some(start), number + 1), (before, number), (after, number + 2)];
    lines.into_iter().find_map(|(start, number)| {
        let (start, line) = (start?, &text[start?..]);
        let indent = &line[..line.find(|c| !matches!(c, ' ' | '\t')).unwrap_or(line.len())];
        let tab = indent.find('\t')?;
        Some(Span {
            start: start + tab,
            end: start + tab + 1,
            line: u32::try_from(number).unwrap_or(u32::MAX),
            column: u32::try_from(tab + 1).unwrap_or(u32::MAX),
        })
    })
}

/// Inside brackets a tab is only white space.
fn is_bracket_error(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::UnclosedFlowCollection { .. }
            | ErrorKind::MismatchedFlowCollectionEnd { .. }
            | ErrorKind::MisplacedFlowCollectionEnd
            | ErrorKind::ExpectedFlowMappingSeparator
            | ErrorKind::ExpectedFlowSequenceSeparator
            | ErrorKind::UnexpectedEofFlowMapping
            | ErrorKind::UnexpectedEofFlowSequence
            | ErrorKind::RecursionLimitExceeded
    )
}

/// The character at a place; behind the end, an empty piece.
fn character_at(text: &str, at: usize, marker: &Marker) -> Span {
    let position = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let length = text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    Span {
        start: at,
        end: at + length,
        line: position(marker.line()).max(1),
        column: position(marker.col()).saturating_add(1),
    }
}

fn message(kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::UnknownAnchor => "no anchor of this name stands before the alias".to_owned(),
        _ => format!("this is not well-formed: {}", kind.to_string().replace('\'', "`")),
    }
}

fn hint(kind: &ErrorKind) -> Option<String> {
    let hint = match kind {
        ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofImplicitFlowMapping
        | ErrorKind::UnclosedFlowCollection { .. } => {
            "a closing bracket is missing: was the file cut off?"
        }
        ErrorKind::UnclosedQuotedScalar => "the closing quote is missing",
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            "if `:` belongs to the value, put the value in quotes; if not, check the indentation"
        }
        ErrorKind::UnknownAnchor => "an anchor is written `&name`, before its first use",
        ErrorKind::InvalidIndentation
        | ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::ExpectedDocumentStart
        | ErrorKind::SimpleKeyExpected
        | ErrorKind::InvalidSimpleKey => "compare the indentation with the lines above",
        ErrorKind::UnexpectedCharacter { .. } => "put the value in quotes",
        _ => return None,
    };
    Some(hint.to_owned())
}
