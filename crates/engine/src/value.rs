//! A parsed document with the place of everything in it, whatever notation it came from.
//!
//! What a plain scalar means is decided as upstream's YAML reader decides it, which turns YAML
//! 1.1 into JSON first: `yes` is a boolean, `010` is eight, `1e2` fits an integer field
//! (docs/spec/runtime.md section 3.2).

use std::collections::BTreeMap;

/// Where something stands in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// The byte behind the last one.
    pub end: usize,
    /// Line of the first byte, counted from 1; `\r\n` ends one line.
    pub line: u32,
    /// Column of the first byte, counted from 1 in characters.
    pub column: u32,
}

/// The very start of a file.
impl Default for Span {
    fn default() -> Self {
        Self { start: 0, end: 0, line: 1, column: 1 }
    }
}

/// A piece of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Where it stands. What an alias stands for keeps the place of its anchor.
    pub span: Span,
    /// What it is.
    pub node: Node,
}

/// What a [`Value`] is.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A single value.
    Scalar(Scalar),
    /// Values in order.
    List(Vec<Value>),
    /// Values under keys.
    Map(Map),
}

/// A single value as written and as understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// The text, without its quotes and with escapes resolved.
    pub text: String,
    /// Whether it was quoted or a block, and so is a string whatever it looks like.
    pub quoted: bool,
    /// What it means.
    pub kind: ScalarKind,
}

/// What a scalar means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScalarKind {
    /// Nothing: as if the key were not there.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number of at most 64 bits, signed or unsigned.
    Integer(i128),
    /// Any other number, infinities and "not a number" included.
    Float(f64),
    /// Text.
    Text,
}

/// Values under keys, in the order written. A key that is written twice counts with its last
/// value, as upstream has it; both entries are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    /// Every entry as written.
    pub entries: Vec<Entry>,
}

/// One key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key; a boolean or a number is spelled as JSON would spell it.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// What stands behind it.
    pub value: Value,
}

impl Value {
    /// Nothing, at some place.
    pub fn null(span: Span) -> Self {
        Self { span, node: Node::Scalar(Scalar::plain("")) }
    }

    /// Whether the value is as good as absent.
    pub fn is_null(&self) -> bool {
        matches!(&self.node, Node::Scalar(Scalar { kind: ScalarKind::Null, .. }))
    }

    /// The entries, if this is a mapping.
    pub fn as_map(&self) -> Option<&Map> {
        match &self.node {
            Node::Map(map) => Some(map),
            Node::Scalar(_) | Node::List(_) => None,
        }
    }

    /// The items, if this is a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        match &self.node {
            Node::List(items) => Some(items),
            Node::Scalar(_) | Node::Map(_) => None,
        }
    }

    /// The text, if this is a string.
    pub fn as_text(&self) -> Option<&str> {
        match &self.node {
            Node::Scalar(Scalar { text, kind: ScalarKind::Text, .. }) => Some(text),
            Node::Scalar(_) | Node::List(_) | Node::Map(_) => None,
        }
    }

    /// What was found here, for messages: "the string `ten`", "a list".
    pub fn describe(&self) -> String {
        let scalar = match &self.node {
            Node::Scalar(scalar) => scalar,
            Node::List(_) => return "a list".to_owned(),
            Node::Map(_) => return "a mapping".to_owned(),
        };
        let text = shortened(&scalar.text);
        match scalar.kind {
            ScalarKind::Null => "nothing".to_owned(),
            ScalarKind::Bool(_) => format!("the boolean `{text}`"),
            ScalarKind::Integer(_) | ScalarKind::Float(_) => format!("the number `{text}`"),
            ScalarKind::Text if text.is_empty() => "an empty string".to_owned(),
            ScalarKind::Text => format!("the string `{text}`"),
        }
    }

    /// Every entry whose key is written again further down in the same mapping, with the entry
    /// that follows it.
    pub fn duplicates(&self) -> Vec<(&Entry, &Entry)> {
        let mut found = Vec::new();
        self.visit_duplicates(&mut found);
        found
    }

    fn visit_duplicates<'v>(&'v self, found: &mut Vec<(&'v Entry, &'v Entry)>) {
        match &self.node {
            Node::Scalar(_) => {}
            Node::List(items) => items.iter().for_each(|item| item.visit_duplicates(found)),
            Node::Map(map) => {
                found.extend(map.duplicates());
                map.entries.iter().for_each(|entry| entry.value.visit_duplicates(found));
            }
        }
    }
}

/// Text of a user for a message: one line, of a length that a line can carry.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = text.chars().take(LONGEST).map(printable).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

fn printable(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

impl Map {
    /// The entry that counts for a key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().rev().find(|entry| entry.key == key)
    }

    /// The entry that counts for a key, unless its value is null.
    pub fn given(&self, key: &str) -> Option<&Entry> {
        self.get(key).filter(|entry| !entry.value.is_null())
    }

    /// The entries that count, in the order written.
    pub fn effective(&self) -> impl Iterator<Item = &Entry> {
        let mut last = BTreeMap::new();
        for (at, entry) in self.entries.iter().enumerate() {
            last.insert(entry.key.as_str(), at);
        }
        self.entries
            .iter()
            .enumerate()
            .filter(move |(at, entry)| last.get(entry.key.as_str()) == Some(at))
            .map(|(_, entry)| entry)
    }

    /// The entries of this mapping alone whose key is written again, with the one that follows.
    pub fn duplicates(&self) -> Vec<(&Entry, &Entry)> {
        let mut found = Vec::new();
        let mut seen: BTreeMap<&str, &Entry> = BTreeMap::new();
        for entry in &self.entries {
            if let Some(earlier) = seen.insert(&entry.key, entry) {
                found.push((earlier, entry));
            }
        }
        found
    }
}

impl Scalar {
    /// A scalar in quotes or in a block: text.
    pub fn quoted(text: impl Into<String>) -> Self {
        Self { text: text.into(), quoted: true, kind: ScalarKind::Text }
    }

    /// A scalar without quotes, understood as upstream understands it.
    pub fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        let kind = ScalarKind::of_plain(&text);
        Self { text, quoted: false, kind }
    }
}

impl ScalarKind {
    /// What an unquoted scalar means.
    pub fn of_plain(text: &str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Self::Null,
            "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
                return Self::Bool(true);
            }
            "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off"
            | "OFF" => return Self::Bool(false),
            ".nan" | ".NaN" | ".NAN" => return Self::Float(f64::NAN),
            ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
                return Self::Float(f64::INFINITY);
            }
            "-.inf" | "-.Inf" | "-.INF" => return Self::Float(f64::NEG_INFINITY),
            _ => {}
        }
        if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
            return Self::Text;
        }
        let digits = text.replace('_', "");
        if let Some(number) = integer(&digits) {
            return Self::Integer(number);
        }
        match digits.parse::<f64>() {
            // A number that is too large for a float stays a string upstream.
            Ok(number) if is_float(&digits) && number.is_finite() => Self::Float(number),
            _ => Self::Text,
        }
    }
}

/// A whole number with an optional base prefix, as Go's `ParseInt` with base 0 reads it: `0x`,
/// `0o`, `0b`, and octal after a leading zero.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if !digits.starts_with(|c: char| c.is_digit(radix)) {
        return None;
    }
    let number = i128::from_str_radix(digits, radix).ok()?;
    let number = if negative { -number } else { number };
    (number >= i128::from(i64::MIN) && number <= i128::from(u64::MAX)).then_some(number)
}

/// A sign perhaps, digits with a point perhaps, an exponent perhaps.
fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (unsigned, None),
    };
    let all_digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let number_ok =
        !(whole.is_empty() && fraction.is_empty()) && all_digits(whole) && all_digits(fraction);
    let exponent_ok = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    number_ok && exponent_ok
}

#[cfg(test)]
mod tests {
    use super::ScalarKind::{self, Bool, Float, Integer, Null, Text};

    #[test]
    fn plain_scalars_mean_what_upstream_reads() {
        let table: &[(&str, ScalarKind)] = &[
            ("", Null),
            ("~", Null),
            ("NULL", Null),
            ("nULL", Text),
            ("y", Bool(true)),
            ("On", Bool(true)),
            ("oN", Text),
            ("NO", Bool(false)),
            ("010", Integer(8)),
            ("0o17", Integer(15)),
            ("0x10", Integer(16)),
            ("0b101", Integer(5)),
            ("-0x10", Integer(-16)),
            ("+7", Integer(7)),
            ("1_000", Integer(1000)),
            ("0", Integer(0)),
            ("-0", Integer(0)),
            ("08", Float(8.0)),
            ("18446744073709551615", Integer(u64::MAX as i128)),
            ("18446744073709551616", Float(18_446_744_073_709_551_616.0)),
            ("1e2", Float(100.0)),
            ("1.0", Float(1.0)),
            ("1.", Float(1.0)),
            (".5", Float(0.5)),
            ("-2.5E-1", Float(-0.25)),
            ("1e999", Text),
            (".inf", Float(f64::INFINITY)),
            ("1:30", Text),
            ("2024-01-01", Text),
            ("1.2.3", Text),
            ("0x", Text),
            ("0x1p4", Text),
            ("--5", Text),
            ("+-5", Text),
            ("-", Text),
            (".", Text),
            ("10m", Text),
            ("70%", Text),
            ("inf", Text),
            ("nan", Text),
        ];
        for (text, kind) in table {
            assert_eq!(ScalarKind::of_plain(text), *kind, "`{text}`");
        }
    }
}
