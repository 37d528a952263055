//! From single JSON values to [`Objects`], with the kind of the list that they stand in.

use std::sync::Arc;

use descheduler_cluster::Ingest;
use descheduler_cluster::ingest::{Source, SyntaxError};

use super::{InputError, Objects};

/// Items that wait for the `kind` of their list may take this much memory. Lists as the API
/// server and `kubectl` write them never need any of it.
const PENDING_BYTES_MAX: usize = 1 << 30;

/// A position in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Feeds the objects of one file.
pub(super) struct Feed<'i> {
    objects: &'i mut dyn Objects,
    source: Source,
    found: bool,
    /// Items without a kind of their own in a list whose kind is not known yet.
    pending: Vec<(u64, Place, Box<[u8]>)>,
    pending_bytes: usize,
}

impl<'i> Feed<'i> {
    pub(super) fn new(objects: &'i mut dyn Objects, file: Arc<str>) -> Self {
        let source = Source { file, index: 0 };
        Self { objects, source, found: false, pending: Vec::new(), pending_bytes: 0 }
    }

    /// The name of the file.
    pub(super) fn file(&self) -> &str {
        &self.source.file
    }

    /// Whether there was anything in the file, be it an empty list.
    pub(super) fn found(&self) -> bool {
        self.found
    }

    /// Takes a value that stands for itself.
    pub(super) fn value(&mut self, json: &[u8]) -> Result<(), SyntaxError> {
        self.objects.add(&self.source, json)?;
        self.found = true;
        self.source.index += 1;
        Ok(())
    }

    /// Takes an item of a list, whose kind may become known only after its items.
    pub(super) fn item(
        &mut self,
        json: &[u8],
        list_kind: Option<&str>,
        at: Place,
    ) -> Result<(), InputError> {
        self.found = true;
        let taken = match list_kind {
            Some(kind) => self.objects.add_item(&self.source, kind, json),
            None if Ingest::kind_of(json).is_some() => self.objects.add(&self.source, json),
            None => {
                self.pending_bytes += json.len();
                if self.pending_bytes > PENDING_BYTES_MAX {
                    let message = "the `kind` of the list comes after more than 1 GiB of items \
                                   without a kind; move it before `items`";
                    return Err(self.error(at, message.to_owned()));
                }
                self.pending.push((self.source.index, at, json.into()));
                Ok(())
            }
        };
        self.source.index += 1;
        taken.map_err(|error| self.syntax(at, error))
    }

    /// Ends a list. `None`: it names no kind, and neither do items that still wait.
    pub(super) fn end_list(&mut self, list_kind: Option<&str>) -> Result<(), InputError> {
        self.found = true;
        let next = self.source.index;
        self.pending_bytes = 0;
        for (index, at, json) in std::mem::take(&mut self.pending) {
            self.source.index = index;
            self.objects
                .add_item(&self.source, list_kind.unwrap_or("List"), &json)
                .map_err(|error| self.syntax(at, error))?;
        }
        self.source.index = next;
        Ok(())
    }

    /// An error in text that begins at a place.
    pub(super) fn syntax(&self, start: Place, error: SyntaxError) -> InputError {
        let column = if error.line == 1 { start.column + error.column - 1 } else { error.column };
        self.error(Place { line: start.line + error.line - 1, column }, error.message)
    }

    /// An error at a place.
    pub(super) fn error(&self, at: Place, message: String) -> InputError {
        InputError::Syntax {
            file: self.source.file.to_string(),
            line: at.line,
            column: at.column,
            message,
        }
    }
}
