//! Who could win a pod, when nobody asks why others do not.
//!
//! For most pods what keeps them off a node, or makes it better than another, is the node's group
//! (`table.rs`), but for a few odd nodes: those that pods of the same owner are on, say. So all
//! plugins are asked about one node of each group and about the odd ones. Where too much is odd, all
//! nodes are looked at.

use std::rc::Rc;

use descheduler_cluster::NodeId;
use smallvec::SmallVec;

use crate::cycle::{self, Cycle, Looked, Nominated, Step};
use crate::field::{Field, NOTHING, Order, Totals};
use crate::known::Known;
use crate::model::Model;
use crate::occupancy::Occupancy;
use crate::places::Places;
use crate::plugins::{self, Basis, Crowd, filter_basis, score_basis};
use crate::pod::PodRef;
use crate::profile::Profile;
use crate::search::Winners;
use crate::table::{Groups, Layers, Table};

/// Who could win, as [`cycle::run`] finds them. `None` where only that knows: nothing is feasible,
/// something fails, or other pods come first.
pub(crate) fn winners<'s>(
    model: &Model<'s>,
    profile: &Profile,
    occupancy: &Occupancy<'s>,
    pod: &PodRef<'s>,
) -> Option<Winners> {
    if !Nominated::before(model, pod).is_empty() {
        return None;
    }
    let cycle = Cycle { model, profile, occupancy, pod };
    let Looked::GoesOn { steps, only, .. } = cycle::look(&cycle, &[]) else { return None };
    let known = Known::of(&cycle, &steps).ok()??;
    let rest: Vec<&Step<'_, 's>> =
        steps.iter().filter(|step| filter_basis(step.plugin) == Basis::More).collect();
    // What is known of a node hides the faults of later filters, but not of earlier ones.
    let last_known = steps.iter().rfind(|step| filter_basis(step.plugin) != Basis::More);
    let first_failing = rest.iter().find(|step| plugins::may_fail(step.plugin));
    if let (Some(last_known), Some(failing)) = (last_known, first_failing)
        && failing.place < last_known.place
    {
        return None;
    }
    let table = known.take_table(&cycle);
    let by_group = match &table {
        Some(table) if only.is_none() => by_group(&cycle, &rest, &known, table),
        _ => None,
    };
    let field = by_group.or_else(|| by_node(&cycle, &rest, only.as_deref(), &known));
    let field = field.filter(|field| field.ring.len > 0);
    let winners = field.map(|field| Winners::over(profile, field, model.snapshot()));
    known.keep(occupancy.known(), table);
    winners
}

/// Looks at each node.
fn by_node<'k, 's>(
    cycle: &Cycle<'k, 's>,
    rest: &[&Step<'_, 's>],
    only: Option<&[NodeId]>,
    known: &Known<'s>,
) -> Option<Field<'k>> {
    let order = &cycle.model.order;
    let (mut feasible, mut candidates) = (Vec::with_capacity(order.nodes.len()), 0);
    for &node in &order.nodes {
        if only.is_some_and(|only| only.binary_search(&node).is_err()) {
            continue;
        }
        candidates += 1;
        let passes = !known.has_fault(node)
            && cycle::check(cycle, rest.iter().copied(), node).ok()?.is_none();
        if passes {
            feasible.push(node);
        }
    }
    if feasible.is_empty() {
        return None;
    }
    let scorers = cycle::scorers(cycle, Crowd::of(&feasible)).ok()?;
    let totals = cycle::score(cycle, Some(known), &scorers, &feasible, |_, _| {});
    Some(Field::each(order, feasible.iter().copied().zip(totals), candidates))
}

/// Looks at one node of each group and at the odd ones; `None` where too many are odd.
fn by_group<'k, 's>(
    cycle: &Cycle<'k, 's>,
    rest: &[&Step<'_, 's>],
    known: &Known<'s>,
    table: &'k Table,
) -> Option<Field<'k>> {
    let order = &cycle.model.order;
    let mut odd = Odd::new(order);
    for step in rest {
        odd.add(order, step.filter.odd(cycle)?)?;
    }
    let feasible = filter(cycle, rest, table, &odd.0)?;
    let first = Picked::of(order, table.groups(), &feasible, &odd.0);
    if first.nodes.is_empty() {
        return None;
    }
    let crowd = Crowd { nodes: &first.nodes, times: Some(&first.times) };
    let scorers = cycle::scorers(cycle, crowd).ok()?;
    for scorer in scorers.iter().filter(|scorer| score_basis(scorer.plugin) == Basis::More) {
        odd.add(order, scorer.scores.odd(cycle)?)?;
    }
    let Odd(odd) = odd;
    let Picked { groups, nodes, .. } = Picked::of(order, table.groups(), &feasible, &odd);
    let totals = cycle::score(cycle, Some(known), &scorers, &nodes, |_, _| {});
    let mut added: SmallVec<[i64; 16]> = SmallVec::from_elem(NOTHING, table.groups().len());
    for ((&group, &node), total) in groups.iter().zip(&nodes).zip(&totals) {
        added[group] = total - known.score(node);
    }
    let odd_ones = nodes.iter().zip(totals).skip(groups.len());
    let odd_totals = odd_ones.map(|(&node, total)| (order.place(node), total)).collect();
    let layers = Layers { table, added, odd, odd_totals };
    Some(Field::new(order, feasible, Totals::Layers(layers), order.nodes.len()))
}

/// The nodes that pass the filters in `rest` too; `None` if one of them fails.
fn filter<'s>(
    cycle: &Cycle<'_, 's>,
    rest: &[&Step<'_, 's>],
    table: &Table,
    odd: &Places,
) -> Option<Places> {
    let order = &cycle.model.order;
    let mut feasible = table.feasible().clone();
    if rest.is_empty() {
        return Some(feasible);
    }
    let picked = Picked::of(order, table.groups(), &feasible, odd);
    let Picked { groups, nodes, .. } = picked;
    for (at, &node) in nodes.iter().enumerate() {
        if cycle::check(cycle, rest.iter().copied(), node).ok()?.is_some() {
            match groups.get(at) {
                Some(&group) => feasible.remove_all(table.groups().members(group), odd),
                None => feasible.remove(order.place(node)),
            }
        }
    }
    Some(feasible)
}

/// The nodes to look at one by one.
struct Odd(Places);

impl Odd {
    fn new(order: &Order) -> Self {
        Self(Places::none(order.nodes.len()))
    }

    /// `None` if there are too many.
    fn add(&mut self, order: &Order, nodes: Vec<NodeId>) -> Option<()> {
        if nodes.len() > order.nodes.len() / 4 {
            return None;
        }
        nodes.iter().for_each(|&node| self.0.insert(order.place(node)));
        Some(())
    }
}

/// The feasible nodes that are looked at: the first of each group that is not odd, then all odd ones
/// in their order.
struct Picked {
    /// The groups that have such a node.
    groups: Vec<usize>,
    nodes: Vec<NodeId>,
    /// For each node how many it stands for.
    times: Vec<usize>,
}

impl Picked {
    fn of(order: &Order, groups: &Groups, feasible: &Places, odd: &Places) -> Self {
        let mut picked = Self { groups: Vec::new(), nodes: Vec::new(), times: Vec::new() };
        for group in 0..groups.len() {
            let (first, times) = feasible.first_of(groups.members(group), odd);
            if let Some(first) = first {
                picked.groups.push(group);
                picked.nodes.push(order.nodes[first]);
                picked.times.push(times);
            }
        }
        for place in feasible.common(odd) {
            picked.nodes.push(order.nodes[place]);
            picked.times.push(1);
        }
        picked
    }
}

/// The groups that the nodes form for pods that are alike, from what is known of each.
pub(crate) fn groups<'s>(cycle: &Cycle<'_, 's>, known: &Known<'s>) -> Option<Rc<Groups>> {
    let topology = &cycle.model.topology;
    let (zones, hosts) = (topology.domains(topology.zone), topology.domains(topology.host));
    let raws: Vec<_> = cycle
        .profile
        .score
        .iter()
        .filter(|&&(plugin, _)| score_basis(plugin) == Basis::Node)
        .filter_map(|&(plugin, _)| match plugins::scores(plugin, cycle, Crowd::of(&[])) {
            plugins::Scores::By(scores) => Some(known.raw(cycle, plugin, &*scores)),
            _ => None,
        })
        .collect();
    let traits = |node: NodeId| {
        let scores = raws.iter().map(|raw| raw.at(node)).collect();
        let (zone, has_host) = (zones.of(node), hosts.of(node).is_some());
        (!known.can_never_take(node)).then_some((zone, has_host, scores))
    };
    Groups::new(&cycle.model.order, traits).map(Rc::new)
}
