//! Extension points: which plugins a profile enables where (docs/spec/runtime.md section 3.6).

use descheduler_engine::{Diagnostics, Entry, Span, did_you_mean};

use super::misplaced::{self, Level};
use super::profile::Configured;
use crate::catalog::{Catalog, Plugin};
use crate::fields::{Fields, as_fields, read as read_value};

/// The extension points, and whether upstream acts upon them at all.
const POINTS: [(&str, bool); 7] = [
    ("presort", false),
    ("sort", false),
    ("deschedule", true),
    ("balance", true),
    ("filter", true),
    ("preevictionfilter", true),
    // As upstream's README spells it; upstream itself ignores it, harmlessly.
    ("preEvictionFilter", true),
];

/// One name in a list of enabled plugins.
pub(super) struct Enabled<'v> {
    pub(super) name: &'v str,
    pub(super) span: Span,
    /// The extension point.
    pub(super) point: &'static str,
}

impl Enabled<'_> {
    /// Whether a strategy is asked to run, and not a protection.
    pub(super) fn runs(&self) -> bool {
        matches!(self.point, "deschedule" | "balance")
    }
}

/// Everything that is enabled, where that has an effect.
pub(super) fn read<'v>(
    mut fields: Fields<'v>,
    catalog: &Catalog<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Enabled<'v>> {
    let mut enabled = Vec::new();
    for (point, acted_upon) in POINTS {
        let Some(entry) = fields.entry(point) else { continue };
        let path = fields.path(point);
        if entry.value.as_list().is_some() {
            let message = format!("`{path}`: expected a mapping, found a list");
            diagnostics
                .error("wrong-type", entry.value.span, message)
                .help("put the names under `enabled`".to_owned());
            continue;
        }
        let Some(mut lists) = as_fields(&path, &entry.value, diagnostics) else { continue };
        let names = names(&mut lists, "enabled", point, diagnostics);
        let disabled = lists.entry("disabled");
        if !self::names(&mut lists, "disabled", point, diagnostics).is_empty() {
            note_disabled(disabled, diagnostics);
        }
        for entry in lists.unknown() {
            misplaced::report(Level::Plugins, entry, &lists, catalog, diagnostics);
        }
        if acted_upon {
            enabled.extend(names);
        }
    }
    for entry in fields.unknown() {
        misplaced::report(Level::Plugins, entry, &fields, catalog, diagnostics);
    }
    enabled
}

fn names<'v>(
    lists: &mut Fields<'v>,
    list: &'static str,
    point: &'static str,
    diagnostics: &mut Diagnostics,
) -> Vec<Enabled<'v>> {
    let Some((_, items)) = lists.list(list, diagnostics) else { return Vec::new() };
    let path = lists.path(list);
    let mut names = Vec::new();
    for (at, item) in items.iter().enumerate() {
        if read_value::<String>(&format!("{path}[{at}]"), item, diagnostics).is_some() {
            let name = item.as_text().unwrap_or_default();
            names.push(Enabled { name, span: item.span, point });
        }
    }
    names
}

fn note_disabled(disabled: Option<&Entry>, diagnostics: &mut Diagnostics) {
    if let Some(entry) = disabled {
        diagnostics
            .note("disabled-ignored", entry.key_span, "lists of `disabled` plugins have no effect")
            .help("a strategy runs only if it is listed under `enabled`".to_owned());
    }
}

/// Checks that each name means something, stands at its extension point and is configured.
pub(super) fn check(
    enabled: &[Enabled<'_>],
    configured: &[Configured<'_>],
    catalog: &Catalog<'_>,
    diagnostics: &mut Diagnostics,
) {
    for (at, plugin) in enabled.iter().enumerate() {
        let &Enabled { name, span, point } = plugin;
        let found = catalog.find(name);
        let Some(right) = found.extension_points().first() else {
            unknown(name, span, catalog, diagnostics);
            continue;
        };
        if !found.extension_points().contains(&point.to_ascii_lowercase().as_str()) {
            let message = format!("`{name}` cannot be enabled under `{point}`");
            diagnostics
                .error("wrong-extension-point", span, message)
                .help(format!("it belongs under `{right}`"));
        }
        let implied = matches!(found, Plugin::Evictor(_));
        if !implied && !configured.iter().any(|configured| configured.name == name) {
            let message = format!("`{name}` is enabled but has no entry in `pluginConfig`");
            diagnostics
                .error("not-configured", span, message)
                .help(format!("add `- name: {name}` to `pluginConfig`, even without `args`"));
        }
        let earlier = &enabled[..at];
        if let Some(first) = earlier.iter().find(|e| e.name == name && e.point == point) {
            diagnostics
                .note("enabled-twice", span, format!("`{name}` is listed twice and runs twice"))
                .related(first.span, "first here");
        }
    }
}

/// Reports a name that no plugin has.
pub(super) fn unknown(
    name: &str,
    span: Span,
    catalog: &Catalog<'_>,
    diagnostics: &mut Diagnostics,
) {
    let names = catalog.names();
    let help = did_you_mean(name, names.iter().copied()).unwrap_or_else(|| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        format!("known: {}", names.join(", "))
    });
    let message = match name {
        "" => "the name of a strategy is empty".to_owned(),
        _ => format!("unknown strategy `{name}`"),
    };
    diagnostics.error("unknown-strategy", span, message).help(help);
}
