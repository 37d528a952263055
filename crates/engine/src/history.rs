//! What earlier cycles left behind.

use std::collections::BTreeMap;

use descheduler_cluster::{PodId, Snapshot};
use jiff::Timestamp;

/// Owners whose pods were moved without improvement, and until when they are left alone.
#[derive(Clone, Debug, Default)]
pub struct History {
    cooling: BTreeMap<Subject, Timestamp>,
}

/// Whom the history remembers: the first owner of a pod, or the pod itself if it has none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// Namespace.
    pub namespace: String,
    /// Kind of the owner, `Pod` for a pod without one.
    pub kind: String,
    /// Name of the owner or the pod.
    pub name: String,
}

impl Subject {
    /// The subject that a pod belongs to.
    pub fn of(snapshot: &Snapshot, pod: PodId) -> Self {
        let pod = snapshot.pod(pod);
        let (kind, name) = match pod.owners.first() {
            Some(owner) => (snapshot.text(owner.kind), snapshot.text(owner.name)),
            None => ("Pod", &*pod.name),
        };
        Self {
            namespace: snapshot.text(pod.namespace).to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl History {
    /// Leaves the subject's pods alone until then.
    pub fn cool_down(&mut self, subject: Subject, until: Timestamp) {
        self.cooling.insert(subject, until);
    }

    /// Until when a pod is left alone, if it is at `now`.
    pub(crate) fn cooling(&self, snapshot: &Snapshot, pod: PodId) -> Option<Timestamp> {
        if self.cooling.is_empty() {
            return None;
        }
        let until = *self.cooling.get(&Subject::of(snapshot, pod))?;
        (until > snapshot.taken_at()).then_some(until)
    }
}
