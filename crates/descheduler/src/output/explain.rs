//! Why a pod goes or stays and what is thought of a node, as JSON: the format
//! `descheduler/explanation/v1`. Fields may be added, these stay.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use descheduler_cluster::{NodeId, PodId};
use descheduler_engine::{
    Account, Eviction, Finding, NodeExplanation, NodeStep, Outcome, Outlook, PodExplanation,
    PodStep, Reading, Refusal, Table,
};
use serde::Serialize;

use super::Outcome as World;
use super::notes::NO_BUDGETS;
use super::place::{Answer, AnswerJson};

mod moves;

pub(crate) use moves::Moves;

/// The version of the format.
const API_VERSION: &str = "descheduler/explanation/v1";

/// What is asked about, with the answer.
pub(crate) struct PodAnswer<'a> {
    /// The plan and the cluster.
    pub(crate) world: &'a World<'a>,
    pub(crate) pod: PodId,
    pub(crate) explanation: &'a PodExplanation,
}

/// The same about a node.
pub(crate) struct NodeAnswer<'a> {
    pub(crate) world: &'a World<'a>,
    pub(crate) node: NodeId,
    pub(crate) explanation: &'a NodeExplanation,
}

impl PodAnswer<'_> {
    /// The step that plans the pod, if one does.
    pub(crate) fn planned(&self) -> Option<(&PodStep, &Eviction)> {
        self.explanation.steps.iter().find_map(|step| match &step.outcome {
            Outcome::Planned(eviction) => Some((step, eviction)),
            _ => None,
        })
    }

    /// What is worth knowing about the plan as a whole.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &str> {
        let goes = self.planned().is_some();
        self.world.general_notes().filter(move |note| goes || *note != NO_BUDGETS)
    }
}

/// The code and the text of what came of a step.
pub(crate) fn because(step: &PodStep) -> (&'static str, &'static str, String) {
    let known = |refusal: &Refusal| (refusal.code(), refusal.to_string());
    match &step.outcome {
        Outcome::PlannedBefore => {
            let (code, why) = known(&Refusal::AlreadyPlanned);
            ("planned before", code, why)
        }
        Outcome::Outside => {
            let (code, why) = known(&Refusal::OutsideNodeSet);
            // The gate's first question says which of it is so.
            let place = step.trial.findings.first();
            ("not considered", code, place.map_or(why, |finding| finding.detail.clone()))
        }
        Outcome::Planned(eviction) => {
            ("planned", eviction.reason.code, eviction.reason.detail.clone())
        }
        Outcome::Refused(refusal) => ("refused", refusal.code(), refusal.to_string()),
        Outcome::NotConsidered => ("not considered", "", not_considered(step)),
    }
}

/// Why a strategy did not consider the pod: what it says afterwards, if that is something else.
fn not_considered(step: &PodStep) -> String {
    let accounts = [Some(&step.account), step.afterwards.as_ref()];
    let findings = accounts.into_iter().flatten().flat_map(|account| &account.findings);
    let mut against = findings.filter(|finding| !finding.passes);
    match against.next() {
        Some(finding) if finding.detail.is_empty() => finding.check.clone(),
        Some(finding) => finding.detail.clone(),
        None => step
            .notes
            .first()
            .cloned()
            .unwrap_or_else(|| "its turn did not come before the strategy was done".to_owned()),
    }
}

/// What would have to change for the strategy to move the pod. Where it does not even consider it,
/// what else would hold the pod is not its business ([`held`]).
pub(crate) fn changes(step: &PodStep) -> Vec<&Finding> {
    let account = step.afterwards.as_ref().unwrap_or(&step.account);
    let (of_strategy, of_gate) = match step.outcome {
        Outcome::Planned(_) | Outcome::PlannedBefore => return Vec::new(),
        Outcome::Refused(_) => (&*account.findings, &*step.trial.findings),
        Outcome::Outside => (&[][..], step.trial.findings.get(..1).unwrap_or_default()),
        Outcome::NotConsidered => (&*account.findings, &[][..]),
    };
    of_strategy.iter().chain(of_gate).filter(|finding| !finding.passes).collect()
}

/// For each profile of whose strategies none considers the pod: what would hold it besides.
pub(crate) fn held(explanation: &PodExplanation) -> Vec<(usize, Vec<&Finding>)> {
    let mut last: BTreeMap<usize, &PodStep> = BTreeMap::new();
    let mut considered = BTreeSet::new();
    for step in &explanation.steps {
        last.insert(step.profile, step);
        if step.outcome != Outcome::NotConsidered {
            considered.insert(step.profile);
        }
    }
    let silent = last.into_iter().filter(|(profile, _)| !considered.contains(profile));
    silent
        .map(|(profile, step)| (profile, step.trial.shared().collect::<Vec<_>>()))
        .filter(|(_, findings)| findings.iter().any(|finding| !finding.passes))
        .collect()
}

/// Writes what there is to say about a pod.
pub(crate) fn write_pod(answer: &PodAnswer<'_>, out: &mut dyn Write) -> io::Result<()> {
    write(&PodJson::new(answer), out)
}

/// Writes what there is to say about a node.
pub(crate) fn write_node(answer: &NodeAnswer<'_>, out: &mut dyn Write) -> io::Result<()> {
    write(&NodeJson::new(answer), out)
}

fn write(json: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, json)?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PodJson<'a> {
    api_version: &'static str,
    pod: PodName<'a>,
    /// `evicted` or `kept`.
    verdict: &'static str,
    strategies: Vec<StepJson<'a>>,
    /// What is worth knowing about the plan as a whole.
    notes: Vec<&'a str>,
    /// What could not be read of the pod.
    faults: Vec<String>,
}

#[derive(Serialize)]
struct PodName<'a> {
    namespace: &'a str,
    name: &'a str,
    uid: &'a str,
    /// Empty for a pod that is on none that is known.
    node: &'a str,
}

#[derive(Serialize)]
struct StepJson<'a> {
    profile: &'a str,
    strategy: &'static str,
    /// `planned`, `refused`, `not considered` or `planned before`.
    verdict: &'static str,
    code: &'static str,
    reason: String,
    checks: Vec<FindingJson<'a>>,
    /// The same at the end of the strategy's turn, where it came to something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    afterwards: Option<Vec<FindingJson<'a>>>,
    tables: Vec<TableJson<'a>>,
    gate: Vec<FindingJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    placement: Option<OutlookJson<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct FindingJson<'a> {
    check: &'a str,
    passes: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'a str>,
}

#[derive(Serialize)]
struct TableJson<'a> {
    title: &'a str,
    columns: &'a [String],
    rows: &'a [Vec<String>],
}

#[derive(Serialize)]
struct OutlookJson<'a> {
    passes: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    destinations: Vec<&'a str>,
    scheduler: Vec<ReadingJson<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReadingJson<'a> {
    /// Whether the old pod still holds its place when the new one is placed.
    old_pod: &'static str,
    #[serde(flatten)]
    answer: AnswerJson<'a>,
    /// What speaks against nodes that could win.
    against: Vec<AgainstJson<'a>>,
    short: Vec<ShortJson<'a>>,
}

#[derive(Serialize)]
struct AgainstJson<'a> {
    node: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct ShortJson<'a> {
    node: &'a str,
    resource: &'a str,
    asked: i64,
    free: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeJson<'a> {
    api_version: &'static str,
    node: &'a str,
    ready: bool,
    unschedulable: bool,
    strategies: Vec<NodeStepJson<'a>>,
    #[serde(flatten)]
    moves: Moves<'a>,
    notes: Vec<&'a str>,
    faults: Vec<String>,
}

#[derive(Serialize)]
struct NodeStepJson<'a> {
    profile: &'a str,
    strategy: &'static str,
    checks: Vec<FindingJson<'a>>,
    tables: Vec<TableJson<'a>>,
    notes: &'a [String],
}

impl<'a> PodJson<'a> {
    fn new(answer: &'a PodAnswer<'a>) -> Self {
        let snapshot = answer.world.snapshot;
        let pod = snapshot.pod(answer.pod);
        Self {
            api_version: API_VERSION,
            pod: PodName {
                namespace: snapshot.text(pod.namespace),
                name: &pod.name,
                uid: &pod.uid,
                node: pod.node.map_or("", |node| &snapshot.node(node).name),
            },
            verdict: if answer.planned().is_some() { "evicted" } else { "kept" },
            strategies: answer
                .explanation
                .steps
                .iter()
                .map(|step| StepJson::new(answer, step))
                .collect(),
            notes: answer.notes().collect(),
            faults: answer.world.faults_of("Pod", &snapshot.pod_name(answer.pod)),
        }
    }
}

impl<'a> StepJson<'a> {
    fn new(answer: &'a PodAnswer<'a>, step: &'a PodStep) -> Self {
        let (verdict, code, reason) = because(step);
        Self {
            profile: answer.world.profile(step.profile),
            strategy: step.strategy,
            verdict,
            code,
            reason,
            checks: findings(&step.account.findings),
            afterwards: step.afterwards.as_ref().map(|account| findings(&account.findings)),
            tables: tables(&step.account),
            gate: findings(&step.trial.findings),
            placement: step.trial.outlook.as_ref().map(|o| OutlookJson::new(answer, o)),
            notes: &step.notes,
        }
    }
}

impl<'a> OutlookJson<'a> {
    fn new(answer: &'a PodAnswer<'a>, outlook: &'a Outlook) -> Self {
        let snapshot = answer.world.snapshot;
        let name = |&node: &NodeId| -> &'a str { &snapshot.node(node).name };
        Self {
            passes: outlook.refusal.is_none(),
            code: outlook.refusal.as_ref().map(|refusal| refusal.code()),
            reason: outlook.refusal.as_ref().map(ToString::to_string),
            destinations: outlook.destinations.iter().map(name).collect(),
            scheduler: outlook.readings.iter().map(|r| ReadingJson::new(answer, r)).collect(),
        }
    }
}

/// The scheduler's answer in the form that `place` gives it in.
pub(crate) fn placed<'a>(
    answer: &'a PodAnswer<'a>,
    id: &'a str,
    reading: &'a Reading,
) -> Answer<'a> {
    Answer {
        snapshot: answer.world.snapshot,
        id,
        version: answer.world.policy.scheduler.version,
        profile: &reading.scheduler,
        placement: &reading.answer,
        winners: &reading.winners,
    }
}

impl<'a> ReadingJson<'a> {
    fn new(answer: &'a PodAnswer<'a>, reading: &'a Reading) -> Self {
        let snapshot = answer.world.snapshot;
        let name = |node: NodeId| -> &'a str { &snapshot.node(node).name };
        let placed = placed(answer, &snapshot.pod(answer.pod).name, reading);
        let against = reading.against.iter();
        let short = reading.short.iter();
        Self {
            old_pod: reading.old.text(),
            answer: AnswerJson::full(&placed),
            against: against
                .map(|(node, reason)| AgainstJson { node: name(*node), reason })
                .collect(),
            short: short
                .map(|&(node, resource, asked, free)| ShortJson {
                    node: name(node),
                    resource: snapshot.resource_name(resource),
                    asked,
                    free,
                })
                .collect(),
        }
    }
}

impl<'a> NodeJson<'a> {
    fn new(answer: &'a NodeAnswer<'a>) -> Self {
        let node = answer.world.snapshot.node(answer.node);
        let step = |step: &'a NodeStep| NodeStepJson {
            profile: answer.world.profile(step.profile),
            strategy: step.strategy,
            checks: findings(&step.account.findings),
            tables: tables(&step.account),
            notes: &step.notes,
        };
        Self {
            api_version: API_VERSION,
            node: &node.name,
            ready: node.ready,
            unschedulable: node.unschedulable,
            strategies: answer.explanation.steps.iter().map(step).collect(),
            moves: Moves::new(answer),
            notes: answer.world.general_notes().collect(),
            faults: answer.world.faults_of("Node", &node.name),
        }
    }
}

fn findings(findings: &[Finding]) -> Vec<FindingJson<'_>> {
    fn json(finding: &Finding) -> FindingJson<'_> {
        let Finding { check, passes, detail, change } = finding;
        FindingJson { check, passes: *passes, detail, change: change.as_deref() }
    }
    findings.iter().map(json).collect()
}

fn tables(account: &Account) -> Vec<TableJson<'_>> {
    fn json(table: &Table) -> TableJson<'_> {
        let Table { title, columns, rows } = table;
        TableJson { title, columns, rows }
    }
    account.tables.iter().map(json).collect()
}
