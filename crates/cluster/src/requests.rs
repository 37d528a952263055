//! What a pod asks of a node (docs/spec/scheduler.md section 4.1), what the scorer of resources
//! counts for it (section 4.3), and its quality of service (docs/spec/strategies.md section 3.9).

use smallvec::SmallVec;

use crate::pod::{QosClass, Scored};
use crate::quantity::{Format, Quantity};
use crate::resources::ResourceId;
use crate::wire::{self, Amounts, Container, PodSpec, text};

mod admission;
mod resize;

pub(crate) use admission::admit;
pub(crate) use resize::resized;

/// What the scorer takes a container to ask for that does not say.
const DEFAULT_MILLI_CPU: i64 = 100;
const DEFAULT_MEMORY_BYTES: i64 = 200 << 20;

/// Exact amounts by resource, in the order of first mention. They are rounded once, at the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Totals<'a>(SmallVec<[(&'a str, Quantity); 4]>);

impl<'a> Totals<'a> {
    /// Those of `amounts` that can be read; the others are complained about elsewhere.
    pub(crate) fn of(amounts: Option<&'a Amounts<'_>>) -> Self {
        let mut totals = Self::default();
        for (name, amount) in amounts.iter().flat_map(|amounts| &amounts.0) {
            if let Ok(amount) = amount.0 {
                *totals.entry(name) = amount;
            }
        }
        totals
    }

    /// Rounds up: processor time to millicores, everything else to whole units.
    pub(crate) fn round(
        &self,
        mut id: impl FnMut(&str) -> ResourceId,
    ) -> impl Iterator<Item = (ResourceId, i64)> {
        self.0.iter().map(move |&(name, amount)| {
            let id = id(name);
            let amount = if id == ResourceId::CPU { amount.milli_value() } else { amount.value() };
            (id, amount)
        })
    }

    /// Processor time and memory, rounded up.
    pub(crate) fn scored(&self) -> Scored {
        Scored {
            cpu: self.find("cpu").map_or(0, Quantity::milli_value),
            memory: self.find("memory").map_or(0, Quantity::value),
        }
    }

    fn entry(&mut self, name: &'a str) -> &mut Quantity {
        let at = self.0.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.0.push((name, Quantity::ZERO));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    pub(crate) fn find(&self, name: &str) -> Option<Quantity> {
        self.0.iter().find(|(known, _)| *known == name).map(|&(_, amount)| amount)
    }

    fn add(&mut self, more: &Totals<'a>) {
        for &(name, amount) in &more.0 {
            let mine = self.entry(name);
            *mine = mine.saturating_add(amount);
        }
    }

    fn raise(&mut self, candidate: &Totals<'a>) {
        for &(name, amount) in &candidate.0 {
            let mine = self.entry(name);
            *mine = (*mine).max(amount);
        }
    }
}

/// Which of processor time and memory a container is taken to ask for when it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Defaults {
    cpu: bool,
    memory: bool,
}

impl Defaults {
    const NONE: Self = Self { cpu: false, memory: false };
    const BOTH: Self = Self { cpu: true, memory: true };

    /// Those for a pod on a node that asks for `asked`: both, unless there are requests of the pod
    /// as a whole; then only what is not asked for at all.
    fn on_node(spec: &PodSpec<'_>, asked: &Totals<'_>) -> Self {
        if has_whole(spec) {
            Self { cpu: asked.find("cpu").is_none(), memory: asked.find("memory").is_none() }
        } else {
            Self::BOTH
        }
    }

    fn fill(self, amounts: &mut Totals<'_>) {
        if self.cpu && amounts.find("cpu").is_none() {
            amounts.0.push(("cpu", Quantity::from_millis(DEFAULT_MILLI_CPU, Format::DecimalSi)));
        }
        if self.memory && amounts.find("memory").is_none() {
            amounts
                .0
                .push(("memory", Quantity::from_units(DEFAULT_MEMORY_BYTES, Format::BinarySi)));
        }
    }
}

/// The requests of a pod as those of one that is yet to be placed.
pub(crate) fn requests<'a>(spec: &'a PodSpec<'_>) -> Totals<'a> {
    whole_pod(spec, containers(spec, asked_of, Defaults::NONE), asked(spec.resources.as_ref()))
}

/// What the scorer counts for a pod that asks for `asked`: when it is yet to be placed, and on a
/// node (docs/spec/scheduler.md section 4.3).
pub(crate) fn scored(spec: &PodSpec<'_>, asked: &Totals<'_>) -> (Scored, Scored) {
    let mut containers_of =
        [&spec.containers, &spec.init_containers].into_iter().flatten().flatten();
    let silent =
        containers_of.any(|container| !says(container, "cpu") || !says(container, "memory"));
    let whole = has_whole(spec);
    if !silent && !whole {
        let scored = asked.scored();
        return (scored, scored);
    }
    // An incoming pod is scored without the requests of the pod as a whole.
    let incoming = containers(spec, asked_of, Defaults::BOTH);
    let incoming = with_overhead(spec, incoming).scored();
    if !whole {
        return (incoming, incoming);
    }
    let defaults = Defaults::on_node(spec, asked);
    let on_node = containers(spec, asked_of, defaults);
    (incoming, whole_pod(spec, on_node, self::asked(spec.resources.as_ref())).scored())
}

fn asked<'a>(resources: Option<&'a wire::Resources<'_>>) -> Totals<'a> {
    Totals::of(resources.and_then(|resources| resources.requests.as_ref()))
}

fn asked_of<'a>(container: &'a Container<'_>, _resizable: bool) -> Totals<'a> {
    asked(container.resources.as_ref())
}

/// Whether a container asks for some of a resource, be it nothing.
fn says(container: &Container<'_>, name: &str) -> bool {
    let requests = container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    requests.is_some_and(|requests| {
        requests.0.iter().any(|(known, amount)| **known == *name && amount.0.is_ok())
    })
}

/// Whether the pod as a whole has requests that count.
fn has_whole(spec: &PodSpec<'_>) -> bool {
    asked(spec.resources.as_ref()).0.iter().any(|(name, _)| of_whole(name))
}

/// Whether a resource is one that a pod as a whole may ask for.
fn of_whole(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

/// Sums containers with `of(container, it is regular or a sidecar)`.
fn containers<'a>(
    spec: &'a PodSpec<'_>,
    of: impl Fn(&'a Container<'a>, bool) -> Totals<'a>,
    defaults: Defaults,
) -> Totals<'a> {
    let of = |container, lasting| {
        let mut amounts = of(container, lasting);
        defaults.fill(&mut amounts);
        amounts
    };
    let mut sum = Totals::default();
    for container in spec.containers.iter().flatten() {
        sum.add(&of(container, true));
    }
    let (mut sidecars, mut peak) = (Totals::default(), Totals::default());
    for container in spec.init_containers.iter().flatten() {
        let sidecar = text(&container.restart_policy) == "Always";
        let mut candidate = of(container, sidecar);
        if sidecar {
            sum.add(&candidate);
            sidecars.add(&candidate);
            peak.raise(&sidecars);
        } else {
            candidate.add(&sidecars);
            peak.raise(&candidate);
        }
    }
    sum.raise(&peak);
    sum
}

/// Puts the requests of the pod as a whole in the place of the sum, where they may, and adds what
/// the pod itself takes.
fn whole_pod<'a>(spec: &'a PodSpec<'_>, mut sum: Totals<'a>, whole: Totals<'a>) -> Totals<'a> {
    for (name, amount) in whole.0 {
        if of_whole(name) {
            *sum.entry(name) = amount;
        }
    }
    with_overhead(spec, sum)
}

fn with_overhead<'a>(spec: &'a PodSpec<'_>, mut sum: Totals<'a>) -> Totals<'a> {
    sum.add(&Totals::of(spec.overhead.as_ref()));
    sum
}

/// The class in the status, or the one that requests and limits make.
pub(crate) fn qos(spec: &PodSpec<'_>, class: &str) -> QosClass {
    match class {
        "Guaranteed" => return QosClass::Guaranteed,
        "Burstable" => return QosClass::Burstable,
        "BestEffort" => return QosClass::BestEffort,
        _ => {}
    }
    let (mut requested, mut limited) = (Totals::default(), Totals::default());
    let mut all_limited = true;
    for container in [&spec.containers, &spec.init_containers].into_iter().flatten().flatten() {
        let resources = container.resources.as_ref();
        let limits = positive(resources.and_then(|resources| resources.limits.as_ref()));
        all_limited &= limits.0.len() == 2;
        requested.add(&positive(resources.and_then(|resources| resources.requests.as_ref())));
        limited.add(&limits);
    }
    if requested.0.is_empty() && limited.0.is_empty() {
        return QosClass::BestEffort;
    }
    let equal = requested.0.len() == limited.0.len()
        && requested.0.iter().all(|&(name, amount)| limited.find(name) == Some(amount));
    if all_limited && equal { QosClass::Guaranteed } else { QosClass::Burstable }
}

/// Processor time and memory, where they are more than nothing.
fn positive<'a>(amounts: Option<&'a Amounts<'_>>) -> Totals<'a> {
    let mut amounts = Totals::of(amounts);
    amounts
        .0
        .retain(|(name, amount)| matches!(*name, "cpu" | "memory") && *amount > Quantity::ZERO);
    amounts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(json: &str) -> PodSpec<'_> {
        serde_json::from_str(json).expect("a pod spec")
    }

    fn milli(totals: &Totals<'_>, name: &str) -> i64 {
        totals.find(name).expect("a resource that is named").milli_value()
    }

    /// Containers as `name cpu/memory`, init containers likewise, `!` for a sidecar.
    #[test]
    fn sums_and_peaks() {
        let container = |text: &str| {
            let (cpu, memory) = text.trim_start_matches('!').split_once('/').expect("cpu/memory");
            let policy = if text.starts_with('!') { r#""restartPolicy": "Always","# } else { "" };
            format!(
                r#"{{{policy}"resources": {{"requests": {{"cpu": "{cpu}", "memory": {memory}}}}}}}"#
            )
        };
        let table: [(&[&str], &[&str], i64, i64); 7] = [
            (&["1/10"], &[], 1000, 10),
            (&["1/10", "500m/5"], &[], 1500, 15),
            (&["1/10"], &["2/5"], 2000, 10),
            (&["1/10"], &["2/5", "3/1"], 3000, 10),
            // A sidecar adds to what comes after it, not to what came before.
            (&["1/10"], &["1500m/10", "!600m/5", "2/10"], 2600, 15),
            (&["1/10"], &["2/10", "!600m/5"], 2000, 15),
            (&["1/10"], &["!1/1", "!2/2"], 4000, 13),
        ];
        for (regular, init, cpu, memory) in table {
            let list = |names: &[&str]| {
                names.iter().map(|name| container(name)).collect::<Vec<_>>().join(",")
            };
            let json = format!(
                r#"{{"containers": [{}], "initContainers": [{}]}}"#,
                list(regular),
                list(init)
            );
            let spec = spec(&json);
            let totals = requests(&spec);
            assert_eq!(milli(&totals, "cpu"), cpu, "{regular:?} {init:?}");
            assert_eq!(totals.find("memory").map(Quantity::value), Some(memory), "{json}");
        }
    }

    #[test]
    fn pod_level_requests_replace_and_overhead_comes_last() {
        let spec = spec(
            r#"{"containers": [{"resources": {"requests": {"cpu": "1", "example.com/gpu": 1}}}],
                "resources": {"requests": {"cpu": "300m", "hugepages-2Mi": "4Mi",
                                           "example.com/gpu": 7}},
                "overhead": {"cpu": "10m", "memory": "1Mi"}}"#,
        );
        let totals = requests(&spec);
        assert_eq!(milli(&totals, "cpu"), 310);
        assert_eq!(totals.find("example.com/gpu").map(Quantity::value), Some(1));
        assert_eq!(totals.find("hugepages-2Mi").map(Quantity::value), Some(4 << 20));
        assert_eq!(totals.find("memory").map(Quantity::value), Some(1 << 20));
    }

    #[test]
    fn quality_of_service() {
        let of = |resources: &[&str]| {
            let containers: Vec<String> =
                resources.iter().map(|r| format!(r#"{{"resources": {r}}}"#)).collect();
            let json = format!(r#"{{"containers": [{}]}}"#, containers.join(","));
            qos(&spec(&json), "")
        };
        let full = r#"{"limits": {"cpu": "1", "memory": "1Gi"},
                       "requests": {"cpu": "1000m", "memory": "1024Mi"}}"#;
        let crossed_a =
            r#"{"limits": {"cpu": 1, "memory": 2}, "requests": {"cpu": 2, "memory": 2}}"#;
        let crossed_b =
            r#"{"limits": {"cpu": 2, "memory": 2}, "requests": {"cpu": 1, "memory": 2}}"#;
        assert_eq!(of(&["{}"]), QosClass::BestEffort);
        assert_eq!(
            of(&[r#"{"requests": {"cpu": "0", "example.com/gpu": 1}}"#]),
            QosClass::BestEffort
        );
        assert_eq!(of(&[r#"{"requests": {"cpu": "1"}}"#]), QosClass::Burstable);
        assert_eq!(of(&[r#"{"limits": {"cpu": 1, "memory": 1}}"#]), QosClass::Burstable);
        assert_eq!(of(&[full]), QosClass::Guaranteed);
        assert_eq!(of(&[full, "{}"]), QosClass::Burstable);
        // Sums are compared, not containers.
        assert_eq!(of(&[crossed_a, crossed_b]), QosClass::Guaranteed);
        assert_eq!(qos(&spec("{}"), "Guaranteed"), QosClass::Guaranteed);
    }
}
