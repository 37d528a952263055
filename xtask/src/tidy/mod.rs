//! `cargo xtask tidy`: the rules of the house that a compiler does not know, one file per concern.
//!
//! Every rule reads the same [`Workspace`] and answers with [`Problem`]s. A rule that has to be
//! broken somewhere is broken in [`EXCEPTIONS`], with the reason.

mod bans;
mod codes;
mod length;
mod manifests;
pub(crate) mod registry;
mod tree;
mod words;
mod workspace;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use crate::report;
use workspace::Workspace;

/// Where a rule does not hold, and why. One that nothing needs any more is a problem itself.
const EXCEPTIONS: &[Exception] = &[];

struct Exception {
    rule: &'static str,
    path: &'static str,
    reason: &'static str,
}

/// Something that has to be mended before a change lands.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    /// Relative to the workspace.
    path: String,
    /// Counted from 1.
    line: usize,
    /// The name of the rule, as exceptions spell it.
    rule: &'static str,
    /// What is wrong, then what to do about it.
    what: String,
}

impl Problem {
    fn new(rule: &'static str, path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.into(), line: line.max(1), rule, what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, what } = self;
        write!(out, "{path}:{line}: {rule}: {what}")
    }
}

/// Prints every problem; fails when there is one.
pub(crate) fn run(root: &Path) -> Result<()> {
    let workspace = Workspace::read(root)?;
    let rules = [
        manifests::check,
        tree::check,
        length::check,
        bans::check,
        words::check,
        registry::check,
        codes::check,
    ];
    let problems = rules.iter().flat_map(|rule| rule(&workspace)).collect();
    let left = without_exceptions(problems, EXCEPTIONS);
    for problem in &left {
        report(&problem.to_string());
    }
    if !left.is_empty() {
        bail!("{} problems", left.len());
    }
    Ok(())
}

fn without_exceptions(mut problems: Vec<Problem>, exceptions: &[Exception]) -> Vec<Problem> {
    for exception in exceptions {
        let Exception { rule, path, reason } = exception;
        let before = problems.len();
        problems.retain(|problem| problem.rule != *rule || problem.path != *path);
        if problems.len() == before {
            let what = format!("the exception for `{rule}` ({reason}) is not needed: remove it");
            problems.push(Problem::new("exceptions", path, 1, what));
        }
    }
    problems.sort();
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_hides_its_problems_and_is_reported_once_it_is_stale() {
        let problems = vec![Problem::new("length", "a.rs", 1, "too long")];
        let exception = Exception { rule: "length", path: "a.rs", reason: "a table" };
        assert_eq!(without_exceptions(problems, &[exception]), vec![]);

        let exception = Exception { rule: "length", path: "a.rs", reason: "a table" };
        let left = without_exceptions(vec![], &[exception]);
        assert_eq!(left.len(), 1);
        assert_eq!(
            left[0].to_string(),
            "a.rs:1: exceptions: the exception for `length` (a table) is not needed: remove it"
        );
    }
}
