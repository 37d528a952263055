//! All objects of a cluster once, one by one, as the API server writes them: for captures.

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::sleep;

use crate::api::{Api, CallError, chain};
use crate::watch::follow::page_of;
use crate::watch::kinds::Resource;
use crate::watch::{Missing, SyncError};

/// When to ask again after a first failure; doubled from one to the next.
const BACKOFF: Duration = Duration::from_millis(800);
/// A server that asks for more patience than this is not waited for.
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// What became of a dump besides the objects.
#[derive(Debug, Default)]
pub struct Dump {
    /// Kinds that we may not read.
    pub missing: Vec<Missing>,
    /// Kinds that changed so much meanwhile that not all of their objects are of one moment.
    pub torn: Vec<&'static Resource>,
}

/// Why a dump ended early.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// A kind could not be read.
    #[error(transparent)]
    Read(#[from] SyncError),
    /// What was read could not be put anywhere.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Asks for every kind that plans look at and hands on each object, which does not name its kind
/// itself. A request is tried `attempts_max` times before it is given up.
///
/// # Errors
///
/// Nodes or pods may not be read, a kind could not be read, or `each` failed.
pub async fn dump(
    api: &Api,
    attempts_max: u32,
    mut each: impl FnMut(&'static Resource, &[u8]) -> io::Result<()>,
) -> Result<Dump, DumpError> {
    let mut dump = Dump::default();
    for resource in &Resource::ALL {
        match list(api, resource, attempts_max, &mut each).await {
            Ok(is_torn) => dump.torn.extend(is_torn.then_some(resource)),
            Err(Stop::Write(error)) => return Err(error.into()),
            Err(Stop::Call(error)) if is_absent(resource, &error) => {
                if error.code() == Some(403) {
                    dump.missing.push(Missing {
                        resource: resource.name(),
                        problem: chain(&error),
                        without: resource.without,
                    });
                }
            }
            Err(Stop::Call(error)) => {
                let (problem, code) = (chain(&error), error.code());
                return Err(SyncError { resource: resource.name(), problem, code }.into());
            }
        }
    }
    Ok(dump)
}

/// Whether a kind is one that a cluster may lack or that we may not read. Measurements come from
/// somebody else's server, which may be down (`watch/follow.rs`).
fn is_absent(resource: &Resource, error: &CallError) -> bool {
    !resource.required && (matches!(error.code(), Some(403..=405)) || !resource.watched)
}

enum Stop {
    Call(CallError),
    Write(io::Error),
}

/// One kind, page by page. `true` if the pages are not of one moment.
async fn list(
    api: &Api,
    resource: &'static Resource,
    attempts_max: u32,
    each: &mut impl FnMut(&'static Resource, &[u8]) -> io::Result<()>,
) -> Result<bool, Stop> {
    let mut token = String::new();
    let mut seen: HashSet<String> = HashSet::new();
    let mut is_torn = false;
    loop {
        let target =
            if is_torn { resource.path.to_owned() } else { page_of(resource.path, &token) };
        let body = match patient(api, &target, attempts_max).await {
            // The moment of the first page has been forgotten. What was slow in pages is asked for
            // at once, and what has been handed on is not handed on again.
            Err(CallError::Status { code: 410, .. }) if !token.is_empty() && !is_torn => {
                is_torn = true;
                continue;
            }
            answer => answer.map_err(Stop::Call)?,
        };
        let page: Page<'_> =
            serde_json::from_slice(&body).map_err(|error| Stop::Call(api.odd(&error)))?;
        for item in page.items.into_iter().flatten() {
            if seen.insert(name_of(item)) {
                each(resource, item.get().as_bytes()).map_err(Stop::Write)?;
            }
        }
        token = page.metadata.r#continue;
        if token.is_empty() || is_torn {
            return Ok(is_torn);
        }
    }
}

/// What no other object of its kind is called.
fn name_of(object: &RawValue) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Named {
        metadata: Metadata,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Metadata {
        namespace: String,
        name: String,
    }
    let Named { metadata } = serde_json::from_str(object.get()).unwrap_or_default();
    metadata.namespace + "/" + &metadata.name
}

/// Asks until there is an answer that means something.
async fn patient(api: &Api, target: &str, attempts_max: u32) -> Result<Vec<u8>, CallError> {
    let mut pause = BACKOFF;
    for _ in 1..attempts_max {
        let error = match api.get(target).await {
            Err(error) if is_passing(&error) => error,
            answer => return answer,
        };
        let asked = match error {
            CallError::Status { retry_after: Some(asked), .. } => asked,
            _ => Duration::ZERO,
        };
        sleep(pause.max(asked).min(BACKOFF_MAX)).await;
        pause = pause.saturating_mul(2);
    }
    api.get(target).await
}

/// Whether asking again may help.
fn is_passing(error: &CallError) -> bool {
    match error.code() {
        Some(code) => code == 429 || code >= 500,
        None => true,
    }
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(default)]
    metadata: Mark,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Mark {
    r#continue: String,
}
