//! The same policy from different editors, and text that is none.

mod toy;

use std::fs;
use std::path::Path;

use descheduler_engine::{Args, ArgumentDoc};
use descheduler_policy::{Style, load, render};

/// The policies of all cases.
fn policies() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut policies: Vec<(String, String)> = fs::read_dir(folder)
        .expect("the folder of cases")
        .map(|entry| {
            let path = entry.expect("an entry of the folder").path();
            let case = fs::read_to_string(&path).expect("a case");
            let policy = case.split_once("-- policy --\n").expect("a policy").1;
            let policy = policy.split_once("-- diagnostics --\n").expect("diagnostics").0;
            (path.display().to_string(), policy.to_owned())
        })
        .collect();
    policies.sort();
    policies
}

/// Codes and places, which do not depend on the editor.
fn said(bytes: &[u8]) -> Vec<String> {
    let (_, diagnostics) = load(bytes, "policy.yaml", &toy::REGISTRY);
    let render = render(&diagnostics, bytes, Style::Plain);
    let places = diagnostics.iter().map(|d| {
        let place = format!("policy.yaml:{}:{}", d.span.line, d.span.column);
        assert!(render.contains(&place), "{place} is not what is shown:\n{render}");
        format!("{place} {} {}", d.code, d.message)
    });
    places.collect()
}

#[test]
fn byte_order_marks_and_line_ends_change_nothing() {
    for (case, policy) in policies() {
        let plain = said(policy.as_bytes());
        let crlf = policy.replace('\n', "\r\n");
        assert_eq!(said(crlf.as_bytes()), plain, "{case} with CRLF");
        assert_eq!(said(format!("\u{feff}{policy}").as_bytes()), plain, "{case} with a mark");
        assert_eq!(said(format!("\u{feff}{crlf}").as_bytes()), plain, "{case} with both");
    }
}

#[test]
fn text_that_is_none() {
    let utf_16: Vec<u8> = "\u{feff}kind: x\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(said(&utf_16), ["policy.yaml:1:1 not-utf-8 this is no UTF-8 text"]);
    assert_eq!(said(b"a: 1\nb: \xff\n"), ["policy.yaml:2:4 not-utf-8 this is no UTF-8 text"]);
    let large = "#".repeat(5 << 20);
    assert_eq!(
        said(large.as_bytes()),
        ["policy.yaml:1:1 too-large a file of 5242880 bytes, at most 4194304 are read"]
    );
}

#[test]
fn colours_only_when_asked_for() {
    let bytes = b"kind: [x]\n";
    let (_, diagnostics) = load(bytes, "policy.yaml", &toy::REGISTRY);
    assert!(!render(&diagnostics, bytes, Style::Plain).contains('\u{1b}'));
    assert!(render(&diagnostics, bytes, Style::Coloured).contains('\u{1b}'));
}

#[test]
fn arguments_tell_what_they_are() {
    let docs = Args::describe(toy::REGISTRY.strategies[1].build);
    let lines: Vec<String> = docs
        .iter()
        .flat_map(|doc| std::iter::once((0, doc)).chain(doc.children.iter().map(|c| (2, c))))
        .map(|(indent, ArgumentDoc { name, kind, default, required, .. })| {
            let must = if *required { " (required)" } else { "" };
            let default = default.as_ref().map(|d| format!(" = {d}")).unwrap_or_default();
            format!("{:indent$}{name}: {kind}{default}{must}", "")
        })
        .collect();
    assert_eq!(
        lines,
        [
            "thresholds: mapping to percentage (required)",
            "targetThresholds: mapping to percentage (required)",
            "numberOfNodes: whole number = 0",
            "evictableNamespaces: object",
            "  exclude: list of string",
            "evictionLimits: object",
            "  node: whole number, not negative",
        ]
    );
}
