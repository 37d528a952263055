//! Policies and what is said about them: one text file each in `tests/cases`.
//!
//! A case gives `policy` as it stands in a file, `placement` and `scheduler`, a configuration of
//! kube-scheduler, if it is read for these, and expects `diagnostics`: everything that is
//! said, ended by whether the policy is accepted.
//! `UPDATE_EXPECT=1 cargo test -p descheduler-policy` rewrites the latter.

mod toy;

use std::process::ExitCode;

use descheduler_engine::Placement;
use descheduler_policy::{Style, Surroundings, load_for, render, scheduler};
use descheduler_scheduler::Version;
use descheduler_testkit::{Case, Failed, Format, Sections, run_cases};

fn main() -> ExitCode {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    run_cases(
        folder,
        Format { given: &["placement", "scheduler", "policy"], expected: &["diagnostics"] },
        check,
    )
}

fn check(case: &Case) -> Result<Sections, Failed> {
    let policy = case.section("policy")?.as_bytes();
    let placement = match case.has("placement") {
        true => Placement::parse(case.section("placement")?.trim()),
        false => None,
    };
    let scheduler = match case.has("scheduler") {
        true => {
            let config = case.section("scheduler")?.as_bytes();
            scheduler::load(config, "scheduler.yaml", Version::DEFAULT).0
        }
        false => None,
    };
    let around = Surroundings { placement, scheduler: scheduler.as_deref() };
    let (read, diagnostics) = load_for(policy, "policy.yaml", &toy::REGISTRY, &around);
    let verdict = if read.is_some() { "accepted" } else { "refused" };
    let said = render(&diagnostics, policy, Style::Plain);
    let gap = if said.is_empty() { "" } else { "\n" };
    Ok(vec![("diagnostics", format!("{said}{gap}{verdict}\n"))])
}
