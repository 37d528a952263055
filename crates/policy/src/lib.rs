//! From the text of a policy file to a [`Policy`], or to everything that is wrong with it; the same
//! for the configuration of kube-scheduler ([`scheduler`]).
//!
//! ```text
//! bytes -> source -> yaml -> wrapped -> header -------------> v1alpha2 -> Policy
//!            |         |        |         |                      ^ |
//!            |         |        |         +--> v1alpha1 (rewritten)|
//!            +---------+--------+---------+----------+-------------+--> Diagnostics -> render
//! ```
//!
//! All problems of a file are found in one go, each with its place. An error means that the file
//! cannot be used; a warning that it likely does not do what its author believes; which is which
//! follows upstream, except where upstream ignores something that would have kept pods alive.

mod catalog;
mod convert;
mod fields;
mod header;
mod render;
pub mod scheduler;
mod schema;
mod source;
mod v1alpha1;
mod v1alpha2;
mod wrapped;
mod yaml;

use descheduler_engine::{Diagnostics, Placement, Policy, Registry, Value};
use descheduler_scheduler::Profile;

pub use render::{Style, render};
pub use schema::schema;

use catalog::Catalog;
use header::Format;
use v1alpha1::Rewritten;

/// Reads a policy.
///
/// `bytes` is the content of the file, which may be the policy or hold it in a ConfigMap or in Helm
/// values; `file` is its name for messages, `registry` the plugins that there are. The policy is `None` exactly if an error was found.
pub fn load(bytes: &[u8], file: &str, registry: &Registry) -> (Option<Policy>, Diagnostics) {
    load_for(bytes, file, registry, &Surroundings::default())
}

/// What is known besides the file. It changes what is warned of, and nothing else.
#[derive(Clone, Copy, Default)]
pub struct Surroundings<'s> {
    /// How moves will be judged, whatever the policy says.
    pub placement: Option<Placement>,
    /// The profiles of the scheduler, where its configuration was given.
    pub scheduler: Option<&'s [Profile]>,
}

/// Like [`load`], with advice for these surroundings.
pub fn load_for(
    bytes: &[u8],
    file: &str,
    registry: &Registry,
    surroundings: &Surroundings<'_>,
) -> (Option<Policy>, Diagnostics) {
    let mut diagnostics = Diagnostics::new(file);
    let policy = wrapped::read(bytes, &mut diagnostics, |root, diagnostics| {
        read(root, registry, surroundings, diagnostics)
    });
    let policy = policy.filter(|_| !diagnostics.has_errors());
    (policy, diagnostics)
}

fn read(
    root: &Value,
    registry: &Registry,
    surroundings: &Surroundings<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Policy> {
    let catalog = Catalog::new(registry);
    match header::read(root, diagnostics)? {
        format @ Format::V1alpha2 => {
            v1alpha2::read(root, format, &catalog, surroundings, diagnostics)
        }
        format @ Format::V1alpha1 => {
            let Rewritten { root, .. } = v1alpha1::rewrite(root, &catalog, diagnostics)?;
            v1alpha2::read(&root, format, &catalog, surroundings, diagnostics)
        }
    }
}

/// The v1alpha2 policy that a v1alpha1 policy stands for, as the text of a file, with a comment for
/// everything that changed or has no equivalent. It is `None` exactly if an error was found, which
/// it is, too, if the policy is v1alpha2 already.
pub fn convert(bytes: &[u8], file: &str, registry: &Registry) -> (Option<String>, Diagnostics) {
    let mut diagnostics = Diagnostics::new(file);
    let text = wrapped::read(bytes, &mut diagnostics, |root, diagnostics| {
        rewrite(root, registry, diagnostics)
    });
    let text = text.filter(|_| !diagnostics.has_errors());
    (text, diagnostics)
}

fn rewrite(root: &Value, registry: &Registry, diagnostics: &mut Diagnostics) -> Option<String> {
    let catalog = Catalog::new(registry);
    if header::read(root, diagnostics)? == Format::V1alpha2 {
        if !diagnostics.has_errors() {
            let version = root.as_map().and_then(|map| map.given("apiVersion"));
            let span = version.map_or(root.span, |version| version.value.span);
            diagnostics.error("not-v1alpha1", span, "this is v1alpha2: nothing is to be converted");
        }
        return None;
    }
    let rewritten = v1alpha1::rewrite(root, &catalog, diagnostics)?;
    // What the result says of itself counts as well, places being those of the old file.
    let surroundings = Surroundings::default();
    v1alpha2::read(&rewritten.root, Format::V1alpha1, &catalog, &surroundings, diagnostics)?;
    Some(convert::write(&rewritten))
}
