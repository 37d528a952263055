//! What a plan does to one node.

use descheduler_cluster::NodeId;
use serde::Serialize;

use super::NodeAnswer;

/// Who leaves, who comes, and who stays although a strategy would have it go.
#[derive(Serialize)]
pub(crate) struct Moves<'a> {
    pub(crate) leaving: Vec<Leaving<'a>>,
    pub(crate) arriving: Vec<Arriving<'a>>,
    pub(crate) staying: Vec<Staying<'a>>,
}

/// A pod that would be evicted.
#[derive(Serialize)]
pub(crate) struct Leaving<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) profile: &'a str,
    pub(crate) strategy: &'static str,
    pub(crate) code: &'static str,
    pub(crate) reason: &'a str,
    pub(crate) destinations: Vec<&'a str>,
}

/// A pod whose replacement could land here.
#[derive(Serialize)]
pub(crate) struct Arriving<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// The node that the pod leaves.
    pub(crate) from: &'a str,
    pub(crate) strategy: &'static str,
    /// Whether this node is the best guess.
    pub(crate) likely: bool,
}

/// A pod that a strategy considered and that stays.
#[derive(Serialize)]
pub(crate) struct Staying<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) profile: &'a str,
    pub(crate) strategy: &'static str,
    pub(crate) code: &'static str,
    pub(crate) reason: String,
}

impl<'a> Moves<'a> {
    pub(crate) fn new(answer: &NodeAnswer<'a>) -> Self {
        let (world, here) = (answer.world, answer.node);
        let (snapshot, plan) = (world.snapshot, &answer.explanation.plan);
        let node_name = |node: NodeId| -> &'a str { &snapshot.node(node).name };
        let mut moves = Self { leaving: Vec::new(), arriving: Vec::new(), staying: Vec::new() };
        for eviction in &plan.evictions {
            let pod = snapshot.pod(eviction.pod);
            let (namespace, name) = (snapshot.text(pod.namespace), &*pod.name);
            if eviction.node == here {
                moves.leaving.push(Leaving {
                    namespace,
                    name,
                    profile: world.profile(eviction.profile),
                    strategy: eviction.strategy,
                    code: eviction.reason.code,
                    reason: &eviction.reason.detail,
                    destinations: eviction.destinations.iter().map(|&n| node_name(n)).collect(),
                });
            }
            if eviction.destinations.contains(&here) {
                moves.arriving.push(Arriving {
                    namespace,
                    name,
                    from: node_name(eviction.node),
                    strategy: eviction.strategy,
                    likely: eviction.destinations.first() == Some(&here),
                });
            }
        }
        for run in &plan.report.runs {
            for refused in &run.refusals {
                let pod = snapshot.pod(refused.pod);
                if pod.node == Some(here) {
                    moves.staying.push(Staying {
                        namespace: snapshot.text(pod.namespace),
                        name: &pod.name,
                        profile: world.profile(run.profile),
                        strategy: run.strategy,
                        code: refused.refusal.code(),
                        reason: refused.refusal.to_string(),
                    });
                }
            }
        }
        moves
    }
}
