//! kube-scheduler as a function of a snapshot.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::rc::Rc;

use descheduler_cluster::{GroupId, NodeId, PodAffinityTerm, PodId, PodSpec, Snapshot, Sym};
use hashbrown::HashMap;

use crate::contest;
use crate::cycle;
use crate::field::{self, Order};
use crate::known::OfNodes;
use crate::occupancy::Occupancy;
use crate::outcome::Placement;
use crate::pod::PodRef;
use crate::profile::Profile;
use crate::reach::Reach;
use crate::replacement::{self, Nothing, Replacement};
use crate::search::Winners;
use crate::terms::Namespaces;
use crate::topology::Topology;
use crate::version::{Rules, Version};

/// The scheduler of one cluster: its version, its profiles, and what can be worked out once for
/// all pods.
pub struct Model<'s> {
    snapshot: &'s Snapshot,
    pub(crate) rules: Rules,
    profiles: Vec<Profile>,
    fallback: Profile,
    /// For each image the size it was first seen with, and which nodes have it.
    images: HashMap<Sym, ImageState>,
    pub(crate) topology: Rc<Topology<'s>>,
    pub(crate) known: OfNodes<'s>,
    about: RefCell<HashMap<(&'s PodAffinityTerm, Sym), Rc<About>>>,
    /// The pods that preemption has promised a node to.
    pub(crate) nominated: Vec<(NodeId, PodId)>,
    /// The order in which nodes are searched.
    pub(crate) order: Order,
    /// How many pods each owner has.
    replicas: HashMap<Sym, i64>,
}

/// Which kube-scheduler places the pods.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// Its version.
    pub version: Version,
    /// Its profiles.
    pub profiles: Vec<Profile>,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self { version: Version::DEFAULT, profiles: vec![Profile::default()] }
    }
}

/// Where an image is.
#[derive(Clone, Debug)]
pub(crate) struct ImageState {
    pub(crate) size: i64,
    pub(crate) nodes: Vec<NodeId>,
}

/// Whom a term of the pod to be placed is about.
#[derive(Debug)]
pub(crate) struct About {
    pub(crate) namespaces: Namespaces,
    /// By id.
    pub(crate) groups: Vec<GroupId>,
}

impl<'s> Model<'s> {
    /// A scheduler for the pods of a snapshot.
    pub fn new(snapshot: &'s Snapshot, scheduler: &Scheduler) -> Self {
        let Scheduler { version, profiles } = scheduler.clone();
        let mut images: HashMap<Sym, ImageState> = HashMap::new();
        for &node in snapshot.nodes() {
            for &(image, size) in &snapshot.node(node).images {
                images
                    .entry(image)
                    .or_insert(ImageState { size, nodes: Vec::new() })
                    .nodes
                    .push(node);
            }
        }
        Self {
            snapshot,
            rules: version.rules(),
            profiles,
            fallback: Profile::default(),
            images,
            topology: Rc::new(Topology::new(snapshot)),
            known: OfNodes::default(),
            about: RefCell::default(),
            nominated: cycle::nominated(snapshot),
            order: field::order(snapshot),
            replicas: replacement::replicas(snapshot),
        }
    }

    /// The snapshot underneath.
    pub fn snapshot(&self) -> &'s Snapshot {
        self.snapshot
    }

    /// The pods on their nodes, to place others among.
    pub fn occupancy(&self) -> Occupancy<'s> {
        Occupancy::new(self.snapshot, Rc::clone(&self.topology), self.rules.resize)
    }

    /// Which nodes a pod selects and which taints it tolerates.
    pub(crate) fn reach(&self, spec: &'s PodSpec) -> Rc<Reach> {
        self.known.reach(self.snapshot, spec)
    }

    /// The number of a profile, if it is one of this model's.
    pub(crate) fn number_of(&self, profile: &Profile) -> Option<usize> {
        if std::ptr::eq(profile, &self.fallback) {
            return Some(self.profiles.len());
        }
        self.profiles.iter().position(|own| std::ptr::eq(own, profile))
    }

    /// What is taken for the profile of a pod that some other scheduler serves.
    pub fn fallback(&self) -> &Profile {
        &self.fallback
    }

    /// The profile that serves a pod, if this scheduler does at all.
    pub fn profile_of(&self, pod: &PodRef<'_>) -> Option<&Profile> {
        let name = self.snapshot.text(pod.spec.scheduler_name);
        self.profiles.iter().find(|profile| profile.scheduler_name == name)
    }

    /// Where a pod could be placed. `detail`: keep each plugin's score.
    ///
    /// Occupancy is changed only for the time of the call.
    pub fn place(
        &self,
        profile: &Profile,
        occupancy: &mut Occupancy<'s>,
        pod: &PodRef<'s>,
        detail: bool,
    ) -> Placement {
        cycle::run(self, profile, occupancy, pod, detail)
    }

    /// Where a pod could be placed by the scheduler that it names, and the nodes that could win. How
    /// a scheduler that is not known scores is not known either: with it any feasible node may win.
    /// `detail`: as for [`Model::place`].
    ///
    /// Occupancy is changed only for the time of the call.
    pub fn decide(
        &self,
        occupancy: &mut Occupancy<'s>,
        pod: &PodRef<'s>,
        detail: bool,
    ) -> (Placement, Winners) {
        let known = self.profile_of(pod);
        let placement = self.place(known.unwrap_or(&self.fallback), occupancy, pod, detail);
        let winners = match known {
            Some(profile) => self.winners(profile, &placement),
            None => Winners::any(&placement),
        };
        (placement, winners)
    }

    /// The nodes that could win, as [`Model::decide`] finds them, for whoever needs no reasons
    /// against the others: many times as fast.
    ///
    /// # Errors
    /// No node could. Then the placement says why.
    pub fn winners_for(
        &self,
        occupancy: &mut Occupancy<'s>,
        pod: &PodRef<'s>,
    ) -> Result<Winners, Box<Placement>> {
        if let Some(profile) = self.profile_of(pod)
            && let Some(winners) = contest::winners(self, profile, occupancy, pod)
        {
            return Ok(winners);
        }
        let (placement, winners) = self.decide(occupancy, pod, false);
        if winners.nodes.is_empty() { Err(Box::new(placement)) } else { Ok(winners) }
    }

    /// Those of some nodes that filters keep a pod off. Nothing that is remembered of earlier pods
    /// is used, so this can check what [`Model::place`] says.
    ///
    /// Occupancy is changed only for the time of the call.
    pub fn refused(
        &self,
        profile: &Profile,
        occupancy: &mut Occupancy<'s>,
        pod: &PodRef<'s>,
        nodes: &[NodeId],
    ) -> Vec<NodeId> {
        cycle::refused(self, profile, occupancy, pod, nodes)
    }

    /// Gives the pods that wait for a node their best places, by priority and then by age. They
    /// come before whatever a plan sends to the scheduler.
    pub fn place_pending(&self, occupancy: &mut Occupancy<'s>) {
        let snapshot = self.snapshot;
        let waits = |id: &PodId| {
            let pod = snapshot.pod(*id);
            !pod.spec.gated && !pod.terminating && pod.node_name.is_none()
        };
        let mut pending: Vec<PodId> = snapshot.pending().iter().copied().filter(waits).collect();
        pending.sort_by_key(|&id| {
            let pod = snapshot.pod(id);
            (Reverse(pod.spec.priority.unwrap_or(0)), pod.created)
        });
        for id in pending {
            let pod = PodRef::of(snapshot, id);
            if self.profile_of(&pod).is_some()
                && let Ok(winners) = self.winners_for(occupancy, &pod)
                && let Some(&node) = winners.nodes.first()
            {
                occupancy.place(pod, node);
            }
        }
    }

    /// The nodes that could win a placement.
    pub fn winners(&self, profile: &Profile, placement: &Placement) -> Winners {
        Winners::of(profile, placement, &self.order, self.snapshot)
    }

    /// The pod that comes back when one is evicted.
    ///
    /// # Errors
    /// Nothing comes back.
    pub fn replacement(&self, pod: PodId) -> Result<Replacement<'s>, Nothing> {
        replacement::replacement(self.snapshot, &self.replicas, pod)
    }

    pub(crate) fn image(&self, image: Sym) -> Option<&ImageState> {
        self.images.get(&image)
    }

    /// Whom a term of a pod in `own` that is to be placed is about.
    pub(crate) fn about(&self, term: &'s PodAffinityTerm, own: Sym) -> Rc<About> {
        let mut known = self.about.borrow_mut();
        let about = known.entry((term, own)).or_insert_with(|| {
            let loose = self.rules.loose_namespace_selectors;
            let namespaces = Namespaces::of(self.snapshot, term, own, loose);
            let groups = match &term.selector {
                Some(selector) => namespaces.groups(self.snapshot, selector),
                None => Vec::new(),
            };
            Rc::new(About { namespaces, groups })
        });
        Rc::clone(about)
    }
}
