//! Owners make pods anew (docs/spec/scheduler.md section 11).

use std::sync::Arc;

use descheduler_cluster::{Arrival, NodeId, PodId, Snapshot};
use descheduler_scheduler::{Model, Old, PodRef, Replacement};
use hashbrown::HashSet;
use jiff::Timestamp;

use crate::chance::{Chance, Dice};

/// What Kubernetes makes the random ends of names of.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// How long such an end is.
const LETTERS_COUNT: usize = 5;

/// What comes back for a pod that goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Heir<'s> {
    /// A pod, at once, while the old one is on its way out.
    AtOnce(PodRef<'s>),
    /// A pod, when the old one is gone.
    Afterwards(PodRef<'s>),
    /// None, for a reason.
    None(&'static str),
}

impl<'s> Heir<'s> {
    /// What comes back for a pod that is evicted.
    pub(crate) fn of(model: &Model<'s>, id: PodId) -> Self {
        let active = model.snapshot().pod(id).is_active();
        match model.replacement(id) {
            // Of the pods that have ended only those are made anew whose place in the set is free
            // then; for the others their owners have made new ones long since.
            Ok(_) if !active && !keeps_name(model.snapshot(), id) => {
                Self::None("it had ended already")
            }
            Ok(Replacement { pod, or: _, old: Old::Gone }) => Self::Afterwards(pod),
            // How an unknown owner goes about it is not known; most do as ReplicaSets do. Where
            // it is not known what comes, it is what is expected.
            Ok(Replacement { pod, or: _, old: Old::Terminating | Old::Unknown }) => {
                Self::AtOnce(pod)
            }
            Err(nothing) => Self::None(nothing.text()),
        }
    }
}

/// Whether the owner is a StatefulSet, whose pods have names of their own.
fn keeps_name(snapshot: &Snapshot, id: PodId) -> bool {
    let mut owners = snapshot.pod(id).owners.iter();
    owners.any(|owner| snapshot.text(owner.kind) == "StatefulSet" && !owner.foreign)
}

/// The place of a pod in its StatefulSet, by which those of one set come back in order; 0 of others.
pub(crate) fn ordinal(snapshot: &Snapshot, id: PodId) -> u64 {
    let end = snapshot.pod(id).name.rsplit_once('-').map(|(_, end)| end);
    match keeps_name(snapshot, id) {
        true => end.and_then(|end| end.parse().ok()).unwrap_or(0),
        false => 0,
    }
}

/// Names and uids for new pods, none of them given twice.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    dice: Dice,
    taken: HashSet<String>,
    count: u64,
}

impl Names {
    pub(crate) fn new(seed: u64) -> Self {
        Self { dice: Dice::new(seed, "names"), taken: HashSet::new(), count: 0 }
    }

    /// The name of a pod that takes the place of `of`.
    fn name(&mut self, snapshot: &Snapshot, of: PodId) -> String {
        let pod = snapshot.pod(of);
        if keeps_name(snapshot, of) {
            return pod.name.to_string();
        }
        let owner = pod.owners.iter().find(|owner| owner.controller).or(pod.owners.first());
        let stem = owner.map_or(&*pod.name, |owner| snapshot.text(owner.name));
        loop {
            let mut name = format!("{stem}-");
            let letters = (0..LETTERS_COUNT).map(|_| LETTERS[self.dice.pick(LETTERS.len())]);
            name.extend(letters.map(char::from));
            let full = format!("{}/{name}", snapshot.text(pod.namespace));
            if !exists(snapshot, &full) && self.taken.insert(full) {
                return name;
            }
        }
    }

    fn uid(&mut self) -> String {
        self.count += 1;
        format!("simulated-{}", self.count)
    }

    /// A new pod in the place of `of`, on a node or waiting for one.
    pub(crate) fn arrival(
        &mut self,
        snapshot: &Snapshot,
        pod: &PodRef<'_>,
        created: Timestamp,
        node: Option<NodeId>,
    ) -> Arrival {
        let old = snapshot.pod(pod.id);
        let mut specs = vec![(&old.spec, &old.requests)];
        for owner in old.owners.iter() {
            let workload = snapshot.workload(owner.uid);
            let template = workload.and_then(|workload| workload.template.as_ref());
            specs.extend(template.map(|template| (&template.spec, &template.requests)));
        }
        // What is shared stays shared; only the template of an earlier revision is copied.
        let shared = specs.iter().find(|(spec, _)| std::ptr::eq(&***spec, pod.spec));
        let spec = shared.map_or_else(|| Arc::new(pod.spec.clone()), |(spec, _)| Arc::clone(spec));
        let shared = specs.iter().find(|(_, known)| std::ptr::eq(&***known, pod.requests));
        let requests =
            shared.map_or_else(|| Arc::new(pod.requests.clone()), |(_, known)| Arc::clone(known));
        Arrival {
            of: pod.id,
            name: self.name(snapshot, pod.id).into(),
            uid: self.uid().into(),
            labels: pod.labels.into(),
            spec,
            requests,
            scored: pod.scored,
            scored_held: pod.scored_held,
            created,
            node,
        }
    }
}

/// Whether there is a pod `namespace/name`. Pods are sorted by both.
fn exists(snapshot: &Snapshot, full: &str) -> bool {
    let (namespace, name) = full.split_once('/').unwrap_or_default();
    let place = snapshot.pods().binary_search_by(|&id| {
        let pod = snapshot.pod(id);
        (snapshot.text(pod.namespace), &*pod.name).cmp(&(namespace, name))
    });
    place.is_ok()
}
