//! The model of kube-scheduler against what the real plugins answered: docs/spec/cases, with each
//! version that there are answers of.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Arc, LazyLock};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Map, Value};

/// The files.
const FILES: [&str; 3] =
    ["scheduler_cases.json", "scheduler_cases_1.37.jsonl", "scheduler_cases_more.jsonl"];

/// The versions, each with the one whose answers are its own.
const VERSIONS: [(&str, &str); 4] =
    [("1.34", "1.35"), ("1.35", "1.35"), ("1.36", "1.36"), ("1.37", "1.37")];

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for file in FILES {
        for (version, answers) in VERSIONS {
            // Each file is answered in one run, by the first case that asks.
            let found = Arc::new(LazyLock::new(move || answer(&folder().join(file), version)));
            for case in read(&folder().join(file)) {
                let id = case["id"].as_str().expect("a case has an id").to_owned();
                let Some(expected) = case["expect"].get(answers).cloned() else { continue };
                let found = Arc::clone(&found);
                trials.push(Trial::test(format!("{version}/{id}"), move || {
                    let found = found.as_ref().as_ref().map_err(Failed::from)?;
                    let answer = found.get(&id).ok_or("there is no answer to it")?;
                    compare(&expected, answer)
                }));
            }
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/spec/cases")
}

/// The cases of a file: an array, or one a line.
fn read(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("the cases can be read");
    let values = serde_json::Deserializer::from_str(&text).into_iter();
    let values: Result<Vec<Value>, _> = values.collect();
    match &mut *values.expect("cases are JSON") {
        [Value::Array(cases)] => std::mem::take(cases),
        cases => cases.to_vec(),
    }
}

/// The program's answers by case.
fn answer(path: &Path, version: &str) -> Result<BTreeMap<String, Value>, String> {
    let run = Command::new(env!("CARGO_BIN_EXE_descheduler"))
        .args(["place", "--scheduler-version", version, "-o", "json", "--cases"])
        .arg(path)
        .output()
        .map_err(|error| error.to_string())?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into_owned());
    }
    let answers = serde_json::Deserializer::from_slice(&run.stdout).into_iter();
    let answers = answers.map(|answer| {
        let answer: Value = answer.map_err(|error| error.to_string())?;
        let id = answer["id"].as_str().ok_or("an answer has no id")?.to_owned();
        Ok((id, answer))
    });
    answers.collect()
}

/// Compares what kube-scheduler said with what the model says, apart from the words of an error.
fn compare(expected: &Value, answer: &Value) -> Result<(), Failed> {
    let (expected, found) = (normal(expected), normal(answer));
    if expected == found {
        return Ok(());
    }
    let shown = |value: &Value| serde_json::to_string(value).unwrap_or_default();
    Err(format!("expected {}\n   found {}", shown(&expected), shown(&found)).into())
}

/// The same shape for both: an expectation may leave out what is null, and spell a rejection as
/// `code/plugin`.
fn normal(answer: &Value) -> Value {
    let mut normal = Map::new();
    if let Some(error) = answer.get("cycleError").filter(|error| !error.is_null()) {
        normal.insert("cycleError".to_owned(), error["stage"].clone());
    }
    match answer.get("preFilter") {
        Some(Value::String(text)) => {
            normal.insert("preFilter".to_owned(), Value::String(text.clone()));
        }
        Some(Value::Object(fault)) => {
            let part = |name: &str| fault.get(name).and_then(Value::as_str).unwrap_or_default();
            let text = format!("{}/{}", part("code"), part("plugin"));
            normal.insert("preFilter".to_owned(), Value::String(text));
        }
        _ => {}
    }
    if let Some(Value::Object(nodes)) = answer.get("nodes") {
        let nodes = nodes.iter().map(|(name, node)| {
            let fields = node.as_object().into_iter().flatten();
            let fields = fields.filter(|(_, value)| !value.is_null());
            let fields: Map<String, Value> =
                fields.map(|(name, value)| (name.clone(), value.clone())).collect();
            (name.clone(), Value::Object(fields))
        });
        let nodes: Map<String, Value> = nodes.collect();
        if !nodes.is_empty() {
            normal.insert("nodes".to_owned(), Value::Object(nodes));
        }
    }
    Value::Object(normal)
}
