//! Volumes of drivers that were part of Kubernetes, as the drivers that took over name them
//! (docs/spec/scheduler.md section 8).

use super::pools::Pools;
use super::selectors::node_selector;
use crate::volumes::{LegacyVolume, MigratedDisk, successor};
use crate::wire::{self, Disk, Expression, NodeSelector, NodeSelectorTerm, Strings, Text, text};

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";

/// What stands between the zones of a label that names several.
const BETWEEN_ZONES: &str = "__";

const AWS: &str = "kubernetes.io/aws-ebs";
const GCE: &str = "kubernetes.io/gce-pd";
const AZURE: &str = "kubernetes.io/azure-disk";
const CINDER: &str = "kubernetes.io/cinder";
const PORTWORX: &str = "kubernetes.io/portworx-volume";

/// The volume of a driver that was part of Kubernetes.
pub(super) fn of_volume<'a>(
    pools: &mut Pools,
    spec: &wire::VolumeSpec<'a>,
    labels: Option<&Strings<'a>>,
) -> Option<LegacyVolume> {
    let sources = [
        (AWS, &spec.aws_elastic_block_store),
        (GCE, &spec.gce_persistent_disk),
        (AZURE, &spec.azure_disk),
        (CINDER, &spec.cinder),
        (PORTWORX, &spec.portworx_volume),
    ];
    let (plugin, disk) =
        sources.into_iter().find_map(|(plugin, disk)| Some((plugin, disk.as_ref()?)))?;
    let zones = label(labels, BETA_ZONE).filter(|zones| !zones.is_empty());
    let zones = zones.or_else(|| label(labels, ZONE)).unwrap_or_default();
    let affinity = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    let own;
    let affinity = match topology_key(plugin) {
        Some(key) => {
            own = translated(affinity, labels, key);
            own.as_ref()
        }
        None => affinity,
    };
    Some(LegacyVolume {
        disk: migrated(pools, plugin, disk, zones)?,
        affinity: affinity.map(|affinity| node_selector(pools, affinity)),
    })
}

/// The volume that a pod names itself, by such a driver.
pub(super) fn of_pod(pools: &mut Pools, volume: &wire::Volume<'_>) -> Option<MigratedDisk> {
    let sources = [
        (AWS, &volume.aws_elastic_block_store),
        (GCE, &volume.gce_persistent_disk),
        (AZURE, &volume.azure_disk),
        (CINDER, &volume.cinder),
        (PORTWORX, &volume.portworx_volume),
    ];
    let mut sources = sources.into_iter();
    let (plugin, disk) = sources.find_map(|(plugin, disk)| Some((plugin, disk.as_ref()?)))?;
    migrated(pools, plugin, disk, "")
}

fn migrated(pools: &mut Pools, plugin: &str, disk: &Disk<'_>, zones: &str) -> Option<MigratedDisk> {
    Some(MigratedDisk {
        plugin: pools.sym(plugin),
        driver: pools.sym(successor(plugin)?),
        handle: handle(plugin, disk, zones).map(|handle| pools.sym(&handle)),
    })
}

/// What the new driver calls the disk; `None` when it has no name for it.
fn handle(plugin: &str, disk: &Disk<'_>, zones: &str) -> Option<String> {
    let id = text(&disk.id);
    match plugin {
        AWS => match id.strip_prefix("aws://") {
            None => Some(id.to_owned()),
            Some(rest) => {
                let path = rest.find('/').map_or("", |at| &rest[at..]).trim_matches('/');
                (path.starts_with("vol-") && !path.contains('/')).then(|| path.to_owned())
            }
        },
        GCE => {
            let (kind, place) = match *zones.split(BETWEEN_ZONES).collect::<Vec<_>>() {
                [""] => ("zones", "UNSPECIFIED".to_owned()),
                [zone] => ("zones", zone.to_owned()),
                ref zones => ("regions", region_of(zones)?),
            };
            Some(format!("projects/UNSPECIFIED/{kind}/{place}/disks/{id}"))
        }
        // Disks that are files in a storage account have no successor.
        AZURE => {
            let managed = matches!(text(&disk.kind), kind if kind.is_empty() || kind.eq_ignore_ascii_case("Managed"));
            managed.then(|| id.to_owned())
        }
        _ => Some(id.to_owned()),
    }
}

/// `a-b` of zones that are called `a-b-c`.
fn region_of(zones: &[&str]) -> Option<String> {
    let region = |zone: &&str| match *zone.split('-').collect::<Vec<_>>() {
        [continent, region, _] => Some(format!("{continent}-{region}")),
        _ => None,
    };
    let first = region(zones.first()?)?;
    zones.iter().all(|zone| region(zone).as_ref() == Some(&first)).then_some(first)
}

/// The label by which nodes say to the new driver in which zone they are.
fn topology_key(plugin: &str) -> Option<&'static str> {
    match plugin {
        AWS => Some("topology.ebs.csi.aws.com/zone"),
        GCE => Some("topology.gke.io/zone"),
        CINDER => Some("topology.cinder.csi.openstack.org/zone"),
        _ => None,
    }
}

/// The node affinity of a volume in the words of the new driver: its zones stand under another
/// key, and come from the labels where the affinity names none.
fn translated<'a>(
    affinity: Option<&NodeSelector<'a>>,
    labels: Option<&Strings<'a>>,
    key: &'static str,
) -> Option<NodeSelector<'a>> {
    let names = |key: &str| {
        let mut expressions = affinity.into_iter().flat_map(expressions);
        expressions.any(|one| text(&one.key) == key)
    };
    let is_beta = !names(ZONE)
        && (names(BETA_ZONE)
            || (label(labels, ZONE).is_none() && label(labels, BETA_ZONE).is_some()));
    let (zone, region) = if is_beta { (BETA_ZONE, BETA_REGION) } else { (ZONE, REGION) };
    let mut own = affinity.cloned();
    if !rename(&mut own, zone, key) {
        let zones = label(labels, zone).unwrap_or_default();
        let mut zones: Vec<&str> = zones.split(BETWEEN_ZONES).map(str::trim).collect();
        zones.retain(|zone| !zone.is_empty());
        if !zones.is_empty() {
            add(own.get_or_insert_default(), key, &zones);
        }
    }
    if is_beta {
        rename(&mut own, region, REGION);
    }
    own
}

fn label<'l>(labels: Option<&'l Strings<'_>>, key: &str) -> Option<&'l str> {
    // Of a key given twice the last one counts.
    let mut labels = labels?.0.iter().rev();
    labels.find(|(name, _)| **name == *key).map(|(_, value)| &**value)
}

fn expressions<'s, 'a>(
    selector: &'s NodeSelector<'a>,
) -> impl Iterator<Item = &'s Expression<'a>> + use<'s, 'a> {
    let terms = selector.node_selector_terms.iter().flatten();
    terms.flat_map(|term| term.match_expressions.iter().flatten())
}

/// Puts conditions on one label under another key; `false` when they name no value at all.
fn rename(selector: &mut Option<NodeSelector<'_>>, from: &str, to: &'static str) -> bool {
    let Some(selector) = selector else { return false };
    let has_values = |one: &Expression<'_>| {
        text(&one.key) == from && one.values.as_ref().is_some_and(|values| !values.is_empty())
    };
    if !expressions(selector).any(has_values) {
        return false;
    }
    let terms = selector.node_selector_terms.iter_mut().flatten();
    for one in terms.flat_map(|term| term.match_expressions.iter_mut().flatten()) {
        if text(&one.key) == from {
            one.key = Some(Text(to.into()));
        }
    }
    true
}

/// Adds a condition to every term, and makes a first one if there is none.
fn add(selector: &mut NodeSelector<'_>, key: &'static str, values: &[&str]) {
    let terms = selector.node_selector_terms.get_or_insert_default();
    if terms.is_empty() {
        terms.push(NodeSelectorTerm::default());
    }
    for term in terms {
        term.match_expressions.get_or_insert_default().push(Expression {
            key: Some(Text(key.into())),
            operator: Some(Text("In".into())),
            values: Some(values.iter().map(|value| Text((*value).to_owned().into())).collect()),
        });
    }
}
