//! Cuts a stream of JSON into single objects without parsing them.
//!
//! Looks at structure only: brackets outside strings, and the keys of a list. Whether an object
//! is well formed shows when it is read.

use std::io::Read;
use std::ops::Range;
use std::path::Path;

use descheduler_cluster::ingest::check_syntax;

use super::feed::{Feed, Place};
use super::{InputError, first_content, io_error};

/// How much is read at once.
const CHUNK_BYTES: usize = 4 << 20;

/// The longest object. The API server's store takes a few MiB at most, so anything longer is
/// a brace or a quote that was never closed.
const OBJECT_BYTES_MAX: usize = 64 << 20;

/// Arrays and objects in one another.
const DEPTH_MAX: usize = 1000;

/// Reads all values of `reader`, of which `head` has been read already.
pub(super) fn read(
    head: Vec<u8>,
    reader: impl Read,
    feed: &mut Feed<'_>,
) -> Result<(), InputError> {
    let position = first_content(&head).unwrap_or(0);
    let mut stream = Stream {
        reader,
        buffer: head,
        position,
        ended: false,
        counted: 0,
        lines: 0,
        line_start: 0,
    };
    while let Some(byte) = stream.next_content(feed)? {
        match byte {
            b'{' if stream.whole_line(feed) => {}
            b'{' => object(&mut stream, feed)?,
            b'[' => {
                items(&mut stream, feed, None)?;
                feed.end_list(None)?;
            }
            other => {
                return Err(stream.unexpected(feed, "an object or a list", other));
            }
        }
        stream.forget();
    }
    Ok(())
}

/// An object at the top: a list, whose items are cut out one by one, or anything else.
fn object<R: Read>(stream: &mut Stream<R>, feed: &mut Feed<'_>) -> Result<(), InputError> {
    let start = stream.position;
    let began = stream.place(start);
    stream.position += 1;
    let (mut kind, mut list, mut first) = (None::<String>, false, true);
    // Once the items have been cut out, what was before them is forgotten.
    loop {
        match stream.next_within(feed, began)? {
            b'}' => break,
            b',' if !first => stream.position += 1,
            b'"' if first => {}
            other => {
                let expected = if first { "a key in quotes or `}`" } else { "`,` or `}`" };
                return Err(stream.unexpected(feed, expected, other));
            }
        }
        first = false;
        if stream.next_within(feed, began)? != b'"' {
            return Err(stream.unexpected_here(feed, "a key in quotes"));
        }
        let key = stream.value(feed, if list { stream.position } else { start }, began)?;
        let is = |name: &[u8]| stream.buffer[key.clone()] == *name;
        let (is_kind, is_items) = (is(b"\"kind\""), is(b"\"items\""));
        if stream.next_within(feed, began)? != b':' {
            return Err(stream.unexpected_here(feed, "`:`"));
        }
        stream.position += 1;
        let begins = stream.next_within(feed, began)?;
        let may_be_list = kind.as_ref().is_none_or(|kind| kind.ends_with("List"));
        if is_items && begins == b'[' && may_be_list && !list {
            list = true;
            let envelope = [&stream.buffer[start..stream.position], b"null}"].concat();
            check_syntax(&envelope).map_err(|error| feed.syntax(began, error))?;
            items(stream, feed, kind.as_deref())?;
            continue;
        }
        let at = if list { stream.place(stream.position) } else { began };
        let value = stream.value(feed, if list { stream.position } else { start }, at)?;
        if list {
            // Nobody else will look at it.
            check_syntax(&stream.buffer[value.clone()]).map_err(|error| feed.syntax(at, error))?;
        }
        if is_kind {
            let text = String::from_utf8_lossy(&stream.buffer[value]).into_owned();
            kind = Some(text.trim_matches('"').to_owned()).filter(|kind| kind != "null");
        }
    }
    stream.position += 1;
    if list {
        return feed.end_list(kind.as_deref());
    }
    let json = &stream.buffer[start..stream.position];
    feed.value(json).map_err(|error| feed.syntax(began, error))
}

/// The items of a list, from its `[` to its `]`.
fn items<R: Read>(
    stream: &mut Stream<R>,
    feed: &mut Feed<'_>,
    kind: Option<&str>,
) -> Result<(), InputError> {
    let began = stream.place(stream.position);
    stream.position += 1;
    let mut first = true;
    loop {
        stream.forget();
        match stream.next_within(feed, began)? {
            b']' => {
                stream.position += 1;
                return Ok(());
            }
            b',' if !first => {
                stream.position += 1;
                stream.next_within(feed, began)?;
            }
            _ if first => {}
            other => return Err(stream.unexpected(feed, "`,` or `]`", other)),
        }
        first = false;
        stream.forget();
        let at = stream.place(stream.position);
        let item = stream.value(feed, stream.position, at)?;
        feed.item(&stream.buffer[item], kind, at)?;
    }
}

/// The part of the file that is in memory.
struct Stream<R> {
    reader: R,
    buffer: Vec<u8>,
    /// What has been looked at.
    position: usize,
    ended: bool,
    /// How far line breaks have been counted.
    counted: usize,
    /// Line breaks before that.
    lines: usize,
    /// Where the line begins that `counted` is in; negative when that is no longer in memory.
    line_start: isize,
}

impl<R: Read> Stream<R> {
    /// The next byte that is no space, or the end.
    fn next_content(&mut self, feed: &Feed<'_>) -> Result<Option<u8>, InputError> {
        loop {
            let rest = &self.buffer[self.position..];
            if let Some(at) = rest.iter().position(|byte| !byte.is_ascii_whitespace()) {
                self.position += at;
                return Ok(Some(rest[at]));
            }
            self.position = self.buffer.len();
            if !self.fill(feed)? {
                return Ok(None);
            }
        }
    }

    /// The same within something that has begun and must end.
    fn next_within(&mut self, feed: &Feed<'_>, began: Place) -> Result<u8, InputError> {
        self.next_content(feed)?.ok_or_else(|| self.truncated(feed, began))
    }

    /// An object that is a line of its own, as in NDJSON: finding the end of the line is many
    /// times faster than finding the end of the object. `false` if it is not one, or if there
    /// is anything wrong with it.
    fn whole_line(&mut self, feed: &mut Feed<'_>) -> bool {
        let rest = &self.buffer[self.position..];
        let Some(length) = memchr::memchr(b'\n', rest) else { return false };
        let line = rest[..length].trim_ascii_end();
        // A list is better cut up, so that its items are counted one by one.
        let head = &line[..line.len().min(1024)];
        if !line.ends_with(b"}") || memchr::memmem::find(head, b"\"items\"").is_some() {
            return false;
        }
        let whole = feed.value(line).is_ok();
        if whole {
            self.position += line.len();
        }
        whole
    }

    /// Skips one value, from its first byte, and returns where it is. It is part of an object
    /// that begins at `keep`, which is `began` in the file.
    fn value(
        &mut self,
        feed: &Feed<'_>,
        keep: usize,
        began: Place,
    ) -> Result<Range<usize>, InputError> {
        let start = self.position;
        let mut scan = Scan::default();
        loop {
            match scan.step(&self.buffer[self.position..]) {
                Step::End(length) => {
                    self.position += length;
                    if self.position == start {
                        return Err(self.unexpected_here(feed, "a value"));
                    }
                    return Ok(start..self.position);
                }
                Step::More(length) => self.position += length,
                Step::TooDeep(length) => {
                    let at = self.place(self.position + length);
                    return Err(feed.error(at, format!("nested more than {DEPTH_MAX} deep")));
                }
            }
            if self.position - keep > OBJECT_BYTES_MAX {
                let message = format!(
                    "the object that begins here is longer than {} MiB; a quote or a brace may \
                     be missing",
                    OBJECT_BYTES_MAX >> 20
                );
                return Err(feed.error(began, message));
            }
            if !self.fill(feed)? {
                // A number at the very end of the file is complete.
                if scan.is_bare() && self.position > start {
                    return Ok(start..self.position);
                }
                return Err(self.truncated_value(feed, keep, began));
            }
        }
    }

    /// Reads on; `false` at the end of the file.
    fn fill(&mut self, feed: &Feed<'_>) -> Result<bool, InputError> {
        if self.ended {
            return Ok(false);
        }
        let before = self.buffer.len();
        self.buffer.resize(before + CHUNK_BYTES, 0);
        let mut filled = before;
        while filled < self.buffer.len() {
            match self.reader.read(&mut self.buffer[filled..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io_error(Path::new(feed.file()), error)),
            }
        }
        self.buffer.truncate(filled);
        Ok(filled > before)
    }

    /// Drops what has been looked at, when that is worth the move.
    fn forget(&mut self) {
        if self.position < CHUNK_BYTES / 2 {
            return;
        }
        self.place(self.position);
        self.line_start -= self.position as isize;
        self.counted = 0;
        self.buffer.drain(..self.position);
        self.position = 0;
    }

    /// Line and column of a position. Positions must be asked for in ascending order, so that
    /// each byte is looked at once.
    fn place(&mut self, at: usize) -> Place {
        let new = &self.buffer[self.counted.min(at)..at];
        if let Some(last) = memchr::memrchr(b'\n', new) {
            self.lines += memchr::memchr_iter(b'\n', new).count();
            self.line_start = (self.counted + last + 1) as isize;
        }
        self.counted = self.counted.max(at);
        Place { line: self.lines + 1, column: (at as isize - self.line_start + 1).max(1) as usize }
    }

    fn unexpected_here(&mut self, feed: &Feed<'_>, expected: &str) -> InputError {
        self.unexpected(feed, expected, self.buffer[self.position])
    }

    fn unexpected(&mut self, feed: &Feed<'_>, expected: &str, found: u8) -> InputError {
        let message = format!("expected {expected}, found `{}`", found.escape_ascii());
        let at = self.place(self.position);
        feed.error(at, message)
    }

    fn truncated(&mut self, feed: &Feed<'_>, began: Place) -> InputError {
        let message =
            format!("the file ends inside an object or a list that begins at line {}", began.line);
        let at = self.place(self.buffer.len());
        feed.error(at, message)
    }

    /// The end of the file inside a value. If the value is wrong before that, the fault is there:
    /// a quote too many makes the rest of a file one string.
    fn truncated_value(&mut self, feed: &Feed<'_>, start: usize, began: Place) -> InputError {
        match check_syntax(&self.buffer[start..]) {
            Err(error) if !error.truncated => feed.syntax(began, error),
            _ => {
                let message =
                    format!("the file ends inside an object that begins at line {}", began.line);
                let at = self.place(self.buffer.len());
                feed.error(at, message)
            }
        }
    }
}

/// Where a scan of one value is.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    /// The last byte was a backslash in a string.
    escaped: bool,
    /// Some byte of a number, `true`, `false` or `null` at the top was seen.
    bare: bool,
}

enum Step {
    /// The value ends after so many bytes.
    End(usize),
    /// So many bytes are part of it, and more is to come.
    More(usize),
    TooDeep(usize),
}

impl Scan {
    fn is_bare(&self) -> bool {
        self.bare
    }

    fn step(&mut self, bytes: &[u8]) -> Step {
        let mut at = 0;
        while at < bytes.len() {
            if self.in_string {
                match self.string(bytes, at) {
                    Ok(after) => at = after,
                    Err(step) => return step,
                }
                continue;
            }
            match bytes[at] {
                b'"' => self.in_string = true,
                b'{' | b'[' => {
                    self.depth += 1;
                    if self.depth > DEPTH_MAX {
                        return Step::TooDeep(at);
                    }
                }
                b'}' | b']' if self.depth <= 1 => {
                    // The closing bracket of what surrounds a bare value is not part of it.
                    return Step::End(if self.depth == 0 { at } else { at + 1 });
                }
                b'}' | b']' => self.depth -= 1,
                byte if self.depth == 0 => {
                    if byte == b',' || byte.is_ascii_whitespace() {
                        return Step::End(at);
                    }
                    self.bare = true;
                }
                _ => {}
            }
            at += 1;
        }
        Step::More(at)
    }

    /// On from `at` within a string; the position after its closing quote.
    fn string(&mut self, bytes: &[u8], mut at: usize) -> Result<usize, Step> {
        if self.escaped {
            self.escaped = false;
            at += 1;
        }
        loop {
            match memchr::memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
                None => return Err(Step::More(bytes.len())),
                Some(found) if bytes[at + found] == b'"' => {
                    self.in_string = false;
                    at += found + 1;
                    if self.depth == 0 {
                        return Err(Step::End(at));
                    }
                    return Ok(at);
                }
                Some(found) if at + found + 1 < bytes.len() => at += found + 2,
                Some(_) => {
                    self.escaped = true;
                    return Err(Step::More(bytes.len()));
                }
            }
        }
    }
}
