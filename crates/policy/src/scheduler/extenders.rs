//! Extenders: programs that the scheduler asks over the network. What they would say is not
//! known, so using them is warned of.

use std::collections::BTreeMap;

use descheduler_cluster::GoDuration;
use descheduler_engine::{Diagnostics, Span, Value};

use crate::fields::{Fields, as_fields};

/// Reads the extenders and returns the resources that the scheduler leaves to them.
pub(super) fn read(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Vec<String> {
    let items = fields.list("extenders", diagnostics).map_or(&[][..], |(_, items)| items);
    let mut ignored = Vec::new();
    let mut managed: BTreeMap<String, Span> = BTreeMap::new();
    let mut binder: Option<Span> = None;
    for (at, item) in items.iter().enumerate() {
        let path = format!("extenders[{at}]");
        let Some(mut fields) = as_fields(&path, item, diagnostics) else { continue };
        let binds = one(&mut fields, item, diagnostics);
        if let Some(first) = binder.filter(|_| binds) {
            diagnostics
                .error("second-binder", item.span, format!("`{path}` is a second one that binds"))
                .related(first, "the first one");
        }
        binder = binder.or(binds.then_some(item.span));
        let resources =
            fields.list("managedResources", diagnostics).map_or(&[][..], |(_, items)| items);
        let path = fields.path("managedResources");
        for (at, resource) in resources.iter().enumerate() {
            let path = format!("{path}[{at}]");
            ignored.extend(managed_resource(&path, resource, &mut managed, diagnostics));
        }
        fields.refuse_unknown(diagnostics);
    }
    ignored
}

/// Checks one extender; whether it binds pods.
fn one(fields: &mut Fields<'_>, item: &Value, diagnostics: &mut Diagnostics) -> bool {
    let url: String = fields.value("urlPrefix", diagnostics).unwrap_or_default();
    let text = |fields: &mut Fields<'_>, name, diagnostics: &mut Diagnostics| -> bool {
        fields.value::<String>(name, diagnostics).is_some_and(|text| !text.is_empty())
    };
    text(fields, "filterVerb", diagnostics);
    text(fields, "preemptVerb", diagnostics);
    let scores = text(fields, "prioritizeVerb", diagnostics);
    let binds = text(fields, "bindVerb", diagnostics);
    let weight: i64 = fields.value("weight", diagnostics).unwrap_or(0);
    if scores && weight <= 0 {
        let span = fields.entry("weight").map_or(item.span, |entry| entry.value.span);
        let message = format!("`{}` is {weight}, not above 0", fields.path("weight"));
        diagnostics.error("out-of-range", span, message);
    }
    for name in ["enableHTTPS", "nodeCacheCapable", "ignorable"] {
        fields.value::<bool>(name, diagnostics);
    }
    fields.value::<GoDuration>("httpTimeout", diagnostics);
    if let Some((_, mut inner)) = fields.map("tlsConfig", diagnostics) {
        inner.value::<bool>("insecure", diagnostics);
        for name in ["serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData"]
        {
            inner.value::<String>(name, diagnostics);
        }
        inner.refuse_unknown(diagnostics);
    }
    diagnostics
        .warning("extender", item.span, format!("the extender `{url}` is not asked"))
        .help("predictions leave out what it would filter and score".to_owned());
    binds
}

/// A resource that an extender manages, if the scheduler is told to ignore it.
fn managed_resource(
    path: &str,
    value: &Value,
    managed: &mut BTreeMap<String, Span>,
    diagnostics: &mut Diagnostics,
) -> Option<String> {
    let mut fields = as_fields(path, value, diagnostics)?;
    let name: String = fields.value("name", diagnostics).unwrap_or_default();
    let ignored: bool = fields.value("ignoredByScheduler", diagnostics).unwrap_or_default();
    let span = fields.entry("name").map_or(value.span, |entry| entry.value.span);
    let extended = name.contains('/') && !name.contains("kubernetes.io/");
    if !extended || super::args::label_key(&name).is_err() {
        let message = format!("`{name}` is no extended resource");
        diagnostics
            .error("bad-resource", span, message)
            .help("a name such as `example.com/device` is one".to_owned());
    } else if let Some(first) = managed.insert(name.clone(), span) {
        diagnostics
            .error("duplicate-name", span, format!("`{name}` is managed twice"))
            .related(first, "first here");
    }
    fields.refuse_unknown(diagnostics);
    ignored.then_some(name)
}
