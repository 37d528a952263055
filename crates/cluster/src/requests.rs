//! What a pod asks of a node and what it holds there (docs/spec/scheduler.md section 4.1), and
//! its quality of service (docs/spec/strategies.md section 3.9).

use smallvec::SmallVec;

use crate::pod::QosClass;
use crate::quantity::Quantity;
use crate::resources::ResourceId;
use crate::wire::{self, Amounts, Container, ContainerStatus, PodSpec, PodStatus, text};

/// Exact amounts by resource, in the order of first mention. They are rounded once, at the end.
#[derive(Clone, Debug, Default)]
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

    fn entry(&mut self, name: &'a str) -> &mut Quantity {
        let at = self.0.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.0.push((name, Quantity::ZERO));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    fn find(&self, name: &str) -> Option<Quantity> {
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

/// The requests of a pod as those of one that is yet to be placed.
pub(crate) fn requests<'a>(spec: &'a PodSpec<'_>) -> Totals<'a> {
    total(spec, |container, _| asked(container.resources.as_ref()), asked(spec.resources.as_ref()))
}

/// What a pod on a node holds while a resize in place is under way: for each container, and for
/// the pod as a whole, the larger of what the spec asks and what the status says is in force.
/// `None` when the status does not speak of resources.
pub(crate) fn held<'a>(spec: &'a PodSpec<'_>, status: &'a PodStatus<'_>) -> Option<Totals<'a>> {
    let statuses = || {
        [&status.container_statuses, &status.init_container_statuses]
            .into_iter()
            .flatten()
            .flatten()
            .filter(|status| status.resources.is_some())
    };
    if status.resources.is_none() && statuses().next().is_none() {
        return None;
    }
    let infeasible = status
        .conditions
        .iter()
        .flatten()
        .find(|condition| text(&condition.r#type) == "PodResizePending")
        .is_some_and(|condition| text(&condition.reason) == "Infeasible");
    let whole = asked(spec.resources.as_ref());
    let whole = match &status.resources {
        Some(actual) => in_force(whole, actual, status.allocated_resources.as_ref(), infeasible),
        None => whole,
    };
    let of = |container: &'a Container<'_>, resizable: bool| {
        let mine = asked(container.resources.as_ref());
        match statuses().find(|status| text(&status.name) == text(&container.name)) {
            Some(ContainerStatus { resources: Some(actual), allocated_resources, .. })
                if resizable =>
            {
                in_force(mine, actual, allocated_resources.as_ref(), infeasible)
            }
            _ => mine,
        }
    };
    Some(total(spec, of, whole))
}

fn in_force<'a>(
    asked: Totals<'a>,
    actual: &'a wire::Resources<'_>,
    allocated: Option<&'a Amounts<'_>>,
    infeasible: bool,
) -> Totals<'a> {
    let mut largest = if infeasible { Totals::default() } else { asked };
    largest.raise(&Totals::of(actual.requests.as_ref()));
    largest.raise(&Totals::of(allocated));
    largest
}

fn asked<'a>(resources: Option<&'a wire::Resources<'_>>) -> Totals<'a> {
    Totals::of(resources.and_then(|resources| resources.requests.as_ref()))
}

/// Sums containers with `of(container, may be resized in place)`; `whole` are the requests of
/// the pod as a whole, which replace the sum where they may.
fn total<'a>(
    spec: &'a PodSpec<'_>,
    of: impl Fn(&'a Container<'a>, bool) -> Totals<'a>,
    whole: Totals<'a>,
) -> Totals<'a> {
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
    for (name, amount) in whole.0 {
        if matches!(name, "cpu" | "memory") || name.starts_with("hugepages-") {
            *sum.entry(name) = amount;
        }
    }
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
    fn a_resize_holds_the_larger_amount() {
        let spec = spec(
            r#"{"containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}],
                     "initContainers": [{"name": "b", "resources": {"requests": {"cpu": "1"}}}]}"#,
        );
        let cpu = |json: &str| {
            let status: PodStatus<'_> = serde_json::from_str(json).expect("a status");
            held(&spec, &status).map(|totals| milli(&totals, "cpu"))
        };
        let growing = r#"{"containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "3"},
            "resources": {"requests": {"cpu": "2"}}}]}"#;
        assert_eq!(cpu(growing), Some(3000));
        let infeasible = r#"{"conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
            "containerStatuses": [{"name": "a", "resources": {"requests": {"cpu": "250m"}}}]}"#;
        // The init container still asks for 1.
        assert_eq!(cpu(infeasible), Some(1000));
        let ordinary_init =
            r#"{"initContainerStatuses": [{"name": "b", "resources": {"requests": {"cpu": 9}}}]}"#;
        assert_eq!(cpu(ordinary_init), Some(1000));
        let whole = r#"{"resources": {"requests": {"cpu": "5"}}}"#;
        assert_eq!(cpu(whole), Some(5000));
        assert_eq!(cpu(r#"{"containerStatuses": [{"name": "a"}]}"#), None);
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
