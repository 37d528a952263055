//! What is legal and still worth a word.

use std::collections::BTreeSet;

use descheduler_engine::{Diagnostics, Entry, Value};

use super::points::Enabled;
use super::profile::Configured;
use crate::catalog::{Catalog, Plugin};

const LOW: &str = "LowNodeUtilization";
const HIGH: &str = "HighNodeUtilization";

/// Warns if one strategy is asked to undo what another does.
pub(super) fn opposites(enabled: &[Enabled<'_>], diagnostics: &mut Diagnostics) {
    let find = |name| enabled.iter().find(|plugin| plugin.runs() && plugin.name == name);
    if let (Some(low), Some(high)) = (find(LOW), find(HIGH)) {
        let message = format!("`{LOW}` spreads pods and `{HIGH}` packs them");
        diagnostics
            .warning("opposite-strategies", low.span.max(high.span), message)
            .help("each undoes the work of the other: enable one of them".to_owned())
            .related(low.span.min(high.span), "enabled here as well");
    }
}

/// Notes plugins that have arguments and never run.
pub(super) fn not_enabled(
    configured: &[Configured<'_>],
    enabled: &[Enabled<'_>],
    catalog: &Catalog<'_>,
    diagnostics: &mut Diagnostics,
) {
    for Configured { name, span, .. } in configured {
        let runs = match catalog.find(name) {
            Plugin::Strategy(_) => enabled.iter().any(|e| e.name == *name),
            Plugin::Evictor(_) | Plugin::Unknown => true,
        };
        if !runs {
            diagnostics
                .note("not-enabled", *span, format!("`{name}` is configured but not enabled"))
                .help(format!("list it under `plugins` if it should run: {}", home(name, catalog)));
        }
    }
}

fn home(name: &str, catalog: &Catalog<'_>) -> String {
    let point = catalog.find(name).extension_points().first().copied().unwrap_or("plugins");
    format!("`{point}: {{enabled: [{name}]}}`")
}

/// Notes namespaces that one enabled strategy leaves alone and another does not: people expect an
/// exclusion to hold for the whole profile.
pub(super) fn exclusions(
    configured: &[Configured<'_>],
    enabled: &[Enabled<'_>],
    catalog: &Catalog<'_>,
    diagnostics: &mut Diagnostics,
) {
    let running: Vec<Scope<'_>> = configured
        .iter()
        .filter(|plugin| enabled.iter().any(|e| e.runs() && e.name == plugin.name))
        .filter(|plugin| matches!(catalog.find(plugin.name), Plugin::Strategy(_)))
        .map(Scope::of)
        .collect();
    for scope in &running {
        let Some(entry) = scope.exclude else { continue };
        for other in running.iter().filter(|other| other.plugin.name != scope.plugin.name) {
            let open: Vec<String> = scope
                .excluded()
                .into_iter()
                .filter(|namespace| other.covers(namespace))
                .map(|namespace| format!("`{namespace}`"))
                .collect();
            if !open.is_empty() {
                let (name, other) = (scope.plugin.name, other.plugin);
                let open = open.join(", ");
                let message = format!("`{name}` leaves out {open}, `{}` does not", other.name);
                diagnostics
                    .note("exclusion-not-shared", entry.key_span, message)
                    .help("each strategy has an exclusion of its own".to_owned())
                    .related(other.span, "this one covers it");
            }
        }
    }
}

/// Which namespaces a strategy works on.
struct Scope<'v> {
    plugin: &'v Configured<'v>,
    exclude: Option<&'v Entry>,
    include: Option<&'v Entry>,
}

impl<'v> Scope<'v> {
    fn of(plugin: &'v Configured<'v>) -> Self {
        let namespaces = plugin.args.and_then(Value::as_map).and_then(|args| {
            args.given("namespaces").or_else(|| args.given("evictableNamespaces"))
        });
        let list = |name| namespaces.and_then(|entry| entry.value.as_map()?.given(name));
        Self { plugin, exclude: list("exclude"), include: list("include") }
    }

    fn excluded(&self) -> BTreeSet<&'v str> {
        names(self.exclude)
    }

    fn covers(&self, namespace: &str) -> bool {
        let included = names(self.include);
        (included.is_empty() || included.contains(namespace))
            && !self.excluded().contains(namespace)
    }
}

fn names(list: Option<&Entry>) -> BTreeSet<&str> {
    let items = list.and_then(|entry| entry.value.as_list()).unwrap_or_default();
    items.iter().filter_map(Value::as_text).collect()
}
