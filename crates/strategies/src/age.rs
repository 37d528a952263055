//! How long ago something was.

use jiff::Timestamp;

/// Whole seconds between two moments, `None` if the second comes first.
pub(crate) fn seconds_since(then: Timestamp, now: Timestamp) -> Option<u64> {
    (now >= then).then(|| now.duration_since(then).as_secs().unsigned_abs())
}

/// Seconds for a reader: the two largest units, `3d4h` or `90s`.
pub(crate) fn span(seconds: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let mut rest = seconds;
    let mut text = String::new();
    let first = UNITS.iter().position(|(size, _)| seconds >= *size).unwrap_or(3);
    for (size, unit) in UNITS.iter().skip(first).take(2) {
        if rest / size > 0 || text.is_empty() {
            text.push_str(&format!("{}{unit}", rest / size));
        }
        rest %= size;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn spans_are_short() {
        let table = [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (90, "1m30s"),
            (3_600, "1h"),
            (7_384, "2h3m"),
            (86_400, "1d"),
            (86_399, "23h59m"),
            (90_061, "1d1h"),
        ];
        for (seconds, text) in table {
            assert_eq!(span(seconds), text);
        }
    }
}
