//! Keeping sums in step with a view.

use descheduler_cluster::{NodeId, PodId};
use descheduler_scheduler::View;

/// What of a view is taken into account already.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    /// Who went, and where a replacement is expected.
    seen: Vec<(PodId, Option<NodeId>)>,
    /// `View::undone` at that time.
    undone: usize,
}

impl Follower {
    /// Books what changed since the last time: pod by pod on which node one more or less is.
    pub(crate) fn catch_up(
        &mut self,
        view: &View<'_>,
        mut book: impl FnMut(PodId, Option<NodeId>, i64),
    ) {
        let node = |pod: PodId| view.snapshot().pod(pod).node;
        let kept = view.kept_since(self.undone);
        while self.seen.len() > kept {
            let Some((pod, to)) = self.seen.pop() else { break };
            book(pod, to, -1);
            book(pod, node(pod), 1);
        }
        self.undone = view.undone();
        for &pod in &view.removed()[self.seen.len()..] {
            let to = view.node_of(pod);
            book(pod, node(pod), -1);
            book(pod, to, 1);
            self.seen.push((pod, to));
        }
    }
}
