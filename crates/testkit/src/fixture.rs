//! Clusters in a few lines: a line for each object.
//!
//! Lines become ordinary Kubernetes JSON, which goes through [`Ingest`] like any other, so what
//! is tested is what users meet.
//!
//! ```
//! let snapshot = descheduler_testkit::snapshot(
//!     "
//!     node a      label:zone=z1 taint:dedicated=db:NoSchedule
//!     node b      cpu=8 memory=32Gi cordoned
//!     pod web x3  on=a owner=ReplicaSet/web label:app=web cpu=100m age=2h
//!     pod shop/db-0 on=b owner=StatefulSet/db pvc=data toleration:dedicated=db:NoSchedule
//!       | spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution:
//!       |   {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: Exists}]}]}}}}
//!     budget web  selector:app=web allowed=1
//!     ",
//! );
//! let names: Vec<String> = snapshot.pods().iter().map(|&pod| snapshot.pod_name(pod)).collect();
//! assert_eq!(names, ["default/web-1", "default/web-2", "default/web-3", "shop/db-0"]);
//! ```
//!
//! # Lines
//!
//! A line holds a kind, a name and words in any order. Kinds with a namespace take
//! `namespace/name`, and `default` where there is only a name. Blank lines and what follows `#` at
//! the start of a line are skipped. The word `x3` makes three objects: `web-1`, `web-2`, `web-3`.
//!
//! Lines that begin with `|` belong to the object above: what follows the bar is YAML (or JSON)
//! that is merged into the object as by RFC 7386. A field given there replaces what the words
//! made, lists as a whole; `null` removes it. For `x3` it is merged into all three.
//!
//! A word that the kind does not know is an error, as are a word given twice, a second object of
//! the same name, and a pod on a node that is not there (to have that, merge in `spec.nodeName`).
//!
//! Moments are given as ages, such as `90s`, `1h30m` or `2d`, before [`NOW`].
//!
//! # Words of all kinds
//!
//! `label:KEY=VALUE`, `annotation:KEY=VALUE`, `age=1d` (`creationTimestamp`). The uid is made
//! from kind, namespace and name, such as `Pod/default/web-1`.
//!
//! # Words of a `node`
//!
//! Without words it is ready, has 4 CPUs, 8Gi of memory, room for 110 pods, and the label
//! `kubernetes.io/hostname` with its name.
//!
//! | word | means |
//! |---|---|
//! | `cpu=4`, `memory=8Gi`, `pods=110`, `allocatable:NAME=AMOUNT` | allocatable |
//! | `capacity:NAME=AMOUNT` | capacity, where that is not what is allocatable |
//! | `taint:KEY=VALUE:EFFECT`, `taint:KEY:EFFECT` | a taint |
//! | `cordoned` | `spec.unschedulable`; a taint as the node controller adds it is a word of its own |
//! | `notready` | the condition `Ready` is `False` |
//!
//! # Words of a `pod`
//!
//! Without words it is Pending, bound to no node, one day old, owned by nobody, and requests
//! nothing. With `on` it is Running and Ready, and was started when it was created.
//!
//! | word | means |
//! |---|---|
//! | `on=a` | its node; with `x3`, `on=a,b` deals them out in turn |
//! | `owner=KIND/NAME` | an owner reference; the first one is the controller |
//! | `image=app`, `image=a,b` | a container for each image |
//! | `cpu=100m`, `memory=1Gi`, `request:NAME=AMOUNT`, `limit:NAME=AMOUNT` | of the first container |
//! | `hostPort=80` | a port of its node, held by the first container |
//! | `priority=10` | `spec.priority` |
//! | `toleration:KEY=VALUE:EFFECT` | a toleration; without `=VALUE` any value, without `:EFFECT` any effect; `toleration:*` tolerates everything |
//! | `nodeSelector:KEY=VALUE` | a label that its node must have |
//! | `affinity:KEY=V1,V2` | required node affinity, all such words together |
//! | `prefers:KEY=VALUE:WEIGHT` | preferred node affinity, a term for each word |
//! | `apart:KEY=VALUE@TOPOLOGY` | required anti-affinity to such pods of its namespace; without `@TOPOLOGY` by host name |
//! | `pvc=CLAIM`, `emptyDir`, `hostPath` | volumes |
//! | `phase=Failed`, `reason=Evicted`, `qos=Burstable` | of the status |
//! | `started=1h` | `status.startTime` |
//! | `unready` | the condition `Ready` is `False`, as it is in every pod that does not run |
//! | `condition:TYPE=STATUS:REASON:AGE` | a condition, of which `:REASON` and `:AGE` may be left out |
//! | `restarts=5` | of the first container |
//! | `waiting=REASON`, `exit=CODE:REASON` | the state of the first container |
//! | `terminating` | it is being deleted |
//!
//! # Words of other kinds
//!
//! | kind | words |
//! |---|---|
//! | `namespace` | |
//! | `priorityclass` | `value=1000` |
//! | `pvc` | `class=fast` |
//! | `budget` | `selector:KEY=VALUE` or `everything`; `allowed=1` or, to have that computed, `minAvailable=2` or `maxUnavailable=10%`; `healthy=3/2` (of how many it needs; by default it has what it needs); `unhealthy=AlwaysAllow`; `unprocessed` |
//! | `replicaset`, `replicationcontroller`, `statefulset`, `deployment` | `replicas=3`, `owner=KIND/NAME` |

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use descheduler_cluster::ingest::Source;
use descheduler_cluster::{Anomaly, Ingest, Snapshot};
use jiff::Timestamp;
use serde_json::Value;

mod line;
mod node;
mod other;
mod pod;
mod words;
mod yaml;

use line::Line;

/// The moment at which clusters given in lines are looked at: 2026-01-01T00:00:00Z.
pub const NOW: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// The objects of a cluster, as JSON.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// One text an object, in the order given. May be put in another order.
    pub objects: Vec<String>,
    /// When it is looked at; without, at the newest moment that an object bears.
    pub now: Option<Timestamp>,
}

/// The documents of a YAML file as JSON; empty ones are left out.
///
/// # Errors
///
/// It is no YAML, or more than what tests write.
pub fn yaml_documents(text: &str) -> Result<Vec<Value>, Faults> {
    yaml::documents(text).map_err(|fault| Faults(vec![fault]))
}

/// The snapshot of a cluster given in lines.
///
/// # Panics
///
/// The lines are not right, or make an object that Ingest complains about.
#[track_caller]
pub fn snapshot(lines: &str) -> Snapshot {
    match Cluster::parse(lines) {
        Ok(cluster) => cluster.snapshot(),
        Err(faults) => panic!("{faults}"),
    }
}

impl Cluster {
    /// Reads lines.
    ///
    /// # Errors
    ///
    /// All that is wrong with them, by line.
    pub fn parse(lines: &str) -> Result<Self, Faults> {
        let mut faults = Vec::new();
        let lines = Line::all(lines, &mut faults);
        let mut objects: Vec<(usize, Value)> = Vec::new();
        for line in &lines {
            objects.extend(line.objects(&mut faults).into_iter().map(|o| (line.number, o)));
        }
        check_names(&objects, &mut faults);
        check_nodes(&lines, &objects, &mut faults);
        faults.sort_by_key(|fault| fault.line);
        match faults.is_empty() {
            true => {
                let objects = objects.iter().map(|(_, object)| object.to_string());
                Ok(Self { objects: objects.collect(), now: Some(NOW) })
            }
            false => Err(Faults(faults)),
        }
    }

    /// Takes objects in YAML, one or more documents; lists of objects as well.
    ///
    /// # Errors
    ///
    /// It is not YAML.
    pub fn from_yaml(text: &str) -> Result<Self, Faults> {
        let documents = yaml::documents(text).map_err(|fault| Faults(vec![fault]))?;
        let objects = documents.iter().map(Value::to_string).collect();
        Ok(Self { objects, now: None })
    }

    /// Takes objects in JSON, one after the other; lists of objects as well. Their text stays as
    /// it is.
    ///
    /// # Errors
    ///
    /// It is not JSON.
    pub fn from_json(text: &str) -> Result<Self, Faults> {
        let mut objects = Vec::new();
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let mut start = 0;
        while let Some(value) = values.next() {
            if let Err(error) = value {
                return Err(Faults(vec![Fault::new(error.line(), error.to_string())]));
            }
            let end = values.byte_offset();
            objects.push(text[start..end].to_owned());
            start = end;
        }
        Ok(Self { objects, now: None })
    }

    /// The objects of both.
    #[must_use]
    pub fn with(mut self, more: Self) -> Self {
        self.objects.extend(more.objects);
        self.now = self.now.max(more.now);
        self
    }

    /// The same objects in another order, for each `seed` the same one.
    #[must_use]
    pub fn shuffled(mut self, mut seed: u64) -> Self {
        for at in (1..self.objects.len()).rev() {
            // The generator of Knuth's MMIX; its high bits are the good ones.
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            self.objects.swap(at, (seed >> 33) as usize % (at + 1));
        }
        self
    }

    /// Gives the objects to Ingest.
    ///
    /// # Panics
    ///
    /// Lists are nested deeper than Ingest follows them.
    pub fn read(&self) -> (Snapshot, Vec<Anomaly>) {
        let mut ingest = Ingest::new();
        let file: Arc<str> = "cluster".into();
        for (index, object) in (0..).zip(&self.objects) {
            let source = Source { file: Arc::clone(&file), index };
            if let Err(error) = ingest.add(&source, object.as_bytes()) {
                panic!("object {index}: {error}");
            }
        }
        ingest.finish(self.now)
    }

    /// The snapshot of a cluster in which nothing is odd.
    ///
    /// # Panics
    ///
    /// Ingest complains about something.
    #[track_caller]
    pub fn snapshot(&self) -> Snapshot {
        let (snapshot, anomalies) = self.read();
        let said: Vec<String> = anomalies.iter().map(ToString::to_string).collect();
        assert!(said.is_empty(), "the cluster is not as it should be: {}", said.join("; "));
        snapshot
    }
}

/// Two objects of one name would be taken for two states of one object.
fn check_names(objects: &[(usize, Value)], faults: &mut Vec<Fault>) {
    let mut seen = BTreeSet::new();
    for (line, object) in objects {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        let name = format!("{} {}", text(&object["kind"]), text(&metadata["name"]));
        if !seen.insert((name.clone(), text(&metadata["namespace"]))) {
            faults.push(Fault::new(*line, format!("there is another {name}")));
        }
    }
}

/// A node that is not there is most often misspelt.
fn check_nodes(lines: &[Line<'_>], objects: &[(usize, Value)], faults: &mut Vec<Fault>) {
    let nodes = objects.iter().filter(|(_, object)| object["kind"] == "Node");
    let nodes: BTreeSet<&str> =
        nodes.filter_map(|(_, node)| node["metadata"]["name"].as_str()).collect();
    for line in lines {
        let named = line.nodes().filter(|name| !nodes.contains(name));
        faults.extend(named.map(|name| {
            Fault::new(line.number, format!("there is no node `{name}`"))
                .help("for a node that is not known: `| {spec: {nodeName: ..}}`".to_owned())
        }));
    }
}

/// What is wrong with a text, by line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    line: usize,
    message: String,
    help: Option<String>,
}

impl Fault {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into(), help: None }
    }

    fn help(self, help: String) -> Self {
        Self { help: Some(help), ..self }
    }
}

impl Faults {
    /// The same in a text that has so many lines in front.
    #[must_use]
    pub fn moved(mut self, lines: usize) -> Self {
        for fault in &mut self.0 {
            fault.line += lines;
        }
        self
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Fault { line, message, help }) in self.0.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            write!(f, "{gap}line {line}: {message}")?;
            if let Some(help) = help {
                write!(f, "\n  help: {help}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

#[cfg(test)]
mod tests;
