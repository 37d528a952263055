//! What makes pods, and the revisions that it keeps of itself.

use super::anomaly::{Flaws, Origin};
use super::pools::{Pools, namespace_of};
use super::selectors::label_selector;
use super::templates::template;
use super::{Ingest, Object};
use crate::intern::Sym;
use crate::labels::Selector;
use crate::wire::{self, Condition, is_of_group, text};
use crate::workloads::{Job, Revision, StatefulSet, Workload, WorkloadDetails, WorkloadKind};

/// A workload with a label selector: all kinds but one.
pub(super) enum WorkloadObject {}

impl Object for WorkloadObject {
    type Wire<'a> = wire::Workload<'a, wire::LabelSelector<'a>>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: Self::Wire<'_>,
        flaws: Flaws,
    ) {
        take(ingest, origin, json, object, flaws, label_selector);
    }
}

/// A ReplicationController, which selects by labels alone.
pub(super) enum ControllerObject {}

impl Object for ControllerObject {
    type Wire<'a> = wire::Workload<'a, wire::Strings<'a>>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: Self::Wire<'_>,
        flaws: Flaws,
    ) {
        take(ingest, origin, json, object, flaws, |pools, labels| {
            Ok(Selector::of_labels(&pools.pairs(Some(labels))))
        });
    }
}

/// One of which only the template is flawed is kept without it.
fn take<S>(
    ingest: &mut Ingest,
    origin: Origin,
    json: &[u8],
    object: wire::Workload<'_, S>,
    mut flaws: Flaws,
    compile: impl FnOnce(&mut Pools, &S) -> Result<Selector, String>,
) {
    let metadata = object.metadata.unwrap_or_default();
    let spec = object.spec.unwrap_or_default();
    let kind = ingest.workload_kind;
    // Others have a StatefulSet or a Job of their own, which means something else.
    if !is_of_group(&object.api_version, group(kind)) {
        return;
    }
    let pools = &mut ingest.pools;
    let selector = match spec.selector.as_ref().map(|selector| compile(pools, selector)) {
        None => None,
        Some(Ok(selector)) => Some(selector),
        Some(Err(problem)) => {
            flaws.push("spec.selector", problem);
            None
        }
    };
    let details = details(pools, kind, &spec, object.status.unwrap_or_default());
    let replicas = replicas(kind, spec.replicas);
    let of_use = !(replicas == Some(0) && is_set(kind));
    let template = spec
        .template
        .filter(|_| of_use)
        .and_then(|spec| template(pools, spec, TEMPLATE, &mut flaws));
    let owners = pools.share_owners(metadata.owner_references.as_ref());
    let annotations = metadata.annotations.as_ref();
    let workload = Workload {
        kind,
        namespace: pools.sym(namespace_of(&metadata)),
        name: text(&metadata.name).into(),
        uid: pools.sym_of(&metadata.uid),
        owner: owners.iter().find(|owner| owner.controller).cloned(),
        replicas,
        deleting: metadata.deletion_timestamp.is_some(),
        paused: spec.paused == Some(true),
        selector,
        template,
        revision: annotations.map_or(Sym::EMPTY, |annotations| pools.sym_of(&annotations.revision)),
        details,
    };
    let whole = flaws.all_below(TEMPLATE);
    let workload = whole.then_some(workload);
    let draft = ingest.note(origin, json, (kind.as_str(), true), &metadata, &flaws, workload);
    ingest.workloads.entry(kind).or_default().push(draft);
}

/// The API group of a kind.
fn group(kind: WorkloadKind) -> &'static str {
    match kind {
        WorkloadKind::ReplicationController => "",
        WorkloadKind::Job => "batch",
        WorkloadKind::ReplicaSet
        | WorkloadKind::StatefulSet
        | WorkloadKind::Deployment
        | WorkloadKind::DaemonSet => "apps",
    }
}

const TEMPLATE: &str = "spec.template";

/// Whether a workload of the kind makes pods as many as it is told, and nothing else.
fn is_set(kind: WorkloadKind) -> bool {
    matches!(kind, WorkloadKind::ReplicaSet | WorkloadKind::ReplicationController)
}

fn replicas(kind: WorkloadKind, given: Option<wire::Int>) -> Option<i64> {
    match kind {
        WorkloadKind::ReplicaSet
        | WorkloadKind::ReplicationController
        | WorkloadKind::StatefulSet
        | WorkloadKind::Deployment => Some(given.map_or(1, |number| number.0)),
        WorkloadKind::Job | WorkloadKind::DaemonSet => None,
    }
}

fn details<S>(
    pools: &mut Pools,
    kind: WorkloadKind,
    spec: &wire::WorkloadSpec<'_, S>,
    status: wire::WorkloadStatus<'_>,
) -> WorkloadDetails {
    match kind {
        WorkloadKind::StatefulSet => {
            WorkloadDetails::StatefulSet(stateful_set(pools, spec, &status))
        }
        WorkloadKind::Job => WorkloadDetails::Job(job(spec, &status)),
        WorkloadKind::ReplicaSet
        | WorkloadKind::ReplicationController
        | WorkloadKind::Deployment
        | WorkloadKind::DaemonSet => WorkloadDetails::None,
    }
}

fn stateful_set<S>(
    pools: &mut Pools,
    spec: &wire::WorkloadSpec<'_, S>,
    status: &wire::WorkloadStatus<'_>,
) -> StatefulSet {
    let strategy = spec.update_strategy.as_ref();
    let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    let claims = spec.volume_claim_templates.iter().flatten();
    StatefulSet {
        start: spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).map_or(0, |n| n.0),
        on_delete: strategy.is_some_and(|strategy| text(&strategy.r#type) == "OnDelete"),
        partition: rolling.and_then(|rolling| rolling.partition).map(|number| number.0),
        current_revision: pools.sym_of(&status.current_revision),
        update_revision: pools.sym_of(&status.update_revision),
        claim_templates: claims
            .filter_map(|claim| claim.metadata.as_ref())
            .map(|metadata| pools.sym_of(&metadata.name))
            .collect(),
    }
}

fn job<S>(spec: &wire::WorkloadSpec<'_, S>, status: &wire::WorkloadStatus<'_>) -> Job {
    let is = |kinds: [&str; 2]| {
        status.conditions.iter().flatten().any(|Condition { r#type, status, .. }| {
            kinds.contains(&text(r#type)) && text(status) == "True"
        })
    };
    Job {
        completions: spec.completions.map(|number| number.0),
        parallelism: spec.parallelism.map_or(1, |number| number.0),
        succeeded: status.succeeded.map_or(0, |number| number.0),
        suspend: spec.suspend == Some(true),
        pod_replacement_failed: text(&spec.pod_replacement_policy) == "Failed",
        pod_failure_policy: spec.pod_failure_policy.is_some(),
        complete: is(["Complete", "SuccessCriteriaMet"]),
        failed: is(["Failed", "FailureTarget"]),
    }
}

pub(super) enum RevisionObject {}

impl Object for RevisionObject {
    type Wire<'a> = wire::Revision<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::Revision<'_>,
        mut flaws: Flaws,
    ) {
        if !is_of_group(&object.api_version, "apps") {
            return;
        }
        let metadata = object.metadata.unwrap_or_default();
        let pools = &mut ingest.pools;
        let owners = pools.share_owners(metadata.owner_references.as_ref());
        let owner = owners.iter().find(|owner| owner.controller);
        let of_stateful_set = owner.is_some_and(|owner| {
            pools.strings.text(owner.kind) == WorkloadKind::StatefulSet.as_str()
        });
        let data = object.data.and_then(|data| data.spec).and_then(|spec| spec.template);
        let template = data
            .filter(|_| of_stateful_set)
            .and_then(|data| template(pools, data, "data.spec.template", &mut flaws));
        let revision = Revision {
            namespace: pools.sym(namespace_of(&metadata)),
            name: text(&metadata.name).into(),
            owner: owner.map_or(Sym::EMPTY, |owner| owner.uid),
            number: object.revision.map_or(0, |number| number.0),
            template,
        };
        let draft =
            ingest.settle(origin, json, ("ControllerRevision", true), &metadata, &flaws, revision);
        ingest.revisions.push(draft);
    }
}
