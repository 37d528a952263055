//! What a captured cluster says of itself, in one object of the kind `Capture` among the others.
//!
//! A plan of a capture is to be the plan of the cluster that it was taken of, and the objects alone
//! do not tell all that it depends on: the moment and the version.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What the `kind` of the object is.
pub const KIND: &str = "Capture";
/// What its `apiVersion` is.
pub const API_VERSION: &str = "descheduler/capture/v1";

/// How a capture came to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capture {
    /// [`API_VERSION`].
    pub api_version: String,
    /// [`KIND`].
    pub kind: String,
    /// The moment that ages are counted from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_at: Option<Timestamp>,
    /// The version of the API server, as `v1.36.3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
    /// Whether names stand for others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// What might not be read, and what follows from that, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl Default for Capture {
    fn default() -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            taken_at: None,
            server_version: None,
            redacted: false,
            missing: Vec::new(),
        }
    }
}

impl Capture {
    /// What this and another one of the same cluster say together.
    pub(crate) fn join(&mut self, other: Self) {
        let Self { api_version: _, kind: _, taken_at, server_version, redacted, missing } = other;
        self.taken_at = self.taken_at.max(taken_at);
        self.server_version = self.server_version.take().max(server_version);
        self.redacted |= redacted;
        self.missing.extend(missing);
        self.missing.sort_unstable();
        self.missing.dedup();
    }
}
