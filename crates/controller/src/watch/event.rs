//! What a watch sends: one event a line.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api::Status;

/// Objects are a few megabytes at most; a line that is longer never ends.
const LINE_BYTES_MAX: usize = 64 << 20;

/// One event.
#[derive(Debug)]
pub(super) enum Event<'a> {
    /// The object is there, in this state.
    Put(&'a [u8]),
    /// The object is gone; this was its last state.
    Gone(&'a [u8]),
    /// Everything up to this version has been sent.
    Bookmark {
        version: String,
        /// All objects that there were at the start have been sent.
        ends_list: bool,
    },
    /// The watch is over.
    Error { code: u16, message: String },
    /// A type of event that is not known, which is nothing that we asked for.
    Other,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// `metadata` of a bookmark or a list.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Mark {
    pub(super) resource_version: String,
    pub(super) r#continue: String,
    annotations: Option<Annotations>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Annotations {
    #[serde(rename = "k8s.io/initial-events-end")]
    initial_events_end: Option<String>,
}

#[derive(Deserialize)]
struct Marked {
    metadata: Mark,
}

impl<'a> Event<'a> {
    /// Reads a line.
    pub(super) fn read(line: &'a [u8]) -> Result<Self, serde_json::Error> {
        if let Some(event) = Self::read_plain(line) {
            return Ok(event);
        }
        let Line { r#type, object } = serde_json::from_slice(line)?;
        let object = object.get();
        Ok(match &*r#type {
            "ADDED" | "MODIFIED" => Self::Put(object.as_bytes()),
            "DELETED" => Self::Gone(object.as_bytes()),
            "BOOKMARK" => {
                let Marked { metadata } = serde_json::from_str(object)?;
                let end = metadata.annotations.and_then(|all| all.initial_events_end);
                Self::Bookmark {
                    version: metadata.resource_version,
                    ends_list: end.as_deref() == Some("true"),
                }
            }
            "ERROR" => {
                let Status { code, message, .. } = serde_json::from_str(object)?;
                Self::Error { code, message }
            }
            _ => Self::Other,
        })
    }

    /// An event as API servers write it, where the object need not be looked through to find its
    /// end. That it is one whole object shows when it is read.
    fn read_plain(line: &'a [u8]) -> Option<Self> {
        let line = line.strip_suffix(b"}")?;
        if let Some(object) = line.strip_prefix(br#"{"type":"ADDED","object":"#) {
            return Some(Self::Put(object));
        }
        if let Some(object) = line.strip_prefix(br#"{"type":"MODIFIED","object":"#) {
            return Some(Self::Put(object));
        }
        line.strip_prefix(br#"{"type":"DELETED","object":"#).map(Self::Gone)
    }
}

/// Cuts what arrives into lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The beginning of a line whose end is yet to come.
    rest: Vec<u8>,
}

impl Lines {
    /// Calls `each` with every line that ends in `chunk`. An error ends it, and the rest of the
    /// chunk is lost.
    pub(super) fn feed<E: From<TooLong>>(
        &mut self,
        mut chunk: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(at) = memchr::memchr(b'\n', chunk) {
            let (line, after) = (&chunk[..at], &chunk[at + 1..]);
            chunk = after;
            if self.rest.is_empty() {
                each(line)?;
            } else {
                self.rest.extend_from_slice(line);
                each(&self.rest)?;
                self.rest.clear();
            }
        }
        self.rest.extend_from_slice(chunk);
        match self.rest.len() > LINE_BYTES_MAX {
            true => Err(TooLong.into()),
            false => Ok(()),
        }
    }
}

/// A line that does not end.
#[derive(Debug)]
pub(super) struct TooLong;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&str]) -> Vec<String> {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        for chunk in chunks {
            lines
                .feed(chunk.as_bytes(), |line| {
                    found.push(String::from_utf8_lossy(line).into_owned());
                    Ok::<(), TooLong>(())
                })
                .expect("short lines");
        }
        found
    }

    #[test]
    fn lines_are_whole_wherever_they_are_cut() {
        let text = "one\ntwo\n\nthree\nnot yet";
        for at in 0..text.len() {
            let (before, after) = text.split_at(at);
            assert_eq!(lines(&[before, after]), ["one", "two", "", "three"], "cut at {at}");
        }
    }

    #[test]
    fn events_are_read_in_any_layout() {
        for line in [
            r#"{"type":"ADDED","object":{"a":1}}"#,
            r#"{"type":"MODIFIED","object":{"a":1}}"#,
            r#"{ "object": {"a":1}, "type": "ADDED" }"#,
        ] {
            assert!(
                matches!(Event::read(line.as_bytes()), Ok(Event::Put(br#"{"a":1}"#))),
                "{line}"
            );
        }
        let line = br#"{"type":"DELETED","object":{"a":1}}"#;
        assert!(matches!(Event::read(line), Ok(Event::Gone(br#"{"a":1}"#))));
        let line = br#"{"type":"ERROR","object":{"kind":"Status","code":410,"message":"old"}}"#;
        assert!(matches!(Event::read(line), Ok(Event::Error { code: 410, .. })));
        let line = br#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"7",
            "annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
        let read = Event::read(line).expect("JSON");
        assert!(matches!(read, Event::Bookmark { version, ends_list: true } if version == "7"));
        assert!(Event::read(b"{\"type\":").is_err());
    }
}
