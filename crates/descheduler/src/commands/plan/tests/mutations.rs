//! Damaged dumps and policies, from single bits to whole values that nobody expects.
//!
//! `mutations/` holds a cluster and a policy that between them have something of everything that is
//! read.

use proptest::prelude::*;
use serde_json::Value;

use super::{policy, printed};

pub(super) const CLUSTER: &str = include_str!("mutations/cluster.json");
const POLICY: &str = include_str!("mutations/policy.json");

/// What may stand where a value is expected. `@` is the value that stood there.
const VALUES: [&str; 44] = [
    "null",
    "true",
    "0",
    "-1",
    "1",
    "2147483648",
    "-2147483649",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e308",
    "1e400",
    "-0.5",
    "1e-9",
    "100000000000000000000000000000000000000000000000000",
    "[]",
    "{}",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
    "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}}}}}",
    "[@]",
    "{\"items\": [@]}",
    "@, @",
    "@, \"name\": @",
    "@, \"kind\": \"Pod\"",
    "\"\"",
    "\" \"",
    "\"\\u0000\\u001b[2J\\n\\t\"",
    "\"\\u202e\\ufeff\"",
    "\"\\ud800\"",
    "\"größe💥\"",
    "\"true\"",
    "\"-1\"",
    "\"1e400\"",
    "\"9223372036854775808Ei\"",
    "\"-9223372036854775808\"",
    "\"0.000000000001\"",
    "\"100%\"",
    "\"-99999999999%\"",
    "\"0001-01-01T00:00:00Z\"",
    "\"9999-12-31T23:59:59Z\"",
    "\"2026-01-01T00:00:00.999999999+25:99\"",
    "\"2562047h47m16.854775807s\"",
    "\"a in (b, c), !d\"",
];

/// Pieces of text that notations trip over.
const PIECES: [&str; 22] = [
    "\t", "\r", "\n", "\r\n", "\u{feff}", "\u{0}", "\u{85}", "é", "---\n", "- ", ": ", "[", "]",
    "{", "}", ",", "\"", "\\", "#", "&a ", "*a", "!!str ",
];

fn base_policy() -> descheduler_engine::Policy {
    policy(POLICY.as_bytes()).expect("it is a policy")
}

fn plans(cluster: &[u8]) {
    let policy = base_policy();
    printed(&policy, cluster);
}

fn plans_with(policy_bytes: &[u8]) {
    if let Some(policy) = policy(policy_bytes) {
        printed(&policy, CLUSTER.as_bytes()).expect("it is a cluster");
    }
}

#[test]
fn what_is_damaged_is_whole_at_first() {
    let printed = printed(&base_policy(), CLUSTER.as_bytes()).expect("it is a cluster");
    let plan: Value = serde_json::from_str(&printed.json).expect("it is JSON");
    let codes = |list: &str| {
        let list = plan[list].as_array().expect("it is a list").iter();
        let mut codes: Vec<String> = list
            .map(|entry| format!("{}/{}", entry["strategy"], entry["code"]).replace('"', ""))
            .collect();
        codes.sort();
        codes.dedup();
        codes
    };
    snapbox::assert_data_eq!(
        codes("evictions").join("\n"),
        snapbox::str![[r#"
LowNodeUtilization/OverUtilizedNode
PodLifeTime/LivedTooLong
RemoveDuplicates/DuplicateOnNode
RemovePodsViolatingInterPodAntiAffinity/ConflictingPod
RemovePodsViolatingNodeAffinity/NodeLessPreferred
RemovePodsViolatingNodeAffinity/NodeNotSelected
RemovePodsViolatingNodeTaints/TaintNotTolerated
"#]]
    );
    snapbox::assert_data_eq!(
        codes("refusals").join("\n"),
        snapbox::str![[r#"
LowNodeUtilization/DisruptionBudget
LowNodeUtilization/Terminating
RemoveDuplicates/DisruptionBudget
RemovePodsViolatingNodeTaints/DaemonSet
RemovePodsViolatingNodeTaints/DisruptionBudget
RemovePodsViolatingNodeTaints/EvictAnnotationFalse
RemovePodsViolatingNodeTaints/LocalStorage
RemovePodsViolatingNodeTaints/NoOwner
RemovePodsViolatingNodeTaints/PersistentVolumeClaim
RemovePodsViolatingNodeTaints/SystemCritical
"#]]
    );
    assert_eq!(plan["anomalies"], serde_json::json!([]));
}

/// How many values there are in one, itself included.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => fields.values().map(size).sum::<usize>(),
        _ => 0,
    }
}

/// Exchanges the value with this number.
fn exchange(value: &mut Value, number: usize, new: &Value) -> Option<Value> {
    fn walk(value: &mut Value, left: &mut usize, new: &Value) -> Option<Value> {
        if *left == 0 {
            return Some(std::mem::replace(value, new.clone()));
        }
        *left -= 1;
        match value {
            Value::Array(items) => items.iter_mut().find_map(|item| walk(item, left, new)),
            Value::Object(fields) => fields.values_mut().find_map(|field| walk(field, left, new)),
            _ => None,
        }
    }
    walk(value, &mut { number }, new)
}

/// The text with some of its values replaced.
fn with_values(text: &str, changes: &[(usize, usize)]) -> String {
    let mut root: Value = serde_json::from_str(text).expect("it is JSON");
    let mut tokens = Vec::new();
    for (at, (place, value)) in changes.iter().enumerate() {
        let mark = format!("@{at}@");
        let number = place % size(&root);
        let old = exchange(&mut root, number, &Value::from(mark.as_str()));
        let old = old.expect("the number is in range").to_string();
        tokens.push((format!("\"{mark}\""), VALUES[value % VALUES.len()].replace('@', &old)));
    }
    let mut text = root.to_string();
    // Backwards, since a later change may hold the mark of an earlier one.
    for (mark, token) in tokens.iter().rev() {
        text = text.replacen(mark, token, 2);
    }
    text
}

fn flipped(text: &str, flips: &[(usize, u32)]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (at, bit) in flips {
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
    }
    bytes
}

/// The text cut and put together again in three ways.
fn spliced(text: &str, cut: usize, skip: usize, from: usize) -> [Vec<u8>; 3] {
    let bytes = text.as_bytes();
    let (head, tail) = bytes.split_at(cut % bytes.len());
    [
        head.to_vec(),
        [head, &tail[skip.min(tail.len())..]].concat(),
        [head, &bytes[from % bytes.len()..]].concat(),
    ]
}

fn with_pieces(text: &str, pieces: &[(usize, usize)]) -> String {
    let mut text = text.to_owned();
    for (at, piece) in pieces {
        let at = text.floor_char_boundary(at % text.len());
        text.insert_str(at, PIECES[piece % PIECES.len()]);
    }
    text
}

/// The same text as it may come: as YAML, from Windows.
fn dressed(text: &str) -> [String; 3] {
    [format!("---\n{text}"), text.replace('\n', "\r\n"), format!("\u{feff}{text}")]
}

fn changes() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((any::<usize>(), any::<usize>()), 1..6)
}

fn flips() -> impl Strategy<Value = Vec<(usize, u32)>> {
    prop::collection::vec((any::<usize>(), 0..8_u32), 1..4)
}

proptest! {
    // PROPTEST_CASES=20000 looks further.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_in_a_cluster(changes in changes()) {
        let text = with_values(CLUSTER, &changes);
        plans(text.as_bytes());
        plans(dressed(&text)[0].as_bytes());
    }

    #[test]
    fn bits(cluster in flips(), policy in flips()) {
        plans(&flipped(CLUSTER, &cluster));
        plans_with(&flipped(POLICY, &policy));
    }

    #[test]
    fn cuts(cut in any::<usize>(), skip in 0..60_usize, from in any::<usize>()) {
        for bytes in spliced(CLUSTER, cut, skip, from) {
            plans(&bytes);
        }
        for bytes in spliced(POLICY, cut, skip, from) {
            plans_with(&bytes);
        }
    }

    #[test]
    fn pieces(changes in changes()) {
        for text in dressed(&with_pieces(CLUSTER, &changes)) {
            plans(text.as_bytes());
        }
        for text in dressed(&with_pieces(POLICY, &changes)) {
            plans_with(text.as_bytes());
        }
    }
}

/// Few of these are policies any more, so none is left to chance.
#[test]
fn every_value_in_a_policy() {
    let root: Value = serde_json::from_str(POLICY).expect("it is JSON");
    for place in 0..size(&root) {
        for value in 0..VALUES.len() {
            plans_with(with_values(POLICY, &[(place, value)]).as_bytes());
        }
    }
}

#[test]
fn deep_and_wide() {
    for open in ["[", "{\"items\": [", "{\"kind\": \"Pod\", \"spec\": {\"a\": ", "- ", "a:\n "] {
        for times in [10, 127, 128, 129, 1000, 100_000] {
            plans(open.repeat(times).as_bytes());
            let inside = CLUSTER.replacen("\"nodeName\": \"a\"", &open.repeat(times), 1);
            plans(inside.as_bytes());
            plans_with(POLICY.replacen("\"default\"", &open.repeat(times), 1).as_bytes());
        }
    }
    for text in dressed(CLUSTER) {
        let printed = printed(&base_policy(), text.as_bytes()).expect("it is a cluster");
        assert!(printed.text.contains("would move: "), "{}", printed.text);
    }
}
