//! What the arguments of a strategy are, for the manual, the schema and the command line.

use std::fmt;

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentDoc {
    /// The key.
    pub name: &'static str,
    /// A sentence on what it does.
    pub doc: &'static str,
    /// What it takes.
    pub kind: ArgumentType,
    /// What it is when not given, where that is not just nothing.
    pub default: Option<String>,
    /// Whether it must be given.
    pub required: bool,
    /// What to use instead, if it should not be used any more.
    pub deprecated: Option<&'static str>,
    /// The arguments inside, of an object or of each object in a list.
    pub children: Vec<ArgumentDoc>,
}

impl ArgumentDoc {
    /// Everything there is to say besides its type.
    pub fn sentences(&self) -> String {
        let Self { name: _, doc, kind: _, default, required, deprecated, children: _ } = self;
        let mut text = (*doc).to_owned();
        if *required {
            text += " Required.";
        }
        if let Some(default) = default.as_deref().filter(|default| !default.is_empty()) {
            text += &format!(" Default: `{default}`.");
        }
        if let Some(instead) = deprecated {
            text += &format!(" Deprecated: {instead}.");
        }
        text
    }
}

/// What an argument takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentType {
    /// True or false.
    Bool,
    /// A whole number within bounds, both of which are allowed.
    Integer {
        /// The least.
        min: i128,
        /// The greatest.
        max: i128,
    },
    /// Any number.
    Number,
    /// A number from 0 to 100.
    Percent,
    /// Text.
    Text,
    /// A span of time such as `1h30m`.
    Duration,
    /// `matchLabels` and `matchExpressions`.
    LabelSelector,
    /// A selector in one string.
    SelectorString,
    /// One of some words.
    Choice(Vec<&'static str>),
    /// Any number of something.
    List(Box<ArgumentType>),
    /// Something under names that the user chooses.
    Map(Box<ArgumentType>),
    /// Arguments of its own: [`ArgumentDoc::children`].
    Object,
}

impl ArgumentType {
    pub(super) fn choice<T>(choices: &[(&'static str, T)]) -> Self {
        Self::Choice(choices.iter().map(|(word, _)| *word).collect())
    }
}

/// As the manual says it: "list of strings", "whole number".
impl fmt::Display for ArgumentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("boolean"),
            Self::Integer { min, .. } if *min >= 0 => f.write_str("whole number, not negative"),
            Self::Integer { .. } => f.write_str("whole number"),
            Self::Number => f.write_str("number"),
            Self::Percent => f.write_str("percentage"),
            Self::Text => f.write_str("string"),
            Self::Duration => f.write_str("duration"),
            Self::LabelSelector => f.write_str("label selector"),
            Self::SelectorString => f.write_str("selector string"),
            Self::Choice(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                write!(f, "one of {}", words.join(", "))
            }
            Self::List(item) => write!(f, "list of {item}"),
            Self::Map(item) => write!(f, "mapping to {item}"),
            Self::Object => f.write_str("object"),
        }
    }
}
