//! What must not be evicted, whoever asks.

use descheduler_cluster::{PodId, Snapshot};
use descheduler_scheduler::View;

use crate::decision::Reason;
use crate::explain::Finding;

/// A protection made ready for one snapshot: `Err` says why the pod stays.
pub type Check<'s> = Box<dyn Fn(&View<'s>, PodId) -> Result<(), Reason> + 's>;

/// When a protection is asked (docs/spec/strategies.md sections 4.4 and 4.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Is the pod the kind of pod that may go? Upstream's filter extension point.
    Filter,
    /// May it go now, from where it is? Upstream's pre-eviction filter.
    PreEviction,
}

/// One reason to keep pods. A protection that cannot answer protects.
pub trait Protection: Send + Sync {
    /// What it is called where all protections of a pod are listed; the word of the policy where
    /// there is one.
    fn name(&self) -> &'static str;

    /// What would let a pod that it holds for this reason go, besides the annotation that overrules
    /// it.
    fn change(&self, held: &Reason) -> Option<&'static str> {
        let _ = held;
        None
    }

    /// When it is asked.
    fn stage(&self) -> Stage {
        Stage::Filter
    }

    /// Whether the annotation `descheduler.alpha.kubernetes.io/evict` overrules it.
    fn overruled_by_annotation(&self) -> bool {
        true
    }

    /// Whether it is about where the pod could go, and so has nothing to add where the scheduler
    /// model is asked that.
    fn is_about_places(&self) -> bool {
        false
    }

    /// Whether it holds only where the scheduler model is asked too: upstream does not have it.
    fn is_ours(&self) -> bool {
        false
    }

    /// Compiles what it needs for a snapshot.
    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s>;
}

/// All protections of a profile.
#[derive(Default)]
pub struct Shield {
    protections: Vec<Box<dyn Protection>>,
}

impl Shield {
    /// A shield of these protections, asked in this order.
    pub fn new(protections: Vec<Box<dyn Protection>>) -> Self {
        Self { protections }
    }

    pub(crate) fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> BoundShield<'s> {
        let checks = self
            .protections
            .iter()
            .map(|protection| BoundCheck {
                protection: &**protection,
                stage: protection.stage(),
                overruled: protection.overruled_by_annotation(),
                about_places: protection.is_about_places(),
                ours: protection.is_ours(),
                check: protection.bind(snapshot),
            })
            .collect();
        BoundShield { checks }
    }
}

/// A shield made ready for one snapshot.
pub(crate) struct BoundShield<'s> {
    checks: Vec<BoundCheck<'s>>,
}

struct BoundCheck<'s> {
    protection: &'s dyn Protection,
    stage: Stage,
    overruled: bool,
    about_places: bool,
    ours: bool,
    check: Check<'s>,
}

/// What a shield is asked, and under which circumstances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) stage: Stage,
    /// The scheduler model is asked where pods land.
    pub(crate) places_known: bool,
}

impl Asked {
    /// When protections are asked, first things first.
    pub(crate) const STAGES: [Stage; 2] = [Stage::Filter, Stage::PreEviction];
}

/// The annotation that overrules protections, or is one.
const EVICT_ANNOTATION: &str = "descheduler.alpha.kubernetes.io/evict";

/// The annotation says `false`.
const EVICT_ANNOTATION_FALSE: &str = "EvictAnnotationFalse";

impl<'s> BoundShield<'s> {
    /// The first protection of a stage that holds the pod.
    pub(crate) fn check(&self, view: &View<'s>, asked: Asked, pod: PodId) -> Result<(), Reason> {
        let annotation = view.snapshot().pod(pod).evict;
        if annotation == Some(false) {
            return Err(refused_by_annotation());
        }
        self.asked(asked)
            .filter(|bound| !(bound.overruled && annotation == Some(true)))
            .try_for_each(|bound| (bound.check)(view, pod))
    }

    fn asked(&self, asked: Asked) -> impl Iterator<Item = &BoundCheck<'s>> {
        self.checks
            .iter()
            .filter(move |bound| bound.stage == asked.stage)
            .filter(move |bound| if asked.places_known { !bound.about_places } else { !bound.ours })
    }

    /// What each protection of a stage says, and first the annotation.
    pub(crate) fn all(&self, view: &View<'s>, asked: Asked, pod: PodId) -> Vec<Finding> {
        let annotation = view.snapshot().pod(pod).evict;
        let mut findings = Vec::new();
        if annotation == Some(false) && asked.stage == Stage::Filter {
            let change = format!("take the annotation `{EVICT_ANNOTATION}` from the pod");
            let detail = refused_by_annotation().detail;
            findings.push(Finding::new("annotation", false, detail).or_else(change));
        }
        findings.extend(self.asked(asked).map(|bound| bound.finding(view, pod, annotation)));
        findings
    }
}

impl<'s> BoundCheck<'s> {
    fn finding(&self, view: &View<'s>, pod: PodId, annotation: Option<bool>) -> Finding {
        let name = self.protection.name();
        let Err(reason) = (self.check)(view, pod) else {
            return Finding::new(name, true, "");
        };
        if self.overruled && annotation == Some(true) {
            let detail = format!("{}, which its annotation overrules", reason.detail);
            return Finding::new(name, true, detail);
        }
        let overrule = self
            .overruled
            .then(|| format!("the annotation `{EVICT_ANNOTATION}: \"true\"` on the pod"));
        let change = self.protection.change(&reason);
        let changes = change.map(str::to_owned).into_iter().chain(overrule);
        let changes: Vec<String> = changes.collect();
        let finding = Finding::new(name, false, reason.detail);
        match changes.is_empty() {
            true => finding,
            false => finding.or_else(changes.join(", or ")),
        }
    }
}

fn refused_by_annotation() -> Reason {
    let detail = format!("its annotation `{EVICT_ANNOTATION}` is `false`");
    Reason::new(EVICT_ANNOTATION_FALSE, detail)
}
