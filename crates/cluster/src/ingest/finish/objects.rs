//! Volumes and workloads: one of each name, and the tables that they are found in.

use std::mem::take;

use hashbrown::HashMap;

use super::super::Ingest;
use super::super::drafts::Draft;
use super::super::templates::Classes;
use super::{one_per_name, one_per_object};
use crate::intern::{Interner, Sym};
use crate::snapshot::objects::{Devices, Makers, Storage, Usage};
use crate::snapshot::tables::{ByName, BySym, Runs};
use crate::workloads::{Revision, Workload};

pub(super) fn storage(ingest: &mut Ingest) -> Storage {
    let strings = &ingest.pools.strings;
    Storage {
        claims: ByName::new(settled(take(&mut ingest.claims), strings)),
        volumes: BySym::new(settled(take(&mut ingest.volumes), strings), |volume| volume.name),
        classes: BySym::new(settled(take(&mut ingest.classes), strings), |class| class.name),
        nodes: BySym::new(settled(take(&mut ingest.csi_nodes), strings), |node| node.node),
        drivers: BySym::new(settled(take(&mut ingest.csi_drivers), strings), |driver| driver.name),
        attachments: Runs::new(settled(take(&mut ingest.attachments), strings), |one| one.node),
        capacities: Runs::new(settled(take(&mut ingest.capacities), strings), |one| one.class),
    }
}

pub(super) fn devices(ingest: &mut Ingest) -> Devices {
    let strings = &ingest.pools.strings;
    Devices {
        claims: ByName::new(settled(take(&mut ingest.device_claims), strings)),
        classes: BySym::new(settled(take(&mut ingest.device_classes), strings), |one| one.name),
        slices: BySym::new(settled(take(&mut ingest.slices), strings), |slice| slice.name),
    }
}

pub(super) fn usage(ingest: &mut Ingest) -> Usage {
    let strings = &ingest.pools.strings;
    Usage {
        nodes: BySym::new(settled(take(&mut ingest.node_usage), strings), |usage| usage.node),
        pods: ByName::new(settled(take(&mut ingest.pod_usage), strings)),
    }
}

/// What makes pods, and the values of the PriorityClasses.
pub(super) fn makers(ingest: &mut Ingest) -> (Makers, HashMap<Box<str>, i32>) {
    let classes = settled(take(&mut ingest.priority_classes), &ingest.pools.strings);
    let values = classes
        .iter()
        .map(|class| (ingest.pools.strings.text(class.name).into(), class.value))
        .collect();
    let classes = Classes::new(classes.into_iter(), &mut ingest.pools);

    let mut workloads: Vec<Workload> = Vec::new();
    for drafts in take(&mut ingest.workloads).into_values() {
        workloads.extend(settled(drafts, &ingest.pools.strings));
    }
    let mut revisions: Vec<Revision> = settled(take(&mut ingest.revisions), &ingest.pools.strings);
    let of_workloads = workloads.iter_mut().filter_map(|workload| workload.template.as_mut());
    let of_revisions = revisions.iter_mut().filter_map(|revision| revision.template.as_mut());
    for template in of_workloads.chain(of_revisions) {
        classes.apply(template, &mut ingest.pools);
    }
    let services = settled(take(&mut ingest.services), &ingest.pools.strings);
    let makers = Makers {
        by_uid: by_uid(&workloads),
        workloads: ByName::new(workloads),
        revisions: ByName::new(revisions),
        services: Runs::new(services, |service| service.namespace),
    };
    (makers, values)
}

/// Those that are known, one for each name, in order. A state of an object that could not be read
/// and is the latest hides those before it.
fn settled<T>(drafts: Vec<Draft<Option<T>>>, strings: &Interner) -> Vec<T> {
    one_per_name(one_per_object(drafts, strings), |_, _| {})
        .into_iter()
        .filter_map(|draft| draft.value)
        .collect()
}

/// Places by uid; of two with one uid, the first counts.
fn by_uid(workloads: &[Workload]) -> HashMap<Sym, u32> {
    let mut by_uid = HashMap::new();
    for (at, workload) in (0..).zip(workloads) {
        if workload.uid != Sym::EMPTY {
            by_uid.entry(workload.uid).or_insert(at);
        }
    }
    by_uid
}
