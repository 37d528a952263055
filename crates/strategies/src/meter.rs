//! What nodes and pods use: what pods request, or what was measured
//! (docs/spec/strategies.md section 6.2).

use std::borrow::Cow;
use std::cell::RefCell;

use descheduler_cluster::{NodeId, PodId, ResourceId, Resources, Snapshot};
use descheduler_engine::Args;
use descheduler_scheduler::{PodRef, View};
use jiff::Timestamp;

use crate::age::seconds_since;
use crate::follow::Follower;
use crate::utilization::Thresholds;

/// Who says what is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The requests of the pods.
    Requests,
    /// The metrics server.
    Metrics,
    /// A query to Prometheus.
    Prometheus,
}

/// What was measured longer ago says nothing about now. A metrics server measures every 15 seconds
/// and keeps nothing, so this is only met in dumps, whose objects were not all read at once.
const STALE_SECONDS: u64 = 300;

/// The only resource that a query to Prometheus measures.
const METRIC_RESOURCE: &str = "MetricResource";

impl Source {
    /// Why nothing is done where Prometheus would have to be asked.
    pub(crate) const NO_PROMETHEUS: &str =
        "nothing moves: use is to be measured by Prometheus, which cannot be asked here";

    /// Reads `metricsUtilization` (docs/spec/strategies.md section 7.2, 6 to 8).
    pub(crate) fn read(args: &mut Args<'_>) -> Self {
        let doc = "Where use is taken from instead of requests.";
        let read = args.object("metricsUtilization", doc, |metrics| {
            let sources = [("KubernetesMetrics", Self::Metrics), ("Prometheus", Self::Prometheus)];
            let named = metrics.given("source");
            let source = metrics.arg("source", "Who measures.").choice(&sources);
            let server = metrics
                .arg("metricsServer", "The metrics server measures.")
                .deprecated("use `source: KubernetesMetrics`")
                .flag();
            let query = metrics.object("prometheus", "How Prometheus is asked.", |prometheus| {
                prometheus.arg("query", "The query.").or(String::new())
            });
            match (source, server) {
                (Some(Self::Metrics), true) => {
                    let message = "`metricsServer` and `source` cannot both be given";
                    metrics.error_at("metricsServer", "two-sources", message);
                }
                (Some(Self::Metrics), false) if query.is_some() => {
                    let message = "`prometheus` belongs to the source `Prometheus` alone";
                    metrics.error_at("prometheus", "two-sources", message);
                }
                (Some(Self::Prometheus), _) if query.is_none_or(|query| query.is_empty()) => {
                    let message = "the source `Prometheus` needs a `prometheus.query`";
                    metrics.error_at("prometheus", "missing-query", message);
                }
                (None, false) if !named => {
                    let message = "`metricsUtilization` names no source";
                    let help = "add `source: KubernetesMetrics`".to_owned();
                    metrics.error(metrics.here(), "missing-source", message).help(help);
                }
                _ => {}
            }
            source.or(server.then_some(Self::Metrics))
        });
        read.flatten().unwrap_or(Self::Requests)
    }

    /// A query measures one resource of its own.
    pub(crate) fn check(self, args: &mut Args<'_>, name: &'static str, thresholds: &Thresholds) {
        let is_metric = thresholds.len() == 1 && thresholds.contains_key(METRIC_RESOURCE);
        if self == Self::Prometheus && !thresholds.is_empty() && !is_metric {
            let message =
                format!("`{name}`: the source `Prometheus` measures `{METRIC_RESOURCE}` alone");
            args.error_at(name, "wrong-resource", message);
        }
    }

    /// How use comes about, in words.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::Requests => "requested",
            Self::Metrics | Self::Prometheus => "used",
        }
    }
}

/// Answers for one snapshot.
pub(crate) struct Meter<'s> {
    pub(crate) snapshot: &'s Snapshot,
    pub(crate) source: Source,
    /// What is measured must be known of each of these.
    needed: Vec<ResourceId>,
    measured: RefCell<Measured<'s>>,
}

/// What nodes were measured to use, with what is planned.
struct Measured<'s> {
    /// By node slot; empty where requests count.
    nodes: Vec<Option<Resources>>,
    follower: Follower<'s>,
}

impl<'s> Meter<'s> {
    /// Of each of `resources` it must be known how much is used.
    pub(crate) fn new(
        snapshot: &'s Snapshot,
        source: Source,
        resources: impl Iterator<Item = ResourceId>,
    ) -> Self {
        let needed = resources.filter(|&resource| resource != ResourceId::PODS).collect();
        let follower = Follower::default();
        let measured = RefCell::new(Measured { nodes: Vec::new(), follower });
        let meter = Self { snapshot, source, needed, measured };
        if source != Source::Requests {
            let mut nodes = vec![None; snapshot.node_slots()];
            for &node in snapshot.nodes() {
                nodes[node.index()] = meter.measured_of(node).cloned();
            }
            meter.measured.borrow_mut().nodes = nodes;
        }
        meter
    }

    /// What a node uses, unless that is not known. `pods` is the number of active pods.
    pub(crate) fn node<'v>(&self, view: &'v View<'s>, node: NodeId) -> Option<Cow<'v, Resources>> {
        let requested = view.requested(node);
        if self.source == Source::Requests {
            return Some(Cow::Borrowed(requested));
        }
        let mut measured = self.measured.borrow_mut();
        let Measured { nodes, follower } = &mut *measured;
        follower.catch_up(view, |pod, node, by| {
            let used = node.and_then(|node| nodes[node.index()].as_mut());
            let Some(used) = used.filter(|_| self.snapshot.pod(pod.id).is_active()) else { return };
            match by {
                1.. => used.add(self.estimate(pod)),
                _ => used.subtract(self.estimate(pod)),
            }
        });
        let mut used = nodes[node.index()].clone()?;
        used.set(ResourceId::PODS, requested.get(ResourceId::PODS));
        Some(Cow::Owned(used))
    }

    /// What a pod uses, unless that is not known.
    pub(crate) fn pod(&self, pod: PodId) -> Option<&'s Resources> {
        match self.source {
            Source::Requests => Some(&self.snapshot.pod(pod).requests),
            Source::Metrics => {
                let usage = self.snapshot.pod_usage(pod)?;
                self.is_good(usage.measured, &usage.used).then_some(&usage.used)
            }
            Source::Prometheus => None,
        }
    }

    /// The same of one that may come in place of another, with requests where nothing is known:
    /// pods that other strategies move may not have been measured.
    pub(crate) fn estimate(&self, pod: &PodRef<'s>) -> &'s Resources {
        match self.source {
            Source::Requests => pod.requests,
            _ => self.pod(pod.id).unwrap_or(&self.snapshot.pod(pod.id).requests),
        }
    }

    /// What a node would use of a resource with the pod on it, when it uses `used` now.
    pub(crate) fn with(
        &self,
        view: &View<'s>,
        pod: &PodRef<'s>,
        node: NodeId,
        used: &Resources,
    ) -> impl Fn(ResourceId) -> i64 {
        let is_there = view.node_of(pod.id) == Some(node);
        let more = self.estimate(pod);
        // It may come back to where it was, with other requests.
        let less = is_there.then(|| self.estimate(&view.pod(pod.id)));
        move |resource| {
            let change = match (resource, less) {
                (ResourceId::PODS, _) => i64::from(!is_there),
                (_, less) => more.get(resource) - less.map_or(0, |less| less.get(resource)),
            };
            used.get(resource) + change
        }
    }

    /// Of which of these nodes it is not known what they use, as a line for the report.
    pub(crate) fn unknown(&self, nodes: &[NodeId]) -> Option<String> {
        if self.source == Source::Requests {
            return None;
        }
        let mut unknown = nodes.iter().filter(|&&node| self.measured_of(node).is_none());
        let first = &self.snapshot.node(*unknown.next()?).name;
        let who = match unknown.count() {
            0 => format!("{first} takes"),
            more => format!("{first} and {more} more take"),
        };
        Some(format!("{who} no part: use is not known, or not of the last {STALE_SECONDS}s"))
    }

    fn measured_of(&self, node: NodeId) -> Option<&'s Resources> {
        if self.source != Source::Metrics {
            return None;
        }
        let usage = self.snapshot.node_usage(node)?;
        self.is_good(usage.measured, &usage.used).then_some(&usage.used)
    }

    fn is_good(&self, measured: Option<Timestamp>, used: &Resources) -> bool {
        let now = self.snapshot.taken_at();
        let age = measured.map(|measured| seconds_since(measured, now).unwrap_or(0));
        age.is_some_and(|age| age <= STALE_SECONDS)
            && self.needed.iter().all(|&resource| used.find(resource).is_some())
    }
}
