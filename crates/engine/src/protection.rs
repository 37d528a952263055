//! What must not be evicted, whoever asks.

use descheduler_cluster::{PodId, Snapshot};
use descheduler_scheduler::View;

use crate::decision::Reason;

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

/// The annotation says `false`.
const EVICT_ANNOTATION_FALSE: &str = "EvictAnnotationFalse";

impl<'s> BoundShield<'s> {
    /// The first protection of a stage that holds the pod.
    pub(crate) fn check(&self, view: &View<'s>, asked: Asked, pod: PodId) -> Result<(), Reason> {
        let annotation = view.snapshot().pod(pod).evict;
        if annotation == Some(false) {
            return Err(Reason::new(
                EVICT_ANNOTATION_FALSE,
                "its annotation `descheduler.alpha.kubernetes.io/evict` is `false`",
            ));
        }
        self.checks
            .iter()
            .filter(|bound| bound.stage == asked.stage)
            .filter(|bound| if asked.places_known { !bound.about_places } else { !bound.ours })
            .filter(|bound| !(bound.overruled && annotation == Some(true)))
            .try_for_each(|bound| (bound.check)(view, pod))
    }
}
