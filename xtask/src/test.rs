//! `cargo xtask test`: every check, the cheap ones first, and one closing line.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::{codegen, e2e, oracle, report, root, tidy};

const CLIPPY: &[&str] =
    &["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"];

/// Runs every check and stops at the first that fails. Whatever happened, the last line is
/// `N passed, N failed`: the sum over all test binaries, where a check that failed before the
/// tests, or tests that do not compile, count as one failure.
pub(crate) fn run() -> ExitCode {
    let mut counts = Counts::default();
    // What takes longest on a machine that has not built it yet begins first, beside the rest.
    let plane = e2e::ControlPlane::begin(&root());
    let outcome = checks()
        .and_then(|()| step("tests", || tests(&mut counts)))
        .and_then(|()| real_scheduler())
        .and_then(|()| real_cluster(plane));
    if let Err(error) = &outcome {
        report(&format!("error: {error:#}"));
        counts.failed = counts.failed.max(1);
    }
    report(&format!("{} passed, {} failed", counts.passed, counts.failed));
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn checks() -> Result<()> {
    tool("formatting", "fmt", &["fmt", "--all", "--check"])?;
    step("tidy", || tidy::run(&root()))?;
    step("generated files", || codegen::check(&root()))?;
    tool("lints", "clippy", CLIPPY)
}

/// Runs one check and says how long it took.
fn step(name: &str, check: impl FnOnce() -> Result<()>) -> Result<()> {
    report(&format!("== {name}"));
    let begun = Instant::now();
    check().with_context(|| format!("{name} failed"))?;
    report(&format!("== {name}: {:.1} s", begun.elapsed().as_secs_f64()));
    Ok(())
}

/// A step that needs a component of the toolchain. Where it is missing the step is left out, but
/// with `CI=true` that is an error.
fn tool(name: &str, component: &str, arguments: &[&str]) -> Result<()> {
    let probe = Command::new(env!("CARGO"))
        .args([component, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !probe.is_ok_and(|status| status.success()) {
        let advice = format!("`cargo {component}` is missing; `rustup component add` installs it");
        return leave_out(name, &advice);
    }
    step(name, || {
        let status = Command::new(env!("CARGO")).args(arguments).status().context("start cargo")?;
        ensure!(status.success(), "cargo {}", arguments.join(" "));
        Ok(())
    })
}

/// Compares the model with the real scheduler on some cases, where Go and Python are there.
fn real_scheduler() -> Result<()> {
    const NAME: &str = "the real kube-scheduler";
    match oracle::share(&root()) {
        Ok(share) => step(NAME, share),
        Err(why) => leave_out(NAME, &format!("{why:#}")),
    }
}

/// Plays the scenarios, where a control plane can be built.
fn real_cluster(plane: Result<e2e::ControlPlane>) -> Result<()> {
    const NAME: &str = "a real control plane";
    match plane {
        Ok(plane) => step(NAME, || plane.play(&e2e::Options::all())),
        Err(why) => leave_out(NAME, &format!("{why:#}")),
    }
}

/// Says that a step is not done, and why. Where the result counts, it has to be done.
fn leave_out(name: &str, why: &str) -> Result<()> {
    ensure!(std::env::var_os("CI").is_none_or(|value| value != "true"), "{name}: {why}");
    report(&format!("== {name}: left out: {why}"));
    Ok(())
}

/// Streams `cargo test` and adds up the summaries of its test binaries.
fn tests(total: &mut Counts) -> Result<()> {
    let mut child = Command::new(env!("CARGO"))
        .args(["test", "--workspace", "--no-fail-fast"])
        .stdout(Stdio::piped())
        .spawn()
        .context("start cargo")?;
    let output = child.stdout.take().context("read what cargo prints")?;
    for line in BufReader::new(output).split(b'\n') {
        // A test may print bytes that are no text.
        let line = String::from_utf8_lossy(&line.context("read what cargo prints")?).into_owned();
        report(&line);
        if let Some(counts) = Counts::read(&line) {
            total.passed += counts.passed;
            total.failed += counts.failed;
        }
    }
    let status = child.wait().context("wait for cargo")?;
    if !status.success() || total.failed > 0 {
        bail!("cargo test --workspace");
    }
    ensure!(total.passed > 0, "no test ran");
    Ok(())
}

/// How many tests passed and failed.
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
