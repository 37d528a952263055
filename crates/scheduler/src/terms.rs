//! Terms of pod affinity and anti-affinity: whom they are about, and those of the pods that are
//! already there (docs/spec/scheduler.md section 6.1).

use std::cell::RefCell;

use descheduler_cluster::{GroupId, Labels, NodeId, PodAffinityTerm, PodSpec, Snapshot, Sym};
use hashbrown::HashMap;

use crate::topology::Topology;

/// Whether a term of a pod that is already there is about a pod. A namespace whose object is not
/// known has no labels.
pub(crate) fn is_about(
    snapshot: &Snapshot,
    (term, owner_namespace): (&PodAffinityTerm, Sym),
    (namespace, labels): (Sym, &Labels),
) -> bool {
    let strings = snapshot.strings();
    let own = term.namespaces.is_empty() && term.namespace_selector.is_none();
    let by_name =
        if own { namespace == owner_namespace } else { term.namespaces.contains(&namespace) };
    let by_labels = || {
        term.namespace_selector.as_ref().is_some_and(|selector| {
            selector.matches(snapshot.namespace_labels(namespace).unwrap_or(&[]), strings)
        })
    };
    (by_name || by_labels())
        && term.selector.as_ref().is_some_and(|selector| selector.matches(labels, strings))
}

/// The namespaces that a term of the pod to be placed is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Namespaces {
    All,
    /// Sorted.
    These(Vec<Sym>),
}

impl Namespaces {
    /// Resolves the names and the selector of a term. `loose`: a selector that would match a
    /// namespace without labels stands for all of them.
    pub(crate) fn of(snapshot: &Snapshot, term: &PodAffinityTerm, own: Sym, loose: bool) -> Self {
        let mut names = term.namespaces.to_vec();
        match &term.namespace_selector {
            None if names.is_empty() => names.push(own),
            None => {}
            Some(selector) => {
                let matches_nothing_said = selector.matches(&[], snapshot.strings());
                if selector.is_empty() || (loose && matches_nothing_said) {
                    return Self::All;
                }
                names.extend(snapshot.namespaces_matching(selector));
            }
        }
        names.sort_unstable();
        names.dedup();
        Self::These(names)
    }

    pub(crate) fn contains(&self, namespace: Sym) -> bool {
        match self {
            Self::All => true,
            Self::These(names) => names.binary_search(&namespace).is_ok(),
        }
    }

    /// The groups of pods in them that a selector matches, by id.
    pub(crate) fn groups(
        &self,
        snapshot: &Snapshot,
        selector: &descheduler_cluster::Selector,
    ) -> Vec<GroupId> {
        let every;
        let names = match self {
            Self::These(names) => names,
            Self::All => {
                every = snapshot.namespaces_matching(&descheduler_cluster::Selector::default());
                &every
            }
        };
        let groups = names.iter().flat_map(|&name| snapshot.groups_matching(name, selector));
        let mut groups: Vec<GroupId> = groups.collect();
        groups.sort_unstable();
        groups
    }
}

/// What a term of a pod that is there does to a new pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Effect {
    /// Required anti-affinity.
    KeepsAway,
    /// Required affinity, which draws a little in scoring.
    Attracts,
    /// Preferred affinity, or anti-affinity with a negative weight.
    Prefers(i32),
}

/// The terms of all pods on nodes, each distinct one once, with where its owners are.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExistingTerms<'s> {
    index: HashMap<(Effect, &'s PodAffinityTerm, Sym), usize>,
    terms: Vec<ExistingTerm<'s>>,
    /// Those that can only be about pods of the namespace of their owners, by that.
    within: HashMap<Sym, Vec<usize>>,
    /// All others.
    beyond: Vec<usize>,
    /// Those about the pods of a group, as far as was asked, and how many terms there were then.
    about: RefCell<HashMap<GroupId, (usize, Vec<usize>)>>,
}

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct ExistingTerm<'s> {
    pub(crate) effect: Effect,
    pub(crate) term: &'s PodAffinityTerm,
    /// The namespace of its owners.
    pub(crate) namespace: Sym,
    /// How many of its owners are in each domain of its topology key.
    pub(crate) owners: HashMap<usize, i64>,
}

impl<'s> ExistingTerms<'s> {
    /// Counts a pod in (`by` 1) or out (`by` -1) on a node.
    pub(crate) fn count(
        &mut self,
        topology: &Topology<'s>,
        (spec, namespace): (&'s PodSpec, Sym),
        node: NodeId,
        by: i64,
    ) {
        for (effect, term) in terms_of(spec) {
            let Some(domain) = topology.domains(term.topology_key).of(node) else { continue };
            let at = match self.index.get(&(effect, term, namespace)) {
                Some(&at) => at,
                None => self.add(ExistingTerm { effect, term, namespace, owners: HashMap::new() }),
            };
            *self.terms[at].owners.entry(domain).or_default() += by;
        }
    }

    fn add(&mut self, existing: ExistingTerm<'s>) -> usize {
        let at = self.terms.len();
        let ExistingTerm { effect, term, namespace, .. } = existing;
        self.index.insert((effect, term, namespace), at);
        match term.namespaces.is_empty() && term.namespace_selector.is_none() {
            true => self.within.entry(namespace).or_default().push(at),
            false => self.beyond.push(at),
        }
        self.terms.push(existing);
        at
    }

    /// Calls `found` with each one that is about a pod: its namespace, its labels, and the group
    /// of the snapshot that has both, if there is one.
    pub(crate) fn each_about(
        &self,
        snapshot: &Snapshot,
        (namespace, labels, group): (Sym, &Labels, Option<GroupId>),
        mut found: impl FnMut(&ExistingTerm<'s>),
    ) {
        let about = |at: usize| {
            let existing = &self.terms[at];
            is_about(snapshot, (existing.term, existing.namespace), (namespace, labels))
        };
        let within = self.within.get(&namespace).map_or(&[][..], |within| within);
        let since = |from: usize| {
            // Both lists are in the order in which terms were added.
            let new = |list: &[usize]| list.partition_point(|&at| at < from);
            let within = &within[new(within)..];
            within.iter().chain(&self.beyond[new(&self.beyond)..]).copied()
        };
        let Some(group) = group else {
            since(0).filter(|&at| about(at)).for_each(|at| found(&self.terms[at]));
            return;
        };
        let mut known = self.about.borrow_mut();
        let (seen, list) = known.entry(group).or_default();
        if *seen < self.terms.len() {
            list.extend(since(*seen).filter(|&at| about(at)));
            *seen = self.terms.len();
        }
        list.iter().for_each(|&at| found(&self.terms[at]));
    }
}

fn terms_of(spec: &PodSpec) -> impl Iterator<Item = (Effect, &PodAffinityTerm)> {
    let anti = spec.anti_affinity.iter().map(|term| (Effect::KeepsAway, term));
    let required = spec.affinity.iter().map(|term| (Effect::Attracts, term));
    let preferred = spec.preferred_pods.iter();
    let preferred = preferred.map(|preferred| (Effect::Prefers(preferred.weight), &preferred.term));
    anti.chain(required).chain(preferred)
}
