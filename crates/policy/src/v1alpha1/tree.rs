//! Making the values of a document that nobody wrote.

use descheduler_engine::{Entry, Map, Node, Scalar, Span, Value};

/// A string.
pub(super) fn text(text: &str, span: Span) -> Value {
    Value { span, node: Node::Scalar(Scalar::quoted(text)) }
}

/// A truth value.
pub(super) fn boolean(truth: bool, span: Span) -> Value {
    Value { span, node: Node::Scalar(Scalar::plain(truth.to_string())) }
}

/// A list.
pub(super) fn list(span: Span, items: Vec<Value>) -> Value {
    Value { span, node: Node::List(items) }
}

/// A mapping.
pub(super) fn map(span: Span, entries: Vec<Entry>) -> Value {
    Value { span, node: Node::Map(Map { entries }) }
}

/// An entry of a mapping.
pub(super) fn entry(key: &str, key_span: Span, value: Value) -> Entry {
    Entry { key: key.to_owned(), key_span, value }
}

/// Adds an item to the list under a key.
pub(super) fn append(entries: &mut Vec<Entry>, key: &str, item: Value) {
    put(entries, key, item.span, list(item.span, vec![item]));
}

/// Puts a value under a key, `a.b` being `b` inside the mapping `a`; a list goes behind the list
/// that is there already.
pub(super) fn put(entries: &mut Vec<Entry>, path: &str, span: Span, value: Value) {
    let (key, rest) = match path.split_once('.') {
        Some((key, rest)) => (key, Some(rest)),
        None => (path, None),
    };
    let at = entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
        let empty = rest.map_or_else(|| list(span, Vec::new()), |_| map(span, Vec::new()));
        entries.push(entry(key, span, empty));
        entries.len() - 1
    });
    let place = &mut entries[at].value;
    match (&mut place.node, rest, value) {
        (Node::Map(map), Some(rest), value) => put(&mut map.entries, rest, span, value),
        (Node::List(items), None, Value { node: Node::List(more), .. }) => items.extend(more),
        (_, _, value) => *place = value,
    }
}

/// A copy in which each key stands once, the last one of each counting. Where v1alpha1 took that in
/// silence, the arguments of v1alpha2 do not.
pub(super) fn copy(value: &Value) -> Value {
    let node = match &value.node {
        Node::Scalar(_) => value.node.clone(),
        Node::List(items) => Node::List(items.iter().map(copy).collect()),
        Node::Map(map) => {
            let copied = |e: &Entry| Entry { value: copy(&e.value), ..e.clone() };
            Node::Map(Map { entries: map.effective().map(copied).collect() })
        }
    };
    Value { span: value.span, node }
}
