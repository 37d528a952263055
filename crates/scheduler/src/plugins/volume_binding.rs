//! VolumeBinding: volumes that exist, fit or can be made (docs/spec/scheduler.md sections 8 and
//! 14.1).

use descheduler_cluster::affinity::NodeMatch;
use descheduler_cluster::labels::value_of;
use descheduler_cluster::{
    Claim, CsiStorageCapacity, LegacyVolume, NodeId, NodeSelector, NodeSelectorTerm,
    PersistentVolume, StorageClass, Sym,
};
use hashbrown::HashMap;

use super::node_resources_fit::on_line;
use super::{NodeFilter, NodeScore, Prepared, Rejection, Scores, Zero, never};
use crate::cycle::Cycle;
use crate::outcome::{Code, Why};
use crate::pod::PodRef;
use crate::profile::Plugin;

/// A class that makes no volumes.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// The claims of the pod, sorted by what they still need.
struct Claims<'s> {
    bound: Vec<&'s Claim>,
    /// To be bound when the node is known; the smallest first.
    delayed: Vec<&'s Claim>,
}

pub(super) fn prepare<'c, 's>(cycle: &'c Cycle<'c, 's>) -> Prepared<'c, 's> {
    if cycle.pod.claims.is_empty() && cycle.pod.ephemeral_claims.is_empty() {
        return Prepared::Skip;
    }
    match claims(cycle) {
        Ok(claims) => Prepared::filter(claims),
        Err(why) => Prepared::Reject(Code::UnschedulableAndUnresolvable, why),
    }
}

fn claims<'s>(cycle: &Cycle<'_, 's>) -> Result<Claims<'s>, Why> {
    let (snapshot, pod) = (cycle.snapshot(), cycle.pod);
    let mut all = Vec::new();
    let names = pod.claims.iter().map(|name| (name, false));
    for (name, ephemeral) in names.chain(pod.ephemeral_claims.iter().map(|name| (name, true))) {
        let claim = snapshot.claim(pod.namespace, name).ok_or(Why::ClaimUnknown)?;
        if claim.lost {
            return Err(Why::ClaimLost);
        }
        if claim.deleting {
            return Err(Why::ClaimDeleting);
        }
        if ephemeral && !is_for(cycle, claim, pod) {
            return Err(Why::ClaimUnknown);
        }
        all.push(claim);
    }
    let (bound, unbound): (Vec<_>, Vec<_>) = all.into_iter().partition(|claim| claim.bound);
    let is_delayed = |claim: &&Claim| {
        let class = snapshot.storage_class(claim.class);
        claim.volume == Sym::EMPTY && class.is_some_and(|class| class.delayed)
    };
    let (mut delayed, immediate): (Vec<_>, Vec<_>) = unbound.into_iter().partition(is_delayed);
    if !immediate.is_empty() {
        return Err(Why::ClaimUnbound);
    }
    delayed.sort_by_key(|claim| claim.requested);
    Ok(Claims { bound, delayed })
}

/// Whether a claim was made for this pod alone.
pub(super) fn is_for(cycle: &Cycle<'_, '_>, claim: &Claim, pod: &PodRef<'_>) -> bool {
    let uid = &cycle.snapshot().pod(pod.id).uid;
    let mut owners = claim.owners.iter();
    owners.any(|owner| owner.controller && *cycle.snapshot().text(owner.uid) == **uid)
}

/// What becomes of the delayed claims on one node.
struct Bindings<'s> {
    /// Volumes that are there for them.
    found: Vec<(&'s Claim, &'s PersistentVolume)>,
    /// Claims that a volume would be made for, with the room that there is where that is known.
    made: Vec<(&'s Claim, Option<&'s CsiStorageCapacity>)>,
}

impl<'s> NodeFilter<'s> for Claims<'s> {
    fn check(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        self.check_bound(cycle, node)?;
        self.bind(cycle, node).map(|_| ()).or_else(never)
    }
}

impl<'s> Claims<'s> {
    fn check_bound(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<(), Rejection> {
        for claim in &self.bound {
            let Some(volume) = cycle.snapshot().volume(claim.volume) else {
                return never(Why::VolumeUnknown);
            };
            let affinity = match migrated(cycle, volume, node) {
                Some(LegacyVolume { disk, affinity }) => {
                    if disk.handle.is_none() {
                        let name = cycle.snapshot().text(volume.name);
                        return Err(Rejection::Error(format!("could not translate pv `{name}`")));
                    }
                    affinity.as_ref()
                }
                None => volume.affinity.as_ref(),
            };
            if !reaches(cycle, affinity, node) {
                return never(Why::VolumeNodeAffinity);
            }
        }
        Ok(())
    }

    fn bind(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Result<Bindings<'s>, Why> {
        let snapshot = cycle.snapshot();
        let mut bindings = Bindings { found: Vec::new(), made: Vec::new() };
        let mut to_make = Vec::new();
        for &claim in &self.delayed {
            if let Some(selected) = claim.selected_node {
                if *snapshot.text(selected) != *snapshot.node(node).name {
                    return Err(Why::SelectedNode);
                }
                to_make.push(claim);
                continue;
            }
            let taken = |volume: &PersistentVolume| {
                bindings.found.iter().any(|(_, found)| found.name == volume.name)
            };
            match find(cycle, claim, node, taken) {
                Some(volume) => bindings.found.push((claim, volume)),
                None => to_make.push(claim),
            }
        }
        for claim in to_make {
            let class = snapshot.storage_class(claim.class).ok_or(Why::NoVolumeToBind)?;
            let provisioner = snapshot.text(class.provisioner);
            let makes = !provisioner.is_empty() && provisioner != NO_PROVISIONER;
            if !makes || !allows(cycle, class, node) {
                return Err(Why::NoVolumeToBind);
            }
            bindings.made.push((claim, room(cycle, claim, class, node)?));
        }
        Ok(bindings)
    }
}

/// The volume as another driver sees it, where the node says that this one took over.
fn migrated<'s>(
    cycle: &Cycle<'_, 's>,
    volume: &'s PersistentVolume,
    id: NodeId,
) -> Option<&'s LegacyVolume> {
    let snapshot = cycle.snapshot();
    let legacy = volume.legacy.as_ref()?;
    let csi_node = snapshot.csi_node(snapshot.sym(&snapshot.node(id).name))?;
    csi_node.migrated.contains(&legacy.disk.plugin).then_some(legacy)
}

/// Whether a volume with this node affinity can be used on a node. Only labels are compared, not
/// fields.
fn reaches(cycle: &Cycle<'_, '_>, affinity: Option<&NodeSelector>, id: NodeId) -> bool {
    let Some(affinity) = affinity else { return true };
    let node = cycle.snapshot().node(id);
    let strings = cycle.snapshot().strings();
    affinity.terms.iter().any(|term| match term {
        // Without labels to ask for, a term is about fields alone, and those are not looked at.
        NodeSelectorTerm::Valid { labels, .. } => labels.matches(&node.labels, strings),
        NodeSelectorTerm::Invalid(_) => term.matches(node, &node.labels, strings) == NodeMatch::Yes,
    })
}

/// The smallest volume that is there for the claim and can be used on the node.
fn find<'s>(
    cycle: &Cycle<'_, 's>,
    claim: &Claim,
    node: NodeId,
    taken: impl Fn(&PersistentVolume) -> bool,
) -> Option<&'s PersistentVolume> {
    let strings = cycle.snapshot().strings();
    let mut smallest: Option<&PersistentVolume> = None;
    for volume in cycle.snapshot().volumes() {
        let kept_for = volume.claim.as_ref().map(|kept| {
            kept.namespace == claim.namespace
                && kept.name == claim.name
                && (kept.uid.is_empty() || kept.uid == claim.uid)
        });
        if volume.class != claim.class
            || taken(volume)
            || kept_for == Some(false)
            || volume.capacity < claim.requested
            || volume.block != claim.block
            || volume.attributes_class != claim.attributes_class
            || volume.deleting
        {
            continue;
        }
        let within_reach = reaches(cycle, volume.affinity.as_ref(), node);
        if kept_for == Some(true) {
            return within_reach.then_some(volume);
        }
        let selected = claim.selector.as_ref();
        let fits = volume.available
            && selected.is_none_or(|selector| selector.matches(&volume.labels, strings))
            && within_reach
            && volume.access_modes.contains(claim.access_modes);
        if fits && smallest.is_none_or(|smallest| smallest.capacity > volume.capacity) {
            smallest = Some(volume);
        }
    }
    smallest
}

fn allows(cycle: &Cycle<'_, '_>, class: &StorageClass, node: NodeId) -> bool {
    let labels = &cycle.snapshot().node(node).labels;
    let mut terms = class.allowed_topologies.iter().filter(|term| !term.is_empty());
    class.allowed_topologies.is_empty()
        || terms.any(|term| {
            term.iter().all(|(key, values)| {
                value_of(labels, *key).is_some_and(|value| values.contains(&value))
            })
        })
}

/// Where the driver says how much room there is, an entry that has enough of it for the node.
fn room<'s>(
    cycle: &Cycle<'_, 's>,
    claim: &Claim,
    class: &StorageClass,
    node: NodeId,
) -> Result<Option<&'s CsiStorageCapacity>, Why> {
    let snapshot = cycle.snapshot();
    let driver = snapshot.csi_driver(class.provisioner);
    if !driver.is_some_and(|driver| driver.storage_capacity) {
        return Ok(None);
    }
    let labels = &snapshot.node(node).labels;
    let enough = |entry: &&CsiStorageCapacity| {
        let limit = entry.maximum_volume_size.or(entry.capacity);
        let topology = entry.topology.as_ref();
        limit.is_some_and(|limit| limit >= claim.requested)
            && topology.is_some_and(|topology| topology.matches(labels, snapshot.strings()))
    };
    let found = snapshot.storage_capacities(class.name).iter().find(enough);
    found.map(Some).ok_or(Why::NoStorageLeft)
}

/// How much of the room for its volumes the pod would take (1.37).
struct Capacity<'s>(Option<Claims<'s>>);

pub(super) fn scores<'c, 's>(cycle: &'c Cycle<'c, 's>, feasible: &[NodeId]) -> Scores<'c, 's> {
    let profile = cycle.profile;
    if !cycle.model.rules.capacity_scores {
        // Without its half that prepares, nobody says that there is nothing to do.
        return match profile.pre_score.contains(&Plugin::VolumeBinding) {
            true => Scores::Skip,
            false => Scores::by(Zero),
        };
    }
    // It is the filter that finds the volumes.
    if !profile.filter.contains(&Plugin::VolumeBinding) {
        return Scores::by(Zero);
    }
    let capacity = Capacity(claims(cycle).ok());
    // 1.37.2 crashes over an entry that says only how large a single volume may be.
    let crashes = |&node: &NodeId| {
        let Some(Bindings { found, made }) = capacity.bindings(cycle, node) else { return false };
        let bare = |room: &CsiStorageCapacity| room.capacity.is_none();
        found.is_empty() && made.iter().any(|(_, room)| room.is_some_and(bare))
    };
    if feasible.iter().any(crashes) {
        return Scores::Panic("a CSIStorageCapacity without `capacity`".to_owned());
    }
    Scores::by(capacity)
}

impl<'s> Capacity<'s> {
    fn bindings(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> Option<Bindings<'s>> {
        self.0.as_ref().and_then(|claims| claims.bind(cycle, node).ok())
    }
}

impl<'s> NodeScore<'s> for Capacity<'s> {
    fn raw(&self, cycle: &Cycle<'_, 's>, node: NodeId) -> i64 {
        let Some(Bindings { found, made }) = self.bindings(cycle, node) else { return 0 };
        // For each class what is asked for and what there is.
        let mut classes: HashMap<Sym, (i64, i64)> = HashMap::new();
        for (claim, volume) in &found {
            let class = classes.entry(claim.class).or_default();
            *class = (class.0 + claim.requested, class.1 + volume.capacity);
        }
        for (claim, room) in made.iter().filter(|_| found.is_empty()) {
            if let Some(room) = room {
                let class = classes.entry(claim.class).or_default();
                *class = (class.0 + claim.requested, room.capacity.unwrap_or(0));
            }
        }
        if classes.is_empty() {
            return 0;
        }
        let score = |&(asked, there): &(i64, i64)| {
            let use_ = if there == 0 || asked > there { 100 } else { asked * 100 / there };
            on_line(&cycle.profile.volume_shape, use_)
        };
        let sum: i64 = classes.values().map(score).sum();
        (sum as f64 / classes.len() as f64).round() as i64
    }
}
