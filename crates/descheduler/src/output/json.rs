//! `-o json`: the format `descheduler/plan/v1`. Fields may be added, these stay.

use std::io::{self, Write};

use descheduler_cluster::{Anomaly, NodeId, PodId};
use descheduler_engine::{Eviction, Refusal, Refused, StrategyRun};
use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;

use super::{Note, Outcome};

/// The version of the format.
const API_VERSION: &str = "descheduler/plan/v1";

/// Writes the plan.
pub(crate) fn write(outcome: &Outcome<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, Lines::new(1, 2));
    PlanJson::new(outcome).serialize(&mut serializer)?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanJson<'o> {
    api_version: &'static str,
    snapshot: SnapshotJson,
    evictions: Vec<EvictionJson<'o>>,
    refusals: Vec<RefusalJson<'o>>,
    anomalies: Vec<AnomalyJson<'o>>,
    notes: Vec<NoteJson<'o>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SnapshotJson {
    taken_at: String,
    nodes: usize,
    pods: usize,
}

#[derive(Serialize)]
struct EvictionJson<'o> {
    namespace: &'o str,
    name: &'o str,
    uid: &'o str,
    node: &'o str,
    profile: &'o str,
    strategy: &'static str,
    code: &'static str,
    reason: &'o str,
    destinations: Vec<&'o str>,
}

#[derive(Serialize)]
struct RefusalJson<'o> {
    namespace: &'o str,
    name: &'o str,
    /// Empty for a pod that is on none that is known.
    node: &'o str,
    profile: &'o str,
    strategy: &'static str,
    code: &'static str,
    #[serde(serialize_with = "shown")]
    reason: &'o Refusal,
}

#[derive(Serialize)]
struct AnomalyJson<'o> {
    object: &'o str,
    problem: &'o str,
    field: &'o str,
    /// Absent of a live cluster.
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'o str,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
}

#[derive(Serialize)]
struct NoteJson<'o> {
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'o str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strategy: Option<&'static str>,
    text: &'o str,
}

impl<'o> PlanJson<'o> {
    fn new(outcome: &'o Outcome<'_>) -> Self {
        let Outcome { snapshot, policy: _, plan, anomalies, notes, place: _ } = outcome;
        let refusals = plan.report.runs.iter().flat_map(|run| {
            run.refusals.iter().map(move |refused| RefusalJson::new(outcome, run, refused))
        });
        Self {
            api_version: API_VERSION,
            snapshot: SnapshotJson {
                taken_at: snapshot.taken_at().to_string(),
                nodes: snapshot.nodes().len(),
                pods: snapshot.pods().len(),
            },
            evictions: plan.evictions.iter().map(|e| EvictionJson::new(outcome, e)).collect(),
            refusals: refusals.collect(),
            anomalies: anomalies.iter().map(AnomalyJson::new).collect(),
            notes: notes.iter().map(|note| NoteJson::new(outcome, note)).collect(),
        }
    }
}

impl<'o> EvictionJson<'o> {
    fn new(outcome: &'o Outcome<'_>, eviction: &'o Eviction) -> Self {
        let Eviction { pod, node, profile, strategy, reason, destinations, set: _ } = eviction;
        let (namespace, name) = pod_name(outcome, *pod);
        Self {
            namespace,
            name,
            uid: &outcome.snapshot.pod(*pod).uid,
            node: node_name(outcome, *node),
            profile: outcome.profile(*profile),
            strategy,
            code: reason.code,
            reason: &reason.detail,
            destinations: destinations.iter().map(|&node| node_name(outcome, node)).collect(),
        }
    }
}

impl<'o> RefusalJson<'o> {
    fn new(outcome: &'o Outcome<'_>, run: &'o StrategyRun, refused: &'o Refused) -> Self {
        let Refused { pod, refusal } = refused;
        let (namespace, name) = pod_name(outcome, *pod);
        Self {
            namespace,
            name,
            node: outcome.snapshot.pod(*pod).node.map_or("", |node| node_name(outcome, node)),
            profile: outcome.profile(run.profile),
            strategy: run.strategy,
            code: refusal.code(),
            reason: refusal,
        }
    }
}

impl<'o> AnomalyJson<'o> {
    fn new(anomaly: &'o Anomaly) -> Self {
        let Anomaly { object, problem, field, file, index } = anomaly;
        Self { object, problem, field, file, index: (!file.is_empty()).then_some(*index) }
    }
}

impl<'o> NoteJson<'o> {
    fn new(outcome: &'o Outcome<'_>, note: &'o Note) -> Self {
        let Note { strategy, text } = note;
        Self {
            profile: strategy.map(|(profile, _)| outcome.profile(profile)),
            strategy: strategy.map(|(_, strategy)| strategy),
            text,
        }
    }
}

fn pod_name<'o>(outcome: &'o Outcome<'_>, pod: PodId) -> (&'o str, &'o str) {
    let pod = outcome.snapshot.pod(pod);
    (outcome.snapshot.text(pod.namespace), &pod.name)
}

fn node_name<'o>(outcome: &'o Outcome<'_>, node: NodeId) -> &'o str {
    &outcome.snapshot.node(node).name
}

fn shown<S: Serializer>(refusal: &&Refusal, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(refusal)
}

/// Lays JSON out so that each eviction and each refusal is one line: for `grep` and `diff`, and for
/// reading.
pub(super) struct Lines {
    /// Down to which depth the parts of an object have lines of their own.
    objects: usize,
    /// Down to which depth the items of a list have.
    lists: usize,
    depth: usize,
    /// Whether the innermost bracket holds something.
    filled: bool,
}

impl Lines {
    /// Down to these depths the parts of objects and the items of lists have lines of their own.
    pub(super) const fn new(objects: usize, lists: usize) -> Self {
        Self { objects, lists, depth: 0, filled: false }
    }

    fn open<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        out.write_all(bracket)
    }

    fn part<W: ?Sized + Write>(&mut self, out: &mut W, first: bool, deep: usize) -> io::Result<()> {
        self.filled = true;
        if !first {
            out.write_all(b",")?;
        }
        match self.depth <= deep {
            true => self.new_line(out),
            false if first => Ok(()),
            false => out.write_all(b" "),
        }
    }

    fn close<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        bracket: &[u8],
        deep: usize,
    ) -> io::Result<()> {
        let broken = self.filled && self.depth <= deep;
        self.depth -= 1;
        self.filled = true;
        if broken {
            self.new_line(out)?;
        }
        out.write_all(bracket)
    }

    fn new_line<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        out.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| out.write_all(b"  "))
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.part(out, first, self.lists)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]", self.lists)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.part(out, first, self.objects)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}", self.objects)
    }
}
