//! Pods that are left alone for the kind of their owners.

use descheduler_cluster::PodId;
use descheduler_engine::Inquiry;

/// Says whether a pod has an owner of one of the kinds that are left alone; nothing where there are
/// none.
pub(crate) fn examine_excluded(excluded: &[String], pod: PodId, inquiry: &mut Inquiry<'_, '_>) {
    if excluded.is_empty() {
        return;
    }
    let snapshot = inquiry.snapshot();
    let kinds = snapshot.pod(pod).owners.iter().map(|owner| snapshot.text(owner.kind));
    let hit = kinds.clone().find(|kind| excluded.iter().any(|excluded| excluded == kind));
    match hit {
        Some(kind) => inquiry.check("excludeOwnerKinds", false, format!("its owner is a {kind}")),
        None => {
            let kinds: Vec<&str> = kinds.collect();
            let detail = match kinds.is_empty() {
                true => "it has no owner".to_owned(),
                false => format!("its owner is a {}", kinds.join(", ")),
            };
            inquiry.check("excludeOwnerKinds", true, detail);
        }
    }
}
