//! The values of upstream's Helm chart (docs/spec/runtime.md section 16).

use descheduler_engine::{Diagnostics, Entry, Map, Mismatch, Node, Scalar, Span, Value};

use crate::fields::mismatch;
use crate::yaml;

/// The policy among the values, without its header.
pub(super) const POLICY: &str = "deschedulerPolicy";

/// Its apiVersion.
const VERSION: &str = "deschedulerPolicyAPIVersion";

/// Values that no other chart has. Without a policy among them, that of the chart holds.
const MARKS: [&str; 3] = [VERSION, "deschedulingInterval", "cronJobApiVersion"];

/// What is run if the values do not say (docs/spec/runtime.md section 16.4).
const DEFAULT: &str = include_str!("chart.yaml");

/// Whether a mapping is the values of the chart.
pub(super) fn is_values(map: &Map) -> bool {
    map.get(POLICY).is_some() || MARKS.iter().any(|mark| map.given(mark).is_some())
}

/// Whether no policy is given, as where it stands elsewhere.
pub(super) fn is_silent(map: &Map) -> bool {
    is_values(map) && map.given(POLICY).is_none()
}

/// The policy file that the chart makes of its values.
pub(super) fn policy(values: &Map, diagnostics: &mut Diagnostics) -> Option<Value> {
    static NOTHING: Map = Map { entries: Vec::new() };
    if let Some(off) = values.get(POLICY).filter(|entry| entry.value.is_null()) {
        let message = format!("there is no policy: where `{POLICY}` is null the chart makes none");
        diagnostics.error("no-policy", off.key_span, message);
        return None;
    }
    let given = values.given(POLICY);
    let body = given.map_or(Some(&NOTHING), |entry| entry.value.as_map());
    let (Some(body), Some(begins)) = (body, given.or(values.entries.first())) else {
        let entry = given?;
        mismatch(POLICY, &entry.value, Mismatch::type_of("a mapping"), diagnostics);
        return None;
    };
    let span = begins.key_span;
    let version = values.given(VERSION);
    let is_old = version.is_none() && is_of_old_chart(body, diagnostics);
    let version = version.map_or_else(
        || text(if is_old { "descheduler/v1alpha1" } else { "descheduler/v1alpha2" }, span),
        |entry| entry.value.clone(),
    );
    let is_old = is_old || version.as_text() == Some("descheduler/v1alpha1");
    let mut entries = vec![
        Entry { key: "apiVersion".to_owned(), key_span: version.span, value: version },
        Entry { key: "kind".to_owned(), key_span: span, value: text("DeschedulerPolicy", span) },
    ];
    entries.extend(body.entries.iter().cloned());
    if body.get("profiles").is_none() && !is_old {
        let message = format!("no `profiles` are given in `{POLICY}`: the chart's own are run");
        let message = if given.is_some() {
            message
        } else {
            format!("no `{POLICY}` is given: the chart's own is run")
        };
        diagnostics.note("chart-defaults", span, message);
        entries.extend(default_profiles(span));
    }
    Some(Value { span, node: Node::Map(Map { entries }) })
}

/// Charts up to 0.27 knew v1alpha1 alone and did not ask. Later ones ignore `strategies` and go on
/// with their own profiles, which nobody means who writes it.
fn is_of_old_chart(body: &Map, diagnostics: &mut Diagnostics) -> bool {
    let Some(old) = body.given("strategies").filter(|_| body.get("profiles").is_none()) else {
        return false;
    };
    let message = format!(
        "without `{VERSION}` only charts up to 0.27 act upon `strategies`; later ones ignore it and \
         run profiles of their own"
    );
    diagnostics
        .warning("deprecated-chart-strategies", old.key_span, message)
        .help(format!("set `{VERSION}: descheduler/v1alpha1`; it is read as that here"));
    true
}

/// The profiles of the chart, as if they stood at one place.
fn default_profiles(span: Span) -> Option<Entry> {
    let root = yaml::parse(DEFAULT, &mut Diagnostics::new("chart.yaml"))?;
    let mut entry = root.as_map()?.get("profiles")?.clone();
    entry.key_span = span;
    put(&mut entry.value, span);
    Some(entry)
}

/// Puts a value and all that is inside at one place.
fn put(value: &mut Value, span: Span) {
    value.span = span;
    match &mut value.node {
        Node::Scalar(_) => {}
        Node::List(items) => items.iter_mut().for_each(|item| put(item, span)),
        Node::Map(map) => {
            for entry in &mut map.entries {
                entry.key_span = span;
                put(&mut entry.value, span);
            }
        }
    }
}

fn text(text: &str, span: Span) -> Value {
    Value { span, node: Node::Scalar(Scalar::quoted(text)) }
}
