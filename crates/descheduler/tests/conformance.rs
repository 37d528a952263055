//! Plans the clusters of `conformance/` with placement off, and compares the set of pods with what
//! the upstream descheduler evicted there.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;

fn main() {
    let arguments = Arguments::from_args();
    let trials =
        cases().into_iter().map(|(name, folder)| Trial::test(name, move || check(&folder)));
    let mut trials: Vec<Trial> = trials.collect();
    trials.push(Trial::test("the_comparison_finds_what_is_missing_and_what_is_too_much", || {
        let set = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        let right = [set(&["a/x", "a/y"]), set(&["a/z"])];
        let found = compare(&set(&["a/x", "b/w"]), &right).expect_err("it is neither");
        assert_eq!(found, "missing: a/y; extra: b/w (nearest of 2 right answers)");
        assert_eq!(compare(&set(&["a/z"]), &right), Ok(()));
        Ok(())
    }));
    libtest_mimic::run(&arguments, trials).exit();
}

/// Every case, by `strategy/name`.
fn cases() -> BTreeMap<String, PathBuf> {
    let strategies = common::folders(&common::data("conformance"));
    let cases = strategies.into_iter().flat_map(|(strategy, folder)| {
        let cases = common::folders(&folder).into_iter();
        cases.map(move |(name, folder)| (format!("{strategy}/{name}"), folder))
    });
    cases.collect()
}

/// What the upstream descheduler did.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Upstream {
    now: String,
    evicted: BTreeSet<String>,
    /// Whether every run evicted the same pods.
    stable: bool,
    /// The sets it evicted in different runs, where chance decides.
    #[serde(default)]
    runs_seen: Vec<BTreeSet<String>>,
    /// Why we do something else on purpose.
    differs: Option<String>,
    /// What we do instead; where it is absent, any plan is right.
    ours: Option<BTreeSet<String>>,
    #[serde(rename = "about")]
    _about: String,
    #[serde(rename = "commit")]
    _commit: String,
    #[serde(rename = "runs")]
    _runs: u32,
}

impl Upstream {
    /// The sets that are right; none where any is.
    fn right(self) -> Option<Vec<BTreeSet<String>>> {
        match (self.ours, self.differs, self.stable) {
            (Some(ours), ..) => Some(vec![ours]),
            (None, Some(_), _) => None,
            (None, None, true) => Some(vec![self.evicted]),
            (None, None, false) => Some(self.runs_seen),
        }
    }
}

fn check(folder: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(folder.join("upstream.json"))?;
    let upstream: Upstream = serde_json::from_str(&text)?;
    let arguments = [
        "plan",
        "--policy",
        "policy.yaml",
        "--cluster",
        "cluster.yaml",
        "--now",
        &upstream.now,
        "--placement",
        "off",
        "-o",
        "json",
    ];
    let run = common::run(folder, &arguments.map(String::from))?;
    if run.exit != 0 {
        return Err(format!("exit code {}: {}", run.exit, run.stderr).into());
    }
    let planned = common::evictions(&serde_json::from_str(&run.stdout)?)?;
    let set: BTreeSet<String> = planned.iter().cloned().collect();
    if set.len() < planned.len() {
        return Err(format!("a pod is planned twice: {planned:?}").into());
    }
    match upstream.right() {
        Some(right) => compare(&set, &right).map_err(Failed::from),
        None => Ok(()),
    }
}

/// Says how far `planned` is from the nearest right answer.
fn compare(planned: &BTreeSet<String>, right: &[BTreeSet<String>]) -> Result<(), String> {
    let distance = |set: &&BTreeSet<String>| set.symmetric_difference(planned).count();
    let nearest = right.iter().min_by_key(distance).ok_or("the case has no right answer")?;
    if nearest == planned {
        return Ok(());
    }
    let list = |word, names: Vec<&String>| {
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| format!("{word}: {}", names.join(" ")))
    };
    let parts = [
        list("missing", nearest.difference(planned).collect()),
        list("extra", planned.difference(nearest).collect()),
    ];
    let mut text = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
    if right.len() > 1 {
        text += &format!(" (nearest of {} right answers)", right.len());
    }
    Err(text)
}
