//! `cargo xtask oracle`: our model of kube-scheduler against its real plugins, on random cases or
//! on those of a file.
//!
//! The plugins run in a Go program, `e2e/scheduler-oracle/`, which also makes the cases. What is
//! built and written lies in `scheduler-oracle/` in the target folder; Go's own cache is the
//! user's.

mod compare;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::report;
use compare::{Difference, Tally};

/// Where the Go program lies.
const SOURCES: &str = "e2e/scheduler-oracle";
/// The versions that it can be built for.
const VERSIONS: [&str; 4] = ["1.34", "1.35", "1.36", "1.37"];
/// The one that is compared with, unless another is asked for.
const VERSION: &str = "1.36";
/// What makes random cases, each an equal share.
const GENERATORS: [&str; 2] = ["gen_cases.py", "rare_cases.py"];
/// Cases for each seed, unless `--cases` says otherwise. The tests take as many.
const CASES: usize = 2000;
/// So many differences are shown for each version and seed.
const SHOWN: usize = 5;
/// So often kube-scheduler is asked again about a case where it says something else than the model:
/// some of its answers depend on the order of a Go map.
const RETRIES: usize = 10;

/// What is compared.
#[derive(Args)]
pub(crate) struct Options {
    /// Random cases for each seed. The tests take as many as the default.
    #[arg(long, default_value_t = CASES)]
    cases: usize,
    /// Seeds of the random cases [default: one from the clock].
    #[arg(long, value_delimiter = ',')]
    seeds: Vec<u64>,
    /// Cases that are there already, in place of random ones.
    #[arg(long, conflicts_with = "seeds")]
    file: Option<PathBuf>,
    /// Versions of kube-scheduler.
    #[arg(long, value_delimiter = ',', value_parser = VERSIONS, default_value = VERSION)]
    versions: Vec<String>,
    /// Takes the release build of the descheduler.
    #[arg(long)]
    release: bool,
    /// Takes the program as it is there.
    #[arg(skip)]
    is_built: bool,
}

/// Compares as asked.
pub(crate) fn run(root: &Path, mut options: Options) -> Result<()> {
    if options.seeds.is_empty() {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        options.seeds.push(now.map_or(1, |now| now.as_secs()));
    }
    let tools = Tools::find(root, &options.versions)?;
    compare(&tools, &options)
}

/// A share of it that is always the same and takes seconds, once Go has built; `Err` with the
/// reason if it cannot be had here.
pub(crate) fn share(root: &Path) -> Result<impl FnOnce() -> Result<()>> {
    let versions = vec![VERSION.to_owned()];
    let seeds = vec![1];
    // By `cargo test --workspace`, which has just been run.
    let is_built = true;
    let options = Options { cases: CASES, seeds, file: None, versions, release: false, is_built };
    let tools = Tools::find(root, &options.versions)?;
    Ok(move || compare(&tools, &options))
}

/// What it takes, and where it goes.
struct Tools {
    sources: PathBuf,
    target: PathBuf,
    folder: PathBuf,
}

impl Tools {
    /// Makes sure that Python, Go and the sources of kube-scheduler are there.
    fn find(root: &Path, versions: &[String]) -> Result<Self> {
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
        let folder = target.join("scheduler-oracle");
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let tools = Self { sources: root.join(SOURCES), target, folder };
        let recent = "import sys; sys.exit(0 if sys.version_info >= (3, 11) else sys.version)";
        quiet(Command::new("python3").args(["-c", recent]))
            .context("python3 3.11 or later is missing")?;
        quiet(go().arg("version")).context("go 1.26 or later is missing")?;
        for version in versions {
            // Downloads what is not there yet, and builds nothing.
            report(&format!("kube-scheduler {version}: looking for its sources"));
            let module = match version.as_str() {
                "1.36" => "go.mod".to_owned(),
                version => format!("mods/{version}.mod"),
            };
            let tag = format!("k{}", version.replace('.', "_"));
            let mut list = go();
            list.current_dir(&tools.sources).args(["list", "-deps", "-modfile"]);
            quiet(list.args([&module, "-tags", &tag, "."])).with_context(|| {
                format!("go cannot use the sources of kube-scheduler {version}")
            })?;
        }
        Ok(tools)
    }

    /// Builds the Go program for one version, unless it is newer than all of its sources.
    fn build(&self, version: &str) -> Result<PathBuf> {
        let binary = self.folder.join(format!("oracle-{version}"));
        if let Some(built) = modified(&binary)
            && newest(&self.sources)? < built
        {
            return Ok(binary);
        }
        report(&format!("kube-scheduler {version}: building, which takes minutes the first time"));
        let mut script = Command::new("bash");
        script.current_dir(&self.sources).args(["versions.sh", version]);
        script.env("GOTOOLCHAIN", "local").env("OUT", &self.folder);
        let begun = Instant::now();
        quiet(&mut script).context("build e2e/scheduler-oracle")?;
        let took = begun.elapsed().as_secs_f64();
        report(&format!("kube-scheduler {version}: built in {took:.1} s"));
        Ok(binary)
    }

    /// Makes cases and writes them to a file.
    fn cases(&self, version: &str, seed: u64, count: usize) -> Result<PathBuf> {
        let mut cases = Vec::new();
        for (at, generator) in GENERATORS.iter().enumerate() {
            let share = (count + at) / GENERATORS.len();
            let mut make = Command::new("python3");
            make.current_dir(&self.sources).arg("-B").arg(generator);
            make.args(["--seed", &seed.to_string(), "--count", &share.to_string()]);
            cases.extend(quiet(make.args(["--version", version])).context("make cases")?.stdout);
        }
        let path = self.folder.join(format!("cases-{version}-{seed}.jsonl"));
        fs::write(&path, cases).with_context(|| path.display().to_string())?;
        Ok(path)
    }
}

/// When a file was last written, if it is there.
fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}

/// When the last of the files in a folder and its folders was written.
fn newest(folder: &Path) -> Result<SystemTime> {
    let mut last = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry.with_context(|| folder.display().to_string())?.path();
        let one = if path.is_dir() { Some(newest(&path)?) } else { modified(&path) };
        last = last.max(one.unwrap_or(last));
    }
    Ok(last)
}

/// Go with the toolchain that is there: no other is fetched.
fn go() -> Command {
    let mut go = Command::new(std::env::var_os("GO").unwrap_or_else(|| "go".into()));
    go.env("GOTOOLCHAIN", "local");
    go
}

/// Runs a program and returns what it prints; if it fails, its last words are the error.
fn quiet(command: &mut Command) -> Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("start {name}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = said.lines().rev().take(3).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    ensure!(output.status.success(), "{name} ended with {}: {}", output.status, last.join("; "));
    Ok(output)
}

fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
}

fn compare(tools: &Tools, options: &Options) -> Result<()> {
    let Options { cases, seeds, file, versions, release, is_built } = options;
    let model = model(&tools.target, *release, *is_built)?;
    let mut differ = 0;
    for version in versions {
        let oracle = tools.build(version)?;
        if let Some(path) = file {
            report(&format!("kube-scheduler {version}: {}", path.display()));
            differ += compare_file(tools, version, [&oracle, &model], path)?;
            continue;
        }
        for seed in seeds {
            report(&format!("kube-scheduler {version}, seed {seed}: {cases} cases"));
            let path = tools.cases(version, *seed, *cases)?;
            differ += compare_file(tools, version, [&oracle, &model], &path)?;
        }
    }
    ensure!(differ == 0, "the model and kube-scheduler differ on {differ} cases");
    Ok(())
}

/// Compares the two programs on the cases of a file, and returns on how many they differ.
fn compare_file(
    tools: &Tools,
    version: &str,
    [oracle, model]: [&Path; 2],
    path: &Path,
) -> Result<usize> {
    let texts = lines(&fs::read(path).with_context(|| path.display().to_string())?);
    let oracle = |path: &Path| ask_oracle(oracle, path);
    let tally = Tally::of(&texts, &oracle(path)?, &ask_model(model, path, version)?)?;
    let left = again(tools, &tally, &texts, oracle)?;
    show(tools, version, &left, &texts)?;
    let Tally { same, refused, differences } = &tally;
    let undetermined = differences.len() - left.len();
    report(&format!(
        "{same} agree, {} differ, {undetermined} are not determined, {refused} cannot be judged",
        left.len(),
    ));
    Ok(left.len())
}

/// The program with the model, which is built unless it is there.
fn model(target: &Path, release: bool, is_built: bool) -> Result<PathBuf> {
    let folder = if release { "release" } else { "debug" };
    let binary = target.join(folder).join("descheduler");
    if is_built {
        return Ok(binary);
    }
    // That of the tests: what they have compiled serves here, too.
    let profile = if release { "release" } else { "test" };
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "descheduler", "--profile", profile])
        .status()
        .context("start cargo")?;
    ensure!(status.success(), "the build failed");
    Ok(binary)
}

/// What kube-scheduler says, a line for each case. It fails in the end if it refused one.
fn ask_oracle(binary: &Path, cases: &Path) -> Result<Vec<String>> {
    let output = Command::new(binary)
        .arg("--keep-going")
        .arg(cases)
        .stderr(Stdio::null())
        .output()
        .context("start the oracle")?;
    Ok(lines(&output.stdout))
}

fn ask_model(binary: &Path, cases: &Path, version: &str) -> Result<Vec<String>> {
    let mut place = Command::new(binary);
    place.args(["place", "-o", "json", "--scheduler-version", version, "--cases"]).arg(cases);
    quiet(&mut place).map(|output| lines(&output.stdout)).context("ask the model")
}

/// The differences that stay when kube-scheduler is asked again.
fn again<'t>(
    tools: &Tools,
    tally: &'t Tally,
    texts: &[String],
    oracle: impl Fn(&Path) -> Result<Vec<String>>,
) -> Result<Vec<&'t Difference>> {
    let mut left: Vec<&Difference> = tally.differences.iter().collect();
    let path = tools.folder.join("again.jsonl");
    for _ in 0..RETRIES {
        if left.is_empty() {
            break;
        }
        let some: String = left.iter().map(|one| format!("{}\n", texts[one.case])).collect();
        fs::write(&path, some).with_context(|| path.display().to_string())?;
        let answers = oracle(&path)?;
        ensure!(answers.len() == left.len(), "the oracle does not answer again");
        let mut kept = Vec::new();
        for (difference, answer) in left.into_iter().zip(&answers) {
            if !difference.ends_with(answer)? {
                kept.push(difference);
            }
        }
        left = kept;
    }
    Ok(left)
}

/// Prints the first differences, and writes all cases that differ to files of their own.
fn show(tools: &Tools, version: &str, left: &[&Difference], texts: &[String]) -> Result<()> {
    for (at, difference) in left.iter().enumerate() {
        let Difference { case, id, title, .. } = difference;
        let path = tools.folder.join(format!("differs-{version}-{id}.jsonl"));
        fs::write(&path, &texts[*case]).with_context(|| path.display().to_string())?;
        if at < SHOWN {
            report(&format!("{id}  {title}"));
            difference.lines().iter().for_each(|line| report(&format!("    {line}")));
            let path = path.display();
            report(&format!("    again: cargo xtask oracle --versions {version} --file {path}"));
        }
    }
    Ok(())
}
