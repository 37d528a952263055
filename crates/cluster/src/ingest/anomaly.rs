//! What is said about input that is not as it should be.

use std::fmt;
use std::sync::Arc;

/// Where an object was found, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// The number of the object in the file, from 0; items of lists count one by one.
    pub index: u64,
}

/// Something in the input that is not as it should be. What it concerns is kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Anomaly {
    /// The object, as `Pod default/x`.
    pub object: String,
    /// What is wrong with it, the field included.
    pub problem: String,
    /// The field, as `spec.containers[0].image`; empty when it is about the whole object.
    pub field: String,
    /// The file it was found in; empty for a live cluster.
    pub file: Arc<str>,
    /// Its number there, from 0.
    pub index: u64,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, problem, field: _, file, index } = self;
        write!(f, "{object}: {problem}")?;
        match file.is_empty() {
            true => Ok(()),
            false => write!(f, " ({file}, object {index})"),
        }
    }
}

/// Text that is no JSON. Its `Display` is the message without the position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub message: String,
    /// The line, from 1, of the text given.
    pub line: usize,
    /// The column in bytes, from 1.
    pub column: usize,
    /// The text is good as far as it goes, but ends too early.
    pub truncated: bool,
}

impl SyntaxError {
    /// An error of the whole text.
    pub fn at_start(message: String) -> Self {
        Self { message, line: 1, column: 1, truncated: false }
    }

    /// The same error in a text that has `before` in front.
    #[must_use]
    pub fn moved(mut self, before: &[u8]) -> Self {
        let lines = before.iter().filter(|&&byte| byte == b'\n').count();
        if self.line == 1 {
            let last = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            self.column += before.len() - last;
        }
        self.line += lines;
        self
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// [`Source`], small.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) file: u32,
    pub(super) index: u64,
}

/// The parts of one object that could not be read: field and problem.
#[derive(Debug, Default)]
pub(super) struct Flaws(Vec<(String, String)>);

impl Flaws {
    pub(super) fn push(&mut self, field: impl Into<String>, problem: impl Into<String>) {
        self.0.push((field.into(), problem.into()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(field, problem)| (field.as_str(), problem.as_str()))
    }

    /// Whether a flaw lies in `field` or below it.
    pub(super) fn touch(&self, field: &str) -> bool {
        self.0.iter().any(|(path, _)| is_below(path, field))
    }

    /// Whether there is no flaw that lies neither in `field` nor below it.
    pub(super) fn all_below(&self, field: &str) -> bool {
        self.0.iter().all(|(path, _)| is_below(path, field))
    }
}

fn is_below(path: &str, field: &str) -> bool {
    path.strip_prefix(field)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || rest.starts_with('['))
}
