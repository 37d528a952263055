//! The log of the service on standard error, in the two formats of Kubernetes' own programs
//! (docs/spec/runtime.md section 1.6): klog's text and JSON, an entry a line.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::panic::Location;
use std::path::Path;
use std::process;

use descheduler_controller::clock;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::output::layout::clean;

/// How entries are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Format {
    /// `I1202 06:54:53.616053   25924 file.rs:609] "Evicted pod" pod="default/p3"`
    #[default]
    Text,
    /// `{"ts":1764658493616.053,"caller":"dir/file.rs:609","msg":"Evicted pod","v":0,"pod":{..}}`
    Json,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    Info,
    Warning,
    Error,
}

/// Writes entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logger {
    pub(crate) format: Format,
    /// Entries above this level are left out.
    pub(crate) verbosity: i32,
}

/// Something to be told.
#[must_use]
pub(crate) struct Entry {
    severity: Severity,
    level: i32,
    caller: &'static Location<'static>,
    message: String,
    fields: Vec<(&'static str, Value)>,
    /// What the message says in words already.
    details: Vec<(&'static str, Value)>,
}

impl Entry {
    /// That something has happened.
    #[track_caller]
    pub(crate) fn info(message: impl fmt::Display) -> Self {
        Self::new(Severity::Info, message)
    }

    /// That somebody should look at it.
    #[track_caller]
    pub(crate) fn warning(message: impl fmt::Display) -> Self {
        Self::new(Severity::Warning, message)
    }

    /// That something went wrong.
    #[track_caller]
    pub(crate) fn error(message: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self::new(Severity::Error, message).field("err", error.to_string())
    }

    #[track_caller]
    fn new(severity: Severity, message: impl fmt::Display) -> Self {
        Self {
            severity,
            level: 0,
            caller: Location::caller(),
            message: message.to_string(),
            fields: Vec::new(),
            details: Vec::new(),
        }
    }

    /// Told from this verbosity on.
    pub(crate) fn at(mut self, level: i32) -> Self {
        self.level = level;
        self
    }

    /// With a field.
    pub(crate) fn field(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// With the pod that it is about.
    pub(crate) fn pod(self, namespace: &str, name: &str) -> Self {
        self.field("pod", json!({"name": name, "namespace": namespace}))
    }

    /// With a field that programs get, and people read in the message.
    pub(crate) fn detail(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.details.push((name, value.into()));
        self
    }
}

impl Logger {
    /// Whether entries of a level are written.
    pub(crate) fn tells(self, level: i32) -> bool {
        level <= self.verbosity
    }

    /// Writes an entry. Where standard error cannot be written to, nobody can be told.
    pub(crate) fn tell(self, entry: &Entry) {
        if self.tells(entry.level) {
            let line = self.line(entry, clock::now(), process::id());
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    fn line(self, entry: &Entry, now: Timestamp, pid: u32) -> String {
        match self.format {
            Format::Text => text(entry, now, pid),
            Format::Json => json_line(entry, now),
        }
    }
}

/// As klog's `InfoS` and `ErrorS`; the time is UTC, as it is in a container.
fn text(entry: &Entry, now: Timestamp, pid: u32) -> String {
    let Entry { severity, level: _, caller, message, fields, details: _ } = entry;
    let letter = match severity {
        Severity::Info => 'I',
        Severity::Warning => 'W',
        Severity::Error => 'E',
    };
    let file = Path::new(caller.file()).file_name().unwrap_or_default().to_string_lossy();
    let (time, line) = (now.strftime("%m%d %H:%M:%S%.6f"), caller.line());
    let mut text = format!("{letter}{time} {pid:>7} {file}:{line}] {message:?}");
    for (name, value) in fields {
        // Writing to a string does not fail.
        let _ = match value {
            Value::String(value) => write!(text, " {name}={value:?}"),
            Value::Object(object) => {
                let part = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or("");
                let whole = format!("{}/{}", part("namespace"), part("name"));
                write!(text, " {name}={whole:?}")
            }
            other => write!(text, " {name}={other}"),
        };
    }
    text.push('\n');
    text
}

fn json_line(entry: &Entry, now: Timestamp) -> String {
    let Entry { severity, level, caller, message, fields, details } = entry;
    let path = Path::new(caller.file());
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let caller = format!("{folder}/{file}:{}", caller.line());
    let ts = now.as_microsecond() as f64 / 1000.0;
    let mut all = vec![("ts", json!(ts)), ("caller", json!(caller)), ("msg", json!(message))];
    if *severity != Severity::Error {
        all.push(("v", json!(level)));
    }
    all.extend(fields.iter().chain(details).cloned());
    let all: Vec<String> =
        all.iter().map(|(name, value)| format!("{}:{value}", json!(name))).collect();
    // What is left are letters that turn the direction of writing and the like.
    clean(&format!("{{{}}}", all.join(","))).into_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(entry: &Entry) -> [String; 2] {
        let now: Timestamp = "2026-12-02T06:54:53.616053Z".parse().expect("a time");
        [Format::Text, Format::Json].map(|format| {
            let line = Logger { format, verbosity: 0 }.line(entry, now, 25924);
            // Lines of this file come and go.
            let number = entry.caller.line().to_string();
            line.replace(&format!("logger.rs:{number}"), "logger.rs:N")
        })
    }

    #[test]
    fn an_entry_is_a_line_in_either_format() {
        let entry = Entry::info("Evicted pod")
            .pod("default", "p3")
            .field("reason", "")
            .field("count", 3)
            .detail("cycle", 7)
            .at(1);
        let [text, json] = lines(&entry);
        assert_eq!(
            text,
            "I1202 06:54:53.616053   25924 logger.rs:N] \"Evicted pod\" pod=\"default/p3\" \
             reason=\"\" count=3\n"
        );
        assert_eq!(
            json,
            "{\"ts\":1796194493616.053,\"caller\":\"src/logger.rs:N\",\"msg\":\"Evicted \
             pod\",\"v\":1,\"pod\":{\"name\":\"p3\",\"namespace\":\"default\"},\"reason\":\"\",\
             \"count\":3,\"cycle\":7}\n"
        );
    }

    #[test]
    fn what_comes_from_elsewhere_stays_in_its_line() {
        let [text, json] = lines(&Entry::error("Cannot", "a \"b\"\nI1202 c\u{1b}[1m\u{202e}"));
        assert_eq!(text.matches('\n').count(), 1);
        assert!(text.starts_with("E1202 "), "{text}");
        assert!(text.contains(r#" err="a \"b\"\nI1202 c\u{1b}[1m\u{202e}""#), "{text}");
        assert_eq!(json.matches('\n').count(), 1);
        assert!(!json.contains('\u{202e}') && !json.contains("\"v\""), "{json}");
    }

    #[test]
    fn levels_above_the_verbosity_are_left_out() {
        let logger = Logger { format: Format::Text, verbosity: 1 };
        assert!(logger.tells(0) && logger.tells(1) && !logger.tells(2));
    }
}
