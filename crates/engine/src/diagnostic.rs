//! What is wrong with a file, and where. How it looks on a screen is not decided here.

use std::fmt;
use std::sync::Arc;

use crate::value::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file is used, but likely does not do what its author believes.
    Warning,
    /// Good to know.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

/// One thing to say about one place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A name in kebab-case, never used again for anything else.
    pub code: &'static str,
    /// What is wrong: lower case, no full stop, the user's words in backticks.
    pub message: String,
    /// The name of the file, as the user gave it.
    pub file: Arc<str>,
    /// The offending key or value.
    pub span: Span,
    /// How to put it right.
    pub help: Option<String>,
    /// Other places that belong to it, with a word on each.
    pub related: Vec<(Span, String)>,
}

impl Diagnostic {
    /// Adds how to put it right; `None` changes nothing.
    pub fn help(&mut self, help: impl Into<Option<String>>) -> &mut Self {
        if let Some(help) = help.into() {
            self.help = Some(help);
        }
        self
    }

    /// Adds another place that belongs to it.
    pub fn related(&mut self, span: Span, label: impl Into<String>) -> &mut Self {
        self.related.push((span, label.into()));
        self
    }
}

/// Everything there is to say about one file.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    file: Arc<str>,
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Nothing to say yet about the file of that name.
    pub fn new(file: &str) -> Self {
        Self { file: file.into(), list: Vec::new() }
    }

    /// Nothing to say yet about the same file.
    #[must_use]
    pub fn of_same_file(&self) -> Self {
        Self { file: Arc::clone(&self.file), list: Vec::new() }
    }

    /// Adds what was said about a text that stands inside of the file; `place` is where something
    /// that stands there stands in the file.
    pub fn absorb(&mut self, inner: Self, place: impl Fn(Span) -> Span) {
        self.list.extend(inner.list.into_iter().map(|mut diagnostic| {
            diagnostic.span = place(diagnostic.span);
            for (span, _) in &mut diagnostic.related {
                *span = place(*span);
            }
            diagnostic
        }));
    }

    /// Adds one; what is returned takes its help.
    pub fn push(
        &mut self,
        severity: Severity,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let at = self.list.len();
        self.list.push(Diagnostic {
            severity,
            code,
            message: message.into(),
            file: Arc::clone(&self.file),
            span,
            help: None,
            related: Vec::new(),
        });
        &mut self.list[at]
    }

    /// Adds an error.
    pub fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Severity::Error, code, span, message)
    }

    /// Adds a warning.
    pub fn warning(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Severity::Warning, code, span, message)
    }

    /// Adds a note.
    pub fn note(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Severity::Note, code, span, message)
    }

    /// Whether the file cannot be used.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// In the order of their places in the file, the worst first where the place is the same.
    /// What was said twice about one place, as happens behind aliases, comes once.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        let mut sorted: Vec<&Diagnostic> = self.list.iter().collect();
        // The text takes part in the order, so that equal ones meet.
        sorted.sort_by(|a, b| place_and_text(a).cmp(&place_and_text(b)));
        sorted.dedup_by(|a, b| place_and_text(a) == place_and_text(b));
        sorted.into_iter()
    }
}

fn place_and_text(diagnostic: &Diagnostic) -> (usize, usize, Severity, &str, &str) {
    let Diagnostic { severity, code, message, file: _, span, help: _, related: _ } = diagnostic;
    (span.start, span.end, *severity, code, message)
}

impl<'d> IntoIterator for &'d Diagnostics {
    type Item = &'d Diagnostic;
    type IntoIter = std::vec::IntoIter<&'d Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter().collect::<Vec<_>>().into_iter()
    }
}
