//! Which format a file has (docs/spec/runtime.md section 3.2, table of apiVersion and kind).

use descheduler_engine::{Diagnostics, Entry, Map, Mismatch, Value, did_you_mean};

use crate::fields::mismatch;

const V1ALPHA1: &str = "descheduler/v1alpha1";
const V1ALPHA2: &str = "descheduler/v1alpha2";
const KIND: &str = "DeschedulerPolicy";

/// How the rest of the file is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    V1alpha1,
    V1alpha2,
}

/// Whether a document says that it is a policy, whatever else may be wrong with it.
pub(crate) fn is_policy(root: &Value) -> bool {
    let Some(map) = root.as_map() else { return false };
    let text = |name| map.given(name).and_then(|entry| entry.value.as_text()).unwrap_or_default();
    text("apiVersion").starts_with("descheduler/") || text("kind").eq_ignore_ascii_case(KIND)
}

/// Whether a document without `apiVersion` and `kind` must be meant for a policy.
pub(crate) fn looks_like_policy(root: &Value) -> bool {
    let Some(map) = root.as_map() else { return false };
    if map.given("apiVersion").is_some() || map.given("kind").is_some() {
        return false;
    }
    let has = |value: &Value, keys: [&str; 2]| {
        value.as_map().is_some_and(|map| keys.iter().any(|key| map.given(key).is_some()))
    };
    let profiles = map.given("profiles").and_then(|entry| entry.value.as_list());
    let strategies = map.given("strategies").and_then(|entry| entry.value.as_map());
    profiles.into_iter().flatten().any(|profile| has(profile, ["pluginConfig", "plugins"]))
        || strategies
            .is_some_and(|map| map.entries.iter().any(|e| has(&e.value, ["enabled", "params"])))
}

/// Finds out the format. Where `apiVersion` or `kind` is wrong in a file that still looks like a
/// policy, that is reported and the rest is read all the same, so that everything is said at once.
pub(crate) fn read(root: &Value, diagnostics: &mut Diagnostics) -> Option<Format> {
    if root.is_null() {
        diagnostics
            .error("empty-file", root.span, "the policy is empty")
            .help(format!("a policy begins with `apiVersion: {V1ALPHA2}` and `kind: {KIND}`"));
        return None;
    }
    let Some(map) = root.as_map() else {
        mismatch("policy", root, Mismatch::type_of("a mapping"), diagnostics);
        return None;
    };
    let version = text(map, "apiVersion", diagnostics)?;
    let kind = text(map, "kind", diagnostics)?;
    let group = version.and_then(|(_, version)| version.split_once('/')).map(|(group, _)| group);
    if let Some((entry, kind)) = kind
        && group != Some("descheduler")
        && kind != KIND
        && did_you_mean(kind, [KIND]).is_none()
    {
        let of = version.map(|(_, version)| format!(" of `{version}`")).unwrap_or_default();
        let message = format!("expected a `{KIND}` of `{V1ALPHA2}`, found `{kind}`{of}");
        diagnostics.error("not-a-policy", entry.value.span, message).help(match kind {
            "KubeDescheduler" => {
                "an operator makes the policy from it, in a ConfigMap: that is what can be read"
                    .to_owned()
            }
            _ => "the file holds no policy, neither as a text, as in a ConfigMap, nor as the \
                  `deschedulerPolicy` of Helm values"
                .to_owned(),
        });
        return None;
    }
    if let Some((entry, kind)) = kind.filter(|(_, kind)| *kind != KIND) {
        let message = format!("expected the kind `{KIND}`, found `{kind}`");
        diagnostics.error("wrong-kind", entry.value.span, message);
    }
    match version {
        Some((_, V1ALPHA2)) => Some(Format::V1alpha2),
        Some((_, V1ALPHA1)) => Some(Format::V1alpha1),
        Some((entry, version)) => {
            let message = format!("expected the apiVersion `{V1ALPHA2}`, found `{version}`");
            diagnostics
                .error("wrong-api-version", entry.value.span, message)
                .help(did_you_mean(version, [V1ALPHA2]));
            Some(Format::V1alpha2)
        }
        None => {
            // Upstream takes such a file for an empty policy, without a word.
            let span = map.entries.first().map_or(root.span, |entry| entry.key_span);
            let old = map.given("strategies").is_some() && map.given("profiles").is_none();
            let (meant, format) = match old {
                true => (V1ALPHA1, Format::V1alpha1),
                false => (V1ALPHA2, Format::V1alpha2),
            };
            diagnostics
                .error("missing-api-version", span, "`apiVersion` is missing")
                .help(format!("begin the policy with `apiVersion: {meant}`"));
            Some(format)
        }
    }
}

/// A field that has to be text: `None` if it is something else, `Some(None)` if it is absent.
fn text<'v>(
    map: &'v Map,
    name: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Option<(&'v Entry, &'v str)>> {
    let Some(entry) = map.given(name) else { return Some(None) };
    let text = entry.value.as_text();
    if text.is_none() {
        mismatch(name, &entry.value, Mismatch::type_of("a string"), diagnostics);
    }
    Some(Some((entry, text?)))
}
