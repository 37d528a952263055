//! Runs the cases of `simulate/`: a policy, a cluster and what the program says of many cycles.
//!
//! `-- options --` holds further flags. `-- other --` is a policy to compare with.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use descheduler_testkit::{Case, Failed, Format, Sections, run_cases};
use serde_json::Value;
use snapbox::cmd::Command;

/// How long one run may take before it counts as hanging.
const LIMIT: Duration = Duration::from_secs(20);

/// For a folder of its own for each case.
static COUNT: AtomicU32 = AtomicU32::new(0);

fn main() -> ExitCode {
    let format = Format {
        given: &["policy", "other", "cluster", "options"],
        expected: &["stdout", "stderr"],
    };
    run_cases(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/simulate"), format, check)
}

fn check(case: &Case) -> Result<Sections, Failed> {
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("simulate-{number}"));
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("policy.yaml"), case.section("policy")?)?;
    let cluster = case.cluster()?;
    fs::write(folder.join("cluster.json"), cluster.objects.join("\n"))?;
    let mut flags = vec!["simulate", "--policy", "policy.yaml", "--cluster", "cluster.json"];
    flags.extend(["--now", "2026-01-01T00:00:00Z"]);
    flags.extend(case.get("options").unwrap_or_default().split_whitespace());
    if let Some(other) = case.get("other") {
        fs::write(folder.join("other.yaml"), other)?;
        flags.extend(["--compare", "other.yaml"]);
    }
    let text = run(&folder, &flags)?;
    flags.extend(["-o", "json"]);
    let json = run(&folder, &flags)?;
    if text.exit != json.exit {
        return Err(format!("exit code {:?} as text, {:?} as JSON", text.exit, json.exit).into());
    }
    if json.exit == Some(0) {
        agree(&text.stdout, &serde_json::from_str(&json.stdout)?)?;
    }
    Ok(vec![("stdout", text.stdout), ("stderr", text.stderr)])
}

/// What a run left behind.
struct Said {
    exit: Option<i32>,
    stdout: String,
    stderr: String,
}

fn run(folder: &Path, flags: &[&str]) -> Result<Said, Failed> {
    let program = Command::new(env!("CARGO_BIN_EXE_descheduler"));
    let output = program.args(flags).current_dir(folder).timeout(LIMIT).output()?;
    let (stdout, stderr) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    match stderr.contains("panicked at") {
        true => Err(stderr.into()),
        false => Ok(Said { exit: output.status.code(), stdout, stderr }),
    }
}

/// What programs read says the same as what people read.
fn agree(text: &str, json: &Value) -> Result<(), Failed> {
    let verdict = text.lines().next().unwrap_or_default();
    let settled = json["settled"].as_bool().ok_or("`settled` is no boolean")?;
    if verdict.contains("does not settle") == settled {
        return Err(format!("`settled` is {settled}, but: {verdict}").into());
    }
    let cycles = json["cycles"].as_array().ok_or("`cycles` is no list")?;
    let is_idle = |cycle: &Value| cycle["evictions"].as_array().is_some_and(Vec::is_empty);
    let first_idle = cycles.iter().position(is_idle).map(|at| at + 1);
    let after = json["settledAfter"].as_u64();
    if after != first_idle.map(|number| number as u64) || settled != after.is_some() {
        return Err(format!("`settledAfter` is {after:?}, idle is {first_idle:?}").into());
    }
    let mut seen = 0;
    for cycle in cycles {
        let evictions = cycle["evictions"].as_array().ok_or("`evictions` is no list")?;
        seen += evictions.len();
        if !evictions.iter().all(|eviction| eviction.get("landed").is_some()) {
            return Err("an eviction does not say where it landed".into());
        }
    }
    let said = verdict.split_whitespace().find_map(|word| word.parse().ok()).unwrap_or(0);
    match said == seen {
        true => Ok(()),
        false => Err(format!("{seen} evictions in JSON, but: {verdict}").into()),
    }
}
