//! The nodes in the order in which they are searched, and which of them are feasible, with what they
//! score (docs/spec/scheduler.md section 9).
//!
//! A field is a ring of thousands of nodes that is made for every pod, so it is laid out in blocks:
//! a word of bits says who is feasible, a number what the best there has, and most blocks are
//! passed over without a look at their nodes.

use std::ops::Range;

use descheduler_cluster::labels::value_of;
use descheduler_cluster::{NodeId, Snapshot, Sym};
use hashbrown::HashMap;

use crate::outcome::Placement;
use crate::places::{BLOCK, Bits, Places};
use crate::table::Layers;

/// No total is that low.
pub(crate) const NOTHING: i64 = i64::MIN;

/// The order in which nodes are searched: one of each zone in turn.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) nodes: Vec<NodeId>,
    /// By node slot: its place in `nodes`.
    places: Vec<u32>,
}

impl Order {
    pub(crate) fn new(nodes: Vec<NodeId>, slots: usize) -> Self {
        let mut places = vec![u32::MAX; slots];
        for (place, node) in nodes.iter().enumerate() {
            places[node.index()] = place as u32;
        }
        Self { nodes, places }
    }

    /// Where a node of the snapshot comes.
    pub(crate) fn place(&self, node: NodeId) -> usize {
        self.places[node.index()] as usize
    }
}

/// The order for the nodes of a snapshot.
pub(crate) fn order(snapshot: &Snapshot) -> Order {
    let label = |node: NodeId, keys: [&str; 2]| {
        let labels = &snapshot.node(node).labels;
        keys.into_iter().find_map(|key| value_of(labels, snapshot.sym(key))).unwrap_or(Sym::EMPTY)
    };
    let mut zones: Vec<Vec<NodeId>> = Vec::new();
    let mut index: HashMap<(Sym, Sym), usize> = HashMap::new();
    for &node in snapshot.nodes() {
        let region = ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"];
        let zone = ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"];
        let at = *index.entry((label(node, region), label(node, zone))).or_insert_with(|| {
            zones.push(Vec::new());
            zones.len() - 1
        });
        zones[at].push(node);
    }
    let longest = zones.iter().map(Vec::len).max().unwrap_or(0);
    let rounds = (0..longest).flat_map(|round| zones.iter().map(move |zone| zone.get(round)));
    Order::new(rounds.flatten().copied().collect(), snapshot.node_slots())
}

/// The places of the feasible nodes in the order of the search, as a ring.
///
/// Feasible nodes are numbered from 0 in that order; a number from [`Ring::len`] on means the same
/// node another time around.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ring {
    feasible: Places,
    /// For each block, how many feasible nodes there are before it.
    before: Vec<usize>,
    /// How many nodes are feasible.
    pub(crate) len: usize,
    /// The place of the last feasible node.
    last: usize,
    /// How many places there are for the search to begin, all alike.
    pub(crate) starts: usize,
}

/// A feasible node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) number: usize,
    place: usize,
    pub(crate) total: i64,
}

impl Ring {
    fn new(order: &Order, feasible: Places) -> Self {
        let mut len = 0;
        let counts = feasible.blocks().iter().map(|bits| {
            let before = len;
            len += bits.count_ones() as usize;
            before
        });
        let before = counts.collect();
        let last = feasible.last().unwrap_or(0);
        Self { feasible, before, len, last, starts: order.nodes.len() }
    }

    fn place_of(&self, number: usize) -> usize {
        let block = self.before.partition_point(|&before| before <= number) - 1;
        self.feasible.nth(block, number - self.before[block])
    }

    fn found(&self, lap: usize, place: usize, total: i64) -> Found {
        let number = lap + self.before[place / BLOCK] + self.feasible.rank(place);
        Found { number, place, total }
    }

    /// How many starts lead to one of the first `number` nodes.
    pub(crate) fn starts_before(&self, number: usize) -> usize {
        number.checked_sub(1).map_or(0, |last| self.starts_up_to(self.place_of(last)))
    }

    /// How many starts lead to a node or to one before it in the ring. Those at nodes that are not
    /// feasible lead to the next one that is, around the end of the ring if need be.
    fn starts_up_to(&self, place: usize) -> usize {
        place + self.starts - self.last
    }

    /// The starts of the windows of `size` nodes that a node below [`Ring::len`] is in: two
    /// stretches, where they reach over the end of the ring.
    pub(crate) fn starts_with(&self, found: Found, size: usize) -> [Range<usize>; 2] {
        let up_to_it = self.starts_up_to(found.place);
        match (found.number + 1).checked_sub(size) {
            Some(first) => [self.starts_before(first)..up_to_it, 0..0],
            None => {
                let first = found.number + 1 + self.len - size;
                [self.starts_before(first)..self.starts, 0..up_to_it]
            }
        }
    }

    /// The places that hold the nodes with these numbers, with what to add to a node's number there.
    fn places(&self, numbers: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let first = numbers.start.min(self.len)..numbers.end.min(self.len);
        let again = numbers.start.max(self.len) - self.len..numbers.end.max(self.len) - self.len;
        [(0, first), (self.len, again)]
            .into_iter()
            .filter(|(_, part)| !part.is_empty())
            .map(|(lap, part)| (lap, self.place_of(part.start)..self.place_of(part.end - 1) + 1))
    }
}

/// The feasible nodes and what they score.
pub(crate) struct Field<'k> {
    order: &'k Order,
    pub(crate) ring: Ring,
    totals: Totals<'k>,
    /// For each block, the most that a feasible node in it scores.
    most: Vec<i64>,
    /// How many nodes come into question.
    pub(crate) candidates: usize,
}

/// What the feasible nodes score.
pub(crate) enum Totals<'k> {
    /// By place.
    Each(Vec<i64>),
    /// Worked out for many nodes at once.
    Layers(Layers<'k>),
}

impl<'k> Field<'k> {
    pub(crate) fn new(
        order: &'k Order,
        feasible: Places,
        totals: Totals<'k>,
        candidates: usize,
    ) -> Self {
        let blocks = 0..feasible.blocks().len();
        let most = blocks.map(|block| totals.most_in(block, &feasible)).collect();
        Self { order, ring: Ring::new(order, feasible), totals, most, candidates }
    }

    /// The field of a placement.
    pub(crate) fn of(placement: &Placement, order: &'k Order) -> Self {
        let outside = placement.infeasible.iter().filter(|(_, fault)| fault.plugin.is_none());
        let candidates = order.nodes.len() - outside.count();
        let all = placement.feasible.iter();
        Self::each(order, all.map(|candidate| (candidate.node, candidate.total)), candidates)
    }

    /// The field of some nodes, in any order, with what they score.
    pub(crate) fn each(
        order: &'k Order,
        nodes: impl Iterator<Item = (NodeId, i64)>,
        candidates: usize,
    ) -> Self {
        let mut feasible = Places::none(order.nodes.len());
        let mut totals = vec![NOTHING; order.nodes.len()];
        for (node, total) in nodes {
            feasible.insert(order.place(node));
            totals[order.place(node)] = total;
        }
        Self::new(order, feasible, Totals::Each(totals), candidates)
    }

    /// Which node it is.
    pub(crate) fn node(&self, found: Found) -> NodeId {
        self.order.nodes[found.place]
    }

    /// All that score at least so much, in order.
    pub(crate) fn at_least(&self, least: i64) -> Vec<Found> {
        let blocks = (0..self.most.len()).filter(|&block| self.most[block] >= least);
        let places = blocks.flat_map(|block| self.in_block_with(block, 0..BLOCK, least));
        places.map(|place| self.ring.found(0, place, self.totals.at(place))).collect()
    }

    /// The places of nodes in a part of a block that score at least so much.
    fn in_block_with(&self, block: usize, part: Range<usize>, least: i64) -> Bits {
        let bits = match &self.totals {
            Totals::Layers(layers) => layers.at_least_in(block, least, &self.ring.feasible),
            Totals::Each(_) => None,
        };
        let bits = bits.unwrap_or_else(|| {
            let all = self.ring.feasible.in_block(block, 0..BLOCK);
            let high = all.filter(|&place| self.totals.at(place) >= least);
            high.fold(0, |bits, place| bits | 1 << (place % BLOCK))
        });
        Places::bits(block, bits & Places::part(part))
    }

    /// The most that any node scores; [`NOTHING`] where none is feasible.
    pub(crate) fn top(&self) -> i64 {
        self.most.iter().copied().max().unwrap_or(NOTHING)
    }

    /// The last of the nodes with these numbers that scores the most of them.
    pub(crate) fn last_most(&self, numbers: Range<usize>) -> Option<Found> {
        let mut top = None;
        for (lap, places) in self.ring.places(numbers) {
            for (block, part) in in_blocks(places) {
                // A part of a block has at most what the whole of it has.
                let most = self.most[block];
                if top.is_some_and(|(_, _, top)| most < top) {
                    continue;
                }
                let best = match part.len() {
                    BLOCK => self.in_block_with(block, part, most).last(),
                    _ => {
                        let places = self.ring.feasible.in_block(block, part);
                        places.max_by_key(|&place| (self.totals.at(place), place))
                    }
                };
                let best = best.map(|place| (lap, place, self.totals.at(place)));
                top = match (top, best) {
                    (Some(top), Some(best)) if best.2 < top.2 => Some(top),
                    (top, best) => best.or(top),
                };
            }
        }
        top.map(|(lap, place, total)| self.ring.found(lap, place, total))
    }

    /// The first of the nodes with these numbers that scores at least so much.
    pub(crate) fn first_with(&self, numbers: Range<usize>, least: i64) -> Option<Found> {
        self.ring.places(numbers).find_map(|(lap, places)| {
            let mut blocks = in_blocks(places).filter(|(block, _)| self.most[*block] >= least);
            let place =
                blocks.find_map(|(block, part)| self.in_block_with(block, part, least).next())?;
            Some(self.ring.found(lap, place, self.totals.at(place)))
        })
    }
}

impl Totals<'_> {
    /// Of a feasible node.
    #[inline]
    fn at(&self, place: usize) -> i64 {
        match self {
            Self::Each(totals) => totals[place],
            Self::Layers(layers) => layers.total(place),
        }
    }

    fn most_in(&self, block: usize, feasible: &Places) -> i64 {
        match self {
            Self::Layers(layers) => layers.most_in(block, feasible),
            Self::Each(totals) => {
                let places = feasible.in_block(block, 0..BLOCK);
                places.map(|place| totals[place]).max().unwrap_or(NOTHING)
            }
        }
    }
}

/// The blocks that some places lie in, each with the part that they take of it.
fn in_blocks(places: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
    (places.start / BLOCK..places.end.div_ceil(BLOCK)).map(move |block| {
        let begin = block * BLOCK;
        let part = places.start.max(begin) - begin..places.end.min(begin + BLOCK) - begin;
        (block, part)
    })
}
