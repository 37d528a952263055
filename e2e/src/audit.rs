//! What was asked of the API servers, in their own words: the audit log.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::plane::Plane;

/// How requests of the program under test begin their user agent.
const OURS: &str = "descheduler/";

/// A request that would change something, or did.
#[derive(Clone, Debug)]
pub(crate) struct Entry(Value);

impl Entry {
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

    /// When the request came.
    pub(crate) fn at(&self) -> &str {
        self.0["requestReceivedTimestamp"].as_str().unwrap_or_default()
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

/// All evictions, whoever asked for them, in order, whatever the answer.
pub(crate) fn evictions(plane: &Plane) -> Result<Vec<Entry>> {
    let mut entries = all(plane)?;
    entries.retain(Entry::is_eviction);
    Ok(entries)
}

/// Fails when the program under test wrote anything but its lease.
pub(crate) fn nothing_written(plane: &Plane) -> Result<()> {
    let written: Vec<String> =
        ours(plane)?.iter().filter(|entry| !entry.is_lease()).map(Entry::what).collect();
    ensure!(written.is_empty(), "the program wrote: {written:?}");
    Ok(())
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
