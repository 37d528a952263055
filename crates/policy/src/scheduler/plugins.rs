//! Which plugins run where: the defaults, what `multiPoint` makes of them, and what each point
//! makes of that.
//!
//! ```text
//! defaults + multiPoint -> one list -> each point: its own entries first, then the list
//! ```

use std::collections::BTreeSet;

use descheduler_engine::{Diagnostics, Mismatch, Span, Value, did_you_mean};
use descheduler_scheduler::{Plugin, Profile, Version};

use crate::fields::{Fields, as_fields, mismatch};

/// The plugins of the default profile in its order, with the weight that each one's score has.
const DEFAULTS: [(&str, i32); 20] = [
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
    ("NodeDeclaredFeatures", 0),
];

/// Plugins that kube-scheduler has but does not enable. They are about groups of pods, which
/// predictions leave out.
const OTHERS: [&str; 4] =
    ["GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount", "DeferredPodScheduling"];

/// Plugins that are no more; NodeVolumeLimits does their work.
const REMOVED: [&str; 4] = ["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"];

/// Stands for all plugins in a list of disabled ones.
const ALL: &str = "*";

/// An extension point.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Point {
    PreFilter,
    Filter,
    PreScore,
    Score,
    /// Somebody has to do it.
    QueueSort,
    /// Likewise.
    Bind,
    /// It does not decide where a pod goes; with the plugins of kube-scheduler that work there.
    Other(&'static [&'static str]),
}

const PRE_FILTER: &str = "preFilter";
const FILTER: &str = "filter";
const PRE_SCORE: &str = "preScore";
const SCORE: &str = "score";
const QUEUE_SORT: &str = "queueSort";
const BIND: &str = "bind";

/// All extension points by name.
const POINTS: [(&str, Point); 15] = [
    (
        "preEnqueue",
        Point::Other(&[
            "SchedulingGates",
            "DefaultPreemption",
            "DynamicResources",
            "GangScheduling",
        ]),
    ),
    (QUEUE_SORT, Point::QueueSort),
    (PRE_FILTER, Point::PreFilter),
    (FILTER, Point::Filter),
    ("postFilter", Point::Other(&["DefaultPreemption", "DynamicResources"])),
    (PRE_SCORE, Point::PreScore),
    (SCORE, Point::Score),
    ("reserve", Point::Other(&["VolumeBinding", "DynamicResources"])),
    ("permit", Point::Other(&["GangScheduling", "DeferredPodScheduling"])),
    ("preBind", Point::Other(&["VolumeBinding", "DynamicResources"])),
    (BIND, Point::Bind),
    ("postBind", Point::Other(&[])),
    ("placementGenerate", Point::Other(&["TopologyPlacementGenerator"])),
    ("placementScore", Point::Other(&["NodeResourcesFit", "PodGroupPodsCount"])),
    ("placementFeasible", Point::Other(&["GangScheduling"])),
];

impl Point {
    /// Whether a plugin of kube-scheduler has something to say here.
    fn takes(self, name: &str, version: Version) -> bool {
        match (self, Plugin::parse(name)) {
            (Self::QueueSort, _) => name == "PrioritySort",
            (Self::Bind, _) => name == "DefaultBinder",
            (Self::Other(names), _) => names.contains(&name),
            (_, None) => false,
            (Self::Filter, Some(plugin)) => plugin.filters(),
            (Self::PreFilter, Some(Plugin::NodeName)) => version >= Version::V1_37,
            (Self::PreFilter, Some(plugin)) => {
                plugin.filters()
                    && !matches!(plugin, Plugin::NodeUnschedulable | Plugin::TaintToleration)
            }
            (Self::Score, Some(Plugin::DynamicResources)) => version >= Version::V1_35,
            (Self::Score, Some(plugin)) => plugin.default_weight().is_some(),
            (Self::PreScore, Some(plugin)) => {
                plugin.default_weight().is_some() && plugin != Plugin::ImageLocality
            }
        }
    }
}

/// One entry of a list.
#[derive(Clone, Copy)]
struct Item<'v> {
    name: &'v str,
    /// 0 when absent, which kube-scheduler does not tell apart.
    weight: i32,
    span: Span,
}

/// What is said of one extension point, or of all with `multiPoint`.
#[derive(Default)]
struct Set<'v> {
    enabled: Vec<Item<'v>>,
    disabled: Vec<Item<'v>>,
}

impl Set<'_> {
    fn enables(&self, name: &str) -> bool {
        self.enabled.iter().any(|item| item.name == name)
    }

    fn disables(&self, name: &str) -> bool {
        self.disabled.iter().any(|item| item.name == name)
    }
}

/// `plugins` of a profile as written.
#[derive(Default)]
pub(super) struct Plugins<'v> {
    multi: Set<'v>,
    points: Vec<(&'static str, Point, Set<'v>)>,
}

/// What runs at the points that decide where a pod goes.
pub(super) struct Resolved {
    pre_filter: Vec<Plugin>,
    filter: Vec<Plugin>,
    pre_score: Vec<Plugin>,
    score: Vec<(Plugin, i64)>,
}

impl Resolved {
    /// Looks for plugins that are on by halves, and lets those look at the pod that filter.
    fn complete(&mut self, version: Version, profile: Span, diagnostics: &mut Diagnostics) {
        let Self { pre_filter, filter, pre_score, score } = self;
        let half_filters = filter.iter().filter(|&&plugin| {
            Point::PreFilter.takes(plugin.name(), version)
                && !pre_filter.contains(&plugin)
                && !filters_alone(plugin)
        });
        let half_scores = score.iter().map(|(plugin, _)| plugin).filter(|&&plugin| {
            Point::PreScore.takes(plugin.name(), version)
                && !pre_score.contains(&plugin)
                && !scores_alone(plugin)
        });
        let half_filters = half_filters.map(|plugin| (plugin, FILTER, PRE_FILTER));
        let half_scores = half_scores.map(|plugin| (plugin, SCORE, PRE_SCORE));
        // Where volumes are scored, it is by what was found before nodes were filtered.
        let volumes = &Plugin::VolumeBinding;
        let scored = version >= Version::V1_37 && score.iter().any(|(plugin, _)| plugin == volumes);
        let half_volumes = (scored && !pre_filter.contains(volumes)).then_some(volumes);
        let half_volumes = half_volumes.into_iter().map(|plugin| (plugin, SCORE, PRE_FILTER));
        for (plugin, on, off) in half_filters.chain(half_scores).chain(half_volumes) {
            let message = format!("`{plugin}` is on at `{on}` but off at `{off}`");
            diagnostics.error("half-a-plugin", profile, message).help(
                "the scheduler fails for every pod then: switch both on or both off".to_owned(),
            );
        }
        // Our plugins look at the pod before they filter, whether the scheduler's do so or not.
        let own: Vec<Plugin> =
            filter.iter().copied().filter(|plugin| !pre_filter.contains(plugin)).collect();
        pre_filter.extend(own);
    }

    /// A profile of that name with these plugins and default arguments.
    pub(super) fn into_profile(self, scheduler_name: String) -> Profile {
        let Self { pre_filter, filter, pre_score, score } = self;
        Profile { scheduler_name, pre_filter, filter, pre_score, score, ..Profile::default() }
    }
}

impl<'v> Plugins<'v> {
    pub(super) fn read(mut fields: Fields<'v>, diagnostics: &mut Diagnostics) -> Self {
        let mut plugins = Self::default();
        if let Some((_, inner)) = fields.map("multiPoint", diagnostics) {
            plugins.multi = read_set(inner, diagnostics);
        }
        for (name, point) in POINTS {
            if let Some((_, inner)) = fields.map(name, diagnostics) {
                plugins.points.push((name, point, read_set(inner, diagnostics)));
            }
        }
        fields.refuse_unknown(diagnostics);
        plugins
    }

    /// Works out what runs where, as kube-scheduler does. `profile`: where the profile stands.
    pub(super) fn resolve(
        &self,
        version: Version,
        profile: Span,
        diagnostics: &mut Diagnostics,
    ) -> Resolved {
        self.check(version, diagnostics);
        let multi = self.merged();
        let nothing = Set::default();
        let set = |point: Point| {
            let mut given = self.points.iter().filter(|(_, other, _)| *other == point);
            given.next().map_or(&nothing, |(_, _, set)| set)
        };
        let at = |point| expand(point, set(point), &multi, version);
        for (point, name, known, does) in [
            (Point::QueueSort, QUEUE_SORT, "PrioritySort", "sorts the queue"),
            (Point::Bind, BIND, "DefaultBinder", "binds pods"),
        ] {
            // A plugin from elsewhere may do it.
            let foreign = multi.iter().chain(&set(point).enabled).any(|item| is_foreign(item.name));
            if at(point).is_empty() && !foreign {
                let message = format!("no plugin of this profile {does}");
                diagnostics
                    .error("nothing-enabled", profile, message)
                    .help(format!("enable `{known}` again, under `{name}`"));
            }
        }
        let weight = |name: &str| {
            let mut items = set(Point::Score).enabled.iter().chain(&multi);
            let weight = items.find(|item| item.name == name).map_or(0, |item| item.weight);
            if weight == 0 { 1 } else { i64::from(weight) }
        };
        let scored = set(Point::Score).enabled.iter().chain(&multi);
        check_weights(scored.filter(|item| Point::Score.takes(item.name, version)), diagnostics);
        let scoring = at(Point::Score).into_iter();
        let score = scoring.filter_map(|name| Some((Plugin::parse(name)?, weight(name))));
        let modelled = |point| at(point).into_iter().filter_map(Plugin::parse).collect();
        let mut resolved = Resolved {
            pre_filter: modelled(Point::PreFilter),
            filter: modelled(Point::Filter),
            pre_score: modelled(Point::PreScore),
            score: score.collect(),
        };
        resolved.complete(version, profile, diagnostics);
        resolved
    }

    /// The defaults with `multiPoint` put over them.
    fn merged(&self) -> Vec<Item<'v>> {
        let Set { enabled, disabled: _ } = &self.multi;
        let mut merged = Vec::new();
        if !self.multi.disables(ALL) {
            for (name, weight) in DEFAULTS {
                if !self.multi.disables(name) {
                    let own = enabled.iter().rev().find(|item| item.name == name);
                    let default = Item { name, weight, span: Span::default() };
                    merged.push(own.copied().unwrap_or(default));
                }
            }
        }
        for item in enabled {
            if !merged.iter().any(|known: &Item<'_>| known.name == item.name) {
                merged.push(*item);
            }
        }
        merged
    }

    /// Checks the names of all lists.
    fn check(&self, version: Version, diagnostics: &mut Diagnostics) {
        let multi = ("multiPoint", None, &self.multi);
        let points = self.points.iter().map(|(name, point, set)| (*name, Some(*point), set));
        let mut said = BTreeSet::new();
        for (name, point, set) in std::iter::once(multi).chain(points) {
            check_enabled(name, point, set, version, diagnostics);
            let enabled = set.enabled.iter().map(|item| (item, true));
            for (item, is_enabled) in enabled.chain(set.disabled.iter().map(|item| (item, false))) {
                let is_known = item.name == ALL && !is_enabled || !is_foreign(item.name);
                if !is_known && !REMOVED.contains(&item.name) && said.insert(item.name) {
                    warn_of_foreign(item, is_enabled, diagnostics);
                }
            }
        }
    }
}

/// kube-scheduler adds up the weights, and takes it for an overflow when the sum falls below zero
/// before the last.
fn check_weights<'i>(items: impl Iterator<Item = &'i Item<'i>>, diagnostics: &mut Diagnostics) {
    let mut seen: Vec<&Item<'_>> = Vec::new();
    let mut sum = 0;
    for item in items {
        if seen.iter().any(|known| known.name == item.name) {
            continue;
        }
        if let Some(last) = seen.last().filter(|_| sum < 0) {
            let message = format!("the weights add up to {sum} with that of `{}`", last.name);
            diagnostics
                .error("out-of-range", last.span, message)
                .help("kube-scheduler does not start with weights such as these".to_owned());
            return;
        }
        if item.weight < 0 {
            let message = format!("the weight of `{}` is {}", item.name, item.weight);
            diagnostics
                .warning("negative-weight", item.span, message)
                .help("what the plugin prefers is avoided".to_owned());
        }
        sum += if item.weight == 0 { 1 } else { i64::from(item.weight) };
        seen.push(item);
    }
}

fn check_enabled(
    name: &str,
    point: Option<Point>,
    set: &Set<'_>,
    version: Version,
    diagnostics: &mut Diagnostics,
) {
    for (at, item) in set.enabled.iter().enumerate() {
        if let Some(first) = set.enabled[..at].iter().find(|first| first.name == item.name) {
            let message = format!("`{}` is enabled twice under `{name}`", item.name);
            diagnostics
                .error("enabled-twice", item.span, message)
                .related(first.span, "first here");
        }
        if REMOVED.contains(&item.name) {
            diagnostics
                .error("removed-plugin", item.span, format!("`{}` is no more", item.name))
                .help("`NodeVolumeLimits` does its work".to_owned());
        } else if point.is_some_and(|point| !point.takes(item.name, version))
            && !is_foreign(item.name)
        {
            let message = format!("`{}` has nothing to do at `{name}`", item.name);
            let taken = POINTS.iter().filter(|(_, point)| point.takes(item.name, version));
            let taken: Vec<String> = taken.map(|(name, _)| format!("`{name}`")).collect();
            let help = (!taken.is_empty()).then(|| format!("it works at {}", taken.join(", ")));
            diagnostics.error("wrong-extension-point", item.span, message).help(help);
        }
    }
}

/// Whether a plugin is none of kube-scheduler's own.
pub(super) fn is_foreign(name: &str) -> bool {
    !DEFAULTS.iter().any(|(known, _)| *known == name) && !OTHERS.contains(&name)
}

fn warn_of_foreign(item: &Item<'_>, is_enabled: bool, diagnostics: &mut Diagnostics) {
    let name = item.name;
    let (message, help) = match is_enabled {
        true => (
            format!("`{name}` is no plugin of kube-scheduler"),
            "predictions leave it out".to_owned(),
        ),
        false => (
            format!("`{name}` is no plugin of kube-scheduler, so disabling it has no effect"),
            "`*` stands for all".to_owned(),
        ),
    };
    let close = did_you_mean(name, DEFAULTS.iter().map(|(known, _)| *known));
    diagnostics.warning("unknown-plugin", item.span, message).help(close.unwrap_or(help));
}

/// Whether a filter works without having looked at the pod before.
fn filters_alone(plugin: Plugin) -> bool {
    matches!(
        plugin,
        Plugin::NodeName | Plugin::NodeAffinity | Plugin::NodeVolumeLimits | Plugin::VolumeZone
    )
}

/// Whether a score works without preparation.
fn scores_alone(plugin: Plugin) -> bool {
    matches!(
        plugin,
        Plugin::NodeAffinity
            | Plugin::NodeResourcesFit
            | Plugin::NodeResourcesBalancedAllocation
            | Plugin::VolumeBinding
            | Plugin::DynamicResources
    )
}

/// The plugins that run at a point, in their order.
fn expand<'v>(point: Point, set: &Set<'v>, multi: &[Item<'v>], version: Version) -> Vec<&'v str> {
    let own = set.enabled.iter().map(|item| item.name);
    if set.disables(ALL) {
        return own.collect();
    }
    let takes = |name: &str| point.takes(name, version) && !set.disables(name);
    let of_multi: Vec<&str> =
        multi.iter().map(|item| item.name).filter(|&name| takes(name)).collect();
    let (first, last): (Vec<&str>, Vec<&str>) = own.partition(|name| of_multi.contains(name));
    let middle = of_multi.into_iter().filter(|&name| !set.enables(name));
    first.into_iter().chain(middle).chain(last).collect()
}

fn read_set<'v>(mut fields: Fields<'v>, diagnostics: &mut Diagnostics) -> Set<'v> {
    let mut lists = ["enabled", "disabled"].map(|name| {
        let items = fields.list(name, diagnostics).map_or(&[][..], |(_, items)| items);
        let path = fields.path(name);
        let read = |(at, item)| read_item(&format!("{path}[{at}]"), item, diagnostics);
        items.iter().enumerate().filter_map(read).collect::<Vec<Item<'v>>>()
    });
    fields.refuse_unknown(diagnostics);
    let [enabled, disabled] = &mut lists;
    Set { enabled: std::mem::take(enabled), disabled: std::mem::take(disabled) }
}

fn read_item<'v>(path: &str, value: &'v Value, diagnostics: &mut Diagnostics) -> Option<Item<'v>> {
    if let Some(name) = value.as_text() {
        let message = format!("`{path}`: expected a mapping, found the string `{name}`");
        diagnostics
            .error("wrong-type", value.span, message)
            .help(format!("write `- name: {name}`"));
        return None;
    }
    let mut fields = as_fields(path, value, diagnostics)?;
    let weight: i32 = fields.value("weight", diagnostics).unwrap_or(0);
    let name = fields.entry("name");
    fields.refuse_unknown(diagnostics);
    let Some(name) = name else {
        diagnostics
            .error("missing-name", value.span, format!("`{path}` has no `name`"))
            .help("name the plugin".to_owned());
        return None;
    };
    let span = name.value.span;
    let Some(name) = name.value.as_text() else {
        mismatch(&fields.path("name"), &name.value, Mismatch::type_of("a string"), diagnostics);
        return None;
    };
    Some(Item { name, weight, span })
}
