//! One scheduling cycle: look at the pod, filter nodes, score what is left
//! (docs/spec/scheduler.md section 1).

use std::rc::Rc;

use descheduler_cluster::{NodeId, PodAffinityTerm, PodId, Snapshot};

use crate::known::{Known, Raw};
use crate::model::{About, Model};
use crate::occupancy::Occupancy;
use crate::outcome::{Candidate, Code, CycleError, Fault, Placement, Stage, Why};
use crate::plugins::{
    self, Basis, Crowd, NodeFilter, NodeScore, Prepared, Rejection, Scores, filter_basis,
    score_basis,
};
use crate::pod::PodRef;
use crate::profile::{Plugin, Profile};

/// What every plugin sees.
pub(crate) struct Cycle<'c, 's> {
    pub(crate) model: &'c Model<'s>,
    pub(crate) profile: &'c Profile,
    pub(crate) occupancy: &'c Occupancy<'s>,
    pub(crate) pod: &'c PodRef<'s>,
}

impl<'s> Cycle<'_, 's> {
    pub(crate) fn snapshot(&self) -> &'s Snapshot {
        self.model.snapshot()
    }

    /// Whom a term of the incoming pod is about.
    pub(crate) fn about(&self, term: &'s PodAffinityTerm) -> Rc<About> {
        self.model.about(term, self.pod.namespace)
    }
}

/// A filter that is on in this cycle.
pub(crate) struct Step<'c, 's> {
    /// Its place in the profile.
    pub(crate) place: usize,
    pub(crate) plugin: Plugin,
    pub(crate) filter: Box<dyn NodeFilter<'s> + 'c>,
}

/// What looking at the pod came to.
pub(crate) enum Looked<'c, 's> {
    Ends(Placement),
    GoesOn {
        /// In order.
        steps: Vec<Step<'c, 's>>,
        /// The plugins that had nothing to do.
        skipped: Vec<Plugin>,
        /// The nodes that plugins allow, sorted; all when `None`.
        only: Option<Vec<NodeId>>,
    },
}

/// Runs the cycle for a pod. `detail`: keep each plugin's score.
pub(crate) fn run<'s>(
    model: &Model<'s>,
    profile: &Profile,
    occupancy: &mut Occupancy<'s>,
    pod: &PodRef<'s>,
    detail: bool,
) -> Placement {
    let nominated = Nominated::before(model, pod);
    let mut placement = Placement::default();
    let (skipped, known) = {
        let cycle = Cycle { model, profile, occupancy, pod };
        match look(&cycle, &[]) {
            Looked::Ends(placement) => return placement,
            Looked::GoesOn { steps, skipped, only } => {
                let filtered = filter(&cycle, &steps, only.as_deref(), detail, &mut placement);
                match filtered {
                    Ok(known) => (skipped, known),
                    Err(error) => return Placement::failed(error),
                }
            }
        }
    };
    if let Err(error) = nominated.filter(model, profile, occupancy, pod, &skipped, &mut placement) {
        return Placement::failed(error);
    }
    let cycle = Cycle { model, profile, occupancy, pod };
    let scored = score_placement(&cycle, known.as_ref(), &mut placement, detail);
    if let Some(known) = known {
        known.keep(occupancy.known(), None);
    }
    match scored {
        Ok(()) => placement,
        Err(error) => Placement::failed(error),
    }
}

/// Those of some nodes that filters keep the pod off, without what is known of pods alike.
pub(crate) fn refused<'s>(
    model: &Model<'s>,
    profile: &Profile,
    occupancy: &mut Occupancy<'s>,
    pod: &PodRef<'s>,
    nodes: &[NodeId],
) -> Vec<NodeId> {
    let nominated = Nominated::before(model, pod);
    let mut placement = Placement::default();
    let skipped = {
        let cycle = Cycle { model, profile, occupancy, pod };
        let Looked::GoesOn { steps, skipped, only } = look(&cycle, &[]) else {
            return nodes.to_vec();
        };
        for &node in nodes {
            let outside = only.as_ref().is_some_and(|only| only.binary_search(&node).is_err());
            match check(&cycle, steps.iter(), node) {
                Ok(None) if !outside => {}
                Ok(found) => {
                    let fault = found.map_or_else(nothing_in_common, |(_, fault)| fault);
                    placement.infeasible.push((node, fault));
                }
                Err(_) => return nodes.to_vec(),
            }
        }
        skipped
    };
    let found = nominated.filter(model, profile, occupancy, pod, &skipped, &mut placement);
    if found.is_err() {
        return nodes.to_vec();
    }
    let refused = placement.infeasible.into_iter().map(|(node, _)| node);
    refused.filter(|node| nodes.contains(node)).collect()
}

/// PreFilter, leaving out the plugins in `off`.
pub(crate) fn look<'c, 's>(cycle: &'c Cycle<'c, 's>, off: &[Plugin]) -> Looked<'c, 's> {
    let (mut filters, mut skipped): (Vec<(Plugin, _)>, Vec<Plugin>) = Default::default();
    let mut only: Option<Vec<&str>> = None;
    let mut rejected = None;
    for &plugin in cycle.profile.pre_filter.iter().filter(|plugin| !off.contains(plugin)) {
        match plugins::prepare(plugin, cycle) {
            Prepared::Skip => skipped.push(plugin),
            Prepared::Filter(filter) => filters.push((plugin, filter)),
            Prepared::Within(mut names, filter) => {
                if let Some(only) = &only {
                    names.retain(|name| only.contains(name));
                }
                only = Some(names);
                filters.push((plugin, filter));
                // Names of nodes that do not exist count here, too.
                if only.as_ref().is_some_and(Vec::is_empty) {
                    return Looked::Ends(Placement::rejected(nothing_in_common()));
                }
            }
            Prepared::Reject(code, why) => {
                let fault = Fault { code, plugin: Some(plugin), why };
                if code == Code::UnschedulableAndUnresolvable {
                    return Looked::Ends(Placement::rejected(fault));
                }
                rejected = Some(fault);
            }
        }
    }
    if let Some(fault) = rejected {
        return Looked::Ends(Placement::rejected(fault));
    }
    let place = |plugin: Plugin| cycle.profile.filter.iter().position(|&other| other == plugin);
    let steps = filters
        .into_iter()
        .filter_map(|(plugin, filter)| Some(Step { place: place(plugin)?, plugin, filter }));
    let mut steps: Vec<Step<'c, 's>> = steps.collect();
    steps.sort_by_key(|step| step.place);
    let only = only.map(|names| nodes_named(cycle.snapshot(), &names));
    Looked::GoesOn { steps, skipped, only }
}

fn nodes_named(snapshot: &Snapshot, names: &[&str]) -> Vec<NodeId> {
    let nodes = snapshot.nodes();
    let find = |name: &&str| {
        let at = nodes.binary_search_by(|&node| (*snapshot.node(node).name).cmp(name)).ok()?;
        Some(nodes[at])
    };
    let mut found: Vec<NodeId> = names.iter().filter_map(find).collect();
    found.sort_unstable();
    found
}

fn nothing_in_common() -> Fault {
    Fault { code: Code::UnschedulableAndUnresolvable, plugin: None, why: Why::OutsideSet }
}

/// Sorts all nodes into feasible and not. Unless `plain`, what is known of pods alike is used, and
/// returned for scoring.
fn filter<'s>(
    cycle: &Cycle<'_, 's>,
    steps: &[Step<'_, 's>],
    only: Option<&[NodeId]>,
    plain: bool,
    placement: &mut Placement,
) -> Result<Option<Known<'s>>, CycleError> {
    let known = if plain { None } else { Known::of(cycle, steps)? };
    let is_left =
        |step: &&Step<'_, '_>| known.is_none() || filter_basis(step.plugin) == Basis::More;
    let rest: Vec<&Step<'_, 's>> = steps.iter().filter(is_left).collect();
    placement.feasible.reserve(cycle.snapshot().nodes().len());
    for &node in cycle.snapshot().nodes() {
        if only.is_some_and(|only| only.binary_search(&node).is_err()) {
            placement.infeasible.push((node, nothing_in_common()));
            continue;
        }
        let mut found = known.as_ref().and_then(|known| known.fault(node));
        if !rest.is_empty() {
            let before = found.map_or(usize::MAX, |(place, _)| place);
            let earlier = rest.iter().copied().take_while(|step| step.place < before);
            found = check(cycle, earlier, node)?.or(found);
        }
        match found {
            None => {
                placement.feasible.push(Candidate { node, total: 0, scores: Vec::new() });
            }
            Some((_, fault)) => placement.infeasible.push((node, fault)),
        }
    }
    Ok(known)
}

/// The first fault that a filter finds with a node, with the place of the filter.
pub(crate) fn check<'a, 'c: 'a, 's: 'a>(
    cycle: &Cycle<'_, 's>,
    steps: impl Iterator<Item = &'a Step<'c, 's>>,
    node: NodeId,
) -> Result<Option<(usize, Fault)>, CycleError> {
    for Step { place, plugin, filter } in steps {
        match filter.check(cycle, node) {
            Ok(()) => {}
            Err(Rejection::Fault(code, why)) => {
                return Ok(Some((*place, Fault { code, plugin: Some(*plugin), why })));
            }
            Err(Rejection::Error(message)) => {
                return Err(CycleError { stage: Stage::Filter, plugin: *plugin, message });
            }
        }
    }
    Ok(None)
}

/// Pods that preemption has promised a node to, and that come first
/// (docs/spec/scheduler.md section 8.1).
pub(crate) struct Nominated(Vec<(NodeId, PodId)>);

impl Nominated {
    pub(crate) fn before(model: &Model<'_>, pod: &PodRef<'_>) -> Self {
        let before = |&&(_, id): &&(NodeId, PodId)| {
            let other = model.snapshot().pod(id);
            id != pod.id && other.spec.priority.unwrap_or(0) >= pod.priority()
        };
        Self(model.nominated.iter().filter(before).copied().collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Filters the nodes concerned once more with those pods on them.
    fn filter<'s>(
        &self,
        model: &Model<'s>,
        profile: &Profile,
        occupancy: &mut Occupancy<'s>,
        pod: &PodRef<'s>,
        skipped: &[Plugin],
        placement: &mut Placement,
    ) -> Result<(), CycleError> {
        for of_node in self.0.chunk_by(|(a, _), (b, _)| a == b) {
            let node = of_node[0].0;
            let outside =
                |(other, fault): &(NodeId, Fault)| *other == node && fault.plugin.is_none();
            if placement.infeasible.iter().any(outside) {
                continue;
            }
            let mark = occupancy.mark();
            for &(_, id) in of_node {
                occupancy.nominate(PodRef::of(model.snapshot(), id), node);
            }
            let cycle = Cycle { model, profile, occupancy, pod };
            let found = match look(&cycle, skipped) {
                Looked::Ends(Placement { error: Some(error), .. }) => Err(error),
                Looked::Ends(placement) => Ok(placement.rejected),
                Looked::GoesOn { steps, .. } => {
                    check(&cycle, steps.iter(), node).map(|found| found.map(|(_, fault)| fault))
                }
            };
            occupancy.undo_to(mark);
            if let Some(fault) = found? {
                placement.feasible.retain(|scored| scored.node != node);
                placement.infeasible.retain(|(other, _)| *other != node);
                placement.infeasible.push((node, fault));
            }
        }
        if !self.0.is_empty() {
            let snapshot = model.snapshot();
            placement
                .infeasible
                .sort_by(|(a, _), (b, _)| snapshot.node(*a).name.cmp(&snapshot.node(*b).name));
        }
        Ok(())
    }
}

/// The pods without a node that preemption has promised one to, with it, by node.
pub(crate) fn nominated(snapshot: &Snapshot) -> Vec<(NodeId, PodId)> {
    let node_of = |id: PodId| {
        let name = snapshot.text(snapshot.pod(id).nominated?);
        let found = snapshot.nodes().iter().find(|&&node| *snapshot.node(node).name == *name);
        found.map(|&node| (node, id))
    };
    let mut all: Vec<_> = snapshot.pending().iter().copied().filter_map(node_of).collect();
    all.sort_unstable();
    all
}

/// Scores the feasible nodes of a placement.
fn score_placement<'s>(
    cycle: &Cycle<'_, 's>,
    known: Option<&Known<'s>>,
    placement: &mut Placement,
    detail: bool,
) -> Result<(), CycleError> {
    let Placement { feasible, plugins, .. } = placement;
    if feasible.is_empty() {
        return Ok(());
    }
    let nodes: Vec<NodeId> = feasible.iter().map(|scored| scored.node).collect();
    let scorers = scorers(cycle, Crowd::of(&nodes))?;
    let totals = score(cycle, known, &scorers, &nodes, |plugin, scores| {
        plugins.push(plugin);
        if detail {
            feasible.iter_mut().zip(scores).for_each(|(scored, score)| scored.scores.push(*score));
        }
    });
    feasible.iter_mut().zip(totals).for_each(|(scored, total)| scored.total = total);
    Ok(())
}

/// A plugin that scores in this cycle.
pub(crate) struct Scorer<'c, 's> {
    pub(crate) plugin: Plugin,
    weight: i64,
    pub(crate) scores: Box<dyn NodeScore<'s> + 'c>,
}

/// PreScore: the plugins that score the feasible nodes, in the order of the profile.
pub(crate) fn scorers<'c, 's>(
    cycle: &'c Cycle<'c, 's>,
    feasible: Crowd<'c>,
) -> Result<Vec<Scorer<'c, 's>>, CycleError> {
    let failed = |stage, plugin, message| Err(CycleError { stage, plugin, message });
    // A plugin whose scores are switched off prepares them all the same, and may fail at it.
    for &plugin in &cycle.profile.pre_score {
        if !cycle.profile.score.iter().any(|&(other, _)| other == plugin)
            && let Scores::Error(message) = plugins::scores(plugin, cycle, feasible)
        {
            return failed(Stage::PreScore, plugin, message);
        }
    }
    let mut scorers = Vec::with_capacity(cycle.profile.score.len());
    for &(plugin, weight) in &cycle.profile.score {
        match plugins::scores(plugin, cycle, feasible) {
            Scores::Skip => {}
            Scores::Error(message) => return failed(Stage::PreScore, plugin, message),
            Scores::Panic(message) => return failed(Stage::Panic, plugin, message),
            Scores::By(scores) => scorers.push(Scorer { plugin, weight, scores }),
        }
    }
    Ok(scorers)
}

/// The sums of the weighted scores of nodes, in their order. Calls `told` for each plugin that
/// scores, with its weighted scores; without them where something of them is known.
///
/// Scores are made comparable among these nodes: so they must be all feasible ones, or of any that
/// all plugins score alike at least one.
pub(crate) fn score<'s>(
    cycle: &Cycle<'_, 's>,
    known: Option<&Known<'s>>,
    scorers: &[Scorer<'_, 's>],
    nodes: &[NodeId],
    mut told: impl FnMut(Plugin, &[i64]),
) -> Vec<i64> {
    let mut totals: Vec<i64> = match known {
        Some(known) => nodes.iter().map(|&node| known.score(node)).collect(),
        None => vec![0; nodes.len()],
    };
    let mut raw: Vec<i64> = Vec::with_capacity(nodes.len());
    for &Scorer { plugin, weight, ref scores } in scorers {
        raw.clear();
        match known.map(|known| (score_basis(plugin), known)) {
            // It is in the sum already.
            Some((Basis::Sum, _)) => {
                told(plugin, &[]);
                continue;
            }
            Some((Basis::Node, known)) => match &*known.raw(cycle, plugin, &**scores) {
                Raw::Each(each) => raw.extend(nodes.iter().map(|node| each[node.index()])),
                Raw::Same(score) => {
                    let mut one = [*score];
                    scores.normalize(&nodes[..1], &mut one);
                    totals.iter_mut().for_each(|total| *total += one[0] * weight);
                    told(plugin, &[]);
                    continue;
                }
            },
            Some((Basis::More, _)) | None => scores.fill(cycle, nodes, &mut raw),
        }
        scores.normalize(nodes, &mut raw);
        raw.iter_mut().for_each(|score| *score *= weight);
        totals.iter_mut().zip(&raw).for_each(|(total, score)| *total += score);
        told(plugin, &raw);
    }
    totals
}
