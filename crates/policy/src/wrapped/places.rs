//! Where the text of a scalar stands in the text around it.
//!
//! A block loses its indentation, a folded one its line breaks, a quoted one its escapes. So the two
//! texts are walked side by side, and every stretch in which they agree is remembered.

use descheduler_engine::Span;

/// The texts that something stands in, each the text of a scalar in the next; the file is the last
/// and not among them.
#[derive(Clone, Default)]
pub(super) struct Level(Vec<Places>);

impl Level {
    /// How many texts there are.
    pub(super) fn depth(&self) -> usize {
        self.0.len()
    }

    /// The same with one more text inside.
    pub(super) fn deeper(&self, places: Places) -> Self {
        let Self(outer) = self;
        Self([std::slice::from_ref(&places), outer].concat())
    }

    /// Where a piece of the innermost text stands in the file.
    pub(super) fn place(&self, span: Span, file: &str) -> Span {
        let Self(levels) = self;
        if levels.is_empty() {
            return span;
        }
        let offset = |at| levels.iter().fold(at, |at, places| places.offset(at));
        let start = floor(file, offset(span.start));
        // The end is behind the last character, not at the one that follows in the file.
        let last = span.end.checked_sub(1).filter(|last| *last >= span.start);
        let end = last.map_or(start, |last| floor(file, offset(last) + 1)).max(start);
        let before = &file[..start];
        let line = before.rfind('\n').map_or(0, |newline| newline + 1);
        let count = |n: usize| u32::try_from(n + 1).unwrap_or(u32::MAX);
        Span {
            start,
            end,
            line: count(before.matches('\n').count()),
            column: count(before[line..].chars().count()),
        }
    }
}

/// The last boundary between characters up to a place.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Where the pieces of a text come from.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// Of each stretch, where it begins in the text of the scalar and where around it; in order.
    runs: Vec<(usize, usize)>,
    /// Behind the last character of the scalar.
    end: usize,
}

impl Places {
    /// Finds `inner`, the text of the scalar that is written as `outer[start..end]`. From where the
    /// two cannot be brought together on, which no known notation leads to, everything is taken to
    /// stand where the last common piece ends.
    pub(super) fn new(inner: &str, outer: &str, start: usize, end: usize) -> Self {
        let raw = outer.get(start..end).unwrap_or_default();
        // What begins with a quote may also be a block that does.
        let styles = match raw.as_bytes().first() {
            Some(b'"') => &[Style::Literal, Style::DoubleQuoted][..],
            Some(b'\'') => &[Style::Literal, Style::SingleQuoted],
            _ => &[Style::Literal],
        };
        let walks = styles.iter().map(|style| Walk::new(raw, *style).along(inner));
        let (_, mut runs) = walks.max_by_key(|(common, _)| *common).unwrap_or_default();
        for (_, outer) in &mut runs {
            *outer += start;
        }
        Self { runs, end }
    }

    /// Where a byte of the scalar's text stands around it.
    pub(super) fn offset(&self, at: usize) -> usize {
        let run = self.runs.partition_point(|(inner, _)| *inner <= at).saturating_sub(1);
        let (inner, outer) = self.runs.get(run).copied().unwrap_or_default();
        (outer + at.saturating_sub(inner)).min(self.end)
    }
}

/// A scalar as it is written, read character by character. A block begins with its content.
struct Walk<'t> {
    raw: &'t str,
    at: usize,
    style: Style,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Plain text or a block, in which every character stands for itself.
    Literal,
    SingleQuoted,
    DoubleQuoted,
}

impl<'t> Walk<'t> {
    fn new(raw: &'t str, style: Style) -> Self {
        let at = match style {
            Style::Literal => 0,
            Style::SingleQuoted | Style::DoubleQuoted => 1,
        };
        Self { raw, at, style }
    }

    /// How far the two texts go together, and the stretches in which they agree.
    fn along(mut self, inner: &str) -> (usize, Vec<(usize, usize)>) {
        let mut runs = vec![(0, self.at)];
        let mut expected = self.at;
        for (at, c) in inner.char_indices() {
            let Some(found) = self.find(c) else { return (at, runs) };
            if found != expected {
                runs.push((at, found));
            }
            expected = found + c.len_utf8();
        }
        (inner.len(), runs)
    }

    /// Goes behind the next character, and says where it is written.
    fn find(&mut self, wanted: char) -> Option<usize> {
        loop {
            let at = self.at;
            let next = self.raw[at..].chars().next()?;
            if next == '\\' && self.style == Style::DoubleQuoted {
                let (meant, length) = escaped(&self.raw[at..])?;
                self.at += length;
                match meant {
                    Some(meant) if meant == wanted => return Some(at),
                    Some(_) => return None,
                    // The line goes on in the next one.
                    None => self.skip(char::is_whitespace),
                }
            } else if next == wanted {
                // A single quote is written twice.
                let twice = next == '\'' && self.style == Style::SingleQuoted;
                self.at += next.len_utf8() << u32::from(twice);
                return Some(at);
            } else if wanted == '\n' && next.is_whitespace() {
                // White space before the line break, that of CRLF for one.
                self.skip(|c| c.is_whitespace() && c != '\n');
                if !self.raw[self.at..].starts_with('\n') {
                    return None;
                }
            } else if wanted == ' ' && matches!(next, '\r' | '\n') {
                // Folded: a line break became a space.
                self.at += 1;
                self.skip(|c| c == '\n');
                return Some(at);
            } else if next.is_whitespace() {
                // Indentation, or line breaks that fold to nothing.
                self.skip(|c| c.is_whitespace() && c != wanted);
            } else {
                return None;
            }
        }
    }

    fn skip(&mut self, skipped: impl Fn(char) -> bool) {
        let rest = &self.raw[self.at..];
        self.at += rest.find(|c| !skipped(c)).unwrap_or(rest.len());
    }
}

/// The character that an escape sequence stands for, if it is one at all, and how long it is.
fn escaped(rest: &str) -> Option<(Option<char>, usize)> {
    let kind = rest[1..].chars().next()?;
    let number = |digits: usize| {
        let code = u32::from_str_radix(rest.get(2..2 + digits)?, 16).ok()?;
        // Half of a surrogate pair, as JSON writes what is beyond 16 bits.
        if (0xd800..0xdc00).contains(&code) {
            let low = rest.get(2 + digits..)?.strip_prefix("\\u")?.get(..4)?;
            let low = u32::from_str_radix(low, 16).ok()?.checked_sub(0xdc00)?;
            let both = char::from_u32(0x10000 + ((code - 0xd800) << 10) + low)?;
            return Some((Some(both), 2 + digits + 6));
        }
        Some((Some(char::from_u32(code)?), 2 + digits))
    };
    let meant = match kind {
        'x' => return number(2),
        'u' => return number(4),
        'U' => return number(8),
        '\r' | '\n' => return Some((None, 2)),
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        itself => itself,
    };
    Some((Some(meant), 1 + kind.len_utf8()))
}
