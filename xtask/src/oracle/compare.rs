//! Two answers to one case, and where they differ.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

/// So many nodes of one case are shown.
const NODES_MAX: usize = 12;

/// What came of all cases.
pub(super) struct Tally {
    /// How many answers are the same.
    pub(super) same: usize,
    /// How many cases the oracle refuses, or the real scheduler crashes over.
    pub(super) refused: usize,
    pub(super) differences: Vec<Difference>,
}

/// A case that is answered differently.
pub(super) struct Difference {
    /// Which one, counted from 0.
    pub(super) case: usize,
    pub(super) id: String,
    pub(super) title: String,
    wanted: Value,
    found: Value,
}

impl Tally {
    /// Compares answers, which come in the order of the cases.
    pub(super) fn of(cases: &[String], oracle: &[String], model: &[String]) -> Result<Self> {
        for (who, answers) in [("the oracle", oracle), ("the model", model)] {
            let (cases, answers) = (cases.len(), answers.len());
            ensure!(answers == cases, "{who} answers {answers} of {cases} cases");
        }
        let mut tally = Self { same: 0, refused: 0, differences: Vec::new() };
        for (case, text) in cases.iter().enumerate() {
            let (wanted, found) = (read(&oracle[case])?, read(&model[case])?);
            if wanted.get("error").is_some() || wanted["cycleError"]["stage"] == "Panic" {
                tally.refused += 1;
            } else if is_same(&wanted, &found) {
                tally.same += 1;
            } else {
                let Case { id, title } =
                    serde_json::from_str(text).with_context(|| format!("case {case}"))?;
                tally.differences.push(Difference { case, id, title, wanted, found });
            }
        }
        Ok(tally)
    }
}

#[derive(Deserialize)]
struct Case {
    id: String,
    #[serde(default)]
    title: String,
}

fn read(answer: &str) -> Result<Value> {
    serde_json::from_str(answer).with_context(|| format!("no answer: `{answer}`"))
}

/// The words of an error are not compared, and neither is what would have come after it.
fn is_same(wanted: &Value, found: &Value) -> bool {
    match (wanted.get("cycleError"), found.get("cycleError")) {
        (None, None) => parts(wanted) == parts(found),
        (Some(_), Some(_)) => true,
        _ => false,
    }
}

fn parts(answer: &Value) -> (&Value, &Value) {
    (&answer["preFilter"], &answer["nodes"])
}

impl Difference {
    /// Whether the model's answer is this other one.
    pub(super) fn ends_with(&self, answer: &str) -> Result<bool> {
        Ok(is_same(&read(answer)?, &self.found))
    }

    /// Where the two answers differ.
    pub(super) fn lines(&self) -> Vec<String> {
        let Self { wanted, found, .. } = self;
        let mut lines = Vec::new();
        for part in ["cycleError", "preFilter"] {
            let (wanted, found) = (&wanted[part], &found[part]);
            if wanted != found {
                lines.push(format!("{part}: kube-scheduler {wanted}, model {found}"));
            }
        }
        if !lines.is_empty() {
            return lines;
        }
        let names = [wanted, found].into_iter().filter_map(|answer| answer["nodes"].as_object());
        let names: BTreeSet<&String> = names.flat_map(serde_json::Map::keys).collect();
        for name in names {
            let (wanted, found) = (&wanted["nodes"][name], &found["nodes"][name]);
            if wanted != found {
                lines.push(format!("{name}: kube-scheduler {wanted}"));
                lines.push(format!("{name}: model          {found}"));
            }
        }
        lines.truncate(2 * NODES_MAX);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_compared() {
        let case = r#"{"id": "a", "title": "t"}"#;
        let feasible = r#"{"id": "a", "nodes": {"n": {"feasible": true, "total": 1}}}"#;
        let other = r#"{"id": "a", "nodes": {"n": {"feasible": true, "total": 2}}}"#;
        let rejected = r#"{"id": "a", "preFilter": {"code": "U", "plugin": "p"}}"#;
        let failed = r#"{"id": "a", "cycleError": {"stage": "Score", "message": "m"}}"#;
        let failed_otherwise = r#"{"id": "a", "cycleError": {"stage": "Score", "message": "n"}}"#;
        let crashed = r#"{"id": "a", "cycleError": {"stage": "Panic", "message": "m"}}"#;
        let refused = r#"{"id": "a", "error": "no"}"#;
        // Same, refused, different.
        for (oracle, model, expected) in [
            (feasible, feasible, [1, 0, 0]),
            (feasible, other, [0, 0, 1]),
            (feasible, rejected, [0, 0, 1]),
            (feasible, failed, [0, 0, 1]),
            (failed, failed_otherwise, [1, 0, 0]),
            (crashed, feasible, [0, 1, 0]),
            (refused, feasible, [0, 1, 0]),
        ] {
            let texts = |text: &str| vec![text.to_owned()];
            let tally = Tally::of(&texts(case), &texts(oracle), &texts(model));
            let Tally { same, refused, differences } = tally.expect("they are answers");
            assert_eq!([same, refused, differences.len()], expected, "{oracle} {model}");
            for difference in differences {
                assert!(!difference.lines().is_empty());
                assert!(difference.ends_with(model).expect("it is an answer"));
            }
        }
        assert!(Tally::of(&[case.to_owned()], &[], &[]).is_err());
    }
}
