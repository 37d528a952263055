//! `v1 Pod`.

use super::anomaly::{Flaws, Origin};
use super::pools::{Draft, Pools, complain_of_amounts, namespace_of};
use super::selectors::{node_selector, pod_terms, preferred_terms};
use super::{Ingest, Object};
use crate::intern::Sym;
use crate::pod::{Condition, Container, ContainerKind, ContainerState, Phase, Pod, Scored};
use crate::requests;
use crate::resources::ResourceId;
use crate::spec::{Features, PodSpec};
use crate::taints::{Effect, Toleration, TolerationOperator};
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
        let metadata = object.metadata.unwrap_or_default();
        let spec = object.spec.unwrap_or_default();
        let status = object.status.unwrap_or_default();
        if text(&metadata.name).is_empty() && !flaws.touch("metadata") {
            flaws.push("metadata.name", "the pod has no name");
        }
        complain_of_requests(&spec, &status, &mut flaws);
        let pools = &mut ingest.pools;
        let namespace = pools.sym(namespace_of(&metadata));
        let labels = pools.pairs(metadata.labels.as_ref());
        let annotations = metadata.annotations.as_ref();
        let asked = pools.round(&requests::requests(&spec));
        let scored =
            Scored { cpu: asked.get(ResourceId::CPU), memory: asked.get(ResourceId::MEMORY) };
        let shared = shared_spec(pools, &spec, &mut flaws);
        let pod = Pod {
            name: text(&metadata.name).into(),
            namespace,
            uid: text(&metadata.uid).into(),
            group: pools.group(namespace, labels),
            owners: pools.share_owners(metadata.owner_references.as_ref()),
            node: None,
            node_name: Some(pools.sym_of(&spec.node_name)).filter(|&name| name != Sym::EMPTY),
            spec: pools.share_spec(shared),
            nominated: None,
            claims: claims(&spec),
            ephemeral_claims: Box::default(),
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
            scored_held: scored,
            resize: None,
            evict: annotations
                .and_then(|annotations| annotations.evict.as_deref())
                .map(|value| value != "false"),
            prefer_no_eviction: annotations.is_some_and(|a| a.prefer_no_eviction.is_some()),
            mirror: annotations.is_some_and(|a| a.mirror.is_some()),
            static_pod: annotations
                .and_then(|annotations| annotations.source.as_deref())
                .is_some_and(|source| source != "api"),
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
        let draft = Draft::new(&mut ingest.pools, &metadata, true, json, origin, pod);
        ingest.pods.push(draft);
    }
}

/// Names the requests that cannot be read, wherever they would have counted.
fn complain_of_requests(spec: &wire::PodSpec<'_>, status: &wire::PodStatus<'_>, flaws: &mut Flaws) {
    let lists = [(&spec.containers, "containers"), (&spec.init_containers, "initContainers")];
    for (list, name) in lists {
        for (at, container) in list.iter().flatten().enumerate() {
            let field = || format!("spec.{name}[{at}].resources");
            complain_of_resources(container.resources.as_ref(), field, flaws);
        }
    }
    complain_of_resources(spec.resources.as_ref(), || "spec.resources".to_owned(), flaws);
    complain_of_amounts(spec.overhead.as_ref(), || "spec.overhead".to_owned(), flaws);
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

fn complain_of_resources(
    resources: Option<&wire::Resources<'_>>,
    field: impl Fn() -> String,
    flaws: &mut Flaws,
) {
    let Some(wire::Resources { requests, limits }) = resources else { return };
    complain_of_amounts(requests.as_ref(), || format!("{}.requests", field()), flaws);
    complain_of_amounts(limits.as_ref(), || format!("{}.limits", field()), flaws);
}

fn shared_spec(pools: &mut Pools, spec: &wire::PodSpec<'_>, flaws: &mut Flaws) -> PodSpec {
    let node_affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = node_affinity
        .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    let preferred = node_affinity.and_then(|affinity| {
        affinity.preferred_during_scheduling_ignored_during_execution.as_ref()
    });
    let apart = spec.affinity.as_ref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let volumes = || spec.volumes.iter().flatten();
    PodSpec {
        priority: spec.priority.map(wire::Int::narrow),
        node_selector: pools.pairs(spec.node_selector.as_ref()),
        required_nodes: required.map(|required| node_selector(pools, required)),
        preferred_nodes: preferred_terms(pools, preferred),
        anti_affinity: pod_terms(
            pools,
            apart.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref()),
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution",
            flaws,
        ),
        affinity: Box::default(),
        preferred_pods: Box::default(),
        spread: Box::default(),
        locality_images: Box::default(),
        image_volumes: Box::default(),
        host_ports: Box::default(),
        inline_volumes: Box::default(),
        scheduler_name: pools.sym("default-scheduler"),
        features: Features::default(),
        gated: false,
        never_preempts: false,
        tolerations: spec.tolerations.iter().flatten().map(|one| toleration(pools, one)).collect(),
        images: spec.containers.iter().flatten().map(|c| pools.sym_of(&c.image)).collect(),
        local_storage: volumes().any(|v| v.empty_dir.is_some() || v.host_path.is_some()),
        resource_claims: spec.resource_claims.as_ref().is_some_and(|claims| !claims.is_empty()),
    }
}

fn toleration(pools: &mut Pools, toleration: &wire::Toleration<'_>) -> Toleration {
    let operator = match text(&toleration.operator) {
        "" => TolerationOperator::Unset,
        "Equal" => TolerationOperator::Equal,
        "Exists" => TolerationOperator::Exists,
        "Lt" => TolerationOperator::Lt,
        "Gt" => TolerationOperator::Gt,
        _ => TolerationOperator::Other,
    };
    let effect = effect(text(&toleration.effect));
    Toleration {
        key: pools.sym_of(&toleration.key),
        value: pools.sym_of(&toleration.value),
        effect: effect.ok().flatten(),
        // An effect that no taint can have tolerates nothing.
        operator: if effect.is_ok() { operator } else { TolerationOperator::Other },
    }
}

/// An effect, or none; `Err` for a word that is neither.
pub(super) fn effect(text: &str) -> Result<Option<Effect>, ()> {
    match text {
        "" => Ok(None),
        "NoSchedule" => Ok(Some(Effect::NoSchedule)),
        "PreferNoSchedule" => Ok(Some(Effect::PreferNoSchedule)),
        "NoExecute" => Ok(Some(Effect::NoExecute)),
        _ => Err(()),
    }
}

fn claims(spec: &wire::PodSpec<'_>) -> Box<[Box<str>]> {
    spec.volumes
        .iter()
        .flatten()
        .filter_map(|volume| volume.persistent_volume_claim.as_ref())
        .map(|claim| text(&claim.claim_name).into())
        .collect()
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
