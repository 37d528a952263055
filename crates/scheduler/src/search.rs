//! Which of the feasible nodes could win (docs/spec/scheduler.md section 9).
//!
//! In a cluster of a hundred nodes and more the scheduler stops looking once it has found enough
//! feasible nodes, from a start that moves on with each pod. So what wins depends on where the
//! search begins: the top of each window of the sample's size, in the order of the search.
//!
//! Scores are normalised over the sample, which is not known, so they are taken over all feasible
//! nodes, and whoever is within a point of the top counts as a winner too.

use std::cmp::Reverse;

use descheduler_cluster::labels::value_of;
use descheduler_cluster::{NodeId, Snapshot, Sym};
use hashbrown::HashMap;

use crate::outcome::{Candidate, Placement};
use crate::profile::Profile;

/// How much a score may differ from what it is over the sample.
const NEAR: i64 = 1;

/// The nodes that could win, best guess first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Winners {
    /// They.
    pub nodes: Vec<NodeId>,
    /// Not all feasible nodes would be looked at, so this rests on scores over all of them.
    pub sampled: bool,
    windows: Option<Windows>,
}

/// The feasible nodes in the order of the search, as a ring.
#[derive(Clone, Debug, PartialEq)]
struct Windows {
    nodes: Vec<NodeId>,
    totals: Vec<i64>,
    /// For each feasible node how many starts make it the first to be found.
    starts: Vec<u32>,
    size: usize,
    /// For each start the top of its window, and who reaches it last.
    tops: Vec<(i64, usize)>,
}

/// The order in which nodes are searched: one of each zone in turn.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    nodes: Vec<NodeId>,
    /// How many slots the snapshot has for nodes.
    slots: usize,
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
    Order { nodes: rounds.flatten().copied().collect(), slots: snapshot.node_slots() }
}

/// How many feasible nodes are enough, of `nodes` that come into question.
fn enough(profile: &Profile, nodes: usize) -> usize {
    if profile.score.is_empty() {
        return 1;
    }
    if nodes < 100 {
        return nodes;
    }
    let percent = match usize::try_from(profile.percentage_of_nodes_to_score) {
        Ok(0) | Err(_) => 50_usize.saturating_sub(nodes / 125).max(5),
        Ok(percent) => percent,
    };
    if percent >= 100 { nodes } else { (nodes * percent / 100).max(100) }
}

impl Winners {
    /// The possible winners of a placement, with the nodes in the order of the search.
    pub(crate) fn of(profile: &Profile, placement: &Placement, order: &Order) -> Self {
        let outside = placement.infeasible.iter().filter(|(_, fault)| fault.plugin.is_none());
        let candidates = order.nodes.len() - outside.count();
        let enough = enough(profile, candidates);
        if placement.feasible.len() <= enough {
            return Self::top(&placement.feasible);
        }
        let windows = Windows::new(&placement.feasible, order, enough);
        Self { nodes: windows.winners(), sampled: true, windows: Some(windows) }
    }

    /// Any of these, as when nothing is known of how they are scored.
    pub(crate) fn any(placement: &Placement) -> Self {
        let nodes = placement.feasible.iter().map(|candidate| candidate.node);
        Self { nodes: nodes.collect(), sampled: false, windows: None }
    }

    /// How many places there are for the search to begin, all alike, if that decides who wins; 0 if
    /// one of [`Winners::nodes`] is as likely as another.
    pub fn starts(&self) -> usize {
        let starts = self.windows.iter().flat_map(|windows| &windows.starts);
        starts.map(|&starts| starts as usize).sum()
    }

    /// Who wins if the search begins at a place, counted from 0 to below [`Winners::starts`].
    pub fn from_start(&self, start: usize) -> Option<NodeId> {
        let windows = self.windows.as_ref()?;
        let mut passed = 0;
        let window = windows.starts.iter().position(|&starts| {
            passed += starts as usize;
            start < passed
        })?;
        Some(windows.nodes[windows.tops[window].1])
    }

    fn top(feasible: &[Candidate]) -> Self {
        let top = feasible.iter().map(|candidate| candidate.total).max();
        let nodes = feasible.iter().filter(|candidate| Some(candidate.total) == top);
        let nodes = nodes.map(|candidate| candidate.node).collect();
        Self { nodes, sampled: false, windows: None }
    }

    /// The share of all starts, 0 to 1, from which a node that is `bad` could win.
    pub fn share(&self, bad: impl Fn(NodeId) -> bool) -> f64 {
        match &self.windows {
            Some(windows) => windows.share(bad),
            None => f64::from(u8::from(self.nodes.iter().any(|&node| bad(node)))),
        }
    }
}

impl Windows {
    fn new(feasible: &[Candidate], order: &Order, size: usize) -> Self {
        // By node slot; no score is that low.
        const INFEASIBLE: i64 = i64::MIN;
        let mut totals = vec![INFEASIBLE; order.slots];
        for candidate in feasible {
            totals[candidate.node.index()] = candidate.total;
        }
        let mut windows = Self {
            nodes: Vec::with_capacity(feasible.len()),
            totals: Vec::with_capacity(feasible.len()),
            starts: Vec::with_capacity(feasible.len()),
            size,
            tops: Vec::new(),
        };
        // Starts at nodes that are not feasible lead to the next one that is.
        let mut waiting = 0;
        for &node in &order.nodes {
            waiting += 1;
            let total = totals[node.index()];
            if total != INFEASIBLE {
                windows.nodes.push(node);
                windows.totals.push(total);
                windows.starts.push(std::mem::take(&mut waiting));
            }
        }
        if let Some(first) = windows.starts.first_mut() {
            *first += waiting;
        }
        windows.tops = most(&windows.totals, size);
        windows
    }

    /// Everybody who could win some window, those first that win from most starts.
    fn winners(&self) -> Vec<NodeId> {
        let count = self.nodes.len();
        let mut won = vec![0_u64; count];
        for (&(_, who), &starts) in self.tops.iter().zip(&self.starts) {
            won[who] += u64::from(starts);
        }
        // The windows that hold node i begin at the `size` starts up to i: of their tops the least
        // decides whether i can be among them. Negated, the least is a most once more.
        let negated: Vec<i64> = self.tops.iter().map(|(top, _)| -top).collect();
        let least = most(&negated, self.size);
        let mut found: Vec<(Reverse<u64>, usize)> = Vec::new();
        for (at, &won) in won.iter().enumerate() {
            let first = (at + 1 + count - self.size) % count;
            if -least[first].0 <= self.totals[at] + NEAR {
                found.push((Reverse(won), at));
            }
        }
        found.sort_unstable();
        found.into_iter().map(|(_, at)| self.nodes[at]).collect()
    }

    fn share(&self, bad: impl Fn(NodeId) -> bool) -> f64 {
        // Low enough to be near no top, high enough to be added to.
        const NEVER: i64 = i64::MIN / 2;
        let values = self.nodes.iter().zip(&self.totals);
        let values: Vec<i64> =
            values.map(|(&node, &total)| if bad(node) { total } else { NEVER }).collect();
        let worst = most(&values, self.size);
        let (mut lost, mut all) = (0_u64, 0_u64);
        for ((&(top, _), &(bad, _)), &starts) in self.tops.iter().zip(&worst).zip(&self.starts) {
            all += u64::from(starts);
            if bad + NEAR >= top {
                lost += u64::from(starts);
            }
        }
        if all == 0 { 0.0 } else { lost as f64 / all as f64 }
    }
}

/// For each start in a ring of values the most of the next `size` of them, and the place of the last
/// that reaches it. `size` is from 1 to the number of values.
///
/// A window reaches from one block of `size` values into the next. The most of its part in the first
/// block is found from the end of that block backwards, that of its part in the second from there on
/// forwards: two comparisons a window, whatever its size, and no branch that depends on the values.
fn most(values: &[i64], size: usize) -> Vec<(i64, usize)> {
    let count = values.len();
    let ring: Vec<i64> = values.iter().chain(&values[..size - 1]).copied().collect();
    let mut most = Vec::with_capacity(count);
    let mut backwards = vec![(i64::MIN, 0); size];
    for begin in (0..count).step_by(size) {
        let middle = begin + size;
        let mut best = (i64::MIN, middle - 1);
        for (at, &value) in ring[begin..middle].iter().enumerate().rev() {
            best = if value > best.0 { (value, begin + at) } else { best };
            backwards[at] = best;
        }
        let mut forwards = (i64::MIN, 0);
        for (at, &first) in backwards[..size.min(count - begin)].iter().enumerate() {
            if at > 0 {
                let last = middle + at - 1;
                let value = ring[last];
                forwards = if value >= forwards.0 { (value, last) } else { forwards };
            }
            let (value, place) = if at > 0 && forwards.0 >= first.0 { forwards } else { first };
            most.push((value, if place < count { place } else { place - count }));
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(totals: &[i64], size: usize) -> Windows {
        let lines: Vec<String> = (0..totals.len()).map(|at| format!("node n{at:02}")).collect();
        let nodes = descheduler_testkit::snapshot(&lines.join("\n")).nodes().to_vec();
        let tops = most(totals, size);
        Windows { nodes, totals: totals.to_vec(), starts: vec![1; totals.len()], size, tops }
    }

    fn slow_winners(totals: &[i64], size: usize) -> Vec<usize> {
        let count = totals.len();
        let mut found = Vec::new();
        for start in 0..count {
            let window: Vec<usize> = (0..size).map(|step| (start + step) % count).collect();
            let top = window.iter().map(|&at| totals[at]).max().unwrap();
            found.extend(window.into_iter().filter(|&at| totals[at] + NEAR >= top));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn winners_are_the_tops_of_all_windows() {
        for (totals, size) in [
            (vec![5, 1, 1, 9, 1, 1, 1, 5], 3),
            (vec![1, 2, 3, 4, 5, 6], 2),
            (vec![7, 7, 7], 2),
            (vec![9, 0, 0, 0, 0, 8, 0, 0, 7], 4),
            (vec![3, 1, 4, 1, 5, 9, 2, 6, 5, 3], 10),
            (vec![3, 1, 4, 1, 5, 9, 2, 6, 5, 3], 1),
        ] {
            let windows = windows(&totals, size);
            let mut found: Vec<usize> = windows.winners().iter().map(|n| n.index()).collect();
            found.sort_unstable();
            assert_eq!(found, slow_winners(&totals, size), "{totals:?} {size}");
        }
    }

    #[test]
    fn windows_of_any_size_have_their_last_top() {
        // A few hundred values that repeat, in no order.
        let values: Vec<i64> = (0_i64..211).map(|at| at * at * 7 % 23 - 11).collect();
        for (count, size) in [(1, 1), (2, 1), (2, 2), (7, 3), (100, 99), (100, 100), (211, 50)] {
            let values = &values[..count];
            let slow = (0..count).map(|start| {
                let window = (start..start + size).map(|at| (values[at % count], at));
                let (value, at) = window.max().expect("no window is empty");
                (value, at % count)
            });
            assert_eq!(most(values, size), slow.collect::<Vec<_>>(), "{size} of {count}");
        }
    }

    #[test]
    fn the_best_guess_wins_from_most_starts() {
        let windows = windows(&[5, 1, 1, 9, 1, 1, 1, 6], 3);
        let order: Vec<usize> = windows.winners().iter().map(|n| n.index()).collect();
        assert_eq!(order[0], 3);
        let share = windows.share(|node| node.index() == 3);
        assert!((share - 3.0 / 8.0).abs() < 1e-9, "{share}");
        assert_eq!(windows.share(|_| true), 1.0);
        assert_eq!(windows.share(|_| false), 0.0);
    }

    #[test]
    fn enough_as_the_scheduler_reckons() {
        let profile = Profile::default();
        let table = [
            (99, 99),
            (100, 100),
            (210, 102),
            (250, 120),
            (500, 230),
            (1000, 420),
            (2000, 680),
            (5000, 500),
            (6000, 300),
        ];
        for (nodes, expected) in table {
            assert_eq!(enough(&profile, nodes), expected, "{nodes}");
        }
        let all = Profile { percentage_of_nodes_to_score: 100, ..Profile::default() };
        assert_eq!(enough(&all, 5000), 5000);
        assert_eq!(enough(&Profile { score: Vec::new(), ..Profile::default() }, 5000), 1);
    }
}
