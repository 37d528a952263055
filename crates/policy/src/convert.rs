//! A rewritten v1alpha1 policy as the text of a v1alpha2 file.

use std::fmt::Write;

use descheduler_engine::{Map, Node, Scalar, ScalarKind, Value};

use crate::v1alpha1::{Changes, Rewritten};

/// The text, with comments: what concerns the whole policy at the top, the rest above the profile
/// that it concerns.
pub(crate) fn write(rewritten: &Rewritten) -> String {
    let Rewritten { root, changes: Changes { top, profiles } } = rewritten;
    let mut text = String::from("# Converted from descheduler/v1alpha1.\n");
    for change in top {
        comment(&mut text, change);
    }
    let Some(map) = root.as_map() else { return text };
    for entry in &map.entries {
        match entry.value.as_list() {
            Some(items) if entry.key == "profiles" && !items.is_empty() => {
                text.push_str("profiles:\n");
                for (at, item) in items.iter().enumerate() {
                    for change in profiles.get(at).into_iter().flatten() {
                        comment(&mut text, change);
                    }
                    text.push_str("- ");
                    block(&mut text, item, 2);
                }
            }
            _ => one_entry(&mut text, &entry.key, &entry.value, 0),
        }
    }
    text
}

/// A line of a comment. What is said quotes the policy, and a line break must not end the comment.
fn comment(text: &mut String, sentence: &str) {
    let line: String = sentence.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    // Writing to a string does not fail.
    let _ = writeln!(text, "# {line}");
}

/// A value, the cursor being where its first character belongs; ends the line.
fn block(text: &mut String, value: &Value, indent: usize) {
    match &value.node {
        Node::Map(map) if !map.entries.is_empty() => {
            for (at, entry) in map.entries.iter().enumerate() {
                if at > 0 {
                    text.push_str(&" ".repeat(indent));
                }
                one_entry(text, &entry.key, &entry.value, indent);
            }
        }
        Node::List(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push_str(&" ".repeat(indent));
                }
                text.push_str("- ");
                block(text, item, indent + 2);
            }
        }
        Node::Map(_) | Node::List(_) | Node::Scalar(_) => {
            text.push_str(&inline(value));
            text.push('\n');
        }
    }
}

/// A key with its value, the cursor being where the key belongs.
fn one_entry(text: &mut String, key: &str, value: &Value, indent: usize) {
    text.push_str(&quoted_where_needed(key));
    text.push(':');
    let (inner, is_block) = match &value.node {
        Node::Map(Map { entries }) => (indent + 2, !entries.is_empty()),
        Node::List(items) => (indent, items.iter().any(|item| item.as_map().is_some())),
        Node::Scalar(_) => (indent, false),
    };
    if is_block {
        text.push('\n');
        text.push_str(&" ".repeat(inner));
        block(text, value, inner);
    } else {
        text.push(' ');
        text.push_str(&inline(value));
        text.push('\n');
    }
}

/// A value on one line.
fn inline(value: &Value) -> String {
    match &value.node {
        Node::Scalar(Scalar { text, kind, .. }) => match kind {
            ScalarKind::Null => "null".to_owned(),
            // `placement: {mode: Off}` goes by the word, which is a boolean like any other to YAML.
            ScalarKind::Bool(_) if text.eq_ignore_ascii_case("off") => text.clone(),
            ScalarKind::Bool(truth) => truth.to_string(),
            ScalarKind::Integer(number) => number.to_string(),
            ScalarKind::Float(_) => text.clone(),
            ScalarKind::Text => quoted_where_needed(text),
        },
        Node::List(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Node::Map(map) => {
            let entry = |e: &descheduler_engine::Entry| {
                format!("{}: {}", quoted_where_needed(&e.key), inline(&e.value))
            };
            let entries: Vec<String> = map.entries.iter().map(entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// Text as it is, if every reader of YAML takes that for text; in double quotes otherwise.
fn quoted_where_needed(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    if text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(plain)
        && ScalarKind::of_plain(text) == ScalarKind::Text
    {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}') => {
                // Writing to a string does not fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
