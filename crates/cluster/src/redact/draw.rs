//! New words for old ones, in the same order.

use hashbrown::{HashMap, HashSet};

/// Letters of a new word, where that is enough to tell all of them apart.
const LETTERS: u32 = 6;
/// Letters of the longest word that fits between two others. 26^13 fits into 64 bits.
const LETTERS_MAX: u32 = 12;
/// So many places for each word, so that which one it got says nothing.
const ROOM: u64 = 16;

/// Where chance comes from: splitmix64, which is good enough for what has no meaning.
#[derive(Debug)]
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// What stands for each word. Those in `kept` stand for themselves, and the others keep their
    /// order among these, too.
    pub(super) fn table(
        &mut self,
        words: HashSet<Box<str>>,
        kept: &HashSet<Box<str>>,
    ) -> HashMap<Box<str>, Box<str>> {
        let mut words: Vec<Box<str>> = words.into_iter().collect();
        words.sort_unstable();
        let mut table = HashMap::with_capacity(words.len());
        let mut before: Option<Box<str>> = None;
        let mut run = Vec::new();
        for word in words {
            if kept.contains(&word) {
                self.between(before.as_deref(), Some(&word), run.drain(..), &mut table);
                table.insert(word.clone(), word.clone());
                before = Some(word);
            } else {
                run.push(word);
            }
        }
        self.between(before.as_deref(), None, run.drain(..), &mut table);
        table
    }

    /// New words between two that are kept.
    fn between(
        &mut self,
        low: Option<&str>,
        high: Option<&str>,
        words: impl ExactSizeIterator<Item = Box<str>>,
        table: &mut HashMap<Box<str>, Box<str>>,
    ) {
        let count = words.len() as u64;
        let range = |letters: u32| {
            let begin = low.map_or(0, |low| number(low, letters) + 1);
            let end = high.map_or(26_u64.pow(letters), |high| number(high, letters));
            (end.saturating_sub(begin) / ROOM >= count).then_some((letters, begin, end))
        };
        // Two that are kept may be so close that nothing fits in between. Longer words are all
        // different from the others, if not in order.
        let (letters, begin, end) = (LETTERS..=LETTERS_MAX).find_map(range).unwrap_or((
            LETTERS_MAX + 1,
            0,
            26_u64.pow(LETTERS_MAX + 1),
        ));
        for (at, word) in words.enumerate() {
            // One in each of as many parts of equal size: in order, and never the same twice.
            let size = (end - begin) / count;
            let place = begin + size * at as u64 + self.next() % size;
            table.insert(word, spell(place, letters));
        }
    }
}

/// The word as a number with so many digits, of which the letters are the values. What sorts before
/// all letters counts as the first one with nothing after it.
fn number(word: &str, letters: u32) -> u64 {
    let mut bytes = word.bytes();
    let mut is_over = false;
    (0..letters).fold(0, |number, _| {
        let digit = match bytes.next() {
            Some(byte @ b'a'..=b'z') if !is_over => u64::from(byte - b'a'),
            // No letter sorts behind it, so this is as far as words of letters go.
            Some(byte) if !is_over && byte > b'z' => 25,
            _ => {
                is_over = true;
                0
            }
        };
        number * 26 + digit
    })
}

fn spell(mut number: u64, letters: u32) -> Box<str> {
    let mut word = vec![b'a'; letters as usize];
    for letter in word.iter_mut().rev() {
        *letter += (number % 26) as u8;
        number /= 26;
    }
    word.into_iter().map(char::from).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(words: &str) -> HashSet<Box<str>> {
        words.split_whitespace().map(Box::from).collect()
    }

    #[test]
    fn order_stays_and_so_do_words_that_are_kept() {
        let words = "Z a aa api b core2 kube kubelet kubf n1 n2 shop system web zz ünder";
        for kept in ["", "kube", "kube system api", "kube kubelet kubf", "n1 core2 api zz ünder"] {
            for seed in 0..50 {
                let table = Draw::new(seed).table(set(words), &set(kept));
                let mut pairs: Vec<_> = table.iter().collect();
                pairs.sort();
                assert!(pairs.windows(2).all(|pair| pair[0].1 < pair[1].1), "{kept}: {pairs:?}");
                for (old, new) in pairs {
                    assert_eq!(old == new, kept.split(' ').any(|kept| *kept == **old), "{kept}");
                }
            }
        }
    }

    #[test]
    fn words_between_which_nothing_fits_stay_apart_all_the_same() {
        let table = Draw::new(7).table(set("a a0 aa"), &set("a aa"));
        assert_eq!(table["a0"].len(), 13, "{table:?}");
    }
}
