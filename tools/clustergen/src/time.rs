//! Seconds since 1970 to and from RFC 3339 in UTC.

pub(crate) fn format(secs: i64) -> String {
    let (days, rest) = (secs.div_euclid(86_400), secs.rem_euclid(86_400));
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

pub(crate) fn parse(text: &str) -> Result<i64, String> {
    let bad = || format!("{text:?} is not like 2026-01-31T12:00:00Z");
    let b = text.as_bytes();
    if b.len() != 20 || b[4] != b'-' || b[7] != b'-' || b[10] != b'T' || b[19] != b'Z' {
        return Err(bad());
    }
    let num =
        |r: std::ops::Range<usize>| text.get(r).and_then(|s| s.parse::<i64>().ok()).ok_or_else(bad);
    let (y, m, d) = (num(0..4)?, num(5..7)?, num(8..10)?);
    let y = if m <= 2 { y - 1 } else { y };
    let era = y.div_euclid(400);
    let yoe = y.rem_euclid(400);
    let doy = (153 * (if m > 2 { m - 3 } else { m + 9 }) + 2) / 5 + d - 1;
    let days = era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468;
    Ok(days * 86_400 + num(11..13)? * 3600 + num(14..16)? * 60 + num(17..19)?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn round_trip() {
        assert_eq!(super::format(0), "1970-01-01T00:00:00Z");
        for text in ["2026-12-01T00:00:00Z", "2024-02-29T23:59:59Z", "2000-03-01T01:02:03Z"] {
            assert_eq!(super::format(super::parse(text).unwrap()), text);
        }
        assert!(super::parse("yesterday").is_err());
    }
}
