//! The format `descheduler/v1alpha1` of releases 0.1 to 0.30 (docs/spec/v1alpha1.md).
//!
//! It is rewritten into the tree that a v1alpha2 file with the same meaning would give, as 0.30.2
//! did it, and read as that. Everything in the new tree keeps its place in the old file, so that
//! whatever is said about it points there. What is copied is checked where it arrives; what is left
//! out is checked here.

mod params;
mod strategy;
mod tree;

use descheduler_engine::{Diagnostics, Entry, Value};

use crate::catalog::Catalog;
use crate::fields::{Fields, warn_unknown};
use params::STRATEGIES;
use tree::{entry, list, map, text};

/// A v1alpha1 policy, rewritten.
pub(crate) struct Rewritten {
    /// What a v1alpha2 file would hold.
    pub(crate) root: Value,
    /// What changed on the way, besides the notation.
    pub(crate) changes: Changes,
}

/// Sentences on what changed or has no equivalent, by where they belong.
#[derive(Default)]
pub(crate) struct Changes {
    /// About the policy as a whole.
    pub(crate) top: Vec<String>,
    /// About each profile, in their order.
    pub(crate) profiles: Vec<Vec<String>>,
}

/// Keys of the top level that mean the same in both formats, our own included.
const SAME: [&str; 5] = [
    "nodeSelector",
    "maxNoOfPodsToEvictPerNode",
    "maxNoOfPodsToEvictPerNamespace",
    "placement",
    "loopBreaker",
];

/// The switches of the top level, with the list of `podProtections` and the protection there that
/// each became (docs/spec/v1alpha1.md section 6.1, docs/spec/strategies.md section 4.3).
const SWITCHES: [(&str, &str, &str); 5] = [
    ("evictLocalStoragePods", "defaultDisabled", "PodsWithLocalStorage"),
    ("evictSystemCriticalPods", "defaultDisabled", "SystemCriticalPods"),
    ("evictFailedBarePods", "defaultDisabled", "FailedBarePods"),
    ("evictDaemonSetPods", "defaultDisabled", "DaemonSetPods"),
    ("ignorePvcPods", "extraEnabled", "PodsWithPVC"),
];

/// Keys of the top level that only v1alpha2 has.
const NEWER: [&str; 5] = [
    "maxNoOfPodsToEvictTotal",
    "evictionFailureEventNotification",
    "gracePeriodSeconds",
    "metricsCollector",
    "metricsProviders",
];

/// Rewrites a policy whose header has been looked at. What is returned counts only if no error was
/// reported.
pub(crate) fn rewrite(
    root: &Value,
    catalog: &Catalog<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Rewritten> {
    let mut fields = Fields::new(root.as_map()?, "");
    fields.entry("kind");
    let version = fields.entry("apiVersion");
    let header = version.map_or(root.span, |version| version.value.span);
    if version.is_some() {
        diagnostics
            .warning(
                "deprecated-v1alpha1",
                header,
                "`descheduler/v1alpha1` is deprecated; it is read as the v1alpha2 policy that means \
                 the same",
            )
            .help("`descheduler convert` prints that policy".to_owned());
    }
    let mut changes = Changes::default();
    crate::v1alpha2::report_duplicates(root, diagnostics);
    let mut rewritten = vec![
        entry("apiVersion", header, text("descheduler/v1alpha2", header)),
        entry("kind", header, text("DeschedulerPolicy", header)),
    ];
    for key in SAME {
        let given = fields.entry(key);
        rewritten.extend(given.map(|given| entry(key, given.key_span, tree::copy(&given.value))));
    }
    let protections = switches(&mut fields, &mut changes, diagnostics);
    let strategies = fields.map("strategies", diagnostics).map(|(strategies, _)| strategies);
    let begins = strategies.map_or(header, |strategies| strategies.key_span);
    for unknown in fields.unknown() {
        report_at_top(unknown, &fields, catalog, diagnostics);
        changes.top.push(left_out(&unknown.key));
    }
    let mut profiles = Vec::new();
    for found in strategy::read_all(strategies, &mut changes.top, catalog, diagnostics) {
        profiles.push(found.profile(&protections));
        changes.profiles.push(found.changes);
    }
    if profiles.is_empty() && !diagnostics.has_errors() {
        diagnostics
            .warning("nothing-enabled", begins, "no strategy is enabled: nothing will run")
            .help("a strategy runs only with `enabled: true`".to_owned());
    }
    rewritten.push(entry("profiles", begins, list(begins, profiles)));
    Some(Rewritten { root: map(root.span, rewritten), changes })
}

/// `podProtections` as the switches at the top of the file have it, for every profile.
fn switches(
    fields: &mut Fields<'_>,
    changes: &mut Changes,
    diagnostics: &mut Diagnostics,
) -> Vec<Entry> {
    let mut protections: Vec<Entry> = Vec::new();
    for (name, list_name, protection) in SWITCHES {
        let Some(on) = fields.value::<bool>(name, diagnostics) else { continue };
        let Some(given) = fields.entry(name) else { continue };
        if !on {
            changes.top.push(format!("`{name}: false` is what holds anyway, and is left out"));
            continue;
        }
        changes.top.push(format!(
            "`{name}: true` became `{protection}` in `podProtections.{list_name}` of every profile"
        ));
        tree::append(&mut protections, list_name, text(protection, given.key_span));
    }
    protections
}

/// What is said of a key that never meant anything where it stood.
fn left_out(path: &str) -> String {
    format!("`{path}` was not read and is left out")
}

/// Upstream ignores everything unknown, at any depth. As in v1alpha2 that is an error where the
/// author must believe in something that is not there.
fn report_at_top(
    unknown: &Entry,
    fields: &Fields<'_>,
    catalog: &Catalog<'_>,
    diagnostics: &mut Diagnostics,
) {
    let key = unknown.key.as_str();
    if key == "profiles" {
        let message = "`profiles` belongs to v1alpha2 and is not read in a v1alpha1 policy";
        diagnostics
            .warning("v1alpha2-key", unknown.key_span, message)
            .help("enable `strategies`, or write the whole policy as v1alpha2".to_owned());
    } else if NEWER.contains(&key) {
        let message = format!("`{key}` belongs to v1alpha2 and is ignored in a v1alpha1 policy");
        diagnostics
            .warning("v1alpha2-key", unknown.key_span, message)
            .help("`descheduler convert` begins a v1alpha2 policy to put it in".to_owned());
    } else if STRATEGIES.iter().any(|strategy| strategy.name == key) {
        let message = format!("`{key}` stands in the wrong place and would be ignored");
        diagnostics
            .error("misplaced-key", unknown.key_span, message)
            .help("put it under `strategies`".to_owned());
    } else if !strategy::misplaced(unknown, key, catalog, diagnostics) {
        warn_unknown(key, unknown, fields.known(), diagnostics);
    }
}
