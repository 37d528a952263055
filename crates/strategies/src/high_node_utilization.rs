//! Frees nodes that are used little, so that they can be taken out of the cluster.
//!
//! A node is under-utilized when it uses at most the `thresholds` of every resource named there.
//! Its pods are moved to nodes that are used more. That makes sense with a scheduler that packs
//! (`NodeResourcesFit` with `MostAllocated`): the usual one would put the pods on the emptiest node.
//!
//! ```yaml
//! apiVersion: descheduler/v1alpha2
//! kind: DeschedulerPolicy
//! profiles:
//!   - name: pack
//!     pluginConfig:
//!       - name: HighNodeUtilization
//!         args:
//!           thresholds: {cpu: 20, memory: 20, pods: 20}
//!     plugins:
//!       balance:
//!         enabled: [HighNodeUtilization]
//! ```
//!
//! Use is what pods request, in percent of what the node can allocate; or, other than upstream, what
//! was measured, as in LowNodeUtilization. A node is freed as a whole or
//! not at all: every pod that would have to go must land on another node that is at least as used,
//! as it was found and with all that is planned already; limits and budgets may spread that over
//! several cycles. Pods of DaemonSets do not count, nor do those in namespaces that are excluded.
//! Even when all nodes are under-utilized the least used ones are freed. With thresholds on extended
//! resources alone, nodes without these are left alone, and so are pods that request none.
//!
//! With placement off nobody looks at single nodes: then pods leave as long as the nodes that are
//! not under-utilized have something left of every resource together, and nothing is done while all
//! nodes are under-utilized.

use descheduler_cluster::{NodeId, PodId, ResourceId, Snapshot};
use descheduler_engine::{
    Args, Inquiry, Judge, Pass, Proposal, Reason, Refusal, Strategy, StrategyDef, Turn, Verdict,
};
use descheduler_scheduler::{PodRef, View};

use crate::meter::{Meter, Source};
use crate::order::{least_important_first, owners_take_turns};
use crate::scope::{BoundNamespaces, Namespaces};
use crate::utilization::{
    Levels, Relief, Thresholds, belongs_to_node, exhausted, headroom, levels, never_under,
    nobody_has, percent, percent_of, read_thresholds, too_few_under, tracked, unmeasured, uses,
    weight,
};
use crate::worked_on::WorkedOn;

pub(crate) static DEF: StrategyDef = StrategyDef {
    name: "HighNodeUtilization",
    pass: Pass::Balance,
    summary: "Frees nodes that are used little.",
    build,
};

/// The node is used little.
const UNDER_UTILIZED_NODE: &str = "UnderUtilizedNode";
/// The pod could go, but another one that would have to go with it stays.
const NODE_NOT_FREED: &str = "NodeNotFreed";

/// What `evictionModes` may name.
const MODES: [&str; 1] = ["OnlyThresholdingResources"];

struct HighNodeUtilization {
    thresholds: Thresholds,
    number_of_nodes: i64,
    only_thresholding: bool,
    namespaces: Namespaces,
    source: Source,
}

/// Reads the arguments (docs/spec/strategies.md sections 8.1 and 8.2).
fn build(args: &mut Args<'_>) -> Option<Box<dyn Strategy>> {
    let doc = "Nodes that use at most this, in percent, are under-utilized.";
    let thresholds = read_thresholds(args, "thresholds", doc);
    let doc = "Do nothing unless more nodes than this are under-utilized.";
    let number_of_nodes = args.arg("numberOfNodes", doc).or(0_i64);
    let doc = "`OnlyThresholdingResources`: only pods that request a resource of the thresholds.";
    let modes = args.arg("evictionModes", doc).words(&MODES);
    let source = Source::read(args);
    source.check(args, "thresholds", &thresholds);
    Some(Box::new(HighNodeUtilization {
        source,
        thresholds,
        number_of_nodes,
        only_thresholding: !modes.is_empty(),
        namespaces: Namespaces::read_evictable(args),
    }))
}

/// What the nodes are for the strategy.
#[derive(Default)]
struct Classified {
    under: Vec<NodeId>,
    /// Neither under-utilized nor cordoned.
    schedulable: Vec<NodeId>,
}

impl Strategy for HighNodeUtilization {
    fn run(&self, turn: &mut Turn<'_, '_>) {
        let snapshot = turn.snapshot();
        if self.source == Source::Prometheus {
            turn.note(Source::NO_PROMETHEUS);
            return;
        }
        let gauge = self.gauge(snapshot, turn.nodes());
        if let Some(unknown) = gauge.meter.unknown(turn.nodes()) {
            turn.note(unknown);
        }
        if let Some(useless) = nobody_has(snapshot, turn.nodes(), &self.thresholds) {
            turn.note(useless);
        }
        let tracked = tracked(snapshot, &self.thresholds);
        let known = turn.knows_places();
        let mut found = gauge.classify(turn.view(), turn.nodes(), known);
        if found.under.is_empty()
            && let Some(never) = never_under(&gauge.meter, turn.view(), turn.nodes(), &gauge.levels)
        {
            turn.note(never);
        }
        if let Some(why) = self.why_nothing(turn.nodes().len(), &found, known) {
            turn.note(why);
            return;
        }
        match known {
            true => {
                found.under.sort_by_cached_key(|&node| {
                    (gauge.use_of(turn.view(), node, &gauge.levels), &snapshot.node(node).name)
                });
                for &node in &found.under {
                    self.free(turn, node, &gauge);
                }
            }
            false => {
                found.under.sort_by_cached_key(|&node| {
                    let used = gauge.meter.node(turn.view(), node);
                    (used.map(|used| weight(&used, &tracked)), &snapshot.node(node).name)
                });
                self.empty_into_headroom(turn, &found, &gauge);
            }
        }
    }

    fn goes_by_use(&self) -> bool {
        self.source == Source::Metrics
    }

    fn judge<'s>(&'s self, snapshot: &'s Snapshot, nodes: &[NodeId]) -> Box<dyn Judge<'s> + 's> {
        Box::new(self.gauge(snapshot, nodes))
    }

    fn examine(&self, pod: PodId, inquiry: &mut Inquiry<'_, '_>) {
        self.namespaces.examine(pod, inquiry);
        let snapshot = inquiry.snapshot();
        let Some(node) = snapshot.pod(pod).node else { return };
        let gauge = self.gauge(snapshot, inquiry.nodes());
        if !self.is_about(snapshot, &gauge.levels, inquiry.knows_places(), pod) {
            let detail = "it requests none of the resources with thresholds";
            inquiry.check("requests", false, detail);
        }
        if gauge.meter.pod(pod).is_none() {
            inquiry.check("use of the pod", false, unmeasured().detail);
        }
        self.survey(node, inquiry);
    }

    fn survey(&self, node: NodeId, inquiry: &mut Inquiry<'_, '_>) {
        let snapshot = inquiry.snapshot();
        let (gauge, known) = (self.gauge(snapshot, inquiry.nodes()), inquiry.knows_places());
        let name = &snapshot.node(node).name;
        let shown = [("threshold", &gauge.levels)];
        let Some(table) = uses(&gauge.meter, inquiry.view(), node, &shown) else {
            inquiry.check("node", false, format!("the use of {name} is not known"));
            return;
        };
        inquiry.table(table);
        let found = gauge.classify(inquiry.view(), inquiry.nodes(), known);
        let under = found.under.contains(&node);
        let verb = if under { "is under-utilized" } else { "is used enough" };
        inquiry.check("node", under, format!("{name} {verb}"));
        if let Some(why) = self.why_nothing(inquiry.nodes().len(), &found, known) {
            inquiry.check("nodes", false, why);
        }
    }
}

impl HighNodeUtilization {
    fn gauge<'s>(&self, snapshot: &'s Snapshot, nodes: &[NodeId]) -> Gauge<'s> {
        let levels = levels(snapshot, &self.thresholds);
        let tracked = tracked(snapshot, &self.thresholds);
        let meter = Meter::new(snapshot, self.source, tracked.iter().map(|resource| resource.id));
        Gauge { levels, meter, nodes: WorkedOn::new(snapshot, nodes) }
    }

    /// The conditions under which nothing is done, in upstream's order.
    fn why_nothing(&self, nodes: usize, found: &Classified, known: bool) -> Option<String> {
        let under = found.under.len();
        let too_few = too_few_under(nodes, under, self.number_of_nodes);
        if too_few.is_some() {
            return too_few;
        }
        if known {
            return None;
        }
        if under == nodes {
            return Some(format!("nothing moves: all {nodes} nodes are under-utilized"));
        }
        found.schedulable.is_empty().then(|| {
            format!("nothing moves: all {} nodes that are used more are cordoned", nodes - under)
        })
    }

    /// Whether the strategy is about pods like this one at all. If only extended resources are
    /// thresholds and places are known, it is about pods that request one.
    fn is_about(&self, snapshot: &Snapshot, levels: &Levels, known: bool, id: PodId) -> bool {
        let special = self.only_thresholding
            || (known && self.thresholds.keys().all(|name| is_extended(name)));
        let requests = &snapshot.pod(id).requests;
        // Pods request no `pods`.
        let asks = |&(resource, _): &(ResourceId, f64)| {
            resource != ResourceId::PODS && requests.find(resource).is_some()
        };
        !special || levels.iter().any(asks)
    }

    /// Upstream's way: as long as the other nodes together have something left of every resource
    /// that is looked at (docs/spec/strategies.md section 8.3).
    fn empty_into_headroom<'s>(
        &self,
        turn: &mut Turn<'_, 's>,
        found: &Classified,
        gauge: &Gauge<'s>,
    ) {
        let Gauge { levels, meter, nodes: _ } = gauge;
        let snapshot = turn.snapshot();
        let tracked = tracked(snapshot, &self.thresholds);
        // No node is kept from being full.
        let full: Levels = levels.iter().map(|&(resource, _)| (resource, 100.0)).collect();
        let headroom = headroom(meter, turn.view(), &found.schedulable, &full, &tracked);
        if let Some(resource) = exhausted(&headroom, &tracked) {
            let (count, name) = (found.schedulable.len(), &resource.name);
            turn.note(format!("nothing moves: the {count} other nodes have no {name} left"));
            return;
        }
        let idle = |view: &View<'s>, node: NodeId| gauge.reason(view, node);
        let is_about = |pod: PodId| self.is_about(snapshot, levels, false, pod);
        let namespaces = self.namespaces.bind(snapshot);
        let mut relief =
            Relief::new(meter, &found.schedulable, headroom, namespaces, None, &idle)
                .only(&is_about);
        for &node in &found.under {
            relief.relieve(turn, node);
        }
        if let Some(resource) = exhausted(relief.headroom(), &tracked) {
            turn.note(format!("stopped when the other nodes had no {} left", resource.name));
        }
    }

    /// Plans for all pods of a node that would have to go, or for none of them.
    fn free<'s>(&self, turn: &mut Turn<'_, 's>, node: NodeId, gauge: &Gauge<'s>) {
        // What this plan sends here cannot be sent on, so the node is not freed any more.
        if turn.view().pods_on(node).any(|pod| turn.view().is_gone(pod)) {
            return;
        }
        let snapshot = turn.snapshot();
        let namespaces = self.namespaces.bind(snapshot);
        let mut pods: Vec<PodId> = turn
            .view()
            .active_pods_on(node)
            .filter(|&pod| would_have_to_go(snapshot, &namespaces, pod))
            .filter(|&pod| self.is_about(snapshot, &gauge.levels, true, pod))
            .collect();
        pods.sort_by(|&a, &b| least_important_first(snapshot, a, b));
        owners_take_turns(snapshot, &mut pods, |&pod| pod);
        let Some(reason) = gauge.reason(turn.view(), node) else { return };
        // Whoever cannot go under any circumstances is asked first: that costs nothing.
        let held = |&pod: &PodId| turn.evictable(pod).and_then(|()| turn.may_leave(pod)).is_err();
        if let Some(at) = pods.iter().position(held) {
            pods.rotate_left(at);
        }
        turn.attempt(|turn| {
            for (at, &pod) in pods.iter().enumerate() {
                let proposal = Proposal { pod, reason: reason.clone() };
                let stays = if gauge.meter.pod(pod).is_none() {
                    turn.keep(pod, unmeasured());
                    true
                } else {
                    match turn.propose(proposal) {
                        Verdict::Planned => turn.view().node_of(pod) == Some(node),
                        Verdict::Refused(refusal) => !may_go_later(&refusal),
                    }
                };
                if stays {
                    let why = not_freed(snapshot, node, pod);
                    for &pod in &pods[at..] {
                        turn.keep(pod, why.clone());
                    }
                    return Err(why);
                }
            }
            Ok(())
        });
    }
}

/// Amounts that nodes have only where somebody added them, such as devices.
fn is_extended(name: &str) -> bool {
    let is_native = matches!(name, "cpu" | "memory" | "pods" | "ephemeral-storage");
    !is_native && !name.starts_with("hugepages-")
}

/// Whether the node is not free as long as the pod is there. Pods that belong to the node are not
/// counted, nor those that are going, nor those that the policy leaves alone.
fn would_have_to_go(snapshot: &Snapshot, namespaces: &BoundNamespaces, id: PodId) -> bool {
    keeps_node(snapshot, id) && namespaces.admit(snapshot.pod(id).namespace)
}

/// Whether a pod is a reason to keep a node: it does not come with each node, and it stays.
fn keeps_node(snapshot: &Snapshot, id: PodId) -> bool {
    let pod = snapshot.pod(id);
    !belongs_to_node(snapshot, id) && !pod.terminating
}

/// Whether a pod that is refused now can go in a later cycle, so that the rest may go before.
fn may_go_later(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Limit { limit: 1.., .. } | Refusal::Budget { allowed: 1.., .. })
}

fn not_freed(snapshot: &Snapshot, node: NodeId, pod: PodId) -> Reason {
    let (node, pod) = (&snapshot.node(node).name, snapshot.pod_name(pod));
    Reason::new(NODE_NOT_FREED, format!("{node} would not be free: {pod} stays"))
}

/// How much a node is used: first by the resources with thresholds, in thousandths of a percentage
/// point of all together, then by the number of pods, so that pods which use nothing are not sent
/// to and fro.
type Use = (i64, i64);

/// Judges places by how well they are used.
struct Gauge<'s> {
    levels: Levels,
    meter: Meter<'s>,
    nodes: WorkedOn,
}

impl<'s> Gauge<'s> {
    /// docs/spec/strategies.md sections 6.4 and 8.3, 3. `known`: a node without any of the
    /// resources is neither.
    fn classify(&self, view: &View<'s>, nodes: &[NodeId], known: bool) -> Classified {
        let mut found = Classified::default();
        for &id in nodes {
            let node = view.snapshot().node(id);
            let Some(used) = self.meter.node(view, id) else { continue };
            let use_of = |resource| percent(&used, node.measured_capacity(), resource);
            let mut levels = self.levels.iter();
            if known && levels.clone().all(|&(resource, _)| use_of(resource).is_none()) {
                continue;
            }
            if levels.all(|&(resource, level)| use_of(resource).unwrap_or(0.0) <= level) {
                found.under.push(id);
            } else if !node.unschedulable {
                found.schedulable.push(id);
            }
        }
        found
    }

    /// That the node is used little, in words.
    fn reason(&self, view: &View<'s>, id: NodeId) -> Option<Reason> {
        let snapshot = view.snapshot();
        let node = snapshot.node(id);
        let used = self.meter.node(view, id)?;
        let levels = self.levels.iter();
        let uses = levels.filter_map(|&(resource, level)| {
            let use_ = percent(&used, node.measured_capacity(), resource)?;
            let name = snapshot.resource_name(resource);
            Some((name, format!("{name} {use_:.0}%, threshold {level:.0}%")))
        });
        let mut uses: Vec<(&str, String)> = uses.collect();
        uses.sort();
        let uses: Vec<String> = uses.into_iter().map(|(_, text)| text).collect();
        let detail = format!("{} is used little: {}", node.name, uses.join("; "));
        Some(Reason::new(UNDER_UTILIZED_NODE, detail))
    }

    fn use_of(&self, view: &View<'s>, node: NodeId, levels: &Levels) -> Option<Use> {
        let capacity = view.snapshot().node(node).measured_capacity();
        let used = self.meter.node(view, node)?;
        let uses = levels.iter().filter_map(|&(resource, _)| percent(&used, capacity, resource));
        let sum = uses.map(|use_| (use_ * 1000.0) as i64).sum();
        Some((sum, used.get(ResourceId::PODS)))
    }
}

impl<'s> Judge<'s> for Gauge<'s> {
    /// How far the node with the pod on it is below its thresholds, if it is below all of them, in
    /// thousandths of a percentage point.
    fn standing(&self, view: &View<'s>, pod: &PodRef<'s>, id: NodeId) -> i64 {
        let capacity = view.snapshot().node(id).measured_capacity();
        let Some(used) = self.meter.node(view, id) else { return 0 };
        let would_use = self.meter.with(view, pod, id, &used);
        let mut below = 0.0;
        for &(resource, level) in &self.levels {
            let use_ = percent_of(would_use(resource), capacity, resource);
            let Some(use_) = use_ else { continue };
            if use_ > level {
                return 0;
            }
            below += level - use_;
        }
        (below * 1000.0) as i64
    }

    fn goal(&self, view: &View<'s>, pod: &PodRef<'s>, to: NodeId) -> Result<(), String> {
        let Some(from) = view.node_of(pod.id) else { return Ok(()) };
        if from == to {
            return Err("where it is now".to_owned());
        }
        self.nodes.keeps(to)?;
        if !view.active_pods_on(to).any(|pod| keeps_node(view.snapshot(), pod)) {
            return Err("which could be taken out of the cluster as well".to_owned());
        }
        let snapshot = view.snapshot();
        let has = |node: NodeId, resource| {
            snapshot.node(node).measured_capacity().find(resource).is_some()
        };
        let mut levels = self.levels.iter();
        if let Some((lacks, _)) = levels.find(|(r, _)| has(from, *r) && !has(to, *r)) {
            return Err(format!("which has no {}", snapshot.resource_name(*lacks)));
        }
        let shared: Levels =
            self.levels.iter().copied().filter(|&(resource, _)| has(from, resource)).collect();
        let there = self.use_of(view, to, &shared);
        match there {
            None => Err("whose use is not known".to_owned()),
            Some(_) if there >= self.use_of(view, from, &shared) => Ok(()),
            Some(_) => Err("which is used less than the node that it would leave".to_owned()),
        }
    }
}
