//! The list of scenarios. That this is a test makes `cargo test` build the runner, too, with the
//! features that everything else is built with, so that nothing is compiled twice.

use std::process::Command;

#[test]
fn every_scenario_has_a_number_and_no_two_have_the_same_name() {
    let output = Command::new(env!("CARGO_BIN_EXE_descheduler-e2e"))
        .args(["--list", "--descheduler", "-", "--bin", "-", "--state", "-"])
        .output()
        .expect("the runner starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut names: Vec<&str> =
        said.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    assert!(!names.is_empty(), "{said}");
    for name in &names {
        let number = name.split('-').next().unwrap_or_default();
        let digits = number.strip_prefix('u').unwrap_or(number);
        assert!(digits.len() == 2 && digits.parse::<u8>().is_ok(), "{name}");
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "{said}");
}
