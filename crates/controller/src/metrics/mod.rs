//! Metrics (docs/spec/runtime.md section 10): a [`Listener`] that counts what it is told, under
//! upstream's names and a few of our own. `docs/metrics.md` lists them all.
//!
//! Every label has a bounded set of values: names of strategies, codes of reasons, profiles of the
//! policy. Namespaces and nodes, which upstream has as labels, may come and go without end, so the
//! number of their series has a limit.

mod own;
mod process;
mod upstream;

use http::HeaderValue;
use prometheus_client::encoding::prometheus_text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use self::own::Own;
use self::process::Process;
use self::upstream::Upstream;
use crate::observe::{Listener, News};

pub use upstream::Build;

/// What all names begin with.
const PREFIX: &str = "descheduler";

/// Everything that is counted.
pub struct Metrics {
    registry: Registry,
    upstream: Upstream,
    own: Own,
}

impl Metrics {
    /// Nothing is counted yet. `elects` says whether there is a leader election, and so a leader.
    pub fn new(build: Build, elects: bool) -> Self {
        let mut registry = Registry::default();
        let mut names = Names(registry.sub_registry_with_prefix(PREFIX));
        let upstream = Upstream::new(build, &mut names);
        let own = Own::new(elects, &mut names);
        Self { registry, upstream, own }
    }

    /// Adds what is known of the process itself, under the names that every Prometheus client has.
    pub fn with_process(mut self) -> Self {
        self.registry.register_collector(Box::new(Process));
        self
    }

    /// All of it in Prometheus' text format, and its type.
    pub fn page(&self) -> (HeaderValue, String) {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = prometheus_text::encode(&mut text, &self.registry);
        (HeaderValue::from_static(prometheus_text::CONTENT_TYPE), text)
    }
}

impl Listener for Metrics {
    fn hear(&self, news: &News) {
        self.upstream.hear(news);
        self.own.hear(news);
    }
}

/// Where names are given away.
struct Names<'r>(&'r mut Registry);

impl Names<'_> {
    /// A new metric; the full stop after the help is added.
    fn add<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        self.add_this(name, help, M::default())
    }

    fn add_this<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.0.register(name, help, metric.clone());
        metric
    }
}

/// One counter for each set of labels.
type Counters<L> = Family<L, Counter>;

/// One gauge for each set of labels.
type Gauges<L> = Family<L, Gauge>;

/// One histogram for each set of labels.
type Histograms<L> = Family<L, Histogram, Buckets>;

/// The buckets of a histogram, in seconds.
#[derive(Clone, Copy, Debug)]
struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}
