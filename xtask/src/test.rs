//! `cargo xtask test`: formatting, lints and every test, with one closing line.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail, ensure};

use crate::report;

/// Runs every check, the cheap ones first, and stops at the first that fails.
pub(crate) fn run() -> anyhow::Result<()> {
    step("formatting", &["fmt", "--all", "--check"])?;
    step(
        "lints",
        &["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"],
    )?;
    tests()
}

fn step(name: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let begun = Instant::now();
    report(&format!("== {name}: cargo {}", arguments.join(" ")));
    let status = Command::new(env!("CARGO")).args(arguments).status().context("start cargo")?;
    ensure!(status.success(), "{name} failed");
    report(&format!("== {name}: {:.1} s", begun.elapsed().as_secs_f64()));
    Ok(())
}

/// Streams `cargo test` and adds up the summaries of its test binaries.
fn tests() -> anyhow::Result<()> {
    report("== tests: cargo test --workspace");
    let mut child = Command::new(env!("CARGO"))
        .args(["test", "--workspace", "--no-fail-fast"])
        .stdout(Stdio::piped())
        .spawn()
        .context("start cargo")?;
    let output = child.stdout.take().context("read what cargo prints")?;
    let mut total = Counts::default();
    for line in BufReader::new(output).lines() {
        let line = line.context("read what cargo prints")?;
        report(&line);
        if let Some(counts) = Counts::read(&line) {
            total.passed += counts.passed;
            total.failed += counts.failed;
        }
    }
    let status = child.wait().context("wait for cargo")?;
    report(&format!("{} passed, {} failed", total.passed, total.failed));
    if !status.success() || total.failed > 0 {
        bail!("tests failed");
    }
    ensure!(total.passed > 0, "no test ran");
    Ok(())
}

/// How many tests of one binary passed and failed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
}

impl Counts {
    /// Reads `test result: ok. 3 passed; 0 failed; ...`.
    fn read(line: &str) -> Option<Self> {
        let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let mut numbers = counts.split("; ").map(|part| part.split(' ').next()?.parse().ok());
        Some(Self { passed: numbers.next()??, failed: numbers.next()?? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_read_and_nothing_else_is() {
        let line = "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured";
        assert_eq!(Counts::read(line), Some(Counts { passed: 12, failed: 3 }));
        assert_eq!(Counts::read("test labels::tests::every_form ... ok"), None);
    }
}
