//! What upstream counts, under its names (docs/spec/runtime.md section 10).

use std::sync::atomic::{AtomicUsize, Ordering};

use descheduler_engine::{Eviction, Fate, LimitKind, Policy, Refusal, Untried};
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::{MetricType, TypedMetric};

use super::{Buckets, Counters, Gauges, Histograms, Names};
use crate::observe::{Decided, News, Planned, StrategySpent};

const LOOP_BUCKETS: &[f64] =
    &[0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0];

/// The same, up to 100 s.
const STRATEGY_BUCKETS: &[f64] = LOOP_BUCKETS.split_at(LOOP_BUCKETS.len() - 2).0;

/// So many sets of labels are told apart. Where nodes come and go for months there would be no end
/// of them; from then on new ones have neither a namespace nor a node.
const SERIES_MAX: usize = 10_000;

/// What the program was built from; empty where that is not known.
#[derive(Clone, Debug, Default)]
pub struct Build {
    /// Such as `0.36.0`.
    pub version: String,
    /// The branch.
    pub branch: String,
    /// The commit.
    pub commit: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Evicted {
    result: &'static str,
    strategy: &'static str,
    profile: String,
    namespace: String,
    node: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ran {
    strategy: &'static str,
    profile: String,
}

#[expect(non_snake_case, reason = "upstream's labels")]
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Built {
    AppVersion: String,
    DeschedulerVersion: String,
    GitBranch: String,
    GitSha1: String,
    GoVersion: String,
}

pub(super) struct Upstream {
    evicted: Counters<Evicted>,
    evicted_old: Family<Evicted, Untyped>,
    /// How many sets of labels these have.
    series: AtomicUsize,
    loops: Histogram,
    loops_old: Histogram,
    strategies: Histograms<Ran>,
    strategies_old: Histograms<Ran>,
}

impl Upstream {
    pub(super) fn new(build: Build, names: &mut Names<'_>) -> Self {
        let Build { version, branch, commit } = build;
        let built: Gauges<Built> =
            names.add("build_info", "The program that runs, by version and commit; always 1");
        built
            .get_or_create(&Built {
                DeschedulerVersion: format!("v{version}"),
                AppVersion: version,
                GitBranch: branch,
                GitSha1: commit,
                GoVersion: String::new(),
            })
            .set(1);
        let evictions = "Evictions by what became of them: `success`, `error`, `background`, or the \
                         limit that kept the pod";
        let looped = "How long a cycle took, evictions included";
        let ran = "How long a strategy took to say what it would evict";
        let loops = || Histogram::new(LOOP_BUCKETS.iter().copied());
        let strategies = || Histograms::new_with_constructor(Buckets(STRATEGY_BUCKETS));
        let old = |help: &str, name: &str| format!("Deprecated for descheduler_{name}. {help}");
        Self {
            evicted: names.add("pods_evicted", evictions),
            evicted_old: names.add("pods_evicted", &old(evictions, "pods_evicted_total")),
            series: AtomicUsize::new(0),
            loops: names.add_this("loop_duration_seconds", looped, loops()),
            loops_old: names.add_this(
                "descheduler_loop_duration_seconds",
                &old(looped, "loop_duration_seconds"),
                loops(),
            ),
            strategies: names.add_this("strategy_duration_seconds", ran, strategies()),
            strategies_old: names.add_this(
                "descheduler_strategy_duration_seconds",
                &old(ran, "strategy_duration_seconds"),
                strategies(),
            ),
        }
    }

    pub(super) fn hear(&self, news: &News) {
        match news {
            News::Planned(planned) => self.planned(planned),
            News::Decided(Decided { record, policy, .. }) => {
                let target = &record.target;
                let Some(result) = result(&record.fate) else { return };
                self.evicted(Evicted {
                    result,
                    strategy: target.strategy,
                    profile: profile(policy, target.profile),
                    namespace: target.pod.namespace.to_string(),
                    node: target.node.to_string(),
                });
            }
            News::Ended(ended) => {
                let took = ended.took.as_secs_f64();
                self.loops.observe(took);
                self.loops_old.observe(took);
            }
            News::Synced
            | News::Policy(_)
            | News::Lease(_)
            | News::Serving(_)
            | News::Begun(_)
            | News::Settled(_)
            | News::Skipped(_) => {}
        }
    }

    fn planned(&self, planned: &Planned) {
        let Planned { world, policy, plan, spent, dry_run, .. } = planned;
        for StrategySpent { profile, strategy, took } in &spent.strategies {
            let ran = Ran { strategy, profile: profile.clone() };
            for family in [&self.strategies, &self.strategies_old] {
                family.get_or_create(&ran).observe(took.as_secs_f64());
            }
        }
        let snapshot = &world.0;
        let evicted = |result, pod, strategy, index| {
            let pod = snapshot.pod(pod);
            let node = pod.node.map(|node| snapshot.node(node).name.to_string());
            self.evicted(Evicted {
                result,
                strategy,
                profile: profile(policy, index),
                namespace: snapshot.text(pod.namespace).to_owned(),
                node: node.unwrap_or_default(),
            });
        };
        // As upstream, a dry run counts as if it were none (section 6).
        for Eviction { pod, profile, strategy, .. } in &plan.evictions {
            if *dry_run {
                evicted(SUCCESS, *pod, strategy, *profile);
            }
        }
        for run in &plan.report.runs {
            for refused in &run.refusals {
                if let Refusal::Limit { kind, .. } = &refused.refusal {
                    evicted(limit(*kind), refused.pod, run.strategy, run.profile);
                }
            }
        }
    }

    fn evicted(&self, mut labels: Evicted) {
        let is_new = self.evicted.get(&labels).is_none();
        if is_new && self.series.fetch_add(1, Ordering::Relaxed) >= SERIES_MAX {
            labels.namespace.clear();
            labels.node.clear();
        }
        self.evicted.get_or_create(&labels).inc();
        self.evicted_old.get_or_create(&labels).0.inc();
    }
}

pub(super) fn profile(policy: &Policy, index: usize) -> String {
    policy.profiles.get(index).map_or_else(String::new, |profile| profile.name.clone())
}

const SUCCESS: &str = "success";

/// Upstream's word for what became of an eviction, if it would have asked for it.
fn result(fate: &Fate) -> Option<&'static str> {
    match fate {
        Fate::Evicted => Some(SUCCESS),
        Fate::InBackground => Some("background"),
        Fate::Gone
        | Fate::Replaced
        | Fate::BlockedByBudget
        | Fate::ThrottledOut
        | Fate::Conflict
        | Fate::Unreached(_)
        | Fate::Denied(_)
        | Fate::Unknown(_) => Some("error"),
        Fate::NotTried(Untried::Limit(kind)) => Some(limit(*kind)),
        Fate::NotTried(_) => None,
    }
}

/// Section 7.2.
fn limit(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Total => "maximum number of evicted pods per a descheduling cycle reached",
        LimitKind::Node => "maximum number of evicted pods per node reached",
        LimitKind::Namespace => "maximum number of evicted pods per namespace reached",
    }
}

/// A counter without `_total` in its name, which the library has none of.
#[derive(Clone, Debug, Default)]
struct Untyped(Counter);

impl TypedMetric for Untyped {
    const TYPE: MetricType = MetricType::Unknown;
}

impl EncodeMetric for Untyped {
    fn encode(&self, encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        ConstCounter::new(self.0.get()).encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_have_an_end() {
        let mut registry = prometheus_client::registry::Registry::default();
        let upstream = Upstream::new(Build::default(), &mut Names(&mut registry));
        let labels = |node: usize| Evicted {
            result: SUCCESS,
            strategy: "PodLifeTime",
            profile: "p".to_owned(),
            namespace: "ns".to_owned(),
            node: format!("node-{node}"),
        };
        for node in 0..SERIES_MAX + 100 {
            upstream.evicted(labels(node));
        }
        upstream.evicted(labels(0));
        let of = |labels: &Evicted| upstream.evicted.get(labels).map(|counter| counter.get());
        assert_eq!(of(&labels(0)), Some(2), "those that are known go on");
        assert_eq!(of(&labels(SERIES_MAX)), None);
        let rest = Evicted { namespace: String::new(), node: String::new(), ..labels(0) };
        assert_eq!(of(&rest), Some(100));
    }
}
