//! A control plane, as `controlplane/start` makes it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::cluster::Cluster;

/// What kind of plane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    /// Nodes, called `node-0` and so on; each has 4 cores, 8 GiB and room for 110 pods.
    pub(crate) nodes: usize,
    /// Zones that the nodes take turns in, `z0` and so on; 0 stands for one.
    pub(crate) zones: usize,
    /// What else is said to `start`.
    pub(crate) flags: Vec<String>,
}

impl Shape {
    /// So many nodes in one zone.
    pub(crate) fn nodes(nodes: usize) -> Self {
        Self { nodes, ..Self::default() }
    }

    /// In so many zones.
    pub(crate) fn zones(self, zones: usize) -> Self {
        Self { zones, ..self }
    }

    /// With one more flag for `start`.
    pub(crate) fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }
}

/// A running control plane, which ends when this is dropped, or when we do.
pub(crate) struct Plane {
    folder: PathBuf,
    bin: PathBuf,
    child: Child,
    /// Whoever starts a plane in the foreground ends it by closing this.
    stdin: Option<ChildStdin>,
    cluster: Cluster,
}

impl Plane {
    /// Starts one and waits until its nodes are ready.
    pub(crate) fn start(bin: &Path, folder: PathBuf, shape: &Shape) -> Result<Self> {
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        let Shape { nodes, zones, flags } = shape;
        let said = folder.join("start.log");
        let log = File::create(&said).with_context(|| format!("write {}", said.display()))?;
        let mut child = launcher(bin)
            .args(["up", "--foreground", "--keep", "--dir"])
            .arg(&folder)
            .args(["--nodes", &nodes.to_string(), "--zones", &zones.max(&1).to_string()])
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("start python3")?;
        let stdin = child.stdin.take();
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            // `start` gives up by itself when something is not ready in time.
            BufReader::new(stdout).read_line(&mut line).context("read what `start` prints")?;
        }
        if line.trim().is_empty() {
            let status = child.wait().context("wait for `start`")?;
            let said = fs::read_to_string(&said).unwrap_or_default();
            bail!("the control plane did not start ({status}): {said}");
        }
        let cluster = Cluster::of(Path::new(line.trim()))?;
        Ok(Self { folder, bin: bin.to_owned(), child, stdin, cluster })
    }

    /// Its API server, as an administrator sees it.
    pub(crate) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// The folder with all its state.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The address of an API server.
    pub(crate) fn address(&self, server: &str) -> Result<String> {
        let port = &self.state()?["ports"][server];
        ensure!(port.is_u64(), "`{server}` has no port");
        Ok(format!("127.0.0.1:{port}"))
    }

    /// Sends a signal, such as `KILL`, to one of its processes.
    pub(crate) fn kill(&self, process: &str, signal: &str) -> Result<()> {
        self.manage(&["kill", process, signal])
    }

    /// Starts a process that was killed again, with further flags, and waits for an API server to
    /// be ready.
    pub(crate) fn restart(&self, process: &str, flags: &[&str]) -> Result<()> {
        let mut state = self.state()?;
        let arguments = state["processes"][process]["argv"].as_array_mut();
        arguments.context("an unknown process")?.extend(flags.iter().map(|&flag| flag.into()));
        let path = self.folder.join("state.json");
        fs::write(&path, state.to_string()).with_context(|| path.display().to_string())?;
        self.manage(&["restart", process])
    }

    /// Runs kubectl and returns what it prints.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        self.tool("kubectl", arguments)
    }

    /// Runs helm and returns what it prints.
    pub(crate) fn helm(&self, arguments: &[&str]) -> Result<String> {
        self.tool("helm", arguments)
    }

    fn tool(&self, name: &str, arguments: &[&str]) -> Result<String> {
        let output = Command::new(self.bin.join(name))
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("start {name}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{name} {}: {said}", arguments.join(" "));
        String::from_utf8(output.stdout).with_context(|| format!("{name} prints what is no text"))
    }

    fn state(&self) -> Result<Value> {
        let path = self.folder.join("state.json");
        let text = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("read {}", path.display()))
    }

    fn manage(&self, arguments: &[&str]) -> Result<()> {
        let [command, rest @ ..] = arguments else { bail!("nothing to do") };
        let output = launcher(&self.bin)
            .arg(command)
            .arg(&self.folder)
            .args(rest)
            .stdin(Stdio::null())
            .output()
            .context("start python3")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "start {}: {said}", arguments.join(" "));
        Ok(())
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // It ends whatever it has started; nothing is left to be done if it fails.
        let _ = self.child.wait();
    }
}

/// `controlplane/start`, with programs that are built already.
fn launcher(bin: &Path) -> Command {
    let mut command = Command::new("python3");
    command
        .arg("-B")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("controlplane/start"))
        .env("E2E_BIN", bin);
    command
}
