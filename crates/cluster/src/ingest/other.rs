//! Kinds of which a name and a number or two are kept: Namespace, PersistentVolumeClaim,
//! PriorityClass.

use super::anomaly::{Flaws, Origin};
use super::pools::{Draft, namespace_of};
use super::{Ingest, Object};
use crate::intern::Sym;
use crate::volumes::{AccessModes, Claim};
use crate::wire::{self, text};

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

pub(super) enum ClaimObject {}

impl Object for ClaimObject {
    type Wire<'a> = wire::Claim<'a>;

    fn take(
        ingest: &mut Ingest,
        origin: Origin,
        json: &[u8],
        object: wire::Claim<'_>,
        flaws: Flaws,
    ) {
        let metadata = object.metadata.unwrap_or_default();
        ingest.saw(metadata.creation_timestamp);
        let name =
            format!("PersistentVolumeClaim {}/{}", namespace_of(&metadata), text(&metadata.name));
        ingest.complain_all(origin, &name, &flaws);
        // Half a claim would pass for one without a class.
        if !flaws.is_empty() {
            return;
        }
        let class = object.spec.unwrap_or_default().storage_class_name;
        let class = ingest.pools.sym_of(&class);
        let claim = Claim {
            namespace: ingest.pools.sym(namespace_of(&metadata)),
            name: text(&metadata.name).into(),
            uid: text(&metadata.uid).into(),
            owners: ingest.pools.share_owners(metadata.owner_references.as_ref()),
            class,
            spec_class: class,
            volume: Sym::EMPTY,
            bound: false,
            lost: false,
            deleting: false,
            requested: 0,
            access_modes: AccessModes::default(),
            selected_node: None,
            block: false,
            selector: None,
            attributes_class: Sym::EMPTY,
        };
        let draft = Draft::new(&mut ingest.pools, &metadata, true, json, origin, claim);
        ingest.claims.push(draft);
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
        ingest.saw(metadata.creation_timestamp);
        ingest.complain_all(origin, &format!("PriorityClass {}", text(&metadata.name)), &flaws);
        if !flaws.is_empty() {
            return;
        }
        let value = object.value.map_or(0, wire::Int::narrow);
        let draft = Draft::new(&mut ingest.pools, &metadata, false, json, origin, value);
        ingest.priority_classes.push(draft);
    }
}
