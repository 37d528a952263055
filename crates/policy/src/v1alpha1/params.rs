//! What may stand under `params`, and where v1alpha2 has it (docs/spec/v1alpha1.md sections 2.3,
//! 2.4 and 6.3).

use descheduler_engine::{Argument, Diagnostics, Map, Mismatch, Node, Pass, Value};

use super::tree;
use crate::fields::{as_fields, mismatch, read, warn_unknown};

/// What a parameter takes.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Bool,
    /// A signed number of 32 bits.
    Int,
    /// A number that is not negative.
    Unsigned,
    Text,
    Texts,
    /// Numbers under the names of resources.
    Shares,
    /// `matchLabels` and `matchExpressions`.
    Selector,
    /// Parameters of its own.
    Object(&'static [(&'static str, Kind)]),
}

/// Every parameter of every release; `maxPodLifeTimeSeconds` directly in `params` aside, which 0.20
/// ceased to read.
pub(super) const PARAMS: &[(&str, Kind)] = &[
    ("namespaces", Kind::Object(&[("include", Kind::Texts), ("exclude", Kind::Texts)])),
    ("labelSelector", Kind::Selector),
    ("nodeFit", Kind::Bool),
    ("thresholdPriority", Kind::Int),
    ("thresholdPriorityClassName", Kind::Text),
    (
        "nodeResourceUtilizationThresholds",
        Kind::Object(&[
            ("thresholds", Kind::Shares),
            ("targetThresholds", Kind::Shares),
            ("useDeviationThresholds", Kind::Bool),
            ("numberOfNodes", Kind::Int),
        ]),
    ),
    ("nodeAffinityType", Kind::Texts),
    (
        "podsHavingTooManyRestarts",
        Kind::Object(&[
            ("podRestartThreshold", Kind::Int),
            ("includingInitContainers", Kind::Bool),
        ]),
    ),
    (
        "podLifeTime",
        Kind::Object(&[
            ("maxPodLifeTimeSeconds", Kind::Unsigned),
            ("podStatusPhases", Kind::Texts),
            ("states", Kind::Texts),
        ]),
    ),
    ("removeDuplicates", Kind::Object(&[("excludeOwnerKinds", Kind::Texts)])),
    (
        "failedPods",
        Kind::Object(&[
            ("excludeOwnerKinds", Kind::Texts),
            ("minPodLifetimeSeconds", Kind::Unsigned),
            ("reasons", Kind::Texts),
            ("includingInitContainers", Kind::Bool),
        ]),
    ),
    ("includeSoftConstraints", Kind::Bool),
    ("includePreferNoSchedule", Kind::Bool),
    ("excludedTaints", Kind::Texts),
    ("includedTaints", Kind::Texts),
];

/// A strategy as v1alpha1 knows it.
pub(super) struct Strategy {
    pub(super) name: &'static str,
    pub(super) pass: Pass,
    /// The parameters that it reads, and the arguments that they are today. What all strategies
    /// share and what goes to the protections is not listed.
    moves: &'static [(&'static str, &'static str)],
}

const NAMESPACES: [(&str, &str); 2] =
    [("namespaces.include", "namespaces.include"), ("namespaces.exclude", "namespaces.exclude")];

/// All strategies, in the order in which they run.
pub(super) const STRATEGIES: [Strategy; 10] = [
    Strategy {
        name: "PodLifeTime",
        pass: Pass::Deschedule,
        moves: &[
            ("podLifeTime.maxPodLifeTimeSeconds", "maxPodLifeTimeSeconds"),
            ("podLifeTime.podStatusPhases", "states"),
            ("podLifeTime.states", "states"),
        ],
    },
    Strategy {
        name: "RemoveFailedPods",
        pass: Pass::Deschedule,
        moves: &[
            ("failedPods.excludeOwnerKinds", "excludeOwnerKinds"),
            ("failedPods.minPodLifetimeSeconds", "minPodLifetimeSeconds"),
            ("failedPods.reasons", "reasons"),
            ("failedPods.includingInitContainers", "includingInitContainers"),
        ],
    },
    Strategy {
        name: "RemovePodsHavingTooManyRestarts",
        pass: Pass::Deschedule,
        moves: &[
            ("podsHavingTooManyRestarts.podRestartThreshold", "podRestartThreshold"),
            ("podsHavingTooManyRestarts.includingInitContainers", "includingInitContainers"),
        ],
    },
    Strategy {
        name: "RemovePodsViolatingInterPodAntiAffinity",
        pass: Pass::Deschedule,
        moves: &[],
    },
    Strategy {
        name: "RemovePodsViolatingNodeAffinity",
        pass: Pass::Deschedule,
        moves: &[("nodeAffinityType", "nodeAffinityType")],
    },
    Strategy {
        name: "RemovePodsViolatingNodeTaints",
        pass: Pass::Deschedule,
        moves: &[
            ("includePreferNoSchedule", "includePreferNoSchedule"),
            ("excludedTaints", "excludedTaints"),
        ],
    },
    Strategy {
        name: "HighNodeUtilization",
        pass: Pass::Balance,
        moves: &[
            ("namespaces.include", "evictableNamespaces.include"),
            ("namespaces.exclude", "evictableNamespaces.exclude"),
            ("nodeResourceUtilizationThresholds.thresholds", "thresholds"),
            ("nodeResourceUtilizationThresholds.numberOfNodes", "numberOfNodes"),
        ],
    },
    Strategy {
        name: "LowNodeUtilization",
        pass: Pass::Balance,
        moves: &[
            ("namespaces.include", "evictableNamespaces.include"),
            ("namespaces.exclude", "evictableNamespaces.exclude"),
            ("nodeResourceUtilizationThresholds.thresholds", "thresholds"),
            ("nodeResourceUtilizationThresholds.targetThresholds", "targetThresholds"),
            ("nodeResourceUtilizationThresholds.useDeviationThresholds", "useDeviationThresholds"),
            ("nodeResourceUtilizationThresholds.numberOfNodes", "numberOfNodes"),
        ],
    },
    Strategy {
        name: "RemoveDuplicates",
        pass: Pass::Balance,
        moves: &[("removeDuplicates.excludeOwnerKinds", "excludeOwnerKinds")],
    },
    Strategy {
        name: "RemovePodsViolatingTopologySpreadConstraint",
        pass: Pass::Balance,
        moves: &[],
    },
];

impl Strategy {
    /// The argument that a parameter became, if the strategy reads it.
    pub(super) fn argument(&self, from: &str) -> Option<&'static str> {
        let find = |moves: &[(&str, &'static str)]| {
            moves.iter().find(|(name, _)| *name == from).map(|(_, to)| *to)
        };
        let utilization = self.name.ends_with("NodeUtilization");
        let selects = !utilization && self.name != "RemoveDuplicates";
        find(self.moves)
            .or_else(|| find(&NAMESPACES).filter(|_| !utilization))
            .or_else(|| Some("labelSelector").filter(|name| selects && *name == from))
    }

    /// Whether a parameter that goes to the protections counts under this strategy.
    pub(super) fn asks_evictor(&self, from: &str) -> bool {
        from != "nodeFit" || self.name != "PodLifeTime"
    }

    /// Whether it is the one with `includeSoftConstraints`.
    pub(super) fn spreads(&self) -> bool {
        self.name == "RemovePodsViolatingTopologySpreadConstraint"
    }
}

/// The argument of DefaultEvictor that a parameter became.
pub(super) fn for_evictor(from: &str) -> Option<&'static str> {
    match from {
        "nodeFit" => Some("nodeFit"),
        "thresholdPriority" => Some("priorityThreshold.value"),
        "thresholdPriorityClassName" => Some("priorityThreshold.name"),
        _ => None,
    }
}

/// Where a parameter of that name belongs: `params` or an object inside.
pub(super) fn home(name: &str) -> Option<String> {
    for (known, kind) in PARAMS {
        if *known == name {
            return Some("params".to_owned());
        }
        if let Kind::Object(inside) = kind
            && inside.iter().any(|(known, _)| *known == name)
        {
            return Some(format!("params.{known}"));
        }
    }
    None
}

impl Kind {
    /// Checks the type of a value that goes nowhere; absent is fine.
    pub(super) fn check(self, path: &str, value: Option<&Value>, diagnostics: &mut Diagnostics) {
        let Some(value) = value else { return };
        match self {
            Self::Bool => one::<bool>(path, value, diagnostics),
            Self::Int => one::<i32>(path, value, diagnostics),
            Self::Unsigned => one::<u64>(path, value, diagnostics),
            Self::Text => one::<String>(path, value, diagnostics),
            Self::Texts if value.is_null() => {}
            Self::Texts => match value.as_list() {
                Some(items) => {
                    for (at, item) in items.iter().enumerate() {
                        one::<String>(&format!("{path}[{at}]"), item, diagnostics);
                    }
                }
                None => mismatch(path, value, Mismatch::list(value), diagnostics),
            },
            Self::Shares => {
                if let Some(map) = as_map(path, value, diagnostics) {
                    for share in map.effective() {
                        one::<f64>(&format!("{path}.{}", share.key), &share.value, diagnostics);
                    }
                }
            }
            Self::Selector => drop(as_fields(path, value, diagnostics)),
            Self::Object(inside) => {
                let Some(mut fields) = as_fields(path, value, diagnostics) else { return };
                for (name, kind) in inside {
                    let given = fields.entry(name).map(|entry| &entry.value);
                    kind.check(&fields.path(name), given, diagnostics);
                }
            }
        }
    }

    /// A copy of a value for v1alpha2, without what only that would complain of.
    pub(super) fn copy(self, path: &str, value: &Value, diagnostics: &mut Diagnostics) -> Value {
        let mut copied = tree::copy(value);
        if matches!(self, Self::Selector) {
            keep_known(path, &mut copied, &["matchLabels", "matchExpressions"], diagnostics);
            for (at, item) in expressions(&mut copied).iter_mut().enumerate() {
                let path = format!("{path}.matchExpressions[{at}]");
                keep_known(&path, item, &["key", "operator", "values"], diagnostics);
            }
        }
        copied
    }
}

fn one<T: Argument>(path: &str, value: &Value, diagnostics: &mut Diagnostics) {
    read::<T>(path, value, diagnostics);
}

fn as_map<'v>(path: &str, value: &'v Value, diagnostics: &mut Diagnostics) -> Option<&'v Map> {
    as_fields(path, value, diagnostics)?;
    value.as_map()
}

/// Drops the entries of a mapping that are not known, with a warning: where the arguments of
/// v1alpha2 are strict, v1alpha1 was not.
fn keep_known(path: &str, value: &mut Value, known: &[&str], diagnostics: &mut Diagnostics) {
    let Node::Map(map) = &mut value.node else { return };
    map.entries.retain(|entry| {
        let keep = known.contains(&entry.key.as_str());
        if !keep {
            warn_unknown(&format!("{path}.{}", entry.key), entry, known, diagnostics);
        }
        keep
    });
}

fn expressions(selector: &mut Value) -> &mut [Value] {
    let Node::Map(map) = &mut selector.node else { return &mut [] };
    let found = map.entries.iter_mut().find(|entry| entry.key == "matchExpressions");
    match found.map(|entry| &mut entry.value.node) {
        Some(Node::List(items)) => items,
        _ => &mut [],
    }
}
