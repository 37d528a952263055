//! Policies inside of other files, as people keep them: one text file each in `tests/wrapped`.
//!
//! A case gives the `file` as it is, and expects `diagnostics`: everything that is said, ended by
//! what would run. Other line ends and a byte order mark must change nothing.
//! `UPDATE_EXPECT=1 cargo test -p descheduler --test wrapped` rewrites what is expected.

use std::process::ExitCode;

use descheduler_engine::{Diagnostics, Policy};
use descheduler_policy::{Style, load, render};
use descheduler_strategies::REGISTRY;
use descheduler_testkit::{Case, Failed, Format, Sections, run_cases};

fn main() -> ExitCode {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wrapped");
    run_cases(folder, Format { given: &["file"], expected: &["diagnostics"] }, check)
}

fn check(case: &Case) -> Result<Sections, Failed> {
    let file = case.section("file")?;
    let (policy, said) = load(file.as_bytes(), "file.yaml", &REGISTRY);
    let places = places(&said, file)?;
    for (what, other) in
        [("CRLF", file.replace('\n', "\r\n")), ("a byte order mark", format!("\u{feff}{file}"))]
    {
        let (_, said) = load(other.as_bytes(), "file.yaml", &REGISTRY);
        let found = self::places(&said, other.trim_start_matches('\u{feff}'))?;
        if found != places {
            return Err(format!("with {what}: {found:?}\nwithout: {places:?}").into());
        }
    }
    let said = render(&said, file.as_bytes(), Style::Plain);
    let gap = if said.is_empty() { "" } else { "\n" };
    let verdict = policy.as_ref().map_or_else(|| "refused".to_owned(), runs);
    Ok(vec![("diagnostics", format!("{said}{gap}{verdict}\n"))])
}

/// What would run, a line for each profile.
fn runs(policy: &Policy) -> String {
    let profiles = policy.profiles.iter().map(|profile| {
        let steps = profile.deschedule.iter().chain(&profile.balance);
        let names: Vec<&str> = steps.map(|step| step.def.name).collect();
        format!("\n{}: {}", profile.name, names.join(", "))
    });
    format!("accepted{}", profiles.collect::<String>())
}

/// What is said of which line and column, and the text there, which must be in the file.
fn places<'f>(
    said: &Diagnostics,
    file: &'f str,
) -> Result<Vec<(u32, u32, &'static str, &'f str)>, Failed> {
    let places = said.iter().map(|d| {
        let text = file.get(d.span.start..d.span.end).ok_or_else(|| format!("no place: {d:?}"))?;
        // Of several lines, the first one will do.
        Ok((d.span.line, d.span.column, d.code, text.lines().next().unwrap_or_default()))
    });
    places.collect()
}
