//! A set of places in the order of the search, in blocks of a word each.

use std::ops::Range;

/// How many places share a word.
pub(crate) const BLOCK: usize = u64::BITS as usize;

/// A set of places.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Places(Vec<u64>);

impl Places {
    /// The empty set, for places below `len`.
    pub(crate) fn none(len: usize) -> Self {
        Self(vec![0; len.div_ceil(BLOCK)])
    }

    /// The words, one for each block.
    pub(crate) fn blocks(&self) -> &[u64] {
        &self.0
    }

    pub(crate) fn insert(&mut self, place: usize) {
        self.0[place / BLOCK] |= 1 << (place % BLOCK);
    }

    pub(crate) fn remove(&mut self, place: usize) {
        self.0[place / BLOCK] &= !(1 << (place % BLOCK));
    }

    #[inline]
    pub(crate) fn contains(&self, place: usize) -> bool {
        self.0[place / BLOCK] >> (place % BLOCK) & 1 != 0
    }

    /// Removes those of another set, but for those of a third.
    pub(crate) fn remove_all(&mut self, which: &Self, but: &Self) {
        for ((bits, which), but) in self.0.iter_mut().zip(&which.0).zip(&but.0) {
            *bits &= !(which & !but);
        }
    }

    /// The first that is also in another set and not in a third, and how many of these there are.
    pub(crate) fn first_of(&self, other: &Self, but: &Self) -> (Option<usize>, usize) {
        let (mut first, mut count) = (None, 0);
        for (block, ((one, other), but)) in self.0.iter().zip(&other.0).zip(&but.0).enumerate() {
            let bits = one & other & !but;
            if bits != 0 {
                first.get_or_insert(block * BLOCK + bits.trailing_zeros() as usize);
                count += bits.count_ones() as usize;
            }
        }
        (first, count)
    }

    /// Those that are also in another set, in order.
    pub(crate) fn common<'p>(&'p self, other: &'p Self) -> impl Iterator<Item = usize> + 'p {
        let both = self.0.iter().zip(&other.0).enumerate();
        both.flat_map(|(block, (one, other))| Bits { bits: one & other, begin: block * BLOCK })
    }

    /// The last one.
    pub(crate) fn last(&self) -> Option<usize> {
        let block = self.0.iter().rposition(|&bits| bits != 0)?;
        Some(block * BLOCK + self.0[block].ilog2() as usize)
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len()).flat_map(|block| self.in_block(block, 0..BLOCK))
    }

    /// Those in a part of a block, in order.
    #[inline]
    pub(crate) fn in_block(&self, block: usize, part: Range<usize>) -> Bits {
        Self::bits(block, self.0[block] & Self::part(part))
    }

    /// The places of a block that a word of bits stands for, in order.
    pub(crate) fn bits(block: usize, bits: u64) -> Bits {
        Bits { bits, begin: block * BLOCK }
    }

    /// The word for a part of a block.
    pub(crate) fn part(part: Range<usize>) -> u64 {
        let below = |end: usize| if end == BLOCK { u64::MAX } else { (1 << end) - 1 };
        below(part.end) & !below(part.start)
    }

    /// How many there are in the block of a place before it.
    #[inline]
    pub(crate) fn rank(&self, place: usize) -> usize {
        let before = self.0[place / BLOCK] & ((1 << (place % BLOCK)) - 1);
        before.count_ones() as usize
    }

    /// The one of number `nth` in a block that holds so many.
    #[inline]
    pub(crate) fn nth(&self, block: usize, nth: usize) -> usize {
        let mut bits = self.0[block];
        for _ in 0..nth {
            bits &= bits - 1;
        }
        block * BLOCK + bits.trailing_zeros() as usize
    }
}

/// Some places of one block.
pub(crate) struct Bits {
    bits: u64,
    begin: usize,
}

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.bits == 0 {
            return None;
        }
        let at = self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(self.begin + at)
    }
}
