//! One strategy of a v1alpha1 policy, and the profile that it becomes.

use descheduler_engine::{Diagnostics, Entry, Map, Span, Value};

use super::left_out;
use super::params::{self, Kind, PARAMS, STRATEGIES, Strategy};
use super::tree::{self, entry, list, map, text};
use crate::catalog::Catalog;
use crate::fields::{Fields, as_fields, read as read_value, warn_unknown};

/// A strategy that runs, taken apart.
pub(super) struct Found {
    strategy: &'static Strategy,
    /// Its name in the file.
    span: Span,
    /// Where its parameters are to be pointed at as a whole.
    params: Span,
    /// What goes to the protections of its profile.
    evictor: Vec<Entry>,
    /// What goes to the strategy itself.
    args: Vec<Entry>,
    /// What changed, in sentences.
    pub(super) changes: Vec<String>,
}

/// The strategies that are enabled, in a fixed order: in 0.30.2 it was that of a hash map
/// (docs/spec/v1alpha1.md section 6.6).
pub(super) fn read_all(
    strategies: Option<&Entry>,
    top: &mut Vec<String>,
    catalog: &Catalog<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Found> {
    let map = strategies.and_then(|entry| entry.value.as_map());
    let mut read = Vec::new();
    for given in map.into_iter().flat_map(Map::effective) {
        let path = format!("strategies.{}", given.key);
        let Some(mut fields) = as_fields(&path, &given.value, diagnostics) else { continue };
        let enabled = fields.value("enabled", diagnostics).unwrap_or(false);
        let weight: Option<i64> = fields.value("weight", diagnostics);
        let params = fields.map("params", diagnostics);
        let Some(at) = STRATEGIES.iter().position(|strategy| strategy.name == given.key) else {
            unknown_strategy(given, enabled, catalog, diagnostics);
            continue;
        };
        if !enabled {
            // Upstream reads the types of the whole file before it looks at what is enabled.
            let params = params.map(|(entry, _)| &entry.value);
            Kind::Object(PARAMS).check(&format!("{path}.params"), params, diagnostics);
            top.push(format!("`{}` was not enabled and is left out", given.key));
            continue;
        }
        let mut changes = Vec::new();
        for unknown in fields.unknown() {
            report_beside_params(unknown, &fields, catalog, diagnostics);
            changes.push(left_out(&unknown.key));
        }
        if weight.is_some() {
            changes.push("`weight` never meant anything and is left out".to_owned());
        }
        let found = Found {
            strategy: &STRATEGIES[at],
            span: given.key_span,
            params: params.as_ref().map_or(given.key_span, |(entry, _)| entry.key_span),
            evictor: Vec::new(),
            args: Vec::new(),
            changes,
        };
        let found = Taking { found, catalog, diagnostics }.take(params.map(|(_, fields)| fields));
        read.extend(found.map(|found| (at, found)));
    }
    read.sort_by_key(|(at, _)| *at);
    read.into_iter().map(|(_, found)| found).collect()
}

/// Fatal even where it is not enabled (docs/spec/v1alpha1.md section 5.2).
fn unknown_strategy(
    given: &Entry,
    enabled: bool,
    catalog: &Catalog<'_>,
    diagnostics: &mut Diagnostics,
) {
    let name = given.key.as_str();
    if name == catalog.evictor().name {
        if enabled {
            diagnostics
                .error("unknown-strategy", given.key_span, format!("`{name}` is no strategy"))
                .help("its switches stand at the top of the file, the rest in `params`".to_owned());
        }
        return;
    }
    let names = STRATEGIES.iter().map(|strategy| strategy.name);
    let help = descheduler_engine::did_you_mean(name, names.clone()).unwrap_or_else(|| {
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        format!("known: {}", names.join(", "))
    });
    diagnostics
        .error("unknown-strategy", given.key_span, format!("unknown strategy `{name}`"))
        .help(help);
}

fn report_beside_params(
    unknown: &Entry,
    fields: &Fields<'_>,
    catalog: &Catalog<'_>,
    diagnostics: &mut Diagnostics,
) {
    let path = fields.path(&unknown.key);
    if unknown.key == "args" {
        diagnostics
            .warning("args-for-params", unknown.key_span, format!("`{path}` is ignored"))
            .help("in v1alpha1 it is called `params`".to_owned());
    } else if !misplaced(unknown, &path, catalog, diagnostics) {
        warn_unknown(&path, unknown, fields.known(), diagnostics);
    }
}

/// Reports a known parameter, or an argument of v1alpha2, where it is not read; false if it is
/// neither. Upstream ignores it, but its author believes in a filter that is not there.
pub(super) fn misplaced(
    unknown: &Entry,
    path: &str,
    catalog: &Catalog<'_>,
    diagnostics: &mut Diagnostics,
) -> bool {
    let key = unknown.key.as_str();
    let help = match params::home(key) {
        Some(home) => format!("it belongs in `{home}` of a strategy"),
        None if !catalog.owners(key).is_empty() => {
            "it is an argument of v1alpha2, which v1alpha1 does not have".to_owned()
        }
        None => return false,
    };
    let message = format!("`{path}` stands in the wrong place and would be ignored");
    diagnostics.error("misplaced-argument", unknown.key_span, message).help(help);
    true
}

/// A strategy while its parameters are taken apart (docs/spec/v1alpha1.md sections 6.2 and 6.3).
struct Taking<'c, 'd> {
    found: Found,
    catalog: &'c Catalog<'c>,
    diagnostics: &'d mut Diagnostics,
}

impl Taking<'_, '_> {
    /// `None` where there is no use in going on with the strategy; why has been reported.
    fn take(mut self, params: Option<Fields<'_>>) -> Option<Found> {
        let mut misplaced = Vec::new();
        if let Some(mut params) = params {
            self.level(PARAMS, "", &mut params, &mut misplaced);
        }
        let Self { mut found, diagnostics, .. } = self;
        found.complete();
        let required = "maxPodLifeTimeSeconds";
        if found.strategy.name == "PodLifeTime" && !found.args.iter().any(|e| e.key == required) {
            // Today's PodLifeTime can do without; nobody who wrote v1alpha1 counted on that.
            if !misplaced.iter().any(|key| key == required) {
                let message = format!("`podLifeTime.{required}` of `PodLifeTime` must be given");
                diagnostics.error("missing-argument", found.params, message);
            }
            return None;
        }
        Some(found)
    }

    /// Goes through one level of parameters; `misplaced` collects the keys that stand too high or
    /// too low.
    fn level(
        &mut self,
        known: &'static [(&'static str, Kind)],
        above: &str,
        fields: &mut Fields<'_>,
        misplaced: &mut Vec<String>,
    ) {
        for (name, kind) in known {
            let from = format!("{above}{name}");
            match kind {
                Kind::Object(inside) => {
                    if let Some((_, mut fields)) = fields.map(name, self.diagnostics) {
                        self.level(inside, &format!("{from}."), &mut fields, misplaced);
                    }
                }
                _ => {
                    let path = fields.path(name);
                    if let Some(given) = fields.entry(name) {
                        self.parameter(&from, *kind, &path, given);
                    }
                }
            }
        }
        for unknown in fields.unknown() {
            let path = fields.path(&unknown.key);
            if self::misplaced(unknown, &path, self.catalog, self.diagnostics) {
                misplaced.push(unknown.key.clone());
            } else {
                warn_unknown(&path, unknown, fields.known(), self.diagnostics);
                self.found.changes.push(left_out(&format!("{above}{}", unknown.key)));
            }
        }
    }

    /// Puts one parameter where v1alpha2 has it. There it is checked; one that goes nowhere is
    /// checked here.
    fn parameter(&mut self, from: &str, kind: Kind, path: &str, given: &Entry) {
        let Self { found, diagnostics, .. } = self;
        let span = given.key_span;
        if from == "includeSoftConstraints" && found.strategy.spreads() {
            let soft = read_value(path, &given.value, diagnostics).unwrap_or(false);
            found.changes.push("`includeSoftConstraints` became the list `constraints`".to_owned());
            found.set_constraints(soft, span);
            return;
        }
        if let Some(to) = params::for_evictor(from).filter(|_| found.strategy.asks_evictor(from)) {
            found.note_rename(from, to);
            tree::put(&mut found.evictor, to, span, given.value.clone());
        } else if let Some(to) = found.strategy.argument(from) {
            found.note_rename(from, to);
            let value = kind.copy(path, &given.value, diagnostics);
            // Empty lists have always counted as absent; today `include` beside `exclude` does not.
            if value.as_list().is_none_or(|items| !items.is_empty()) {
                tree::put(&mut found.args, to, span, value);
            }
        } else {
            kind.check(path, Some(&given.value), diagnostics);
            let name = found.strategy.name;
            let message = format!("`{from}` has no effect on `{name}`");
            found.changes.push(format!("{message} and is left out"));
            let diagnostic = diagnostics.warning("no-effect", span, message);
            if from == "labelSelector" {
                diagnostic.help(format!("`{name}` looks at pods whatever their labels"));
            }
        }
    }
}

impl Found {
    /// Adds what the conversion of 0.30.2 adds.
    fn complete(&mut self) {
        let has = |args: &[Entry], key: &str| args.iter().any(|entry| entry.key == key);
        if self.strategy.spreads() {
            if !has(&self.args, "constraints") {
                self.set_constraints(false, self.span);
            }
            let fit = entry("topologyBalanceNodeFit", self.span, tree::boolean(true, self.span));
            self.args.push(fit);
        }
        if self.strategy.name == "RemoveFailedPods" && !has(&self.args, "minPodLifetimeSeconds") {
            self.changes.push(
                "without `minPodLifetimeSeconds` pods have to be an hour old, as since 0.27; before, \
                 any age would do"
                    .to_owned(),
            );
        }
    }

    fn set_constraints(&mut self, soft: bool, span: Span) {
        let mut constraints = vec![text("DoNotSchedule", span)];
        constraints.extend(soft.then(|| text("ScheduleAnyway", span)));
        self.args.push(entry("constraints", span, list(span, constraints)));
    }

    /// Notes that something is called otherwise now; where it only moved up, the eye finds it.
    fn note_rename(&mut self, from: &str, to: &str) {
        let last = |path: &str| path.rsplit('.').next().map(str::to_owned);
        let same_top = from.starts_with("namespaces.") == to.starts_with("namespaces.");
        if last(from) != last(to) || !same_top {
            self.changes.push(format!("`{from}` became `{to}`"));
        }
    }

    /// The profile (docs/spec/v1alpha1.md section 6.2), with the protections that all share.
    pub(super) fn profile(&self, protections: &[Entry]) -> Value {
        let Self { strategy, span, params, evictor, args, changes: _ } = self;
        let span = *span;
        let named = |name: &str, args_span: Span, args: Vec<Entry>| {
            let mut plugin = vec![entry("name", span, text(name, span))];
            if !args.is_empty() {
                plugin.push(entry("args", args_span, map(args_span, args)));
            }
            map(span, plugin)
        };
        let mut protected = evictor.clone();
        if let Some(first) = protections.first() {
            let lists = map(first.key_span, protections.to_vec());
            protected.push(entry("podProtections", first.key_span, lists));
        }
        let mut configured = Vec::new();
        if !protected.is_empty() {
            configured.push(named("DefaultEvictor", *params, protected));
        }
        configured.push(named(strategy.name, *params, args.clone()));
        let enabled = list(span, vec![text(strategy.name, span)]);
        let point = map(span, vec![entry("enabled", span, enabled)]);
        let plugins = map(span, vec![entry(strategy.pass.extension_point(), span, point)]);
        let name = format!("strategy-{}-profile", strategy.name);
        map(
            span,
            vec![
                entry("name", span, text(&name, span)),
                entry("pluginConfig", span, list(span, configured)),
                entry("plugins", span, plugins),
            ],
        )
    }
}
