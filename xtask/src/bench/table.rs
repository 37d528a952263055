//! What was measured, for a person.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Row;

/// One line for each run while they run.
pub(super) fn line(row: &Row) -> String {
    let Row { size, policy, mode, measured } = row;
    format!(
        "{}/{} {policy} {mode}: {:.2} s, {:.2} CPU-s, {} MiB",
        size.nodes,
        size.pods,
        measured.wall_s,
        measured.cpu_s,
        measured.timings.peak_rss_kib / 1024
    )
}

/// With which power of the number of pods the time grows: of reading, and of each strategy where it
/// runs alone.
pub(super) fn exponents(rows: &[Row]) -> BTreeMap<String, f64> {
    let mut points: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for row in rows {
        let timings = &row.measured.timings;
        let mut add = |name: &str, ms: f64| {
            let point = (row.size.pods as f64, ms);
            points.entry(name.to_owned()).or_default().push(point);
        };
        let mut strategies = timings.strategies.iter();
        match (strategies.next(), strategies.next()) {
            (None, _) => add("(reading)", timings.read_ms),
            (Some((name, ms)), None) => add(&format!("{name}, {}", row.mode), *ms),
            _ => {}
        }
    }
    points.into_iter().filter_map(|(name, points)| Some((name, exponent(&points)?))).collect()
}

/// The slope of the straight line through the points, both axes logarithmic, that errs least.
fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let points: Vec<(f64, f64)> = points
        .iter()
        .filter(|(size, time)| *size > 0.0 && *time > 0.0)
        .map(|(size, time)| (size.ln(), time.ln()))
        .collect();
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let run = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>();
    let rise = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>();
    (run > 0.0).then(|| rise / run)
}

/// The whole table.
pub(super) fn text(rows: &[Row], exponents: &BTreeMap<String, f64>) -> String {
    let mut text = String::new();
    let mut put = |line: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{line}");
    };
    put(format!(
        "{:>13} {:<42} {:<9} {:>7} {:>7} {:>7} {:>8} {:>8} {:>10} {:>6}",
        "nodes/pods",
        "policy",
        "placement",
        "evicted",
        "refused",
        "wall s",
        "CPU s",
        "read s",
        "decide ms",
        "MiB"
    ));
    for Row { size, policy, mode, measured } in rows {
        put(format!(
            "{:>13} {policy:<42} {mode:<9} {:>7} {:>7} {:>7.2} {:>8.2} {:>8.2} {:>10.2} {:>6}",
            format!("{}/{}", size.nodes, size.pods),
            measured.evictions,
            measured.refusals,
            measured.wall_s,
            measured.cpu_s,
            measured.timings.read_ms / 1000.0,
            // The sum of nothing is minus zero.
            measured.timings.strategies.values().sum::<f64>() + 0.0,
            measured.timings.peak_rss_kib / 1024,
        ));
    }
    put("\ntime grows with the number of pods to the power of".into());
    for (name, exponent) in exponents {
        put(format!("{exponent:>13.2} {name}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Size;
    use crate::bench::measure::{Measured, Timings};

    #[test]
    fn growth_is_a_power_of_the_size() {
        let points = [(10.0, 2.0), (20.0, 8.0), (40.0, 32.0)];
        assert!((exponent(&points).unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(exponent(&[(10.0, 2.0)]), None);
        assert_eq!(exponent(&[(10.0, 0.0), (20.0, 1.0)]), None);
    }

    #[test]
    fn only_strategies_that_run_alone_count() {
        let row = |pods, strategies: &[(&str, f64)]| Row {
            size: Size { nodes: 1, pods },
            policy: String::new(),
            mode: "off",
            measured: Measured {
                wall_s: 0.0,
                cpu_s: 0.0,
                evictions: 0,
                refusals: 0,
                timings: Timings {
                    read_ms: pods as f64,
                    plan_ms: 0.0,
                    strategies: strategies.iter().map(|(n, ms)| (n.to_string(), *ms)).collect(),
                    peak_rss_kib: 0,
                },
            },
        };
        let rows = [
            row(10, &[]),
            row(10, &[("A", 1.0)]),
            row(10, &[("A", 9.0), ("B", 9.0)]),
            row(100, &[]),
            row(100, &[("A", 1.0)]),
        ];
        let found = exponents(&rows);
        let names: Vec<&String> = found.keys().collect();
        assert_eq!(names, ["(reading)", "A, off"]);
        assert!((found["(reading)"] - 1.0).abs() < 1e-9 && found["A, off"].abs() < 1e-9);
    }
}
