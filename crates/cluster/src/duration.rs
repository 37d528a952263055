//! Spans of time, read and written as Go's `time.Duration` does.
//!
//! Policies and annotations give spans as `90s`, `1h30m` or `1.5h`. The rules are those of
//! `time.ParseDuration` and `Duration.String` (Go 1.26), tested against a table that Go wrote
//! (`crates/cluster/tests/data/durations.tsv`). One of its answers is not copied: a sum of
//! exactly 2^64 nanoseconds wraps to zero in Go, and is [`DurationError::TooLarge`] here.

use std::fmt;
use std::str::FromStr;

const SECOND: u64 = 1_000_000_000;

/// The magnitude of the most negative span, in nanoseconds.
const MAX_MAGNITUDE: u64 = 1 << 63;

/// A span of time in whole nanoseconds, up to 292 years each way.
///
/// ```
/// # use descheduler_cluster::duration::GoDuration;
/// let span: GoDuration = "1.5h".parse()?;
/// assert_eq!(span.as_secs(), 5400);
/// assert_eq!(span.to_string(), "1h30m0s");
/// # Ok::<(), descheduler_cluster::duration::DurationError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration(i64);

/// Why a text is not a span of time. Offsets count bytes from its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DurationError {
    /// The text is empty, or a sign alone.
    Empty,
    /// There is no digit where a number should begin.
    ExpectedNumber {
        /// Where.
        at: usize,
    },
    /// A number is followed by no unit.
    MissingUnit {
        /// Where the unit should be.
        at: usize,
    },
    /// A number is followed by something other than a unit.
    UnknownUnit {
        /// What stands in its place.
        unit: Box<str>,
        /// Where that begins.
        at: usize,
    },
    /// The span does not fit in 64 bits of nanoseconds.
    TooLarge,
}

impl GoDuration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of that many nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// A span of that many seconds, saturating.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(SECOND as i64))
    }

    /// Reads a span: a sign perhaps, then numbers with units (`ns us µs ms s m h`), or `0`.
    ///
    /// # Errors
    /// Returns a [`DurationError`] for what `time.ParseDuration` refuses.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let signed = text.starts_with(['+', '-']);
        let mut rest = &text[usize::from(signed)..];
        if rest == "0" {
            return Ok(Self::ZERO);
        }
        if rest.is_empty() {
            return Err(DurationError::Empty);
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (nanos, after) = parse_term(rest, text.len() - rest.len())?;
            total = total
                .checked_add(nanos)
                .filter(|&sum| sum <= MAX_MAGNITUDE)
                .ok_or(DurationError::TooLarge)?;
            rest = after;
        }
        let negative = text.starts_with('-');
        let nanos = if negative {
            0_i64.checked_sub_unsigned(total)
        } else {
            0_i64.checked_add_unsigned(total)
        };
        nanos.map(Self).ok_or(DurationError::TooLarge)
    }

    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The whole seconds of the span, what is left over being dropped.
    pub const fn as_secs(self) -> i64 {
        self.0 / SECOND as i64
    }
}

impl FromStr for GoDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        Self::parse(text)
    }
}

/// As Go writes it: `1h30m0s`, `1.5s`, `100ms`, `0s`. From a second on it counts in hours,
/// minutes and seconds; below, in the largest unit that leaves a whole part.
impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match nanos {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{nanos}ns"),
            1_000..1_000_000 => write_decimal(f, nanos, 3, "µs"),
            1_000_000..SECOND => write_decimal(f, nanos, 6, "ms"),
            SECOND.. => {
                let minutes = nanos / (60 * SECOND);
                if minutes >= 60 {
                    write!(f, "{}h", minutes / 60)?;
                }
                if minutes > 0 {
                    write!(f, "{}m", minutes % 60)?;
                }
                write_decimal(f, nanos % (60 * SECOND), 9, "s")
            }
        }
    }
}

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: &str = "ns, us, ms, s, m or h";
        match self {
            Self::Empty => f.write_str("expected a duration such as 30s or 1h30m; there is none"),
            Self::ExpectedNumber { at } => {
                write!(f, "expected a number at offset {at}, as in 30s or 1h30m")
            }
            Self::MissingUnit { at } => {
                write!(f, "expected a unit ({UNITS}) at offset {at}, after the number")
            }
            Self::UnknownUnit { unit, at } => {
                write!(f, "unknown unit {unit:?} at offset {at}: expected {UNITS}")
            }
            Self::TooLarge => {
                f.write_str("expected a duration of at most 2562047h47m16.854775807s (292 years)")
            }
        }
    }
}

impl std::error::Error for DurationError {}

/// Writes `number / 10^places` without trailing zeros.
fn write_decimal(
    f: &mut fmt::Formatter<'_>,
    number: u64,
    places: usize,
    unit: &str,
) -> fmt::Result {
    let one = 10_u64.pow(places as u32);
    write!(f, "{}", number / one)?;
    let (mut fraction, mut width) = (number % one, places);
    if fraction > 0 {
        while fraction.is_multiple_of(10) {
            fraction /= 10;
            width -= 1;
        }
        write!(f, ".{fraction:0width$}")?;
    }
    f.write_str(unit)
}

/// Reads one number with its unit, which begin at `offset` of the whole text: nanoseconds, at
/// most [`MAX_MAGNITUDE`], and what follows.
fn parse_term(text: &str, offset: usize) -> Result<(u64, &str), DurationError> {
    let (whole, after_whole) = split_digits(text);
    let (fraction, after_number) = match after_whole.strip_prefix('.') {
        Some(after_point) => split_digits(after_point),
        None => ("", after_whole),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(DurationError::ExpectedNumber { at: offset });
    }
    // Go looks no further once the number alone is too large.
    let whole = if whole.is_empty() { Ok(0) } else { whole.parse::<u64>() };
    let whole = whole.ok().filter(|&n| n <= MAX_MAGNITUDE).ok_or(DurationError::TooLarge)?;

    let unit_end = after_number.find(|c: char| c == '.' || c.is_ascii_digit());
    let (unit, rest) = after_number.split_at(unit_end.unwrap_or(after_number.len()));
    let at = offset + text.len() - after_number.len();
    if unit.is_empty() {
        return Err(DurationError::MissingUnit { at });
    }
    let nanos_per_unit =
        unit_nanos(unit).ok_or_else(|| DurationError::UnknownUnit { unit: unit.into(), at })?;
    whole
        .checked_mul(nanos_per_unit)
        .and_then(|nanos| nanos.checked_add(fraction_nanos(fraction, nanos_per_unit)))
        .filter(|&nanos| nanos <= MAX_MAGNITUDE)
        .map(|nanos| (nanos, rest))
        .ok_or(DurationError::TooLarge)
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

fn unit_nanos(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        // U+00B5, the micro sign, and U+03BC, the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3600 * SECOND,
        _ => return None,
    })
}

/// The nanoseconds in `0.digits` of a unit, rounded as Go does it.
///
/// Go computes `float64(digits) * (unit / 10^n)` and drops the fraction of that, so
/// `0.3333333333333333333h` is a nanosecond more than exact arithmetic would give. To agree with
/// it to the nanosecond without floating point, its roundings are done on integers.
fn fraction_nanos(digits: &str, unit: u64) -> u64 {
    let (mut number, mut scale) = (0_u64, Rounded::new(1, false, 0));
    for digit in digits.bytes() {
        // Go stops here as well: further digits would not fit, and could not matter.
        let longer = number.checked_mul(10).and_then(|n| n.checked_add(u64::from(digit - b'0')));
        let Some(longer) = longer.filter(|&n| n <= MAX_MAGNITUDE) else { break };
        number = longer;
        scale = Rounded::new(u128::from(scale.mantissa) * 10, false, scale.exponent);
    }
    let number = Rounded::new(u128::from(number), false, 0);
    // Shifted to the very left, the quotient keeps more bits than the 53 that are wanted.
    let shift = u128::from(unit).leading_zeros();
    let (dividend, divisor) = (u128::from(unit) << shift, u128::from(scale.mantissa));
    let inexact = dividend % divisor != 0;
    let ratio = Rounded::new(dividend / divisor, inexact, -(shift as i32) - scale.exponent);
    let product = u128::from(number.mantissa) * u128::from(ratio.mantissa);
    Rounded::new(product, false, number.exponent + ratio.exponent).truncated()
}

/// `mantissa * 2^exponent`, the mantissa having at most 53 bits or being 2^53: a number
/// that is not negative, as a `float64` would hold it.
struct Rounded {
    mantissa: u64,
    exponent: i32,
}

impl Rounded {
    /// Rounds `bits * 2^exponent` to the nearest, ties to the even one. `inexact` tells that
    /// the true number is a little larger, for `bits` of more than 53 bits.
    fn new(bits: u128, inexact: bool, exponent: i32) -> Self {
        let excess = (u128::BITS - bits.leading_zeros()).saturating_sub(53);
        let mut mantissa = (bits >> excess) as u64;
        if excess > 0 {
            let half = 1_u128 << (excess - 1);
            let rest = bits & ((half << 1) - 1);
            if rest > half || (rest == half && (inexact || mantissa % 2 == 1)) {
                mantissa += 1;
            }
        }
        Self { mantissa, exponent: exponent + excess as i32 }
    }

    /// The whole part of a number that is less than 2^64.
    fn truncated(&self) -> u64 {
        match u32::try_from(self.exponent) {
            Ok(left) => self.mantissa << left,
            Err(_) => self.mantissa.checked_shr(self.exponent.unsigned_abs()).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        GoDuration::parse(text).expect_err(text).to_string()
    }

    #[test]
    fn errors_say_what_was_expected_and_where() {
        let units = "ns, us, ms, s, m or h";
        assert_eq!(error(""), "expected a duration such as 30s or 1h30m; there is none");
        assert_eq!(error("-"), error(""));
        assert_eq!(error("1h m"), format!("unknown unit \"h m\" at offset 1: expected {units}"));
        assert_eq!(error("-h"), "expected a number at offset 1, as in 30s or 1h30m");
        assert_eq!(
            error("1h30"),
            format!("expected a unit ({units}) at offset 4, after the number")
        );
        assert_eq!(error("2d"), format!("unknown unit \"d\" at offset 1: expected {units}"));
        assert_eq!(
            error("300000h3000000h"),
            "expected a duration of at most 2562047h47m16.854775807s (292 years)"
        );
    }

    #[test]
    fn seconds_are_truncated_and_saturate() {
        assert_eq!(GoDuration::parse("-1.9s").map(GoDuration::as_secs), Ok(-1));
        assert_eq!(GoDuration::from_secs(90).to_string(), "1m30s");
        assert_eq!(GoDuration::from_secs(i64::MAX), GoDuration::from_nanos(i64::MAX));
    }
}
