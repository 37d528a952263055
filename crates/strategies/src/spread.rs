//! Topology spread constraints of the pods of a cluster, each distinct one once, with the pods that
//! it counts (docs/spec/strategies.md section 12.3).
//!
//! ```text
//!  pods -> Rules: Rule { whom it counts, Layout: which node is in which domain }
//!            |
//!            +-> Tally: how many are in each domain of each rule, kept in step with a View
//!            +-> walk: upstream's way from too full domains to too empty ones
//! ```
//!
//! Who carries a constraint and whom it counts are different questions: a rule is made by the pods
//! that carry it and holds for all pods that its selector matches.

use std::rc::Rc;

use descheduler_cluster::{
    GroupId, Interner, NodeId, NodeSelector, Pod, PodId, PodSpec, Resources, Selector, Snapshot,
    SpreadConstraint, Sym, Toleration,
};
use descheduler_scheduler::PodRef;
use hashbrown::HashMap;

pub(crate) mod layout;
pub(crate) mod tally;
pub(crate) mod walk;

use crate::worked_on::WorkedOn;
use layout::{Layout, Layouts};

/// How constraints are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reading {
    /// As kube-scheduler reads hard constraints (docs/spec/scheduler.md section 5).
    Hard,
    /// What pods should not be too few of are the places that the pod could use if spreading did
    /// not exist.
    Soft,
    /// As upstream reads both kinds (docs/spec/strategies.md section 12.4).
    Upstream,
}

/// Which of the constraints count, and how they are read.
#[derive(Clone, Copy)]
pub(crate) struct Kinds {
    pub(crate) hard: bool,
    pub(crate) soft: bool,
    /// Read them as upstream does.
    pub(crate) upstream: bool,
}

/// A constraint with everything that decides what it means.
pub(crate) struct Rule<'s> {
    pub(crate) constraint: &'s SpreadConstraint,
    namespace: Sym,
    selector: Option<Selector>,
    /// The pods that it counts.
    pub(crate) groups: Vec<GroupId>,
    pub(crate) layout: Rc<Layout>,
    /// The least that a pod which carries it requests, by resource.
    pub(crate) least: Resources,
}

impl Rule<'_> {
    /// Whether it counts pods with such labels.
    fn selects(&self, pod: &PodRef<'_>, strings: &Interner) -> bool {
        let selector = self.selector.as_ref().filter(|_| pod.namespace == self.namespace);
        selector.is_some_and(|selector| selector.matches(pod.labels, strings))
    }
}

/// All rules of a cluster, in the order of the first pods that carry them.
pub(crate) struct Rules<'s> {
    pub(crate) all: Vec<Rule<'s>>,
}

/// `nodeSelector` and required node affinity of a pod.
type Affinity<'s> = (&'s [(Sym, Sym)], Option<&'s NodeSelector>);

/// Of which pods and constraints equal ones make one rule.
#[derive(PartialEq, Eq, Hash)]
struct Identity<'s> {
    namespace: Sym,
    reading: Reading,
    key: Sym,
    max_skew: i32,
    min_domains: Option<i32>,
    selector: Option<Selector>,
    layout: *const Layout,
    /// Upstream tells constraints apart by what their pods ask of nodes, even where the domains
    /// come out the same.
    affinity: Option<Affinity<'s>>,
    tolerations: Option<&'s [Toleration]>,
}

/// Pods whose constraints say the same: of one template and, where labels of the pod are part of a
/// constraint, with the same labels.
type Template = (*const PodSpec, Sym, Option<GroupId>);

impl<'s> Rules<'s> {
    /// The rules that the pods on `nodes` carry which `admits` admits.
    pub(crate) fn find(
        snapshot: &'s Snapshot,
        nodes: &[NodeId],
        kinds: Kinds,
        admits: impl Fn(PodId) -> bool,
    ) -> Self {
        let mut found = Finder {
            snapshot,
            kinds,
            layouts: Layouts::new(snapshot, nodes),
            index: HashMap::new(),
            templates: HashMap::new(),
            rules: Vec::new(),
        };
        let works_on = WorkedOn::new(snapshot, nodes);
        for &id in snapshot.pods() {
            let pod = snapshot.pod(id);
            let is_there = pod.node.is_some_and(|node| works_on.has(node));
            if !pod.spec.spread.is_empty() && is_there && counts(pod) && admits(id) {
                found.add(pod);
            }
        }
        Self { all: found.rules }
    }
}

/// Whether the scheduler counts a pod that is on a node.
pub(crate) fn counts(pod: &Pod) -> bool {
    pod.is_active() && !pod.terminating
}

struct Finder<'s> {
    snapshot: &'s Snapshot,
    kinds: Kinds,
    layouts: Layouts<'s>,
    index: HashMap<Identity<'s>, usize>,
    templates: HashMap<Template, Vec<usize>>,
    rules: Vec<Rule<'s>>,
}

impl<'s> Finder<'s> {
    fn add(&mut self, pod: &'s Pod) {
        let spec: &'s PodSpec = &pod.spec;
        let by_labels = spec.spread.iter().any(|one| !one.match_label_keys.is_empty());
        let template = (&raw const *spec, pod.namespace, by_labels.then_some(pod.group));
        if !self.templates.contains_key(&template) {
            let rules = spec.spread.iter().filter_map(|constraint| self.rule(pod, constraint));
            let rules = rules.collect();
            self.templates.insert(template, rules);
        }
        for &at in &self.templates[&template] {
            let least = &mut self.rules[at].least;
            let less =
                pod.requests.iter().filter(|&(resource, amount)| amount < least.get(resource));
            let less: Vec<_> = less.collect();
            let absent =
                least.iter().filter(|&(resource, _)| pod.requests.find(resource).is_none());
            let absent: Vec<_> = absent.map(|(resource, _)| (resource, 0)).collect();
            for (resource, amount) in less.into_iter().chain(absent) {
                least.set(resource, amount);
            }
        }
    }

    /// The number of the rule that a constraint of a pod is, unless its kind does not count.
    fn rule(&mut self, pod: &'s Pod, constraint: &'s SpreadConstraint) -> Option<usize> {
        let Kinds { hard, soft, upstream } = self.kinds;
        if !(if constraint.hard { hard } else { soft }) {
            return None;
        }
        let reading = match (upstream, constraint.hard) {
            (true, _) => Reading::Upstream,
            (false, true) => Reading::Hard,
            (false, false) => Reading::Soft,
        };
        let labels = &self.snapshot.group(pod.group).labels;
        let selector = constraint.selector_of(labels);
        let layout = self.layouts.of(&pod.spec, constraint, reading);
        let spec = &pod.spec;
        let identity = Identity {
            namespace: pod.namespace,
            reading,
            key: constraint.topology_key,
            max_skew: constraint.max_skew,
            min_domains: constraint.min_domains.filter(|_| reading == Reading::Hard),
            selector,
            layout: Rc::as_ptr(&layout),
            affinity: (upstream && constraint.honor_affinity)
                .then_some((&*spec.node_selector, spec.required_nodes.as_ref())),
            tolerations: (upstream && constraint.honor_taints).then_some(&*spec.tolerations),
        };
        let Self { snapshot, index, rules, .. } = self;
        if let Some(&at) = index.get(&identity) {
            return Some(at);
        }
        let groups = match &identity.selector {
            Some(selector) => snapshot.groups_matching(pod.namespace, selector),
            None => Vec::new(),
        };
        let (namespace, selector) = (identity.namespace, identity.selector.clone());
        let least = (*pod.requests).clone();
        rules.push(Rule { constraint, namespace, selector, groups, layout, least });
        index.insert(identity, rules.len() - 1);
        Some(rules.len() - 1)
    }
}
