//! The program under test, run as anybody would.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::cluster::PATIENCE;
use crate::scene::Scene;

/// What one run came to.
#[derive(Debug)]
pub(crate) struct Output {
    /// The exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    /// What it printed, as JSON, if it ended well.
    pub(crate) fn json(&self) -> Result<Value> {
        ensure!(self.code == Some(0), "exit {:?}: {}", self.code, self.stderr);
        serde_json::from_str(&self.stdout).context("what the program prints is no JSON")
    }

    /// Fails unless it ended with this code and said all of these.
    pub(crate) fn expect(&self, code: i32, said: &[&str]) -> Result<()> {
        let Self { code: found, stderr, .. } = self;
        ensure!(*found == Some(code), "exit {found:?}, expected {code}: {stderr}");
        for words in said {
            ensure!(stderr.contains(words), "`{words}` is not said: {stderr}");
        }
        Ok(())
    }
}

/// Arguments, of which some are paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arguments(Vec<OsString>);

impl Arguments {
    /// Words, separated by spaces.
    pub(crate) fn of(words: &str) -> Self {
        Self(words.split_whitespace().map(OsString::from).collect())
    }

    /// With an option that takes a path.
    pub(crate) fn path(mut self, option: &str, path: &Path) -> Self {
        self.0.extend([option.into(), path.into()]);
        self
    }

    /// With further words.
    pub(crate) fn and(mut self, words: &str) -> Self {
        self.0.extend(words.split_whitespace().map(OsString::from));
        self
    }
}

impl Scene<'_> {
    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: Arguments) -> Result<Output> {
        self.start(arguments)?.wait()
    }

    /// Starts the program.
    pub(crate) fn start(&self, arguments: Arguments) -> Result<Running> {
        let mut command = Command::new(&self.tools.descheduler);
        command.args(&arguments.0);
        // What would lead it elsewhere.
        for name in ["KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "https_proxy"] {
            command.env_remove(name);
        }
        Running::spawn(command, self.run_folder()?)
    }

    /// The plan for a cluster, in JSON.
    pub(crate) fn plan(&self, kubeconfig: &Path, policy: &Path, more: &str) -> Result<Value> {
        let arguments = Arguments::of("plan -o json")
            .path("--kubeconfig", kubeconfig)
            .path("--policy", policy)
            .and(more);
        self.run(arguments)?.json()
    }
}

/// A run that goes on. It is killed when this is dropped.
pub(crate) struct Running {
    pid: u32,
    ended: Receiver<std::io::Result<ExitStatus>>,
    folder: PathBuf,
    is_over: bool,
}

impl Running {
    fn spawn(mut command: Command, folder: PathBuf) -> Result<Self> {
        let file = |name: &str| {
            let path = folder.join(name);
            File::create(&path).with_context(|| path.display().to_string())
        };
        let child = command
            .stdin(Stdio::null())
            .stdout(file("stdout")?)
            .stderr(file("stderr")?)
            .spawn()
            .with_context(|| format!("start {}", command.get_program().display()))?;
        let (pid, ended) = (child.id(), wait_for(child));
        Ok(Self { pid, ended, folder, is_over: false })
    }

    /// Waits for its end.
    pub(crate) fn wait(self) -> Result<Output> {
        self.wait_within(4 * PATIENCE)
    }

    /// Waits for its end, which has to come within so long.
    pub(crate) fn wait_within(mut self, patience: Duration) -> Result<Output> {
        let Ok(status) = self.ended.recv_timeout(patience) else {
            let said = self.said();
            bail!("the program does not end within {} s: {said}", patience.as_secs());
        };
        self.is_over = true;
        let code = status.context("wait for the program")?.code();
        let read = |name: &str| {
            let bytes = fs::read(self.folder.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Ok(Output { code, stdout: read("stdout"), stderr: read("stderr") })
    }

    /// What it said so far on standard error.
    pub(crate) fn said(&self) -> String {
        let bytes = fs::read(self.folder.join("stderr")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until what it has said so far is as wanted. No watch tells of lines in a file.
    pub(crate) fn wait_until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        while !wanted(&self.said()) {
            ensure!(Instant::now() < end, "waited for {what} in vain: {}", self.said());
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Sends it a signal, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) -> Result<()> {
        let status = Command::new("sh")
            .args(["-c", "kill -s \"$1\" \"$2\"", "sh", name, &self.pid.to_string()])
            .status()
            .context("start sh")?;
        ensure!(status.success(), "the program is gone already: {}", self.said());
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_over {
            // It may have ended just now.
            let _ = self.signal("KILL");
            let _ = self.ended.recv_timeout(PATIENCE);
        }
    }
}

fn wait_for(mut child: Child) -> Receiver<std::io::Result<ExitStatus>> {
    let (tell, ended) = mpsc::channel();
    // Nobody listens any more when the scenario has failed.
    thread::spawn(move || tell.send(child.wait()));
    ended
}
