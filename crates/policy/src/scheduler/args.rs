//! `pluginConfig`: the arguments of the scheduler's plugins (docs/spec/scheduler.md section 11.5).

mod affinity;

use std::collections::BTreeMap;

use descheduler_cluster::{GoDuration, LabelOperator, LabelRequirement};
use descheduler_engine::{Args, ArgsSource, Diagnostics, Mismatch, Span, Value, did_you_mean};
use descheduler_scheduler::{
    DefaultConstraint, FitArgs, InterPodArgs, Profile, ScoringStrategy, ShapePoint, SpreadDefaults,
    Version,
};

use super::{API_VERSION, plugins};
use crate::fields::{Fields, as_fields, mismatch};

/// Plugins that take arguments.
const CONFIGURABLE: [&str; 8] = [
    "DefaultPreemption",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesFit",
    "PodTopologySpread",
    "VolumeBinding",
    "NodeAffinity",
    "DynamicResources",
];

/// Reads `pluginConfig` into the profile.
pub(super) fn read(
    fields: &mut Fields<'_>,
    version: Version,
    profile: &mut Profile,
    diagnostics: &mut Diagnostics,
) {
    let entries = fields.list("pluginConfig", diagnostics).map_or(&[][..], |(_, items)| items);
    let path = fields.path("pluginConfig");
    let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let Some((name, span, args)) = read_entry(&path, entry, diagnostics) else { continue };
        if let Some(first) = seen.insert(name, span) {
            diagnostics
                .error("configured-twice", span, format!("`{name}` is configured twice"))
                .related(first, "first here");
        }
        if !CONFIGURABLE.contains(&name) {
            warn_of_other(name, span, diagnostics);
            continue;
        }
        if let Some(args) = args {
            check_type(name, args, diagnostics);
        }
        let source = ArgsSource { plugin: name, value: args, fallback: span };
        one(source, version, profile, diagnostics);
    }
}

/// The plugin's name, its place, and the arguments.
fn read_entry<'v>(
    path: &str,
    entry: &'v Value,
    diagnostics: &mut Diagnostics,
) -> Option<(&'v str, Span, Option<&'v Value>)> {
    let mut fields = as_fields(path, entry, diagnostics)?;
    let name = fields.entry("name");
    let args = fields.entry("args").map(|args| &args.value);
    fields.refuse_unknown(diagnostics);
    let Some(name) = name else {
        diagnostics
            .error("missing-name", entry.span, format!("`{path}` has no `name`"))
            .help("name the plugin that it configures".to_owned());
        return None;
    };
    let Some(text) = name.value.as_text() else {
        mismatch(&fields.path("name"), &name.value, Mismatch::type_of("a string"), diagnostics);
        return None;
    };
    Some((text, name.value.span, args))
}

fn warn_of_other(name: &str, span: Span, diagnostics: &mut Diagnostics) {
    let (message, help) = match plugins::is_foreign(name) {
        true => (
            format!("`{name}` is no plugin of kube-scheduler"),
            Some(
                did_you_mean(name, CONFIGURABLE)
                    .unwrap_or_else(|| "predictions leave it out".to_owned()),
            ),
        ),
        false => (format!("`{name}` takes no arguments"), None),
    };
    diagnostics.warning("unknown-plugin", span, message).help(help);
}

/// Arguments may say what they are, and must not say anything else then.
fn check_type(name: &str, args: &Value, diagnostics: &mut Diagnostics) {
    let Some(map) = args.as_map() else { return };
    let expected = [("kind", format!("{name}Args")), ("apiVersion", API_VERSION.to_owned())];
    for (field, expected) in expected {
        let Some(entry) = map.given(field) else { continue };
        if entry.value.as_text() != Some(&expected) {
            let found = entry.value.describe();
            let message = format!("`{field}`: expected `{expected}`, found {found}");
            diagnostics
                .error("wrong-kind", entry.value.span, message)
                .help("it may be left out".to_owned());
        }
    }
}

fn one(
    source: ArgsSource<'_>,
    version: Version,
    profile: &mut Profile,
    diagnostics: &mut Diagnostics,
) {
    match source.plugin {
        "NodeResourcesFit" => {
            profile.fit = Args::read(source, diagnostics, |args| fit(args, version));
        }
        "NodeResourcesBalancedAllocation" => {
            profile.balanced = Args::read(source, diagnostics, balanced);
        }
        "NodeAffinity" => profile.added_affinity = Args::read(source, diagnostics, affinity::read),
        "InterPodAffinity" => profile.inter_pod = Args::read(source, diagnostics, inter_pod),
        "PodTopologySpread" => profile.spread = Args::read(source, diagnostics, spread),
        "VolumeBinding" => {
            let shape = Args::read(source, diagnostics, |args| volume_binding(args, version));
            if let Some(shape) = shape {
                profile.volume_shape = shape;
            }
        }
        "DefaultPreemption" => Args::read(source, diagnostics, preemption),
        "DynamicResources" => Args::read(source, diagnostics, |args| {
            args.optional::<GoDuration>("filterTimeout", "How long filtering may take.");
            args.optional::<GoDuration>("bindingTimeout", "How long binding may take.");
        }),
        _ => {}
    }
}

fn fit(args: &mut Args<'_>, version: Version) -> FitArgs {
    let ignored_resources =
        args.list::<String>("ignoredResources", "Extended resources not to filter by.");
    let ignored_groups = args
        .list::<String>("ignoredResourceGroups", "What stands before the slash of such resources.");
    for (list, names) in
        [("ignoredResources", &ignored_resources), ("ignoredResourceGroups", &ignored_groups)]
    {
        for (at, name) in names.iter().enumerate() {
            let is_group_with_slash = list == "ignoredResourceGroups" && name.contains('/');
            if is_group_with_slash || label_key(name).is_err() {
                let message = format!("`{list}[{at}]`: `{name}` is no name of a resource");
                args.error(args.at(list).item(at), "bad-resource", message);
            }
        }
    }
    let strategy = args
        .object("scoringStrategy", "How nodes are scored.", |args| scoring_strategy(args, version));
    let (strategy, resources) =
        strategy.unwrap_or_else(|| (ScoringStrategy::LeastAllocated, Vec::new()));
    let resources = if resources.is_empty() { FitArgs::default().resources } else { resources };
    FitArgs { ignored_resources, ignored_groups, strategy, resources }
}

fn scoring_strategy(
    args: &mut Args<'_>,
    version: Version,
) -> (ScoringStrategy, Vec<(String, i64)>) {
    const TYPES: [&str; 3] = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"];
    let kind = word(args, "type", "Which nodes are better.", &TYPES);
    let resources = resources(args, 1..=100);
    let line =
        args.object("requestedToCapacityRatio", "The scores.", |args| shape(args, "shape", true));
    let by_line = kind == Some(TYPES[2]);
    if by_line && line.is_none() {
        let message = "`scoringStrategy.requestedToCapacityRatio` must be given with this type";
        args.error_at("type", "missing-argument", message);
    } else if !by_line && line.is_some() && version >= Version::V1_36 {
        let message = "`scoringStrategy.requestedToCapacityRatio` belongs to another type";
        args.error_at("requestedToCapacityRatio", "misplaced", message)
            .help(format!("leave it out, or set `type` to `{}`", TYPES[2]));
    }
    let strategy = match kind {
        Some("MostAllocated") => ScoringStrategy::MostAllocated,
        Some("RequestedToCapacityRatio") => {
            ScoringStrategy::RequestedToCapacityRatio(line.unwrap_or_default())
        }
        _ => ScoringStrategy::LeastAllocated,
    };
    (strategy, resources)
}

/// Resources with their weights; 0 and none are 1.
fn resources(args: &mut Args<'_>, weights: std::ops::RangeInclusive<i64>) -> Vec<(String, i64)> {
    args.objects("resources", "The resources that count, with weights.", |args| {
        let name: String = args.optional("name", "The resource.").unwrap_or_default();
        let weight = match args.optional::<i64>("weight", "How much it counts.") {
            None | Some(0) => 1,
            Some(weight) => weight,
        };
        if !weights.contains(&weight) {
            let (least, most) = (weights.start(), weights.end());
            let expected = match least == most {
                true => format!("not {least}"),
                false => format!("not {least} to {most}"),
            };
            let message = format!("the weight of `{name}` is {weight}, {expected}");
            args.error_at("weight", "out-of-range", message);
        }
        (name, weight)
    })
}

fn balanced(args: &mut Args<'_>) -> Vec<String> {
    let resources = resources(args, 1..=1);
    let names: Vec<String> = resources.into_iter().map(|(name, _)| name).collect();
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            let message = format!("`resources[{at}]`: `{name}` is given twice");
            args.error(args.at("resources").item(at).key("name"), "duplicate-name", message);
        }
    }
    if names.is_empty() { Profile::default().balanced } else { names }
}

/// The points of a broken line. `required`: there has to be one.
fn shape(args: &mut Args<'_>, name: &'static str, required: bool) -> Vec<ShapePoint> {
    let points = args.objects(name, "Points of a broken line.", |args| {
        let utilization = args.optional::<i64>("utilization", "Percent in use.").unwrap_or(0);
        let score = args.optional::<i64>("score", "What that is worth.").unwrap_or(0);
        for (name, value, most) in [("utilization", utilization, 100), ("score", score, 10)] {
            if !(0..=most).contains(&value) {
                let message = format!("`{name}` is {value}, not 0 to {most}");
                args.error_at(name, "out-of-range", message);
            }
        }
        ShapePoint { utilization, score }
    });
    if required && points.is_empty() {
        let message = format!("`{name}` has to have at least one point");
        args.error_at(name, "missing-argument", message);
    }
    let falls = points.windows(2).position(|pair| pair[0].utilization >= pair[1].utilization);
    if let Some(at) = falls {
        let message = format!("`{name}[{}]`: `utilization` does not grow", at + 1);
        let place = args.at(name).item(at + 1).key("utilization");
        args.error(place, "not-sorted", message).help("sort the points by it".to_owned());
    }
    points
}

fn inter_pod(args: &mut Args<'_>) -> InterPodArgs {
    const NAME: &str = "hardPodAffinityWeight";
    let hard_weight = args.optional(NAME, "Weight of required affinity.").unwrap_or(1_i64);
    if !(0..=100).contains(&hard_weight) {
        let message = format!("`{NAME}` is {hard_weight}, not 0 to 100");
        args.error_at(NAME, "out-of-range", message);
    }
    let ignore_existing =
        args.flag("ignorePreferredTermsOfExistingPods", "Score by the pod's own terms only.");
    InterPodArgs { hard_weight, ignore_existing }
}

fn spread(args: &mut Args<'_>) -> SpreadDefaults {
    let kind = args.optional::<String>("defaultingType", "Where constraints come from.");
    let list = args.objects("defaultConstraints", "For pods without any.", constraint);
    for (at, constraint) in list.iter().enumerate() {
        let same = |other: &DefaultConstraint| {
            other.topology_key == constraint.topology_key && other.hard == constraint.hard
        };
        if list[..at].iter().any(same) {
            let message = format!("`defaultConstraints[{at}]` is there already");
            let place = args.at("defaultConstraints").item(at);
            args.error(place, "duplicate-name", message)
                .help("a key can stand there once for each `whenUnsatisfiable`".to_owned());
        }
    }
    match kind.as_deref().unwrap_or_default() {
        "List" => return SpreadDefaults::List(list),
        "System" | "" => {
            if !list.is_empty() {
                let message = "`defaultConstraints` count only with `defaultingType: List`";
                args.error_at("defaultConstraints", "misplaced", message);
            }
        }
        other => {
            let message = format!("`defaultingType`: expected `System` or `List`, found `{other}`");
            args.error_at("defaultingType", "unknown-value", message)
                .help(did_you_mean(other, ["System", "List"]));
        }
    }
    SpreadDefaults::System
}

fn constraint(args: &mut Args<'_>) -> DefaultConstraint {
    const ACTIONS: [&str; 2] = ["DoNotSchedule", "ScheduleAnyway"];
    let max_skew = args.optional::<i32>("maxSkew", "How uneven it may be.").unwrap_or(0);
    if max_skew <= 0 {
        let message = format!("`maxSkew` is {max_skew}, not above 0");
        args.error_at("maxSkew", "out-of-range", message);
    }
    let topology_key: String = args
        .arg("topologyKey", "The label that makes domains.")
        .required()
        .value()
        .unwrap_or_default();
    if args.given("topologyKey") && label_key(&topology_key).is_err() {
        let message = format!("`topologyKey`: `{topology_key}` is not a label key");
        args.error_at("topologyKey", "bad-label", message);
    }
    let action = word(args, "whenUnsatisfiable", "Whether it must hold.", &ACTIONS);
    args.label_selector("labelSelector", "Not allowed here.");
    if args.given("labelSelector") {
        let message = "`labelSelector` cannot be given here";
        args.error_at("labelSelector", "misplaced", message)
            .help("it is made for each pod, of its Services and its owner".to_owned());
    }
    args.list::<String>("matchLabelKeys", "Of no effect here.");
    let min_domains = args.optional("minDomains", "Fewer domains count as an empty one.");
    let mut honors = |name, doc, default: bool| {
        let policy: Option<String> = args.optional(name, doc);
        policy.map_or(default, |policy| policy == "Honor")
    };
    DefaultConstraint {
        topology_key,
        max_skew,
        hard: action == Some("DoNotSchedule"),
        min_domains,
        honor_affinity: honors("nodeAffinityPolicy", "Honor or Ignore.", true),
        honor_taints: honors("nodeTaintsPolicy", "Honor or Ignore.", false),
    }
}

/// The line that nodes are scored by, where there is one.
fn volume_binding(args: &mut Args<'_>, version: Version) -> Option<Vec<ShapePoint>> {
    const NAME: &str = "bindTimeoutSeconds";
    let timeout = args.optional::<i64>(NAME, "How long binding may take.");
    if let Some(timeout @ ..0) = timeout {
        let message = format!("`{NAME}` is {timeout}, not 0 or more");
        args.error_at(NAME, "out-of-range", message);
    }
    let points = shape(args, "shape", false);
    if version < Version::V1_37 && args.given("shape") {
        let message = format!("`shape` has no effect in {version}");
        args.warning(args.at("shape"), "not-in-version", message).help(
            "the gate StorageCapacityScoring is off there, and so it is in predictions".to_owned(),
        );
        return None;
    }
    (!points.is_empty()).then_some(points)
}

fn preemption(args: &mut Args<'_>) {
    let (percent, absolute) = ("minCandidateNodesPercentage", "minCandidateNodesAbsolute");
    let share = args.optional(percent, "How many nodes are looked at.").unwrap_or(10_i32);
    let number = args.optional(absolute, "At least so many.").unwrap_or(100_i32);
    if !(0..=100).contains(&share) {
        args.error_at(percent, "out-of-range", format!("`{percent}` is {share}, not 0 to 100"));
    }
    if number < 0 {
        args.error_at(absolute, "out-of-range", format!("`{absolute}` is {number}, not 0 or more"));
    }
    if share == 0 && number == 0 {
        let message = format!("`{percent}` and `{absolute}` cannot both be 0");
        args.error_at(percent, "out-of-range", message);
    }
}

/// One of some words, which has to be given.
fn word(
    args: &mut Args<'_>,
    name: &'static str,
    doc: &'static str,
    words: &[&'static str],
) -> Option<&'static str> {
    let text: String = args.arg(name, doc).required().value()?;
    let found = words.iter().copied().find(|word| *word == text);
    if found.is_none() {
        let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        let message = format!("`{name}`: expected one of {}, found `{text}`", quoted.join(", "));
        args.error_at(name, "unknown-value", message)
            .help(did_you_mean(&text, words.iter().copied()));
    }
    found
}

/// Whether a text could be the key of a label, which is what resources are named like.
pub(super) fn label_key(text: &str) -> Result<(), ()> {
    let requirement = LabelRequirement::new(text.to_owned(), LabelOperator::Exists, Vec::new());
    requirement.map(|_| ()).map_err(|_| ())
}
