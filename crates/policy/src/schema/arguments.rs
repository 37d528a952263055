//! The schema of arguments.

use descheduler_engine::{ArgumentDoc, ArgumentType};
use serde_json::{Map, Value, json};

/// A span of time as Go writes it.
const DURATION: &str = r"^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";

/// An object with these arguments and no others.
pub(super) fn object(docs: &[ArgumentDoc]) -> Value {
    let properties: Map<String, Value> =
        docs.iter().map(|doc| (doc.name.to_owned(), argument(doc))).collect();
    let required: Vec<&str> = docs.iter().filter(|doc| doc.required).map(|doc| doc.name).collect();
    let mut object =
        json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

fn argument(doc: &ArgumentDoc) -> Value {
    let ArgumentDoc { name: _, doc: description, kind, default, required, deprecated, children } =
        doc;
    let mut schema = value(kind, children);
    if *required {
        match kind {
            ArgumentType::List(_) => schema["minItems"] = json!(1),
            ArgumentType::Map(_) => schema["minProperties"] = json!(1),
            _ => {}
        }
    } else {
        allow_null(&mut schema);
        // The empty string counts as absent.
        if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
            words.push(json!(""));
        }
    }
    schema["description"] = json!(description);
    if let Some(default) = default.as_deref().filter(|default| !default.is_empty()) {
        schema["default"] = default_of(kind, default);
    }
    if let Some(instead) = deprecated {
        schema["deprecated"] = json!(true);
        schema["deprecationMessage"] = json!(instead);
    }
    schema
}

/// A value of a type, or null, with more said about it.
pub(super) fn nullable(kind: &ArgumentType, with: impl FnOnce(&mut Value)) -> Value {
    let mut schema = value(kind, &[]);
    allow_null(&mut schema);
    with(&mut schema);
    schema
}

fn value(kind: &ArgumentType, children: &[ArgumentDoc]) -> Value {
    match kind {
        ArgumentType::Bool => json!({"type": "boolean"}),
        ArgumentType::Integer { min, max } => {
            json!({"type": "integer", "minimum": number(*min), "maximum": number(*max)})
        }
        ArgumentType::Number => json!({"type": "number"}),
        ArgumentType::Percent => json!({"type": "number", "minimum": 0, "maximum": 100}),
        ArgumentType::Text | ArgumentType::SelectorString => json!({"type": "string"}),
        ArgumentType::Duration => json!({"type": "string", "pattern": DURATION}),
        ArgumentType::LabelSelector => label_selector(),
        ArgumentType::Choice(words) => json!({"enum": words}),
        ArgumentType::List(item) => {
            let mut item = value(item, children);
            // In a list null is the zero value, which no word is.
            if item.get("enum").is_none() {
                allow_null(&mut item);
            }
            json!({"type": "array", "items": item})
        }
        ArgumentType::Map(item) => {
            let mut item = value(item, children);
            allow_null(&mut item);
            json!({"type": "object", "additionalProperties": item})
        }
        ArgumentType::Object => object(children),
    }
}

/// `matchLabels` and `matchExpressions`.
fn label_selector() -> Value {
    let operators = ["In", "NotIn", "Exists", "DoesNotExist"];
    let text = json!({"type": ["string", "null"]});
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "matchLabels": {
                "description": "Labels with exactly these values.",
                "type": ["object", "null"],
                "additionalProperties": text,
            },
            "matchExpressions": {
                "description": "Conditions on labels.",
                "type": ["array", "null"],
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["key", "operator"],
                    "properties": {
                        "key": {"description": "The label.", "type": "string"},
                        "operator": {"description": "How it is compared.", "enum": operators},
                        "values": {
                            "description": "The values of In and NotIn.",
                            "type": ["array", "null"],
                            "items": text,
                        },
                    },
                },
            },
        },
    })
}

/// Null is as good as absent.
fn allow_null(schema: &mut Value) {
    if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        words.push(Value::Null);
    } else if let Some(kind) = schema.get("type").and_then(Value::as_str) {
        schema["type"] = json!([kind, "null"]);
    }
}

/// A bound; the types that are read have none that JSON could not write.
fn number(bound: i128) -> Value {
    match (i64::try_from(bound), u64::try_from(bound)) {
        (Ok(bound), _) => json!(bound),
        (_, Ok(bound)) => json!(bound),
        _ => Value::Null,
    }
}

/// A default in its own type, which is known as text.
fn default_of(kind: &ArgumentType, text: &str) -> Value {
    let plain = matches!(
        kind,
        ArgumentType::Bool
            | ArgumentType::Integer { .. }
            | ArgumentType::Number
            | ArgumentType::Percent
    );
    match serde_json::from_str(text) {
        Ok(value) if plain => value,
        _ => json!(text),
    }
}
