//! Moves pods from nodes that are used too much to nodes that are used little.
//!
//! A node is under-utilized when it uses at most the `thresholds` of every resource named there,
//! and over-utilized when it uses more than the `targetThresholds` of at least one. Pods leave
//! over-utilized nodes, the least important first, until the node is no longer over its targets or
//! the under-utilized nodes would reach theirs.
//!
//! ```yaml
//! apiVersion: descheduler/v1alpha2
//! kind: DeschedulerPolicy
//! profiles:
//!   - name: balance
//!     pluginConfig:
//!       - name: LowNodeUtilization
//!         args:
//!           thresholds: {cpu: 20, memory: 20, pods: 20}
//!           targetThresholds: {cpu: 50, memory: 50, pods: 50}
//!     plugins:
//!       balance:
//!         enabled: [LowNodeUtilization]
//! ```
//!
//! Use is what pods request, as the scheduler counts it, in percent of what the node can allocate; or,
//! with `metricsUtilization: {source: KubernetesMetrics}`, what NodeMetrics and PodMetrics say. A node
//! or a pod of which they say nothing, or nothing of the last five minutes, takes no part.
//! With `useDeviationThresholds` the numbers are distances from the average over all nodes instead;
//! where nodes differ in size, what all of them use of all they have counts as well: a pod leaves a
//! node that is over its target by both averages, for one that is within it by both.
//! Nothing is done while all nodes are under-utilized, none is, at most `numberOfNodes` are, or
//! none is over-utilized. A pod moves only to a node that stays within its targets and is less used
//! than the one it leaves. With placement off nobody looks at single nodes: then CPU, memory and
//! the number of pods count even without thresholds, and as long as the under-utilized nodes
//! together have nothing left of one of them, no pod moves.

use std::cmp::Reverse;

use descheduler_cluster::{NodeId, PodId, ResourceId, Snapshot};
use descheduler_engine::{Args, Inquiry, Judge, Pass, Reason, Strategy, StrategyDef, Turn};
use descheduler_scheduler::{PodRef, View};
use smallvec::SmallVec;

use crate::meter::{Meter, Source};
use crate::scope::Namespaces;
use crate::utilization::{
    Levels, Relief, Thresholds, Tracked, capped, exhausted, headroom, levels, never_under,
    nobody_has, percent, percent_of, read_thresholds, require_same_resources, too_few_under,
    tracked, unmeasured, uses, weight,
};
use crate::worked_on::WorkedOn;

pub(crate) static DEF: StrategyDef = StrategyDef {
    name: "LowNodeUtilization",
    pass: Pass::Balance,
    summary: "Moves pods from nodes that are used too much to nodes that are used little.",
    build,
};

/// The node is over its target.
const OVER_UTILIZED_NODE: &str = "OverUtilizedNode";
/// The pod requests nothing of what its node is over its target in.
const NO_RELIEF: &str = "NoRelief";

struct LowNodeUtilization {
    deviation: bool,
    thresholds: Thresholds,
    targets: Thresholds,
    number_of_nodes: i64,
    namespaces: Namespaces,
    per_node: Option<u64>,
    source: Source,
}

/// Reads the arguments (docs/spec/strategies.md sections 7.1 and 7.2).
fn build(args: &mut Args<'_>) -> Option<Box<dyn Strategy>> {
    let doc = "The thresholds are distances from the average use, in percentage points.";
    let deviation = args.flag("useDeviationThresholds", doc);
    let doc = "Nodes that use at most this, in percent, are under-utilized.";
    let thresholds = read_thresholds(args, "thresholds", doc);
    let doc = "Nodes that use more than this, in percent, are over-utilized.";
    let targets = read_thresholds(args, "targetThresholds", doc);
    require_same_resources(args, &thresholds, &targets);
    if !deviation {
        refuse_crossed(args, &thresholds, &targets);
    }
    let doc = "Do nothing unless more nodes than this are under-utilized.";
    let number_of_nodes = args.arg("numberOfNodes", doc).or(0_i64);
    let namespaces = Namespaces::read_evictable(args);
    let per_node = args.object("evictionLimits", "Limits of this strategy.", |limits| {
        let limit = limits.optional("node", "How many pods may leave one node in a cycle.");
        if limit == Some(0) {
            let message = "`evictionLimits.node` is 0: no pod leaves a node";
            limits.warning(limits.at("node"), "limit-of-zero", message);
        }
        limit
    });
    let source = Source::read(args);
    source.check(args, "thresholds", &thresholds);
    source.check(args, "targetThresholds", &targets);
    // Measured use can be above what is allocatable, which leaves some room for the system.
    let out_of_reach = !targets.is_empty() && targets.values().all(|target| target.get() >= 100.0);
    if out_of_reach && !deviation && source == Source::Requests {
        let message = "no node is over-utilized: the scheduler lets pods request at most 100%";
        args.warning(args.at("targetThresholds"), "target-out-of-reach", message);
    }
    Some(Box::new(LowNodeUtilization {
        deviation,
        thresholds,
        targets,
        number_of_nodes,
        namespaces,
        per_node: per_node.flatten(),
        source,
    }))
}

fn refuse_crossed(args: &mut Args<'_>, thresholds: &Thresholds, targets: &Thresholds) {
    for (resource, low) in thresholds {
        if let Some(high) = targets.get(resource).filter(|high| low > high) {
            let message = format!(
                "the threshold of `{resource}`, {low}, is above its target threshold, {high}"
            );
            let place = args.at("thresholds").key(resource);
            args.error(place, "threshold-over-target", message);
        }
    }
}

/// What the nodes are for the strategy.
#[derive(Default)]
struct Classified {
    under: Vec<NodeId>,
    over: Vec<NodeId>,
}

impl Strategy for LowNodeUtilization {
    fn run(&self, turn: &mut Turn<'_, '_>) {
        let snapshot = turn.snapshot();
        if self.source == Source::Prometheus {
            turn.note(Source::NO_PROMETHEUS);
            return;
        }
        let tracked = tracked(snapshot, &self.thresholds);
        let meter = self.meter(snapshot);
        if let Some(unknown) = meter.unknown(turn.nodes()) {
            turn.note(unknown);
        }
        if let Some(useless) = nobody_has(snapshot, turn.nodes(), &self.thresholds) {
            turn.note(useless);
        }
        let (low, high) = match turn.knows_places() {
            // The judge goes by the cluster as it was found, and so it must be here.
            true => self.levels_as_found(snapshot, turn.nodes(), f64::max),
            false => self.levels(&meter, turn.view(), turn.nodes()),
        };
        let Classified { under, mut over } =
            classify(&meter, turn.view(), turn.nodes(), &low, &high);
        // Around an average the levels are others with every move.
        if under.is_empty()
            && !self.deviation
            && let Some(never) = never_under(&meter, turn.view(), turn.nodes(), &low)
        {
            turn.note(never);
        }
        if let Some(why) = self.why_nothing(turn.nodes().len(), under.len(), over.len()) {
            turn.note(why);
            return;
        }
        over.sort_by_cached_key(|&node| {
            let weight = meter.node(turn.view(), node).map(|used| weight(&used, &tracked));
            (Reverse(weight), &snapshot.node(node).name)
        });
        match turn.knows_places() {
            true => self.relieve_to_better_places(turn, &meter, &over, &high),
            false => {
                let nodes = Classified { under, over };
                self.relieve_into_headroom(turn, &meter, &nodes, &high, &tracked);
            }
        }
    }

    fn goes_by_use(&self) -> bool {
        self.source == Source::Metrics
    }

    fn judge<'s>(&'s self, snapshot: &'s Snapshot, nodes: &[NodeId]) -> Box<dyn Judge<'s> + 's> {
        let (_, high) = self.levels_as_found(snapshot, nodes, f64::min);
        let names = high.iter().map(|(resource, _)| snapshot.resource_name(*resource).to_owned());
        let (meter, nodes) = (self.meter(snapshot), WorkedOn::new(snapshot, nodes));
        Box::new(Load { names: names.collect(), high, meter, nodes })
    }

    fn examine(&self, pod: PodId, inquiry: &mut Inquiry<'_, '_>) {
        self.namespaces.examine(pod, inquiry);
        let Some(node) = inquiry.snapshot().pod(pod).node else { return };
        let meter = self.meter(inquiry.snapshot());
        if meter.pod(pod).is_none() {
            inquiry.check("use of the pod", false, unmeasured().detail);
        }
        self.survey(node, inquiry);
    }

    fn survey(&self, node: NodeId, inquiry: &mut Inquiry<'_, '_>) {
        let (snapshot, nodes) = (inquiry.snapshot(), inquiry.nodes());
        let meter = self.meter(snapshot);
        let (low, high) = match inquiry.knows_places() {
            true => self.levels_as_found(snapshot, nodes, f64::max),
            false => self.levels(&meter, inquiry.view(), nodes),
        };
        let shown = [("threshold", &low), ("target", &high)];
        let name = &snapshot.node(node).name;
        let Some(table) = uses(&meter, inquiry.view(), node, &shown) else {
            inquiry.check("node", false, format!("the use of {name} is not known"));
            return;
        };
        inquiry.table(table);
        let found = classify(&meter, inquiry.view(), nodes, &low, &high);
        let over = found.over.contains(&node);
        let detail = match (over, found.under.contains(&node)) {
            (true, _) => "is over-utilized",
            (false, true) => "is under-utilized",
            (false, false) => "is used as it should be",
        };
        inquiry.check("node", over, format!("{name} {detail}"));
        let nothing = self.why_nothing(nodes.len(), found.under.len(), found.over.len());
        if let Some(why) = nothing {
            inquiry.check("nodes", false, why);
        }
    }
}

/// How full nodes are, measured by the resources with thresholds.
struct Load<'s> {
    names: Vec<String>,
    high: Levels,
    meter: Meter<'s>,
    nodes: WorkedOn,
}

impl<'s> Load<'s> {
    /// The percentage of each resource with a threshold if the pod is on the node, unless the
    /// node's use is not known.
    fn percentages(&self, view: &View<'s>, pod: &PodRef<'s>, id: NodeId) -> Option<SmallVec<[f64; 4]>> {
        let used = self.meter.node(view, id)?;
        let capacity = view.snapshot().node(id).measured_capacity();
        let would_use = self.meter.with(view, pod, id, &used);
        let percentages = self.high.iter().map(|&(resource, _)| {
            percent_of(would_use(resource), capacity, resource).unwrap_or(0.0)
        });
        Some(percentages.collect())
    }
}

fn highest(percentages: &[f64]) -> f64 {
    percentages.iter().copied().fold(0.0, f64::max)
}

impl<'s> Judge<'s> for Load<'s> {
    /// By how much the node is over its targets, in thousandths of a percentage point.
    fn standing(&self, view: &View<'s>, pod: &PodRef<'s>, node: NodeId) -> i64 {
        let uses = self.percentages(view, pod, node).unwrap_or_default();
        let over = uses.iter().zip(&self.high).map(|(use_, &(_, level))| use_ - level);
        (over.fold(0.0, f64::max) * 1000.0) as i64
    }

    fn goal(&self, view: &View<'s>, pod: &PodRef<'s>, to: NodeId) -> Result<(), String> {
        self.nodes.keeps(to)?;
        let Some(there) = self.percentages(view, pod, to) else {
            return Err("whose use is not known".to_owned());
        };
        for ((&use_, &(_, level)), name) in there.iter().zip(&self.high).zip(&self.names) {
            if use_ > level {
                return Err(format!(
                    "whose {name} would be at {use_:.0}%, over the target of {level:.0}%"
                ));
            }
        }
        let old = view.pod(pod.id);
        let here = view.node_of(pod.id).and_then(|from| self.percentages(view, &old, from));
        let Some(here) = here else { return Ok(()) };
        let (there, here) = (highest(&there), highest(&here));
        match there < here {
            true => Ok(()),
            false => Err(format!("which would be at {there:.0}%, no less than {here:.0}% now")),
        }
    }
}

impl LowNodeUtilization {
    fn meter<'s>(&self, snapshot: &'s Snapshot) -> Meter<'s> {
        let tracked = tracked(snapshot, &self.thresholds);
        Meter::new(snapshot, self.source, tracked.iter().map(|resource| resource.id))
    }

    /// Proposes the pods of over-utilized nodes until these are at their targets; whether there is
    /// a better place is for the turn to say.
    fn relieve_to_better_places<'s>(
        &self,
        turn: &mut Turn<'_, 's>,
        meter: &Meter<'s>,
        over: &[NodeId],
        high: &Levels,
    ) {
        let snapshot = turn.snapshot();
        // The hottest node first, by the resource that it is fullest of.
        let heat = |node: NodeId| {
            let Some(used) = meter.node(turn.view(), node) else { return 0.0 };
            let capacity = snapshot.node(node).measured_capacity();
            let uses = high.iter().filter_map(|&(resource, _)| percent(&used, capacity, resource));
            uses.fold(0.0, f64::max)
        };
        let mut over: Vec<(f64, NodeId)> = over.iter().map(|&node| (heat(node), node)).collect();
        over.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let named: Vec<Tracked> = high
            .iter()
            .map(|&(id, _)| Tracked { name: snapshot.resource_name(id).to_owned(), id })
            .collect();
        let excess = |view: &View<'s>, node: NodeId| excess(meter, view, node, high, &named);
        let helps =
            |view: &View<'s>, pod: PodId, node: NodeId| helps(meter, view, pod, node, high);
        let namespaces = self.namespaces.bind(snapshot);
        let mut relief =
            Relief::anywhere(meter, namespaces, self.per_node, &excess).helping(&helps);
        for (_, node) in over {
            relief.relieve(turn, node);
        }
    }

    /// Upstream's way: as long as the under-utilized nodes together have something left of every
    /// resource that is looked at.
    fn relieve_into_headroom<'s>(
        &self,
        turn: &mut Turn<'_, 's>,
        meter: &Meter<'s>,
        Classified { under, over }: &Classified,
        high: &Levels,
        tracked: &[Tracked],
    ) {
        let snapshot = turn.snapshot();
        let headroom = headroom(meter, turn.view(), under, high, tracked);
        if let Some(Tracked { name, .. }) = exhausted(&headroom, tracked) {
            let count = under.len();
            turn.note(format!("nothing moves: the {count} under-utilized nodes have no {name} left"));
            return;
        }
        let excess = |view: &View<'s>, node: NodeId| excess(meter, view, node, high, tracked);
        let namespaces = self.namespaces.bind(snapshot);
        let mut relief = Relief::new(meter, under, headroom, namespaces, self.per_node, &excess);
        for &node in over {
            relief.relieve(turn, node);
        }
        if let Some(Tracked { name, .. }) = exhausted(relief.headroom(), tracked) {
            turn.note(format!("stopped when the under-utilized nodes had no {name} left"));
        }
    }

    /// What is under-utilized and what is over-utilized, in percent by resource.
    fn levels<'s>(
        &self,
        meter: &Meter<'s>,
        view: &View<'s>,
        nodes: &[NodeId],
    ) -> (Levels, Levels) {
        match self.deviation {
            false => self.fixed_levels(view.snapshot()),
            true => self.levels_around_average(meter, view, nodes),
        }
    }

    /// The same by the cluster as it was found, which fixed levels need not be laid out for.
    fn levels_as_found(
        &self,
        snapshot: &Snapshot,
        nodes: &[NodeId],
        choose: fn(f64, f64) -> f64,
    ) -> (Levels, Levels) {
        match self.deviation {
            false => self.fixed_levels(snapshot),
            true => {
                let (meter, view) = (self.meter(snapshot), View::new(snapshot));
                let (low, high) = self.levels_around_average(&meter, &view, nodes);
                (low, self.with_steady_average(&meter, &view, nodes, &high, choose))
            }
        }
    }

    fn fixed_levels(&self, snapshot: &Snapshot) -> (Levels, Levels) {
        (levels(snapshot, &self.thresholds), levels(snapshot, &self.targets))
    }

    /// The average over the nodes that have the resource, minus and plus the thresholds.
    fn levels_around_average<'s>(
        &self,
        meter: &Meter<'s>,
        view: &View<'s>,
        nodes: &[NodeId],
    ) -> (Levels, Levels) {
        let snapshot = view.snapshot();
        let (mut low, mut high) = (Levels::new(), Levels::new());
        for (name, below) in &self.thresholds {
            let resource = snapshot.resource(name);
            let uses = nodes.iter().filter_map(|&id| {
                let capacity = snapshot.node(id).measured_capacity();
                percent(&*meter.node(view, id)?, capacity, resource)
            });
            let (sum, count) = uses.fold((0.0, 0_u32), |(sum, count), use_| (sum + use_, count + 1));
            let Some(above) = self.targets.get(name).filter(|_| count > 0) else { continue };
            let average = sum / f64::from(count);
            low.push((resource, (average - below.get()).clamp(0.0, 100.0)));
            high.push((resource, (average + above.get()).clamp(0.0, 100.0)));
        }
        (low, high)
    }

    /// Targets that hold whichever average one takes: that of the nodes, around which `high` lies,
    /// falls when a pod goes from a small node to a large one; the share of all capacity that is used
    /// does not. Pods leave nodes that are over both targets and go to nodes that stay within both,
    /// so that no node becomes over-utilized only because others are relieved.
    fn with_steady_average<'s>(
        &self,
        meter: &Meter<'s>,
        view: &View<'s>,
        nodes: &[NodeId],
        high: &Levels,
        choose: fn(f64, f64) -> f64,
    ) -> Levels {
        let snapshot = view.snapshot();
        let steady = |&(resource, level): &(ResourceId, f64)| {
            let Some(above) = self.targets.get(snapshot.resource_name(resource)) else {
                return (resource, level);
            };
            let (mut used, mut capacity) = (0.0, 0.0);
            for &node in nodes {
                let has = snapshot.node(node).measured_capacity().find(resource);
                if let (Some(has), Some(uses)) = (has, meter.node(view, node)) {
                    used += uses.get(resource) as f64;
                    capacity += has as f64;
                }
            }
            let average = if capacity > 0.0 { used / capacity * 100.0 } else { 0.0 };
            (resource, choose(level, (average + above.get()).clamp(0.0, 100.0)))
        };
        high.iter().map(steady).collect()
    }

    /// The conditions under which nothing is done, in upstream's order.
    fn why_nothing(&self, nodes: usize, under: usize, over: usize) -> Option<String> {
        let too_few = too_few_under(nodes, under, self.number_of_nodes);
        if too_few.is_some() {
            return too_few;
        }
        if under == nodes {
            return Some(format!("nothing moves: all {nodes} nodes are under-utilized"));
        }
        (over == 0).then(|| format!("nothing moves: none of {nodes} nodes is over-utilized"))
    }
}

/// docs/spec/strategies.md sections 6.4 and 7.3, 3.
fn classify<'s>(
    meter: &Meter<'s>,
    view: &View<'s>,
    nodes: &[NodeId],
    low: &Levels,
    high: &Levels,
) -> Classified {
    let mut found = Classified::default();
    for &id in nodes {
        let node = view.snapshot().node(id);
        let Some(used) = meter.node(view, id) else { continue };
        let capacity = node.measured_capacity();
        let use_of = |resource| percent(&used, capacity, resource).unwrap_or(0.0);
        if !node.unschedulable && low.iter().all(|&(r, level)| use_of(r) <= level) {
            found.under.push(id);
        } else if high.iter().any(|&(r, level)| use_of(r) > level) {
            found.over.push(id);
        }
    }
    found
}

/// By which resource a node is still over what it may use, if by any. All tracked resources count;
/// those with a target are told first.
fn excess<'s>(
    meter: &Meter<'s>,
    view: &View<'s>,
    id: NodeId,
    levels: &Levels,
    tracked: &[Tracked],
) -> Option<Reason> {
    let node = view.snapshot().node(id);
    let used = meter.node(view, id)?;
    let capacity = node.measured_capacity();
    let is_over = |r: ResourceId| used.get(r) > capped(capacity, levels, r);
    let level_of = |r: ResourceId| levels.iter().find(|(of, _)| *of == r).map(|(_, level)| *level);
    let over = tracked.iter().filter(|resource| is_over(resource.id));
    let worst = over.max_by(|a, b| {
        let rank = |t: &Tracked| {
            let use_ = percent(&used, capacity, t.id).unwrap_or(f64::INFINITY);
            (level_of(t.id).is_some(), use_ - level_of(t.id).unwrap_or(100.0))
        };
        let ((a_target, a_excess), (b_target, b_excess)) = (rank(a), rank(b));
        // The first by name among equals.
        a_target.cmp(&b_target).then(a_excess.total_cmp(&b_excess)).then(b.name.cmp(&a.name))
    })?;
    let use_ = percent(&used, capacity, worst.id);
    let use_ = use_.map_or_else(|| "over".to_owned(), |use_| format!("{use_:.0}%"));
    let (resource, node) = (&worst.name, &node.name);
    let (level, verb) = (level_of(worst.id).unwrap_or(100.0), meter.source.verb());
    let detail = format!("{resource} of {node} is {verb} to {use_}, target {level:.0}%");
    Some(Reason::new(OVER_UTILIZED_NODE, detail))
}

/// Whether a pod uses any of what its node is over its target in. One that does not leaves the
/// node as full as it was.
fn helps<'s>(
    meter: &Meter<'s>,
    view: &View<'s>,
    id: PodId,
    node: NodeId,
    levels: &Levels,
) -> Result<(), Reason> {
    let snapshot = view.snapshot();
    let (Some(used), Some(uses)) = (meter.node(view, node), meter.pod(id)) else { return Ok(()) };
    let capacity = snapshot.node(node).measured_capacity();
    let over = |&&(resource, _): &&(ResourceId, f64)| {
        used.get(resource) > capped(capacity, levels, resource)
    };
    let over: Vec<ResourceId> = levels.iter().filter(over).map(|&(resource, _)| resource).collect();
    if over.iter().any(|&resource| resource == ResourceId::PODS || uses.get(resource) > 0) {
        return Ok(());
    }
    let names: Vec<&str> = over.iter().map(|&resource| snapshot.resource_name(resource)).collect();
    let (names, node) = (names.join(" and no "), &snapshot.node(node).name);
    let verb = if meter.source == Source::Requests { "requests" } else { "uses" };
    let detail = format!("it {verb} no {names}, of which {node} is over its target");
    Err(Reason::new(NO_RELIEF, detail))
}
