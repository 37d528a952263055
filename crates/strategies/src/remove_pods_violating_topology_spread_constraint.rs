//! Evicts pods that are spread less evenly than their topology spread constraints ask for.
//!
//! The scheduler spreads pods over zones, racks or nodes when it places them. Afterwards zones fail
//! and come back, nodes are added and workloads shrink, and nothing moves the pods that are there.
//!
//! ```yaml
//! apiVersion: descheduler/v1alpha2
//! kind: DeschedulerPolicy
//! profiles:
//!   - name: spread
//!     pluginConfig:
//!       - name: RemovePodsViolatingTopologySpreadConstraint
//!         args:
//!           constraints: [DoNotSchedule, ScheduleAnyway]
//!     plugins:
//!       balance:
//!         enabled: [RemovePodsViolatingTopologySpreadConstraint]
//! ```
//!
//! A constraint is violated by the pods that a domain holds above those of the emptiest domain and
//! `maxSkew`. All pods that its selector matches count, whether they may be evicted or not. Pods
//! leave the fullest domain first, the least important of them, and only for a place where all
//! constraints that count them are violated less than before, taken together. So constraints that
//! contradict each other do not chase pods to and fro.
//!
//! Domains of `DoNotSchedule` are those that the scheduler looks at. For `ScheduleAnyway` the
//! emptiest domain is one that the pod could use: not cordoned, tolerated, selected, and with room.
//!
//! With placement off each constraint is evened out for itself, on paper, and
//! `topologyBalanceNodeFit` keeps pods that fit in no domain with fewer pods than the average.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use descheduler_cluster::{NodeId, PodId, Snapshot};
use descheduler_engine::{
    Args, Inquiry, Judge, Pass, Proposal, Reason, Strategy, StrategyDef, Table, Turn,
};
use descheduler_scheduler::{PodRef, View};
use hashbrown::HashMap;

use crate::order::least_important_first;
use crate::scope::Scope;
use crate::spread::layout::DomainId;
use crate::spread::tally::{Tally, pods_of};
use crate::spread::walk::{self, Facts, Surplus};
use crate::spread::{Kinds, Rule, Rules};
use crate::upstream_fit::UpstreamFit;
use crate::worked_on::WorkedOn;

pub(crate) static DEF: StrategyDef = StrategyDef {
    name: "RemovePodsViolatingTopologySpreadConstraint",
    pass: Pass::Balance,
    summary: "Evicts pods that are spread less evenly than their constraints ask for.",
    build,
};

/// The domain of the pod holds more pods than the constraint allows.
const TOO_MANY_IN_DOMAIN: &str = "TooManyInDomain";
/// The pod fits on no node of a domain with fewer pods than the average.
const NO_EMPTIER_DOMAIN: &str = "NoEmptierDomain";

/// Which constraints count, as `whenUnsatisfiable` spells them.
const KINDS: [(&str, bool); 2] = [("DoNotSchedule", true), ("ScheduleAnyway", false)];

struct RemovePodsViolatingTopologySpreadConstraint {
    scope: Scope,
    /// Of each kind, whether it is hard; empty: the hard ones.
    constraints: Vec<bool>,
    node_fit: bool,
}

fn build(args: &mut Args<'_>) -> Option<Box<dyn Strategy>> {
    let scope = Scope::read(args);
    let doc = "Constraints of these kinds count; without, those with `DoNotSchedule`.";
    let constraints = args.arg("constraints", doc).choices(&KINDS);
    let doc = "With placement off: keep pods that fit in no domain with fewer pods than average.";
    let node_fit = args.arg("topologyBalanceNodeFit", doc).or(true);
    Some(Box::new(RemovePodsViolatingTopologySpreadConstraint { scope, constraints, node_fit }))
}

impl Strategy for RemovePodsViolatingTopologySpreadConstraint {
    fn run(&self, turn: &mut Turn<'_, '_>) {
        match turn.knows_places() {
            true => self.even_out(turn),
            false => self.even_out_on_paper(turn),
        }
    }

    fn judge<'s>(&'s self, snapshot: &'s Snapshot, nodes: &[NodeId]) -> Box<dyn Judge<'s> + 's> {
        Box::new(Evenness { snapshot, tally: RefCell::new(self.tally(snapshot, nodes)) })
    }

    fn examine(&self, id: PodId, inquiry: &mut Inquiry<'_, '_>) {
        self.scope.examine(id, inquiry);
        let snapshot = inquiry.snapshot();
        let Some(node) = snapshot.pod(id).node else { return };
        let mut tally = self.tally(snapshot, inquiry.nodes());
        tally.keep_up(inquiry.view());
        let mut told: Vec<(bool, String)> = Vec::new();
        for number in tally.rules_of(&PodRef::of(snapshot, id)).into_owned() {
            let number = number as usize;
            let most = tally.most(number);
            let rule = tally.rule(number);
            inquiry.table(domains(snapshot, &tally, number, most));
            let Some(domain) = rule.layout.domain_of(node) else {
                let key = snapshot.text(rule.constraint.topology_key);
                told.push((false, format!("its node is in no domain of {key}")));
                continue;
            };
            let count = tally.count(number, domain);
            told.push((count > most, reason(snapshot, rule, domain, count, most).detail));
        }
        let violated = told.iter().any(|(violated, _)| *violated);
        told.retain(|(this, _)| *this == violated);
        let told: Vec<String> = told.into_iter().map(|(_, detail)| detail).collect();
        let detail = match told.is_empty() {
            true => "no constraint that this strategy looks at counts it".to_owned(),
            false => told.join("; "),
        };
        inquiry.check("topologySpreadConstraints", violated, detail);
    }
}

/// How many pods a rule counts where.
fn domains(snapshot: &Snapshot, tally: &Tally<'_>, number: usize, most: i64) -> Table {
    let Rule { constraint, layout, .. } = tally.rule(number);
    let key = snapshot.text(constraint.topology_key);
    let kind = if constraint.hard { "DoNotSchedule" } else { "ScheduleAnyway" };
    let title = format!("{key}, {kind}, maxSkew {}", constraint.max_skew);
    let columns = ["domain", "pods", "at most"].map(str::to_owned).to_vec();
    let rows = layout.values.iter().enumerate().map(|(domain, &value)| {
        let count = tally.count(number, domain);
        vec![snapshot.text(value).to_owned(), count.to_string(), most.to_string()]
    });
    Table { title, columns, rows: rows.collect() }
}

impl RemovePodsViolatingTopologySpreadConstraint {
    fn kinds(&self, upstream: bool) -> Kinds {
        let hard = self.constraints.is_empty() || self.constraints.contains(&true);
        Kinds { hard, soft: self.constraints.contains(&false), upstream }
    }

    /// The pods that carry constraints make the rules; whom these count is another matter.
    fn tally<'s>(&self, snapshot: &'s Snapshot, nodes: &[NodeId]) -> Tally<'s> {
        let scope = self.scope.bind(snapshot);
        let rules = Rules::find(snapshot, nodes, self.kinds(false), |pod| scope.admits(pod));
        Tally::new(snapshot, rules)
    }

    /// Proposes pods of the fullest domains until none holds more than its rule allows. Whether
    /// there is a better place is for the turn to say.
    fn even_out(&self, turn: &mut Turn<'_, '_>) {
        let snapshot = turn.snapshot();
        let scope = self.scope.bind(snapshot);
        let mut tally = self.tally(snapshot, turn.nodes());
        let nodes = WorkedOn::new(snapshot, turn.nodes());
        let may_go = |pod: PodId| {
            let node = snapshot.pod(pod).node;
            scope.admits(pod) && node.is_some_and(|node| nodes.has(node))
        };
        for number in 0..tally.len() {
            tally.keep_up(turn.view());
            let queues = queues(turn.view(), &mut tally, number, &may_go);
            empty(turn, &mut tally, number, queues);
        }
    }

    /// Upstream's way: all pods are found before one goes, constraint by constraint.
    fn even_out_on_paper(&self, turn: &mut Turn<'_, '_>) {
        let snapshot = turn.snapshot();
        let scope = self.scope.bind(snapshot);
        let fit = UpstreamFit::new(snapshot, turn.nodes());
        let mut found: Vec<(Surplus, usize)> = Vec::new();
        let rules = {
            let (turn, fit) = (&*turn, &fit);
            let stays = |pod: PodId| !turn.view().is_gone(pod);
            let evictable = |pod: PodId| scope.admits(pod) && turn.evictable(pod).is_ok();
            let fits = |pod: PodId, allowed: &dyn Fn(NodeId) -> bool| {
                fit.elsewhere_among(turn.view(), pod, allowed)
            };
            let facts = Facts { stays: &stays, evictable: &evictable, fits: &fits };
            let carries = |pod: PodId| stays(pod) && evictable(pod);
            let rules = Rules::find(snapshot, turn.nodes(), self.kinds(true), carries);
            for (number, rule) in rules.all.iter().enumerate() {
                let surplus = walk::surplus(snapshot, rule, &facts).into_iter();
                found.extend(surplus.map(|surplus| (surplus, number)));
            }
            rules
        };
        for (Surplus { pod, domain, counts, fits }, number) in found {
            if !scope.admits(pod) {
                continue;
            }
            let rule = &rules.all[number];
            let (count, least) = (counts.0 as i64, counts.1 as i64);
            let most = least.saturating_add(i64::from(rule.constraint.max_skew));
            let reason = reason(snapshot, rule, domain, count, most);
            if self.node_fit && !fits && turn.evictable(pod).is_ok() {
                let detail = format!("{}, but it fits in no emptier one", reason.detail);
                turn.keep(pod, Reason::new(NO_EMPTIER_DOMAIN, detail));
                continue;
            }
            let _ = turn.propose(Proposal { pod, reason });
        }
    }
}

fn reason(snapshot: &Snapshot, rule: &Rule<'_>, domain: DomainId, count: i64, most: i64) -> Reason {
    let key = snapshot.text(rule.constraint.topology_key);
    let value = snapshot.text(rule.layout.values[domain]);
    let detail = format!("{count} pods in {key}={value}, at most {most}");
    Reason::new(TOO_MANY_IN_DOMAIN, detail)
}

/// The pods of each domain that holds too many by a rule, the first to go last.
fn queues(
    view: &View<'_>,
    tally: &mut Tally<'_>,
    number: usize,
    may_go: &dyn Fn(PodId) -> bool,
) -> HashMap<DomainId, Vec<PodId>> {
    let snapshot = view.snapshot();
    let most = tally.most(number);
    let mut queues: HashMap<DomainId, Vec<PodId>> = HashMap::new();
    for (domain, pod) in pods_of(snapshot, tally.rule(number)) {
        if tally.count(number, domain) > most && !view.is_gone(pod) && may_go(pod) {
            queues.entry(domain).or_default().push(pod);
        }
    }
    for pods in queues.values_mut() {
        pods.sort_by(|&a, &b| least_important_first(snapshot, a, b));
        take_from_the_fullest_node(snapshot, pods);
        pods.reverse();
    }
    queues
}

/// Among equally important pods those go first whose node holds the most of them, and the owners
/// take turns: what is even within the domain stays so.
fn take_from_the_fullest_node(snapshot: &Snapshot, pods: &mut [PodId]) {
    let rank = |id: PodId| {
        let pod = snapshot.pod(id);
        (pod.spec.priority, pod.qos, pod.prefer_no_eviction)
    };
    let mut left: HashMap<_, usize> = HashMap::new();
    for &pod in &*pods {
        *left.entry((rank(pod), snapshot.pod(pod).node)).or_default() += 1;
    }
    let mut served: HashMap<_, usize> = HashMap::new();
    pods.sort_by_cached_key(|&id| {
        let pod = snapshot.pod(id);
        let left = left.entry((rank(id), pod.node)).or_default();
        let on_node = *left;
        *left -= 1;
        let owner = pod.owners.first().map_or(Err(id), |owner| Ok(owner.uid));
        let served = served.entry((rank(id), owner)).or_default();
        *served += 1;
        (rank(id), Reverse(on_node), *served)
    });
}

/// Proposes the pods of the domain that is fullest at the time, as long as it holds too many.
fn empty<'s>(
    turn: &mut Turn<'_, 's>,
    tally: &mut Tally<'s>,
    number: usize,
    mut queues: HashMap<DomainId, Vec<PodId>>,
) {
    let snapshot = turn.snapshot();
    let full = queues.keys().map(|&domain| (tally.count(number, domain), Reverse(domain)));
    let mut heap: BinaryHeap<(i64, Reverse<DomainId>)> = full.collect();
    while let Some((known, Reverse(domain))) = heap.pop() {
        tally.keep_up(turn.view());
        let count = tally.count(number, domain);
        if count != known {
            heap.push((count, Reverse(domain)));
            continue;
        }
        let most = tally.most(number);
        if count <= most {
            continue;
        }
        let Some(pod) = queues.get_mut(&domain).and_then(Vec::pop) else { continue };
        let reason = reason(snapshot, tally.rule(number), domain, count, most);
        let _ = turn.propose(Proposal { pod, reason });
        heap.push((count, Reverse(domain)));
    }
}

/// Judges places by how much the rules that count a pod are violated.
struct Evenness<'s> {
    snapshot: &'s Snapshot,
    tally: RefCell<Tally<'s>>,
}

impl<'s> Judge<'s> for Evenness<'s> {
    /// The sum over the rules that count the pod and their domains of the pods that are too many.
    fn standing(&self, view: &View<'s>, pod: &PodRef<'s>, node: NodeId) -> i64 {
        self.tally.borrow_mut().violation_with(view, pod, node)
    }

    fn goal(&self, view: &View<'s>, pod: &PodRef<'s>, to: NodeId) -> Result<(), String> {
        let mut tally = self.tally.borrow_mut();
        let Some(here) = view.node_of(pod.id) else { return Ok(()) };
        let old = view.pod(pod.id);
        for &number in &*tally.rules_of(&old) {
            let rule = tally.rule(number as usize);
            if rule.layout.domain_of(here).is_some() && rule.layout.domain_of(to).is_none() {
                let key = self.snapshot.text(rule.constraint.topology_key);
                return Err(format!("which is in no domain of {key}"));
            }
        }
        let there = tally.violation_with(view, pod, to);
        let here = tally.violation_with(view, &old, here);
        match there < here {
            true => Ok(()),
            false => Err(format!(
                "where its constraints would be off by {there} in all, and are off by {here} now"
            )),
        }
    }
}
