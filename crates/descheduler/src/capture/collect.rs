//! From objects as they come to the lines of a capture.

use std::io;

use descheduler_cluster::ingest::{Source, SyntaxError, check_syntax};
use descheduler_cluster::{Capture, Ingest, Redactor, capture};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::layout::Writer;
use super::trim::trim;
use crate::input::Objects;

/// Lists within lists are followed this deep, as they are where captures are read.
const LIST_DEPTH_MAX: usize = 8;

/// Takes objects, and writes them, or keeps them until all of their words are known.
pub(crate) struct Collector<'w> {
    writer: Writer<'w>,
    header: Capture,
    /// With what is kept of each object, if words are to be replaced.
    redaction: Option<(Redactor, Vec<Vec<u8>>)>,
    has_begun: bool,
    taken: usize,
    skipped: usize,
    /// Why nothing more is written.
    failed: Option<io::Error>,
}

/// What has been taken.
pub(crate) struct Summary {
    pub(crate) taken: usize,
    /// Of kinds that no rule looks at, or of none.
    pub(crate) skipped: usize,
}

impl<'w> Collector<'w> {
    /// Nothing yet. With a redactor, words are replaced.
    pub(crate) fn new(writer: Writer<'w>, mut header: Capture, redactor: Option<Redactor>) -> Self {
        header.redacted = redactor.is_some();
        let redaction = redactor.map(|redactor| (redactor, Vec::new()));
        Self { writer, header, redaction, has_begun: false, taken: 0, skipped: 0, failed: None }
    }

    /// Takes an object of a kind that it need not name itself.
    pub(crate) fn object(
        &mut self,
        api_version: Option<&str>,
        kind: &str,
        json: &[u8],
    ) -> io::Result<()> {
        let object = trim(api_version, kind, json);
        self.taken += 1;
        match &mut self.redaction {
            Some((redactor, kept)) => {
                let learnt = redactor.learn(&object);
                kept.push(learnt.map_err(|error| io::Error::other(error.message))?);
                Ok(())
            }
            None => {
                self.begin()?;
                self.writer.object(&object)
            }
        }
    }

    /// Adds what the capture says of itself at the end, and writes what is not written yet. `seed`
    /// has to come from chance.
    pub(crate) fn finish(mut self, missing: Vec<String>, seed: u64) -> io::Result<Summary> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.begin()?;
        if let Some((redactor, kept)) = self.redaction.take() {
            let redaction = redactor.finish(seed);
            for object in kept {
                self.writer.object(&redaction.apply(&object))?;
            }
        }
        if !missing.is_empty() {
            self.writer.header(&Capture { missing, ..Capture::default() })?;
        }
        self.writer.end()?;
        Ok(Summary { taken: self.taken, skipped: self.skipped })
    }

    fn begin(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.has_begun, true) {
            true => Ok(()),
            false => {
                self.writer.begin()?;
                self.writer.header(&self.header)
            }
        }
    }

    fn value(
        &mut self,
        json: &[u8],
        default_kind: Option<&str>,
        depth: usize,
    ) -> Result<(), SyntaxError> {
        let kind = Ingest::kind_of(json).filter(|kind| !kind.is_empty());
        let kind = kind.as_deref().or(default_kind);
        let list: List<'_> = match serde_json::from_slice(json) {
            Ok(list) => list,
            Err(_) => {
                check_syntax(json)?;
                List { items: None }
            }
        };
        match (kind, list.items) {
            (Some(kind), items) if kind.ends_with("List") => {
                let item_kind = kind.strip_suffix("List").filter(|kind| !kind.is_empty());
                self.items(items, item_kind, depth)?;
            }
            (None, items @ Some(_)) => self.items(items, None, depth)?,
            (Some(capture::KIND), _) => {
                // What is captured once more keeps its moment and its version.
                let Ok(Capture { taken_at, server_version, .. }) = serde_json::from_slice(json)
                else {
                    self.skipped += 1;
                    return Ok(());
                };
                self.header.taken_at = self.header.taken_at.or(taken_at);
                self.header.server_version = self.header.server_version.take().or(server_version);
            }
            (Some(kind), _) if Ingest::knows(kind) => {
                if self.failed.is_none() {
                    self.failed = self.object(None, kind, json).err();
                }
            }
            _ => self.skipped += 1,
        }
        Ok(())
    }

    fn items(
        &mut self,
        items: Option<Vec<&RawValue>>,
        kind: Option<&str>,
        depth: usize,
    ) -> Result<(), SyntaxError> {
        let Some(depth) = depth.checked_sub(1) else {
            let message = format!("lists are nested more than {LIST_DEPTH_MAX} deep");
            return Err(SyntaxError::at_start(message));
        };
        let mut items = items.into_iter().flatten();
        items.try_for_each(|item| self.value(item.get().as_bytes(), kind, depth))
    }
}

impl Objects for Collector<'_> {
    fn add(&mut self, _: &Source, json: &[u8]) -> Result<(), SyntaxError> {
        self.value(json, None, LIST_DEPTH_MAX)
    }

    fn add_item(&mut self, _: &Source, list: &str, json: &[u8]) -> Result<(), SyntaxError> {
        let kind = list.strip_suffix("List").filter(|kind| !kind.is_empty());
        self.value(json, kind, LIST_DEPTH_MAX)
    }
}

/// A list, if it is one.
#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}
