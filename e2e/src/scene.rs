//! What a scenario works with: its folder, its planes, and the program under test.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::plane::{Plane, Shape};

/// A scenario succeeds or says why not.
pub(crate) type Scenario = fn(&Scene) -> Result<()>;

/// What is the same for all scenarios.
pub(crate) struct Tools {
    /// The program under test.
    pub(crate) descheduler: PathBuf,
    /// The folder with etcd, kube-apiserver, kubectl and the others.
    pub(crate) bin: PathBuf,
    /// Each scenario gets a folder in it.
    pub(crate) state: PathBuf,
    /// Whether the folders of scenarios that pass are kept.
    pub(crate) keep: bool,
}

/// One scenario at work.
pub(crate) struct Scene<'t> {
    pub(crate) tools: &'t Tools,
    folder: PathBuf,
    planes: Cell<usize>,
    runs: Cell<usize>,
    /// What was noticed and is worth a line even when all is well.
    figures: RefCell<Vec<String>>,
}

impl Scene<'_> {
    /// Plays a scenario. Its folder, with all logs, stays if it fails.
    pub(crate) fn play(tools: &Tools, name: &str, scenario: Scenario) -> Result<()> {
        let folder = tools.state.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("empty {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        let (planes, runs) = (Cell::new(0), Cell::new(0));
        let scene = Scene { tools, folder, planes, runs, figures: RefCell::default() };
        let outcome = scenario(&scene);
        let Scene { folder, figures, .. } = scene;
        for figure in figures.into_inner() {
            say(&format!("{name}: {figure}"));
        }
        outcome.with_context(|| format!("the logs are in {}", folder.display()))?;
        if !tools.keep {
            fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
        }
        Ok(())
    }

    /// Starts a control plane.
    pub(crate) fn plane(&self, shape: &Shape) -> Result<Plane> {
        let number = self.planes.replace(self.planes.get() + 1);
        Plane::start(&self.tools.bin, self.folder.join(format!("plane-{number}")), shape)
    }

    /// The folder for the next run of a program.
    pub(crate) fn run_folder(&self) -> Result<PathBuf> {
        let number = self.runs.replace(self.runs.get() + 1);
        let folder = self.folder.join(format!("run-{number}"));
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        Ok(folder)
    }

    /// Writes a file into the scenario's folder.
    pub(crate) fn file(&self, name: &str, text: &str) -> Result<PathBuf> {
        write(&self.folder, name, text)
    }

    /// Writes a file that no other has the name of.
    pub(crate) fn file_anew(&self, name: &str, text: &str) -> Result<PathBuf> {
        let number = self.runs.replace(self.runs.get() + 1);
        self.file(&format!("{name}-{number}"), text)
    }

    /// Has a figure printed when the scenario is over.
    pub(crate) fn figure(&self, text: impl Into<String>) {
        self.figures.borrow_mut().push(text.into());
    }
}

/// Writes a file.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    Ok(path)
}

#[expect(clippy::print_stdout, reason = "what a runner of tests says")]
fn say(line: &str) {
    println!("{line}");
}
