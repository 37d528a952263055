//! Durations against the table that Go wrote (data/README.md), and their laws.

use descheduler_cluster::duration::{DurationError, GoDuration};
use proptest::prelude::*;

const TABLE: &str = include_str!("data/durations.tsv");

/// Where Go's sum of 2^64 nanoseconds wraps to zero.
const WRAPS_IN_GO: &str = "-9223372036854775808ns9223372036854775808ns";

fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    TABLE.lines().skip(1).map(|line| line.split('\t').collect())
}

#[test]
fn what_go_accepts_is_read_and_written_as_go_does() {
    let mut seen = 0;
    for row in rows() {
        let [input, "ok", nanos, seconds, string] = row[..] else { continue };
        if input == WRAPS_IN_GO {
            assert_eq!(nanos, "0");
            assert_eq!(GoDuration::parse(input), Err(DurationError::TooLarge));
            continue;
        }
        let span = GoDuration::parse(input).unwrap_or_else(|error| panic!("{input:?}: {error}"));
        assert_eq!(span.as_nanos().to_string(), nanos, "{input:?}");
        assert_eq!(span.as_secs().to_string(), seconds, "{input:?}");
        assert_eq!(span.to_string(), string, "{input:?}");
        seen += 1;
    }
    assert!(seen > 350, "{seen}");
}

#[test]
fn what_go_rejects_is_rejected_with_the_same_kind_of_error() {
    let mut seen = 0;
    for row in rows() {
        let [input, kind] = row[..] else { continue };
        let error = GoDuration::parse(input).expect_err(input);
        let ours = match error {
            DurationError::MissingUnit { .. } => "missing",
            DurationError::UnknownUnit { .. } => "unknown",
            _ => "invalid",
        };
        assert_eq!(ours, kind, "{input:?}: {error}");
        seen += 1;
    }
    assert!(seen > 250, "{seen}");
}

proptest! {
    #[test]
    fn what_is_written_reads_back(number in any::<i64>(), shift in 0_u32..64) {
        let span = GoDuration::from_nanos(number >> shift);
        prop_assert_eq!(GoDuration::parse(&span.to_string()), Ok(span));
    }

    #[test]
    fn no_text_panics(text in "[-+]?([0-9]{0,25}(\\.[0-9]{0,40})?(ns|us|µs|ms|s|m|h|.)){0,3}") {
        if let Ok(span) = GoDuration::parse(&text) {
            prop_assert_eq!(GoDuration::parse(&span.to_string()), Ok(span));
        }
    }
}
