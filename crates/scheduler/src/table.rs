//! What the feasible nodes score, for pods that ask for the same, in layers.
//!
//! What plugins say of a node that look at what it is, at the sum of what is on it, and at its zone
//! is the same for all pods that are alike, and there are few different answers. So nodes that never
//! change in any of this form a group, each block of the search's order remembers the best of each
//! group in it, and a placement adds one number to each group instead of one to each node. Nodes
//! of which more is to be said than that are odd: they are looked at one by one.

use std::rc::Rc;

use descheduler_cluster::NodeId;
use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::field::{NOTHING, Order};
use crate::places::{BLOCK, Places};

/// More groups than this are none: the layers would cost as much as the nodes.
const MOST_GROUPS: usize = 48;

/// What makes a node one of a group: its zone, if it is in one, whether it has a hostname, and its
/// scores that never change.
type Traits = (Option<usize>, bool, SmallVec<[i64; 4]>);

/// Nodes that are alike in what never changes. Nodes that can never be feasible are in no group.
#[derive(Debug)]
pub(crate) struct Groups {
    /// By place: the group, or [`Groups::NONE`].
    of: Vec<u8>,
    /// The places of each group.
    members: Vec<Places>,
}

impl Groups {
    const NONE: u8 = u8::MAX;

    /// Sorts the nodes by their traits; `None` for nodes that can never be feasible. `None` if there
    /// would be too many groups.
    pub(crate) fn new(order: &Order, traits: impl Fn(NodeId) -> Option<Traits>) -> Option<Self> {
        let mut of = vec![Self::NONE; order.nodes.len()];
        let mut members: Vec<Places> = Vec::new();
        let mut numbers: HashMap<Traits, u8> = HashMap::new();
        for (place, &node) in order.nodes.iter().enumerate() {
            let Some(traits) = traits(node) else { continue };
            let next = members.len();
            let group = *numbers.entry(traits).or_insert(next as u8);
            if usize::from(group) == next {
                if next == MOST_GROUPS {
                    return None;
                }
                members.push(Places::none(order.nodes.len()));
            }
            members[usize::from(group)].insert(place);
            of[place] = group;
        }
        Some(Self { of, members })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// The places of a group.
    pub(crate) fn members(&self, group: usize) -> &Places {
        &self.members[group]
    }
}

/// The nodes that pass all filters but those that look further than at the node and the sum of what
/// is on it, with the part of their score that rests on that sum.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    groups: Rc<Groups>,
    feasible: Places,
    /// By place.
    scores: Vec<i64>,
    /// For each block, the best of each group.
    best: Vec<Best>,
    /// How many changes of nodes are taken into account; `None` before the first time.
    seen: Option<usize>,
}

/// How far below the best of a group in a block others are remembered by name: as far as who could
/// win may lie below who does, and some.
const CLOSE: usize = 4;

/// The best nodes of a group in a block.
#[derive(Clone, Copy, Debug)]
struct Best {
    /// The most that one of them scores; [`NOTHING`] where there are none.
    most: i64,
    /// Those that score this, one less at most, and so on.
    close: [u64; CLOSE],
}

impl Best {
    const NONE: Self = Self { most: NOTHING, close: [0; CLOSE] };
}

impl Table {
    pub(crate) fn new(order: &Order, groups: Rc<Groups>) -> Self {
        let feasible = Places::none(order.nodes.len());
        let best = vec![Best::NONE; feasible.blocks().len() * groups.len()];
        Self { groups, feasible, scores: vec![0; order.nodes.len()], best, seen: None }
    }

    /// Takes over what has become of the nodes that changed: the score of a node, or `None` if it is
    /// not feasible.
    pub(crate) fn catch_up(
        &mut self,
        order: &Order,
        changed: &[NodeId],
        score: impl Fn(NodeId) -> Option<i64>,
    ) {
        let stale = match self.seen {
            Some(seen) if changed.len() - seen <= order.nodes.len() => &changed[seen..],
            _ => &order.nodes,
        };
        let mut blocks = Places::none(self.feasible.blocks().len());
        for &node in stale {
            let place = order.place(node);
            if self.groups.of[place] == Groups::NONE {
                continue;
            }
            blocks.insert(place / BLOCK);
            match score(node) {
                Some(score) => {
                    self.feasible.insert(place);
                    self.scores[place] = score;
                }
                None => self.feasible.remove(place),
            }
        }
        blocks.iter().for_each(|block| self.look_at(block));
        self.seen = Some(changed.len());
    }

    fn look_at(&mut self, block: usize) {
        let groups = self.groups.len();
        let best = &mut self.best[block * groups..(block + 1) * groups];
        best.fill(Best::NONE);
        for place in self.feasible.in_block(block, 0..BLOCK) {
            let best = &mut best[usize::from(self.groups.of[place])];
            best.most = best.most.max(self.scores[place]);
        }
        for place in self.feasible.in_block(block, 0..BLOCK) {
            let best = &mut best[usize::from(self.groups.of[place])];
            let below = best.most - self.scores[place];
            for close in best.close.iter_mut().skip(usize::try_from(below).unwrap_or(CLOSE)) {
                *close |= 1 << (place % BLOCK);
            }
        }
    }

    /// The groups.
    pub(crate) fn groups(&self) -> &Groups {
        &self.groups
    }

    /// The nodes that pass.
    pub(crate) fn feasible(&self) -> &Places {
        &self.feasible
    }
}

/// What the feasible nodes score: what a table says and something for all of a group, but for odd
/// nodes.
pub(crate) struct Layers<'k> {
    pub(crate) table: &'k Table,
    /// What is added to the scores of each group; [`NOTHING`] where none of it is feasible but odd
    /// nodes.
    pub(crate) added: SmallVec<[i64; 16]>,
    /// The odd nodes.
    pub(crate) odd: Places,
    /// What those of them score that are feasible, by place.
    pub(crate) odd_totals: Vec<(usize, i64)>,
}

impl Layers<'_> {
    /// What a feasible node scores.
    #[inline]
    pub(crate) fn total(&self, place: usize) -> i64 {
        if self.odd.contains(place) {
            let at = self.odd_totals.partition_point(|&(odd, _)| odd < place);
            return self.odd_totals[at].1;
        }
        let group = self.table.groups.of[place];
        self.table.scores[place] + self.added[usize::from(group)]
    }

    /// The most that a feasible node of a block scores.
    pub(crate) fn most_in(&self, block: usize, feasible: &Places) -> i64 {
        let odd = self.odd.blocks()[block];
        let usual = self.best(block).map(|(best, added)| {
            let close = best.close.iter().position(|close| close & !odd != 0);
            match close {
                Some(below) => best.most - below as i64 + added,
                None => {
                    let bits = feasible.blocks()[block] & !odd;
                    self.most_of(Places::bits(block, bits))
                }
            }
        });
        let odd_ones = self.most_of(Places::bits(block, feasible.blocks()[block] & odd));
        usual.max().unwrap_or(NOTHING).max(odd_ones)
    }

    fn most_of(&self, places: impl Iterator<Item = usize>) -> i64 {
        places.map(|place| self.total(place)).max().unwrap_or(NOTHING)
    }

    /// The word of the feasible nodes of a block that score at least so much, which must not be far
    /// below the most there is; `None` if it is.
    pub(crate) fn at_least_in(&self, block: usize, least: i64, feasible: &Places) -> Option<u64> {
        let (odd, feasible) = (self.odd.blocks()[block], feasible.blocks()[block]);
        let mut found = 0;
        for (best, added) in self.best(block) {
            let below = best.most + added - least;
            if below >= 0 {
                found |= best.close.get(usize::try_from(below).ok()?)? & !odd;
            }
        }
        for place in Places::bits(block, feasible & odd) {
            found |= u64::from(self.total(place) >= least) << (place % BLOCK);
        }
        Some(found)
    }

    /// The best of each group in a block that has any feasible nodes that are not odd, with what is
    /// added.
    fn best(&self, block: usize) -> impl Iterator<Item = (&Best, i64)> {
        let groups = self.added.len();
        let best = &self.table.best[block * groups..(block + 1) * groups];
        let both = best.iter().zip(self.added.iter().copied());
        both.filter(|(best, added)| best.most != NOTHING && *added != NOTHING)
    }
}
