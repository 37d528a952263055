//! Policies and what is said about them: one text file each in `tests/cases`.
//!
//! A file holds a line on what it shows, `-- policy --` with the policy as it stands in a file,
//! and `-- diagnostics --` with everything that is said, ended by whether the policy is accepted.
//! `UPDATE_EXPECT=1 cargo test -p descheduler-policy` rewrites the latter.

mod toy;

use std::fs;
use std::path::{Path, PathBuf};

use descheduler_policy::{Style, load, render};
use libtest_mimic::{Arguments, Failed, Trial};

const POLICY: &str = "-- policy --\n";
const DIAGNOSTICS: &str = "-- diagnostics --\n";

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("the folder of cases")
        .map(|entry| entry.expect("an entry of the folder").path())
        .collect();
    files.sort();
    let trials = files.into_iter().map(|file| {
        let name = file.file_stem().expect("a file name").to_string_lossy().into_owned();
        Trial::test(name, move || run(&file))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn run(file: &Path) -> Result<(), Failed> {
    let case = fs::read_to_string(file)?;
    let (head, rest) = case.split_once(POLICY).ok_or("there is no section `policy`")?;
    let (policy, expected) =
        rest.split_once(DIAGNOSTICS).ok_or("there is no section `diagnostics`")?;
    if head.trim().is_empty() {
        return Err("the first line does not say what the case shows".into());
    }
    let (read, diagnostics) = load(policy.as_bytes(), "policy.yaml", &toy::REGISTRY);
    let verdict = if read.is_some() { "accepted" } else { "refused" };
    let said = render(&diagnostics, policy.as_bytes(), Style::Plain);
    let gap = if said.is_empty() { "" } else { "\n" };
    let actual = format!("{said}{gap}{verdict}\n");
    if actual == expected {
        return Ok(());
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(file, format!("{head}{POLICY}{policy}{DIAGNOSTICS}{actual}"))?;
        return Ok(());
    }
    Err(format!("expected:\n{expected}\nactual:\n{actual}").into())
}
