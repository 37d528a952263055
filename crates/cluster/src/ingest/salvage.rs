//! The second look at an object that does not read as its kind should: names the field, cuts it
//! out and reads again, until what is left can be read.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::anomaly::{Flaws, SyntaxError};
use crate::wire::{self, text};

/// How often one object is cut. Each cut takes a whole field of `metadata`, `spec` or `status`,
/// and no kind has half as many that are read.
const CUTS_MAX: usize = 64;

/// Whether `json` is one JSON value, and nothing else.
///
/// # Errors
///
/// It is not.
pub fn check_syntax(json: &[u8]) -> Result<(), SyntaxError> {
    match serde_json::from_slice::<IgnoredAny>(json) {
        Ok(_) => Ok(()),
        Err(error) => Err(syntax_error(&error)),
    }
}

/// Reads `text` as `T`; if that fails, the path of the field and what is wrong with it.
pub(super) fn probe<'a, T: Deserialize<'a>>(text: &'a str) -> Result<(), (String, String)> {
    let mut reader = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, T>(&mut reader) {
        Ok(_) => Ok(()),
        Err(error) => {
            let path = error.path().to_string();
            Err((path, without_position(error.inner())))
        }
    }
}

/// The text of an object without the fields that `probe` stumbles over, and those fields.
pub(super) fn salvage(
    json: &[u8],
    probe: impl Fn(&str) -> Result<(), (String, String)>,
) -> Result<(String, Flaws), SyntaxError> {
    check_syntax(json)?;
    // Fails on bytes that are no Unicode, which the syntax check does not look for.
    let mut parts = Parts::read(json).map_err(|error| syntax_error(&error))?;
    let mut flaws = Flaws::default();
    let mut text = parts.render();
    for _ in 0..CUTS_MAX {
        let Err((path, problem)) = probe(&text) else {
            return Ok((text, flaws));
        };
        let cut = parts.cut(&path);
        flaws.push(path, problem);
        if !cut {
            break;
        }
        text = parts.render();
    }
    parts.reduce();
    text = parts.render();
    Ok((if probe(&text).is_ok() { text } else { "{}".to_owned() }, flaws))
}

/// An object as the fields of its fields. Of a key given twice the last one counts, as in Go.
struct Parts(BTreeMap<String, Part>);

enum Part {
    Fields(BTreeMap<String, Box<RawValue>>),
    Other(Box<RawValue>),
}

impl Parts {
    fn read(json: &[u8]) -> Result<Self, serde_json::Error> {
        let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(json)?;
        Ok(Self(fields.into_iter().map(|(key, raw)| (key, Part::of(raw))).collect()))
    }

    /// Removes the field that `path` leads to or through, as little as two levels allow.
    fn cut(&mut self, path: &str) -> bool {
        let mut steps = path.split(['.', '[']);
        let (first, second) = (steps.next().unwrap_or_default(), steps.next());
        if let (Some(Part::Fields(fields)), Some(second)) = (self.0.get_mut(first), second)
            && fields.remove(second).is_some()
        {
            return true;
        }
        self.0.remove(first).is_some()
    }

    /// Leaves only what says which object it is and where it stands.
    fn reduce(&mut self) {
        const KEPT: [(&str, &str); 5] = [
            ("metadata", "name"),
            ("metadata", "namespace"),
            ("metadata", "uid"),
            ("spec", "nodeName"),
            ("status", "phase"),
        ];
        self.0.retain(|first, part| match part {
            Part::Fields(fields) => {
                fields.retain(|second, raw| {
                    KEPT.contains(&(first.as_str(), second.as_str())) && raw.get().starts_with('"')
                });
                true
            }
            Part::Other(_) => false,
        });
    }

    fn render(&self) -> String {
        let mut text = String::from("{");
        for (key, part) in &self.0 {
            write_key(&mut text, key);
            match part {
                Part::Other(raw) => text.push_str(raw.get()),
                Part::Fields(fields) => {
                    text.push('{');
                    for (key, raw) in fields {
                        write_key(&mut text, key);
                        text.push_str(raw.get());
                    }
                    text.push('}');
                }
            }
        }
        text.push('}');
        text
    }
}

impl Part {
    fn of(raw: Box<RawValue>) -> Self {
        match serde_json::from_str(raw.get()) {
            Ok(fields) => Self::Fields(fields),
            Err(_) => Self::Other(raw),
        }
    }
}

/// Writes `"key":`, after a comma unless it is the first of its object.
fn write_key(text: &mut String, key: &str) {
    if !text.ends_with('{') {
        text.push(',');
    }
    text.push_str(&serde_json::Value::from(key).to_string());
    text.push(':');
}

/// `metadata.namespace` and `metadata.name` of an object of no known kind.
pub(super) fn name_of(json: &[u8]) -> String {
    let object: wire::Namespace<'_> = serde_json::from_slice(json).unwrap_or_default();
    let metadata = object.metadata.unwrap_or_default();
    match (text(&metadata.namespace), text(&metadata.name)) {
        (_, "") => "object without a kind".to_owned(),
        ("", name) => format!("object {name}"),
        (namespace, name) => format!("object {namespace}/{name}"),
    }
}

/// The message without ` at line 1 column 2`, which is about a single object.
pub(super) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

fn syntax_error(error: &serde_json::Error) -> SyntaxError {
    SyntaxError {
        message: without_position(error),
        line: error.line().max(1),
        // Column 0 is the line break itself.
        column: error.column().max(1),
        truncated: error.is_eof(),
    }
}
