//! One profile: which plugins it configures and which it enables.

use std::collections::BTreeMap;
use std::sync::Arc;

use descheduler_engine::{
    Args, ArgsSource, Diagnostics, Pass, Profile, Shield, Span, Step, Strategy, StrategyDef, Value,
};

use super::misplaced::{self, Level};
use super::opposites::Pool;
use super::points::{self, Enabled};
use super::{advice, node_selector, placement};
use crate::catalog::{Catalog, Plugin};
use crate::fields::{Fields, as_fields, mismatch};

/// A profile, and what is said about profiles among themselves needs.
pub(super) struct Found<'v> {
    pub(super) name: String,
    /// Its name, or where it begins.
    pub(super) span: Span,
    pub(super) pool: Pool<'v>,
    /// What [`advice::no_fit`] says of it.
    pub(super) no_fit: Option<Span>,
    pub(super) profile: Option<Profile>,
}

/// An entry of `pluginConfig` that counts, being the first of its name.
pub(super) struct Configured<'v> {
    pub(super) name: &'v str,
    pub(super) span: Span,
    pub(super) args: Option<&'v Value>,
    strategy: Option<(&'static StrategyDef, Arc<dyn Strategy>)>,
}

pub(super) fn read<'v>(
    mut fields: Fields<'v>,
    begins: Span,
    catalog: &Catalog<'_>,
    diagnostics: &mut Diagnostics,
) -> Found<'v> {
    let span = fields.entry("name").map_or(begins, |entry| entry.value.span);
    let name: String = fields.value("name", diagnostics).unwrap_or_default();
    let entries = fields.list("pluginConfig", diagnostics).map_or(&[][..], |(_, items)| items);
    let plugins = fields.map("plugins", diagnostics);
    let node_selector = node_selector(&mut fields, diagnostics);
    let nodes = fields.entry("nodeSelector");
    if let Some(entry) = nodes {
        let message = "upstream ignores the `nodeSelector` of a profile";
        diagnostics.note("own-key", entry.key_span, message);
    }
    let (placement, confidence) = placement(&mut fields, diagnostics);
    for entry in fields.unknown() {
        misplaced::report(Level::Profile, entry, &fields, catalog, diagnostics);
    }

    let prefix = fields.path("pluginConfig");
    let mut shield = None;
    let configured = configure(entries, &prefix, &mut shield, catalog, diagnostics);
    let shield = shield.unwrap_or_else(|| {
        // Without an entry the protections are those of an empty one.
        let evictor = catalog.evictor();
        let source = ArgsSource { plugin: evictor.name, value: None, fallback: span };
        Args::read(source, diagnostics, evictor.build)
    });
    let enabled = match plugins {
        Some((_, fields)) => points::read(fields, catalog, diagnostics),
        None => Vec::new(),
    };
    points::check(&enabled, &configured, catalog, diagnostics);
    if !enabled.iter().any(|plugin| plugin.runs()) {
        diagnostics
            .warning("nothing-enabled", span, "this profile enables no strategy")
            .help("list strategies under `plugins`, in `deschedule` or `balance`".to_owned());
    }
    advice::not_enabled(&configured, &enabled, catalog, diagnostics);
    advice::exclusions(&configured, &enabled, catalog, diagnostics);
    let no_fit = advice::no_fit(span, &configured, &enabled, catalog);

    let profile = shield.map(|shield| Profile {
        name: name.clone(),
        node_selector,
        placement,
        confidence,
        shield,
        deschedule: steps(Pass::Deschedule, &enabled, &configured),
        balance: steps(Pass::Balance, &enabled, &configured),
    });
    Found { name, span, pool: Pool { enabled, nodes, placement }, no_fit, profile }
}

/// Reads the entries of `pluginConfig`. All are checked; the first of a name counts
/// (docs/spec/runtime.md section 3.6).
fn configure<'v>(
    entries: &'v [Value],
    prefix: &str,
    shield: &mut Option<Option<Shield>>,
    catalog: &Catalog<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Configured<'v>> {
    let mut configured = Vec::new();
    let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        let path = format!("{prefix}[{at}]");
        let Some(mut fields) = as_fields(&path, entry, diagnostics) else { continue };
        let args = fields.entry("args");
        let Some(name_entry) = fields.entry("name") else {
            diagnostics
                .error("missing-name", entry.span, format!("`{path}` has no `name`"))
                .help("name the plugin that it configures".to_owned());
            continue;
        };
        let span = name_entry.value.span;
        let Some(name) = name_entry.value.as_text() else {
            let expected = descheduler_engine::Mismatch::type_of("a string");
            mismatch(&fields.path("name"), &name_entry.value, expected, diagnostics);
            continue;
        };
        for unknown in fields.unknown() {
            misplaced::report(Level::Plugin(name), unknown, &fields, catalog, diagnostics);
        }
        let value = args.map(|args| &args.value);
        let fallback = args.map_or(span, |args| args.key_span);
        let source = ArgsSource { plugin: name, value, fallback };
        let first = seen.get(name).copied();
        let strategy = match catalog.find(name) {
            Plugin::Strategy(def) => {
                let strategy = build(source, def, diagnostics);
                strategy.map(|strategy| (def, Arc::from(strategy)))
            }
            Plugin::Evictor(def) => {
                let built = Args::read(source, diagnostics, def.build);
                shield.get_or_insert(built);
                None
            }
            Plugin::Unknown => {
                points::unknown(name, span, catalog, diagnostics);
                None
            }
        };
        if let Some(first) = first {
            let message = format!("`{name}` is configured twice; the first entry counts");
            diagnostics
                .warning("configured-twice", span, message)
                .help("merge the two, or put one into a profile of its own".to_owned())
                .related(first, "this one counts");
        } else {
            seen.insert(name, span);
            configured.push(Configured { name, span, args: value, strategy });
        }
    }
    configured
}

fn build(
    source: ArgsSource<'_>,
    def: &StrategyDef,
    diagnostics: &mut Diagnostics,
) -> Option<Box<dyn Strategy>> {
    let strategy = Args::read(source, diagnostics, def.build);
    if strategy.is_none() && !diagnostics.has_errors() {
        // Its reader gave up without a reason. Nothing must run on that.
        let message = format!("the arguments of `{}` could not be used", def.name);
        diagnostics.error("unusable-arguments", source.fallback, message);
    }
    strategy
}

/// The strategies of one pass, in the order enabled.
fn steps(pass: Pass, enabled: &[Enabled<'_>], configured: &[Configured<'_>]) -> Vec<Step> {
    enabled
        .iter()
        .filter(|plugin| plugin.point == pass.extension_point())
        .filter_map(|plugin| {
            let found = configured.iter().find(|configured| configured.name == plugin.name)?;
            let (def, strategy) = found.strategy.as_ref()?;
            Some(Step { def, strategy: Arc::clone(strategy) })
        })
        .collect()
}
