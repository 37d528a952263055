//! Values as arguments: what each type takes, and what it says to anything else.

use std::fmt;

use descheduler_cluster::GoDuration;

use super::describe::ArgumentType;
use crate::suggest::did_you_mean;
use crate::value::{Node, Scalar, ScalarKind, Value};

/// A type that an argument, an item of a list or an entry of a mapping can have. Its default is
/// what null stands for inside a list.
pub trait Argument: Default {
    /// What it takes, for the manual.
    fn argument_type() -> ArgumentType;

    /// Reads a value that is not null.
    ///
    /// # Errors
    /// Returns what was expected when the value is anything else.
    fn from_value(value: &Value) -> Result<Self, Mismatch>;
}

/// Why a value is not what it should be. Its place and what was found are added by the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The code of the diagnostic.
    pub code: &'static str,
    /// What comes after "expected".
    pub expected: String,
    /// How to put it right.
    pub help: Option<String>,
}

impl Mismatch {
    /// Something of another type altogether.
    pub fn type_of(expected: impl Into<String>) -> Self {
        Self { code: "wrong-type", expected: expected.into(), help: None }
    }

    /// Something that is no list.
    pub fn list(value: &Value) -> Self {
        let help = match &value.node {
            Node::Scalar(Scalar { text, .. }) if is_simple(text) => {
                Some(format!("put it in brackets: `[{text}]`"))
            }
            Node::Scalar(_) | Node::List(_) | Node::Map(_) => None,
        };
        Self { help, ..Self::type_of("a list") }
    }

    /// A word that is none of those that are accepted.
    pub fn choice(word: &str, words: &[&str]) -> Self {
        // More than this does not read well in a sentence.
        const FEW: usize = 4;
        let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        let suggestion = did_you_mean(word, words.iter().copied());
        let (expected, help) = match quoted.split_last() {
            Some((last, [])) => (last.clone(), suggestion),
            Some((last, rest)) if quoted.len() <= FEW => {
                (format!("{} or {last}", rest.join(", ")), suggestion)
            }
            _ => {
                let accepted = format!("accepted: {}", quoted.join(", "));
                let help = match suggestion {
                    Some(suggestion) => format!("{suggestion} ({accepted})"),
                    None => accepted,
                };
                ("a known value".to_owned(), Some(help))
            }
        };
        Self { code: "unknown-value", expected, help }
    }
}

impl Value {
    /// Whether this is `false`.
    pub(super) fn is_off(&self) -> bool {
        matches!(&self.node, Node::Scalar(Scalar { kind: ScalarKind::Bool(false), .. }))
    }

    fn scalar(&self) -> Option<&Scalar> {
        match &self.node {
            Node::Scalar(scalar) => Some(scalar),
            Node::List(_) | Node::Map(_) => None,
        }
    }
}

/// A share of 0 to 100 hundredths, both allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Percent(f64);

impl Percent {
    /// From 0 to 100.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Argument for bool {
    fn argument_type() -> ArgumentType {
        ArgumentType::Bool
    }

    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        let scalar = value.scalar();
        if let Some(Scalar { kind: ScalarKind::Bool(truth), .. }) = scalar {
            return Ok(*truth);
        }
        let help = scalar
            .filter(|scalar| matches!(ScalarKind::of_plain(&scalar.text), ScalarKind::Bool(_)))
            .map(|scalar| format!("remove the quotes: `{}`", scalar.text));
        Err(Mismatch { help, ..Mismatch::type_of("`true` or `false`") })
    }
}

impl Argument for String {
    fn argument_type() -> ArgumentType {
        ArgumentType::Text
    }

    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        match value.scalar() {
            Some(Scalar { text, kind: ScalarKind::Text, .. }) => Ok(text.clone()),
            // Null never comes here; what is left are booleans and numbers.
            Some(Scalar { text, .. }) => Err(Mismatch {
                help: Some(format!("put it in quotes: `\"{text}\"`")),
                ..Mismatch::type_of("a string")
            }),
            None => Err(Mismatch::type_of("a string")),
        }
    }
}

impl Argument for f64 {
    fn argument_type() -> ArgumentType {
        ArgumentType::Number
    }

    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        match value.scalar().map(|scalar| scalar.kind) {
            Some(ScalarKind::Integer(number)) => Ok(number as f64),
            Some(ScalarKind::Float(number)) if number.is_finite() => Ok(number),
            _ => Err(no_number(value, "a number")),
        }
    }
}

impl Argument for Percent {
    fn argument_type() -> ArgumentType {
        ArgumentType::Percent
    }

    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        let number = f64::from_value(value)?;
        if (0.0..=100.0).contains(&number) {
            return Ok(Self(number));
        }
        Err(out_of_range("a percentage from 0 to 100"))
    }
}

impl Argument for GoDuration {
    fn argument_type() -> ArgumentType {
        ArgumentType::Duration
    }

    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        const EXPECTED: &str = "a duration such as `10m` or `1h30m`";
        let Some(Scalar { text, kind, .. }) = value.scalar() else {
            return Err(Mismatch::type_of(EXPECTED));
        };
        match kind {
            ScalarKind::Text => text.parse().map_err(|_| Mismatch {
                code: "bad-duration",
                expected: EXPECTED.to_owned(),
                help: Some(duration_help(text)),
            }),
            // Upstream refuses every number here, even 0; nothing says which unit is meant.
            ScalarKind::Integer(_) | ScalarKind::Float(_) => Err(Mismatch {
                help: Some(format!("add a unit: `{text}s`")),
                ..Mismatch::type_of(EXPECTED)
            }),
            ScalarKind::Bool(_) | ScalarKind::Null => Err(Mismatch::type_of(EXPECTED)),
        }
    }
}

fn duration_help(text: &str) -> String {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok());
    match days {
        Some(days) => format!("there is no unit for days: `{}h`", u64::from(days) * 24),
        None => "units are `h`, `m`, `s`, `ms`, `us` and `ns`".to_owned(),
    }
}

fn out_of_range(expected: &str) -> Mismatch {
    Mismatch { code: "out-of-range", expected: expected.to_owned(), help: None }
}

/// Why something is no number, with the likely reason.
fn no_number(value: &Value, expected: &str) -> Mismatch {
    let help = value.scalar().and_then(|Scalar { text, quoted, .. }| {
        let bare = text.strip_suffix('%').map(str::trim_end);
        if let Some(bare) = bare.filter(|bare| is_number(bare)) {
            return Some(format!("leave the percent sign out: `{bare}`"));
        }
        (*quoted && is_number(text)).then(|| format!("remove the quotes: `{text}`"))
    });
    Mismatch { help, ..Mismatch::type_of(expected) }
}

fn is_number(text: &str) -> bool {
    matches!(ScalarKind::of_plain(text), ScalarKind::Integer(_) | ScalarKind::Float(_))
}

fn is_simple(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// A whole number; `1.0` and `1e2` are whole.
fn whole(value: &Value, min: i128, max: i128) -> Result<i128, Mismatch> {
    const EXPECTED: &str = "a whole number";
    let number = match value.scalar().map(|scalar| scalar.kind) {
        Some(ScalarKind::Integer(number)) => number,
        // Upstream writes a larger one with an exponent, which then is no integer.
        Some(ScalarKind::Float(number)) if number.fract() == 0.0 && number.abs() < 1e21 => {
            number as i128
        }
        Some(ScalarKind::Float(_)) => return Err(Mismatch::type_of(EXPECTED)),
        _ => return Err(no_number(value, EXPECTED)),
    };
    if number < min && min == 0 {
        return Err(out_of_range("a whole number that is not negative"));
    }
    if number < min || number > max {
        return Err(out_of_range(&format!("a whole number from {min} to {max}")));
    }
    Ok(number)
}

macro_rules! whole_numbers {
    ($($number:ty)*) => {$(
        impl Argument for $number {
            fn argument_type() -> ArgumentType {
                ArgumentType::Integer {
                    min: i128::from(<$number>::MIN),
                    max: i128::from(<$number>::MAX),
                }
            }

            fn from_value(value: &Value) -> Result<Self, Mismatch> {
                let number = whole(value, i128::from(Self::MIN), i128::from(Self::MAX))?;
                // Within the bounds by now.
                Ok(Self::try_from(number).unwrap_or_default())
            }
        }
    )*};
}

whole_numbers! { u32 u64 i32 i64 }
