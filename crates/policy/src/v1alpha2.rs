//! The format `descheduler/v1alpha2` (docs/spec/runtime.md section 3).

mod advice;
mod loop_breaker;
mod metrics;
mod misplaced;
mod opposites;
mod points;
mod profile;

use std::collections::BTreeMap;

use descheduler_cluster::LabelSelector;
use descheduler_engine::{
    Diagnostics, Entry, Limits, Mismatch, Node, Placement, Policy, Profile, Scalar, ScalarKind,
    Span, Value,
};
use descheduler_scheduler::Scheduler;

use crate::Surroundings;
use crate::catalog::Catalog;
use crate::fields::{Fields, as_fields, mismatch};
use crate::header::Format;
use misplaced::Level;

pub(crate) use misplaced::{OLD_SWITCHES, STRUCTURE};

/// Reads a policy whose header has been looked at; `written_as` is the format of the file that it
/// came from. What is returned counts only if no error was reported.
pub(crate) fn read(
    root: &Value,
    written_as: Format,
    catalog: &Catalog<'_>,
    surroundings: &Surroundings<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Policy> {
    let mut fields = Fields::new(root.as_map()?, "");
    fields.entry("apiVersion");
    fields.entry("kind");
    let node_selector = node_selector(&mut fields, diagnostics);
    let limits = Limits {
        total: limit(&mut fields, "maxNoOfPodsToEvictTotal", diagnostics),
        per_node: limit(&mut fields, "maxNoOfPodsToEvictPerNode", diagnostics),
        per_namespace: limit(&mut fields, "maxNoOfPodsToEvictPerNamespace", diagnostics),
    };
    let notify: Option<bool> = fields.value("evictionFailureEventNotification", diagnostics);
    let grace_period_seconds = grace_period(&mut fields, diagnostics);
    metrics::check(&mut fields, diagnostics);
    let (placement, confidence) = placement(&mut fields, diagnostics);
    let loop_breaker = loop_breaker::read(&mut fields, diagnostics);
    let given = fields.entry("profiles");
    let items = fields.list("profiles", diagnostics).map_or(&[][..], |(_, items)| items);
    let old = fields.entry("strategies");
    // A `profiles` of the wrong type has been complained about, and is not empty.
    if given.is_none_or(|entry| entry.value.as_list().is_some_and(<[Value]>::is_empty)) {
        // Of a policy that was rewritten, this has been said in its own words.
        if written_as == Format::V1alpha2 {
            nothing_runs(root, old, diagnostics);
        }
    } else if let Some(old) = old {
        let message = "`strategies` belongs to v1alpha1 and is ignored here";
        diagnostics.warning("v1alpha1-strategies", old.key_span, message).help(ENABLE.to_owned());
    }
    for entry in fields.unknown() {
        misplaced::report(Level::Top, entry, &fields, catalog, diagnostics);
    }
    let mode = surroundings.placement.or(placement).unwrap_or(Placement::DEFAULT);
    let profiles = read_profiles(items, mode, catalog, surroundings, diagnostics);
    report_duplicates(root, diagnostics);
    Some(Policy {
        node_selector,
        limits,
        grace_period_seconds,
        eviction_failure_event_notification: notify.unwrap_or_default(),
        placement,
        confidence: confidence.unwrap_or(Placement::CONFIDENCE),
        loop_breaker,
        scheduler: Scheduler::default(),
        profiles,
    })
}

/// Which nodes are worked on, of the policy or of a profile.
fn node_selector(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Option<LabelSelector> {
    let text: String = fields.value("nodeSelector", diagnostics)?;
    let entry = fields.entry("nodeSelector")?;
    match LabelSelector::parse(&text) {
        Ok(selector) => Some(selector).filter(|selector| !selector.is_empty()),
        Err(error) => {
            // Upstream notices only when it first lists nodes, and then does nothing for ever.
            let message = format!("`{}`: {error}", fields.path("nodeSelector"));
            diagnostics.error("bad-selector", entry.value.span, message);
            None
        }
    }
}

fn limit(
    fields: &mut Fields<'_>,
    name: &'static str,
    diagnostics: &mut Diagnostics,
) -> Option<u64> {
    let limit: u64 = fields.value(name, diagnostics)?;
    if let Some(entry) = fields.entry(name).filter(|_| limit == 0) {
        // Not "no limit" (docs/spec/strategies.md section 1.4).
        let message = format!("`{name}` is 0: nothing is evicted at all");
        diagnostics
            .warning("limit-of-zero", entry.value.span, message)
            .help("leave it out if there is to be no limit".to_owned());
    }
    Some(limit)
}

fn grace_period(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Option<i64> {
    let seconds: i64 = fields.value("gracePeriodSeconds", diagnostics)?;
    if let Some(entry) = fields.entry("gracePeriodSeconds").filter(|_| seconds < 0) {
        let message = format!("`gracePeriodSeconds` is {seconds}, which no pod can be given");
        diagnostics
            .warning("negative-grace-period", entry.value.span, message)
            .help("leave it out to keep what each pod asks for".to_owned());
    }
    Some(seconds)
}

/// Our own field, of the policy or of a profile: how much must be known about where a pod lands.
fn placement(
    fields: &mut Fields<'_>,
    diagnostics: &mut Diagnostics,
) -> (Option<Placement>, Option<f64>) {
    let Some((_, mut inner)) = fields.map("placement", diagnostics) else {
        return (None, None);
    };
    let mode = inner.entry("mode");
    let confidence: Option<f64> = inner.value("confidence", diagnostics);
    if let Some(entry) = inner.entry("confidence")
        && confidence.is_some_and(|share| !(0.0..=1.0).contains(&share))
    {
        let path = inner.path("confidence");
        let message = format!("`{path}`: expected a share from 0 to 1");
        diagnostics.error("out-of-range", entry.value.span, message);
    }
    inner.warn_of_unknown(diagnostics);
    let path = inner.path("mode");
    let mode = mode.and_then(|mode| placement_mode(&path, &mode.value, diagnostics));
    (mode, confidence)
}

fn placement_mode(path: &str, value: &Value, diagnostics: &mut Diagnostics) -> Option<Placement> {
    // Unquoted, `Off` is a boolean in YAML 1.1; its text still says what is meant.
    let text = match &value.node {
        Node::Scalar(Scalar { text, kind: ScalarKind::Text | ScalarKind::Bool(_), .. }) => text,
        Node::Scalar(_) | Node::List(_) | Node::Map(_) => "",
    };
    let mode = Placement::parse(text);
    if mode.is_none() {
        mismatch(path, value, Mismatch::choice(text, &Placement::NAMES), diagnostics);
    }
    mode
}

const ENABLE: &str = "enable strategies in `profiles`, under `plugins`";

/// There are no profiles. With v1alpha1 strategies instead, the author believes that there are.
fn nothing_runs(root: &Value, old: Option<&Entry>, diagnostics: &mut Diagnostics) {
    if let Some(old) = old {
        let message = "`strategies` belongs to v1alpha1: here nothing at all would run";
        diagnostics.error("v1alpha1-strategies", old.key_span, message).help(ENABLE.to_owned());
        return;
    }
    let key = root.as_map().and_then(|map| map.get("profiles").or(map.entries.first()));
    let span = key.map_or(root.span, |entry| entry.key_span);
    let message = "there are no `profiles`: nothing will run";
    diagnostics.warning("no-profiles", span, message).help(ENABLE.to_owned());
}

fn read_profiles(
    items: &[Value],
    placement: Placement,
    catalog: &Catalog<'_>,
    surroundings: &Surroundings<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Profile> {
    let mut read = Vec::new();
    let mut names: BTreeMap<String, Span> = BTreeMap::new();
    let (mut pools, mut no_fit) = (Vec::new(), Vec::new());
    for (at, item) in items.iter().enumerate() {
        let path = format!("profiles[{at}]");
        let Some(fields) = as_fields(&path, item, diagnostics) else { continue };
        let found = profile::read(fields, item.span, catalog, diagnostics);
        if let Some(first) = names.get(&found.name) {
            let message = format!("a second profile is called `{}`", found.name);
            diagnostics
                .note("duplicate-profile-name", found.span, message)
                .help("metrics and logs cannot tell the two apart".to_owned())
                .related(*first, "the first one");
        } else {
            names.insert(found.name.clone(), found.span);
        }
        let mut pool = found.pool;
        // A flag goes over everything that is written.
        let mode = surroundings.placement.or(pool.placement).unwrap_or(placement);
        pool.placement = Some(mode);
        pools.push(pool);
        no_fit.extend(found.no_fit.filter(|_| mode == Placement::Off));
        read.extend(found.profile);
    }
    advice::room(&no_fit, diagnostics);
    opposites::warn(&pools, surroundings, diagnostics);
    read
}

/// Keys given twice, arguments aside: the reader of arguments is stricter with them.
pub(crate) fn report_duplicates(root: &Value, diagnostics: &mut Diagnostics) {
    fn visit(value: &Value, depth: usize, diagnostics: &mut Diagnostics) {
        match &value.node {
            Node::Scalar(_) => {}
            Node::List(items) => items.iter().for_each(|item| visit(item, depth, diagnostics)),
            Node::Map(map) => {
                for (earlier, later) in map.duplicates() {
                    let message = format!("`{}` is given twice; the last one counts", later.key);
                    diagnostics
                        .warning("duplicate-key", later.key_span, message)
                        .related(earlier.key_span, "first here");
                }
                for entry in &map.entries {
                    // Three mappings down: the policy, a profile, an entry of its pluginConfig.
                    if !(depth == 2 && entry.key == "args") {
                        visit(&entry.value, depth + 1, diagnostics);
                    }
                }
            }
        }
    }
    visit(root, 0, diagnostics);
}
