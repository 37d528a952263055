//! What is legal and still worth a word.

use std::collections::BTreeSet;

use descheduler_engine::{Diagnostics, Entry, Node, Scalar, ScalarKind, Span, Value};

use super::points::Enabled;
use super::profile::Configured;
use crate::catalog::{Catalog, Plugin};

/// Strategies that need no room: they look for another node themselves (docs/spec/strategies.md
/// section 10.2), or their pods hold no place.
const ROOM_DOES_NOT_MATTER: [&str; 2] = ["RemovePodsViolatingNodeAffinity", "RemoveFailedPods"];

/// Where it is said, or should be, that a profile evicts only pods that fit elsewhere, if it evicts
/// others as well; `begins` is the profile.
pub(super) fn no_fit(
    begins: Span,
    configured: &[Configured<'_>],
    enabled: &[Enabled<'_>],
    catalog: &Catalog<'_>,
) -> Option<Span> {
    let evictor = configured.iter().find(|plugin| plugin.name == catalog.evictor().name);
    let fit = evictor.and_then(|plugin| plugin.args?.as_map()?.given("nodeFit"));
    let is_on = fit.is_some_and(|entry| {
        !matches!(&entry.value.node, Node::Scalar(Scalar { kind: ScalarKind::Bool(false), .. }))
    });
    let mut running = enabled.iter().filter(|plugin| plugin.runs());
    if is_on || running.all(|plugin| ROOM_DOES_NOT_MATTER.contains(&plugin.name)) {
        return None;
    }
    Some(match (fit, evictor) {
        (Some(fit), _) => fit.value.span,
        (None, Some(evictor)) => evictor.span,
        (None, None) => begins,
    })
}

/// Warns of profiles that evict pods without anybody asking whether there is room for them. For
/// policies that have placement off.
pub(super) fn room(no_fit: &[Span], diagnostics: &mut Diagnostics) {
    let [first, others @ ..] = no_fit else { return };
    let message =
        "placement is off and so is `nodeFit`: pods are evicted though they fit nowhere else";
    let help = "with `nodeFit: true` it is asked whether another node has room".to_owned();
    let diagnostic = diagnostics.warning("no-room-asked-for", *first, message).help(help);
    for other in others {
        diagnostic.related(*other, "here too");
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
