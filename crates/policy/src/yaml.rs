//! YAML or JSON text to a [`Value`].
//!
//! JSON goes the same way, being YAML. Only the first document of a policy file is read, as
//! upstream does it (docs/spec/runtime.md section 3.2), but a second one is pointed out. Files that
//! hold a policy among other things are read to the end.

mod error;

use std::collections::{BTreeMap, BTreeSet};

use descheduler_engine::{Diagnostics, Entry, Map, Node, Scalar, Span, Value};
use granit_parser::{Event, Options, Parser, ScalarStyle, StrInput, StructureStyle, Tag};

/// Policies are a handful of levels deep. A limit keeps hostile files off the stack.
const MAX_DEPTH: usize = 64;

/// How many values aliases may add: far more than a policy has, far less than memory.
const MAX_ALIASED: usize = 20_000;

/// Reads the first document; `None` if the text is no YAML. A document that holds nothing is
/// null.
pub(crate) fn parse(text: &str, diagnostics: &mut Diagnostics) -> Option<Value> {
    let mut builder = Builder::new(text, diagnostics);
    match builder.first_document() {
        Ok(value) => {
            builder.warn_of_second_document();
            Some(value)
        }
        Err(Stop) => None,
    }
}

/// Reads every document that holds something; `None` if one of them is no YAML.
pub(crate) fn parse_all(text: &str, diagnostics: &mut Diagnostics) -> Option<Vec<Value>> {
    Builder::new(text, diagnostics).documents().ok()
}

/// The text cannot be read any further; why has been reported.
struct Stop;

struct Builder<'t, 'd> {
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    anchors: BTreeMap<usize, Anchored>,
    aliased: usize,
    depth: usize,
    diagnostics: &'d mut Diagnostics,
}

/// What an alias may stand for.
struct Anchored {
    value: Value,
    /// How many values it is made of, itself included.
    size: usize,
    /// How many levels it has, itself included.
    height: usize,
}

impl<'t, 'd> Builder<'t, 'd> {
    fn new(text: &'t str, diagnostics: &'d mut Diagnostics) -> Self {
        let mut options = Options::default();
        options.flow_nesting_limit = MAX_DEPTH;
        options.block_nesting_limit = MAX_DEPTH;
        options.set_emit_comments(false);
        let parser = Parser::new_from_str_with_options(text, options);
        Self { text, parser, anchors: BTreeMap::new(), aliased: 0, depth: 0, diagnostics }
    }

    fn next(&mut self) -> Result<(Event<'t>, granit_parser::Span), Stop> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                error::report(self.text, &error, self.diagnostics);
                Err(Stop)
            }
            // The parser ends with an event of its own, so this is never reached; an end is an
            // end all the same.
            None => Ok((Event::StreamEnd, granit_parser::Span::default())),
        }
    }

    fn first_document(&mut self) -> Result<Value, Stop> {
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd | Event::DocumentEnd => return Ok(Value::null(to_span(span))),
                Event::StreamStart | Event::DocumentStart(..) => {}
                event => return self.value(event, span),
            }
        }
    }

    fn documents(&mut self) -> Result<Vec<Value>, Stop> {
        let mut documents = Vec::new();
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(documents),
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                event => documents.push(self.value(event, span)?),
            }
        }
    }

    /// Says so if anything follows the first document. That it is well-formed does not matter.
    fn warn_of_second_document(&mut self) {
        let mut begins = None;
        while let Some(next) = self.parser.next_event() {
            let span = match next {
                Ok((Event::DocumentStart(..), span)) => {
                    begins = Some(to_span(span));
                    continue;
                }
                // The parser stands this in for a document with nothing in it.
                Ok((Event::Scalar(..), span)) if span.is_empty() => continue,
                Ok((Event::DocumentEnd | Event::StreamStart | Event::StreamEnd, _)) => continue,
                Ok((_, span)) => begins.unwrap_or_else(|| to_span(span)),
                Err(_) => match begins {
                    Some(span) => span,
                    None => return,
                },
            };
            let message = "only the first document of a file is read; this one is ignored";
            self.diagnostics
                .warning("second-document", span, message)
                .help("put every profile into the first document".to_owned());
            return;
        }
    }

    fn value(&mut self, event: Event<'t>, span: granit_parser::Span) -> Result<Value, Stop> {
        let begins = to_span(span);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = scalar(&text, style, tag.as_deref());
                let span = Span { end: trimmed_end(self.text, begins), ..begins };
                let value = Value { span, node: Node::Scalar(scalar) };
                self.remember(anchor, &value);
                Ok(value)
            }
            Event::SequenceStart(style, anchor, _) => {
                self.descend(begins)?;
                let (items, end) = self.items(begins, style)?;
                self.depth -= 1;
                let value = Value { span: Span { end, ..begins }, node: Node::List(items) };
                self.remember(anchor, &value);
                Ok(value)
            }
            Event::MappingStart(style, anchor, _) => {
                self.descend(begins)?;
                let (map, end) = self.entries(begins, style)?;
                self.depth -= 1;
                let value = Value { span: Span { end, ..begins }, node: Node::Map(map) };
                self.remember(anchor, &value);
                Ok(value)
            }
            Event::Alias(anchor) => self.alias(anchor, begins),
            // Nothing else stands where a value is due.
            _ => Ok(Value::null(begins)),
        }
    }

    fn descend(&mut self, span: Span) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { self.too_deep(span) } else { Ok(()) }
    }

    fn too_deep(&mut self, span: Span) -> Result<(), Stop> {
        let message = format!("nested more than {MAX_DEPTH} levels deep");
        self.diagnostics.error("too-deep", span, message);
        Err(Stop)
    }

    fn items(&mut self, begins: Span, style: StructureStyle) -> Result<(Vec<Value>, usize), Stop> {
        let mut items: Vec<Value> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd | Event::StreamEnd) {
                // What an alias stands for may lie before the list.
                let last = items.iter().fold(begins.end, |last, item| last.max(item.span.end));
                return Ok((items, end_of(style, last, span)));
            }
            items.push(self.value(event, span)?);
        }
    }

    fn entries(&mut self, begins: Span, style: StructureStyle) -> Result<(Map, usize), Stop> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut merges: Vec<(usize, Entry)> = Vec::new();
        let mut last = begins.end;
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                for (before, merge) in merges {
                    self.merge(&mut entries, before, merge);
                }
                return Ok((Map { entries }, end_of(style, last, span)));
            }
            let key = self.value(event, span)?;
            let (event, span) = self.next()?;
            let value = self.value(event, span)?;
            // What an alias stands for may lie before the mapping.
            last = last.max(if value.is_null() { key.span.end } else { value.span.end });
            let Node::Scalar(scalar) = key.node else {
                self.diagnostics.error("bad-key", key.span, "a list or a mapping cannot be a key");
                continue;
            };
            let is_merge = !scalar.quoted && scalar.text == "<<";
            let entry = Entry { key: key_text(scalar), key_span: key.span, value };
            if is_merge {
                merges.push((entries.len(), entry));
            } else {
                entries.push(entry);
            }
        }
    }

    fn remember(&mut self, anchor: usize, value: &Value) {
        if anchor != 0 {
            let (size, height) = measure(value);
            self.anchors.insert(anchor, Anchored { value: value.clone(), size, height });
        }
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<Value, Stop> {
        let Some(Anchored { value, size, height }) = self.anchors.get(&anchor) else {
            let message = "this alias stands inside the value that it stands for";
            self.diagnostics.error("endless-alias", span, message);
            return Err(Stop);
        };
        self.aliased += size;
        if self.aliased > MAX_ALIASED {
            let message = format!("aliases stand for more than {MAX_ALIASED} values altogether");
            self.diagnostics.error("too-many-aliases", span, message);
            return Err(Stop);
        }
        let (value, levels) = (value.clone(), self.depth + height);
        if levels > MAX_DEPTH {
            self.too_deep(span)?;
        }
        Ok(value)
    }

    /// Adds the entries behind a merge key, `<<`, those left out whose key is there already.
    ///
    /// Upstream instead goes by the order: a merge key that comes after `cpu: 80` overrides it.
    /// No author means that and no other reader of YAML does it, so it is only pointed out.
    fn merge(&mut self, entries: &mut Vec<Entry>, before: usize, merge: Entry) {
        let Entry { key_span, value, .. } = merge;
        let sources = match value.node {
            Node::List(sources) => sources,
            Node::Map(_) | Node::Scalar(_) => vec![value],
        };
        let earlier: BTreeSet<String> =
            entries.iter().take(before).map(|entry| entry.key.clone()).collect();
        let mut present: BTreeSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
        for source in sources {
            let found = source.describe();
            let Node::Map(map) = source.node else {
                let message = format!("`<<`: expected a mapping to merge, found {found}");
                self.diagnostics.error("bad-merge", key_span, message);
                continue;
            };
            for entry in map.entries {
                if present.insert(entry.key.clone()) {
                    entries.push(entry);
                } else if earlier.contains(&entry.key) {
                    let key = &entry.key;
                    let message = format!(
                        "`{key}` stands before `<<`: it counts here, upstream lets `<<` override it"
                    );
                    self.diagnostics
                        .warning("merge-order", key_span, message)
                        .help("put `<<` first, so that every reader agrees".to_owned());
                }
            }
        }
    }
}

/// What a scalar is, given its quotes and its tag.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Scalar {
    match tag.map(|tag| tag.core_suffix().unwrap_or(tag.suffix())) {
        Some("str") => Scalar::quoted(text),
        Some("null" | "bool" | "int" | "float") => Scalar::plain(text),
        _ if style == ScalarStyle::Plain => Scalar::plain(text),
        _ => Scalar::quoted(text),
    }
}

/// A key as JSON would have it.
fn key_text(scalar: Scalar) -> String {
    use descheduler_engine::ScalarKind;
    match scalar.kind {
        ScalarKind::Bool(truth) => truth.to_string(),
        ScalarKind::Integer(number) => number.to_string(),
        ScalarKind::Null | ScalarKind::Float(_) | ScalarKind::Text => scalar.text,
    }
}

/// The number of values and of levels.
fn measure(value: &Value) -> (usize, usize) {
    let children: Vec<&Value> = match &value.node {
        Node::Scalar(_) => Vec::new(),
        Node::List(items) => items.iter().collect(),
        Node::Map(map) => map.entries.iter().map(|entry| &entry.value).collect(),
    };
    children
        .into_iter()
        .map(measure)
        .fold((1, 1), |(size, height), (more, below)| (size + more, height.max(below + 1)))
}

fn to_span(span: granit_parser::Span) -> Span {
    let position = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let range = span.byte_range().unwrap_or_default();
    Span {
        start: range.start,
        end: range.end,
        line: position(span.start.line()).max(1),
        column: position(span.start.col()).saturating_add(1),
    }
}

/// Where a collection ends: a block has no closing bracket, and ends with its last value.
fn end_of(style: StructureStyle, last: usize, closing: granit_parser::Span) -> usize {
    match style {
        StructureStyle::Block => last,
        StructureStyle::Flow => to_span(closing).end.max(last),
    }
}

/// A block scalar takes the line break behind it; a person would not.
fn trimmed_end(text: &str, span: Span) -> usize {
    text.get(span.start..span.end).map_or(span.end, |own| span.start + own.trim_end().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<Value>, Vec<String>) {
        let mut diagnostics = Diagnostics::new("test");
        let value = parse(text, &mut diagnostics);
        let said = diagnostics
            .iter()
            .map(|d| format!("{}:{}: {}: {}", d.span.line, d.span.column, d.code, d.message))
            .collect();
        (value, said)
    }

    /// The value as JSON, near enough to compare.
    fn json(value: &Value) -> String {
        use descheduler_engine::ScalarKind;
        match &value.node {
            Node::List(items) => {
                format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(","))
            }
            Node::Map(map) => {
                let entries: Vec<String> =
                    map.effective().map(|e| format!("{}:{}", e.key, json(&e.value))).collect();
                format!("{{{}}}", entries.join(","))
            }
            Node::Scalar(scalar) => match scalar.kind {
                ScalarKind::Null => "null".to_owned(),
                ScalarKind::Bool(truth) => truth.to_string(),
                ScalarKind::Integer(number) => number.to_string(),
                ScalarKind::Float(number) => number.to_string(),
                ScalarKind::Text => format!("{:?}", scalar.text),
            },
        }
    }

    #[test]
    fn notations_that_mean_the_same() {
        for (text, expected) in [
            ("a: {b: [1, 'x', \"y\"]}", "{a:{b:[1,\"x\",\"y\"]}}"),
            ("a:\n  b:\n  - 1\n  - x\n", "{a:{b:[1,\"x\"]}}"),
            ("{\n\t\"a\": {\n\t\t\"b\": [1, true, null]\n\t}\n}\n", "{a:{b:[1,true,null]}}"),
            ("{\"a\":{\"b\":1},\"c\":\"\\u00e9\\/\"}", "{a:{b:1},c:\"é/\"}"),
            ("a: !!str 5\nb: !!int \"5\"\nc: !x yes\nd: !!null\n", "{a:\"5\",b:5,c:true,d:null}"),
            ("yes: 1\n010: 2\n\"on\": 3\n", "{true:1,8:2,on:3}"),
            ("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\n", "{a:{p:1,q:2},b:{q:3,p:1}}"),
            (
                "a: &x {p: 1}\nb: &y {p: 2, q: 3}\nc: {<<: [*x, *y]}",
                "{a:{p:1},b:{p:2,q:3},c:{p:1,q:3}}",
            ),
            ("---\r\na: |\r\n  one\r\n  two\r\n", "{a:\"one\\ntwo\\n\"}"),
            ("a: >-\n  one\n  two\n...\n", "{a:\"one two\"}"),
            ("# nothing\n", "null"),
            ("", "null"),
            ("---\n---\n", "null"),
            ("%YAML 1.1\n---\na: 1\n", "{a:1}"),
        ] {
            let (value, said) = read(text);
            assert_eq!(value.as_ref().map(json).as_deref(), Some(expected), "{text:?} {said:?}");
            assert_eq!(said, [""; 0], "{text:?}");
        }
    }

    #[test]
    fn places_are_counted_as_people_count_them() {
        let (value, _) = read("a: 1\r\nb:\r\n  é: {ü: \"x\"}  \r\n");
        let value = value.expect("well-formed");
        let b = value.as_map().and_then(|map| map.get("b")).expect("there");
        assert_eq!((b.key_span.line, b.key_span.column), (2, 1));
        let e = b.value.as_map().and_then(|map| map.get("é")).expect("there");
        assert_eq!((e.key_span.line, e.key_span.column), (3, 3));
        let u = e.value.as_map().and_then(|map| map.get("ü")).expect("there");
        assert_eq!((u.value.span.line, u.value.span.column), (3, 10));
        assert_eq!((u.value.span.start, u.value.span.end), (21, 24));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let laughs = (1..30).fold("a0: &a0 [x, x]\n".to_owned(), |text, i| {
            let below = i - 1;
            format!("{text}a{i}: &a{i} [*a{below}, *a{below}]\n")
        });
        let deep = "[".repeat(1000);
        let towers =
            (1..9).fold(format!("a0: &a0 {}{}\n", "[".repeat(30), "]".repeat(30)), |t, i| {
                let below = i - 1;
                format!("{t}a{i}: &a{i} {}*a{below}{}\n", "[".repeat(30), "]".repeat(30))
            });
        for (text, begins) in [
            (laughs.as_str(), "13:12: too-many-aliases"),
            (&deep, "1:65: too-deep"),
            (&towers, "3:"),
            ("a: &x [*x]\n", "1:8: endless-alias"),
            ("a: *nowhere\n", "1:4: syntax"),
            ("a:\n\tb: 1\n", "2:1: tab"),
            ("a:\n  b: 1\n\tc: 2\n", "3:1: tab"),
            ("a: b: c\n", "1:5: syntax"),
            ("a: [1, 2\n", ""),
            ("{\"a\": ", ""),
            ("a: \"x\n", ""),
            ("a: 1\n b: 2\n", ""),
            ("a: @x\n", "1:4: syntax"),
        ] {
            let (value, said) = read(text);
            assert_eq!(value, None, "{text:?}");
            assert_eq!(said.len(), 1, "{text:?} {said:?}");
            assert!(said[0].starts_with(begins), "{text:?} {said:?}");
        }
    }

    #[test]
    fn only_the_first_document_counts() {
        let (value, said) = read("a: 1\n---\nb: 2\n");
        assert_eq!(value.as_ref().map(json).as_deref(), Some("{a:1}"));
        assert!(said[0].starts_with("2:1: second-document"), "{said:?}");
        let (_, said) = read("a: 1\n---\n# nothing\n");
        assert_eq!(said, [""; 0]);
        let (_, said) = read("a: 1\n---\n: {{{ [\n");
        assert_eq!(said.len(), 1);
    }
}
