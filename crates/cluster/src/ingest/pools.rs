//! What objects share: strings, resource names, specs, owners, requests, groups of labels.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet, HashTable};
use rustc_hash::FxBuildHasher;

use super::anomaly::Flaws;
use super::pod::PodDraft;
use crate::intern::{Interner, Sym};
use crate::labels::Labels;
use crate::pod::Owner;
use crate::requests::Totals;
use crate::resources::{ResourceId, Resources};
use crate::snapshot::{Group, GroupId};
use crate::spec::PodSpec;
use crate::wire::{self, Amounts, Metadata, Strings, Text, text};

/// So many groups without pods are not worth tidying up.
const GROUPS_LOOSE_MAX: usize = 1024;

/// Everything that is stored once and referred to.
#[derive(Clone, Debug)]
pub(super) struct Pools {
    pub(super) strings: Interner,
    pub(super) resources: Vec<Box<str>>,
    resource_ids: HashMap<Box<str>, ResourceId, FxBuildHasher>,
    specs: HashSet<Arc<PodSpec>, FxBuildHasher>,
    owners: HashSet<Arc<[Owner]>, FxBuildHasher>,
    requests: HashSet<Arc<Resources>, FxBuildHasher>,
    pub(super) groups: Vec<Group>,
    group_ids: HashTable<u32>,
}

impl Default for Pools {
    fn default() -> Self {
        let mut pools = Self {
            strings: Interner::default(),
            resources: Vec::new(),
            resource_ids: HashMap::default(),
            specs: HashSet::default(),
            owners: HashSet::default(),
            requests: HashSet::default(),
            groups: Vec::new(),
            group_ids: HashTable::new(),
        };
        for name in ResourceId::FIXED {
            pools.resource(name);
        }
        pools
    }
}

impl Pools {
    pub(super) fn sym(&mut self, text: &str) -> Sym {
        self.strings.intern(text)
    }

    pub(super) fn sym_of(&mut self, text: &Option<Text<'_>>) -> Sym {
        text.as_deref().map_or(Sym::EMPTY, |text| self.strings.intern(text))
    }

    /// The symbol of a name; `None` for one that is absent or empty.
    pub(super) fn name_of(&mut self, name: &Option<Text<'_>>) -> Option<Sym> {
        name.as_deref().filter(|name| !name.is_empty()).map(|name| self.strings.intern(name))
    }

    pub(super) fn syms(&mut self, texts: Option<&Vec<Text<'_>>>) -> Box<[Sym]> {
        texts.into_iter().flatten().map(|text| self.strings.intern(text)).collect()
    }

    /// The id of a resource name. Names beyond 65 thousand share [`ResourceId::UNKNOWN`].
    fn resource(&mut self, name: &str) -> ResourceId {
        if let Some(&id) = self.resource_ids.get(name) {
            return id;
        }
        let id = match u16::try_from(self.resources.len()) {
            Ok(id) if ResourceId(id) != ResourceId::UNKNOWN => ResourceId(id),
            _ => return ResourceId::UNKNOWN,
        };
        self.resources.push(name.into());
        self.resource_ids.insert(name.into(), id);
        id
    }

    pub(super) fn round(&mut self, totals: &Totals<'_>) -> Resources {
        totals.round(|name| self.resource(name)).collect()
    }

    /// A list of resources of a node.
    pub(super) fn amounts(
        &mut self,
        amounts: Option<&Amounts<'_>>,
        field: &str,
        flaws: &mut Flaws,
    ) -> Resources {
        complain_of_amounts(amounts, || field.to_owned(), flaws);
        self.round(&Totals::of(amounts))
    }

    /// Labels and other pairs, sorted by key; of a key given twice the last one counts.
    pub(super) fn pairs(&mut self, pairs: Option<&Strings<'_>>) -> Box<Labels> {
        let mut found: Vec<(Sym, Sym)> = pairs
            .iter()
            .flat_map(|pairs| &pairs.0)
            .rev()
            .map(|(key, value)| (self.strings.intern(key), self.strings.intern(value)))
            .collect();
        // Stable, so that the last one given comes first and stays.
        found.sort_by_key(|&(key, _)| key);
        found.dedup_by_key(|&mut (key, _)| key);
        found.into_boxed_slice()
    }

    pub(super) fn share_spec(&mut self, spec: PodSpec) -> Arc<PodSpec> {
        share(&mut self.specs, spec)
    }

    pub(super) fn share_requests(&mut self, requests: Resources) -> Arc<Resources> {
        share(&mut self.requests, requests)
    }

    pub(super) fn share_owners(
        &mut self,
        owners: Option<&Vec<wire::OwnerReference<'_>>>,
    ) -> Arc<[Owner]> {
        let owners: Vec<Owner> = owners
            .into_iter()
            .flatten()
            .map(|owner| Owner {
                kind: self.sym_of(&owner.kind),
                name: self.sym_of(&owner.name),
                uid: self.sym_of(&owner.uid),
                controller: owner.controller == Some(true),
                foreign: is_foreign(owner),
            })
            .collect();
        if let Some(known) = self.owners.get(owners.as_slice()) {
            return Arc::clone(known);
        }
        let owners: Arc<[Owner]> = owners.into();
        self.owners.insert(Arc::clone(&owners));
        owners
    }

    /// Lets go of what nothing refers to any more.
    pub(super) fn drop_unused(&mut self) {
        self.specs.retain(|shared| Arc::strong_count(shared) > 1);
        self.owners.retain(|shared| Arc::strong_count(shared) > 1);
        self.requests.retain(|shared| Arc::strong_count(shared) > 1);
    }

    /// Numbers the groups anew once most of them have lost their pods.
    pub(super) fn regroup(&mut self, pods: &mut [PodDraft]) {
        let mut used = vec![false; self.groups.len()];
        pods.iter().for_each(|draft| used[draft.pod.group.index()] = true);
        let in_use = used.iter().filter(|&&used| used).count();
        if self.groups.len() <= 2 * in_use + GROUPS_LOOSE_MAX {
            return;
        }
        self.group_ids.clear();
        let old = std::mem::take(&mut self.groups).into_iter().zip(used);
        let new_ids: Vec<Option<GroupId>> = old
            .map(|(group, used)| used.then(|| self.group(group.namespace, group.labels)))
            .collect();
        for draft in pods {
            if let Some(id) = new_ids[draft.pod.group.index()] {
                draft.pod.group = id;
            }
        }
    }

    /// The group of a namespace and labels, numbered by arrival until all is known.
    pub(super) fn group(&mut self, namespace: Sym, labels: Box<Labels>) -> GroupId {
        let hash = FxBuildHasher.hash_one((namespace, &labels));
        let groups = &self.groups;
        let found = self.group_ids.find(hash, |&id| {
            let group = &groups[id as usize];
            group.namespace == namespace && group.labels == labels
        });
        if let Some(&id) = found {
            return GroupId::from_index(id as usize);
        }
        let id = GroupId::from_index(self.groups.len());
        self.groups.push(Group { namespace, labels, pods: Vec::new(), budgets: Vec::new() });
        let groups = &self.groups;
        self.group_ids.insert_unique(hash, id.0, |&id| {
            let group = &groups[id as usize];
            FxBuildHasher.hash_one((group.namespace, &group.labels))
        });
        id
    }
}

/// Whether an owner is called like a kind of Kubernetes' own without being one, such as the
/// StatefulSet of another group.
fn is_foreign(owner: &wire::OwnerReference<'_>) -> bool {
    let version = match text(&owner.kind) {
        "ReplicaSet" | "StatefulSet" | "DaemonSet" | "Deployment" => "apps/v1",
        "Job" | "CronJob" => "batch/v1",
        "ReplicationController" | "Node" => "v1",
        _ => return false,
    };
    !matches!(text(&owner.api_version), found if found.is_empty() || found == version)
}

fn share<T: Hash + Eq>(pool: &mut HashSet<Arc<T>, FxBuildHasher>, value: T) -> Arc<T> {
    if let Some(known) = pool.get(&value) {
        return Arc::clone(known);
    }
    let value = Arc::new(value);
    pool.insert(Arc::clone(&value));
    value
}

/// Names the amounts that cannot be read; `field`, their path, is made only if there are any.
pub(super) fn complain_of_amounts(
    amounts: Option<&Amounts<'_>>,
    field: impl Fn() -> String,
    flaws: &mut Flaws,
) {
    for (name, amount) in amounts.iter().flat_map(|amounts| &amounts.0) {
        if let Err(problem) = &amount.0 {
            flaws.push(format!("{}.{}", field(), name.0), problem.to_string());
        }
    }
}

/// The namespace, `default` where an object that needs one does not say.
pub(super) fn namespace_of<'t>(metadata: &'t Metadata<'_>) -> &'t str {
    match text(&metadata.namespace) {
        "" => "default",
        namespace => namespace,
    }
}
