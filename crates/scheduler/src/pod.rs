//! A pod as the scheduler sees it, wherever its description comes from.

use descheduler_cluster::{
    GroupId, Labels, Owner, Pod, PodId, PodSpec, Resources, Snapshot, Sym, pod::Scored,
};

/// A pod that is to be placed, or that was placed by a plan.
#[derive(Clone, Copy, Debug)]
pub struct PodRef<'s> {
    /// The pod of the snapshot that it is or replaces.
    pub id: PodId,
    /// Its name, which a replacement may have to itself.
    pub name: &'s str,
    /// Its namespace.
    pub namespace: Sym,
    /// Its labels.
    pub labels: &'s Labels,
    /// The group of the snapshot that has these labels, if there is one.
    pub group: Option<GroupId>,
    /// What it asks for.
    pub spec: &'s PodSpec,
    /// Its requests as those of a pod that is to be placed.
    pub requests: &'s Resources,
    /// What NodeResourcesFit scores it with.
    pub scored: Scored,
    /// What NodeResourcesFit counts of it once it is placed.
    pub scored_held: Scored,
    /// Claims that its volumes name.
    pub claims: &'s [Box<str>],
    /// Claims made for it alone.
    pub ephemeral_claims: &'s [Box<str>],
    /// Its owners.
    pub owners: &'s [Owner],
    /// `spec.nodeName`, for a pod that asks for a node by name.
    pub node_name: Option<Sym>,
}

impl<'s> PodRef<'s> {
    /// A pod of the snapshot, to be placed as it is described there.
    pub fn of(snapshot: &'s Snapshot, id: PodId) -> Self {
        let pod: &'s Pod = snapshot.pod(id);
        Self {
            id,
            name: &pod.name,
            namespace: pod.namespace,
            labels: snapshot.labels(id),
            group: Some(pod.group),
            spec: &pod.spec,
            requests: &pod.requests,
            scored: pod.scored,
            scored_held: pod.scored_held,
            claims: &pod.claims,
            ephemeral_claims: &pod.ephemeral_claims,
            owners: &pod.owners,
            node_name: pod.node_name,
        }
    }

    /// The same pod before it was given a node.
    pub fn unbound(self) -> Self {
        Self { node_name: None, ..self }
    }

    /// `spec.priority`, 0 when absent.
    pub fn priority(&self) -> i32 {
        self.spec.priority.unwrap_or(0)
    }

    /// The owner that controls it.
    pub fn controller(&self) -> Option<&'s Owner> {
        self.owners.iter().find(|owner| owner.controller)
    }
}
