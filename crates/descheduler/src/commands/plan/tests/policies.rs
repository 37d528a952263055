//! The policies of all cases, each with a few of its lines changed: reading them ends, points into
//! the file, and says the same where they stand inside of another file; and what is accepted can be
//! planned with, and converted.

use std::fs;
use std::path::{Path, PathBuf};

use descheduler_engine::{Diagnostics, Placement};
use descheduler_policy::{Style, Surroundings, convert, load, load_for, render};
use descheduler_strategies::REGISTRY;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::mutations::CLUSTER;
use super::printed;

/// Where policies stand in cases, and under which name.
const CASES: [(&str, &str); 3] = [
    ("../strategies/test_data", "policy"),
    ("../policy/tests/cases", "policy"),
    ("tests/v1alpha1", "policy"),
];

/// What may stand behind a colon.
const VALUES: [&str; 18] = [
    "",
    "0",
    "-1",
    "1",
    "100",
    "1e3",
    "12.5",
    "18446744073709551615",
    "yes",
    "\"1\"",
    "1h30m",
    "größe",
    "[]",
    "{}",
    "[RemoveDuplicates]",
    "{cpu: 10}",
    "{include: [a], exclude: [b]}",
    "{matchLabels: {a: b}}",
];

/// Lines that mean something in many places.
const LINES: [&str; 10] = [
    "- name: x",
    "args: {}",
    "nodeFit: true",
    "namespaces: {exclude: [kube-system]}",
    "placement: {mode: Off}",
    "strategies: {RemoveDuplicates: {enabled: true}}",
    "enabled: true",
    "podProtections: {extraEnabled: [PodsWithPVC]}",
    "deschedulerPolicy: {profiles: []}",
    "# nothing",
];

/// The texts of a section in all cases of a folder, by name.
fn sections(folder: &Path, name: &str) -> Vec<String> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder of cases")
        .map(|entry| entry.expect("an entry of the folder").path())
        .collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(sections(&path, name));
            continue;
        }
        let text = fs::read_to_string(&path).expect("a case");
        let begins = format!("-- {name} --\n");
        let section = text.split_once(&begins).map(|(_, rest)| rest);
        let section = section.map(|rest| rest.split_once("\n-- ").map_or(rest, |(own, _)| own));
        found.extend(section.map(|section| format!("{section}\n")));
    }
    found
}

fn policies() -> Vec<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    CASES.iter().flat_map(|(folder, name)| sections(&here.join(folder), name)).collect()
}

/// One change of a line: what is done, to which line, with what.
type Change = (usize, usize, usize);

fn changed(text: &str, changes: &[Change]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for &(kind, at, with) in changes {
        let at = at % lines.len().max(1);
        let Some(line) = lines.get(at).cloned() else { break };
        let indent = line.len() - line.trim_start().len();
        match kind {
            0 => drop(lines.remove(at)),
            1 => lines.insert(with % lines.len(), line),
            2 => lines[at].insert_str(0, "  "),
            3 => lines[at] = line.strip_prefix("  ").unwrap_or(&line).to_owned(),
            4 => lines.insert(at, format!("{:indent$}{}", "", LINES[with % LINES.len()])),
            _ => {
                let key = line.split_once(": ").map_or(line.trim_end_matches(':'), |(key, _)| key);
                lines[at] = format!("{key}: {}", VALUES[with % VALUES.len()]);
            }
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Every place is one of the text, and its line and column are those of its first byte.
fn check_places(said: &Diagnostics, text: &str) -> Result<(), TestCaseError> {
    for diagnostic in said {
        let span = diagnostic.span;
        prop_assert!(text.get(span.start..span.end).is_some(), "{diagnostic:?}\n{text}");
        let before = &text[..span.start];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        prop_assert_eq!(
            (span.line as usize, span.column as usize),
            (line, column),
            "{:?}\n{}",
            diagnostic,
            text
        );
    }
    render(said, text.as_bytes(), Style::Plain);
    Ok(())
}

/// What is said, and where, with so many lines before and columns beside it.
fn said(said: &Diagnostics, lines: u32, columns: u32) -> Vec<String> {
    let one = |d: &descheduler_engine::Diagnostic| {
        format!("{}:{} {} {}", d.span.line + lines, d.span.column + columns, d.code, d.message)
    };
    said.iter().map(one).collect()
}

fn check(text: &str) -> Result<(), TestCaseError> {
    let (policy, diagnostics) = load(text.as_bytes(), "policy", &REGISTRY);
    prop_assert_eq!(policy.is_none(), diagnostics.has_errors());
    check_places(&diagnostics, text)?;
    for placement in [Placement::Off, Placement::Feasible, Placement::Improving] {
        let around = Surroundings { placement: Some(placement), scheduler: None };
        let (again, _) = load_for(text.as_bytes(), "policy", &REGISTRY, &around);
        prop_assert_eq!(again.is_some(), policy.is_some(), "in {:?}:\n{}", placement, text);
    }
    if let (Some(converted), _) = convert(text.as_bytes(), "policy", &REGISTRY) {
        let (again, news) = load(converted.as_bytes(), "converted", &REGISTRY);
        prop_assert!(again.is_some(), "{news:?}\n{text}\n{converted}");
    }
    check_wrapped(text, policy.is_some(), &diagnostics)?;
    if let Some(policy) = policy {
        prop_assert!(printed(&policy, CLUSTER.as_bytes()).is_some());
    }
    Ok(())
}

/// In a ConfigMap a policy is read no differently.
fn check_wrapped(text: &str, accepted: bool, bare: &Diagnostics) -> Result<(), TestCaseError> {
    let header = "apiVersion: v1\nkind: ConfigMap\ndata:\n  policy.yaml: |2\n";
    let indented: String = text.lines().map(|line| format!("    {line}\n")).collect();
    let wrapped = format!("{header}{indented}");
    let (policy, diagnostics) = load(wrapped.as_bytes(), "policy", &REGISTRY);
    check_places(&diagnostics, &wrapped)?;
    // What is no policy is searched for one.
    if text.starts_with("apiVersion: descheduler/") {
        prop_assert_eq!(policy.is_some(), accepted, "{}", wrapped);
        prop_assert_eq!(said(&diagnostics, 0, 0), said(bare, 4, 4), "{}", wrapped);
    }
    Ok(())
}

#[test]
fn every_policy_as_it_is() -> Result<(), TestCaseError> {
    let policies = policies();
    assert!(policies.len() > 200, "{} policies", policies.len());
    policies.iter().try_for_each(|text| check(text))
}

proptest! {
    // PROPTEST_CASES=20000 looks further.
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(20_260_101),
        failure_persistence: None,
        cases: 4 * ProptestConfig::default().cases,
        ..ProptestConfig::default()
    })]

    #[test]
    fn lines_changed(
        which in any::<usize>(),
        changes in prop::collection::vec((0..8_usize, any::<usize>(), any::<usize>()), 1..5),
    ) {
        static POLICIES: std::sync::LazyLock<Vec<String>> = std::sync::LazyLock::new(policies);
        check(&changed(&POLICIES[which % POLICIES.len()], &changes))?;
    }
}
