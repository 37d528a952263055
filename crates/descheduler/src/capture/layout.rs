//! The text of a capture.

use std::io::{self, Write};

use clap::ValueEnum;
use descheduler_cluster::{Capture, capture};
use serde_json::Value;

use super::trim::quote;

/// Lines before the one with the header, and the header.
const HEAD_LINES: usize = 4;

/// How a capture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layout {
    /// One object a line.
    Json,
    /// As people read it.
    Yaml,
}

/// Writes a list of objects.
pub(crate) struct Writer<'w> {
    out: &'w mut dyn Write,
    layout: Layout,
    is_first: bool,
}

impl<'w> Writer<'w> {
    /// Nothing is written yet.
    pub(crate) fn new(out: &'w mut dyn Write, layout: Layout) -> Self {
        Self { out, layout, is_first: true }
    }

    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.out.write_all(match self.layout {
            Layout::Json => b"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n",
            Layout::Yaml => b"apiVersion: v1\nkind: List\nitems:\n",
        })
    }

    /// What the capture says of itself.
    pub(super) fn header(&mut self, header: &Capture) -> io::Result<()> {
        let header = serde_json::to_string(header)?;
        match self.layout {
            Layout::Json => self.line(header.as_bytes()),
            Layout::Yaml => writeln!(self.out, "- {header}"),
        }
    }

    /// An object, on one line of JSON.
    pub(super) fn object(&mut self, json: &[u8]) -> io::Result<()> {
        match self.layout {
            Layout::Json => self.line(json),
            Layout::Yaml => {
                let value: Value = serde_json::from_slice(json)?;
                let mut text = String::from("- ");
                block(&mut text, &value, 2);
                self.out.write_all(text.as_bytes())
            }
        }
    }

    pub(super) fn end(&mut self) -> io::Result<()> {
        match self.layout {
            Layout::Json => self.out.write_all(b"\n]}\n"),
            Layout::Yaml => Ok(()),
        }
    }

    fn line(&mut self, json: &[u8]) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_first, false) {
            self.out.write_all(b",\n")?;
        }
        self.out.write_all(json)
    }
}

/// The header in the first lines of a capture, if they are that.
pub(crate) fn header_of(head: &[u8]) -> Option<Capture> {
    let lines = head.split(|&byte| byte == b'\n').take(HEAD_LINES);
    lines
        .filter_map(|line| {
            let line = line.trim_ascii();
            let line = line.strip_prefix(b"- ").unwrap_or(line);
            serde_json::from_slice(line.strip_suffix(b",").unwrap_or(line)).ok()
        })
        .find(|header: &Capture| header.api_version == capture::API_VERSION)
}

/// A value, the cursor being where its first character belongs; ends the line.
fn block(text: &mut String, value: &Value, indent: usize) {
    let next = |text: &mut String, at: usize| {
        if at > 0 {
            text.push_str(&" ".repeat(indent));
        }
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (at, (key, value)) in fields.iter().enumerate() {
                next(text, at);
                text.push_str(&plain_or_quoted(key));
                text.push(':');
                match value {
                    Value::Object(inner) if !inner.is_empty() => {
                        text.push('\n');
                        text.push_str(&" ".repeat(indent + 2));
                        block(text, value, indent + 2);
                    }
                    Value::Array(items) if !items.is_empty() => {
                        text.push('\n');
                        text.push_str(&" ".repeat(indent));
                        block(text, value, indent);
                    }
                    _ => {
                        text.push(' ');
                        block(text, value, indent);
                    }
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                next(text, at);
                text.push_str("- ");
                block(text, item, indent + 2);
            }
        }
        Value::String(string) => {
            text.push_str(&plain_or_quoted(string));
            text.push('\n');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            text.push_str(&value.to_string());
            text.push('\n');
        }
    }
}

/// Text as it is where every reader of YAML takes that for text; else as in JSON, which is YAML.
fn plain_or_quoted(text: &str) -> String {
    const OTHERS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
        && !OTHERS.iter().any(|other| text.eq_ignore_ascii_case(other));
    if is_plain { text.to_owned() } else { quote(text) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_header_is_found_in_either_layout_and_nowhere_else() {
        let header = Capture { server_version: Some("v1.35.2".to_owned()), ..Capture::default() };
        for layout in [Layout::Json, Layout::Yaml] {
            let mut out = Vec::new();
            let mut writer = Writer::new(&mut out, layout);
            writer.begin().and_then(|()| writer.header(&header)).expect("written");
            writer.object(br#"{"kind":"Pod"}"#).and_then(|()| writer.end()).expect("written");
            assert_eq!(header_of(&out), Some(header.clone()), "{layout:?}");
        }
        assert_eq!(header_of(b"{\"kind\":\"Capture\"}\n"), None);
        assert_eq!(header_of(b""), None);
    }

    #[test]
    fn yaml_says_what_json_said() {
        let value = json!({"a": {"b": [], "c": {}, "d": [1, {"e": null, "f": [[true]]}]},
            "yes": "no", "12": "1e3", "text": "two\nlines: # \u{7f}"});
        let mut text = String::new();
        block(&mut text, &value, 0);
        assert_eq!(
            text,
            "\"12\": \"1e3\"\na:\n  b: []\n  c: {}\n  d:\n  - 1\n  - e: null\n    f:\n    - - true\n\
             text: \"two\\nlines: # \u{7f}\"\n\"yes\": \"no\"\n"
        );
    }
}
