//! What comes back when a pod is evicted (docs/spec/scheduler.md section 11).

use std::iter;

use descheduler_cluster::labels::value_of;
use descheduler_cluster::{
    Kind, Labels, Owner, Pod, PodId, Resources, Snapshot, Sym, Template, Workload, WorkloadDetails,
};
use hashbrown::HashMap;

use crate::pod::PodRef;

/// The pod that its owner makes in place of an evicted one.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'s> {
    /// The pod that is expected, without a node. Where its requests are not certain, they are the
    /// larger ones.
    pub pod: PodRef<'s>,
    /// What may come instead: the pod as it was stored or as its template has it, where they differ
    /// and it is not known what admission makes of that.
    pub or: Option<PodRef<'s>>,
    /// What the evicted one still holds when the new one is placed.
    pub old: Old,
}

impl<'s> Replacement<'s> {
    /// All that may come, with all that the evicted pod may still hold then.
    pub fn readings(&self) -> impl Iterator<Item = (PodRef<'s>, Old)> + use<'s> {
        let Self { pod, or, old } = *self;
        let pods = move || iter::once(pod).chain(or);
        old.readings().iter().flat_map(move |&old| pods().map(move |pod| (pod, old)))
    }
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
    /// What is assumed of the evicted pod, as the end of a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Self::Terminating => "as long as the old pod terminates",
            Self::Gone => "once the old pod is gone",
            Self::Unknown => "whether or not the old pod is gone",
        }
    }

    /// What has to be considered: both where it is not known.
    fn readings(self) -> &'static [Self] {
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
) -> Result<Replacement<'s>, Nothing> {
    let pod = snapshot.pod(id);
    let there = |owner: &Owner| replicas.get(&owner.uid).copied().unwrap_or(0);
    let Some(owner) = pod.owners.iter().find(|o| o.controller).or(pod.owners.first()) else {
        return Err(Nothing::NoOwner);
    };
    let (made, old) = match snapshot.text(owner.kind) {
        _ if owner.foreign => Ok((Made::As(PodRef::of(snapshot, id).unbound()), Old::Unknown)),
        "ReplicaSet" => replica(snapshot, id, owner, Kind::ReplicaSet, there(owner)),
        "ReplicationController" => {
            replica(snapshot, id, owner, Kind::ReplicationController, there(owner))
        }
        "StatefulSet" => member(snapshot, id, owner),
        "Job" => worker(snapshot, id, owner),
        "DaemonSet" => daemon(snapshot, id, owner),
        "Node" => Err(Nothing::Static),
        _ => Ok((Made::As(PodRef::of(snapshot, id).unbound()), Old::Unknown)),
    }?;
    let (pod, or) = match made {
        Made::As(pod) => (pod, None),
        Made::Either(pod, or) => (pod, Some(or)),
    };
    match pod.spec.gated || or.is_some_and(|pod| pod.spec.gated) {
        true => Err(Nothing::Gated),
        false => Ok(Replacement { pod, or, old }),
    }
}

/// What an owner makes.
enum Made<'s> {
    /// This.
    As(PodRef<'s>),
    /// The first, or else the second.
    Either(PodRef<'s>, PodRef<'s>),
}

type Found<'s> = Result<(Made<'s>, Old), Nothing>;

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
        return Ok((Made::As(stored), Old::Terminating));
    };
    if workload.replicas.is_some_and(|wanted| wanted < there) {
        return Err(Nothing::ScaledDown);
    }
    Ok((from_template(snapshot, stored, workload.template.as_ref()), Old::Terminating))
}

fn member<'s>(snapshot: &'s Snapshot, id: PodId, owner: &Owner) -> Found<'s> {
    let stored = PodRef::of(snapshot, id).unbound();
    let Some(workload) = find(snapshot, owner, Kind::StatefulSet)? else {
        return Ok((Made::As(stored), Old::Gone));
    };
    let WorkloadDetails::StatefulSet(set) = &workload.details else {
        return Ok((Made::As(stored), Old::Gone));
    };
    let ordinal = stored.name.rsplit_once('-').and_then(|(_, end)| end.parse::<i64>().ok());
    let Some(ordinal) = ordinal else { return Ok((Made::As(stored), Old::Gone)) };
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
        return Ok((Made::As(stored), Old::Gone));
    }
    let revision = snapshot.revision(workload.namespace, snapshot.text(wanted));
    let template = match revision.and_then(|revision| revision.template.as_ref()) {
        Some(template) => Some(template),
        None if wanted == set.update_revision => workload.template.as_ref(),
        None => None,
    };
    let template = template.ok_or(Nothing::TemplateUnknown)?;
    // Labels that the set adds, and claims, are those of the place, whoever takes it.
    let pod = PodRef { spec: &template.spec, ..with_requests(stored, template) };
    Ok((Made::As(pod), Old::Gone))
}

fn worker<'s>(snapshot: &'s Snapshot, id: PodId, owner: &Owner) -> Found<'s> {
    let stored = PodRef::of(snapshot, id).unbound();
    let Some(workload) = find(snapshot, owner, Kind::Job)? else {
        return Ok((Made::As(stored), Old::Unknown));
    };
    let WorkloadDetails::Job(job) = &workload.details else {
        return Ok((Made::As(stored), Old::Unknown));
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
    Ok((Made::As(PodRef::of(snapshot, id).unbound()), Old::Gone))
}

/// The pod as stored is the best source, since admission has been over it. Where the template differs,
/// that may be by a rollout, by a resize in place or by hand, and then the template counts; or by
/// admission: defaults of a LimitRange, overhead of a RuntimeClass, webhooks. Which of them it was
/// cannot be told.
fn from_template<'s>(
    snapshot: &'s Snapshot,
    stored: PodRef<'s>,
    template: Option<&'s Template>,
) -> Made<'s> {
    let Some(template) = template else { return Made::As(stored) };
    if differs(snapshot, &stored, template) {
        let labels: &'s Labels = &template.labels;
        let groups = snapshot.groups_in(stored.namespace).iter().copied();
        let group = groups.into_iter().find(|&group| *snapshot.group(group).labels == *labels);
        let made = with_requests(stored, template);
        return Made::Either(PodRef { labels, group, spec: &template.spec, ..made }, stored);
    }
    let same_containers = template.spec.images == stored.spec.images;
    if !same_containers || *template.requests == *stored.requests {
        return Made::As(stored);
    }
    let resized = requesting(stored, template);
    match covers(stored.requests, &template.requests) {
        true => Made::Either(stored, resized),
        false => Made::Either(resized, stored),
    }
}

/// The pod with the requests of the template, or its own where these are at least as large:
/// templates lack what admission adds.
fn with_requests<'s>(stored: PodRef<'s>, template: &'s Template) -> PodRef<'s> {
    match covers(stored.requests, &template.requests) {
        true => stored,
        false => requesting(stored, template),
    }
}

fn requesting<'s>(stored: PodRef<'s>, template: &'s Template) -> PodRef<'s> {
    let (requests, scored) = (&*template.requests, template.scored);
    PodRef { requests, scored, scored_held: scored, ..stored }
}

/// Whether nothing of `other` is more than in `requests`.
fn covers(requests: &Resources, other: &Resources) -> bool {
    other.iter().all(|(resource, amount)| requests.get(resource) >= amount)
}

fn differs(snapshot: &Snapshot, stored: &PodRef<'_>, template: &Template) -> bool {
    let pod: &Pod = snapshot.pod(stored.id);
    let spec = &template.spec;
    // Admission adds labels and containers, but takes none away.
    let has_label = |&(key, value): &(Sym, Sym)| value_of(stored.labels, key) == Some(value);
    let has_image = |image: &Sym| pod.spec.images.contains(image);
    !template.labels.iter().all(has_label)
        || !spec.images.iter().all(has_image)
        || spec.gated != pod.spec.gated
        || spec.priority.is_some_and(|priority| pod.spec.priority != Some(priority))
        || spec.node_selector.iter().any(|pair| !pod.spec.node_selector.contains(pair))
        || spec.spread != pod.spec.spread
        || spec.anti_affinity.len() != pod.spec.anti_affinity.len()
        || spec.affinity.len() != pod.spec.affinity.len()
}
