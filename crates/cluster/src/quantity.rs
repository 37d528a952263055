//! Exact amounts of resources, read and written as Kubernetes does.
//!
//! A quantity is a decimal number and a suffix: `4`, `0.5`, `100m`, `128Mi`, `1e3`. The rules
//! are those of `ParseQuantity` in `k8s.io/apimachinery/pkg/api/resource` (v0.34), quirks
//! included, and are tested against a table that it wrote
//! (`crates/cluster/tests/data/quantities.tsv`). Three of its answers are artifacts of its
//! arithmetic and are not copied:
//!
//! - where its `Value` and `MilliValue` overflow (`12E` gives 0), [`Quantity::value`] and
//!   [`Quantity::milli_value`] saturate;
//! - where it rounds some negative numbers towards zero, these always round away from it;
//! - where its `String` loses a suffix beyond `E` (`1000E` gives `1`) or repeats what it read
//!   (`1.500`, `+5`), `Display` gives the canonical form.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

const NANOS_PER_UNIT: u128 = 1_000_000_000;
const NANOS_PER_MILLI: u128 = 1_000_000;
/// Binary amounts are capped here (`maxAllowed` of apimachinery); decimal ones are not.
const BINARY_CAP: u128 = (i64::MAX as u128) * NANOS_PER_UNIT;

/// An exact amount: a whole number of nano-units (10^-9), with the notation it is written in.
///
/// Finer amounts do not exist: parsing rounds them away from zero. Amounts whose nano-units
/// leave 128 bits (beyond about 1.7 * 10^29 units) saturate. Two quantities are equal when
/// their amounts are, whatever their notation.
///
/// ```
/// # use descheduler_cluster::quantity::Quantity;
/// let memory: Quantity = "1.5Gi".parse()?;
/// assert_eq!(memory.value(), 1_610_612_736);
/// assert_eq!(memory.to_string(), "1536Mi");
/// assert_eq!(memory, Quantity::parse("1610612736")?);
/// # Ok::<(), descheduler_cluster::quantity::QuantityError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

/// The family of suffixes a quantity is written with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Powers of 1000: `n u m k M G T P E`, or no suffix.
    #[default]
    DecimalSi,
    /// Powers of 1024: `Ki Mi Gi Ti Pi Ei`. Amounts that are not whole, or less than 1024, are
    /// written as [`Format::DecimalSi`] all the same.
    BinarySi,
    /// Powers of ten: `e3`, `e-6`.
    DecimalExponent,
}

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuantityError {
    /// The text does not have the shape of a number and a suffix.
    Format {
        /// The offset in bytes of the first character out of place.
        at: usize,
        /// That character; none when the text ended there.
        found: Option<char>,
    },
    /// The number is followed by this, which is no known suffix.
    Suffix(Box<str>),
    /// There is no number before this suffix. (Before most others Kubernetes takes it for 0.)
    Numeric(Box<str>),
}

impl Quantity {
    /// No amount at all.
    pub const ZERO: Self = Self { nanos: 0, format: Format::DecimalSi };

    /// A whole number of units.
    pub const fn from_units(units: i64, format: Format) -> Self {
        Self { nanos: units as i128 * NANOS_PER_UNIT as i128, format }
    }

    /// A whole number of thousandths of the unit.
    pub const fn from_millis(millis: i64, format: Format) -> Self {
        Self { nanos: millis as i128 * NANOS_PER_MILLI as i128, format }
    }

    /// Reads a quantity. White space is out of place everywhere, as in `ParseQuantity`; who
    /// reads JSON trims first, as `UnmarshalJSON` does.
    ///
    /// # Errors
    /// Returns a [`QuantityError`] for what `ParseQuantity` refuses. Numbers too large or too
    /// fine are not errors: see [`Quantity`].
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let Parts { negative, whole, fraction, suffix } = Parts::split(text)?;
        let Some((scale, mut format)) = Scale::read(suffix) else {
            return Err(QuantityError::Suffix(suffix.into()));
        };
        if whole.is_empty() && fraction.is_empty() && !scale.stands_alone() {
            return Err(QuantityError::Numeric(suffix.into()));
        }
        let nanos = match scale {
            Scale::Ten(exponent) => decimal_nanos(whole, fraction, exponent),
            Scale::Two(exponent) => binary_nanos(whole, fraction, exponent),
        };
        if format == Format::BinarySi && nanos > 0 && nanos < NANOS_PER_UNIT {
            format = Format::DecimalSi;
        }
        let nanos = i128::try_from(nanos).unwrap_or(i128::MAX);
        Ok(Self { nanos: if negative { -nanos } else { nanos }, format })
    }

    /// The amount in units, rounded away from zero, saturating.
    pub fn value(self) -> i64 {
        self.rounded_up(NANOS_PER_UNIT)
    }

    /// The amount in thousandths of the unit (millicores for `cpu`), rounded away from zero,
    /// saturating.
    pub fn milli_value(self) -> i64 {
        self.rounded_up(NANOS_PER_MILLI)
    }

    /// The amount in billionths of the unit. Exact.
    pub const fn as_nanos(self) -> i128 {
        self.nanos
    }

    /// The family of suffixes it is written with.
    pub const fn format(self) -> Format {
        self.format
    }

    /// Whether there is nothing.
    pub const fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// The sum, saturating, in the notation of the first that is not zero.
    pub const fn saturating_add(self, other: Self) -> Self {
        let format = if self.is_zero() { other.format } else { self.format };
        Self { nanos: self.nanos.saturating_add(other.nanos), format }
    }

    /// The difference, saturating, in the notation of the first that is not zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        let format = if self.is_zero() { other.format } else { self.format };
        Self { nanos: self.nanos.saturating_sub(other.nanos), format }
    }

    fn rounded_up(self, nanos_per_step: u128) -> i64 {
        let steps = self.nanos.unsigned_abs().div_ceil(nanos_per_step);
        match i64::try_from(steps) {
            Ok(steps) if self.nanos < 0 => -steps,
            Ok(steps) => steps,
            Err(_) if self.nanos < 0 => i64::MIN,
            Err(_) => i64::MAX,
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nanos.hash(state);
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Self::parse(text)
    }
}

/// The canonical form: no fraction, and the largest suffix of its family that allows that
/// (`CanonicalizeBytes` of apimachinery).
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        match self.format {
            Format::BinarySi => match whole_binary_units(self.nanos) {
                Some(units) => {
                    let most = BINARY_SUFFIXES.len() - 1;
                    let (mantissa, steps) = without_factors(units, 1024, most);
                    write!(f, "{mantissa}{}", BINARY_SUFFIXES[steps])
                }
                None => write_decimal_si(f, self.nanos),
            },
            Format::DecimalSi => write_decimal_si(f, self.nanos),
            Format::DecimalExponent => {
                let (mantissa, steps) = without_factors(self.nanos, 1000, usize::MAX);
                match 3 * steps as i64 - 9 {
                    0 => write!(f, "{mantissa}"),
                    exponent => write!(f, "{mantissa}e{exponent}"),
                }
            }
        }
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHAPE: &str = "expected a number and perhaps a suffix, such as 2, 0.5, 100m or 128Mi";
        const SUFFIXES: &str = "n u m k M G T P E Ki Mi Gi Ti Pi Ei";
        match self {
            Self::Format { at: 0, found: None } => write!(f, "{SHAPE}; the text is empty"),
            Self::Format { at, found: Some(found) } => {
                write!(f, "{SHAPE}; {found:?} at offset {at} is out of place")
            }
            Self::Format { at, found: None } => write!(f, "{SHAPE}; it ends at offset {at}"),
            Self::Suffix(suffix) => write!(
                f,
                "unknown suffix {suffix:?}: expected one of {SUFFIXES}, or an exponent such as e3"
            ),
            Self::Numeric(suffix) => write!(f, "expected a number before the suffix {suffix:?}"),
        }
    }
}

impl std::error::Error for QuantityError {}

const DECIMAL_SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

fn write_decimal_si(f: &mut fmt::Formatter<'_>, nanos: i128) -> fmt::Result {
    let (mantissa, steps) = without_factors(nanos, 1000, DECIMAL_SUFFIXES.len() - 1);
    write!(f, "{mantissa}{}", DECIMAL_SUFFIXES[steps])
}

/// The units of an amount that is written in binary notation: only a whole one, so that nothing
/// is lost, and of 1024 at least, since below there is no binary suffix.
fn whole_binary_units(nanos: i128) -> Option<i128> {
    let units = nanos / NANOS_PER_UNIT as i128;
    (nanos % NANOS_PER_UNIT as i128 == 0 && units.unsigned_abs() >= 1024).then_some(units)
}

/// Takes `factor` out of a number that is not zero as often as it divides it, `most` times at
/// most: what is left, and how often.
fn without_factors(mut number: i128, factor: i128, most: usize) -> (i128, usize) {
    let mut times = 0;
    while times < most && number % factor == 0 {
        number /= factor;
        times += 1;
    }
    (number, times)
}

/// A text taken apart: `[+-] whole [. fraction] suffix`, either kind of digits possibly absent.
struct Parts<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    suffix: &'a str,
}

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Result<Self, QuantityError> {
        let bytes = text.as_bytes();
        let past = |from: usize, belongs: fn(u8) -> bool| {
            bytes[from..].iter().position(|&b| !belongs(b)).map_or(bytes.len(), |n| from + n)
        };
        let is_digit = |b: u8| b.is_ascii_digit();

        let whole_start = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
        let whole_end = past(whole_start, is_digit);
        let (fraction_start, fraction_end) = match bytes.get(whole_end) {
            Some(b'.') => (whole_end + 1, past(whole_end + 1, is_digit)),
            _ => (whole_end, whole_end),
        };
        let letters_end = past(fraction_end, |b| b"eEinumkKMGTP".contains(&b));
        let sign_end =
            letters_end + usize::from(matches!(bytes.get(letters_end), Some(b'+' | b'-')));
        let end = past(sign_end, is_digit);
        if end < bytes.len() || bytes.is_empty() {
            return Err(QuantityError::Format { at: end, found: text[end..].chars().next() });
        }
        Ok(Self {
            negative: bytes.first() == Some(&b'-'),
            whole: &bytes[whole_start..whole_end],
            fraction: &bytes[fraction_start..fraction_end],
            suffix: &text[fraction_end..],
        })
    }
}

/// What a suffix multiplies by: a power of ten or of two.
#[derive(Clone, Copy)]
enum Scale {
    Ten(i32),
    Two(u32),
}

impl Scale {
    fn read(suffix: &str) -> Option<(Self, Format)> {
        let decimal = |exponent| Some((Self::Ten(exponent), Format::DecimalSi));
        let binary = |exponent| Some((Self::Two(exponent), Format::BinarySi));
        match suffix.as_bytes() {
            b"" => decimal(0),
            b"n" => decimal(-9),
            b"u" => decimal(-6),
            b"m" => decimal(-3),
            b"k" => decimal(3),
            b"M" => decimal(6),
            b"G" => decimal(9),
            b"T" => decimal(12),
            b"P" => decimal(15),
            b"E" => decimal(18),
            b"Ki" => binary(10),
            b"Mi" => binary(20),
            b"Gi" => binary(30),
            b"Ti" => binary(40),
            b"Pi" => binary(50),
            b"Ei" => binary(60),
            [b'e' | b'E', ..] => {
                let exponent: i64 = suffix[1..].parse().ok()?;
                // Kubernetes keeps the lower 32 bits of an exponent, and no more.
                Some((Self::Ten(exponent as i32), Format::DecimalExponent))
            }
            _ => None,
        }
    }

    /// Whether a suffix without a number is taken for zero: by an accident of `ParseQuantity`,
    /// where its fast path can hold the scale.
    fn stands_alone(self) -> bool {
        match self {
            Self::Ten(exponent) => exponent >= -9,
            Self::Two(exponent) => exponent < 50,
        }
    }
}

/// The nano-units of `whole.fraction * 10^exponent`, rounded up, saturating.
fn decimal_nanos(whole: &[u8], fraction: &[u8], exponent: i32) -> u128 {
    let count = whole.len() + fraction.len();
    let digits = whole.iter().chain(fraction);
    // All digits as one integer, times 10^power, is the amount in nano-units.
    let power = i64::from(exponent) + 9 - fraction.len() as i64;
    if power >= 0 {
        return match (
            integer(digits),
            u32::try_from(power).ok().and_then(|p| 10_u128.checked_pow(p)),
        ) {
            (0, _) => 0,
            (number, Some(factor)) => number.saturating_mul(factor),
            (_, None) => u128::MAX,
        };
    }
    let finer = usize::try_from(power.unsigned_abs()).unwrap_or(usize::MAX);
    let kept = count.saturating_sub(finer);
    let rounds_up = digits.clone().skip(kept).any(|&digit| digit != b'0');
    integer(digits.take(kept)).saturating_add(u128::from(rounds_up))
}

/// The nano-units of `whole.fraction * 2^exponent`, rounded up and capped.
fn binary_nanos(whole: &[u8], fraction: &[u8], exponent: u32) -> u128 {
    let number = integer(whole.iter());
    if number > i64::MAX as u128 >> exponent {
        return BINARY_CAP;
    }
    let unit = NANOS_PER_UNIT << exponent;
    // The fraction by Horner's rule from its last digit. What falls off at each step is less
    // than one nano-unit in all, so it counts only as something or nothing.
    let (mut part, mut falls_off) = (0, false);
    for &digit in fraction.iter().rev() {
        part += u128::from(digit - b'0') * unit;
        falls_off |= part % 10 != 0;
        part /= 10;
    }
    (number * unit + part + u128::from(falls_off)).min(BINARY_CAP)
}

/// The digits as an integer, saturating.
fn integer<'a>(digits: impl Iterator<Item = &'a u8>) -> u128 {
    const ROOM_FOR_ONE_MORE: u128 = u128::MAX / 10 - 1;
    let mut number = 0;
    for digit in digits {
        if number > ROOM_FOR_ONE_MORE {
            return u128::MAX;
        }
        number = number * 10 + u128::from(digit - b'0');
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Quantity::parse(text).expect_err(text).to_string()
    }

    #[test]
    fn errors_say_what_was_expected() {
        let shape = "expected a number and perhaps a suffix, such as 2, 0.5, 100m or 128Mi";
        assert_eq!(error(""), format!("{shape}; the text is empty"));
        assert_eq!(error("1 Mi"), format!("{shape}; ' ' at offset 1 is out of place"));
        assert_eq!(error("1é"), format!("{shape}; 'é' at offset 1 is out of place"));
        assert_eq!(
            error("1K"),
            "unknown suffix \"K\": expected one of n u m k M G T P E Ki Mi Gi Ti Pi Ei, \
             or an exponent such as e3"
        );
        assert_eq!(error("Pi"), "expected a number before the suffix \"Pi\"");
    }

    #[test]
    fn sums_take_the_notation_of_the_first_that_is_not_zero() {
        let [none, binary, decimal] =
            ["0", "1Gi", "1G"].map(|text| Quantity::parse(text).expect(text));
        assert_eq!(none.saturating_add(binary).to_string(), "1Gi");
        assert_eq!(binary.saturating_add(none).to_string(), "1Gi");
        assert_eq!(none.saturating_sub(binary).to_string(), "-1Gi");
        assert_eq!(binary.saturating_add(binary).saturating_sub(decimal).to_string(), "1147483648");
    }

    #[test]
    fn sums_saturate() {
        let most = Quantity::parse("1e100").expect("large");
        let least = Quantity::parse("-1e100").expect("large");
        assert_eq!(most.saturating_add(most), most);
        assert!(least.saturating_sub(most) <= least);
        assert_eq!((most.value(), least.milli_value()), (i64::MAX, i64::MIN));
    }

    #[test]
    fn sums_beyond_the_largest_suffix_keep_it() {
        let large = Quantity::from_units(1 << 62, Format::BinarySi);
        let sum = (0..1024).fold(Quantity::ZERO, |sum, _| sum.saturating_add(large));
        assert_eq!(sum.to_string(), "4096Ei");
        assert_eq!(Quantity::parse("5000E").map(|q| q.to_string()), Ok("5000E".to_owned()));
    }
}
