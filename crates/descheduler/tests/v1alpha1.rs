//! Policies in the format `descheduler/v1alpha1`, what is said about them, and the v1alpha2 policy
//! that they stand for: one text file each in `tests/v1alpha1`. The rows of
//! docs/spec/v1alpha1.md section 11 are the cases `11_*`.
//!
//! What is converted must be read without a word that was not said about the old policy.
//! `UPDATE_EXPECT=1 cargo test -p descheduler --test v1alpha1` rewrites what is expected.

use std::process::ExitCode;

use descheduler_policy::{Style, convert, load, render};
use descheduler_strategies::REGISTRY;
use descheduler_testkit::{Case, Failed, Format, Sections, run_cases};

/// The codes for that, in v1alpha1 and in v1alpha2.
const NOTHING_RUNS: (&str, &str) = ("nothing-enabled", "no-profiles");

fn main() -> ExitCode {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/v1alpha1");
    let format = Format { given: &["policy"], expected: &["diagnostics", "converted"] };
    run_cases(folder, format, check)
}

fn check(case: &Case) -> Result<Sections, Failed> {
    let policy = case.section("policy")?.as_bytes();
    let (read, said) = load(policy, "policy.yaml", &REGISTRY);
    let (converted, said_by_convert) = convert(policy, "policy.yaml", &REGISTRY);
    let rendered = render(&said, policy, Style::Plain);
    if render(&said_by_convert, policy, Style::Plain) != rendered {
        return Err("`load` and `convert` do not say the same".into());
    }
    if read.is_some() != converted.is_some() {
        return Err("`load` and `convert` do not agree whether it can be used".into());
    }
    let mut sections = vec![("diagnostics", rendered)];
    if let Some(converted) = converted {
        let (again, news) = load(converted.as_bytes(), "converted.yaml", &REGISTRY);
        let mut news = news.iter();
        // That nothing runs is said in the words of each format.
        let same = |old: &str, new: &str| old == new || (old, new) == NOTHING_RUNS;
        let news = news.find(|new| !said.iter().any(|old| same(old.code, new.code)));
        if let Some(new) = news {
            return Err(format!("of the converted policy it is said: {}", new.message).into());
        }
        if again.is_none() {
            return Err("the converted policy cannot be used".into());
        }
        sections.push(("converted", converted));
    }
    Ok(sections)
}
