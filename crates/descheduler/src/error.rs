//! Why a command failed, whose turn it is, and how that is said.

use std::fmt;

use descheduler_controller::chain;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct CliError {
    blame: Blame,
    error: anyhow::Error,
    help: Option<String>,
}

/// Who can do something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blame {
    /// Whoever gave the arguments and the files.
    User,
    /// Whoever runs the machine.
    Environment,
    /// We.
    Bug,
}

impl CliError {
    /// Something that the user can fix.
    pub(crate) fn user(error: impl Into<anyhow::Error>) -> Self {
        Self { blame: Blame::User, error: error.into(), help: None }
    }

    /// Something that is wrong around the program.
    pub(crate) fn environment(error: impl Into<anyhow::Error>) -> Self {
        Self { blame: Blame::Environment, error: error.into(), help: None }
    }

    /// Something that is wrong with the program.
    pub(crate) fn bug(error: impl Into<anyhow::Error>) -> Self {
        Self { blame: Blame::Bug, error: error.into(), help: None }
    }

    /// Adds how to put it right.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// What the process ends with.
    pub(crate) fn exit_code(&self) -> u8 {
        match self.blame {
            Blame::User => 1,
            Blame::Environment | Blame::Bug => 2,
        }
    }

    /// How to put it right, if that is known.
    pub(crate) fn hint(&self) -> Option<&str> {
        match self.blame {
            Blame::Bug => Some("this is a bug of descheduler; please report it"),
            Blame::User | Blame::Environment => self.help.as_deref(),
        }
    }
}

/// The error and its causes in one line.
impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&chain(self.error.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let error = anyhow!("no such file").context("cannot open `a`: no such file");
        let error = CliError::user(error.context("cannot plan"));
        assert_eq!(error.to_string(), "cannot plan: cannot open `a`: no such file");
        assert_eq!((error.exit_code(), error.hint()), (1, None));
    }

    #[test]
    fn whose_turn_it_is() {
        let error = CliError::environment(anyhow!("disk full")).help("make room");
        assert_eq!((error.exit_code(), error.hint()), (2, Some("make room")));
        let error = CliError::bug(anyhow!("no"));
        assert_eq!(error.exit_code(), 2);
        assert!(error.hint().is_some_and(|hint| hint.contains("bug")));
    }
}
