//! Cluster files: from paths to an [`Ingest`], for `--cluster`.
//!
//! Files, folders and standard input; JSON, NDJSON and YAML, told apart by their first byte, and each
//! of them compressed with gzip or not, which the first two bytes tell.
//! JSON is cut into single objects while it is read, so that a dump of any size needs the memory
//! of its longest object; YAML is held as a whole.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use descheduler_cluster::ingest::{Source, SyntaxError};
use descheduler_cluster::{Capture, Ingest};
use flate2::read::MultiGzDecoder;

use crate::capture::header_of;

mod feed;
mod json;
mod scalar;
mod yaml;

#[cfg(test)]
mod tests;

use feed::Feed;

/// Endings of the files that are read from a folder.
const ENDINGS: [&str; 5] = ["json", "jsonl", "ndjson", "yaml", "yml"];

/// The ending of files that are compressed, after one of the others.
const COMPRESSED: &str = "gz";

/// What compressed files begin with (RFC 1952).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// As much of a file as may hold the header of a capture.
const HEAD_BYTES: u64 = 64 << 10;

/// Folders within folders are followed this deep, which also ends a circle of links.
const FOLDER_DEPTH_MAX: usize = 16;

/// Why the input cannot be used. All of these the user can mend.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// The file system says no.
    #[error("cannot read `{path}`")]
    Io {
        /// The path as given.
        path: String,
        /// What it said.
        source: io::Error,
    },
    /// The text is neither JSON nor YAML.
    #[error("{file}:{line}:{column}: {message}")]
    Syntax {
        /// The path as given.
        file: String,
        /// From 1.
        line: usize,
        /// From 1, in bytes for JSON and in characters for YAML.
        column: usize,
        /// What is wrong and what was expected.
        message: String,
    },
    /// Nothing in it.
    #[error(
        "`{0}` holds no objects; expected the output of `kubectl get ... -o yaml` or `-o json`"
    )]
    Empty(String),
    /// No file in it has one of the endings.
    #[error("folder `{0}` holds no .json, .jsonl, .ndjson, .yaml or .yml files, compressed or not")]
    EmptyFolder(String),
    /// Links in a circle, most likely.
    #[error("folders in `{0}` are nested more than {FOLDER_DEPTH_MAX} deep")]
    TooDeep(String),
}

/// What takes the objects of a cluster.
pub(crate) trait Objects {
    /// Takes an object, or a list of them.
    fn add(&mut self, source: &Source, json: &[u8]) -> Result<(), SyntaxError>;

    /// Takes an item of a list of a kind, such as `PodList`; the item may name its own.
    fn add_item(&mut self, source: &Source, list: &str, json: &[u8]) -> Result<(), SyntaxError>;
}

impl Objects for Ingest {
    fn add(&mut self, source: &Source, json: &[u8]) -> Result<(), SyntaxError> {
        Ingest::add(self, source, json)
    }

    fn add_item(&mut self, source: &Source, list: &str, json: &[u8]) -> Result<(), SyntaxError> {
        Ingest::add_item(self, source, list, json)
    }
}

/// Reads cluster files: `-` is standard input, a folder stands for the files in it and below.
///
/// `progress` is called with the bytes read so far and their total, which leaves out standard
/// input.
pub(crate) fn read(
    paths: &[PathBuf],
    progress: impl FnMut(u64, u64),
) -> Result<Ingest, InputError> {
    let mut ingest = Ingest::new();
    read_into(paths, &mut ingest, progress)?;
    Ok(ingest)
}

/// What a capture among the files says of itself, without reading all of it. Whatever is wrong with
/// the files shows when they are read.
pub(crate) fn capture(paths: &[PathBuf]) -> Option<Capture> {
    let inputs = paths.iter().flat_map(|path| Input::all(path).unwrap_or_default());
    inputs.filter_map(|input| header_of(&input.head().ok()?)).next()
}

/// The same as [`read`], for any taker.
pub(crate) fn read_into(
    paths: &[PathBuf],
    objects: &mut dyn Objects,
    mut progress: impl FnMut(u64, u64),
) -> Result<(), InputError> {
    let mut inputs = Vec::new();
    for path in paths {
        inputs.extend(Input::all(path)?);
    }
    let total = inputs.iter().map(|input| input.bytes).sum();
    let mut done = 0;
    for input in inputs {
        let reader = input.open()?;
        let counted = Counted {
            inner: reader,
            tick: |bytes| {
                done += bytes;
                progress(done, total);
            },
        };
        let found = read_one(counted, &input.name(), objects)?;
        if !found && !input.in_folder {
            return Err(InputError::Empty(input.name()));
        }
    }
    Ok(())
}

/// One file, or standard input.
struct Input {
    path: PathBuf,
    bytes: u64,
    /// Found in a folder, where a file without objects does no harm.
    in_folder: bool,
}

impl Input {
    fn all(path: &Path) -> Result<Vec<Self>, InputError> {
        if path == Path::new("-") {
            return Ok(vec![Self { path: path.to_owned(), bytes: 0, in_folder: false }]);
        }
        let meta = fs::metadata(path).map_err(|error| io_error(path, error))?;
        if !meta.is_dir() {
            return Ok(vec![Self { path: path.to_owned(), bytes: meta.len(), in_folder: false }]);
        }
        let mut found = Vec::new();
        walk(path, FOLDER_DEPTH_MAX, &mut found)?;
        if found.is_empty() {
            return Err(InputError::EmptyFolder(path.display().to_string()));
        }
        Ok(found)
    }

    fn is_stdin(&self) -> bool {
        !self.in_folder && self.path == Path::new("-")
    }

    fn name(&self) -> String {
        if self.is_stdin() { "<stdin>".to_owned() } else { self.path.display().to_string() }
    }

    fn open(&self) -> Result<Box<dyn Read>, InputError> {
        if self.is_stdin() {
            return Ok(Box::new(io::stdin().lock()));
        }
        let file = File::open(&self.path).map_err(|error| io_error(&self.path, error))?;
        Ok(Box::new(file))
    }

    /// The first bytes, which stay there to be read.
    fn head(&self) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        if self.is_stdin() {
            // What its buffer holds: looking at that takes nothing away.
            head.extend_from_slice(io::stdin().lock().fill_buf()?);
        } else if fs::metadata(&self.path)?.is_file() {
            File::open(&self.path)?.take(HEAD_BYTES).read_to_end(&mut head)?;
        }
        if !head.starts_with(&GZIP_MAGIC) {
            return Ok(head);
        }
        let mut text = Vec::new();
        // It ends in the middle of something, which is no reason not to look at what was before.
        let _ = MultiGzDecoder::new(&*head).take(HEAD_BYTES).read_to_end(&mut text);
        Ok(text)
    }
}

fn io_error(path: &Path, source: io::Error) -> InputError {
    InputError::Io { path: path.display().to_string(), source }
}

/// Adds the readable files of a folder, sorted by name.
fn walk(folder: &Path, depth: usize, found: &mut Vec<Input>) -> Result<(), InputError> {
    let depth =
        depth.checked_sub(1).ok_or_else(|| InputError::TooDeep(folder.display().to_string()))?;
    let mut entries = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>())
        .map_err(|error| io_error(folder, error))?;
    entries.sort();
    for path in entries {
        let meta = fs::metadata(&path).map_err(|error| io_error(&path, error))?;
        let ending = ending(&path);
        if meta.is_dir() {
            walk(&path, depth, found)?;
        } else if ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str())) {
            found.push(Input { path, bytes: meta.len(), in_folder: true });
        }
    }
    Ok(())
}

/// The ending of a name that says what is in the file.
fn ending(path: &Path) -> Option<String> {
    let of = |path: &Path| path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    let ending = of(path)?;
    if ending == COMPRESSED { of(&path.with_extension("")) } else { Some(ending) }
}

/// Reads one file of that name; `false` if there was nothing in it.
pub(crate) fn read_one(
    mut reader: impl Read,
    name: &str,
    objects: &mut dyn Objects,
) -> Result<bool, InputError> {
    let mut head = Vec::new();
    let magic = GZIP_MAGIC.len() as u64;
    reader
        .by_ref()
        .take(magic)
        .read_to_end(&mut head)
        .map_err(|error| io_error(Path::new(name), error))?;
    match head == GZIP_MAGIC {
        true => read_text(
            Vec::new(),
            MultiGzDecoder::new(GZIP_MAGIC.as_slice().chain(reader)),
            name,
            objects,
        ),
        false => read_text(head, reader, name, objects),
    }
}

/// The same for what is not compressed, of which `head` has been read already.
fn read_text(
    mut head: Vec<u8>,
    mut reader: impl Read,
    name: &str,
    objects: &mut dyn Objects,
) -> Result<bool, InputError> {
    let mut feed = Feed::new(objects, Arc::from(name));
    let first = loop {
        let before = head.len();
        reader
            .by_ref()
            .take(64 * 1024)
            .read_to_end(&mut head)
            .map_err(|error| io_error(Path::new(name), error))?;
        if let Some(at) = first_content(&head) {
            break Some(at);
        }
        if head.len() == before {
            break None;
        }
    };
    match first.map(|at| head[at]) {
        None => return Ok(false),
        Some(b'{' | b'[') => json::read(head, reader, &mut feed)?,
        Some(_) => {
            reader.read_to_end(&mut head).map_err(|error| io_error(Path::new(name), error))?;
            yaml::read(&head, &mut feed)?;
        }
    }
    Ok(feed.found())
}

/// Where the first byte is that is neither space nor a byte order mark.
fn first_content(bytes: &[u8]) -> Option<usize> {
    let start = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    bytes[start..].iter().position(|byte| !byte.is_ascii_whitespace()).map(|at| start + at)
}

/// As Windows tools write it in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A reader that tells how much went through it.
struct Counted<R, F> {
    inner: R,
    tick: F,
}

impl<R: Read, F: FnMut(u64)> Read for Counted<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        (self.tick)(bytes as u64);
        Ok(bytes)
    }
}
