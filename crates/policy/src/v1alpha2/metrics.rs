//! Where measured usage comes from (docs/spec/runtime.md section 3.4).

mod url;

use std::collections::BTreeMap;

use descheduler_engine::{Diagnostics, Entry, Severity, Span, did_you_mean};

use crate::fields::{Fields, as_fields};

const KUBERNETES: &str = "KubernetesMetrics";
const PROMETHEUS: &str = "Prometheus";

/// Checks `metricsCollector` and `metricsProviders`.
pub(super) fn check(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) {
    let collector = collector(fields, diagnostics);
    let Some((_, items)) = fields.list("metricsProviders", diagnostics) else { return };
    let mut seen: BTreeMap<String, Span> = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        let path = format!("metricsProviders[{at}]");
        let Some(mut provider) = as_fields(&path, item, diagnostics) else { continue };
        let span = provider.entry("source").map_or(item.span, |entry| entry.value.span);
        let source: String = provider.value("source", diagnostics).unwrap_or_default();
        let prometheus = provider.map("prometheus", diagnostics);
        if let Some(first) = seen.get(&source) {
            diagnostics
                .error("provider-twice", span, format!("`{source}` is configured twice"))
                .related(*first, "first here");
        } else {
            seen.insert(source.clone(), span);
        }
        match source.as_str() {
            KUBERNETES => {
                if let Some(collector) = collector {
                    let message = "a metrics provider cannot be combined with `metricsCollector`";
                    diagnostics
                        .error("collector-and-provider", span, message)
                        .help("take `metricsCollector` out: it means the same".to_owned())
                        .related(collector, "enabled here");
                }
            }
            PROMETHEUS if prometheus.is_none() => {
                missing_prometheus(&mut provider, span, diagnostics)
            }
            PROMETHEUS => {}
            // Upstream tolerates it, and finds no such source when a strategy asks for it.
            _ => {
                diagnostics
                    .warning("unknown-source", span, format!("unknown metrics source `{source}`"))
                    .help(did_you_mean(&source, [KUBERNETES, PROMETHEUS]));
            }
        }
        if let Some((entry, inner)) = prometheus {
            check_prometheus(entry, inner, source == PROMETHEUS, diagnostics);
        }
        provider.warn_of_unknown(diagnostics);
    }
}

/// The old way to ask for measured usage: where it is switched on.
fn collector(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Span> {
    let (entry, mut collector) = fields.map("metricsCollector", diagnostics)?;
    let enabled: bool = collector.value("enabled", diagnostics).unwrap_or_default();
    collector.warn_of_unknown(diagnostics);
    let severity = if enabled { Severity::Warning } else { Severity::Note };
    diagnostics
        .push(
            severity,
            "deprecated-metrics-collector",
            entry.key_span,
            "`metricsCollector` is deprecated",
        )
        .help(format!("write `metricsProviders: [{{source: {KUBERNETES}}}]`"));
    enabled.then_some(entry.key_span)
}

/// Says what the Prometheus source lacks, unless what is there was of a wrong type.
fn missing_prometheus(provider: &mut Fields<'_>, span: Span, diagnostics: &mut Diagnostics) {
    if provider.entry("prometheus").is_none() {
        let message = format!("the source `{PROMETHEUS}` needs a `prometheus` block");
        diagnostics
            .error("missing-prometheus", span, message)
            .help("add `prometheus: {url: ...}` beside it".to_owned());
    }
}

/// Upstream looks at what is inside only if the source is Prometheus; the types always have to be
/// right.
fn check_prometheus(
    entry: &Entry,
    mut fields: Fields<'_>,
    used: bool,
    diagnostics: &mut Diagnostics,
) {
    let at = fields.entry("url").map_or(entry.key_span, |url| url.value.span);
    let path = fields.path("url");
    let given = fields.entry("url").is_some();
    match fields.value::<String>("url", diagnostics) {
        _ if !used => {}
        Some(url) if !url.is_empty() => url::check(&path, &url, at, diagnostics),
        None if given => {}
        Some(_) | None => {
            diagnostics.error("missing-url", at, format!("`{path}` must be given"));
        }
    }
    if let Some((token, inner)) = fields.map("authToken", diagnostics) {
        check_token(token, inner, used, diagnostics);
    }
    fields.warn_of_unknown(diagnostics);
}

fn check_token(entry: &Entry, mut token: Fields<'_>, used: bool, diagnostics: &mut Diagnostics) {
    let path = token.path("secretReference");
    let given = token.entry("secretReference").is_some();
    match token.map("secretReference", diagnostics) {
        Some((reference, mut inner)) => {
            for name in ["namespace", "name"] {
                let misread = inner.entry(name).is_some_and(|e| e.value.as_text().is_none());
                let text: String = inner.value(name, diagnostics).unwrap_or_default();
                if text.is_empty() && used && !misread {
                    let message = format!("`{path}` has no `{name}`");
                    diagnostics
                        .error("missing-secret", reference.key_span, message)
                        .help("name the secret and its namespace".to_owned());
                }
            }
            inner.warn_of_unknown(diagnostics);
        }
        None if given || !used => {}
        None => {
            let message = format!("`{path}` must be given where there is an `authToken`");
            diagnostics.error("missing-secret", entry.key_span, message);
        }
    }
    token.warn_of_unknown(diagnostics);
}
