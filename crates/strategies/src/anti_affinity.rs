//! Whom a pod's required anti-affinity is about.

use std::rc::Rc;

use descheduler_cluster::{GroupId, PodAffinityTerm, Snapshot, Sym};
use hashbrown::HashMap;

/// The pods that a term keeps away, as groups in a fixed order: those in the namespaces that it
/// names or whose labels it selects, or in the pod's own namespace if it does neither, that match
/// its selector. No selector matches none (docs/spec/strategies.md section 3.12).
pub(crate) fn kept_away(
    snapshot: &Snapshot,
    term: &PodAffinityTerm,
    own_namespace: Sym,
) -> Vec<GroupId> {
    let Some(selector) = &term.selector else { return Vec::new() };
    let mut namespaces = term.namespaces.to_vec();
    if let Some(by_labels) = &term.namespace_selector {
        namespaces.extend(snapshot.namespaces_matching(by_labels));
    } else if namespaces.is_empty() {
        namespaces.push(own_namespace);
    }
    namespaces.sort_unstable_by_key(|&namespace| snapshot.text(namespace));
    namespaces.dedup();
    namespaces
        .into_iter()
        .flat_map(|namespace| snapshot.groups_matching(namespace, selector))
        .collect()
}

/// The same, worked out once for each term and namespace.
pub(crate) struct KeptAway<'s> {
    snapshot: &'s Snapshot,
    known: HashMap<(&'s PodAffinityTerm, Sym), Rc<[GroupId]>>,
}

impl<'s> KeptAway<'s> {
    pub(crate) fn new(snapshot: &'s Snapshot) -> Self {
        Self { snapshot, known: HashMap::new() }
    }

    /// See [`kept_away`]; the groups are sorted by id, for lookups.
    pub(crate) fn of(&mut self, term: &'s PodAffinityTerm, own_namespace: Sym) -> Rc<[GroupId]> {
        let snapshot = self.snapshot;
        let groups = self.known.entry((term, own_namespace)).or_insert_with(|| {
            let mut groups = kept_away(snapshot, term, own_namespace);
            groups.sort_unstable();
            groups.into()
        });
        Rc::clone(groups)
    }
}
