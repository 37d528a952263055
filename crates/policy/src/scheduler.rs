//! The configuration of kube-scheduler, `kubescheduler.config.k8s.io/v1`
//! (docs/spec/scheduler.md section 11.5).
//!
//! kube-scheduler reads it strictly: a field that does not exist is an error, and so it is here.
//! Fields that do not change where pods go are checked for their type and forgotten. What the
//! model does not know, plugins from elsewhere and extenders, is warned of.

mod args;
mod extenders;
mod plugins;
mod settings;

use std::collections::BTreeMap;

use descheduler_engine::{Diagnostics, Entry, Mismatch, Node, Span, Value, did_you_mean};
use descheduler_scheduler::{Profile, Version};

use crate::fields::{Fields, as_fields, mismatch};
use crate::{source, yaml};

const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";
const KIND: &str = "KubeSchedulerConfiguration";

/// What a profile is called if it is the only one and has no name.
const DEFAULT_NAME: &str = "default-scheduler";

/// Reads the configuration of a kube-scheduler of some version.
///
/// `bytes` is the content of the file, `file` its name for messages. There are no profiles
/// exactly if an error was found.
pub fn load(bytes: &[u8], file: &str, version: Version) -> (Option<Vec<Profile>>, Diagnostics) {
    let mut diagnostics = Diagnostics::new(file);
    let profiles = read(bytes, version, &mut diagnostics);
    let profiles = profiles.filter(|_| !diagnostics.has_errors());
    (profiles, diagnostics)
}

fn read(bytes: &[u8], version: Version, diagnostics: &mut Diagnostics) -> Option<Vec<Profile>> {
    let text = source::checked(bytes, diagnostics)?;
    let root = yaml::parse(&text, diagnostics)?;
    let mut fields = header(&root, diagnostics)?;
    report_duplicates(&root, 0, diagnostics);
    settings::check(&mut fields, diagnostics);
    let percentage = percentage(&mut fields, diagnostics);
    let ignored = extenders::read(&mut fields, diagnostics);
    let items = fields.list("profiles", diagnostics).map_or(&[][..], |(_, items)| items);
    let mut profiles = read_profiles(items, root.span, version, diagnostics);
    fields.refuse_unknown(diagnostics);
    for (profile, own_percentage) in &mut profiles {
        profile.percentage_of_nodes_to_score = own_percentage.or(percentage).unwrap_or(0);
        if !ignored.is_empty() {
            profile.fit.ignored_resources.clone_from(&ignored);
        }
    }
    Some(profiles.into_iter().map(|(profile, _)| profile).collect())
}

/// The fields of the file, if it is such a configuration at all. A wrong version is reported and
/// the rest read all the same, so that everything is said at once.
fn header<'v>(root: &'v Value, diagnostics: &mut Diagnostics) -> Option<Fields<'v>> {
    if root.is_null() {
        diagnostics
            .error("empty-file", root.span, "the configuration is empty")
            .help(format!("it begins with `apiVersion: {API_VERSION}` and `kind: {KIND}`"));
        return None;
    }
    let Some(map) = root.as_map() else {
        mismatch("configuration", root, Mismatch::type_of("a mapping"), diagnostics);
        return None;
    };
    let mut fields = Fields::new(map, "");
    let version: Option<String> = fields.value("apiVersion", diagnostics);
    let kind: Option<String> = fields.value("kind", diagnostics);
    let begins = map.entries.first().map_or(root.span, |entry| entry.key_span);
    let group = API_VERSION.split('/').next().unwrap_or_default();
    let is_ours = version.as_ref().is_some_and(|version| version.starts_with(group));
    if let (Some(kind), Some(entry)) = (&kind, map.given("kind"))
        && kind != KIND
    {
        let message = format!("expected the kind `{KIND}`, found `{kind}`");
        let close = did_you_mean(kind, [KIND]);
        let is_close = close.is_some();
        diagnostics.error("wrong-kind", entry.value.span, message).help(close);
        if !is_ours && !is_close {
            return None;
        }
    }
    match (&version, map.given("apiVersion")) {
        (Some(version), Some(entry)) if version != API_VERSION => {
            let message = format!("expected the apiVersion `{API_VERSION}`, found `{version}`");
            let help = match is_ours {
                true => Some("older versions have the same fields, except for a few".to_owned()),
                false => did_you_mean(version, [API_VERSION]),
            };
            diagnostics.error("wrong-api-version", entry.value.span, message).help(help);
        }
        (None, None) => {
            diagnostics
                .error("missing-api-version", begins, "`apiVersion` is missing")
                .help(format!("begin the file with `apiVersion: {API_VERSION}`"));
        }
        _ => {}
    }
    if map.given("kind").is_none() {
        diagnostics
            .error("missing-kind", begins, "`kind` is missing")
            .help(format!("begin the file with `kind: {KIND}`"));
    }
    Some(fields)
}

/// A percentage of the nodes, which holds for all profiles or for one.
fn percentage(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Option<i32> {
    const NAME: &str = "percentageOfNodesToScore";
    let percentage: i32 = fields.value(NAME, diagnostics)?;
    if !(0..=100).contains(&percentage)
        && let Some(entry) = fields.entry(NAME)
    {
        let message = format!("`{}` is {percentage}, not 0 to 100", fields.path(NAME));
        diagnostics.error("out-of-range", entry.value.span, message);
    }
    Some(percentage)
}

/// The profiles, each with its own percentage of nodes.
fn read_profiles(
    items: &[Value],
    nowhere: Span,
    version: Version,
    diagnostics: &mut Diagnostics,
) -> Vec<(Profile, Option<i32>)> {
    if items.is_empty() {
        let plugins = plugins::Plugins::default().resolve(version, nowhere, diagnostics);
        return vec![(plugins.into_profile(DEFAULT_NAME.to_owned()), None)];
    }
    let mut names: BTreeMap<String, Span> = BTreeMap::new();
    let mut read = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let path = format!("profiles[{at}]");
        let Some(mut fields) = as_fields(&path, item, diagnostics) else { continue };
        let name = match fields.value::<String>("schedulerName", diagnostics) {
            None if items.len() == 1 => DEFAULT_NAME.to_owned(),
            name => name.unwrap_or_default(),
        };
        let span = fields.entry("schedulerName").map_or(item.span, |entry| entry.value.span);
        if name.is_empty() {
            diagnostics
                .error("missing-name", span, format!("`{path}` has no `schedulerName`"))
                .help("only a single profile may go without".to_owned());
        } else if let Some(first) = names.insert(name.clone(), span) {
            diagnostics
                .error("duplicate-name", span, format!("a second profile is called `{name}`"))
                .related(first, "the first one");
        }
        let percentage = percentage(&mut fields, diagnostics);
        let plugins = match fields.map("plugins", diagnostics) {
            Some((_, inner)) => plugins::Plugins::read(inner, diagnostics),
            None => plugins::Plugins::default(),
        };
        let mut profile = plugins.resolve(version, span, diagnostics).into_profile(name);
        args::read(&mut fields, version, &mut profile, diagnostics);
        fields.refuse_unknown(diagnostics);
        read.push((profile, percentage));
    }
    read
}

/// Keys given twice, arguments of plugins aside: the reader of arguments looks for itself.
fn report_duplicates(value: &Value, depth: usize, diagnostics: &mut Diagnostics) {
    match &value.node {
        Node::Scalar(_) => {}
        Node::List(items) => {
            items.iter().for_each(|item| report_duplicates(item, depth, diagnostics));
        }
        Node::Map(map) => {
            for (earlier, later) in map.duplicates() {
                let message = format!("`{}` is given twice", later.key);
                diagnostics
                    .error("duplicate-key", later.key_span, message)
                    .related(earlier.key_span, "first here");
            }
            for Entry { key, value, .. } in &map.entries {
                // Three mappings down: the file, a profile, an entry of its pluginConfig.
                if !(depth == 2 && key == "args") {
                    report_duplicates(value, depth + 1, diagnostics);
                }
            }
        }
    }
}
