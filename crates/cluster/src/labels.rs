//! Labels and the selectors that match them.
//!
//! A [`LabelSelector`] is what a person or an object wrote, checked; a [`Selector`] is the same
//! compiled against the symbols of one snapshot, which is what the hot paths match with.
//! Rules: docs/spec/strategies.md section 3.5.

use std::fmt;

use smallvec::SmallVec;

use crate::intern::{Interner, Sym};

/// A set of labels: key and value symbols, sorted by key.
pub type Labels = [(Sym, Sym)];

/// The value of `key` among sorted `labels`.
pub fn value_of(labels: &Labels, key: Sym) -> Option<Sym> {
    labels.binary_search_by_key(&key, |&(k, _)| k).ok().map(|at| labels[at].1)
}

/// What a requirement asks of the value behind its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LabelOperator {
    /// The key is there and its value is one of those given.
    In,
    /// The key is missing or its value is none of those given.
    NotIn,
    /// The key is there.
    Exists,
    /// The key is missing.
    DoesNotExist,
    /// The key is there and its value, a decimal integer, is greater than the one given.
    Gt,
    /// The key is there and its value, a decimal integer, is less than the one given.
    Lt,
}

/// One condition of a selector, valid by construction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LabelRequirement {
    /// A qualified label name.
    pub key: String,
    /// How the value is compared.
    pub operator: LabelOperator,
    /// Legal label values; for `Gt` and `Lt` exactly one integer, for `Exists` and
    /// `DoesNotExist` none.
    pub values: Vec<String>,
}

/// Why text or fields are no label selector. Its `Display` is a whole message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelError(String);

impl fmt::Display for LabelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LabelError {}

impl LabelRequirement {
    /// Checks key, operator and values as upstream's conversion does.
    pub fn new(
        key: String,
        operator: LabelOperator,
        values: Vec<String>,
    ) -> Result<Self, LabelError> {
        check_key(&key)?;
        match operator {
            LabelOperator::In | LabelOperator::NotIn if values.is_empty() => {
                return Err(LabelError(format!("`{key}`: In and NotIn need at least one value")));
            }
            LabelOperator::Exists | LabelOperator::DoesNotExist if !values.is_empty() => {
                return Err(LabelError(format!(
                    "`{key}`: Exists and DoesNotExist take no values, found {}",
                    values.len()
                )));
            }
            LabelOperator::Gt | LabelOperator::Lt => check_integer(&key, &values)?,
            _ => {}
        }
        for value in &values {
            check_value(&key, value)?;
        }
        Ok(Self { key, operator, values })
    }
}

fn check_integer(key: &str, values: &[String]) -> Result<(), LabelError> {
    match values {
        [one] if one.parse::<i64>().is_ok() => Ok(()),
        [one] => Err(LabelError(format!("`{key}`: Gt and Lt need an integer, found `{one}`"))),
        _ => Err(LabelError(format!(
            "`{key}`: Gt and Lt need exactly one value, found {}",
            values.len()
        ))),
    }
}

fn check_key(key: &str) -> Result<(), LabelError> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let prefix_ok = prefix.is_none_or(|p| {
        !p.is_empty()
            && p.len() <= 253
            && p.split('.').all(|part| {
                is_name(part, |c| c.is_ascii_lowercase() || c.is_ascii_digit(), |c| c == '-')
            })
    });
    if prefix_ok && is_label_text(name) {
        return Ok(());
    }
    Err(LabelError(format!("`{key}` is not a label key")))
}

fn check_value(key: &str, value: &str) -> Result<(), LabelError> {
    if value.is_empty() || is_label_text(value) {
        return Ok(());
    }
    Err(LabelError(format!("`{value}` is not a legal value of label `{key}`")))
}

/// At most 63 characters, alphanumeric at both ends, `-_.` inside.
fn is_label_text(text: &str) -> bool {
    text.len() <= 63
        && is_name(text, |c| c.is_ascii_alphanumeric(), |c| matches!(c, '-' | '_' | '.'))
}

fn is_name(text: &str, ends: fn(char) -> bool, inside: fn(char) -> bool) -> bool {
    text.starts_with(ends) && text.ends_with(ends) && text.chars().all(|c| ends(c) || inside(c))
}

/// A label selector as written: all requirements must hold; none at all matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector {
    /// The conditions, in the order written.
    pub requirements: Vec<LabelRequirement>,
}

impl LabelSelector {
    /// Whether the selector imposes nothing.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Reads a selector string such as `a=b,!c,d in (e,f),g>1`.
    pub fn parse(text: &str) -> Result<Self, LabelError> {
        let mut requirements = Vec::new();
        for part in split_outside_parentheses(text)? {
            requirements.push(parse_requirement(part.trim(), text)?);
        }
        Ok(Self { requirements })
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, LabelRequirement { key, operator, values }) in self.requirements.iter().enumerate()
        {
            if at > 0 {
                f.write_str(",")?;
            }
            let list = values.join(",");
            match operator {
                LabelOperator::In if values.len() == 1 => write!(f, "{key}={list}")?,
                LabelOperator::In => write!(f, "{key} in ({list})")?,
                LabelOperator::NotIn if values.len() == 1 => write!(f, "{key}!={list}")?,
                LabelOperator::NotIn => write!(f, "{key} notin ({list})")?,
                LabelOperator::Exists => write!(f, "{key}")?,
                LabelOperator::DoesNotExist => write!(f, "!{key}")?,
                LabelOperator::Gt => write!(f, "{key}>{list}")?,
                LabelOperator::Lt => write!(f, "{key}<{list}")?,
            }
        }
        Ok(())
    }
}

fn split_outside_parentheses(text: &str) -> Result<Vec<&str>, LabelError> {
    let mut parts = Vec::new();
    let (mut start, mut open) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            '(' if !open => open = true,
            ')' if open => open = false,
            '(' | ')' => {
                return Err(LabelError(format!("unexpected `{c}` in selector `{text}`")));
            }
            ',' if !open => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if open {
        return Err(LabelError(format!("missing `)` in selector `{text}`")));
    }
    parts.push(&text[start..]);
    if parts.len() == 1 && parts[0].trim().is_empty() {
        parts.clear();
    }
    Ok(parts)
}

fn parse_requirement(part: &str, whole: &str) -> Result<LabelRequirement, LabelError> {
    use LabelOperator::{DoesNotExist, Exists, Gt, In, Lt, NotIn};
    if part.is_empty() {
        return Err(LabelError(format!("empty requirement in selector `{whole}`")));
    }
    if let Some(key) = part.strip_prefix('!') {
        return LabelRequirement::new(key.trim().to_owned(), DoesNotExist, Vec::new());
    }
    if let Some(list) = part.strip_suffix(')') {
        let (head, list) = list
            .split_once('(')
            .ok_or_else(|| LabelError(format!("missing `(` in selector `{whole}`")))?;
        let values: Vec<String> = list.split(',').map(|value| value.trim().to_owned()).collect();
        return match head.split_whitespace().collect::<Vec<_>>()[..] {
            [key, "in"] => LabelRequirement::new(key.to_owned(), In, values),
            [key, "notin"] => LabelRequirement::new(key.to_owned(), NotIn, values),
            _ => Err(LabelError(format!(
                "expected `key in (..)` or `key notin (..)`, found `{part}`"
            ))),
        };
    }
    // `!=` before `=`, and `==` before `=`, so that the longer operator wins.
    for (sign, operator) in [("!=", NotIn), ("==", In), ("=", In), (">", Gt), ("<", Lt)] {
        if let Some((key, value)) = part.split_once(sign) {
            return LabelRequirement::new(
                key.trim().to_owned(),
                operator,
                vec![value.trim().to_owned()],
            );
        }
    }
    LabelRequirement::new(part.to_owned(), Exists, Vec::new())
}

/// A selector compiled to the symbols of one snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    requirements: Box<[Requirement]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Requirement {
    key: Sym,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Test {
    In(SmallVec<[Sym; 2]>),
    NotIn(SmallVec<[Sym; 2]>),
    Exists,
    DoesNotExist,
    Gt(i64),
    Lt(i64),
}

impl Selector {
    /// Compiles for a snapshot that is being made: unseen strings are interned.
    pub fn intern(selector: &LabelSelector, strings: &mut Interner) -> Self {
        Self::build(selector, |text| strings.intern(text))
    }

    /// Compiles for a finished snapshot: strings that no object holds match nothing.
    pub fn compile(selector: &LabelSelector, strings: &Interner) -> Self {
        Self::build(selector, |text| strings.get(text))
    }

    fn build(selector: &LabelSelector, mut sym: impl FnMut(&str) -> Sym) -> Self {
        let requirements = selector
            .requirements
            .iter()
            .map(|LabelRequirement { key, operator, values }| {
                let key = sym(key);
                // Valid by construction: Gt and Lt carry exactly one integer.
                let number = values.first().and_then(|v| v.parse().ok()).unwrap_or_default();
                let mut set = || {
                    let mut set: SmallVec<[Sym; 2]> = values.iter().map(|v| sym(v)).collect();
                    set.sort_unstable();
                    set.dedup();
                    set
                };
                let test = match operator {
                    LabelOperator::In => Test::In(set()),
                    LabelOperator::NotIn => Test::NotIn(set()),
                    LabelOperator::Exists => Test::Exists,
                    LabelOperator::DoesNotExist => Test::DoesNotExist,
                    LabelOperator::Gt => Test::Gt(number),
                    LabelOperator::Lt => Test::Lt(number),
                };
                Requirement { key, test }
            })
            .collect();
        Self { requirements }
    }

    /// The selector that asks for each of `labels`.
    pub fn of_labels(labels: &Labels) -> Self {
        labels
            .iter()
            .fold(Self::default(), |selector, &(key, value)| selector.and_value(key, value, true))
    }

    /// The selector that asks for what both ask.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let requirements = self.requirements.iter().chain(&other.requirements);
        Self { requirements: requirements.cloned().collect() }
    }

    /// The selector that asks for `value` behind `key` besides, or if not `equal` for anything but
    /// that.
    #[must_use]
    pub fn and_value(&self, key: Sym, value: Sym, equal: bool) -> Self {
        let values = SmallVec::from_slice(&[value]);
        let test = if equal { Test::In(values) } else { Test::NotIn(values) };
        self.and(&Self { requirements: Box::new([Requirement { key, test }]) })
    }

    /// Whether every requirement holds for `labels`.
    pub fn matches(&self, labels: &Labels, strings: &Interner) -> bool {
        self.requirements.iter().all(|Requirement { key, test }| {
            let value = value_of(labels, *key);
            match test {
                Test::In(set) => value.is_some_and(|value| set.contains(&value)),
                Test::NotIn(set) => value.is_none_or(|value| !set.contains(&value)),
                Test::Exists => value.is_some(),
                Test::DoesNotExist => value.is_none(),
                Test::Gt(than) => integer(value, strings).is_some_and(|value| value > *than),
                Test::Lt(than) => integer(value, strings).is_some_and(|value| value < *than),
            }
        })
    }

    /// The keys that must have one of some values, with those values.
    pub(crate) fn values(&self) -> impl Iterator<Item = (Sym, &[Sym])> {
        self.requirements.iter().filter_map(|Requirement { key, test }| match test {
            Test::In(values) => Some((*key, &values[..])),
            Test::NotIn(_) | Test::Exists | Test::DoesNotExist | Test::Gt(_) | Test::Lt(_) => None,
        })
    }

    /// Whether the selector has no requirement, and so matches everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }
}

fn integer(value: Option<Sym>, strings: &Interner) -> Option<i64> {
    strings.text(value?).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
        let mut strings = Interner::default();
        let mut labels: Vec<(Sym, Sym)> =
            labels.iter().map(|(k, v)| (strings.intern(k), strings.intern(v))).collect();
        labels.sort_unstable();
        let selector = LabelSelector::parse(selector).expect("a valid selector");
        Selector::compile(&selector, &strings).matches(&labels, &strings)
    }

    #[test]
    fn every_form_of_a_selector_string() {
        let labels = [("a", "1"), ("example.com/b", "x"), ("empty", "")];
        for yes in [
            "",
            " ",
            "a",
            "!z",
            "a=1",
            "a==1",
            "a!=2",
            "z!=1",
            "a in (1, 2)",
            "a notin (2,3)",
            "z notin (1)",
            "a>0",
            "a<2",
            "a=1,example.com/b=x,!z",
            "empty=",
            "empty in (,x)",
        ] {
            assert!(matches(yes, &labels), "`{yes}`");
        }
        for no in [
            "z",
            "!a",
            "a=2",
            "a!=1",
            "a in (2,3)",
            "a notin (1)",
            "a>1",
            "a<1",
            "z>0",
            "example.com/b>0",
            "a=1,z",
            "empty!=",
        ] {
            assert!(!matches(no, &labels), "`{no}`");
        }
    }

    #[test]
    fn what_is_no_selector() {
        for bad in [
            ",", "a,,b", "a in", "a in ()x", "a in (1", "in (1)", "-a", "a=b=c", "a b", "a>x",
            "a/b/c", "/a", "A.B/c", "a=-", "a)", "!",
        ] {
            assert!(LabelSelector::parse(bad).is_err(), "`{bad}`");
        }
    }

    #[test]
    fn it_prints_as_it_reads() {
        for text in ["a", "!a", "a=1", "a!=1", "a in (1,2)", "a notin (1,2)", "a>1,b<2"] {
            let read = LabelSelector::parse(text).expect("valid");
            assert_eq!(read.to_string(), text);
        }
    }
}
