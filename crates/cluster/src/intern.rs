//! One small number for each distinct string.
//!
//! Label keys and values, namespaces, owner names and images repeat by the hundred thousand in
//! a large cluster. Comparing and hashing numbers instead of text is most of what makes a plan
//! cheap. Symbols are handed out in order of arrival, so they mean nothing across snapshots and
//! must never decide an order that a user can see: sort by [`Interner::text`] for that.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// An interned string; equal symbols of one [`Interner`] are equal strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sym(u32);

impl Sym {
    /// The empty string, the same in every interner.
    pub const EMPTY: Sym = Sym(0);
    /// A string that no object of the snapshot holds; equal to no interned symbol.
    pub const UNKNOWN: Sym = Sym(u32::MAX);

    /// The symbol of a number that was shown.
    #[cfg(test)]
    pub(crate) fn numbered(id: u32) -> Self {
        Self(id)
    }
}

/// The table of strings behind the symbols.
#[derive(Clone, Debug)]
pub struct Interner {
    /// All strings, one after the other.
    arena: String,
    /// Where each string ends in the arena; it begins where the one before ends.
    ends: Vec<u32>,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Default for Interner {
    fn default() -> Self {
        let mut interner = Self {
            arena: String::new(),
            ends: Vec::new(),
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        };
        interner.intern("");
        interner
    }
}

impl Interner {
    /// The symbol of `text`, new or known.
    ///
    /// The arena is bounded by 4 GiB of distinct text; beyond that every new string is
    /// [`Sym::UNKNOWN`], which matches nothing.
    pub fn intern(&mut self, text: &str) -> Sym {
        let hash = self.hasher.hash_one(text);
        if let Some(&found) = self.table.find(hash, |&id| self.slice(id) == text) {
            return Sym(found);
        }
        let (Ok(id), Ok(end)) =
            (u32::try_from(self.ends.len()), u32::try_from(self.arena.len() + text.len()))
        else {
            return Sym::UNKNOWN;
        };
        self.arena.push_str(text);
        self.ends.push(end);
        let Self { arena, ends, table, hasher } = self;
        table.insert_unique(hash, id, |&id| hasher.hash_one(slice(arena, ends, id)));
        Sym(id)
    }

    /// The symbol of `text`, or [`Sym::UNKNOWN`] when no object holds it.
    pub fn get(&self, text: &str) -> Sym {
        let hash = self.hasher.hash_one(text);
        self.table.find(hash, |&id| self.slice(id) == text).map_or(Sym::UNKNOWN, |&id| Sym(id))
    }

    /// The string behind a symbol; empty for [`Sym::UNKNOWN`].
    pub fn text(&self, sym: Sym) -> &str {
        if sym == Sym::UNKNOWN { "" } else { self.slice(sym.0) }
    }

    fn slice(&self, id: u32) -> &str {
        slice(&self.arena, &self.ends, id)
    }
}

fn slice<'a>(arena: &'a str, ends: &[u32], id: u32) -> &'a str {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] as usize };
    &arena[start..ends[id] as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_share_a_symbol() {
        let mut interner = Interner::default();
        let a = interner.intern("zone");
        assert_eq!(a, interner.intern("zone"));
        assert_ne!(a, interner.intern("zones"));
        assert_eq!(interner.text(a), "zone");
        assert_eq!(interner.get("zone"), a);
        assert_eq!(interner.get("never seen"), Sym::UNKNOWN);
        assert_eq!(interner.intern(""), Sym::EMPTY);
        assert_eq!(interner.text(Sym::UNKNOWN), "");
    }
}
