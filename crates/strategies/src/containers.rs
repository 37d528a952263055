//! What the containers of a pod are doing, as far as filters ask.

use descheduler_cluster::{Container, ContainerKind, ContainerState, Pod, Snapshot, Sym};

/// Which containers count besides the regular ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Containers {
    pub(crate) init: bool,
    pub(crate) ephemeral: bool,
}

impl Containers {
    /// Those of a pod that count, as its status lists them.
    pub(crate) fn of(self, pod: &Pod) -> impl Iterator<Item = &Container> {
        pod.containers.iter().filter(move |container| match container.kind {
            ContainerKind::Regular => true,
            ContainerKind::Init => self.init,
            ContainerKind::Ephemeral => self.ephemeral,
        })
    }

    /// With which of `codes` one of them ended, in words.
    pub(crate) fn ended_with(self, pod: &Pod, codes: &[i32]) -> Option<String> {
        let code = self.exit_codes(pod).find(|code| codes.contains(code))?;
        Some(format!("a container ended with {code}"))
    }

    /// For which of `reasons` the pod is as it is, or one of them waits or has ended, in words.
    pub(crate) fn is_so_for(
        self,
        snapshot: &Snapshot,
        pod: &Pod,
        reasons: &[Sym],
    ) -> Option<String> {
        if reasons.contains(&pod.reason) {
            return Some(format!("reason {}", snapshot.text(pod.reason)));
        }
        let reason = self.reasons(pod).find(|reason| reasons.contains(reason))?;
        Some(format!("a container is {}", snapshot.text(reason)))
    }

    /// Why they wait or have ended, where one does or has.
    fn reasons(self, pod: &Pod) -> impl Iterator<Item = Sym> {
        self.of(pod).filter_map(|container| match container.state {
            ContainerState::Running => None,
            ContainerState::Waiting(reason) => Some(reason),
            ContainerState::Terminated { reason, .. } => Some(reason),
        })
    }

    /// Why they wait, where one does.
    pub(crate) fn waiting_for(self, pod: &Pod) -> impl Iterator<Item = Sym> {
        self.of(pod).filter_map(|container| match container.state {
            ContainerState::Waiting(reason) => Some(reason),
            ContainerState::Running | ContainerState::Terminated { .. } => None,
        })
    }

    /// What they ended with, where one has.
    fn exit_codes(self, pod: &Pod) -> impl Iterator<Item = i32> {
        self.of(pod).filter_map(|container| match container.state {
            ContainerState::Terminated { exit_code, .. } => Some(exit_code),
            ContainerState::Running | ContainerState::Waiting(_) => None,
        })
    }
}
