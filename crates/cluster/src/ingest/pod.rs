//! `v1 Pod`.

use super::anomaly::{Flaws, Origin};
use super::drafts::{State, Stated};
use super::pools::{Pools, complain_of_amounts, namespace_of};
use super::spec::{Defaults, complain_of_requests, complain_of_resources, pod_spec};
use super::{Ingest, Object};
use crate::intern::Sym;
use crate::pod::{Condition, Container, ContainerKind, ContainerState, Held, Phase, Pod};
use crate::requests;
use crate::wire::{self, text};

pub(super) enum PodObject {}

impl Object for PodObject {
    type Wire<'a> = wire::Pod<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::Pod<'_>,
        mut flaws: Flaws,
    ) {
        let mut metadata = object.metadata.unwrap_or_default();
        let spec = object.spec.unwrap_or_default();
        let status = object.status.unwrap_or_default();
        if text(&metadata.name).is_empty() && !flaws.touch("metadata") {
            flaws.push("metadata.name", "the pod has no name");
        }
        complain_of_requests(&spec, &mut flaws);
        complain_of_status(&status, &mut flaws);
        let pools = &mut ingest.pools;
        let namespace = pools.sym(namespace_of(&metadata));
        let labels = pools.pairs(metadata.labels.as_ref());
        let annotations = metadata.annotations.take().unwrap_or_default();
        let asked = requests::requests(&spec);
        let (scored, scored_held) = requests::scored(&spec, &asked);
        let asked = pools.round(&asked);
        let resize = resize(pools, &spec, &status)
            .filter(|held| held.iter().any(|h| h.amounts != asked || h.scored != scored_held));
        let shared = pod_spec(pools, &spec, Defaults::There, &mut flaws);
        let pod = Pod {
            name: text(&metadata.name).into(),
            namespace,
            uid: text(&metadata.uid).into(),
            group: pools.group(namespace, labels),
            owners: pools.share_owners(metadata.owner_references.as_ref()),
            node: None,
            node_name: pools.name_of(&spec.node_name),
            spec: pools.share_spec(shared),
            nominated: pools.name_of(&status.nominated_node_name),
            claims: claims(&spec),
            ephemeral_claims: ephemeral_claims(text(&metadata.name), &spec),
            created: metadata.creation_timestamp,
            started: status.start_time,
            terminating: metadata.deletion_timestamp.is_some(),
            phase: phase(text(&status.phase)),
            reason: pools.sym_of(&status.reason),
            qos: requests::qos(&spec, text(&status.qos_class)),
            conditions: conditions(pools, status.conditions.as_ref()),
            containers: containers(pools, &status),
            requests: pools.share_requests(asked),
            scored,
            scored_held,
            resize: resize.map(Box::new),
            evict: annotations.evict.as_deref().map(|value| value != "false"),
            prefer_no_eviction: annotations.prefer_no_eviction.is_some(),
            do_not_disrupt: text(&annotations.do_not_disrupt) == "true",
            unsafe_to_evict: text(&annotations.safe_to_evict) == "false",
            mirror: annotations.mirror.is_some(),
            static_pod: annotations.source.as_deref().is_some_and(|source| source != "api"),
            flawed: !flaws.is_empty(),
        };
        ingest.saw(pod.created);
        ingest.saw(pod.started);
        for condition in &pod.conditions {
            ingest.newest = ingest.newest.max(condition.changed);
        }
        if !flaws.is_empty() {
            let name = format!("Pod {}/{}", namespace_of(&metadata), pod.name);
            ingest.complain_all(origin, &name, &flaws);
        }
        let state = State::new(&metadata, json, origin);
        ingest.pods.push(PodDraft { state, pod });
    }
}

/// A pod that has been read. There are many, so what the pod holds itself is not kept twice.
#[derive(Clone, Debug)]
pub(super) struct PodDraft {
    pub(super) state: State,
    pub(super) pod: Pod,
}

impl Stated for PodDraft {
    fn namespace(&self) -> Sym {
        self.pod.namespace
    }

    fn name(&self) -> &str {
        &self.pod.name
    }

    fn uid(&self) -> &str {
        &self.pod.uid
    }

    fn state(&self) -> &State {
        &self.state
    }
}

/// Names the requests in force that cannot be read.
fn complain_of_status(status: &wire::PodStatus<'_>, flaws: &mut Flaws) {
    let lists = [
        (&status.container_statuses, "containerStatuses"),
        (&status.init_container_statuses, "initContainerStatuses"),
    ];
    for (list, name) in lists {
        for (at, container) in list.iter().flatten().enumerate() {
            let field = || format!("status.{name}[{at}].resources");
            complain_of_resources(container.resources.as_ref(), field, flaws);
            let field = || format!("status.{name}[{at}].allocatedResources");
            complain_of_amounts(container.allocated_resources.as_ref(), field, flaws);
        }
    }
    complain_of_resources(status.resources.as_ref(), || "status.resources".to_owned(), flaws);
    let field = || "status.allocatedResources".to_owned();
    complain_of_amounts(status.allocated_resources.as_ref(), field, flaws);
}

fn claims(spec: &wire::PodSpec<'_>) -> Box<[Box<str>]> {
    spec.volumes
        .iter()
        .flatten()
        .filter_map(|volume| volume.persistent_volume_claim.as_ref())
        .map(|claim| text(&claim.claim_name).into())
        .collect()
}

/// The claims that are made for ephemeral volumes (docs/spec/scheduler.md section 8).
fn ephemeral_claims(pod: &str, spec: &wire::PodSpec<'_>) -> Box<[Box<str>]> {
    let volumes = spec.volumes.iter().flatten().filter(|volume| volume.ephemeral.is_some());
    volumes.map(|volume| format!("{pod}-{}", text(&volume.name)).into()).collect()
}

fn resize(
    pools: &mut Pools,
    spec: &wire::PodSpec<'_>,
    status: &wire::PodStatus<'_>,
) -> Option<[Held; 3]> {
    let held = requests::resized(spec, status)?;
    Some(held.map(|(amounts, scored)| Held { amounts: pools.round(&amounts), scored }))
}

fn phase(text: &str) -> Phase {
    match text {
        "Pending" => Phase::Pending,
        "Running" => Phase::Running,
        "Succeeded" => Phase::Succeeded,
        "Failed" => Phase::Failed,
        _ => Phase::Unknown,
    }
}

fn conditions(
    pools: &mut Pools,
    conditions: Option<&Vec<wire::Condition<'_>>>,
) -> Box<[Condition]> {
    conditions
        .into_iter()
        .flatten()
        .map(|condition| Condition {
            kind: pools.sym_of(&condition.r#type),
            status: pools.sym_of(&condition.status),
            reason: pools.sym_of(&condition.reason),
            changed: condition.last_transition_time,
            ready: text(&condition.r#type) == "Ready" && text(&condition.status) == "True",
        })
        .collect()
}

fn containers(pools: &mut Pools, status: &wire::PodStatus<'_>) -> Box<[Container]> {
    let lists = [
        (&status.container_statuses, ContainerKind::Regular),
        (&status.init_container_statuses, ContainerKind::Init),
        (&status.ephemeral_container_statuses, ContainerKind::Ephemeral),
    ];
    let mut found = Vec::new();
    for (list, kind) in lists {
        found.extend(list.iter().flatten().map(|container| Container {
            kind,
            restarts: container.restart_count.map_or(0, wire::Int::narrow),
            state: state(pools, container.state.as_ref()),
        }));
    }
    found.into_boxed_slice()
}

fn state(pools: &mut Pools, state: Option<&wire::ContainerState<'_>>) -> ContainerState {
    let Some(state) = state else { return ContainerState::Running };
    match (&state.waiting, &state.terminated) {
        (Some(waiting), _) => ContainerState::Waiting(pools.sym_of(&waiting.reason)),
        (None, Some(ended)) => ContainerState::Terminated {
            reason: pools.sym_of(&ended.reason),
            exit_code: ended.exit_code.map_or(0, wire::Int::narrow),
        },
        (None, None) => ContainerState::Running,
    }
}
