//! What the two harnesses share: running the program and reading what it prints.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use libtest_mimic::Failed;

/// How long one run may take before it counts as hanging.
const LIMIT: Duration = Duration::from_secs(20);

/// The folder beside the harness.
pub(crate) fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder)
}

/// The folders in `folder` by name.
pub(crate) fn folders(folder: &Path) -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of the cases can be read");
    let paths = entries.map(|entry| entry.expect("its entries can be read").path());
    let folders = paths.filter(|path| path.is_dir());
    folders
        .map(|path| {
            let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
            (name, path)
        })
        .collect()
}

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) exit: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the program in `folder`. A hang, a panic or a signal is always a failure.
pub(crate) fn run(folder: &Path, arguments: &[String]) -> Result<Run, Failed> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_descheduler"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (done, ended) = mpsc::channel();
    let stdout = child.stdout.take().expect("it is piped");
    let stderr = child.stderr.take().expect("it is piped");
    let stdout = thread::spawn(move || {
        let text = read(stdout);
        // Nobody listens any more when the time is over.
        let _ = done.send(());
        text
    });
    let stderr = thread::spawn(move || read(stderr));
    // Its end of the pipe closes when it ends.
    if ended.recv_timeout(LIMIT).is_err() {
        child.kill()?;
        return Err(format!("no answer in {} s", LIMIT.as_secs()).into());
    }
    let status = child.wait()?;
    let stdout = stdout.join().expect("reading does not panic");
    let stderr = stderr.join().expect("reading does not panic");
    if let Some(line) = stderr.lines().find(|line| line.contains("panicked at")) {
        return Err(format!("panic: {line}").into());
    }
    let exit = status.code().ok_or("killed by a signal")?;
    Ok(Run { exit, stdout, stderr })
}

fn read(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).expect("the pipe can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The evictions of a plan in JSON, as `namespace/name`, in their order.
pub(crate) fn evictions(plan: &serde_json::Value) -> Result<Vec<String>, Failed> {
    let list = plan["evictions"].as_array().ok_or("the plan has no list of evictions")?;
    let names = list.iter().map(|eviction| {
        let part = |key: &str| eviction[key].as_str().ok_or(format!("an eviction has no {key}"));
        Ok(format!("{}/{}", part("namespace")?, part("name")?))
    });
    names.collect()
}
