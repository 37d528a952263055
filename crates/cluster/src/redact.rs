//! Takes out of objects what tells whose they are, and leaves what plans are made from.
//!
//! Only fields that some rule reads are kept (`fields.rs`); of the strings in them each word is
//! replaced by another one, the same wherever it stands. So labels still match selectors,
//! `data-web-0` is still the claim of `web-0`, and since the new words are in the order of the old
//! ones, whatever is decided by name is decided as before: the plan has the same moves.
//!
//! The new words are drawn at random and nothing about the old ones but their order goes into
//! them. There is nothing to compute backwards, and once the table is dropped nothing to look
//! anything up in. What remains to be seen is what a plan depends on: order, how often a word
//! occurs, numbers, quantities and times.

use hashbrown::{HashMap, HashSet};
use serde_json::Value;

mod draw;
mod fields;

use crate::ingest::{SyntaxError, check_syntax};
use draw::Draw;

/// Digits of the longest number that is kept: an ordinal, or a label that is compared as a number.
const DIGITS_MAX: usize = 6;

/// Stands for the tag of an image that has none, so the two have to look alike.
const LATEST: &str = "latest";

/// What is in the strings of all objects.
#[derive(Debug)]
pub struct Redactor {
    kept: HashSet<Box<str>>,
    words: HashSet<Box<str>>,
    uids: HashSet<Box<str>>,
}

/// What stands for what. Dropping it is what makes a redaction final.
#[derive(Debug)]
pub struct Redaction {
    words: HashMap<Box<str>, Box<str>>,
    uids: HashMap<Box<str>, Box<str>>,
}

impl Redactor {
    /// Nothing is known yet. The words of `text` stay as they are wherever they occur: those of a
    /// policy, for example, which would select nothing otherwise.
    pub fn new(text: &str) -> Self {
        let kept = words(text).chain([LATEST]).map(Box::from).collect();
        Self { kept, words: HashSet::new(), uids: HashSet::new() }
    }

    /// Takes note of the strings in an object, and returns what is kept of it, still with the old
    /// words.
    ///
    /// # Errors
    ///
    /// The text is not JSON.
    pub fn learn(&mut self, json: &[u8]) -> Result<Vec<u8>, SyntaxError> {
        check_syntax(json)?;
        // What is JSON may still be nested too deep.
        let mut value: Value = serde_json::from_slice(json)
            .map_err(|error| SyntaxError::at_start(error.to_string()))?;
        let Self { kept: _, words: known, uids } = self;
        fields::walk(&mut value, &mut |what, text| match what {
            What::Uid => remember(uids, text),
            What::Words => words(text).for_each(|word| remember(known, word)),
        });
        Ok(value.to_string().into_bytes())
    }

    /// Draws a new word for each of the old ones. The seed has to come from chance.
    pub fn finish(self, seed: u64) -> Redaction {
        let Self { kept, words, uids } = self;
        let mut draw = Draw::new(seed);
        Redaction { words: draw.table(words, &kept), uids: draw.table(uids, &HashSet::new()) }
    }
}

impl Redaction {
    /// The object that [`Redactor::learn`] kept, with new words.
    pub fn apply(&self, kept: &[u8]) -> Vec<u8> {
        let mut value: Value = serde_json::from_slice(kept).unwrap_or_default();
        fields::walk(&mut value, &mut |what, text| {
            *text = match what {
                What::Uid => self.uids.get(&**text).map_or_else(String::new, |uid| uid.to_string()),
                What::Words => self.rewrite(text),
            };
        });
        value.to_string().into_bytes()
    }

    fn rewrite(&self, text: &str) -> String {
        let mut new = String::with_capacity(text.len());
        let mut rest = text;
        for word in words(text) {
            // The words are parts of the text, in order.
            let at = word.as_ptr() as usize - rest.as_ptr() as usize;
            new.push_str(&rest[..at]);
            rest = &rest[at + word.len()..];
            new.push_str(self.words.get(word).map_or("", AsRef::as_ref));
        }
        new + rest
    }
}

fn remember(known: &mut HashSet<Box<str>>, word: &str) {
    if !known.contains(word) {
        known.insert(word.into());
    }
}

/// What a string is that is not kept as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Words and what separates them.
    Words,
    /// One thing, which occurs in full only.
    Uid,
}

/// The words of a string. A short number at its end is none: StatefulSets count with it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let counted = text.rsplit_once('-').filter(|(_, end)| is_short_number(end));
    let text = counted.map_or(text, |(before, _)| before);
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Whether it is a number as a counter writes it.
fn is_short_number(text: &str) -> bool {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits && (1..=DIGITS_MAX).contains(&text.len()) && (text == "0" || !text.starts_with('0'))
}

#[cfg(test)]
mod tests;
