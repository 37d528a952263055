//! What decides where the model leaves something open.

/// Chooses where several things can happen.
pub trait Chance {
    /// One of so many possibilities, counted from 0. There is at least one.
    fn pick(&mut self, options: usize) -> usize;
}

/// Chooses at random, the same way for the same seed on every machine (xoshiro256**).
#[derive(Clone, Debug)]
pub struct Dice([u64; 4]);

impl Dice {
    /// Dice for one purpose. Those for another purpose fall differently though the seed is the
    /// same, and are not disturbed by how often these are thrown.
    pub fn new(seed: u64, purpose: &str) -> Self {
        // FNV-1a of the purpose, then splitmix64 over both.
        let named = purpose.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut state = seed ^ named;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        };
        Self([next(), next(), next(), next()])
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }
}

impl Chance for Dice {
    fn pick(&mut self, options: usize) -> usize {
        // The high half of the product lies below `options`.
        ((u128::from(self.bits()) * options as u128) >> 64) as usize
    }
}

/// Goes through all choices: the first one everywhere at first, and another combination after each
/// [`Script::advance`].
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// What was chosen, of how many.
    choices: Vec<(usize, usize)>,
    /// How many of the choices were made in this round.
    made: usize,
}

impl Script {
    /// Prepares the next combination; `false` when all have had their turn.
    pub fn advance(&mut self) -> bool {
        self.made = 0;
        while let Some((chosen, options)) = self.choices.last_mut() {
            *chosen += 1;
            if chosen < options {
                return true;
            }
            self.choices.pop();
        }
        false
    }
}

impl Chance for Script {
    fn pick(&mut self, options: usize) -> usize {
        if self.made == self.choices.len() {
            self.choices.push((0, options));
        }
        let (chosen, _) = self.choices[self.made];
        self.made += 1;
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_the_same_for_ever() {
        let picks = |seed, purpose| {
            let mut dice = Dice::new(seed, purpose);
            (0..8).map(|_| dice.pick(10)).collect::<Vec<_>>()
        };
        assert_eq!(picks(1, "names"), picks(1, "names"));
        assert_ne!(picks(1, "names"), picks(2, "names"));
        assert_ne!(picks(1, "names"), picks(1, "nodes"));
        let mut dice = Dice::new(7, "even");
        let mut counts = [0; 4];
        (0..4000).for_each(|_| counts[dice.pick(4)] += 1);
        assert!(counts.iter().all(|&count| (900..1100).contains(&count)), "{counts:?}");
    }

    #[test]
    fn a_script_tries_everything_once() {
        let mut script = Script::default();
        let mut seen = Vec::new();
        loop {
            let first = script.pick(2);
            // What is open may depend on what was chosen before.
            let second = if first == 1 { script.pick(3) } else { 9 };
            seen.push((first, second));
            if !script.advance() {
                break;
            }
        }
        assert_eq!(seen, [(0, 9), (1, 0), (1, 1), (1, 2)]);
    }
}
