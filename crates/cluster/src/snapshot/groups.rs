//! Which groups of pods a selector matches, without a look at all of them.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Group, GroupId};
use crate::intern::{Interner, Sym};
use crate::labels::Selector;

/// The groups of each namespace, and for each label there those that carry it.
///
/// There can be as many groups as pods, since each pod of a StatefulSet has a label of its own; so
/// a label costs a few bytes and no allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupIndex {
    spaces: HashMap<Sym, Space, FxBuildHasher>,
}

#[derive(Clone, Debug, Default)]
struct Space {
    /// All, in order.
    groups: Vec<GroupId>,
    /// The labels in use, sorted.
    labels: Vec<(Sym, Sym)>,
    /// For each label where its carriers end; they begin where those of the label before end.
    ends: Vec<u32>,
    /// The carriers of all labels, one label after the other, those of one in order.
    carriers: Vec<GroupId>,
}

impl GroupIndex {
    pub(crate) fn new(groups: &[Group]) -> Self {
        let mut spaces: HashMap<Sym, Space, FxBuildHasher> = HashMap::default();
        for (at, group) in groups.iter().enumerate() {
            spaces.entry(group.namespace).or_default().groups.push(GroupId::from_index(at));
        }
        let mut pairs = Vec::new();
        for space in spaces.values_mut() {
            space.index(groups, &mut pairs);
        }
        Self { spaces }
    }

    /// The namespaces that hold pods, in no order.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = Sym> + '_ {
        self.spaces.keys().copied()
    }

    /// The groups of a namespace, in order.
    pub(crate) fn of(&self, namespace: Sym) -> &[GroupId] {
        self.spaces.get(&namespace).map_or(&[], |space| &space.groups)
    }

    /// The groups of a namespace that `selector` matches, in order. `groups` are all there are.
    pub(crate) fn matching(
        &self,
        groups: &[Group],
        namespace: Sym,
        selector: &Selector,
        strings: &Interner,
    ) -> Vec<GroupId> {
        let Some(space) = self.spaces.get(&namespace) else { return Vec::new() };
        let matches = |id: &GroupId| selector.matches(&groups[id.index()].labels, strings);
        // The condition that the fewest meet leaves the fewest to look at.
        let few = selector
            .values()
            .map(|(key, values)| {
                let lists = values.iter().map(move |&value| space.carriers((key, value)));
                (lists.clone().map(<[GroupId]>::len).sum::<usize>(), lists)
            })
            .min_by_key(|&(count, _)| count);
        match few {
            None => space.groups.iter().copied().filter(matches).collect(),
            Some((_, lists)) => {
                let mut found: Vec<GroupId> = lists.flatten().copied().filter(matches).collect();
                // A group has one value for the key, so it is in one list; the lists are in order
                // one by one.
                found.sort_unstable();
                found
            }
        }
    }
}

impl Space {
    /// Fills the lists of labels; `pairs` is room to work in.
    fn index(&mut self, groups: &[Group], pairs: &mut Vec<((Sym, Sym), GroupId)>) {
        pairs.clear();
        for &id in &self.groups {
            pairs.extend(groups[id.index()].labels.iter().map(|&label| (label, id)));
        }
        pairs.sort_unstable();
        self.carriers.reserve_exact(pairs.len());
        for run in pairs.chunk_by(|a, b| a.0 == b.0) {
            self.labels.push(run[0].0);
            self.carriers.extend(run.iter().map(|&(_, id)| id));
            self.ends.push(self.carriers.len() as u32);
        }
        self.labels.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    fn carriers(&self, label: (Sym, Sym)) -> &[GroupId] {
        let Ok(at) = self.labels.binary_search(&label) else { return &[] };
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.carriers[start as usize..self.ends[at] as usize]
    }
}
