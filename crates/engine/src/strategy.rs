//! What a strategy is.

use descheduler_cluster::{NodeId, PodId, Snapshot};
use descheduler_scheduler::{PodRef, View};

use crate::args::Args;
use crate::explain::Inquiry;
use crate::protection::Shield;
use crate::turn::Turn;

/// A rule about where pods should not be. It looks at `turn.view()` and proposes pods; what may
/// really go is decided by the turn.
pub trait Strategy: Send + Sync {
    /// Proposes every pod that violates the rule, in a fixed order.
    fn run(&self, turn: &mut Turn<'_, '_>);

    /// What its moves are for, and so what it means that one did not help.
    fn purpose(&self) -> Purpose {
        Purpose::Place
    }

    /// Whether it goes by what nodes and pods really use, as NodeMetrics and PodMetrics say.
    fn goes_by_use(&self) -> bool {
        false
    }

    /// Makes ready to judge where pods of a snapshot could be, on the nodes that are worked on.
    fn judge<'s>(&'s self, snapshot: &'s Snapshot, nodes: &[NodeId]) -> Box<dyn Judge<'s> + 's>;

    /// Says what the strategy looks at in a pod, check by check in the order of [`Strategy::run`],
    /// with the numbers compared. If all pass, the pod violates the rule where it is.
    fn examine(&self, pod: PodId, inquiry: &mut Inquiry<'_, '_>);

    /// The same about a node. Nothing for strategies that look at pods alone.
    fn survey(&self, node: NodeId, inquiry: &mut Inquiry<'_, '_>) {
        let _ = (node, inquiry);
    }
}

/// What moves are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A better place. A move did not help if the strategy would make it again.
    Place,
    /// A fresh start, wherever. The same, but other pods of the owner are another matter.
    Restart,
    /// A new pod, again and again as time passes. A move has helped once the new pod has a node.
    Renewal,
    /// That the pod is gone. So it is, and nothing of it is remembered.
    Removal,
}

/// What a strategy thinks of places for pods.
pub trait Judge<'s> {
    /// How far a pod's being on a node is from what the strategy wants; 0 where nothing is wrong.
    /// The pod is to be thought of as on that node, wherever the view has it; it may be the one that
    /// comes in place of the pod with its id, and then differ from it.
    ///
    /// A move is refused when this grows for any strategy of the policy, so that two of them never
    /// undo each other's work.
    fn standing(&self, view: &View<'s>, pod: &PodRef<'s>, node: NodeId) -> i64;

    /// Whether a standing depends on what else is where.
    fn looks_around(&self) -> bool {
        true
    }

    /// Whether a move that the strategy has asked for is worth it if `pod`, which comes in place of
    /// the one with its id, lands on `to`.
    ///
    /// # Errors
    /// Says why not, as the end of a sentence about the node `to`.
    fn goal(&self, view: &View<'s>, pod: &PodRef<'s>, to: NodeId) -> Result<(), String>;
}

/// The judge of a strategy whose point is a fresh start: one place is as good as another.
pub struct Anywhere;

impl<'s> Judge<'s> for Anywhere {
    fn standing(&self, _: &View<'s>, _: &PodRef<'s>, _: NodeId) -> i64 {
        0
    }

    fn looks_around(&self) -> bool {
        false
    }

    fn goal(&self, _: &View<'s>, _: &PodRef<'s>, _: NodeId) -> Result<(), String> {
        Ok(())
    }
}

/// When a strategy runs (docs/spec/strategies.md section 1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pass {
    /// First: pods that should not be where they are, or at all.
    Deschedule,
    /// Then: pods that would be better spread.
    Balance,
}

impl Pass {
    /// The passes in the order they run.
    pub const ORDER: [Self; 2] = [Self::Deschedule, Self::Balance];

    /// The extension point, as a policy file spells it.
    pub fn extension_point(self) -> &'static str {
        match self {
            Self::Deschedule => "deschedule",
            Self::Balance => "balance",
        }
    }
}

/// A strategy as the registry knows it.
pub struct StrategyDef {
    /// The name in policy files, metrics and events.
    pub name: &'static str,
    /// When it runs.
    pub pass: Pass,
    /// One sentence for lists.
    pub summary: &'static str,
    /// Reads its arguments; `None` if they make no strategy, which is then an error already.
    pub build: fn(&mut Args<'_>) -> Option<Box<dyn Strategy>>,
}

/// The plugin that protects pods, which every profile has.
pub struct EvictorDef {
    /// The name in policy files.
    pub name: &'static str,
    /// One sentence for lists.
    pub summary: &'static str,
    /// Reads its arguments; `None` if they make no shield, which is then an error already.
    pub build: fn(&mut Args<'_>) -> Option<Shield>,
}

/// The plugins that there are.
pub struct Registry {
    /// The strategies.
    pub strategies: &'static [&'static StrategyDef],
    /// The protections.
    pub evictor: &'static EvictorDef,
}
