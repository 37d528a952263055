//! Strategies that undo each other's work, or that the scheduler undoes.
//!
//! Only pairs that are sure to: with placement on, no strategy makes a move that another one of the
//! policy would undo, so most pairs that pull in opposite directions get along.

use descheduler_engine::{Diagnostics, Entry, Placement};
use descheduler_scheduler::{Plugin, Profile, ScoringStrategy};

use super::points::Enabled;
use crate::Surroundings;

const LOW: &str = "LowNodeUtilization";
const HIGH: &str = "HighNodeUtilization";
const DUPLICATES: &str = "RemoveDuplicates";

/// What one profile enables, on which nodes, and how its moves are judged.
pub(super) struct Pool<'v> {
    pub(super) enabled: Vec<Enabled<'v>>,
    /// Its own `nodeSelector`.
    pub(super) nodes: Option<&'v Entry>,
    pub(super) placement: Option<Placement>,
}

impl<'v> Pool<'v> {
    fn find(&self, name: &str) -> Option<&Enabled<'v>> {
        self.enabled.iter().find(|plugin| plugin.runs() && plugin.name == name)
    }

    /// Whether a node may belong to both. Pools that are named differently are taken for
    /// different ones.
    fn shares_nodes_with(&self, other: &Self) -> bool {
        let selector = |pool: &Self| pool.nodes.and_then(|entry| entry.value.as_text());
        match (selector(self), selector(other)) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => true,
        }
    }
}

/// Warns of them.
pub(super) fn warn(
    pools: &[Pool<'_>],
    surroundings: &Surroundings<'_>,
    diagnostics: &mut Diagnostics,
) {
    let low = (LOW, "spreads pods");
    let high = (HIGH, "packs them");
    warn_of_pair(pools, low, high, |_| true, diagnostics);
    // A replica that is moved to an emptier node is moved back when that node is emptied.
    let is_off = |pool: &Pool<'_>| pool.placement == Some(Placement::Off);
    warn_of_pair(pools, (DUPLICATES, "spreads replicas"), high, is_off, diagnostics);
    let profiles = surroundings.scheduler.unwrap_or_default();
    let all = |lean| !profiles.is_empty() && profiles.iter().all(|p| self::lean(p) == Some(lean));
    if all(Lean::Spreads) {
        warn_of_scheduler(pools, (HIGH, "packs pods"), "emptier", diagnostics)
    }
    if all(Lean::Packs) {
        warn_of_scheduler(pools, (LOW, "spreads pods"), "fuller", diagnostics);
    }
}

fn warn_of_pair(
    pools: &[Pool<'_>],
    (one, does): (&str, &str),
    (other, undoes): (&str, &str),
    counts: impl Fn(&Pool<'_>) -> bool,
    diagnostics: &mut Diagnostics,
) {
    let pairs = pools.iter().flat_map(|pool| pools.iter().map(move |other| (pool, other)));
    let mut pairs = pairs.filter(|(a, b)| counts(a) && counts(b) && a.shares_nodes_with(b));
    let pair = pairs.find_map(|(a, b)| {
        let (a, b) = (a.find(one)?, b.find(other)?);
        Some((a.span.min(b.span), a.span.max(b.span)))
    });
    if let Some((first, second)) = pair {
        let message = format!("`{one}` {does} and `{other}` {undoes}");
        diagnostics
            .warning("opposite-strategies", second, message)
            .help("each undoes the work of the other: enable one of them".to_owned())
            .related(first, "enabled here as well");
    }
}

fn warn_of_scheduler(
    pools: &[Pool<'_>],
    (name, does): (&str, &str),
    preferred: &str,
    diagnostics: &mut Diagnostics,
) {
    let Some(plugin) = pools.iter().find_map(|pool| pool.find(name)) else { return };
    let strategy = if name == HIGH { "MostAllocated" } else { "LeastAllocated" };
    let message = format!("`{name}` {does}, and the scheduler prefers {preferred} nodes for them");
    diagnostics.warning("opposite-scheduler", plugin.span, message).help(format!(
        "give the scheduler's `NodeResourcesFit` the `scoringStrategy` of type `{strategy}`"
    ));
}

/// What a scheduler makes of nodes that are used differently.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lean {
    Spreads,
    Packs,
}

/// To which side a profile leans by what is requested of nodes, if to any.
fn lean(profile: &Profile) -> Option<Lean> {
    let scores =
        |&(plugin, weight): &(Plugin, i64)| plugin == Plugin::NodeResourcesFit && weight > 0;
    if !profile.score.iter().any(scores) {
        return None;
    }
    match &profile.fit.strategy {
        ScoringStrategy::LeastAllocated => Some(Lean::Spreads),
        ScoringStrategy::MostAllocated => Some(Lean::Packs),
        ScoringStrategy::RequestedToCapacityRatio(points) => {
            let (first, last) = (points.first()?.score, points.last()?.score);
            match first.cmp(&last) {
                std::cmp::Ordering::Less => Some(Lean::Packs),
                std::cmp::Ordering::Equal => None,
                std::cmp::Ordering::Greater => Some(Lean::Spreads),
            }
        }
    }
}
