//! Policies and what is said about them: one text file each in `tests/cases`.
//!
//! A case gives `policy` as it stands in a file, and expects `diagnostics`: everything that is
//! said, ended by whether the policy is accepted.
//! `UPDATE_EXPECT=1 cargo test -p descheduler-policy` rewrites the latter.

mod toy;

use std::process::ExitCode;

use descheduler_policy::{Style, load, render};
use descheduler_testkit::{Case, Failed, Format, Sections, run_cases};

fn main() -> ExitCode {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    run_cases(folder, Format { given: &["policy"], expected: &["diagnostics"] }, check)
}

fn check(case: &Case) -> Result<Sections, Failed> {
    let policy = case.section("policy")?.as_bytes();
    let (read, diagnostics) = load(policy, "policy.yaml", &toy::REGISTRY);
    let verdict = if read.is_some() { "accepted" } else { "refused" };
    let said = render(&diagnostics, policy, Style::Plain);
    let gap = if said.is_empty() { "" } else { "\n" };
    Ok(vec![("diagnostics", format!("{said}{gap}{verdict}\n"))])
}
