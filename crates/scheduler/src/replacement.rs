//! What comes back when a pod is evicted (docs/spec/scheduler.md section 11).

use descheduler_cluster::labels::value_of;
use descheduler_cluster::{
    Kind, Labels, Owner, Pod, PodId, Snapshot, Sym, Template, Workload, WorkloadDetails,
};
use hashbrown::HashMap;

use crate::pod::PodRef;

/// The pod that its owner makes in place of an evicted one.
#[derive(Clone, Copy, Debug)]
pub enum Replacement<'s> {
    /// This one.
    Comes {
        /// The pod, without a node.
        pod: PodRef<'s>,
        /// What the evicted one still holds when the new one is placed.
        old: Old,
    },
    /// None.
    Nothing(Nothing),
}

/// Whether the evicted pod still holds its place when its replacement is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Old {
    /// It is on its way out, but still there.
    Terminating,
    /// It has to be gone first.
    Gone,
    /// How the owner goes about it is not known.
    Unknown,
}

impl Old {
    /// What has to be considered: both where it is not known.
    pub fn readings(self) -> &'static [Self] {
        match self {
            Self::Terminating => &[Self::Terminating],
            Self::Gone => &[Self::Gone],
            Self::Unknown => &[Self::Terminating, Self::Gone],
        }
    }
}

/// Why nothing comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nothing {
    /// It has no owner.
    NoOwner,
    /// The owner that it names does not exist any more.
    OwnerGone,
    /// The owner is being deleted.
    OwnerDeleted,
    /// The owner wants fewer pods than there are.
    ScaledDown,
    /// The Job has ended, or is suspended.
    JobOver,
    /// A kubelet's own pod.
    Static,
    /// The owner would make another pod than this one, and what it is like is not known.
    TemplateUnknown,
    /// The new pod would wait for somebody to open its gates.
    Gated,
}

impl Nothing {
    /// The reason in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::NoOwner => "it has no owner that would recreate it",
            Self::OwnerGone => "its owner does not exist any more, so nothing would come back",
            Self::OwnerDeleted => "its owner is being deleted, so nothing would come back",
            Self::ScaledDown => "its owner wants fewer pods than there are",
            Self::JobOver => "its Job is over or suspended, so nothing would come back",
            Self::Static => "it is no pod of the API server's",
            Self::TemplateUnknown => "its owner would make a pod that is not known",
            Self::Gated => "its replacement would wait behind a scheduling gate",
        }
    }
}

/// How many pods each owner has that neither ended nor are on their way out, by the owner's uid.
pub(crate) fn replicas(snapshot: &Snapshot) -> HashMap<Sym, i64> {
    let mut replicas = HashMap::new();
    for &id in snapshot.pods() {
        let pod = snapshot.pod(id);
        if pod.is_active() && !pod.terminating {
            for owner in &*pod.owners {
                *replicas.entry(owner.uid).or_default() += 1;
            }
        }
    }
    replicas
}

/// What comes back when `id` is evicted.
pub(crate) fn replacement<'s>(
    snapshot: &'s Snapshot,
    replicas: &HashMap<Sym, i64>,
    id: PodId,
) -> Replacement<'s> {
    let pod = snapshot.pod(id);
    let there = |owner: &Owner| replicas.get(&owner.uid).copied().unwrap_or(0);
    let Some(owner) = pod.owners.iter().find(|o| o.controller).or(pod.owners.first()) else {
        return Replacement::Nothing(Nothing::NoOwner);
    };
    let found = match snapshot.text(owner.kind) {
        _ if owner.foreign => Ok((PodRef::of(snapshot, id).unbound(), Old::Unknown)),
        "ReplicaSet" => replica(snapshot, id, owner, Kind::ReplicaSet, there(owner)),
        "ReplicationController" => {
            replica(snapshot, id, owner, Kind::ReplicationController, there(owner))
        }
        "StatefulSet" => member(snapshot, id, owner),
        "Job" => worker(snapshot, id, owner),
        "DaemonSet" => daemon(snapshot, id, owner),
        "Node" => Err(Nothing::Static),
        _ => Ok((PodRef::of(snapshot, id).unbound(), Old::Unknown)),
    };
    match found {
        Ok((pod, _)) if pod.spec.gated => Replacement::Nothing(Nothing::Gated),
        Ok((pod, old)) => Replacement::Comes { pod, old },
        Err(nothing) => Replacement::Nothing(nothing),
    }
}

type Found<'s> = Result<(PodRef<'s>, Old), Nothing>;

/// The owner, if it is known; `None` if nothing of its kind is.
fn find<'s>(
    snapshot: &'s Snapshot,
    owner: &Owner,
    kind: Kind,
) -> Result<Option<&'s Workload>, Nothing> {
    if !snapshot.has(kind) {
        return Ok(None);
    }
    let workload = snapshot.workload(owner.uid).ok_or(Nothing::OwnerGone)?;
    if workload.deleting { Err(Nothing::OwnerDeleted) } else { Ok(Some(workload)) }
}

fn replica<'s>(
    snapshot: &'s Snapshot,
    id: PodId,
    owner: &Owner,
    kind: Kind,
    there: i64,
) -> Found<'s> {
    let stored = PodRef::of(snapshot, id).unbound();
    let Some(workload) = find(snapshot, owner, kind)? else {
        return Ok((stored, Old::Terminating));
    };
    if workload.replicas.is_some_and(|wanted| wanted < there) {
        return Err(Nothing::ScaledDown);
    }
    Ok((from_template(snapshot, stored, workload.template.as_ref()), Old::Terminating))
}

fn member<'s>(snapshot: &'s Snapshot, id: PodId, owner: &Owner) -> Found<'s> {
    let stored = PodRef::of(snapshot, id).unbound();
    let Some(workload) = find(snapshot, owner, Kind::StatefulSet)? else {
        return Ok((stored, Old::Gone));
    };
    let WorkloadDetails::StatefulSet(set) = &workload.details else {
        return Ok((stored, Old::Gone));
    };
    let ordinal = stored.name.rsplit_once('-').and_then(|(_, end)| end.parse::<i64>().ok());
    let Some(ordinal) = ordinal else { return Ok((stored, Old::Gone)) };
    if ordinal < set.start || ordinal >= set.start + workload.replicas.unwrap_or(1) {
        return Err(Nothing::ScaledDown);
    }
    let partition = set.partition.filter(|_| !set.on_delete);
    let wanted = match partition {
        Some(partition) if ordinal < set.start + partition => set.current_revision,
        _ => set.update_revision,
    };
    let has = value_of(stored.labels, snapshot.sym("controller-revision-hash"));
    if wanted == Sym::EMPTY || has == Some(wanted) {
        return Ok((stored, Old::Gone));
    }
    let revision = snapshot.revision(workload.namespace, snapshot.text(wanted));
    let template = match revision.and_then(|revision| revision.template.as_ref()) {
        Some(template) => Some(template),
        None if wanted == set.update_revision => workload.template.as_ref(),
        None => None,
    };
    let template = template.ok_or(Nothing::TemplateUnknown)?;
    // Labels that the set adds, and claims, are those of the place, whoever takes it.
    let pod = PodRef {
        spec: &template.spec,
        requests: &template.requests,
        scored: template.scored,
        scored_held: template.scored,
        ..stored
    };
    Ok((pod, Old::Gone))
}

fn worker<'s>(snapshot: &'s Snapshot, id: PodId, owner: &Owner) -> Found<'s> {
    let stored = PodRef::of(snapshot, id).unbound();
    let Some(workload) = find(snapshot, owner, Kind::Job)? else {
        return Ok((stored, Old::Terminating));
    };
    let WorkloadDetails::Job(job) = &workload.details else {
        return Ok((stored, Old::Terminating));
    };
    let all_done = job.completions.is_some_and(|wanted| job.succeeded >= wanted);
    if job.suspend || job.complete || job.failed || all_done {
        return Err(Nothing::JobOver);
    }
    let waits = job.pod_replacement_failed || job.pod_failure_policy;
    let old = if waits { Old::Gone } else { Old::Terminating };
    Ok((from_template(snapshot, stored, workload.template.as_ref()), old))
}

fn daemon<'s>(snapshot: &'s Snapshot, id: PodId, owner: &Owner) -> Found<'s> {
    find(snapshot, owner, Kind::DaemonSet)?;
    Ok((PodRef::of(snapshot, id).unbound(), Old::Gone))
}

/// The pod as stored is the best source, since admission has been over it. Where the template has
/// become another, by a rollout, by a resize in place or by hand, it counts.
fn from_template<'s>(
    snapshot: &'s Snapshot,
    stored: PodRef<'s>,
    template: Option<&'s Template>,
) -> PodRef<'s> {
    let Some(template) = template.filter(|template| differs(snapshot, &stored, template)) else {
        return stored;
    };
    let labels: &'s Labels = &template.labels;
    let groups = snapshot.groups_in(stored.namespace).iter().copied();
    let group = groups.into_iter().find(|&group| *snapshot.group(group).labels == *labels);
    PodRef {
        labels,
        group,
        spec: &template.spec,
        requests: &template.requests,
        scored: template.scored,
        scored_held: template.scored,
        ..stored
    }
}

fn differs(snapshot: &Snapshot, stored: &PodRef<'_>, template: &Template) -> bool {
    let pod: &Pod = snapshot.pod(stored.id);
    let spec = &template.spec;
    // Admission adds labels and containers, but takes none away.
    let has_label = |&(key, value): &(Sym, Sym)| value_of(stored.labels, key) == Some(value);
    let has_image = |image: &Sym| pod.spec.images.contains(image);
    let same_containers = spec.images == pod.spec.images;
    !template.labels.iter().all(has_label)
        || !spec.images.iter().all(has_image)
        || spec.gated != pod.spec.gated
        || spec.priority.is_some_and(|priority| pod.spec.priority != Some(priority))
        || (same_containers && *template.requests != *pod.requests)
        || spec.node_selector.iter().any(|pair| !pod.spec.node_selector.contains(pair))
        || spec.spread != pod.spec.spread
        || spec.anti_affinity.len() != pod.spec.anti_affinity.len()
        || spec.affinity.len() != pod.spec.affinity.len()
}
