//! How many pods of each rule are in each domain, and by how much that is out of balance.
//!
//! For each rule it is also known how many domains hold how many pods. There are few different
//! numbers, so a move is judged without a look at all domains.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use descheduler_cluster::{GroupId, NodeId, PodId, ResourceId, Snapshot};
use descheduler_scheduler::{PodRef, View};
use hashbrown::{HashMap, HashSet};

use super::layout::DomainId;
use super::{Rule, Rules, counts};
use crate::follow::Follower;

/// The counts of all rules, as they are in a view.
pub(crate) struct Tally<'s> {
    snapshot: &'s Snapshot,
    rules: Rules<'s>,
    /// By rule.
    counts: Vec<Counts>,
    /// By group slot: the rules that count its pods.
    of_group: Vec<Vec<u32>>,
    follower: Follower<'s>,
    /// The cluster as it was found: what room there is goes by that.
    found: View<'s>,
}

/// The counts of one rule.
struct Counts {
    /// Of the domains that hold any.
    pods: HashMap<DomainId, i64>,
    /// How many domains hold so many pods.
    domains: BTreeMap<i64, usize>,
    /// The same for the domains whose emptiness matters; worked out once somebody asks.
    floor: Option<Floor>,
}

/// The domains that others are compared with.
struct Floor {
    /// `None`: all.
    only: Option<HashSet<DomainId>>,
    domains: BTreeMap<i64, usize>,
}

impl<'s> Tally<'s> {
    pub(crate) fn new(snapshot: &'s Snapshot, rules: Rules<'s>) -> Self {
        let mut of_group: Vec<Vec<u32>> = vec![Vec::new(); snapshot.group_slots()];
        let mut all = Vec::with_capacity(rules.all.len());
        for (number, rule) in (0..).zip(&rules.all) {
            for group in &rule.groups {
                of_group[group.index()].push(number);
            }
            all.push(Counts::new(snapshot, rule));
        }
        let found = View::new(snapshot);
        Self { snapshot, rules, counts: all, of_group, follower: Follower::default(), found }
    }

    /// How many rules there are.
    pub(crate) fn len(&self) -> usize {
        self.rules.all.len()
    }

    /// A rule.
    pub(crate) fn rule(&self, number: usize) -> &Rule<'s> {
        &self.rules.all[number]
    }

    /// The rules that count a pod, in order.
    pub(crate) fn rules_of(&self, pod: &PodRef<'s>) -> Cow<'_, [u32]> {
        counting(self.snapshot, &self.rules, &self.of_group, pod)
    }

    /// How many pods a rule counts in a domain.
    pub(crate) fn count(&self, rule: usize, domain: DomainId) -> i64 {
        self.counts[rule].count(domain)
    }

    /// How many pods a domain may hold by a rule.
    pub(crate) fn most(&mut self, rule: usize) -> i64 {
        self.counts[rule].most(&self.rules.all[rule], &self.found)
    }

    /// By how much the rules that count a pod would be violated if it were on a node. Where the pod
    /// comes in place of one with other labels, by how much more those are violated that count it
    /// alone.
    pub(crate) fn violation_with(
        &mut self,
        view: &View<'s>,
        pod: &PodRef<'s>,
        node: NodeId,
    ) -> i64 {
        self.keep_up(view);
        let (old, new) = (self.rules_of(&view.pod(pod.id)), self.rules_of(pod));
        let both: Vec<(u32, bool, bool)> = match old == new {
            true => new.iter().map(|&rule| (rule, true, true)).collect(),
            false => {
                let all: BTreeSet<u32> = old.iter().chain(&*new).copied().collect();
                let is_in = |rule: u32| (rule, old.contains(&rule), new.contains(&rule));
                all.into_iter().map(is_in).collect()
            }
        };
        let now = view.node_of(pod.id);
        let Self { rules, counts: all, found, .. } = self;
        let violations = both.into_iter().map(|(number, leaves, comes)| {
            let (rule, counts) = (&rules.all[number as usize], &mut all[number as usize]);
            let before = if leaves { 0 } else { counts.violation(rule, found) };
            let (now, node) = (now.filter(|_| leaves), Some(node).filter(|_| comes));
            counts.shift(rule, now, -1);
            counts.shift(rule, node, 1);
            let violation = counts.violation(rule, found);
            counts.shift(rule, node, -1);
            counts.shift(rule, now, 1);
            violation - before
        });
        violations.sum()
    }

    /// Takes into account what the view was told since the last time.
    pub(crate) fn keep_up(&mut self, view: &View<'s>) {
        let Self { snapshot, rules, counts: all, of_group, follower, .. } = self;
        follower.catch_up(view, |pod, node, by| {
            for &number in &*counting(snapshot, rules, of_group, pod) {
                all[number as usize].shift(&rules.all[number as usize], node, by);
            }
        });
    }
}

/// The rules that count a pod, in order; `of_group` has them for the pods of the snapshot.
fn counting<'g, 's>(
    snapshot: &Snapshot,
    rules: &Rules<'s>,
    of_group: &'g [Vec<u32>],
    pod: &PodRef<'s>,
) -> Cow<'g, [u32]> {
    if !counts(snapshot.pod(pod.id)) {
        return Cow::Borrowed(&[]);
    }
    match pod.group {
        Some(group) => Cow::Borrowed(&of_group[group.index()]),
        // Labels that no pod has yet.
        None => {
            let selects = |(_, rule): &(u32, &Rule<'s>)| rule.selects(pod, snapshot.strings());
            let counting = (0..).zip(&rules.all).filter(selects);
            Cow::Owned(counting.map(|(number, _)| number).collect())
        }
    }
}

/// The pods of a rule on nodes, whether they can be moved or not, with their domains.
pub(crate) fn pods_of<'r>(
    snapshot: &'r Snapshot,
    rule: &'r Rule<'_>,
) -> impl Iterator<Item = (DomainId, PodId)> + 'r {
    let pods_in = |group: &GroupId| snapshot.group(*group).pods.iter().copied();
    rule.groups.iter().flat_map(pods_in).filter_map(|id| {
        let pod = snapshot.pod(id);
        let domain = rule.layout.domain_of(pod.node?)?;
        counts(pod).then_some((domain, id))
    })
}

impl Counts {
    fn new(snapshot: &Snapshot, rule: &Rule<'_>) -> Self {
        let mut pods: HashMap<DomainId, i64> = HashMap::new();
        for (domain, _) in pods_of(snapshot, rule) {
            *pods.entry(domain).or_default() += 1;
        }
        let domains = histogram(pods.values().copied(), rule.layout.values.len());
        Self { pods, domains, floor: None }
    }

    fn count(&self, domain: DomainId) -> i64 {
        self.pods.get(&domain).copied().unwrap_or(0)
    }

    /// Counts one pod on a node in or out.
    fn shift(&mut self, rule: &Rule<'_>, node: Option<NodeId>, by: i64) {
        let Some(domain) = node.and_then(|node| rule.layout.domain_of(node)) else { return };
        let count = self.pods.entry(domain).or_default();
        let before = *count;
        *count += by;
        change(&mut self.domains, before, before + by);
        if let Some(floor) = &mut self.floor
            && floor.only.as_ref().is_none_or(|only| only.contains(&domain))
        {
            change(&mut floor.domains, before, before + by);
        }
    }

    /// The sum over all domains of what they hold above what they may hold.
    fn violation(&mut self, rule: &Rule<'_>, found: &View<'_>) -> i64 {
        let skew = i64::from(rule.constraint.max_skew);
        let fullest = self.domains.last_key_value().map_or(0, |(&count, _)| count);
        // No domain can hold less than nothing, so most rules are kept whatever the floor is.
        if fullest <= skew {
            return 0;
        }
        let most = self.most(rule, found);
        self.domains
            .range(most.saturating_add(1)..)
            .map(|(count, &domains)| (count - most) * domains as i64)
            .sum()
    }

    /// The least that a domain holds which matters, plus what may be more elsewhere.
    fn most(&mut self, rule: &Rule<'_>, found: &View<'_>) -> i64 {
        let skew = i64::from(rule.constraint.max_skew);
        let wanted = rule.constraint.min_domains.filter(|_| rule.constraint.hard).unwrap_or(0);
        if usize::try_from(wanted).is_ok_and(|wanted| rule.layout.values.len() < wanted) {
            return skew;
        }
        if self.floor.is_none() {
            self.floor = Some(self.make_floor(rule, found));
        }
        let domains = self.floor.as_ref().map_or(&self.domains, |floor| match floor.only {
            Some(_) => &floor.domains,
            None => &self.domains,
        });
        domains.first_key_value().map_or(0, |(&least, _)| least).saturating_add(skew)
    }

    /// All domains of a hard constraint, as the scheduler has it. Of a soft one those where the pod
    /// could be: it would be no use to hold a domain against the others that has no room. Where no
    /// domain has room all count, so that the violation is told.
    fn make_floor(&self, rule: &Rule<'_>, found: &View<'_>) -> Floor {
        let everything = Floor { only: None, domains: BTreeMap::new() };
        if rule.constraint.hard {
            return everything;
        }
        let has_room = |domain: &DomainId| {
            rule.layout.open_nodes[*domain].iter().any(|&node| has_room(found, node, rule))
        };
        let only: HashSet<DomainId> = (0..rule.layout.values.len()).filter(has_room).collect();
        if only.is_empty() {
            return everything;
        }
        let filled =
            self.pods.iter().filter(|(domain, count)| **count > 0 && only.contains(*domain));
        let domains = histogram(filled.map(|(_, &count)| count), only.len());
        Floor { only: Some(only), domains }
    }
}

fn has_room(found: &View<'_>, node: NodeId, rule: &Rule<'_>) -> bool {
    let allocatable = &found.snapshot().node(node).allocatable;
    let used = found.requested(node);
    let free = |resource| allocatable.get(resource).saturating_sub(used.get(resource));
    free(ResourceId::PODS) > 0
        && rule.least.iter().all(|(resource, amount)| amount <= 0 || amount <= free(resource))
}

/// How many of `all` domains hold how many pods, where `filled` are those that hold any.
fn histogram(filled: impl Iterator<Item = i64>, all: usize) -> BTreeMap<i64, usize> {
    let mut domains = BTreeMap::new();
    let mut empty = all;
    for count in filled {
        *domains.entry(count).or_default() += 1;
        empty -= 1;
    }
    if empty > 0 {
        *domains.entry(0).or_default() += empty;
    }
    domains
}

/// One domain holds another number of pods now.
fn change(domains: &mut BTreeMap<i64, usize>, before: i64, after: i64) {
    if let Some(count) = domains.get_mut(&before) {
        *count -= 1;
        if *count == 0 {
            domains.remove(&before);
        }
    }
    *domains.entry(after).or_default() += 1;
}
