//! Upstream's NodeFit: whether a pod could run on some node (docs/spec/strategies.md sections 3.11
//! and 3.12). It knows less than kube-scheduler does, and is used where upstream uses it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use descheduler_cluster::labels::value_of;
use descheduler_cluster::{GroupId, NodeId, Pod, PodId, ResourceId, Snapshot, Sym};
use descheduler_scheduler::View;
use hashbrown::HashMap;

use crate::anti_affinity::KeptAway;
use crate::reach::{Reach, Reachable};

/// Answers for one snapshot and a list of nodes.
pub(crate) struct UpstreamFit<'s> {
    snapshot: &'s Snapshot,
    reach: Reach<'s>,
    kept_away: RefCell<KeptAway<'s>>,
    /// By what pods have in common that fit the same nodes.
    classes: RefCell<HashMap<Class, Known>>,
}

/// Pods with the same spec, requests, namespace and labels: shared values, told apart by address.
type Class = (usize, usize, GroupId);

/// What is remembered of a class.
struct Known {
    reachable: Rc<Reachable>,
    /// A node where the class fitted last, to be tried first.
    last: Option<NodeId>,
    /// Nodes where it does not fit as long as nothing else leaves.
    barren: Option<Barren>,
}

/// All reachable nodes were found full, save those in `unknown`. Only what leaves can change that.
struct Barren {
    unknown: Vec<NodeId>,
    /// How much of `View::removed` is taken into account.
    seen: usize,
    /// `View::undone` at that time.
    undone: usize,
    /// Why not, in words.
    why: Rc<str>,
}

/// Why a reachable node does not do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Unfit {
    AntiAffinity,
    Lacks(ResourceId),
}

impl<'s> UpstreamFit<'s> {
    pub(crate) fn new(snapshot: &'s Snapshot, nodes: &[NodeId]) -> Self {
        Self {
            snapshot,
            reach: Reach::new(snapshot, nodes),
            kept_away: RefCell::new(KeptAway::new(snapshot)),
            classes: RefCell::default(),
        }
    }

    /// Whether the pod fits on any node other than its own. `Err` says why not, in words.
    pub(crate) fn elsewhere(&self, view: &View<'s>, id: PodId) -> Result<(), Rc<str>> {
        let pod = self.snapshot.pod(id);
        let class = class(pod);
        let mut classes = self.classes.borrow_mut();
        let known = classes.entry(class).or_insert_with(|| Known {
            reachable: self.reach.of(&pod.spec),
            last: None,
            barren: None,
        });
        let candidate = Candidate::new(self, view, id);
        let fits = |node: NodeId| Some(node) != pod.node && candidate.unfit(node).is_none();
        if let Some(barren) = &mut known.barren {
            // Names of pods matter for anti-affinity, so such a class is never all the same.
            if candidate.terms.is_empty() && barren.undone == view.undone() {
                let removed = view.removed()[barren.seen..].iter();
                let freed = removed.filter_map(|&gone| self.snapshot.pod(gone).node);
                barren.unknown.extend(freed.filter(|&node| known.reachable.contains(node)));
                barren.seen = view.removed().len();
                barren.unknown.sort_unstable();
                barren.unknown.dedup();
                let Some(&found) = barren.unknown.iter().find(|&&node| fits(node)) else {
                    barren.unknown.retain(|&node| Some(node) == pod.node);
                    return Err(Rc::clone(&barren.why));
                };
                known.last = Some(found);
                return Ok(());
            }
        }
        if known.last.is_some_and(fits) {
            return Ok(());
        }
        known.last = known.reachable.find(fits);
        if known.last.is_some() {
            known.barren = None;
            return Ok(());
        }
        let why: Rc<str> = self.why_nowhere(&known.reachable, &candidate).into();
        known.barren = Some(Barren {
            unknown: pod.node.filter(|&node| known.reachable.contains(node)).into_iter().collect(),
            seen: view.removed().len(),
            undone: view.undone(),
            why: Rc::clone(&why),
        });
        Err(why)
    }

    /// Whether the pod fits on any node other than its own to which `allowed` says yes.
    pub(crate) fn elsewhere_among(
        &self,
        view: &View<'s>,
        id: PodId,
        allowed: &dyn Fn(NodeId) -> bool,
    ) -> bool {
        let pod = self.snapshot.pod(id);
        let candidate = Candidate::new(self, view, id);
        let fits = |node: NodeId| {
            Some(node) != pod.node && allowed(node) && candidate.unfit(node).is_none()
        };
        self.reach.of(&pod.spec).find(fits).is_some()
    }

    /// Whether the pod fits on any node, its own included, where it takes no room.
    pub(crate) fn anywhere(&self, view: &View<'s>, id: PodId) -> Result<(), Rc<str>> {
        let pod = self.snapshot.pod(id);
        let own = pod.node.filter(|&node| self.reach.of(&pod.spec).contains(node));
        match own.map(|node| Candidate::new(self, view, id).repelled(node)) {
            Some(false) => Ok(()),
            Some(true) | None => self.elsewhere(view, id),
        }
    }

    fn why_nowhere(&self, reachable: &Reachable, candidate: &Candidate<'_, 's>) -> String {
        let pod = self.snapshot.pod(candidate.id);
        let mut full: BTreeMap<Unfit, usize> = BTreeMap::new();
        let others = reachable.nodes.iter().filter(|&&node| Some(node) != pod.node);
        for unfit in others.filter_map(|&node| candidate.unfit(node)) {
            *full.entry(unfit).or_default() += 1;
        }
        let mut reasons: Vec<(usize, String)> = [
            (reachable.cordoned, "cordoned"),
            (reachable.mismatched, "not selected by its node affinity"),
            (reachable.tainted, "tainted"),
        ]
        .map(|(count, what)| (count, what.to_owned()))
        .into();
        reasons.extend(full.into_iter().map(|(unfit, count)| match unfit {
            Unfit::AntiAffinity => (count, "taken by pods it has anti-affinity to".to_owned()),
            Unfit::Lacks(resource) => {
                (count, format!("without enough {}", self.snapshot.resource_name(resource)))
            }
        }));
        reasons.retain(|(count, _)| *count > 0);
        reasons.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        match reasons.is_empty() {
            true => "there is no other node".to_owned(),
            false => {
                let reasons: Vec<String> =
                    reasons.iter().map(|(count, what)| format!("{count} {what}")).collect();
                let nodes = reachable.looked_at();
                format!("no other node fits; of {nodes}: {}", reasons.join(", "))
            }
        }
    }
}

fn class(pod: &Pod) -> Class {
    (&raw const *pod.spec as usize, &raw const *pod.requests as usize, pod.group)
}

/// A pod that looks for a node.
struct Candidate<'v, 's> {
    view: &'v View<'s>,
    id: PodId,
    /// Its required anti-affinity: whom each term keeps away, and within which label of nodes.
    terms: Vec<(Rc<[GroupId]>, Sym)>,
}

impl<'v, 's> Candidate<'v, 's> {
    fn new(fit: &UpstreamFit<'s>, view: &'v View<'s>, id: PodId) -> Self {
        let pod = fit.snapshot.pod(id);
        let mut kept_away = fit.kept_away.borrow_mut();
        let terms = pod.spec.anti_affinity.iter();
        let terms = terms.map(|term| (kept_away.of(term, pod.namespace), term.topology_key));
        Self { view, id, terms: terms.collect() }
    }

    fn unfit(&self, node: NodeId) -> Option<Unfit> {
        if self.repelled(node) {
            return Some(Unfit::AntiAffinity);
        }
        self.lacking(node).map(Unfit::Lacks)
    }

    /// Whether one of its anti-affinity terms is about an active pod on the node. Upstream compares
    /// names alone, so a pod of the same name in another namespace is taken for the pod itself.
    fn repelled(&self, node: NodeId) -> bool {
        let snapshot = self.view.snapshot();
        let labels = &snapshot.node(node).labels;
        let has_domain = |key: Sym| value_of(labels, key).is_some();
        let terms: Vec<_> = self.terms.iter().filter(|(_, key)| has_domain(*key)).collect();
        if terms.is_empty() {
            return false;
        }
        let name = &snapshot.pod(self.id).name;
        self.view.active_pods_on(node).any(|other| {
            let other = snapshot.pod(other);
            other.name != *name
                && terms.iter().any(|(groups, _)| groups.binary_search(&other.group).is_ok())
        })
    }

    /// The first resource that the node has too little of for the pod.
    fn lacking(&self, node: NodeId) -> Option<ResourceId> {
        let snapshot = self.view.snapshot();
        let allocatable = &snapshot.node(node).allocatable;
        let used = self.view.requested(node);
        if allocatable.get(ResourceId::PODS) <= used.get(ResourceId::PODS) {
            return Some(ResourceId::PODS);
        }
        let free = |resource: ResourceId| match allocatable.find(resource) {
            Some(amount) => amount.saturating_sub(used.get(resource)),
            None if matches!(resource, ResourceId::CPU | ResourceId::MEMORY) => {
                used.get(resource).saturating_neg()
            }
            None => 0,
        };
        let mut wanted = snapshot.pod(self.id).requests.iter();
        wanted.find(|&(resource, amount)| amount > free(resource)).map(|(resource, _)| resource)
    }
}
