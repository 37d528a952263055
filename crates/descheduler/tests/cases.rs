//! Runs the program in each folder of `cases/` and compares with its `expect.json`.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use regex_lite::RegexBuilder;
use serde::Deserialize;
use serde_json::Value;

fn main() {
    let arguments = Arguments::from_args();
    let cases = common::folders(&common::data("cases")).into_iter();
    let mut trials: Vec<Trial> =
        cases.map(|(name, folder)| Trial::test(name, move || check(&folder))).collect();
    trials.push(Trial::test("the_harness_fails_what_is_wrong", the_harness_fails_what_is_wrong));
    libtest_mimic::run(&arguments, trials).exit();
}

/// An expectation; `cases/README.md` says what the keys mean. A key that is not known here fails
/// the case: an expectation that nobody checks is worse than none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Expect {
    #[serde(rename = "about")]
    _about: String,
    #[serde(rename = "why")]
    _why: String,
    #[serde(rename = "family")]
    _family: String,
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    exit: i32,
    #[serde(default = "default_policy")]
    policy: String,
    #[serde(default)]
    cluster: Paths,
    evictions: Option<Evictions>,
    anomalies: Option<Anomalies>,
    #[serde(default)]
    output: Words,
    #[serde(default)]
    stderr: Words,
}

fn default_policy() -> String {
    "policy.yaml".into()
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Paths {
    One(String),
    Many(Vec<String>),
}

impl Default for Paths {
    fn default() -> Self {
        Self::One("cluster.yaml".into())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Evictions {
    exactly: Option<Vec<String>>,
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Anomalies {
    min: usize,
    #[serde(default)]
    contains: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Words {
    #[serde(default)]
    contains: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
    #[serde(default)]
    matches: Vec<String>,
}

fn check(folder: &Path) -> Result<(), Failed> {
    let expect: Expect = serde_json::from_str(&fs::read_to_string(folder.join("expect.json"))?)?;
    let run = common::run(folder, &arguments(&expect))?;
    compare(&expect, &run).map_err(Failed::from)
}

fn arguments(expect: &Expect) -> Vec<String> {
    let mut arguments: Vec<String> = expect.command.split(' ').map(String::from).collect();
    arguments.extend(["--policy".into(), expect.policy.clone()]);
    let clusters = match &expect.cluster {
        Paths::One(path) => std::slice::from_ref(path),
        Paths::Many(paths) => paths,
    };
    arguments.extend(clusters.iter().flat_map(|path| ["--cluster".into(), path.clone()]));
    arguments.extend(expect.args.iter().cloned());
    arguments.extend(["-o".into(), "json".into()]);
    arguments
}

fn compare(expect: &Expect, run: &common::Run) -> Result<(), String> {
    let common::Run { exit, stdout, stderr } = run;
    if *exit != expect.exit {
        return Err(format!("exit code {exit}, expected {}; stderr: {stderr}", expect.exit));
    }
    check_words("stderr", stderr, &expect.stderr)?;
    check_words("stdout", stdout, &expect.output)?;
    if expect.evictions.is_none() && expect.anomalies.is_none() {
        return Ok(());
    }
    let plan: Value =
        serde_json::from_str(stdout).map_err(|error| format!("stdout is no JSON: {error}"))?;
    check_refusals(&plan)?;
    if let Some(wanted) = &expect.evictions {
        let planned = common::evictions(&plan).map_err(|f| f.message().unwrap_or("").to_owned())?;
        check_evictions(&planned, wanted)?;
    }
    if let Some(wanted) = &expect.anomalies {
        let list = plan["anomalies"].as_array().ok_or("the plan has no list of anomalies")?;
        if list.len() < wanted.min {
            return Err(format!("{} anomalies, expected {}", list.len(), wanted.min));
        }
        let words = Words { contains: wanted.contains.clone(), ..Words::default() };
        check_words("the list of anomalies", &plan["anomalies"].to_string(), &words)?;
    }
    Ok(())
}

/// A refusal without a reason helps nobody, whatever the case is about.
fn check_refusals(plan: &Value) -> Result<(), String> {
    let list = plan["refusals"].as_array().ok_or("the plan has no list of refusals")?;
    let is_given = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    match list.iter().find(|refusal| !is_given(&refusal["code"]) || !is_given(&refusal["reason"])) {
        Some(refusal) => Err(format!("a refusal has no code or no reason: {refusal}")),
        None => Ok(()),
    }
}

fn check_evictions(planned: &[String], wanted: &Evictions) -> Result<(), String> {
    let Evictions { exactly, include, exclude } = wanted;
    if let Some(exactly) = exactly
        && counts(planned) != counts(exactly)
    {
        return Err(format!("evicted {planned:?}, expected exactly {exactly:?}"));
    }
    if let Some(missing) = include.iter().find(|name| !planned.contains(name)) {
        return Err(format!("{missing} is not evicted, but {planned:?}"));
    }
    match exclude.iter().find(|name| planned.contains(name)) {
        Some(extra) => Err(format!("{extra} is evicted")),
        None => Ok(()),
    }
}

fn counts(names: &[String]) -> BTreeMap<&str, usize> {
    names.iter().fold(BTreeMap::new(), |mut counts, name| {
        *counts.entry(name.as_str()).or_default() += 1;
        counts
    })
}

/// Looks for words in any case.
fn check_words(what: &str, text: &str, words: &Words) -> Result<(), String> {
    let Words { contains, lacks, matches } = words;
    let lower = text.to_lowercase();
    let has = |word: &String| lower.contains(&word.to_lowercase());
    if let Some(word) = contains.iter().find(|word| !has(word)) {
        return Err(format!("{what} lacks `{word}`: {text}"));
    }
    if let Some(word) = lacks.iter().find(|word| has(word)) {
        return Err(format!("{what} contains `{word}`: {text}"));
    }
    for pattern in matches {
        let regex = RegexBuilder::new(pattern).case_insensitive(true).build();
        if !regex.map_err(|error| error.to_string())?.is_match(text) {
            return Err(format!("{what} does not match /{pattern}/: {text}"));
        }
    }
    Ok(())
}

fn the_harness_fails_what_is_wrong() -> Result<(), Failed> {
    let fails = |expect: &str, stdout: &str| {
        let expect =
            format!(r#"{{"about": "", "why": "", "family": "", "command": "plan", {expect}}}"#);
        let expect: Expect = serde_json::from_str(&expect).expect("a known key");
        let run = common::Run { exit: 0, stdout: stdout.into(), stderr: "Line 3".into() };
        compare(&expect, &run).err()
    };
    let plan =
        r#"{"evictions": [{"namespace": "a", "name": "x"}], "refusals": [], "anomalies": []}"#;
    for right in [
        r#""exit": 0, "evictions": {"exactly": ["a/x"], "include": ["a/x"], "exclude": ["a/y"]}"#,
        r#""stderr": {"contains": ["line"], "lacks": ["4"], "matches": ["line \\d+"]}"#,
        r#""anomalies": {"min": 0}"#,
    ] {
        assert_eq!(fails(right, plan), None, "{right}");
    }
    for wrong in [
        r#""exit": 1"#,
        r#""evictions": {"exactly": []}"#,
        r#""evictions": {"exactly": ["a/x", "a/x"]}"#,
        r#""evictions": {"include": ["a/y"]}"#,
        r#""evictions": {"exclude": ["a/x"]}"#,
        r#""anomalies": {"min": 1}"#,
        r#""anomalies": {"min": 0, "contains": ["x"]}"#,
        r#""stderr": {"contains": ["4"]}"#,
        r#""stderr": {"lacks": ["LINE"]}"#,
        r#""stderr": {"matches": ["^\\d"]}"#,
    ] {
        assert!(fails(wrong, plan).is_some(), "{wrong}");
    }
    let silent = r#"{"evictions": [], "refusals": [{"code": "Protected", "reason": ""}]}"#;
    assert!(fails(r#""evictions": {"exactly": []}"#, silent).is_some());
    let unknown = r#"{"about": "", "why": "", "family": "", "command": "plan", "surprise": 1}"#;
    assert!(serde_json::from_str::<Expect>(unknown).is_err());
    Ok(())
}
