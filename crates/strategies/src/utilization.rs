//! How full nodes are, and moving pods from full ones to others (docs/spec/strategies.md section 6).

use std::collections::{BTreeMap, BTreeSet};

use descheduler_cluster::taints::tolerated;
use descheduler_cluster::{NodeId, PodId, ResourceId, Resources, Snapshot, Taint};
use descheduler_engine::{Args, Percent, Proposal, Reason, Table, Turn, Verdict};
use descheduler_scheduler::View;

use crate::meter::Meter;
use crate::order::{least_important_first, owners_take_turns};
use crate::scope::BoundNamespaces;

/// Percentages of capacity by resource name.
pub(crate) type Thresholds = BTreeMap<String, Percent>;

/// Every taint of every under-used node keeps the pod away.
const NO_DESTINATION_TOLERATED: &str = "NoDestinationTolerated";

/// What the pod uses is not known.
const USE_NOT_KNOWN: &str = "UseNotKnown";

/// Resources that are looked at whether there is a threshold for them or not.
const ALWAYS_TRACKED: [&str; 3] = ["cpu", "memory", "pods"];

/// Reads a mapping of percentages that has to be there.
pub(crate) fn read_thresholds(
    args: &mut Args<'_>,
    name: &'static str,
    doc: &'static str,
) -> Thresholds {
    args.arg(name, doc).required().map()
}

/// Two mappings must be about the same resources.
pub(crate) fn require_same_resources(args: &mut Args<'_>, low: &Thresholds, high: &Thresholds) {
    let pairs = [
        ("thresholds", low, "targetThresholds", high),
        ("targetThresholds", high, "thresholds", low),
    ];
    for (here, mine, there, other) in pairs {
        // What is missing altogether is an error already.
        for resource in mine.keys().filter(|r| !other.is_empty() && !other.contains_key(*r)) {
            if args.at(there).key(resource).span() != args.at(there).span() {
                continue;
            }
            let message = format!("`{resource}` stands in `{here}` but not in `{there}`");
            let place = args.at(here).key(resource);
            let help = "both must name the same resources".to_owned();
            args.error(place, "different-resources", message).help(help);
        }
    }
}

/// One resource that is looked at.
pub(crate) struct Tracked {
    /// Its name, as thresholds spell it.
    pub(crate) name: String,
    /// Its id in the snapshot, possibly `UNKNOWN`.
    pub(crate) id: ResourceId,
}

/// The resources with thresholds and those that are always looked at, by name.
pub(crate) fn tracked(snapshot: &Snapshot, thresholds: &Thresholds) -> Vec<Tracked> {
    let names = thresholds.keys().map(String::as_str).chain(ALWAYS_TRACKED);
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|n| Tracked { name: n.to_owned(), id: snapshot.resource(n) }).collect()
}

/// What is used of a node's capacity, in percent; `None` if the node does not have the resource
/// (docs/spec/strategies.md section 6.3).
pub(crate) fn percent(used: &Resources, capacity: &Resources, resource: ResourceId) -> Option<f64> {
    percent_of(used.get(resource), capacity, resource)
}

/// The same for an amount.
pub(crate) fn percent_of(used: i64, capacity: &Resources, resource: ResourceId) -> Option<f64> {
    match capacity.find(resource)? {
        0 => Some(0.0),
        capacity => Some(used as f64 / capacity as f64 * 100.0),
    }
}

/// The levels that hold for nodes: of each resource with a threshold its percentage.
pub(crate) type Levels = Vec<(ResourceId, f64)>;

/// Thresholds as levels.
pub(crate) fn levels(snapshot: &Snapshot, thresholds: &Thresholds) -> Levels {
    let pairs = thresholds.iter();
    pairs.map(|(name, level)| (snapshot.resource(name), level.get())).collect()
}

/// Resources with a threshold that none of the nodes has, as a line for the report.
pub(crate) fn nobody_has(
    snapshot: &Snapshot,
    nodes: &[NodeId],
    thresholds: &Thresholds,
) -> Option<String> {
    let has = |resource| {
        nodes.iter().any(|&id| snapshot.node(id).measured_capacity().find(resource).is_some())
    };
    let missing: Vec<&str> = thresholds
        .keys()
        .map(String::as_str)
        .filter(|name| !nodes.is_empty() && !has(snapshot.resource(name)))
        .collect();
    let decides =
        if missing.len() == 1 { "its threshold decides" } else { "their thresholds decide" };
    let names = missing.join(" and ");
    (!missing.is_empty()).then(|| format!("no node has {names}: {decides} nothing"))
}

/// Why none of the nodes can ever be under-utilized, as a line for the report, if that is so: the
/// pods that belong to each of them take more than the levels already.
pub(crate) fn never_under<'s>(
    meter: &Meter<'s>,
    view: &View<'s>,
    nodes: &[NodeId],
    levels: &Levels,
) -> Option<String> {
    let snapshot = view.snapshot();
    let mut over = BTreeSet::new();
    for &id in nodes.iter().filter(|&&id| meter.node(view, id).is_some()) {
        let pods = view.active_pods_on(id).filter(|&pod| belongs_to_node(snapshot, pod));
        let (mut used, mut count) = (Resources::default(), 0);
        for pod in pods {
            used.add(meter.estimate(&view.pod(pod)));
            count += 1;
        }
        used.set(ResourceId::PODS, count);
        let capacity = snapshot.node(id).measured_capacity();
        let exceeds = |&&(resource, level): &&(ResourceId, f64)| {
            percent(&used, capacity, resource).is_some_and(|use_| use_ > level)
        };
        // One node that can be is enough.
        over.insert(levels.iter().find(exceeds)?.0);
    }
    let names: Vec<&str> = over.iter().map(|&resource| snapshot.resource_name(resource)).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(" or ");
        format!(
            "no node can be under-utilized: with pods of DaemonSets and static pods alone each is \
             over the threshold of {names}"
        )
    })
}

/// Whether a pod goes with its node and nowhere else.
pub(crate) fn belongs_to_node(snapshot: &Snapshot, id: PodId) -> bool {
    let pod = snapshot.pod(id);
    pod.mirror
        || pod.static_pod
        || pod.owners.iter().any(|owner| snapshot.text(owner.kind) == "DaemonSet")
}

/// Why so few of the nodes being under-utilized means that nothing is done, if it does.
pub(crate) fn too_few_under(nodes: usize, under: usize, number_of_nodes: i64) -> Option<String> {
    if under == 0 {
        return Some(format!("nothing moves: none of {nodes} nodes is under-utilized"));
    }
    i64::try_from(under).is_ok_and(|under| under <= number_of_nodes).then(|| {
        format!(
            "nothing moves: {under} of {nodes} nodes are under-utilized, not more than \
             numberOfNodes ({number_of_nodes})"
        )
    })
}

/// How much of a resource a node may use: the level's share of its capacity, all of it without a
/// level, nothing where it has none (docs/spec/strategies.md section 6.5).
pub(crate) fn capped(capacity: &Resources, levels: &Levels, resource: ResourceId) -> i64 {
    let Some(capacity) = capacity.find(resource) else { return 0 };
    match levels.iter().find(|(of, _)| *of == resource) {
        // Truncated like upstream's conversion.
        Some((_, level)) => (level * 0.01 * capacity as f64) as i64,
        None => capacity,
    }
}

/// What a node uses of each resource beside the levels that hold for it, each with what it is
/// called.
pub(crate) fn uses<'s>(
    meter: &Meter<'s>,
    view: &View<'s>,
    node: NodeId,
    levels: &[(&str, &Levels)],
) -> Option<Table> {
    let snapshot = view.snapshot();
    let used = meter.node(view, node)?;
    let capacity = snapshot.node(node).measured_capacity();
    let percentage = |value: f64| format!("{value:.1}%");
    let (_, first) = levels.first()?;
    let rows = first.iter().map(|&(resource, _)| {
        let use_ = percent(&used, capacity, resource).map_or("-".to_owned(), percentage);
        let level = |(_, levels): &(&str, &Levels)| {
            let level = levels.iter().find(|(of, _)| *of == resource);
            level.map_or("-".to_owned(), |(_, level)| percentage(*level))
        };
        let name = snapshot.resource_name(resource).to_owned();
        [name, use_].into_iter().chain(levels.iter().map(level)).collect()
    });
    let mut rows: Vec<Vec<String>> = rows.collect();
    rows.sort();
    let heads = levels.iter().map(|(name, _)| (*name).to_owned());
    let verb = meter.source.verb().to_owned();
    let columns = ["resource".to_owned(), verb].into_iter().chain(heads).collect();
    let title = format!("use of {}", snapshot.node(node).name);
    Some(Table { title, columns, rows })
}

/// The sum of what is used of all tracked resources, in their base units: what nodes are sorted by
/// (docs/spec/strategies.md section 6.7).
pub(crate) fn weight(used: &Resources, tracked: &[Tracked]) -> i64 {
    tracked.iter().fold(0, |sum, resource| sum.saturating_add(used.get(resource.id)))
}

/// Moves pods away from nodes until there is no reason or no room left.
pub(crate) struct Relief<'p, 's> {
    meter: &'p Meter<'s>,
    /// The taints of each place where pods can go, each list once.
    taints: Vec<&'p [Taint]>,
    headroom: Vec<(ResourceId, i64)>,
    namespaces: BoundNamespaces,
    per_node: Option<u64>,
    excess: &'p Excess<'p, 's>,
    /// Which pods it is about; all without.
    only: Option<&'p dyn Fn(PodId) -> bool>,
    /// Where it is asked: whether a pod's going would leave less of the excess.
    helps: Option<&'p Helps<'p, 's>>,
}

/// Whether it would help a node if a pod left it, or why not.
pub(crate) type Helps<'p, 's> = dyn Fn(&View<'s>, PodId, NodeId) -> Result<(), Reason> + 'p;

/// Why a node still has too much, if it has.
pub(crate) type Excess<'p, 's> = dyn Fn(&View<'s>, NodeId) -> Option<Reason> + 'p;

impl<'p, 's> Relief<'p, 's> {
    /// Pods go to `destinations`, as long as these have `headroom` together; pods outside
    /// `namespaces` are left alone, and at most `per_node` leave one node.
    pub(crate) fn new(
        meter: &'p Meter<'s>,
        destinations: &[NodeId],
        headroom: Vec<(ResourceId, i64)>,
        namespaces: BoundNamespaces,
        per_node: Option<u64>,
        excess: &'p Excess<'p, 's>,
    ) -> Self {
        let taints = destinations.iter().map(|&node| &*meter.snapshot.node(node).taints);
        let mut distinct: Vec<&[Taint]> = Vec::new();
        for list in taints {
            if !distinct.contains(&list) {
                distinct.push(list);
            }
        }
        let (only, helps) = (None, None);
        Self { meter, taints: distinct, headroom, namespaces, per_node, excess, only, helps }
    }

    /// Pods go wherever the turn knows a place for them.
    pub(crate) fn anywhere(
        meter: &'p Meter<'s>,
        namespaces: BoundNamespaces,
        per_node: Option<u64>,
        excess: &'p Excess<'p, 's>,
    ) -> Self {
        const UNTAINTED: &[Taint] = &[];
        let (taints, headroom, only, helps) = (vec![UNTAINTED], Vec::new(), None, None);
        Self { meter, taints, headroom, namespaces, per_node, excess, only, helps }
    }

    /// The same for those pods alone to which `only` says yes.
    pub(crate) fn only(self, only: &'p dyn Fn(PodId) -> bool) -> Self {
        Self { only: Some(only), ..self }
    }

    /// The same for those pods alone whose going helps.
    pub(crate) fn helping(self, helps: &'p Helps<'p, 's>) -> Self {
        Self { helps: Some(helps), ..self }
    }

    /// What the destinations have left.
    pub(crate) fn headroom(&self) -> &[(ResourceId, i64)] {
        &self.headroom
    }

    /// Takes the pods of one node, the least important first.
    pub(crate) fn relieve(&mut self, turn: &mut Turn<'_, 's>, source: NodeId) {
        let snapshot = turn.snapshot();
        let is_meant = |pod: &PodId| self.only.is_none_or(|only| only(*pod));
        let pods = turn.view().active_pods_on(source).filter(is_meant);
        let mut pods: Vec<PodId> = pods.collect();
        pods.sort_by(|&a, &b| least_important_first(snapshot, a, b));
        if turn.knows_places() {
            owners_take_turns(snapshot, &mut pods, |&pod| pod);
        }
        let mut moved = 0;
        for id in pods {
            let Some(reason) = self.goes_on(turn.view(), source) else { return };
            if let Some(limit) = self.per_node.filter(|&limit| moved >= limit) {
                let node = &snapshot.node(source).name;
                turn.note(format!("{node}: evictionLimits.node ({limit}) is reached"));
                return;
            }
            let pod = snapshot.pod(id);
            if !self.namespaces.admit(pod.namespace) {
                continue;
            }
            if let Some(Err(reason)) = self.helps.map(|helps| helps(turn.view(), id, source)) {
                turn.keep(id, reason);
                continue;
            }
            if turn.evictable(id).is_ok() && !self.is_tolerated_somewhere(snapshot, id) {
                let detail = "it does not tolerate the taints of any node that has room";
                turn.keep(id, Reason::new(NO_DESTINATION_TOLERATED, detail));
                continue;
            }
            let Some(used) = self.meter.pod(id) else {
                turn.keep(id, unmeasured());
                continue;
            };
            if turn.propose(Proposal { pod: id, reason }) == Verdict::Planned {
                moved += 1;
                for (resource, left) in &mut self.headroom {
                    let taken = match *resource {
                        ResourceId::PODS => 1,
                        resource => used.get(resource),
                    };
                    *left = left.saturating_sub(taken);
                }
            }
        }
    }

    /// Why the next pod should go, if one should.
    fn goes_on(&self, view: &View<'s>, source: NodeId) -> Option<Reason> {
        if self.headroom.iter().any(|(_, left)| *left <= 0) {
            return None;
        }
        (self.excess)(view, source)
    }

    /// Whether some destination has no taint that the pod does not tolerate, `PreferNoSchedule`
    /// included (docs/spec/strategies.md section 3.7).
    fn is_tolerated_somewhere(&self, snapshot: &Snapshot, id: PodId) -> bool {
        let tolerations = &snapshot.pod(id).spec.tolerations;
        let strings = snapshot.strings();
        let tolerates = |taint: &Taint| tolerated(tolerations, taint, strings);
        self.taints.iter().any(|taints| taints.iter().all(tolerates))
    }
}

/// Why a pod stays of which nobody knows what it uses.
pub(crate) fn unmeasured() -> Reason {
    Reason::new(USE_NOT_KNOWN, "what it uses was not measured, or not lately")
}

/// What the destinations have left of each tracked resource, under the levels that hold there
/// (docs/spec/strategies.md section 6.6, 1).
pub(crate) fn headroom<'s>(
    meter: &Meter<'s>,
    view: &View<'s>,
    destinations: &[NodeId],
    levels: &Levels,
    tracked: &[Tracked],
) -> Vec<(ResourceId, i64)> {
    let mut headroom: Vec<(ResourceId, i64)> = tracked.iter().map(|t| (t.id, 0)).collect();
    for &node in destinations {
        let capacity = view.snapshot().node(node).measured_capacity();
        let Some(used) = meter.node(view, node) else { continue };
        for (resource, left) in &mut headroom {
            let free = capped(capacity, levels, *resource).saturating_sub(used.get(*resource));
            *left = left.saturating_add(free);
        }
    }
    headroom
}

/// The first resource of which nothing is left.
pub(crate) fn exhausted<'t>(
    headroom: &[(ResourceId, i64)],
    tracked: &'t [Tracked],
) -> Option<&'t Tracked> {
    let mut pairs = headroom.iter().zip(tracked);
    pairs.find(|((_, left), _)| *left <= 0).map(|(_, resource)| resource)
}
