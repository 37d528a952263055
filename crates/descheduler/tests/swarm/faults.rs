//! How often things go wrong, and what goes wrong then.

use std::fmt;
use std::str::FromStr;

use descheduler_engine::Answer;
use descheduler_sim::{Chance, Dice};
use jiff::SignedDuration;

/// What can go wrong.
pub(crate) const KINDS: [&str; 10] = [
    "throttled",
    "conflict",
    "broken",
    "lost",
    "denied",
    "slow",
    "interference",
    "nodes",
    "stale",
    "unseen",
];

/// Of each kind how many cases in a hundred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults([u8; KINDS.len()]);

/// What becomes of one request.
pub(crate) enum Deed {
    /// The server does what it is asked, and says so after some time.
    Done(SignedDuration),
    /// It does nothing, and says so.
    Refused(Answer),
    /// What it does is never known: nothing, or the eviction after some time.
    Lost(Option<SignedDuration>),
    /// As before, but some error is answered.
    Failed(Option<SignedDuration>),
    /// It evicts later, and says so.
    Background(Option<SignedDuration>),
}

impl Faults {
    /// Some kinds, each more or less often.
    pub(crate) fn random(dice: &mut Dice) -> Self {
        let mut faults = Self::default();
        for rate in &mut faults.0 {
            *rate = [0, 0, 5, 20, 50][dice.pick(5)];
        }
        faults
    }

    pub(crate) fn rate(self, kind: &str) -> u8 {
        let at = KINDS.iter().position(|known| *known == kind);
        self.0[at.expect("all kinds are listed")]
    }

    /// The same without one kind.
    pub(crate) fn without(mut self, kind: usize) -> Self {
        self.0[kind] = 0;
        self
    }

    /// Whether something of a kind goes wrong now.
    pub(crate) fn strikes(self, kind: &str, dice: &mut Dice) -> bool {
        // Drawn even where the rate is zero, so that what goes wrong elsewhere stays as it is.
        dice.pick(100) < usize::from(self.rate(kind))
    }

    /// Whether nothing goes wrong. Then everything happens in the order that plans reckon with:
    /// owners notice at once that a pod goes, and it is there until all of the plan is carried out.
    pub(crate) fn is_calm(self) -> bool {
        self == Self::default()
    }

    /// How long a pod takes to end.
    pub(crate) fn grace(self, dice: &mut Dice) -> SignedDuration {
        if self.is_calm() {
            return SignedDuration::from_secs(30);
        }
        let slow = self.strikes("slow", dice);
        between(dice, 0, if slow { 1200 } else { 30 })
    }

    /// How long an owner takes to notice.
    pub(crate) fn delay(self, dice: &mut Dice) -> SignedDuration {
        if self.is_calm() {
            return SignedDuration::ZERO;
        }
        let slow = self.strikes("slow", dice);
        between(dice, 0, if slow { 900 } else { 2 })
    }

    /// How long a pod takes to get ready; it may never do so.
    pub(crate) fn start(self, dice: &mut Dice) -> Option<SignedDuration> {
        let slow = self.strikes("slow", dice);
        let never = slow && dice.pick(4) == 0;
        (!never).then(|| between(dice, 0, if slow { 600 } else { 10 }))
    }

    /// What becomes of a request.
    pub(crate) fn deed(self, dice: &mut Dice) -> Deed {
        if self.is_calm() {
            return Deed::Done(SignedDuration::ZERO);
        }
        let span = between(dice, 0, 10);
        let late = between(dice, 0, 55);
        let even = dice.pick(3);
        let retry_after = [None, Some(SignedDuration::from_secs(3))][dice.pick(2)];
        let later = [None, Some(late), Some(SignedDuration::ZERO)][even];
        if self.strikes("throttled", dice) {
            return Deed::Refused(Answer::Throttled { retry_after });
        }
        if self.strikes("conflict", dice) {
            return Deed::Refused(Answer::Conflict);
        }
        if self.strikes("denied", dice) {
            return match even {
                0 => Deed::Refused(Answer::Denied("a webhook says no".to_owned())),
                1 => Deed::Background(None),
                _ => Deed::Background(Some(late * 10)),
            };
        }
        if self.strikes("broken", dice) {
            return Deed::Failed(later);
        }
        match self.strikes("lost", dice) {
            true => Deed::Lost(later),
            false => Deed::Done(span),
        }
    }
}

fn between(dice: &mut Dice, least: usize, most: usize) -> SignedDuration {
    let secs = least + dice.pick(most - least + 1);
    SignedDuration::from_secs(i64::try_from(secs).expect("not for ever"))
}

/// Such as `lost=20 slow=5`.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rates = KINDS.iter().zip(self.0).filter(|(_, rate)| *rate > 0);
        let rates: Vec<String> = rates.map(|(kind, rate)| format!("{kind}={rate}")).collect();
        f.write_str(&rates.join(" "))
    }
}

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut faults = Self::default();
        for word in text.split_whitespace() {
            let wrong = || format!("`{word}`: expected one of {KINDS:?} with a share of 100");
            let (kind, rate) = word.split_once('=').ok_or_else(wrong)?;
            let at = KINDS.iter().position(|known| *known == kind).ok_or_else(wrong)?;
            faults.0[at] = rate.parse().map_err(|_| wrong())?;
        }
        Ok(faults)
    }
}
