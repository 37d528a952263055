//! Which of the feasible nodes could win (docs/spec/scheduler.md section 9).
//!
//! In a cluster of a hundred nodes and more the scheduler stops looking once it has found enough
//! feasible nodes, from a start that moves on with each pod. So what wins depends on where the
//! search begins: the top of each window of the sample's size, in the order of the search.
//!
//! Scores are normalised over the sample, which is not known, so they are taken over all feasible
//! nodes, and whoever is within a point of the top counts as a winner too.

use std::cmp::Reverse;
use std::ops::Range;

use descheduler_cluster::{NodeId, Snapshot};
use hashbrown::HashMap;

use crate::field::{Field, Found, Order, Ring};
use crate::outcome::Placement;
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

/// The windows in which a search may look, by where it starts. Starts are numbered from 0 along the
/// ring of the nodes.
#[derive(Clone, Debug, PartialEq)]
struct Windows {
    /// All feasible nodes.
    ring: Ring,
    /// How many of them make a window.
    size: usize,
    /// Who reaches the top of its window last: from this start to that of the next.
    reigns: Vec<(usize, NodeId)>,
    /// The tops of the windows from start to start.
    runs: Vec<Run>,
    /// Those who could win some window, those first that win from most starts.
    near: Vec<Near>,
}

/// Windows that have the same top: those from this start to that of the next run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    from: usize,
    top: i64,
}

/// A node that is within a point of the top of some window that it is in.
#[derive(Clone, Debug, PartialEq)]
struct Near {
    node: NodeId,
    found: Found,
    /// From how many starts it is the last that reaches the top of its window.
    won: usize,
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
    pub(crate) fn of(
        profile: &Profile,
        placement: &Placement,
        order: &Order,
        snapshot: &Snapshot,
    ) -> Self {
        Self::over(profile, Field::of(placement, order), snapshot)
    }

    /// The possible winners of a field.
    pub(crate) fn over(profile: &Profile, field: Field<'_>, snapshot: &Snapshot) -> Self {
        let enough = enough(profile, field.candidates);
        if field.ring.len <= enough {
            return Self::top(&field, snapshot);
        }
        let windows = Windows::over(field, enough);
        let nodes = windows.near.iter().map(|near| near.node).collect();
        Self { nodes, sampled: true, windows: Some(windows) }
    }

    /// Any of these, as when nothing is known of how they are scored.
    pub(crate) fn any(placement: &Placement) -> Self {
        let nodes = placement.feasible.iter().map(|candidate| candidate.node);
        Self { nodes: nodes.collect(), sampled: false, windows: None }
    }

    /// How many places there are for the search to begin, all alike, if that decides who wins; 0 if
    /// one of [`Winners::nodes`] is as likely as another.
    pub fn starts(&self) -> usize {
        self.windows.as_ref().map_or(0, |windows| windows.ring.starts)
    }

    /// Who wins if the search begins at a place, counted from 0 to below [`Winners::starts`].
    pub fn from_start(&self, start: usize) -> Option<NodeId> {
        let Windows { ring, reigns, .. } = self.windows.as_ref()?;
        let reign = reigns.partition_point(|&(from, _)| from <= start).checked_sub(1)?;
        (start < ring.starts).then(|| reigns[reign].1)
    }

    /// Those with the most points, by name.
    fn top(field: &Field<'_>, snapshot: &Snapshot) -> Self {
        let top = field.at_least(field.top()).into_iter();
        let mut nodes: Vec<NodeId> = top.map(|found| field.node(found)).collect();
        nodes.sort_unstable_by(|a, b| snapshot.node(*a).name.cmp(&snapshot.node(*b).name));
        Self { nodes, sampled: false, windows: None }
    }

    /// The share of all starts, 0 to 1, from which [`Winners::nodes`] of a number is the last to reach
    /// the most points. These are different starts for each, so the shares can be added.
    pub fn share_won(&self, at: usize) -> f64 {
        match &self.windows {
            Some(Windows { ring, near, .. }) => near[at].won as f64 / ring.starts as f64,
            None => 1.0,
        }
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
    /// The windows of the next `size` feasible nodes, which is from 1 to the number of all.
    fn over(field: Field<'_>, size: usize) -> Self {
        let (mut reigns, mut runs) = (Vec::new(), Vec::<Run>::new());
        let mut won: HashMap<usize, usize> = HashMap::new();
        let mut begun = 0;
        each_reign(&field, size, |until, who| {
            let (from, end) = (begun, field.ring.starts_before(until));
            begun = end;
            reigns.push((from, field.node(who)));
            *won.entry(who.number % field.ring.len).or_default() += end - from;
            if runs.last().is_none_or(|run| run.top != who.total) {
                runs.push(Run { from, top: who.total });
            }
        });
        // Nearly all nodes are below all tops, and many of the others are up to any, so few need a
        // look at single windows.
        let tops = || runs.iter().map(|run| run.top);
        let (least, most) = (tops().min().unwrap_or(0), tops().max().unwrap_or(0));
        let high = field.at_least(least - NEAR).into_iter();
        let near = high.map(|found| {
            let won = won.get(&found.number).copied().unwrap_or(0);
            Near { node: field.node(found), found, won }
        });
        let mut near: Vec<Near> = near.collect();
        let mut windows = Self { ring: field.ring, size, reigns, runs, near: Vec::new() };
        near.retain(|near| {
            near.found.total + NEAR >= most || windows.stretches(near).next().is_some()
        });
        near.sort_by_key(|near| Reverse(near.won));
        windows.near = near;
        windows
    }

    /// The stretches of starts from which a node could win.
    fn stretches<'w>(&'w self, near: &'w Near) -> impl Iterator<Item = Range<usize>> + 'w {
        let within = self.ring.starts_with(near.found, self.size).into_iter();
        within.filter(|within| !within.is_empty()).flat_map(move |within| {
            let first = self.runs.partition_point(|run| run.from <= within.start) - 1;
            let runs = self.runs[first..].iter().enumerate();
            let end = within.end;
            let runs = runs.take_while(move |(_, run)| run.from < end);
            let runs = runs.filter(move |(_, run)| near.found.total + NEAR >= run.top);
            runs.map(move |(step, run)| {
                let next = self.runs.get(first + step + 1).map_or(self.ring.starts, |run| run.from);
                run.from.max(within.start)..next.min(within.end)
            })
        })
    }

    fn share(&self, bad: impl Fn(NodeId) -> bool) -> f64 {
        let bad = self.near.iter().filter(|near| bad(near.node));
        let mut lost: Vec<Range<usize>> = bad.flat_map(|near| self.stretches(near)).collect();
        lost.sort_unstable_by_key(|stretch| stretch.start);
        let (mut count, mut end) = (0, 0);
        for stretch in lost {
            count += stretch.end.max(end) - stretch.start.max(end);
            end = end.max(stretch.end);
        }
        count as f64 / self.ring.starts as f64
    }
}

/// Calls `reigns(until, who)` for each stretch of windows, in order, from the end of the last one up
/// to the window that begins with the node of number `until`, in which the most points are reached
/// by the same node last. `size` is from 1 to the number of nodes.
///
/// Whoever reigns does so until a node comes in that has no less, or until it is left behind; only
/// then the window is searched anew.
fn each_reign(field: &Field<'_>, size: usize, mut reigns: impl FnMut(usize, Found)) {
    let count = field.ring.len;
    let end_of_ring = count + size - 1;
    let mut from = 0;
    let mut next = field.last_most(0..size);
    while let Some(who) = next {
        // Windows that hold it end before this.
        let end = (who.number + size).min(end_of_ring);
        next = match from + size < end {
            true => field.first_with(from + size..end, who.total),
            false => None,
        };
        from = next.map_or(who.number + 1, |next| next.number + 1 - size).min(count);
        reigns(from, who);
        next = match next {
            _ if from == count => None,
            None => field.last_most(from..from + size),
            next => next,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(totals: &[i64], size: usize) -> Windows {
        with_field(totals, |field| Windows::over(field, size))
    }

    /// What can be said of feasible nodes with these totals, with others in between.
    fn with_field<T>(totals: &[i64], say: impl FnOnce(Field<'_>) -> T) -> T {
        let lines: Vec<String> = (0..totals.len()).map(|at| format!("node n{at:03}")).collect();
        let snapshot = descheduler_testkit::snapshot(&lines.join("\n"));
        let nodes = snapshot.nodes();
        let order = Order::new(nodes.to_vec(), snapshot.node_slots());
        say(Field::each(&order, nodes.iter().copied().zip(totals.iter().copied()), nodes.len()))
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
            let mut found: Vec<usize> = windows.near.iter().map(|n| n.node.index()).collect();
            found.sort_unstable();
            assert_eq!(found, slow_winners(&totals, size), "{totals:?} {size}");
        }
    }

    /// A few hundred values that repeat, in no order.
    fn many() -> Vec<i64> {
        (0_i64..211).map(|at| at * at * 7 % 23 - 11).collect()
    }

    const SIZES: [(usize, usize); 8] =
        [(1, 1), (2, 1), (2, 2), (7, 3), (100, 99), (100, 100), (211, 50), (211, 3)];

    #[test]
    fn windows_of_any_size_have_their_last_top() {
        let (values, ramp) = (many(), (0..211).rev().collect::<Vec<i64>>());
        for ((count, size), values) in
            SIZES.into_iter().flat_map(|size| [(size, &values), (size, &ramp)])
        {
            let values = &values[..count];
            let slow = (0..count).map(|start| {
                let window = (start..start + size).map(|at| (values[at % count], at));
                window.max().expect("no window is empty").1 % count
            });
            let mut found = Vec::new();
            with_field(values, |field| {
                each_reign(&field, size, |until, who| found.resize(until, who.number % count));
            });
            assert_eq!(found, slow.collect::<Vec<_>>(), "{size} of {count}");
        }
    }

    #[test]
    fn a_share_is_that_of_the_windows_that_somebody_bad_could_win() {
        let values = many();
        for (count, size) in SIZES {
            let windows = windows(&values[..count], size);
            let bad = |node: NodeId| node.index().is_multiple_of(5);
            let lost = |start: &usize| {
                let places = || (*start..start + size).map(|at| at % count);
                let top = places().map(|at| values[at]).max().expect("no window is empty");
                places().any(|at| at.is_multiple_of(5) && values[at] + NEAR >= top)
            };
            let slow = (0..count).filter(lost).count() as f64 / count as f64;
            assert_eq!(windows.share(bad), slow, "{size} of {count}");
        }
    }

    #[test]
    fn the_best_guess_wins_from_most_starts() {
        let windows = windows(&[5, 1, 1, 9, 1, 1, 1, 6], 3);
        let order: Vec<usize> = windows.near.iter().map(|near| near.node.index()).collect();
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
