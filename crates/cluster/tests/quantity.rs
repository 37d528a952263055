//! Quantities against the table that Kubernetes' own code wrote (data/README.md), and their laws.

use descheduler_cluster::quantity::{Format, Quantity, QuantityError};
use proptest::prelude::*;

const TABLE: &str = include_str!("data/quantities.tsv");

/// An accepted row of the table.
struct Row<'a> {
    input: &'a str,
    format: Format,
    nanos: i128,
    value: i64,
    milli: i64,
    go_value: i64,
    go_milli: i64,
    canonical: &'a str,
    string: &'a str,
}

impl<'a> Row<'a> {
    fn read(line: &'a str) -> Result<Self, (&'a str, &'a str)> {
        let cells: Vec<&str> = line.split('\t').collect();
        let [input, "ok", format, nanos, value, milli, go_value, go_milli, canonical, string] =
            cells[..]
        else {
            return Err((cells[0], cells[1]));
        };
        let format = match format {
            "DecimalSI" => Format::DecimalSi,
            "BinarySI" => Format::BinarySi,
            "DecimalExponent" => Format::DecimalExponent,
            other => panic!("{other}"),
        };
        let nanos = match nanos {
            "+" => i128::MAX,
            "-" => -i128::MAX,
            nanos => nanos.parse().expect("nanos"),
        };
        let [value, milli, go_value, go_milli] =
            [value, milli, go_value, go_milli].map(|number| number.parse().expect("a number"));
        Ok(Self { input, format, nanos, value, milli, go_value, go_milli, canonical, string })
    }

    fn all() -> impl Iterator<Item = Result<Self, (&'a str, &'a str)>> {
        TABLE.lines().skip(1).map(Row::read)
    }

    fn accepted() -> impl Iterator<Item = Self> {
        Self::all().filter_map(Result::ok)
    }

    fn quantity(&self) -> Quantity {
        Quantity::parse(self.input).unwrap_or_else(|error| panic!("{:?}: {error}", self.input))
    }
}

#[test]
fn the_table_is_whole() {
    assert!(Row::accepted().count() > 1400);
    assert!(Row::all().filter(Result::is_err).count() > 100);
}

#[test]
fn what_kubernetes_rejects_is_rejected_with_the_same_kind_of_error() {
    for (input, kind) in Row::all().filter_map(Result::err) {
        let error = Quantity::parse(input).expect_err(input);
        let ours = match error {
            QuantityError::Format { .. } => "format",
            QuantityError::Suffix(_) => "suffix",
            QuantityError::Numeric(_) => "numeric",
        };
        assert_eq!(ours, kind, "{input:?}: {error}");
    }
    // A table cannot hold this one.
    assert_eq!(Quantity::parse(""), Err(QuantityError::Format { at: 0, found: None }));
}

#[test]
fn amounts_are_exact() {
    for row in Row::accepted() {
        assert_eq!(row.quantity().as_nanos(), row.nanos, "{:?}", row.input);
    }
}

#[test]
fn amounts_round_away_from_zero_and_saturate() {
    for row in Row::accepted() {
        let quantity = row.quantity();
        assert_eq!(quantity.value(), row.value, "{:?}", row.input);
        assert_eq!(quantity.milli_value(), row.milli, "{:?}", row.input);
    }
}

/// Holds the documentation of the module to its word on where it leaves apimachinery.
#[test]
fn kubernetes_differs_only_where_it_overflows_or_the_amount_is_negative() {
    for row in Row::accepted() {
        for (ours, theirs) in [(row.value, row.go_value), (row.milli, row.go_milli)] {
            assert!(ours == theirs || ours == i64::MAX || row.nanos < 0, "{:?}", row.input);
        }
        assert!(row.string == row.canonical || row.string == row.input, "{:?}", row.input);
    }
}

#[test]
fn the_notation_is_kept_and_written_canonically() {
    for row in Row::accepted() {
        let quantity = row.quantity();
        assert_eq!(quantity.format(), row.format, "{:?}", row.input);
        let written = quantity.to_string();
        let saturated = row.nanos.abs() == i128::MAX;
        // From 1000E on the original writes no suffix, and so another amount.
        let suffix_lost = row.format == Format::DecimalSi
            && !quantity.is_zero()
            && row.nanos % 10_i128.pow(30) == 0;
        if !saturated && !suffix_lost {
            assert_eq!(written, row.canonical, "{:?}", row.input);
        }
        assert_eq!(Quantity::parse(&written), Ok(quantity), "{:?}: {written}", row.input);
    }
}

/// The order of all accepted rows by amount, whatever their notation.
#[test]
fn amounts_compare_across_notations() {
    let rows: Vec<_> = Row::accepted().map(|row| (row.quantity(), row.nanos)).collect();
    for (quantity, nanos) in rows.iter().step_by(7) {
        for (other, other_nanos) in &rows {
            assert_eq!(quantity.cmp(other), nanos.cmp(other_nanos), "{quantity} {other}");
        }
    }
}

fn any_quantity() -> impl Strategy<Value = Quantity> {
    let format =
        prop_oneof![Just(Format::DecimalSi), Just(Format::BinarySi), Just(Format::DecimalExponent)];
    let number = (any::<i64>(), 0_u32..64).prop_map(|(number, shift)| number >> shift);
    (number, format, any::<bool>()).prop_map(|(number, format, whole)| match whole {
        true => Quantity::from_units(number, format),
        false => Quantity::from_millis(number, format),
    })
}

proptest! {
    /// Only the cap of binary amounts stands in the way, for the one integer that is beyond it.
    #[test]
    fn what_is_written_reads_back(quantity in any_quantity()) {
        let read: Quantity = quantity.to_string().parse()?;
        prop_assume!(quantity.value() != i64::MIN);
        prop_assert_eq!(read, quantity);
        prop_assert_eq!(read.to_string(), quantity.to_string());
    }

    #[test]
    fn no_text_panics(text in "[-+]?[0-9]{0,50}(\\.[0-9]{0,50})?([eE][-+]?[0-9]{1,20}|[EinumkKMGTP]{0,2}|.{0,3})") {
        if let Ok(quantity) = Quantity::parse(&text) {
            prop_assert_eq!(Quantity::parse(&quantity.to_string()), Ok(quantity));
        }
    }

    #[test]
    fn rounding_covers_the_amount_and_no_more(quantity in any_quantity()) {
        let (nanos, value) = (quantity.as_nanos().abs(), i128::from(quantity.value()).abs());
        prop_assert!(value * 1_000_000_000 >= nanos);
        prop_assert!(value == 0 || (value - 1) * 1_000_000_000 < nanos);
    }

    #[test]
    fn taking_away_undoes_adding(a in any_quantity(), b in any_quantity()) {
        let sum = a.saturating_add(b);
        prop_assert_eq!(sum, b.saturating_add(a));
        prop_assert_eq!(sum.saturating_sub(b), a);
    }
}
