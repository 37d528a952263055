//! The two streams: data goes to standard output, everything else to standard error.
//!
//! Nothing else in this program writes to either. Colour is for terminals alone, and only where
//! `NO_COLOR` does not ask for none; a reader that went away is no error.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Stderr, StdoutLock, Write};

use anyhow::Context;
use descheduler_engine::{Diagnostics, Violation};
use descheduler_policy::Style;

use crate::error::CliError;
use crate::logger::{Entry, Logger};
use crate::output::layout::{Ink, Screen, clean};

/// What is not a terminal gets lines of this width: what is looked at later is looked at wide.
const FILE_COLUMNS: usize = 120;

/// More than this is harder to read, not easier.
const COLUMNS_MAX: usize = 200;

/// Less than this is no screen, whatever the terminal says.
const COLUMNS_MIN: usize = 40;

/// Writes to standard output and standard error.
pub(crate) struct Printer {
    out: BufWriter<StdoutLock<'static>>,
    /// Not locked: a progress bar is drawn from a thread of its own.
    err: Stderr,
    screen: Screen,
    coloured_err: bool,
    /// Where standard error is read by programs: what writes entries of a log instead.
    logger: Option<Logger>,
}

impl Printer {
    /// Looks at what the streams are.
    pub(crate) fn new() -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        let wanted = colour_is_wanted(env::var_os("NO_COLOR"), env::var_os("TERM"));
        let columns = terminal_size::terminal_size_of(&out)
            .map_or(FILE_COLUMNS, |(columns, _)| usize::from(columns.0));
        let screen = Screen {
            columns: columns.clamp(COLUMNS_MIN, COLUMNS_MAX),
            coloured: wanted && out.is_terminal(),
        };
        let coloured_err = wanted && err.is_terminal();
        let out = BufWriter::with_capacity(64 * 1024, out.lock());
        Self { out, err, screen, coloured_err, logger: None }
    }

    /// From now on everything that is said on standard error is an entry of this log.
    pub(crate) fn log_to(&mut self, logger: Logger) {
        self.logger = Some(logger);
    }

    /// What standard output is like.
    pub(crate) fn screen(&self) -> Screen {
        self.screen
    }

    /// Whether standard error is coloured.
    pub(crate) fn coloured_err(&self) -> bool {
        self.coloured_err
    }

    /// Writes data. That nobody wants the rest of it is no error.
    pub(crate) fn data(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CliError> {
        match write(&mut self.out).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(error).context("cannot write to standard output").map_err(CliError::environment)
            }
            _ => Ok(()),
        }
    }

    /// Tells why a command failed.
    pub(crate) fn error(&mut self, error: &CliError) {
        if let Some(logger) = self.logger {
            let entry = Entry::error("command failed", error);
            let hint = error.hint().map(str::to_owned);
            logger.tell(&hint.into_iter().fold(entry, |entry, hint| entry.field("help", hint)));
            return;
        }
        self.say("error", Ink::Red, &error);
        if let Some(hint) = error.hint() {
            self.say("help", Ink::Cyan, &hint);
        }
    }

    /// Tells what is wrong with a plan.
    pub(crate) fn violation(&mut self, violation: &Violation) {
        self.say("violation", Ink::Red, violation);
    }

    /// Tells all that there is to say about a file of that content.
    pub(crate) fn diagnostics(&mut self, diagnostics: &Diagnostics, bytes: &[u8]) {
        let rendered = descheduler_policy::render(
            diagnostics,
            bytes,
            style(self.coloured_err && self.logger.is_none()),
        );
        if rendered.is_empty() {
            return;
        }
        match self.logger {
            Some(logger) => logger.tell(&Entry::warning(rendered)),
            None => self.raw(&format!("{rendered}\n")),
        }
    }

    /// Tells something that is good to know.
    pub(crate) fn note(&mut self, text: impl fmt::Display) {
        match self.logger {
            Some(logger) => logger.tell(&Entry::info(text)),
            None => self.say("note", Ink::Green, &text),
        }
    }

    /// Puts text on standard error as it is. Where that cannot be written, nobody can be told.
    pub(crate) fn raw(&mut self, text: &str) {
        let _ = self.err.write_all(text.as_bytes());
    }

    fn say(&mut self, label: &str, ink: Ink, text: &dyn fmt::Display) {
        let label = ink.paint(label, self.coloured_err);
        let text = clean(&text.to_string()).into_owned();
        self.raw(&format!("{label}: {text}\n"));
    }
}

/// How diagnostics are rendered for such a stream.
pub(crate) fn style(coloured: bool) -> Style {
    if coloured { Style::Coloured } else { Style::Plain }
}

/// <https://no-color.org>, and terminals that say that they know no colours.
fn colour_is_wanted(no_color: Option<OsString>, term: Option<OsString>) -> bool {
    no_color.is_none_or(|value| value.is_empty()) && term.is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_can_be_refused() {
        let given = |text: &str| Some(OsString::from(text));
        assert!(colour_is_wanted(None, None));
        assert!(colour_is_wanted(given(""), given("xterm")));
        assert!(!colour_is_wanted(given("0"), given("xterm")));
        assert!(!colour_is_wanted(None, given("dumb")));
    }
}
