//! From the text of a policy file to a [`Policy`], or to everything that is wrong with it; the same
//! for the configuration of kube-scheduler ([`scheduler`]).
//!
//! ```text
//! bytes -> source -> yaml -> header -> v1alpha2 -> Policy
//!            |         |       |          |
//!            +---------+-------+----------+-----> Diagnostics -> render
//! ```
//!
//! All problems of a file are found in one go, each with its place. An error means that the file
//! cannot be used; a warning that it likely does not do what its author believes; which is which
//! follows upstream, except where upstream ignores something that would have kept pods alive.

mod catalog;
mod fields;
mod header;
mod render;
pub mod scheduler;
mod source;
mod v1alpha2;
mod yaml;

use descheduler_engine::{Diagnostics, Policy, Registry};

pub use render::{Style, render};

use catalog::Catalog;
use header::Format;

/// Reads a policy.
///
/// `bytes` is the content of the file, `file` its name for messages, `registry` the plugins that
/// there are. The policy is `None` exactly if an error was found.
pub fn load(bytes: &[u8], file: &str, registry: &Registry) -> (Option<Policy>, Diagnostics) {
    let mut diagnostics = Diagnostics::new(file);
    let policy = read(bytes, registry, &mut diagnostics);
    let policy = policy.filter(|_| !diagnostics.has_errors());
    (policy, diagnostics)
}

fn read(bytes: &[u8], registry: &Registry, diagnostics: &mut Diagnostics) -> Option<Policy> {
    let text = source::checked(bytes, diagnostics)?;
    let root = yaml::parse(&text, diagnostics)?;
    match header::read(&root, diagnostics)? {
        Format::V1alpha2 => v1alpha2::read(&root, &Catalog::new(registry), diagnostics),
        Format::V1alpha1 => {
            // Its field at the top is there: only a string led here.
            let version = root.as_map().and_then(|map| map.given("apiVersion"));
            let span = version.map_or(root.span, |version| version.value.span);
            diagnostics
                .error("v1alpha1-not-read", span, "a v1alpha1 policy cannot be read yet")
                .help(
                    "a later version will; until then write it as `descheduler/v1alpha2`"
                        .to_owned(),
                );
            None
        }
    }
}
