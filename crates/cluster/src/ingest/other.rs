//! Kinds of which a name and a value or two are kept: Namespace, PriorityClass, Service.

use super::anomaly::{Flaws, Origin};
use super::drafts::Draft;
use super::pools::namespace_of;
use super::templates::Class;
use super::{Ingest, Object};
use crate::wire::{self, is_of_group, text};
use crate::workloads::Service;

pub(super) enum NamespaceObject {}

impl Object for NamespaceObject {
    type Wire<'a> = wire::Namespace<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::Namespace<'_>,
        flaws: Flaws,
    ) {
        let metadata = object.metadata.unwrap_or_default();
        ingest.saw(metadata.creation_timestamp);
        ingest.complain_all(origin, &format!("Namespace {}", text(&metadata.name)), &flaws);
        let labels = ingest.pools.pairs(metadata.labels.as_ref());
        let draft = Draft::new(&mut ingest.pools, &metadata, false, json, origin, labels);
        ingest.namespaces.push(draft);
    }
}

pub(super) enum PriorityClassObject {}

impl Object for PriorityClassObject {
    type Wire<'a> = wire::PriorityClass<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::PriorityClass<'_>,
        flaws: Flaws,
    ) {
        let metadata = object.metadata.unwrap_or_default();
        let class = Class {
            name: ingest.pools.sym_of(&metadata.name),
            value: object.value.map_or(0, wire::Int::narrow),
            default: object.global_default == Some(true),
            never_preempts: text(&object.preemption_policy) == "Never",
        };
        let draft = ingest.settle(origin, json, ("PriorityClass", false), &metadata, &flaws, class);
        ingest.priority_classes.push(draft);
    }
}

pub(super) enum ServiceObject {}

impl Object for ServiceObject {
    type Wire<'a> = wire::Service<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::Service<'_>,
        flaws: Flaws,
    ) {
        // Knative has services, too, and they are nothing of the kind.
        if !is_of_group(&object.api_version, "") {
            return;
        }
        let metadata = object.metadata.unwrap_or_default();
        let pools = &mut ingest.pools;
        let selector = object.spec.unwrap_or_default().selector;
        let service = Service {
            namespace: pools.sym(namespace_of(&metadata)),
            name: text(&metadata.name).into(),
            selector: selector.map(|selector| pools.pairs(Some(&selector))),
        };
        let draft = ingest.settle(origin, json, ("Service", true), &metadata, &flaws, service);
        ingest.services.push(draft);
    }
}
