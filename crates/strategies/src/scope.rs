//! Which pods a strategy looks at: `namespaces` and `labelSelector`, the arguments that most
//! strategies share (docs/spec/strategies.md sections 2.4 and 3.3).

use std::cell::Cell;

use descheduler_cluster::{LabelSelector, PodId, Selector, Snapshot, Sym};
use descheduler_engine::{Args, Inquiry};

/// The pods of some namespaces that carry some labels; by default all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    namespaces: Namespaces,
    /// An absent selector and an empty one both match everything.
    labels: Option<LabelSelector>,
}

impl Scope {
    /// Reads both arguments.
    pub(crate) fn read(args: &mut Args<'_>) -> Self {
        let namespaces = Namespaces::read(args);
        let labels = args.label_selector("labelSelector", "Only pods with these labels.");
        Self { namespaces, labels }
    }

    /// Says whether the strategy looks at a pod.
    pub(crate) fn examine(&self, pod: PodId, inquiry: &mut Inquiry<'_, '_>) {
        self.namespaces.examine(pod, inquiry);
        let Some(labels) = &self.labels else { return };
        let snapshot = inquiry.snapshot();
        let selected = snapshot.compile(labels).matches(snapshot.labels(pod), snapshot.strings());
        let verb = if selected { "match" } else { "do not match" };
        inquiry.check("labelSelector", selected, format!("its labels {verb} `{labels}`"));
    }

    /// The same for one snapshot.
    pub(crate) fn bind<'s>(&self, snapshot: &'s Snapshot) -> BoundScope<'s> {
        BoundScope {
            snapshot,
            namespaces: self.namespaces.bind(snapshot),
            labels: self.labels.as_ref().map(|labels| snapshot.compile(labels)),
            by_group: vec![Cell::new(None); snapshot.group_slots()],
        }
    }
}

/// A [`Scope`] made ready for one snapshot.
pub(crate) struct BoundScope<'s> {
    snapshot: &'s Snapshot,
    namespaces: BoundNamespaces,
    labels: Option<Selector>,
    /// By group slot: the answer, once it was asked for.
    by_group: Vec<Cell<Option<bool>>>,
}

impl<'s> BoundScope<'s> {
    /// The snapshot that it is made for.
    pub(crate) fn snapshot(&self) -> &'s Snapshot {
        self.snapshot
    }

    /// Whether the strategy looks at the pod. All pods of a group share the answer.
    pub(crate) fn admits(&self, pod: PodId) -> bool {
        let group = self.snapshot.pod(pod).group;
        let known = &self.by_group[group.index()];
        known.get().unwrap_or_else(|| {
            let group = self.snapshot.group(group);
            let labels = self.labels.as_ref();
            let admitted = self.namespaces.admit(group.namespace)
                && labels
                    .is_none_or(|labels| labels.matches(&group.labels, self.snapshot.strings()));
            known.set(Some(admitted));
            admitted
        })
    }
}

/// Namespaces by their exact names: those included, or all but those excluded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Namespaces {
    include: Vec<String>,
    exclude: Vec<String>,
}

impl Namespaces {
    /// Reads the argument `namespaces`.
    pub(crate) fn read(args: &mut Args<'_>) -> Self {
        let doc = "Only pods in these namespaces.";
        args.object("namespaces", doc, |args| {
            let include = args.list("include", "Only these; not together with `exclude`.");
            let exclude = args.list("exclude", "All but these; not together with `include`.");
            include_or_exclude(args, &include, &exclude);
            Self { include, exclude }
        })
        .unwrap_or_default()
    }

    /// Reads the argument `evictableNamespaces`, which can only exclude.
    pub(crate) fn read_evictable(args: &mut Args<'_>) -> Self {
        let doc = "Where pods may be evicted. Pods elsewhere still count as usage.";
        args.object("evictableNamespaces", doc, |args| {
            let include: Vec<String> = args.list("include", "Not supported.");
            let exclude = args.list("exclude", "All but these.");
            if !include.is_empty() {
                args.error_at(
                    "include",
                    "include-not-supported",
                    "`evictableNamespaces.include`: only `exclude` is supported here",
                );
            }
            Self { include: Vec::new(), exclude }
        })
        .unwrap_or_default()
    }

    /// Says whether pods of the pod's namespace are looked at, where that is not so of all.
    pub(crate) fn examine(&self, pod: PodId, inquiry: &mut Inquiry<'_, '_>) {
        if self.include.is_empty() && self.exclude.is_empty() {
            return;
        }
        let snapshot = inquiry.snapshot();
        let namespace = snapshot.pod(pod).namespace;
        let admitted = self.bind(snapshot).admit(namespace);
        let name = snapshot.text(namespace);
        let detail = match (admitted, self.include.is_empty()) {
            (true, true) => format!("`{name}` is not excluded"),
            (true, false) => format!("`{name}` is included"),
            (false, true) => format!("`{name}` is excluded"),
            (false, false) => format!("`{name}` is not among those included"),
        };
        inquiry.check("namespaces", admitted, detail);
    }

    /// The same for one snapshot.
    pub(crate) fn bind(&self, snapshot: &Snapshot) -> BoundNamespaces {
        let symbols = |names: &[String]| names.iter().map(|name| snapshot.sym(name)).collect();
        BoundNamespaces { include: symbols(&self.include), exclude: symbols(&self.exclude) }
    }
}

/// [`Namespaces`] made ready for one snapshot.
pub(crate) struct BoundNamespaces {
    include: Vec<Sym>,
    exclude: Vec<Sym>,
}

impl BoundNamespaces {
    /// Whether the namespace is one of them.
    pub(crate) fn admit(&self, namespace: Sym) -> bool {
        (self.include.is_empty() || self.include.contains(&namespace))
            && !self.exclude.contains(&namespace)
    }
}

/// Two lists of which only one may be used.
pub(crate) fn include_or_exclude(args: &mut Args<'_>, include: &[String], exclude: &[String]) {
    if !include.is_empty() && !exclude.is_empty() {
        let message = "only one of `include` and `exclude` can be given";
        args.error_at("exclude", "include-and-exclude", message);
    }
}
