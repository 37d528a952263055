//! Files of cases: what is given and what is expected, in one text.
//!
//! ```text
//! Two replicas share node a while b is empty: the younger one moves.
//!
//! -- policy --
//! ..
//! -- cluster --
//! node a
//! node b
//! pod default/web-1 on=a owner=ReplicaSet/web age=2h
//! pod default/web-2 on=a owner=ReplicaSet/web age=1h
//! -- plan --
//! evict default/web-2 from a: RemoveDuplicates/DuplicateOnNode: 2 of 2 replicas on a, at most 1
//! ```
//!
//! The lines before the first section say what the case shows. A line `-- name --` begins a
//! section, which reaches to the next such line. A test says which sections may be given and
//! which are expected, and has a check that turns the former into the latter:
//!
//! ```no_run
//! use descheduler_testkit::{Case, Failed, Format, Sections, run_cases};
//!
//! fn main() -> std::process::ExitCode {
//!     let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/test_data");
//!     run_cases(folder, Format { given: &["cluster"], expected: &["names"] }, check)
//! }
//!
//! fn check(case: &Case) -> Result<Sections, Failed> {
//!     let (snapshot, _) = case.cluster()?.read();
//!     let names = snapshot.pods().iter().map(|&pod| snapshot.pod_name(pod) + "\n");
//!     Ok(vec![("names", names.collect())])
//! }
//! ```
//!
//! Each file `*.case` in the folder and the folders in it is a test of its own, which is named
//! after its path. (Such a target has `harness = false` in the manifest.) The sections that the
//! check answers with, those that are empty aside, have to be the expected sections of the file;
//! no more, no less, and with the same text. With `UPDATE_EXPECT=1` in the environment they are
//! written to the file instead, and version control shows what has changed.
//!
//! A file without a sentence at the top, a section that the test does not know, a check that
//! answers with nothing, and a folder without cases all fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

pub use libtest_mimic::Failed;
use libtest_mimic::{Arguments, Trial};

use crate::diff::diff;
use crate::fixture::{Cluster, Faults};

/// The ending of a case file's name.
const ENDING: &str = "case";
/// What may lie beside cases.
const README: &str = "README.md";
/// Set to write what is said now to the files.
const UPDATE: &str = "UPDATE_EXPECT";

/// The sections that a test knows.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// What a case may give.
    pub given: &'static [&'static str],
    /// What it may expect.
    pub expected: &'static [&'static str],
}

/// What a check answers with: sections by name.
pub type Sections = Vec<(&'static str, String)>;

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    format: Format,
    /// Everything before the first section.
    head: String,
    sections: Vec<Section>,
}

#[derive(Clone, Debug)]
struct Section {
    name: String,
    text: String,
    /// The number of the line above the text.
    line: usize,
}

/// Runs `check` on every case in `folder`, as the `main` of a test.
pub fn run_cases(
    folder: impl AsRef<Path>,
    format: Format,
    check: impl Fn(&Case) -> Result<Sections, Failed> + Send + Sync + 'static,
) -> ExitCode {
    let folder = folder.as_ref();
    let check = Arc::new(check);
    let trials = match trials_of(folder) {
        Ok(files) => files.into_iter().map(|(name, file)| {
            let check = Arc::clone(&check);
            Trial::test(name, move || run(&file, format, &*check))
        }),
        Err(problem) => {
            let name = folder.display().to_string();
            let failure = Trial::test(name, move || Err(Failed::from(problem)));
            return libtest_mimic::run(&Arguments::from_args(), vec![failure]).exit_code();
        }
    };
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    ///
    /// It does not begin with a sentence, or has a section twice or one that `format` lacks.
    pub fn parse(text: &str, format: Format) -> Result<Self, String> {
        let mut case = Self { format, head: String::new(), sections: Vec::new() };
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let Some(name) = header(line) else {
                let text = case.sections.last_mut().map_or(&mut case.head, |last| &mut last.text);
                text.push_str(line);
                continue;
            };
            let Format { given, expected } = format;
            if !given.iter().chain(expected).any(|known| *known == name) {
                let known: Vec<&str> = given.iter().chain(expected).copied().collect();
                return Err(format!(
                    "line {}: unknown section `{name}`; known are: {}",
                    index + 1,
                    known.join(", ")
                ));
            }
            if case.has(name) {
                return Err(format!("line {}: there is another section `{name}`", index + 1));
            }
            let (name, text) = (name.to_owned(), String::new());
            case.sections.push(Section { name, text, line: index + 1 });
        }
        if case.about().is_empty() {
            return Err("line 1: a sentence that says what the case shows is missing".to_owned());
        }
        Ok(case)
    }

    /// What the case shows.
    pub fn about(&self) -> &str {
        self.head.trim()
    }

    /// Whether there is such a section.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The text of a section, if it is there.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.find(name).map(|section| &*section.text)
    }

    /// The text of a section.
    ///
    /// # Errors
    ///
    /// There is no such section.
    pub fn section(&self, name: &str) -> Result<&str, Failed> {
        self.get(name).ok_or_else(|| format!("there is no section `{name}`").into())
    }

    /// The cluster in the sections `cluster` (lines, see [`crate::fixture`]), `cluster.yaml` and
    /// `cluster.json` (objects as Kubernetes writes them), all those that are there together.
    ///
    /// # Errors
    ///
    /// There is none of them, or one cannot be read.
    pub fn cluster(&self) -> Result<Cluster, Failed> {
        type Reader = fn(&str) -> Result<Cluster, Faults>;
        let mut cluster: Option<Cluster> = None;
        let readers: [(&str, Reader); 3] = [
            ("cluster", Cluster::parse),
            ("cluster.yaml", Cluster::from_yaml),
            ("cluster.json", Cluster::from_json),
        ];
        for (name, read) in readers {
            let Some(section) = self.find(name) else { continue };
            let more = read(&section.text).map_err(|faults| faults.moved(section.line))?;
            cluster = Some(match cluster {
                Some(cluster) => cluster.with(more),
                None => more,
            });
        }
        cluster.ok_or_else(|| "there is no section `cluster`".into())
    }

    fn find(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    fn expects(&self, name: &str) -> bool {
        self.format.expected.contains(&name)
    }

    /// What differs between the case and the answer of a check.
    fn compare(&self, actual: &[(&str, String)]) -> Result<(), String> {
        let mut wrong = String::new();
        for (name, text) in actual {
            match self.get(name) {
                Some(expected) if expected == text => {}
                Some(expected) => {
                    wrong += &format!("section `{name}` is not as expected:\n");
                    wrong += &diff(expected, text);
                }
                None => wrong += &format!("there is no section `{name}`, which should be\n{text}"),
            }
        }
        let answered = |name: &str| actual.iter().any(|(known, _)| *known == name);
        for Section { name, text, .. } in &self.sections {
            if self.expects(name) && !answered(name) {
                wrong += &format!("section `{name}` is expected, and there is none:\n{text}");
            }
        }
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(format!("{wrong}({UPDATE}=1 accepts what is so now)")),
        }
    }

    /// The text of the case with the answer of a check in place of what was expected.
    fn rewrite(&self, actual: &[(&str, String)]) -> String {
        let mut out = self.head.clone();
        let mut section = |name: &str, text: &str| {
            if !out.ends_with('\n') {
                out.push('\n');
            }
            out += &format!("-- {name} --\n{text}");
        };
        for Section { name, text, .. } in &self.sections {
            if !self.expects(name) {
                section(name, text);
            } else if let Some((_, text)) = actual.iter().find(|(known, _)| known == name) {
                section(name, text);
            }
        }
        for (name, text) in actual.iter().filter(|(name, _)| !self.has(name)) {
            section(name, text);
        }
        out
    }
}

/// The name in a line that begins a section.
fn header(line: &str) -> Option<&str> {
    let name = line.trim_end_matches('\n').strip_prefix("-- ")?.strip_suffix(" --")?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-_".contains(c);
    (!name.is_empty() && name.chars().all(is_plain)).then_some(name)
}

/// Checks one file, or writes to it.
fn run(
    file: &Path,
    format: Format,
    check: &dyn Fn(&Case) -> Result<Sections, Failed>,
) -> Result<(), Failed> {
    let text = fs::read_to_string(file)?;
    let case = Case::parse(&text, format)?;
    let actual = settle(format, check(&case)?)?;
    if std::env::var_os(UPDATE).is_none() {
        return Ok(case.compare(&actual)?);
    }
    let now = case.rewrite(&actual);
    if now != text {
        fs::write(file, now)?;
    }
    Ok(())
}

/// The answer of a check without what is empty, each text ended by a line break.
fn settle(format: Format, mut actual: Sections) -> Result<Sections, String> {
    actual.retain(|(_, text)| !text.is_empty());
    if actual.is_empty() {
        return Err("the check answers with nothing, so the case shows nothing".to_owned());
    }
    for (name, text) in &mut actual {
        if !format.expected.contains(name) {
            return Err(format!("the check answers with `{name}`, which no case may expect"));
        }
        if let Some(line) = text.lines().find(|line| header(line).is_some()) {
            return Err(format!("section `{name}` cannot hold the line `{line}`"));
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    Ok(actual)
}

/// All cases in a folder and its folders, by name. A file that is none is an error, since nobody
/// would notice that it is never run.
fn trials_of(folder: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        let context = |error: std::io::Error| format!("cannot read {}: {error}", inner.display());
        for entry in fs::read_dir(&inner).map_err(context)? {
            let path = entry.map_err(context)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == ENDING) {
                let name = path.strip_prefix(folder).unwrap_or(&path).with_extension("");
                found.push((name.to_string_lossy().replace('\\', "/"), path));
            } else if path.file_name().is_none_or(|name| name != README) {
                return Err(format!("{} does not end in .{ENDING}", path.display()));
            }
        }
    }
    if found.is_empty() {
        return Err(format!("{} holds no file that ends in .{ENDING}", folder.display()));
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests;
