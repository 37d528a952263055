//! Which of the feasible nodes could win (docs/spec/scheduler.md section 9).
//!
//! In a cluster of a hundred nodes and more the scheduler stops looking once it has found enough
//! feasible nodes, from a start that moves on with each pod. So what wins depends on where the
//! search begins: the top of each window of the sample's size, in the order of the search.
//!
//! Scores are normalised over the sample, which is not known, so they are taken over all feasible
//! nodes, and whoever is within a point of the top counts as a winner too.

use std::cmp::Reverse;

use descheduler_cluster::{NodeId, Snapshot};

use crate::field::{Field, Order};
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

/// The feasible nodes in the order of the search, as a ring.
#[derive(Clone, Debug, PartialEq)]
struct Windows {
    nodes: Vec<NodeId>,
    totals: Vec<i64>,
    /// For each feasible node how many starts make it the first to be found.
    starts: Vec<u32>,
    size: usize,
    /// Who reaches the top of its window last: from this start to that of the next.
    reigns: Vec<(usize, usize)>,
    /// The tops of the windows from start to start.
    runs: Vec<Run>,
    /// For each node how many starts make it the last that reaches the top of its window.
    won: Vec<u64>,
    /// The places of those who could win some window, in the order of the ring.
    near: Vec<usize>,
}

/// Windows that have the same top: those from this start to that of the next run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    from: usize,
    top: i64,
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
    pub(crate) fn over(profile: &Profile, field: Field, snapshot: &Snapshot) -> Self {
        let enough = enough(profile, field.candidates);
        if field.nodes.len() <= enough {
            return Self::top(&field, snapshot);
        }
        let windows = Windows::over(field, enough);
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
        windows.winner(window)
    }

    /// Those with the most points, by name.
    fn top(field: &Field, snapshot: &Snapshot) -> Self {
        let top = field.totals.iter().copied().max();
        let all = field.nodes.iter().zip(&field.totals);
        let mut nodes: Vec<NodeId> =
            all.filter(|(_, total)| Some(**total) == top).map(|(node, _)| *node).collect();
        nodes.sort_unstable_by(|a, b| snapshot.node(*a).name.cmp(&snapshot.node(*b).name));
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
    fn over(Field { nodes, totals, starts, .. }: Field, size: usize) -> Self {
        let (mut reigns, mut runs) = (Vec::new(), Vec::<Run>::new());
        let mut won = vec![0; nodes.len()];
        each_reign(&totals, size, |from, until, who| {
            reigns.push((from, who));
            won[who] += starts[from..until].iter().copied().map(u64::from).sum::<u64>();
            let top = totals[who];
            if runs.last().is_none_or(|run| run.top != top) {
                runs.push(Run { from, top });
            }
        });
        let near = Vec::new();
        let mut windows = Self { nodes, totals, starts, size, reigns, runs, won, near };
        windows.near = windows.near();
        windows
    }

    /// Everybody within a point of the top of some window that it is in. Nearly all nodes are below
    /// all tops, so few need a look at single windows.
    fn near(&self) -> Vec<usize> {
        let least = self.runs.iter().map(|run| run.top).min().unwrap_or(i64::MAX);
        let places = 0..self.nodes.len();
        let high = places.filter(|&at| self.totals[at] + NEAR >= least);
        high.filter(|&at| self.any_lost_to(at)).collect()
    }

    /// Whether a node is within a point of the top of some window that it is in.
    fn any_lost_to(&self, at: usize) -> bool {
        self.runs_with(at).any(|(run, ..)| self.is_near(run, at))
    }

    fn is_near(&self, run: Run, at: usize) -> bool {
        self.totals[at] + NEAR >= run.top
    }

    /// The runs of windows that hold a node, with the part of their starts that makes them hold it.
    fn runs_with(&self, at: usize) -> impl Iterator<Item = (Run, usize, usize)> + '_ {
        let count = self.nodes.len();
        // The windows from the `size` starts up to it, which may reach over the end of the ring.
        let first = at + 1 + count - self.size;
        let (one, other) = match first.checked_sub(count) {
            Some(first) => ((first, at + 1), (0, 0)),
            None => ((first, count), (0, at + 1)),
        };
        [one, other].into_iter().flat_map(move |(first, end)| {
            let begin = self.runs.partition_point(|run| run.from <= first).saturating_sub(1);
            let runs = self.runs[begin..].iter().enumerate();
            let runs = runs.take_while(move |(_, run)| run.from < end);
            runs.map(move |(step, &run)| {
                let next = self.runs.get(begin + step + 1).map_or(count, |run| run.from);
                (run, run.from.max(first), next.min(end))
            })
        })
    }

    /// Who wins the window that begins at a node.
    fn winner(&self, start: usize) -> Option<NodeId> {
        let reign = self.reigns.partition_point(|&(from, _)| from <= start).checked_sub(1)?;
        Some(self.nodes[self.reigns[reign].1])
    }

    /// Everybody who could win some window, those first that win from most starts.
    fn winners(&self) -> Vec<NodeId> {
        let mut found = self.near.clone();
        found.sort_by_key(|&at| Reverse(self.won[at]));
        found.into_iter().map(|at| self.nodes[at]).collect()
    }

    fn share(&self, bad: impl Fn(NodeId) -> bool) -> f64 {
        // How many bad nodes more than at the start before could win from each start.
        let mut change = vec![0_i32; self.nodes.len() + 1];
        for &at in self.near.iter().filter(|&&at| bad(self.nodes[at])) {
            for (run, first, end) in self.runs_with(at) {
                if self.is_near(run, at) {
                    change[first] += 1;
                    change[end] -= 1;
                }
            }
        }
        let (mut lost, mut all, mut could) = (0_u64, 0_u64, 0);
        for (&starts, change) in self.starts.iter().zip(change) {
            could += change;
            all += u64::from(starts);
            if could > 0 {
                lost += u64::from(starts);
            }
        }
        if all == 0 { 0.0 } else { lost as f64 / all as f64 }
    }
}

/// Calls `reigns(from, until, who)` for each stretch of starts, in order, from which the most of the
/// next `size` values in the ring is reached by the same one last. `size` is from 1 to the number of
/// values.
///
/// Whoever reigns does so until a value comes in that is no less, or until it is left behind; only
/// then the window is searched anew. Either way blocks in which nothing is enough are passed over.
fn each_reign(values: &[i64], size: usize, mut reigns: impl FnMut(usize, usize, usize)) {
    let count = values.len();
    let ring: Vec<i64> = values.iter().chain(&values[..size - 1]).copied().collect();
    let blocks: Vec<i64> = ring.chunks(BLOCK).map(most).collect();
    let mut from = 0;
    let mut who = last_most(&ring, &blocks, 0, size);
    while from < count {
        // Windows that hold it end before this.
        let end = (who + size).min(ring.len());
        let next = first_from(&ring, &blocks, (from + size, end), ring[who]);
        let until = next.map_or(who + 1, |next| next + 1 - size).min(count);
        reigns(from, until, if who < count { who } else { who - count });
        from = until;
        if from < count {
            who = next.unwrap_or_else(|| last_most(&ring, &blocks, from, from + size));
        }
    }
}

/// How many values share one word on how high they are.
const BLOCK: usize = 32;

fn most(values: &[i64]) -> i64 {
    values.iter().copied().fold(i64::MIN, i64::max)
}

/// The last place from `begin` to `end` that holds the most there.
fn last_most(ring: &[i64], blocks: &[i64], begin: usize, end: usize) -> usize {
    let (mut top, mut who) = (i64::MIN, begin);
    let mut at = begin;
    while at < end {
        let next = (at / BLOCK + 1) * BLOCK;
        // A block that is cut off has at most what the whole of it has.
        if blocks[at / BLOCK] >= top {
            let here = &ring[at..next.min(end)];
            let most = most(here);
            if most >= top {
                top = most;
                who = at + here.iter().rposition(|&value| value == most).unwrap_or(0);
            }
        }
        at = next;
    }
    who
}

/// The first place from `begin` to `end` that holds `least` or more.
fn first_from(
    ring: &[i64],
    blocks: &[i64],
    (begin, end): (usize, usize),
    least: i64,
) -> Option<usize> {
    let mut at = begin;
    while at < end {
        let next = (at / BLOCK + 1) * BLOCK;
        if blocks[at / BLOCK] >= least {
            let here = &ring[at..next.min(end)];
            if let Some(step) = here.iter().position(|&value| value >= least) {
                return Some(at + step);
            }
        }
        at = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(totals: &[i64], size: usize) -> Windows {
        let lines: Vec<String> = (0..totals.len()).map(|at| format!("node n{at:02}")).collect();
        let nodes = descheduler_testkit::snapshot(&lines.join("\n")).nodes().to_vec();
        let (totals, starts) = (totals.to_vec(), vec![1; totals.len()]);
        Windows::over(Field { nodes, totals, starts, candidates: 0 }, size)
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
            each_reign(values, size, |from, until, who| {
                assert_eq!(found.len(), from);
                found.resize(until, who);
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
                places().any(|at| bad(windows.nodes[at]) && values[at] + NEAR >= top)
            };
            let slow = (0..count).filter(lost).count() as f64 / count as f64;
            assert_eq!(windows.share(bad), slow, "{size} of {count}");
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
