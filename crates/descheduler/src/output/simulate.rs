//! `simulate -o json`: the format `descheduler/simulation/v1`. Fields may be added, these stay.

use std::io::{self, Write};

use descheduler_sim::{Cycle, Disruption, Measures, Move, NodeMeasure, Outcomes, Run, Spread};
use serde::Serialize;

use super::json::Lines;
use crate::commands::simulate::{Simulated, Simulation};

/// The version of the format.
const API_VERSION: &str = "descheduler/simulation/v1";

/// Each eviction is an item of a list of an item of a list.
const LINES: Lines = Lines::new(3, 4);

/// Writes the simulation.
pub(crate) fn write(simulation: &Simulation, out: &mut dyn Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, LINES);
    SimulationJson::new(simulation).serialize(&mut serializer)?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SimulationJson<'o> {
    api_version: &'static str,
    #[serde(flatten)]
    main: RunJson<'o>,
    seed: u64,
    interval_seconds: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<RunJson<'o>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exhaustive: Option<OutcomesJson>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunJson<'o> {
    policy: &'o str,
    settled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    settled_after: Option<u32>,
    cycles: Vec<CycleJson<'o>>,
    before: MeasuresJson<'o>,
    after: MeasuresJson<'o>,
    disruptions: Vec<DisruptionJson<'o>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CycleJson<'o> {
    cycle: u32,
    at: String,
    evictions: Vec<MoveJson<'o>>,
    refused: usize,
    cooling_down: usize,
    pending: usize,
}

#[derive(Serialize)]
struct MoveJson<'o> {
    namespace: &'o str,
    name: &'o str,
    uid: &'o str,
    node: &'o str,
    profile: &'o str,
    strategy: &'static str,
    code: &'static str,
    reason: &'o str,
    destinations: &'o [String],
    /// Null where it waits for a node, or where nothing came back.
    landed: Option<&'o str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<&'static str>,
}

#[derive(Serialize)]
struct MeasuresJson<'o> {
    nodes: Vec<NodeJson<'o>>,
    spread: SpreadJson,
    violations: Vec<ViolationsJson<'o>>,
    pending: usize,
    pods: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeJson<'o> {
    name: &'o str,
    pods: i64,
    pods_allocatable: i64,
    cpu_millicores: i64,
    cpu_millicores_allocatable: i64,
    memory_bytes: i64,
    memory_bytes_allocatable: i64,
}

#[derive(Serialize)]
struct SpreadJson {
    constraints: usize,
    broken: usize,
    excess: i64,
    skew: i64,
}

#[derive(Serialize)]
struct ViolationsJson<'o> {
    profile: &'o str,
    strategy: &'static str,
    pods: usize,
}

#[derive(Serialize)]
struct DisruptionJson<'o> {
    namespace: &'o str,
    kind: &'o str,
    name: &'o str,
    evictions: usize,
    pods: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OutcomesJson {
    clusters: usize,
    complete: bool,
    settled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    settled_after_first: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settled_after_last: Option<u32>,
    evictions_min: usize,
    evictions_max: usize,
}

impl<'o> SimulationJson<'o> {
    fn new(simulation: &'o Simulation) -> Self {
        let Simulation { options, main, other, outcomes } = simulation;
        Self {
            api_version: API_VERSION,
            main: RunJson::new(main),
            seed: options.seed,
            interval_seconds: options.pace.interval.as_secs(),
            compared: other.as_ref().map(RunJson::new),
            exhaustive: outcomes.as_ref().map(OutcomesJson::new),
        }
    }
}

impl<'o> RunJson<'o> {
    fn new(simulated: &'o Simulated) -> Self {
        let Run { cycles, settled_after, before, after, disruptions } = &simulated.run;
        Self {
            policy: &simulated.file,
            settled: settled_after.is_some(),
            settled_after: *settled_after,
            cycles: cycles.iter().map(|cycle| CycleJson::new(simulated, cycle)).collect(),
            before: MeasuresJson::new(simulated, before),
            after: MeasuresJson::new(simulated, after),
            disruptions: disruptions.iter().map(DisruptionJson::new).collect(),
        }
    }
}

impl<'o> CycleJson<'o> {
    fn new(simulated: &'o Simulated, cycle: &'o Cycle) -> Self {
        let Cycle { number, at, moves, refused, cooling, pending } = cycle;
        Self {
            cycle: *number,
            at: at.to_string(),
            evictions: moves.iter().map(|moved| MoveJson::new(simulated, moved)).collect(),
            refused: *refused,
            cooling_down: *cooling,
            pending: *pending,
        }
    }
}

impl<'o> MoveJson<'o> {
    fn new(simulated: &'o Simulated, moved: &'o Move) -> Self {
        let Move { namespace, name, uid, node, owner: _, profile, strategy, .. } = moved;
        let Move { reason, destinations, landed, ended, .. } = moved;
        Self {
            namespace,
            name,
            uid,
            node,
            profile: simulated.profile(*profile),
            strategy,
            code: reason.code,
            reason: &reason.detail,
            destinations,
            landed: landed.as_deref(),
            ended: *ended,
        }
    }
}

impl Simulated {
    /// The name of a profile.
    pub(crate) fn profile(&self, index: usize) -> &str {
        self.policy.profiles.get(index).map_or("", |profile| &profile.name)
    }
}

impl<'o> MeasuresJson<'o> {
    fn new(simulated: &'o Simulated, measures: &'o Measures) -> Self {
        let Measures { nodes, spread, violations, pending, pods } = measures;
        let Spread { constraints, broken, excess, skew } = *spread;
        let violations = violations.iter().map(|&(profile, strategy, pods)| ViolationsJson {
            profile: simulated.profile(profile),
            strategy,
            pods,
        });
        Self {
            nodes: nodes.iter().map(NodeJson::new).collect(),
            spread: SpreadJson { constraints, broken, excess, skew },
            violations: violations.collect(),
            pending: *pending,
            pods: *pods,
        }
    }
}

impl<'o> NodeJson<'o> {
    fn new(node: &'o NodeMeasure) -> Self {
        let NodeMeasure { name, pods, pods_max, cpu, cpu_max, memory, memory_max } = node;
        Self {
            name,
            pods: *pods,
            pods_allocatable: *pods_max,
            cpu_millicores: *cpu,
            cpu_millicores_allocatable: *cpu_max,
            memory_bytes: *memory,
            memory_bytes_allocatable: *memory_max,
        }
    }
}

impl<'o> DisruptionJson<'o> {
    fn new(disruption: &'o Disruption) -> Self {
        let Disruption { owner, evictions, pods } = disruption;
        Self {
            namespace: &owner.namespace,
            kind: &owner.kind,
            name: &owner.name,
            evictions: *evictions,
            pods: *pods,
        }
    }
}

impl OutcomesJson {
    fn new(outcomes: &Outcomes) -> Self {
        let Outcomes { worlds, complete, unsettled, settled, evictions } = *outcomes;
        Self {
            clusters: worlds,
            complete,
            settled: !unsettled,
            settled_after_first: settled.map(|(first, _)| first),
            settled_after_last: settled.map(|(_, last)| last),
            evictions_min: evictions.0,
            evictions_max: evictions.1,
        }
    }
}
