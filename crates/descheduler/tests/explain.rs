//! Questions about pods and nodes, and what is said: one text file each in `tests/explain`.
//!
//! A case gives a `policy`, a `cluster`, maybe a `history`, and a `question`, which is what stands
//! behind `descheduler explain`, and expects the `answer`. What JSON says must not contradict it.
//! `cargo xtask tidy` knows whether there is a case for each reason why pods go or stay.
//! `UPDATE_EXPECT=1 cargo test -p descheduler --test explain` rewrites what is expected.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use descheduler_testkit::{Case, Failed, Format, Sections, run_cases};
use serde_json::Value;
use snapbox::cmd::Command;

fn main() -> ExitCode {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/explain");
    let format = Format {
        given: &["policy", "cluster", "cluster.yaml", "history", "question"],
        expected: &["answer"],
    };
    run_cases(folder, format, check)
}

fn check(case: &Case) -> Result<Sections, Failed> {
    let inputs = Inputs::write(case)?;
    let answer = inputs.ask(&[])?;
    let json: Value = serde_json::from_str(&inputs.ask(&["-o", "json"])?)?;
    let plan: Value = serde_json::from_str(&inputs.run(&["plan", "-o", "json"])?)?;
    if json["pod"].is_object() {
        agree(&json, &plan, &answer)?;
    }
    Ok(vec![("answer", answer)])
}

/// What is said about a pod is what the plan does with it.
fn agree(json: &Value, plan: &Value, answer: &str) -> Result<(), Failed> {
    let (name, namespace) = (&json["pod"]["name"], &json["pod"]["namespace"]);
    let is_it = |of: &&Value| of["name"] == *name && of["namespace"] == *namespace;
    let found = |list: &str| plan[list].as_array().into_iter().flatten().filter(is_it).count();
    let evicted = found("evictions") > 0;
    if evicted != (json["verdict"] == "evicted") || evicted != answer.contains("would be evicted") {
        return Err(
            format!("the plan says evicted: {evicted}, JSON says {}", json["verdict"]).into()
        );
    }
    let steps = json["strategies"].as_array().into_iter().flatten();
    let refused = steps.filter(|step| step["verdict"] == "refused").count();
    match refused == found("refusals") {
        true => Ok(()),
        false => Err(format!("{} refusals planned, {refused} explained", found("refusals")).into()),
    }
}

/// The files of a case.
struct Inputs {
    folder: PathBuf,
    question: String,
    arguments: Vec<&'static str>,
}

impl Inputs {
    fn write(case: &Case) -> Result<Self, Failed> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("explain-{number}"));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("policy.yaml"), case.section("policy")?)?;
        fs::write(folder.join("cluster.json"), case.cluster()?.objects.join("\n"))?;
        let arguments = ["--policy", "policy.yaml", "--cluster", "cluster.json"].into_iter();
        let mut arguments: Vec<_> = arguments.chain(["--now", "2026-01-01T00:00:00Z"]).collect();
        if let Some(history) = case.get("history") {
            fs::write(folder.join("history"), history)?;
            arguments.extend(["--history", "history"]);
        }
        Ok(Self { folder, question: case.section("question")?.trim().to_owned(), arguments })
    }

    fn ask(&self, more: &[&str]) -> Result<String, Failed> {
        let words = ["explain"].into_iter().chain(self.question.split_whitespace());
        self.run(&words.chain(more.iter().copied()).collect::<Vec<_>>())
    }

    fn run(&self, words: &[&str]) -> Result<String, Failed> {
        let output = Command::new(env!("CARGO_BIN_EXE_descheduler"))
            .args(words)
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env("COLUMNS", "100")
            .output()?;
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout)?),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
        }
    }
}
