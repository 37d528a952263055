//! Lines, columns and colours.

use std::borrow::Cow;
use std::fmt::Write;

/// What text is laid out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Screen {
    /// How wide a line may be.
    pub(crate) columns: usize,
    /// Whether it shows colours.
    pub(crate) coloured: bool,
}

/// What text can look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Cyan,
}

impl Ink {
    /// The text in this ink, or as it is.
    pub(crate) fn paint(self, text: &str, coloured: bool) -> Cow<'_, str> {
        let code = match self {
            _ if !coloured || text.trim().is_empty() => return Cow::Borrowed(text),
            Self::Plain => return Cow::Borrowed(text),
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Red => "1;31",
            Self::Green => "1;32",
            Self::Yellow => "33",
            Self::Cyan => "1;36",
        };
        Cow::Owned(format!("\u{1b}[{code}m{text}\u{1b}[0m"))
    }
}

/// The text without what could play tricks on a terminal. Names of objects hold no such thing, but
/// what calls itself a name in a file might.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(is_trick) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match is_trick(letter) {
            true => cleaned.extend(letter.escape_default()),
            false => cleaned.push(letter),
        }
    }
    Cow::Owned(cleaned)
}

/// Control characters, and those that are invisible or turn the direction of writing.
fn is_trick(letter: char) -> bool {
    let unseen = ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2060}'..='\u{206f}'];
    letter.is_control()
        || letter == '\u{feff}'
        || unseen.iter().any(|letters| letters.contains(&letter))
}

/// How many columns the text takes. Close enough for names that are ASCII nearly always.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// The text with spaces behind it.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    let mut padded = text.to_owned();
    padded.extend(std::iter::repeat_n(' ', missing));
    padded
}

/// The text broken at spaces into lines of at most so many columns; a longer word has a line of
/// its own. At least one line.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let wide = width(word);
        let line = match lines.last_mut() {
            Some(line) if line.is_empty() || used + 1 + wide <= columns => line,
            _ => {
                lines.push(String::new());
                used = 0;
                // Just pushed.
                let last = lines.len() - 1;
                &mut lines[last]
            }
        };
        if !line.is_empty() {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += wide;
    }
    lines
}

/// `1 pod`, `2 pods`; `what` takes an `s`, or `ies` for its `y`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let mut text = format!("{number} ");
    // Writing to a string does not fail.
    let _ = match what.strip_suffix('y') {
        _ if number == 1 => write!(text, "{what}"),
        Some(stem) => write!(text, "{stem}ies"),
        None => write!(text, "{what}s"),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_at_spaces_only() {
        assert_eq!(wrapped("a bc def ghij", 6), ["a bc", "def", "ghij"]);
        assert_eq!(wrapped("a bc def", 8), ["a bc def"]);
        assert_eq!(wrapped("abcdefgh i", 4), ["abcdefgh", "i"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("é é é", 3), ["é é", "é"]);
    }

    #[test]
    fn tricks_are_shown() {
        assert_eq!(clean("a\u{1b}[2Jb\n\u{202e}c"), "a\\u{1b}[2Jb\\n\\u{202e}c");
        assert!(matches!(clean("größe/web-1"), Cow::Borrowed(_)));
    }

    #[test]
    fn one_and_many() {
        assert_eq!([count(1, "pod"), count(2, "pod")], ["1 pod", "2 pods"]);
        assert_eq!([count(1, "strategy"), count(0, "strategy")], ["1 strategy", "0 strategies"]);
    }
}
