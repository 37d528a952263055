//! Keys that are not known where they stand.
//!
//! Upstream ignores all of them. That is harmless for a key that means nothing, which is warned
//! about. But the author of `namespaces` beside `args` believes in a filter that is not there, so
//! a known argument in the wrong place is an error.

use descheduler_engine::{Diagnostics, Entry, Value};

use crate::catalog::Catalog;
use crate::fields::{Fields, warn_unknown};

/// Where a key stands.
#[derive(Clone, Copy)]
pub(super) enum Level<'n> {
    /// At the top of the file.
    Top,
    /// In a profile.
    Profile,
    /// Beside the name of this plugin in `pluginConfig`.
    Plugin(&'n str),
    /// Under `plugins` or an extension point there.
    Plugins,
}

/// Switches that v1alpha1 had at the top level.
pub(crate) const OLD_SWITCHES: [&str; 5] = [
    "evictLocalStoragePods",
    "evictSystemCriticalPods",
    "evictFailedBarePods",
    "evictDaemonSetPods",
    "ignorePvcPods",
];

/// Keys that a policy is built of, and where they belong.
pub(crate) const STRUCTURE: [(&str, &str); 8] = [
    ("profiles", "at the top of the file"),
    ("pluginConfig", "in a profile, under `profiles`"),
    ("plugins", "in a profile, under `profiles`"),
    ("args", "beside the `name` of a plugin in `pluginConfig`"),
    ("deschedule", "under `plugins` in a profile"),
    ("balance", "under `plugins` in a profile"),
    ("filter", "under `plugins` in a profile"),
    ("preevictionfilter", "under `plugins` in a profile"),
];

/// Fields of the top level. In a profile they are ignored like any other unknown key.
const TOP: [&str; 8] = [
    "maxNoOfPodsToEvictPerNode",
    "maxNoOfPodsToEvictPerNamespace",
    "maxNoOfPodsToEvictTotal",
    "evictionFailureEventNotification",
    "gracePeriodSeconds",
    "metricsCollector",
    "metricsProviders",
    "loopBreaker",
];

/// Reports a key that nothing asked for.
pub(super) fn report(
    level: Level<'_>,
    entry: &Entry,
    fields: &Fields<'_>,
    catalog: &Catalog<'_>,
    diagnostics: &mut Diagnostics,
) {
    let key = entry.key.as_str();
    let path = fields.path(key);
    if matches!(level, Level::Top) && OLD_SWITCHES.contains(&key) {
        old_switch(entry, catalog, diagnostics);
        return;
    }
    if let Some((_, home)) = STRUCTURE.iter().find(|(name, _)| *name == key) {
        diagnostics
            .error("misplaced-key", entry.key_span, format!("`{path}` stands in the wrong place"))
            .help(format!("`{key}` belongs {home}"));
        return;
    }
    let owners = match level {
        Level::Plugin(plugin) if catalog.has(plugin, key) => vec![plugin],
        Level::Plugin(_) | Level::Top | Level::Profile | Level::Plugins => catalog.owners(key),
    };
    if !owners.is_empty() {
        misplaced_argument(level, entry, &path, &owners, diagnostics);
        return;
    }
    if let Level::Plugin(plugin) = level
        && holds_arguments(&entry.value, plugin, catalog)
    {
        let message = format!("`{path}` is ignored, with the arguments of `{plugin}` in it");
        diagnostics
            .error("misplaced-argument", entry.key_span, message)
            .help("arguments belong under `args`".to_owned());
        return;
    }
    if !matches!(level, Level::Top) && TOP.contains(&key) {
        diagnostics
            .warning("unknown-key", entry.key_span, format!("`{path}` is ignored here"))
            .help(format!("`{key}` belongs at the top of the file"));
        return;
    }
    let mut candidates = fields.known().to_vec();
    if matches!(level, Level::Top) {
        candidates.extend(OLD_SWITCHES);
    }
    warn_unknown(&path, entry, &candidates, diagnostics);
}

/// Without them less is evicted, not more; but for one, which was a protection.
fn old_switch(entry: &Entry, catalog: &Catalog<'_>, diagnostics: &mut Diagnostics) {
    use descheduler_engine::{Node, Scalar, ScalarKind};
    let key = &entry.key;
    let evictor = catalog.evictor().name;
    let help = format!("it is an argument of `{evictor}` now: put it under its `args`");
    let is_on =
        matches!(&entry.value.node, Node::Scalar(Scalar { kind: ScalarKind::Bool(true), .. }));
    let diagnostic = if key == "ignorePvcPods" && is_on {
        let message = format!("`{key}` at the top level protects nothing");
        diagnostics.error("v1alpha1-switch", entry.key_span, message)
    } else {
        let message = format!("`{key}` at the top level belongs to v1alpha1 and is ignored");
        diagnostics.warning("v1alpha1-switch", entry.key_span, message)
    };
    diagnostic.help(help);
}

fn misplaced_argument(
    level: Level<'_>,
    entry: &Entry,
    path: &str,
    owners: &[&str],
    diagnostics: &mut Diagnostics,
) {
    let help = match (level, owners) {
        (Level::Plugin(plugin), [owner]) if plugin == *owner => {
            "indent it, so that it stands under `args`".to_owned()
        }
        (Level::Plugin(_), _) => {
            "arguments belong under `args`, where it is checked whether the plugin has it"
                .to_owned()
        }
        (_, [owner]) => format!("it is an argument of `{owner}`: put it under its `args`"),
        (_, [first, ..]) => format!(
            "it is an argument of plugins such as `{first}`: put it under `args` of each that \
             should have it"
        ),
        (_, []) => "arguments belong under `args`".to_owned(),
    };
    let message = format!("`{path}` stands in the wrong place and would be ignored");
    diagnostics.error("misplaced-argument", entry.key_span, message).help(help);
}

/// Whether a mapping holds arguments of the plugin, as `params` or `arg` would.
fn holds_arguments(value: &Value, plugin: &str, catalog: &Catalog<'_>) -> bool {
    value.as_map().is_some_and(|map| map.entries.iter().any(|e| catalog.has(plugin, &e.key)))
}
