//! A registry of plugins that do nothing, with arguments of every kind.

use descheduler_cluster::{GoDuration, NodeId, PodId, Snapshot};
use descheduler_engine::{
    Anywhere, EvictorDef, Inquiry, Judge, Pass, Percent, Registry, Shield, Strategy, StrategyDef,
    Turn,
};

pub(crate) const REGISTRY: Registry = Registry {
    strategies: &[&POD_LIFE_TIME, &LOW, &HIGH, &DUPLICATES, &FAILED],
    evictor: &EVICTOR,
};

static POD_LIFE_TIME: StrategyDef = StrategyDef {
    name: "PodLifeTime",
    pass: Pass::Deschedule,
    summary: "",
    build: |args| {
        args.object("namespaces", "Where.", |namespaces| {
            let include: Vec<String> = namespaces.list("include", "Only these.");
            let exclude: Vec<String> = namespaces.list("exclude", "Not these.");
            if !include.is_empty() && !exclude.is_empty() {
                namespaces.error(
                    namespaces.here(),
                    "include-and-exclude",
                    "`include` and `exclude` cannot both be given",
                );
            }
        });
        let seconds: Option<u64> = args.optional("maxPodLifeTimeSeconds", "Older than this.");
        args.label_selector("labelSelector", "Only these pods.");
        let states = args.arg("states", "In one of these states.").words(&[
            "Running",
            "Pending",
            "Succeeded",
            "Failed",
            "Unknown",
        ]);
        args.list::<i32>("exitCodes", "With one of these exit codes.");
        let conditions = args.objects("conditions", "With these conditions.", |condition| {
            let kind: Option<String> = condition.optional("type", "Its type.");
            let age: Option<u64> = condition.optional("minTimeSinceLastTransitionSeconds", "Age.");
            kind.is_some() || age.is_some()
        });
        for at in (0..conditions.len()).filter(|at| !conditions[*at]) {
            args.error(
                args.at("conditions").item(at),
                "empty-condition",
                format!("`conditions[{at}]` asks for nothing"),
            );
        }
        args.flag("includingInitContainers", "Look at init containers too.");
        let kinds = args.list::<String>("kinds", "Not checked, but looked at.");
        for (at, kind) in kinds.iter().enumerate().filter(|(_, kind)| *kind == "Odd") {
            args.warning(args.at("kinds").item(at), "odd-kind", format!("`{kind}` is odd"));
        }
        if seconds.is_none() && states.is_empty() && !args.given("conditions") {
            args.error(
                args.here(),
                "no-criterion",
                "one of `maxPodLifeTimeSeconds`, `states` and `conditions` must be given",
            );
        }
        nothing()
    },
};

static LOW: StrategyDef = StrategyDef {
    name: "LowNodeUtilization",
    pass: Pass::Balance,
    summary: "",
    build: |args| {
        let thresholds = args.arg("thresholds", "Idle below this.").required().map::<Percent>();
        let targets = args.arg("targetThresholds", "Busy above this.").required().map::<Percent>();
        for (resource, low) in &thresholds {
            if targets.get(resource).is_some_and(|target| low > target) {
                args.error(
                    args.at("thresholds").key(resource),
                    "threshold-over-target",
                    format!("the threshold of `{resource}` is above its target"),
                );
            }
        }
        args.arg("numberOfNodes", "From how many idle nodes on.").or(0_i32);
        args.object("evictableNamespaces", "Where.", |namespaces| {
            namespaces.list::<String>("exclude", "Not these.");
        });
        args.object("evictionLimits", "Limits of its own.", |limits| {
            limits.optional::<u32>("node", "For each node.");
        });
        nothing()
    },
};

static HIGH: StrategyDef = StrategyDef {
    name: "HighNodeUtilization",
    pass: Pass::Balance,
    summary: "",
    build: |args| {
        args.arg("weight", "Any number.").or(1.0_f64);
        args.arg("offset", "A whole number.").or(0_i64);
        nothing()
    },
};

static DUPLICATES: StrategyDef = StrategyDef {
    name: "RemoveDuplicates",
    pass: Pass::Balance,
    summary: "",
    build: |_| nothing(),
};

static FAILED: StrategyDef = StrategyDef {
    name: "RemoveFailedPods",
    pass: Pass::Deschedule,
    summary: "",
    build: |_| nothing(),
};

static EVICTOR: EvictorDef = EvictorDef {
    name: "DefaultEvictor",
    summary: "",
    build: |args| {
        args.flag("nodeFit", "Only if the pod fits elsewhere.");
        args.arg("nodeSelector", "Fits on these nodes.").selector_string();
        args.optional::<GoDuration>("minPodAge", "Older than this.");
        args.arg("noEvictionPolicy", "How the annotation counts.")
            .choice(&[("Preferred", false), ("Mandatory", true)]);
        for name in ["evictLocalStoragePods", "ignorePvcPods"] {
            args.arg(name, "An old switch.").deprecated("use `podProtections`").flag();
        }
        args.object("podProtections", "What is protected.", |protections| {
            protections.arg("extraEnabled", "Protected too.").words(&[
                "PodsWithPVC",
                "PodsWithoutPDB",
                "PodsWithResourceClaims",
            ]);
        });
        Some(Shield::default())
    },
};

struct Nothing;

impl Strategy for Nothing {
    fn run(&self, _: &mut Turn<'_, '_>) {}

    fn judge<'s>(&'s self, _: &'s Snapshot, _: &[NodeId]) -> Box<dyn Judge<'s> + 's> {
        Box::new(Anywhere)
    }

    fn examine(&self, _: PodId, _: &mut Inquiry<'_, '_>) {}
}

fn nothing() -> Option<Box<dyn Strategy>> {
    Some(Box::new(Nothing))
}
