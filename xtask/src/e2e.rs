//! `cargo xtask e2e`: scenarios on a real control plane (`e2e/`).
//!
//! The control plane is built by Go from the modules that `e2e/controlplane/go.mod` names; that
//! takes some ten minutes the first time. What comes of it lies in `$E2E_CACHE`, or else in the
//! user's cache folder, so that a fresh clone finds it again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::report;

/// Where the control plane is described.
const CONTROL_PLANE: &str = "e2e/controlplane";

/// Which scenarios are played.
#[derive(Args)]
pub(crate) struct Options {
    /// Only scenarios with this in their name, for example `12-`.
    filter: Option<String>,
    /// Only say which scenarios there are.
    #[arg(long)]
    list: bool,
    /// Keep the state of scenarios that pass, too.
    #[arg(long)]
    keep: bool,
    /// Takes the release build of the descheduler.
    #[arg(long)]
    release: bool,
}

impl Options {
    /// All of them, as the tests do.
    pub(crate) fn all() -> Self {
        Self { filter: None, list: false, keep: false, release: false }
    }
}

/// Builds what is needed and plays the scenarios.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let plane = ControlPlane::begin(root)?;
    // The profile of the tests: what they have compiled serves here, too.
    let profile = if options.release { "release" } else { "test" };
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--profile", profile])
        .args(["--package", "descheduler", "--package", "descheduler-e2e"])
        .status()
        .context("start cargo")?;
    ensure!(status.success(), "the build failed");
    plane.play(options)
}

/// A build of the control plane that goes on in the background. When nobody waits for it, what it
/// builds is there the next time.
pub(crate) struct ControlPlane {
    build: Child,
    target: PathBuf,
    log: PathBuf,
}

impl ControlPlane {
    /// Begins to build it, which is soon done where it has been built before; `Err` with the
    /// reason if it cannot be built here.
    pub(crate) fn begin(root: &Path) -> Result<Self> {
        let has = |program: &str, flag: &str| {
            let probe = Command::new(program).arg(flag).stdout(Stdio::null()).status();
            probe.is_ok_and(|status| status.success())
        };
        ensure!(has("go", "version"), "go 1.26 or later is missing");
        ensure!(has("python3", "--version"), "python3 is missing");
        ensure!(has("openssl", "version"), "openssl is missing");
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
        let folder = target.join("e2e");
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let log = folder.join("build.log");
        let said = File::create(&log).with_context(|| log.display().to_string())?;
        let build = Command::new("python3")
            .current_dir(root.join(CONTROL_PLANE))
            .args(["-B", "start", "build", "helm"])
            .env("GOTOOLCHAIN", "local")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(said)
            .spawn()
            .context("start python3")?;
        Ok(Self { build, target, log })
    }

    /// Waits for the build and plays. Our side of it is there: `cargo test --workspace` builds the
    /// programs, too.
    pub(crate) fn play(self, options: &Options) -> Result<()> {
        let Options { filter, list, keep, release } = options;
        let Self { build, target, log } = self;
        let begun = Instant::now();
        let built = build.wait_with_output().context("wait for the control plane's build")?;
        let said = || fs::read_to_string(&log).unwrap_or_default();
        ensure!(built.status.success(), "the control plane cannot be built: {}", said());
        let bin = PathBuf::from(String::from_utf8_lossy(&built.stdout).trim());
        let waited = begun.elapsed().as_secs_f64();
        report(&format!("{}; waited {waited:.1} s for the build", versions(&bin)?));
        let programs = target.join(if *release { "release" } else { "debug" });
        let mut play = Command::new(programs.join("descheduler-e2e"));
        play.arg("--descheduler").arg(programs.join("descheduler"));
        play.arg("--bin").arg(&bin).arg("--state").arg(target.join("e2e"));
        play.args(filter).args(list.then_some("--list")).args(keep.then_some("--keep"));
        let status = play.status().context("start the scenarios")?;
        ensure!(status.success(), "not every scenario passed");
        Ok(())
    }
}

/// What the control plane consists of, as its programs say.
fn versions(bin: &Path) -> Result<String> {
    let mut said = Vec::new();
    for program in ["kube-apiserver", "kube-scheduler", "etcd", "kwok"] {
        let output = Command::new(bin.join(program)).arg("--version").output();
        let output = output.with_context(|| format!("start {program}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let first = text.lines().next().unwrap_or_default();
        let version = first.split_whitespace().last().unwrap_or("of no version").to_owned();
        said.push(format!("{program} {version}"));
    }
    Ok(said.join(", "))
}
