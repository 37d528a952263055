//! Keeps pods that should not be evicted, whichever strategy asks.
//!
//! Every profile has it, whether the policy names it or not. By default it keeps pods without an
//! owner, pods of DaemonSets, pods with local storage, pods of critical priority, mirror and static
//! pods, and pods that are being deleted already. The annotation
//! `descheduler.alpha.kubernetes.io/evict` overrules that for a single pod, except for mirror pods
//! and those that are being deleted; with the value `false` it keeps the pod instead.
//!
//! ```yaml
//! apiVersion: descheduler/v1alpha2
//! kind: DeschedulerPolicy
//! profiles:
//!   - name: careful
//!     pluginConfig:
//!       - name: DefaultEvictor
//!         args:
//!           nodeFit: true
//!           minReplicas: 2
//!           priorityThreshold: {value: 10000}
//!           podProtections:
//!             defaultDisabled: [PodsWithLocalStorage]
//!             extraEnabled: [PodsWithPVC]
//!       - name: RemoveDuplicates
//!     plugins:
//!       balance:
//!         enabled: [RemoveDuplicates]
//! ```
//!
//! Pods that autoscalers are asked to leave alone, by `karpenter.sh/do-not-disrupt: "true"` or
//! `cluster-autoscaler.kubernetes.io/safe-to-evict: "false"`, are kept as well, except with
//! placement off.
//!
//! `minPodAge` counts from the start of the pod, not from its creation. Where `SystemCriticalPods`
//! is disabled no priority protects, `priorityThreshold` included. `FailedBarePods`, despite its
//! name, keeps every pod without an owner; where it is disabled the failed ones may go. `nodeFit`
//! looks at all ready nodes that `nodeSelector` of these arguments selects.

mod age;
mod autoscalers;
mod budgets;
mod claims;
mod kind;
mod node_fit;
mod ownership;
mod preference;
mod priority;
mod replicas;
mod selectors;
mod storage;

use descheduler_engine::{Args, EvictorDef, Protection, Shield};

/// The plugin as a policy names it.
pub(crate) static DEF: EvictorDef = EvictorDef {
    name: "DefaultEvictor",
    summary: "Keeps pods that should not be evicted, whichever strategy asks.",
    build,
};

/// Protections that hold unless they are disabled.
const DEFAULTS: [&str; 4] =
    ["PodsWithLocalStorage", "SystemCriticalPods", "FailedBarePods", "DaemonSetPods"];

/// Protections that hold only when they are enabled.
const EXTRAS: [&str; 3] = ["PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims"];

/// The old switches, with the protection that each turns off or on.
const SWITCHES: [(&str, &str, &str); 6] = [
    ("evictLocalStoragePods", "PodsWithLocalStorage", "Evict pods with local storage too."),
    ("evictDaemonSetPods", "DaemonSetPods", "Evict pods of DaemonSets too."),
    ("evictSystemCriticalPods", "SystemCriticalPods", "Evict pods of any priority."),
    ("evictFailedBarePods", "FailedBarePods", "Evict failed pods without an owner too."),
    ("ignorePvcPods", "PodsWithPVC", "Keep pods with PersistentVolumeClaims."),
    ("ignorePodsWithoutPDB", "PodsWithoutPDB", "Keep pods that no disruption budget covers."),
];

/// Which of [`DEFAULTS`] and [`EXTRAS`] hold.
struct Chosen(Vec<&'static str>);

impl Chosen {
    fn has(&self, name: &str) -> bool {
        self.0.contains(&name)
    }
}

/// Reads all arguments (docs/spec/strategies.md sections 4.1 and 4.2).
fn build(args: &mut Args<'_>) -> Option<Shield> {
    let lists = args.object("podProtections", "Which protections hold.", Lists::read);
    let Lists { disabled, enabled, protected_classes } = lists.unwrap_or_default();
    let switched: Vec<&'static str> = SWITCHES
        .iter()
        .filter(|(name, _, doc)| args.arg(name, doc).deprecated("use `podProtections`").flag())
        .map(|(_, protection, _)| *protection)
        .collect();
    let lists_used = !disabled.is_empty() || !enabled.is_empty();
    if lists_used && !switched.is_empty() {
        args.error_at(
            "podProtections",
            "deprecated-with-pod-protections",
            "the old switches (`evict..`, `ignore..`) cannot be combined with the lists of \
             `podProtections`",
        )
        .help("name the protections in `defaultDisabled` and `extraEnabled` instead".to_owned());
    }
    let chosen = choose(&switched, &disabled, &enabled);
    let priority = priority::read(args, chosen.has("SystemCriticalPods"));
    let replicas = replicas::read(args);
    let age = age::read(args);
    let preference = preference::read(args);
    let labels = selectors::read_labels(args);
    let namespaces = selectors::read_namespace_labels(args);
    let fit = node_fit::read(args);

    // In the order asked: what can never go first, then the cheap and telling.
    let mut all: Vec<Box<dyn Protection>> = vec![
        Box::new(kind::Terminating),
        Box::new(kind::Mirror),
        Box::new(kind::Static),
        Box::new(ownership::Bare { failed_may_go: !chosen.has("FailedBarePods") }),
    ];
    if chosen.has("DaemonSetPods") {
        all.push(Box::new(ownership::DaemonSet));
    }
    all.extend(priority);
    if chosen.has("PodsWithLocalStorage") {
        all.push(Box::new(storage::LocalStorage));
    }
    if chosen.has("PodsWithPVC") {
        all.push(Box::new(claims::Claims { protected_classes }));
    }
    if chosen.has("PodsWithResourceClaims") {
        all.push(Box::new(claims::ResourceClaims));
    }
    if chosen.has("PodsWithoutPDB") {
        all.push(Box::new(budgets::Unbudgeted));
    }
    all.push(Box::new(autoscalers::Undisturbed));
    let rest = [preference, labels, replicas, age, fit, namespaces];
    all.extend(rest.into_iter().flatten());
    Some(Shield::new(all))
}

/// The lists win where one of them says anything; otherwise the old switches count
/// (docs/spec/strategies.md section 4.3).
fn choose(switched: &[&str], disabled: &[&str], enabled: &[&'static str]) -> Chosen {
    let by_lists = !disabled.is_empty() || !enabled.is_empty();
    let off = if by_lists { disabled } else { switched };
    let on = |name: &&'static str| if by_lists { enabled } else { switched }.contains(name);
    let defaults = DEFAULTS.into_iter().filter(|name| !off.contains(name));
    Chosen(defaults.chain(EXTRAS.into_iter().filter(on)).collect())
}

/// `podProtections`.
#[derive(Default)]
struct Lists {
    disabled: Vec<&'static str>,
    enabled: Vec<&'static str>,
    protected_classes: Vec<String>,
}

impl Lists {
    fn read(args: &mut Args<'_>) -> Self {
        let disabled =
            args.arg("defaultDisabled", "Default protections that do not hold.").words(&DEFAULTS);
        let enabled = args.arg("extraEnabled", "Further protections that hold.").words(&EXTRAS);
        for (name, words) in [("defaultDisabled", &disabled), ("extraEnabled", &enabled)] {
            refuse_repeats(args, name, words);
        }
        let classes = args.object("config", "Settings of single protections.", |args| {
            args.object("PodsWithPVC", "Settings of `PodsWithPVC`.", |args| {
                let doc = "Only pods with a claim of one of these storage classes are kept.";
                args.objects("protectedStorageClasses", doc, |class| {
                    class.arg("name", "Its name.").or(String::new())
                })
            })
        });
        let protected_classes = classes.flatten().unwrap_or_default();
        if let Some(at) = protected_classes.iter().position(String::is_empty) {
            let place = args.at("config").key("PodsWithPVC").key("protectedStorageClasses");
            let message = format!("`protectedStorageClasses[{at}]`: `name` must be given");
            args.error(place.item(at), "missing-argument", message);
        }
        Self { disabled, enabled, protected_classes }
    }
}

fn refuse_repeats(args: &mut Args<'_>, name: &str, words: &[&str]) {
    for (at, word) in words.iter().enumerate() {
        if words[..at].contains(word) {
            let message = format!("`{name}`: `{word}` is listed twice");
            args.error(args.at(name).item(at), "duplicate-value", message);
        }
    }
}
