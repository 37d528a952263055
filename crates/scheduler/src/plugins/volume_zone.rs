//! VolumeZone: volumes that say in which zone they are by their labels
//! (docs/spec/scheduler.md section 8).

use descheduler_cluster::labels::value_of;
use descheduler_cluster::{NodeId, Sym};

use super::{NodeFilter, Prepared, Rejection, never};
use crate::cycle::Cycle;
use crate::outcome::{Code, Why};

/// Each label with the one that took its place.
const KEYS: [(&str, Option<&str>); 4] = [
    ("topology.kubernetes.io/zone", None),
    ("topology.kubernetes.io/region", None),
    ("failure-domain.beta.kubernetes.io/zone", Some("topology.kubernetes.io/zone")),
    ("failure-domain.beta.kubernetes.io/region", Some("topology.kubernetes.io/region")),
];

/// Labels that a node must have, each with the values that will do.
struct Zones<'c>(Vec<Wanted<'c>>);

struct Wanted<'c> {
    key: Sym,
    instead: Option<Sym>,
    values: Vec<&'c str>,
}

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    let (snapshot, pod) = (cycle.snapshot(), cycle.pod);
    let mut wanted = Vec::new();
    for name in pod.claims {
        let Some(claim) = snapshot.claim(pod.namespace, name) else {
            return Prepared::Reject(Code::UnschedulableAndUnresolvable, Why::ClaimUnknown);
        };
        if claim.volume == Sym::EMPTY {
            match snapshot.storage_class(claim.class).is_some_and(|class| class.delayed) {
                true => continue,
                false => {
                    let code = Code::UnschedulableAndUnresolvable;
                    return Prepared::Reject(code, Why::ClaimUnbound);
                }
            }
        }
        let Some(volume) = snapshot.volume(claim.volume) else {
            return Prepared::Reject(Code::UnschedulableAndUnresolvable, Why::VolumeUnknown);
        };
        for (key, instead) in KEYS {
            let key = snapshot.sym(key);
            if let Some(value) = value_of(&volume.labels, key) {
                let values: Vec<&str> = snapshot.text(value).split("__").map(str::trim).collect();
                // A label that leaves a zone open says nothing at all.
                if values.contains(&"") {
                    continue;
                }
                let instead = instead.map(|instead| snapshot.sym(instead));
                wanted.push(Wanted { key, instead, values });
            }
        }
    }
    if wanted.is_empty() { Prepared::Skip } else { Prepared::filter(Zones(wanted)) }
}

impl<'s> NodeFilter<'s> for Zones<'_> {
    fn check(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        let snapshot = cycle.snapshot();
        let labels = &snapshot.node(node).labels;
        // A node that says nothing about where it is belongs to a cluster in one place.
        if !KEYS.iter().any(|(key, _)| value_of(labels, snapshot.sym(key)).is_some()) {
            return Ok(());
        }
        let fits = |wanted: &Wanted<'_>| {
            let value = value_of(labels, wanted.key)
                .or_else(|| value_of(labels, wanted.instead?))
                .map(|value| snapshot.text(value));
            value.is_some_and(|value| wanted.values.contains(&value))
        };
        if self.0.iter().all(fits) { Ok(()) } else { never(Why::VolumeZone) }
    }
}
