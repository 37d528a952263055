//! YAML, document by document, turned into JSON and fed object by object.

use std::collections::HashMap;

use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span};

use super::feed::{Feed, Place};
use super::scalar::{write_plain, write_string};
use super::{BYTE_ORDER_MARK, InputError};

/// What anchors and aliases may write in one file. Generous for a few shared stanzas in each of
/// many objects, and an end to those that grow by a factor with each level.
const ALIAS_BYTES_MAX: usize = 64 << 20;

/// Nodes within one another.
const DEPTH_MAX: usize = 200;

/// Reads all documents of a file.
pub(super) fn read(bytes: &[u8], feed: &mut Feed<'_>) -> Result<(), InputError> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| not_text(bytes, error, feed))?;
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.flow_nesting_limit = DEPTH_MAX;
    options.block_nesting_limit = DEPTH_MAX;
    let mut document = Document { feed, alias_bytes: 0, state: State::default() };
    for next in Parser::new_from_str_with_options(text, options) {
        match next {
            Ok((event, span)) => document.event(event, place(span))?,
            Err(error) => return Err(document.syntax(&error)),
        }
    }
    Ok(())
}

fn not_text(bytes: &[u8], error: std::str::Utf8Error, feed: &Feed<'_>) -> InputError {
    let good = &bytes[..error.valid_up_to()];
    let line = memchr::memchr_iter(b'\n', good).count() + 1;
    let column = good.len() - memchr::memrchr(b'\n', good).map_or(0, |at| at + 1) + 1;
    let message = if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        "the file is UTF-16; save it as UTF-8"
    } else {
        "not UTF-8 text"
    };
    feed.error(Place { line, column }, message.to_owned())
}

fn place(span: Span) -> Place {
    Place { line: span.start.line(), column: span.start.col() + 1 }
}

/// A document on its way to JSON.
struct Document<'f, 'i> {
    feed: &'f mut Feed<'i>,
    alias_bytes: usize,
    state: State,
}

/// What is forgotten at the end of a document.
#[derive(Default)]
struct State {
    out: Vec<u8>,
    frames: Vec<Frame>,
    /// The JSON of anchored nodes.
    anchors: HashMap<usize, Box<[u8]>>,
    /// `kind` at the top, once it has been seen.
    kind: Option<String>,
    /// The key at the top that is being read.
    top_key: String,
    /// The document is a list, whose items have been fed one by one.
    list: bool,
    /// Where the item or document began.
    began: Option<Place>,
}

/// A node that is not complete.
struct Frame {
    shape: Shape,
    /// Its anchor, if it has one, and where its JSON begins.
    anchor: Option<(usize, usize)>,
}

enum Shape {
    Sequence,
    /// Waiting for a key, or for a value.
    Mapping {
        key_next: bool,
    },
    /// The sequence of items of a list: each is fed when it is complete.
    Items,
}

impl Document<'_, '_> {
    fn event(&mut self, event: Event<'_>, at: Place) -> Result<(), InputError> {
        match event {
            Event::DocumentStart(..) => self.state = State::default(),
            Event::DocumentEnd => self.end_document(at)?,
            Event::Scalar(text, style, anchor, tag) => {
                let core = tag.as_ref().and_then(|tag| tag.core_suffix().map(str::to_owned));
                let plain = match core.as_deref() {
                    Some("str") => false,
                    Some("int" | "float" | "bool" | "null") => true,
                    _ => style == ScalarStyle::Plain,
                };
                self.scalar(&text, plain, anchor, at)?;
            }
            Event::Alias(id) => self.alias(id, at)?,
            Event::SequenceStart(_, anchor, _) => self.open(Shape::Sequence, anchor, at)?,
            Event::MappingStart(_, anchor, _) => {
                self.open(Shape::Mapping { key_next: true }, anchor, at)?;
            }
            Event::SequenceEnd => self.close(b']')?,
            Event::MappingEnd => self.close(b'}')?,
            // Comments and anchors of their own are switched off, and the rest has no content.
            _ => {}
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        text: &str,
        plain: bool,
        anchor: usize,
        at: Place,
    ) -> Result<(), InputError> {
        if self.expects_key() {
            return self.key(text, plain, at);
        }
        self.begin(at);
        let start = self.state.out.len();
        if plain {
            write_plain(text, &mut self.state.out);
        } else {
            write_string(text, &mut self.state.out);
        }
        if self.state.frames.len() == 1 && self.state.top_key == "kind" {
            self.state.kind = Some(text.to_owned()).filter(|kind| !kind.is_empty());
        }
        self.complete(anchor, start)
    }

    fn key(&mut self, text: &str, plain: bool, at: Place) -> Result<(), InputError> {
        if plain && text == "<<" {
            let message = "merge keys (`<<`) are not read in cluster files; write the fields out";
            return Err(self.feed.error(at, message.to_owned()));
        }
        if self.state.frames.len() == 1 {
            text.clone_into(&mut self.state.top_key);
        }
        self.separate();
        write_string(text, &mut self.state.out);
        self.state.out.push(b':');
        if let Some(Frame { shape: Shape::Mapping { key_next }, .. }) = self.state.frames.last_mut()
        {
            *key_next = false;
        }
        Ok(())
    }

    fn alias(&mut self, id: usize, at: Place) -> Result<(), InputError> {
        let Some(json) = self.state.anchors.get(&id) else {
            let message = "this alias stands for something that contains it or holds a whole list";
            return Err(self.feed.error(at, message.to_owned()));
        };
        self.alias_bytes += json.len();
        if self.alias_bytes > ALIAS_BYTES_MAX {
            let message =
                format!("aliases stand for more than {} MiB of text", ALIAS_BYTES_MAX >> 20);
            return Err(self.feed.error(at, message));
        }
        if self.expects_key() {
            return Err(self.feed.error(at, "an alias cannot be a key".to_owned()));
        }
        let json = json.clone();
        self.begin(at);
        let start = self.state.out.len();
        self.state.out.extend_from_slice(&json);
        self.complete(0, start)
    }

    fn open(&mut self, shape: Shape, anchor: usize, at: Place) -> Result<(), InputError> {
        if self.expects_key() {
            return Err(self.feed.error(at, "a key must be a scalar".to_owned()));
        }
        if self.state.frames.len() >= DEPTH_MAX {
            return Err(self.feed.error(at, format!("nested more than {DEPTH_MAX} deep")));
        }
        self.begin(at);
        let shape = if self.is_items(&shape) {
            self.state.list = true;
            self.state.out.clear();
            Shape::Items
        } else {
            self.state.out.push(if matches!(shape, Shape::Sequence) { b'[' } else { b'{' });
            shape
        };
        let start = self.state.out.len().saturating_sub(1);
        let anchor = (anchor != 0 && !matches!(shape, Shape::Items)).then_some((anchor, start));
        self.state.frames.push(Frame { shape, anchor });
        Ok(())
    }

    /// Whether a sequence that begins now holds the items of a list: at the top of the document,
    /// or under `items` in an object that does not claim to be anything but a list.
    fn is_items(&self, shape: &Shape) -> bool {
        if !matches!(shape, Shape::Sequence) || self.state.list {
            return false;
        }
        match self.state.frames.as_slice() {
            [] => true,
            [top] => {
                matches!(top.shape, Shape::Mapping { .. })
                    && self.state.top_key == "items"
                    && self.state.kind.as_ref().is_none_or(|kind| kind.ends_with("List"))
            }
            _ => false,
        }
    }

    fn close(&mut self, bracket: u8) -> Result<(), InputError> {
        let Some(frame) = self.state.frames.pop() else { return Ok(()) };
        if matches!(frame.shape, Shape::Items) {
            // Nobody reads the text of a list any more, but it has to stay in shape.
            self.state.out.clear();
            if !self.state.frames.is_empty() {
                self.state.out.extend_from_slice(b"{\"items\":[]");
            }
        } else {
            self.state.out.push(bracket);
        }
        let (anchor, start) = frame.anchor.unwrap_or((0, 0));
        self.complete(anchor, start)
    }

    fn expects_key(&self) -> bool {
        matches!(
            self.state.frames.last(),
            Some(Frame { shape: Shape::Mapping { key_next: true }, .. })
        )
    }

    /// Before a node that is no key.
    fn begin(&mut self, at: Place) {
        match self.state.frames.last().map(|frame| &frame.shape) {
            Some(Shape::Items) | None => self.state.began = Some(at),
            Some(Shape::Sequence) => self.separate(),
            Some(Shape::Mapping { .. }) => {}
        }
    }

    fn separate(&mut self) {
        if !matches!(self.state.out.last(), None | Some(b'[' | b'{')) {
            self.state.out.push(b',');
        }
    }

    /// After a node that is no key; its JSON begins at `start`.
    fn complete(&mut self, anchor: usize, start: usize) -> Result<(), InputError> {
        if anchor != 0 {
            let json: Box<[u8]> = self.state.out[start..].into();
            self.alias_bytes += json.len();
            self.state.anchors.insert(anchor, json);
        }
        match self.state.frames.last_mut().map(|frame| &mut frame.shape) {
            Some(Shape::Mapping { key_next }) => *key_next = true,
            Some(Shape::Items) => {
                let at = self.state.began.unwrap_or(Place { line: 1, column: 1 });
                self.feed.item(&self.state.out, self.state.kind.as_deref(), at)?;
                self.state.out.clear();
            }
            Some(Shape::Sequence) | None => {}
        }
        Ok(())
    }

    fn end_document(&mut self, at: Place) -> Result<(), InputError> {
        let state = std::mem::take(&mut self.state);
        if state.list {
            return self.feed.end_list(state.kind.as_deref());
        }
        let began = state.began.unwrap_or(at);
        match state.out.first() {
            // An empty document, or one of comments.
            None | Some(b'n') => Ok(()),
            Some(b'{') => {
                self.feed.value(&state.out).map_err(|error| self.feed.error(began, error.message))
            }
            Some(_) => {
                let message = "expected an object or a list, found a single value";
                Err(self.feed.error(began, message.to_owned()))
            }
        }
    }

    fn syntax(&self, error: &ScanError) -> InputError {
        let marker = error.marker();
        self.feed.error(Place { line: marker.line(), column: marker.col() + 1 }, error.info())
    }
}
