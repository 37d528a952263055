//! Where a pod could go, as JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};

use descheduler_cluster::{NodeId, Snapshot};
use descheduler_scheduler::{CycleError, Fault, Placement, Version, Winners};
use serde::Serialize;

/// What the scheduler would say about a pod of a cluster.
pub(crate) struct Answer<'a> {
    pub(crate) snapshot: &'a Snapshot,
    /// The pod, as it was asked for.
    pub(crate) id: &'a str,
    pub(crate) version: Version,
    /// The name of the scheduler's profile.
    pub(crate) profile: &'a str,
    pub(crate) placement: &'a Placement,
    pub(crate) winners: &'a Winners,
}

impl<'a> Answer<'a> {
    /// The nodes that could win, best guess first.
    pub(crate) fn winners(&self) -> Vec<&'a str> {
        self.winners.nodes.iter().map(|&node| self.name(node)).collect()
    }

    /// The name of a node.
    pub(crate) fn name(&self, node: NodeId) -> &'a str {
        &self.snapshot.node(node).name
    }
}

/// Writes the answer to a case in a line, as docs/spec/cases/scheduler_cases.json expects it.
pub(crate) fn write_case(
    snapshot: &Snapshot,
    id: &str,
    placement: &Placement,
    out: &mut dyn Write,
) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &AnswerJson::new(snapshot, id, placement, None))?;
    out.write_all(b"\n")
}

/// Writes the answer about a pod of a cluster.
pub(crate) fn write_json(answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &AnswerJson::full(answer))?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AnswerJson<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduler: Option<SchedulerJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    winners: Option<Vec<&'a str>>,
    /// The scheduler does not look at all feasible nodes, so the winners are an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pre_filter: Option<FaultJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<BTreeMap<&'a str, NodeJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycle_error: Option<CycleErrorJson<'a>>,
}

#[derive(Serialize)]
struct SchedulerJson<'a> {
    version: String,
    profile: &'a str,
}

#[derive(Serialize)]
struct FaultJson {
    code: &'static str,
    plugin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum NodeJson {
    Feasible {
        feasible: bool,
        scores: BTreeMap<&'static str, i64>,
        total: i64,
    },
    Infeasible {
        feasible: bool,
        #[serde(flatten)]
        fault: FaultJson,
    },
}

#[derive(Serialize)]
struct CycleErrorJson<'a> {
    stage: String,
    plugin: &'static str,
    message: &'a str,
}

impl<'a> AnswerJson<'a> {
    /// An answer about a pod of a cluster.
    pub(super) fn full(answer: &Answer<'a>) -> Self {
        Self::new(answer.snapshot, answer.id, answer.placement, Some(answer))
    }

    /// `full`: with what only people ask for.
    fn new(
        snapshot: &'a Snapshot,
        id: &'a str,
        placement: &'a Placement,
        full: Option<&Answer<'a>>,
    ) -> Self {
        let Placement { rejected, error, feasible, infeasible, plugins } = placement;
        let fault = |fault: &Fault| FaultJson {
            code: fault.code.as_str(),
            plugin: fault.plugin.map_or("PreFilterResult", |plugin| plugin.name()),
            reason: full.map(|_| fault.why.text(snapshot)),
        };
        let name = |node: NodeId| -> &'a str { &snapshot.node(node).name };
        let mut nodes = BTreeMap::new();
        for candidate in feasible {
            let names = plugins.iter().map(|plugin| plugin.name());
            let scores = names.zip(candidate.scores.iter().copied()).collect();
            let total = candidate.total;
            let node = NodeJson::Feasible { feasible: true, scores, total };
            nodes.insert(name(candidate.node), node);
        }
        for (node, why) in infeasible {
            let out = NodeJson::Infeasible { feasible: false, fault: fault(why) };
            nodes.insert(name(*node), out);
        }
        let whole = rejected.is_none() && error.is_none();
        Self {
            id,
            scheduler: full.map(|answer| SchedulerJson {
                version: answer.version.to_string(),
                profile: answer.profile,
            }),
            winners: full.map(Answer::winners),
            sampled: full.map(|answer| answer.winners.sampled),
            pre_filter: rejected.as_ref().map(fault),
            nodes: whole.then_some(nodes),
            cycle_error: error.as_ref().map(|CycleError { stage, plugin, message }| {
                CycleErrorJson { stage: stage.to_string(), plugin: plugin.name(), message }
            }),
        }
    }
}
