//! Pods that are not selected.

use descheduler_cluster::{LabelSelector, Snapshot};
use descheduler_engine::{Args, Check, Protection, Reason, Stage};

const LABELS_NOT_SELECTED: &str = "LabelsNotSelected";
const NAMESPACE_NOT_SELECTED: &str = "NamespaceNotSelected";
const NAMESPACE_UNKNOWN: &str = "NamespaceUnknown";

/// Pods whose labels the selector does not match.
struct PodLabels(LabelSelector);

/// Pods in namespaces whose labels the selector does not match, or are not known.
struct NamespaceLabels(LabelSelector);

/// Reads `labelSelector`.
pub(super) fn read_labels(args: &mut Args<'_>) -> Option<Box<dyn Protection>> {
    let doc = "Pods without these labels are kept.";
    let selector = args.label_selector("labelSelector", doc).filter(|s| !s.is_empty())?;
    Some(Box::new(PodLabels(selector)))
}

/// Reads `namespaceLabelSelector`.
pub(super) fn read_namespace_labels(args: &mut Args<'_>) -> Option<Box<dyn Protection>> {
    let doc = "Pods in namespaces without these labels are kept.";
    let selector = args.label_selector("namespaceLabelSelector", doc).filter(|s| !s.is_empty())?;
    Some(Box::new(NamespaceLabels(selector)))
}

impl Protection for PodLabels {
    fn name(&self) -> &'static str {
        "labelSelector"
    }

    fn change(&self, _: &Reason) -> Option<&'static str> {
        Some("a `labelSelector` that matches its labels")
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        let selector = snapshot.compile(&self.0);
        Box::new(move |_, pod| match selector.matches(snapshot.labels(pod), snapshot.strings()) {
            true => Ok(()),
            false => {
                let detail = format!("its labels do not match labelSelector `{}`", self.0);
                Err(Reason::new(LABELS_NOT_SELECTED, detail))
            }
        })
    }
}

impl Protection for NamespaceLabels {
    fn name(&self) -> &'static str {
        "namespaceLabelSelector"
    }

    fn change(&self, held: &Reason) -> Option<&'static str> {
        Some(match held.code {
            NAMESPACE_UNKNOWN => "its Namespace in the dump, or the right to read it",
            _ => "a `namespaceLabelSelector` that matches its namespace",
        })
    }

    fn stage(&self) -> Stage {
        Stage::PreEviction
    }

    fn overruled_by_annotation(&self) -> bool {
        false
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        let selector = snapshot.compile(&self.0);
        Box::new(move |_, pod| {
            let namespace = snapshot.pod(pod).namespace;
            let Some(labels) = snapshot.namespace_labels(namespace) else {
                let name = snapshot.text(namespace);
                let detail = format!("the labels of namespace `{name}` are not known");
                return Err(Reason::new(NAMESPACE_UNKNOWN, detail));
            };
            if selector.matches(labels, snapshot.strings()) {
                return Ok(());
            }
            let detail =
                format!("its namespace does not match namespaceLabelSelector `{}`", self.0);
            Err(Reason::new(NAMESPACE_NOT_SELECTED, detail))
        })
    }
}
