//! Keeping sums in step with a view.

use descheduler_cluster::NodeId;
use descheduler_scheduler::{PodRef, View};

/// What of a view is taken into account already.
#[derive(Debug, Default)]
pub(crate) struct Follower<'s> {
    /// Who went, what is expected in its place, and where.
    seen: Vec<(PodRef<'s>, PodRef<'s>, Option<NodeId>)>,
    /// `View::undone` at that time.
    undone: usize,
}

impl<'s> Follower<'s> {
    /// Books what changed since the last time: pod by pod on which node one more or less is.
    pub(crate) fn catch_up(
        &mut self,
        view: &View<'s>,
        mut book: impl FnMut(&PodRef<'s>, Option<NodeId>, i64),
    ) {
        let node = |pod: &PodRef<'s>| view.snapshot().pod(pod.id).node;
        let kept = view.kept_since(self.undone);
        while self.seen.len() > kept {
            let Some((gone, comes, to)) = self.seen.pop() else { break };
            book(&comes, to, -1);
            book(&gone, node(&gone), 1);
        }
        self.undone = view.undone();
        for &pod in &view.removed()[self.seen.len()..] {
            let (gone, comes) = (PodRef::of(view.snapshot(), pod), view.pod(pod));
            let to = view.node_of(pod);
            book(&gone, node(&gone), -1);
            book(&comes, to, 1);
            self.seen.push((gone, comes, to));
        }
    }
}
