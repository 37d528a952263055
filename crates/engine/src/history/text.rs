//! The history as text, for a file or a ConfigMap: a line that says what it is, then a line for each
//! move and for each streak of failures.
//!
//! ```text
//! descheduler-history v1
//! # moved: when strategy namespace/kind/name uid from to successor helped
//! moved 2026-01-01T00:00:00Z RemoveDuplicates default/ReplicaSet/web 1f9e a b 77aa no
//! # failed: strategy namespace/kind/name moves cycles first latest seen
//! failed RemoveDuplicates default/ReplicaSet/web 1 1 2026-01-01T00:00:00Z 2026-01-01T00:00:00Z 2026-01-01T00:05:00Z
//! ```
//!
//! A `-` stands where nothing is known, and in `failed` for a strategy as a whole. What names
//! should not hold, such as a space, is written as `%` and the number of the byte.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use super::{Failures, History, MOVES_MAX, Moved, STREAKS_MAX, Streak, Subject};

/// How the text begins.
const HEADER: &str = "descheduler-history";

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;

/// What the columns are, for people.
const MOVED: &str = "# moved: when strategy namespace/kind/name uid from to successor helped";
const FAILED: &str = "# failed: strategy namespace/kind/name moves cycles first latest seen";

/// What stands where nothing is known.
const NONE: &str = "-";

/// Why a text is no history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for HistoryError {}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER} v{VERSION}\n{MOVED}")?;
        for Moved { at, strategy, subject, uid, from, to, successor, helped } in self.moves() {
            let known = |text: &Option<String>| text.as_deref().map_or(NONE.to_owned(), escaped);
            let helped = match helped {
                None => NONE,
                Some(true) => "yes",
                Some(false) => "no",
            };
            write!(f, "moved {at} {} {}", escaped(strategy), owner(subject))?;
            write!(f, " {} {} {}", escaped(uid), escaped(from), known(to))?;
            writeln!(f, " {} {helped}", known(successor))?;
        }
        writeln!(f, "{FAILED}")?;
        for (strategy, subject, streak) in self.streaks() {
            let Streak { moves, cycles, first, latest, seen } = streak;
            let subject = subject.map_or(NONE.to_owned(), owner);
            write!(f, "failed {} {subject} {moves} {cycles}", escaped(strategy))?;
            writeln!(f, " {first} {latest} {seen}")?;
        }
        Ok(())
    }
}

impl FromStr for History {
    type Err = HistoryError;

    /// Reads what `Display` writes. An empty text is an empty history, as that of a new ConfigMap is.
    fn from_str(text: &str) -> Result<Self, HistoryError> {
        let mut history = Self::default();
        let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        let Some((line, header)) = lines.find(|(_, text)| !text.is_empty()) else {
            return Ok(history);
        };
        check_header(header).map_err(|problem| HistoryError { line, problem })?;
        for (line, text) in lines.filter(|(_, text)| !text.is_empty() && !text.starts_with('#')) {
            history.add(text).map_err(|problem| HistoryError { line, problem })?;
        }
        history.moves.sort_by_key(|moved| moved.at);
        Ok(history)
    }
}

fn check_header(header: &str) -> Result<(), String> {
    let foreign = || format!("expected `{HEADER} v{VERSION}`, so this is no history");
    let version = header.strip_prefix(HEADER).ok_or_else(foreign)?.trim();
    match version.strip_prefix('v').and_then(|version| version.parse::<u32>().ok()) {
        Some(VERSION) => Ok(()),
        Some(newer) if newer > VERSION => {
            Err(format!("version {newer} is of a newer descheduler; this one reads v{VERSION}"))
        }
        Some(_) | None => Err(foreign()),
    }
}

impl History {
    fn add(&mut self, line: &str) -> Result<(), String> {
        let (kind, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match kind {
            "moved" if self.moves.len() == MOVES_MAX => {
                Err(format!("there are more than {MOVES_MAX} moves"))
            }
            "moved" => {
                self.moves.push(read_move(fields(rest)?)?);
                Ok(())
            }
            "failed" if self.streaks().count() == STREAKS_MAX => {
                Err(format!("there are more than {STREAKS_MAX} owners with failures"))
            }
            "failed" => {
                let (strategy, subject, streak) = read_streak(fields(rest)?)?;
                let Failures { whole, subjects } = self.failures.entry(strategy).or_default();
                let twice = match subject {
                    Some(subject) => subjects.insert(subject, streak),
                    None => whole.replace(streak),
                };
                twice.map_or(Ok(()), |_| Err("this strategy and owner stood before".to_owned()))
            }
            other => Err(format!("expected `moved` or `failed`, found `{other}`")),
        }
    }
}

fn read_move(fields: [&str; 8]) -> Result<Moved, String> {
    let [at, strategy, subject, uid, from, to, successor, helped] = fields;
    let known = |text: &str| (text != NONE).then(|| plain(text)).transpose();
    Ok(Moved {
        at: moment(at)?,
        strategy: plain(strategy)?,
        subject: read_owner(subject)?,
        uid: plain(uid)?,
        from: plain(from)?,
        to: known(to)?,
        successor: known(successor)?,
        helped: match helped {
            NONE => None,
            "yes" => Some(true),
            "no" => Some(false),
            other => return Err(format!("expected `yes`, `no` or `{NONE}`, found `{other}`")),
        },
    })
}

fn read_streak(fields: [&str; 7]) -> Result<(String, Option<Subject>, Streak), String> {
    let [strategy, subject, moves, cycles, first, latest, seen] = fields;
    let subject = (subject != NONE).then(|| read_owner(subject)).transpose()?;
    let streak = Streak {
        moves: count(moves)?,
        cycles: count(cycles)?,
        first: moment(first)?,
        latest: moment(latest)?,
        seen: moment(seen)?,
    };
    Ok((plain(strategy)?, subject, streak))
}

fn fields<const COUNT: usize>(text: &str) -> Result<[&str; COUNT], String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let found = fields.len();
    fields.try_into().map_err(|_| format!("expected {COUNT} fields, found {found}"))
}

fn owner(subject: &Subject) -> String {
    let Subject { namespace, kind, name } = subject;
    [namespace, kind, name].map(|part| escaped(part)).join("/")
}

fn read_owner(text: &str) -> Result<Subject, String> {
    let parts: Vec<&str> = text.split('/').collect();
    let [namespace, kind, name] = *parts else {
        return Err(format!("expected `namespace/kind/name`, found `{text}`"));
    };
    Ok(Subject { namespace: plain(namespace)?, kind: plain(kind)?, name: plain(name)? })
}

fn count(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|&count| count > 0);
    count.ok_or_else(|| format!("expected a count, found `{text}`"))
}

fn moment(text: &str) -> Result<Timestamp, String> {
    let wrong = |_| format!("expected a moment such as 2026-01-01T00:00:00Z, found `{text}`");
    text.parse().map_err(wrong)
}

/// A name that the separators, and what stands for nothing, cannot be taken for. Names of Kubernetes
/// stay as they are, but dumps may hold anything.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in text.chars() {
        match part {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | ':' | '-' => out.push(part),
            other => {
                let mut bytes = [0; 4];
                let bytes = other.encode_utf8(&mut bytes).bytes();
                bytes.for_each(|byte| out.push_str(&format!("%{byte:02X}")));
            }
        }
    }
    match &*out {
        "" => "%".to_owned(),
        NONE => "%2D".to_owned(),
        _ => out,
    }
}

fn plain(text: &str) -> Result<String, String> {
    let wrong = || format!("`{text}` is no name as this file writes it");
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    if text == "%" {
        return Ok(String::new());
    }
    for part in parts {
        let (code, rest) = part.split_at_checked(2).ok_or_else(wrong)?;
        let code = Some(code).filter(|code| code.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(byte.ok_or_else(wrong)?);
        bytes.extend(rest.bytes());
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history in which these are all the names.
    fn history(name: &str) -> History {
        let subject =
            Subject { namespace: name.to_owned(), kind: name.to_owned(), name: name.to_owned() };
        let (first, seen) = (Timestamp::UNIX_EPOCH, Timestamp::constant(1, 500_000_000));
        let streak = Streak { moves: 3, cycles: 2, first, latest: first, seen };
        let moved = Moved {
            at: seen,
            strategy: name.to_owned(),
            subject: subject.clone(),
            uid: name.to_owned(),
            from: name.to_owned(),
            to: Some(name.to_owned()),
            successor: None,
            helped: Some(true),
        };
        let earlier = Moved { at: first, to: None, helped: None, ..moved.clone() };
        let subjects = [(subject, streak)].into();
        let failures = Failures { whole: Some(streak), subjects };
        History { moves: vec![earlier, moved], failures: [(name.to_owned(), failures)].into() }
    }

    #[test]
    fn whatever_is_written_is_read() {
        for name in ["web", "", "-", "%", "%2D", "a b/c\t\n#", "kube-system", "größe", "no"] {
            let history = history(name);
            let text = history.to_string();
            assert_eq!(text.parse(), Ok(history), "{text}");
            assert_eq!(text.lines().count(), 7, "{text}");
        }
        assert_eq!("".parse(), Ok(History::default()));
        assert_eq!(History::default().to_string().parse(), Ok(History::default()));
    }

    #[test]
    fn names_of_kubernetes_stay_as_they_are() {
        let text = history("web-1.a").to_string();
        let moved =
            "moved 1970-01-01T00:00:00Z web-1.a web-1.a/web-1.a/web-1.a web-1.a web-1.a - - -";
        assert!(text.contains(moved), "{text}");
        let failed =
            "failed web-1.a - 3 2 1970-01-01T00:00:00Z 1970-01-01T00:00:00Z 1970-01-01T00:00:01.5Z";
        assert!(text.contains(failed), "{text}");
    }

    #[test]
    fn the_order_of_the_lines_is_no_matter() {
        let text = history("web").to_string();
        let mut lines: Vec<&str> = text.lines().collect();
        lines[1..].reverse();
        assert_eq!(lines.join("\n").parse(), Ok(history("web")));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let time = "2026-01-01T00:00:00Z";
        for (line, said) in [
            ("", "line 1: expected `descheduler-history v1`, so this is no history"),
            ("v0", "line 1: expected `descheduler-history v1`, so this is no history"),
            ("v2", "line 1: version 2 is of a newer descheduler; this one reads v1"),
            ("v1\n\nx", "line 3: expected `moved` or `failed`, found `x`"),
            ("v1\nmoved a b", "line 2: expected 8 fields, found 2"),
            (
                "v1\nmoved t S n/k/o u a - - -",
                "line 2: expected a moment such as 2026-01-01T00:00:00Z, found `t`",
            ),
            ("v1\nmoved T S n/o u a - - -", "line 2: expected `namespace/kind/name`, found `n/o`"),
            (
                "v1\nmoved T S n/k/o u a - - maybe",
                "line 2: expected `yes`, `no` or `-`, found `maybe`",
            ),
            ("v1\nmoved T S n/k/o %x a - - -", "line 2: `%x` is no name as this file writes it"),
            ("v1\nmoved T S n/k/o %+1 a - - -", "line 2: `%+1` is no name as this file writes it"),
            ("v1\nmoved T S n/k/o %FF a - - -", "line 2: `%FF` is no name as this file writes it"),
            ("v1\nmoved T S n/k/o %ü a - - -", "line 2: `%ü` is no name as this file writes it"),
            ("v1\nfailed S - 0 1 T T T", "line 2: expected a count, found `0`"),
            (
                "v1\nfailed S - 1 1 T T T\nfailed S - 1 1 T T T",
                "line 3: this strategy and owner stood before",
            ),
        ] {
            let text = format!("descheduler-history {}", line.replace('T', time));
            let said = said.replace("`T`", time);
            assert_eq!(text.parse::<History>().map_err(|error| error.to_string()), Err(said));
        }
    }

    #[test]
    fn there_is_a_bound_to_everything() {
        let time = "2026-01-01T00:00:00Z";
        let moved: String = (0..=MOVES_MAX)
            .map(|number| format!("moved {time} S n/k/o u{number} a - - -\n"))
            .collect();
        let failed: String = (0..=STREAKS_MAX)
            .map(|number| format!("failed S n/k/o{number} 1 1 {time} {time} {time}\n"))
            .collect();
        for (lines, most) in [(moved, MOVES_MAX), (failed, STREAKS_MAX)] {
            let text = format!("descheduler-history v1\n{lines}");
            let error = text.parse::<History>().expect_err("that is too much");
            assert_eq!(error.line, most + 2, "{error}");
        }
    }
}
