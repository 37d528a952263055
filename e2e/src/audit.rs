//! What was asked of the API servers, in their own words: the audit log.

use std::collections::BTreeMap;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::cluster::PATIENCE;
use crate::plane::Plane;

/// How requests of the program under test begin their user agent.
const OURS: &str = "descheduler/";

/// A request that would change something, or did.
#[derive(Clone, Debug)]
pub(crate) struct Entry(Value);

impl Entry {
    /// Who asked.
    pub(crate) fn user(&self) -> &str {
        self.0["user"]["username"].as_str().unwrap_or_default()
    }

    /// What was asked for: `create pods/eviction default/web-1`.
    pub(crate) fn what(&self) -> String {
        let of = &self.0["objectRef"];
        let text = |field: &str| of[field].as_str().unwrap_or_default();
        let slash = if text("subresource").is_empty() { "" } else { "/" };
        let verb = self.0["verb"].as_str().unwrap_or_default();
        format!(
            "{verb} {}{slash}{} {}/{}",
            text("resource"),
            text("subresource"),
            text("namespace"),
            text("name")
        )
    }

    /// `namespace/name` of the object concerned.
    pub(crate) fn object(&self) -> String {
        let text = |field: &str| self.0["objectRef"][field].as_str().unwrap_or_default();
        format!("{}/{}", text("namespace"), text("name"))
    }

    /// What the server answered with.
    pub(crate) fn code(&self) -> u64 {
        self.0["responseStatus"]["code"].as_u64().unwrap_or_default()
    }

    /// When the request came.
    pub(crate) fn at(&self) -> &str {
        self.0["requestReceivedTimestamp"].as_str().unwrap_or_default()
    }

    /// What was sent, for evictions.
    pub(crate) fn body(&self) -> &Value {
        &self.0["requestObject"]
    }

    /// The precondition of an eviction.
    pub(crate) fn uid(&self) -> &str {
        self.body()["deleteOptions"]["preconditions"]["uid"].as_str().unwrap_or_default()
    }

    /// Whether it is an eviction.
    pub(crate) fn is_eviction(&self) -> bool {
        self.0["objectRef"]["subresource"] == "eviction"
    }

    /// Whether it is about the lease of leaders.
    pub(crate) fn is_lease(&self) -> bool {
        self.0["objectRef"]["resource"] == "leases"
    }

    /// Whether the program under test sent it.
    pub(crate) fn is_ours(&self) -> bool {
        self.0["userAgent"].as_str().is_some_and(|agent| agent.starts_with(OURS))
    }
}

/// Everything that the program under test has asked to be changed, in order.
pub(crate) fn ours(plane: &Plane) -> Result<Vec<Entry>> {
    let mut entries = all(plane)?;
    entries.retain(Entry::is_ours);
    Ok(entries)
}

/// Its evictions, in order, whatever the answer.
pub(crate) fn evictions(plane: &Plane) -> Result<Vec<Entry>> {
    let mut entries = evictions_of_all(plane)?;
    entries.retain(Entry::is_ours);
    Ok(entries)
}

/// All evictions, whoever asked for them, in order, whatever the answer.
pub(crate) fn evictions_of_all(plane: &Plane) -> Result<Vec<Entry>> {
    let mut entries = all(plane)?;
    entries.retain(Entry::is_eviction);
    Ok(entries)
}

/// Waits until there are so many evictions of the program under test with a wanted answer. No watch
/// tells of lines in a file.
pub(crate) fn wait_for(plane: &Plane, count: usize, wanted: fn(u64) -> bool) -> Result<Vec<Entry>> {
    let end = Instant::now() + PATIENCE;
    loop {
        let entries = evictions(plane)?;
        if entries.iter().filter(|entry| wanted(entry.code())).count() >= count {
            return Ok(entries);
        }
        let seen: Vec<u64> = entries.iter().map(Entry::code).collect();
        ensure!(Instant::now() < end, "waited for {count} evictions; the answers were {seen:?}");
        sleep(Duration::from_millis(50));
    }
}

/// Fails when the program under test wrote anything but its lease.
pub(crate) fn nothing_written(plane: &Plane) -> Result<()> {
    let written: Vec<String> =
        ours(plane)?.iter().filter(|entry| !entry.is_lease()).map(Entry::what).collect();
    ensure!(written.is_empty(), "the program wrote: {written:?}");
    Ok(())
}

/// Fails when a pod, known by its uid, was evicted twice; returns how many were.
pub(crate) fn evicted_once(entries: &[Entry]) -> Result<usize> {
    let mut by_uid: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.code() == 201) {
        by_uid.entry(entry.uid()).or_default().push(entry);
    }
    for (uid, entries) in &by_uid {
        let what: Vec<String> =
            entries.iter().map(|entry| format!("{} {}", entry.at(), entry.what())).collect();
        ensure!(entries.len() == 1, "the pod with uid {uid} was evicted twice: {what:?}");
        ensure!(!uid.is_empty(), "an eviction without a uid: {what:?}");
    }
    Ok(by_uid.len())
}

/// The whole log of all API servers. A request of our own goes before it, so that what was
/// answered before has been written.
fn all(plane: &Plane) -> Result<Vec<Entry>> {
    let marker = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"generateName": "marker-"}});
    // The server may be down by intent: then nothing is being written either.
    let _ = plane.cluster().request("POST", "/api/v1/namespaces/default/configmaps", Some(&marker));
    let mut entries = Vec::new();
    for server in 0.. {
        let path = plane.folder().join(format!("logs/audit-{server}.jsonl"));
        if !path.exists() {
            break;
        }
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        // A server that was killed may have left half a line.
        entries.extend(text.lines().filter_map(|line| serde_json::from_str(line).ok().map(Entry)));
    }
    entries.sort_by(|a, b| a.at().cmp(b.at()));
    Ok(entries)
}
