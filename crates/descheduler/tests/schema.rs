//! `schema/policy-v1alpha2.json` and the reader of policies are of one mind about every policy in
//! this repository: what is accepted is accepted by both, and what is refused for a type, a value or
//! a key that is not known is refused by both.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use descheduler_engine::Severity;
use descheduler_policy::load;
use descheduler_strategies::{MANUALS, REGISTRY};
use descheduler_testkit::yaml_documents;
use jsonschema::Validator;
use serde_json::Value;

/// What a schema can say. Rules over several fields are not among it.
const SAID: [&str; 13] = [
    "wrong-type",
    "unknown-argument",
    "unknown-value",
    "unknown-strategy",
    "out-of-range",
    "bad-duration",
    "missing-argument",
    "misplaced-key",
    "misplaced-argument",
    "missing-name",
    "missing-api-version",
    "wrong-api-version",
    "wrong-extension-point",
];

/// Cases with scalars that only YAML 1.1 takes for what is meant, or with keys that are merged:
/// nothing that the reader of this test understands.
const YAML_1_1: [&str; 3] =
    ["accepted.case", "anchors_and_merge_keys.case", "merge_key_comes_last.case"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn validator() -> Validator {
    let text = fs::read_to_string(root().join("schema/policy-v1alpha2.json")).expect("it is there");
    let schema: Value = serde_json::from_str(&text).expect("it is JSON");
    jsonschema::draft7::meta::validate(&schema).expect("it is a schema");
    jsonschema::draft7::new(&schema).expect("it is a schema")
}

/// Every text in the repository that may be a policy, by where it stands.
fn texts() -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for manual in MANUALS {
        texts.insert(format!("the manual of {}", manual.name), manual.policy());
    }
    let folders = [
        "crates/descheduler/tests",
        "crates/policy/tests",
        "crates/strategies/test_data",
        "examples",
        "tools/clustergen/policies",
    ];
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.display().to_string();
            let Ok(text) = fs::read_to_string(&path) else { continue };
            match path.extension().and_then(|ending| ending.to_str()) {
                Some("yaml" | "json") => drop(texts.insert(name, text)),
                Some("case") => {
                    let policy = text.split_once("\n-- policy --\n").map(|(_, rest)| rest);
                    let policy = policy.and_then(|rest| rest.split("\n-- ").next());
                    texts.extend(policy.map(|policy| (name, format!("{policy}\n"))));
                }
                _ => {}
            }
        }
    }
    texts
}

#[test]
fn the_schema_agrees_with_the_reader() {
    let validator = validator();
    let (mut accepted, mut refused, mut wrong) = (0, 0, Vec::new());
    for (name, text) in texts() {
        if YAML_1_1.iter().any(|case| name.ends_with(&format!("/{case}"))) {
            continue;
        }
        let Ok(documents) = yaml_documents(&text) else { continue };
        let Some(policy) = documents.first().filter(|policy| is_policy(policy)) else { continue };
        let (read, diagnostics) = load(text.as_bytes(), "policy.yaml", &REGISTRY);
        let errors: Vec<_> = diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
        let said = errors.iter().find(|error| SAID.contains(&error.code));
        match (read.is_some(), said) {
            (true, _) => {
                accepted += 1;
                let complaints = validator.iter_errors(policy);
                wrong.extend(
                    complaints.map(|error| {
                        format!("{name}: refused at {}: {error}", error.instance_path())
                    }),
                );
            }
            (false, Some(error)) => {
                refused += 1;
                if validator.is_valid(policy) {
                    wrong.push(format!("{name}: not refused: {}: {}", error.code, error.message));
                }
            }
            (false, None) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(accepted > 300 && refused > 30, "{accepted} accepted, {refused} refused");
}

/// Whether a text is a policy of this format, and not something that holds one.
fn is_policy(value: &Value) -> bool {
    value["apiVersion"].as_str().is_some_and(|version| version == "descheduler/v1alpha2")
}

#[test]
fn every_key_of_the_schema_is_known_to_the_reader() {
    // A value that no key takes, so that one that is read is complained about.
    let text = fs::read_to_string(root().join("schema/policy-v1alpha2.json")).expect("it is there");
    let schema: Value = serde_json::from_str(&text).expect("it is JSON");
    let profile = &schema["properties"]["profiles"]["items"]["properties"];
    let complains = |policy: &str, path: &str| {
        let (_, diagnostics) = load(policy.as_bytes(), "policy.yaml", &REGISTRY);
        let wrong = diagnostics
            .iter()
            .any(|d| d.code == "wrong-type" && d.message.contains(&format!("`{path}`")));
        assert!(wrong, "`{path}` is not read");
    };
    let head = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n";
    let keys = |properties: &Value| {
        let keys = properties.as_object().expect("properties").keys().cloned();
        keys.collect::<Vec<_>>()
    };
    for key in keys(&schema["properties"]) {
        if !["apiVersion", "kind"].contains(&&*key) {
            let value =
                if key.starts_with("max") || key == "gracePeriodSeconds" { "[]" } else { "3" };
            complains(&format!("{head}{key}: {value}\n"), &key);
        }
    }
    for key in keys(profile) {
        complains(&format!("{head}profiles: [{{{key}: 3}}]\n"), &format!("profiles[0].{key}"));
    }
    for key in keys(&profile["plugins"]["properties"]) {
        let policy = format!("{head}profiles: [{{plugins: {{{key}: 3}}}}]\n");
        complains(&policy, &format!("profiles[0].plugins.{key}"));
    }
}
