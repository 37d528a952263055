//! How long what failed is not tried again.

use jiff::{SignedDuration, Timestamp};

/// A strategy is paused when in so many cycles in a row its moves failed and none helped.
const PAUSED_AFTER: u32 = 5;

/// How long a move that did not help is not tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopBreaker {
    /// After the first time; it doubles with each further one. If it is zero, nothing ever waits.
    pub initial: SignedDuration,
    /// At most. A move is remembered for as long.
    pub max: SignedDuration,
}

impl Default for LoopBreaker {
    /// Two of upstream's usual intervals, and a day, by which most load repeats.
    fn default() -> Self {
        Self { initial: SignedDuration::from_mins(10), max: SignedDuration::from_hours(24) }
    }
}

impl LoopBreaker {
    /// Until when an owner's pods are left alone.
    pub(super) fn cool_until(self, streak: &Streak) -> Timestamp {
        later(streak.seen, self.wait(streak.cycles))
    }

    /// Until when a strategy is paused, if it is.
    pub(super) fn paused_until(self, streak: &Streak) -> Option<Timestamp> {
        let failures = streak.cycles.checked_sub(PAUSED_AFTER - 1).filter(|&count| count > 0)?;
        Some(later(streak.seen, self.wait(failures)))
    }

    /// Whether a streak is too old to matter.
    pub(super) fn forgets(self, streak: &Streak, now: Timestamp) -> bool {
        later(self.cool_until(streak), self.max) <= now
    }

    fn wait(self, failures: u32) -> SignedDuration {
        let doubled = 1_i32.checked_shl(failures.saturating_sub(1)).filter(|&factor| factor > 0);
        let wait = doubled.and_then(|factor| self.initial.checked_mul(factor));
        wait.unwrap_or(self.max).min(self.max)
    }
}

/// Moves that did not help, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streak {
    /// How many.
    pub moves: u32,
    /// In how many cycles they were made.
    pub cycles: u32,
    /// When the first of them was made.
    pub first: Timestamp,
    /// When the latest of them was made.
    pub latest: Timestamp,
    /// When the last failure was seen.
    pub seen: Timestamp,
}

impl Streak {
    /// One more failure, of a move that was made then.
    pub(super) fn extend(streak: &mut Option<Self>, made: Timestamp, seen: Timestamp) {
        let Some(streak) = streak else {
            *streak = Some(Self { moves: 1, cycles: 1, first: made, latest: made, seen });
            return;
        };
        streak.moves = streak.moves.saturating_add(1);
        streak.cycles = streak.cycles.saturating_add(u32::from(made > streak.latest));
        streak.first = streak.first.min(made);
        streak.latest = streak.latest.max(made);
        streak.seen = streak.seen.max(seen);
    }

    /// Such as: moved 3 times in 40 minutes without improvement.
    pub(super) fn says(&self, now: Timestamp) -> String {
        let times = match self.moves {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        format!("moved {times} in {} without improvement", roughly(now.duration_since(self.first)))
    }
}

/// A span of time in words, in the largest unit of which there are two.
fn roughly(span: SignedDuration) -> String {
    let (count, unit) = match span.as_secs() {
        secs if secs < 120 => (secs.max(0), "second"),
        secs if secs < 2 * 3600 => (secs / 60, "minute"),
        secs if secs < 48 * 3600 => (secs / 3600, "hour"),
        secs => (secs / (24 * 3600), "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// A moment as far in the future as can be, if not that far.
fn later(moment: Timestamp, span: SignedDuration) -> Timestamp {
    moment.checked_add(span).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mins(count: i64) -> SignedDuration {
        SignedDuration::from_mins(count)
    }

    #[test]
    fn the_wait_doubles_up_to_the_bound() {
        let breaker = LoopBreaker { initial: mins(10), max: mins(60) };
        let waits = [1, 2, 3, 4, 31, 32, 33, 34, u32::MAX].map(|count| breaker.wait(count));
        assert_eq!(waits[..4], [10, 20, 40, 60].map(mins));
        assert_eq!(waits[4..], [mins(60); 5]);
        let never = LoopBreaker { initial: SignedDuration::ZERO, max: mins(60) };
        assert_eq!([1, 5, 31].map(|count| never.wait(count)), [SignedDuration::ZERO; 3]);
        let longest = LoopBreaker { initial: SignedDuration::MAX, max: SignedDuration::MAX };
        assert_eq!(longest.wait(2), SignedDuration::MAX);
        assert_eq!(later(Timestamp::UNIX_EPOCH, longest.wait(1)), Timestamp::MAX);
    }

    #[test]
    fn a_strategy_rests_after_the_fifth_cycle() {
        let breaker = LoopBreaker { initial: mins(10), max: mins(60) };
        let seen = Timestamp::UNIX_EPOCH;
        let after = |cycles| {
            let streak = Streak { moves: 50, cycles, first: seen, latest: seen, seen };
            breaker.paused_until(&streak)
        };
        assert_eq!(
            [0, 4, 5, 6].map(after),
            [None, None, Some(seen + mins(10)), Some(seen + mins(20))]
        );
    }

    #[test]
    fn cycles_count_once() {
        let at = |count| Timestamp::UNIX_EPOCH + mins(count);
        let mut streak = None;
        for (made, seen) in [(0, 5), (0, 5), (10, 15), (0, 20), (10, 20)] {
            Streak::extend(&mut streak, at(made), at(seen));
        }
        let streak = streak.expect("there was a failure");
        let expected = Streak { moves: 5, cycles: 2, first: at(0), latest: at(10), seen: at(20) };
        assert_eq!(streak, expected);
        assert_eq!(streak.says(at(40)), "moved 5 times in 40 minutes without improvement");
    }

    #[test]
    fn spans_read_well() {
        let said = [-5, 0, 1, 119, 120, 7199, 7200, 172_799, 172_800]
            .map(|secs| roughly(SignedDuration::from_secs(secs)));
        let expected = [
            "0 seconds",
            "0 seconds",
            "1 second",
            "119 seconds",
            "2 minutes",
            "119 minutes",
            "2 hours",
            "47 hours",
            "2 days",
        ];
        assert_eq!(said, expected);
    }
}
