//! A JSON Schema of the format `descheduler/v1alpha2`, for editors.
//!
//! The arguments come from the functions that read them. What stands around them is written down
//! here as the reader has it; a test compares the two on every policy of the repository. A schema
//! can say less than the reader does: rules over several fields are left to `validate`.
//!
//! Draft 7 is what editors know best. Null is as good as absent, so nearly everything may be null.

mod arguments;

use descheduler_cluster::GoDuration;
use descheduler_engine::{Args, ArgumentDoc, ArgumentType, LoopBreaker, Pass, Placement, Registry};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::v1alpha2::{OLD_SWITCHES, STRUCTURE};
use arguments::{nullable, object};

/// The schema of a whole policy that may use these plugins.
pub fn schema(registry: &Registry) -> Value {
    let plugins = Plugin::all(registry);
    let definitions: serde_json::Map<String, Value> =
        plugins.iter().map(|plugin| (plugin.name.to_owned(), plugin.args())).collect();
    let mut top = top();
    top["profiles"] = json!({
        "description": "What runs. Strategies under `deschedule` run before those under `balance`.",
        "type": ["array", "null"],
        "items": profile(&plugins),
    });
    let misplaced = misplaced(&plugins, &keys(&top));
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "DeschedulerPolicy of descheduler/v1alpha2",
        "type": "object",
        "required": ["apiVersion"],
        "properties": top,
        "propertyNames": misplaced,
        "definitions": definitions,
    })
}

/// A plugin and its arguments.
struct Plugin {
    name: &'static str,
    summary: &'static str,
    /// When it runs; `None` for the protections.
    pass: Option<Pass>,
    arguments: Vec<ArgumentDoc>,
}

impl Plugin {
    fn all(registry: &Registry) -> Vec<Self> {
        let strategies = registry.strategies.iter().map(|def| Self {
            name: def.name,
            summary: def.summary,
            pass: Some(def.pass),
            arguments: Args::describe(def.build),
        });
        let evictor = registry.evictor;
        let evictor = Self {
            name: evictor.name,
            summary: evictor.summary,
            pass: None,
            arguments: Args::describe(evictor.build),
        };
        strategies.chain([evictor]).collect()
    }

    /// Its arguments as one object, which may say what it is, as an API object does.
    fn args(&self) -> Value {
        let mut args = object(&self.arguments);
        args["properties"]["kind"] = json!({});
        args["properties"]["apiVersion"] = json!({});
        args["description"] = json!(self.summary);
        if !self.needs_args() {
            args["type"] = json!(["object", "null"]);
        }
        args
    }

    fn needs_args(&self) -> bool {
        self.arguments.iter().any(|argument| argument.required)
    }

    /// The names of its arguments, those inside others as well.
    fn names(&self) -> Vec<&'static str> {
        fn add(docs: &[ArgumentDoc], names: &mut Vec<&'static str>) {
            for doc in docs {
                names.push(doc.name);
                add(&doc.children, names);
            }
        }
        let mut names = Vec::new();
        add(&self.arguments, &mut names);
        names
    }
}

/// Everything at the top of the file but the profiles.
fn top() -> Value {
    let limit = |what: &str| {
        nullable(&ArgumentType::Integer { min: 0, max: i128::from(u64::MAX) }, |schema| {
            schema["description"] = json!(format!("At most so many evictions in one cycle{what}."));
        })
    };
    json!({
        "apiVersion": {"const": "descheduler/v1alpha2"},
        "kind": {"enum": ["DeschedulerPolicy", null]},
        "nodeSelector": {
            "description": "Only nodes with these labels are worked on, such as `pool=general`.",
            "type": ["string", "null"],
        },
        "maxNoOfPodsToEvictTotal": limit(""),
        "maxNoOfPodsToEvictPerNode": limit(" from one node"),
        "maxNoOfPodsToEvictPerNamespace": limit(" in one namespace"),
        "evictionFailureEventNotification": {
            "description": "Report a failed eviction as an event on the pod.",
            "type": ["boolean", "null"],
        },
        "gracePeriodSeconds": nullable(
            &ArgumentType::Integer { min: i128::from(i64::MIN), max: i128::from(i64::MAX) },
            |schema| {
                schema["description"] =
                    json!("Grace period of each eviction; each pod's own unless given.");
            },
        ),
        "metricsCollector": {
            "description": "Deprecated: use `metricsProviders`.",
            "deprecated": true,
            "type": ["object", "null"],
            "properties": {"enabled": {"type": ["boolean", "null"]}},
        },
        "metricsProviders": metrics_providers(),
        "placement": placement("Of profiles that do not say otherwise: "),
        "loopBreaker": loop_breaker(),
    })
}

/// Our own field.
fn loop_breaker() -> Value {
    let LoopBreaker { initial, max } = LoopBreaker::default();
    let bound = |what: &str, default: SignedDuration| {
        nullable(&ArgumentType::Duration, |schema| {
            schema["description"] = json!(what);
            schema["default"] = json!(GoDuration::from_secs(default.as_secs()).to_string());
        })
    };
    json!({
        "description": "For how long a move that did not help is not tried again. Upstream ignores \
                        this.",
        "type": ["object", "null"],
        "properties": {
            "initial": bound(
                "After the first time; it doubles with each further one. `0s` switches the loop \
                 breaker off.",
                initial,
            ),
            "max": bound("At most.", max),
        },
    })
}

fn metrics_providers() -> Value {
    let text = |description: &str| json!({"description": description, "type": ["string", "null"]});
    json!({
        "description": "Where measured usage comes from.",
        "type": ["array", "null"],
        "items": {
            "type": ["object", "null"],
            "properties": {
                "source": {
                    "description": "`KubernetesMetrics` or `Prometheus`.",
                    "type": ["string", "null"],
                    "examples": ["KubernetesMetrics", "Prometheus"],
                },
                "prometheus": {
                    "description": "How Prometheus is asked.",
                    "type": ["object", "null"],
                    "properties": {
                        "url": text("Its address."),
                        "authToken": {
                            "description": "The token to show.",
                            "type": ["object", "null"],
                            "properties": {"secretReference": {
                                "description": "The secret that holds it.",
                                "type": ["object", "null"],
                                "properties": {
                                    "namespace": text("Its namespace."),
                                    "name": text("Its name."),
                                },
                            }},
                        },
                    },
                },
            },
        },
    })
}

/// Our own field, of the policy or of a profile.
fn placement(of: &str) -> Value {
    // In any letter case; those listed are for editors to offer.
    let letter = |c: char| format!("[{}{}]", c.to_ascii_uppercase(), c.to_ascii_lowercase());
    let names = Placement::NAMES.iter().map(|name| name.chars().map(letter).collect::<String>());
    let pattern = format!("^({})$", names.collect::<Vec<_>>().join("|"));
    json!({
        "description": format!("{of}how much must be known about where a pod would land before it \
                                is evicted. Upstream ignores this."),
        "type": ["object", "null"],
        "properties": {
            "mode": {
                "description": "`Off`: nothing, as upstream. `Feasible`: one node must have a place. \
                                `Improving`: every node that could win must be better.",
                "default": Placement::DEFAULT.name(),
                "anyOf": [
                    {"enum": Placement::NAMES},
                    {"type": "string", "pattern": pattern},
                    {"type": "null"},
                ],
            },
            "confidence": {
                "description": "In `Improving`, where the winner is a matter of chance: the share of \
                                cases that must be better.",
                "type": ["number", "null"],
                "minimum": 0,
                "maximum": 1,
                "default": Placement::CONFIDENCE,
            },
        },
    })
}

fn profile(plugins: &[Plugin]) -> Value {
    let mut profile = json!({
        "name": {"description": "Its name, for logs and metrics.", "type": ["string", "null"]},
        "nodeSelector": {
            "description": "Of the policy's nodes only those with these labels. Upstream ignores this.",
            "type": ["string", "null"],
        },
        "placement": placement("Of this profile: "),
        "pluginConfig": {
            "description": "The arguments of each plugin. Those that are enabled need an entry.",
            "type": ["array", "null"],
            "items": plugin_config(plugins),
        },
    });
    profile["plugins"] = enabled(plugins);
    let misplaced = misplaced(plugins, &keys(&profile));
    json!({"type": ["object", "null"], "properties": profile, "propertyNames": misplaced})
}

fn plugin_config(plugins: &[Plugin]) -> Value {
    let names = plugins.iter().map(|p| json!({"const": p.name, "description": p.summary}));
    let cases = plugins.iter().map(|plugin| {
        let name = plugin.name;
        let inside: Vec<&str> = unique(plugin.names()).filter(|key| *key != "name").collect();
        let mut then = json!({
            "properties": {"args": {"$ref": format!("#/definitions/{name}")}, "name": {}},
            // Its arguments belong under `args`, and not beside it or under another name.
            "propertyNames": {"not": {"enum": inside}},
            "additionalProperties": {"propertyNames": {"not": {"enum": inside}}},
        });
        if plugin.needs_args() {
            then["required"] = json!(["args"]);
        }
        json!({"if": {"properties": {"name": {"const": name}}, "required": ["name"]}, "then": then})
    });
    let properties = json!({"name": {"oneOf": names.collect::<Vec<_>>()}, "args": {}});
    json!({
        "type": "object",
        "required": ["name"],
        "properties": properties,
        "propertyNames": misplaced(plugins, &keys(&properties)),
        "allOf": cases.collect::<Vec<_>>(),
    })
}

/// `plugins`: what runs at which extension point.
fn enabled(plugins: &[Plugin]) -> Value {
    let point = |description: &str, names: Value| {
        let lists = json!({
            "enabled": {"type": ["array", "null"], "items": names},
            "disabled": {
                "description": "Has no effect.",
                "type": ["array", "null"],
                "items": {"type": ["string", "null"]},
            },
        });
        let misplaced = misplaced(plugins, &keys(&lists));
        json!({
            "description": description,
            "type": ["object", "null"],
            "properties": lists,
            "propertyNames": misplaced,
        })
    };
    let names = |pass: Option<Pass>| {
        let of_pass = plugins.iter().filter(|plugin| plugin.pass == pass);
        let names = of_pass.map(|p| json!({"const": p.name, "description": p.summary}));
        json!({"oneOf": names.collect::<Vec<_>>()})
    };
    let any = || json!({"type": ["string", "null"]});
    let points = json!({
        "deschedule": point("Strategies that run first.", names(Some(Pass::Deschedule))),
        "balance": point("Strategies that run then.", names(Some(Pass::Balance))),
        "filter": point("The protections, which hold in any case.", names(None)),
        "preevictionfilter": point("The protections, which hold in any case.", names(None)),
        "preEvictionFilter": point("The protections, which hold in any case.", names(None)),
        "presort": point("Has no effect.", any()),
        "sort": point("Has no effect.", any()),
    });
    json!({
        "description": "Which plugins run, by extension point.",
        "type": ["object", "null"],
        "properties": points,
        "propertyNames": misplaced(plugins, &keys(&points)),
    })
}

/// Forbids the keys that mean something elsewhere: arguments, and what a policy is built of. Others
/// are ignored, here as there.
fn misplaced(plugins: &[Plugin], known: &[&str]) -> Value {
    let arguments = plugins.iter().flat_map(|plugin| plugin.arguments.iter().map(|doc| doc.name));
    let structure = STRUCTURE.iter().map(|(name, _)| *name);
    let at_top = known.contains(&"profiles");
    let forbidden: Vec<&str> = unique(arguments.chain(structure).collect())
        .filter(|key| !known.contains(key))
        // At the top they were, once, and are warned about.
        .filter(|key| !(at_top && OLD_SWITCHES.contains(key)))
        .collect();
    json!({"not": {"enum": forbidden}})
}

fn keys(properties: &Value) -> Vec<&str> {
    properties.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

fn unique(mut names: Vec<&'static str>) -> impl Iterator<Item = &'static str> {
    names.sort_unstable();
    names.dedup();
    names.into_iter()
}
