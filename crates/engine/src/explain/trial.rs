//! All questions of the gate about one pod, whatever the answers to earlier ones are.

use descheduler_cluster::PodId;

use super::{Finding, Inquiry};
use crate::decision::{Eviction, Refusal};
use crate::gate::Gate;
use crate::placer::Outlook;
use crate::protection::Asked;
use crate::turn::Turn;

/// What the gate says about a pod.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Its questions but the last, in the order asked.
    pub findings: Vec<Finding>,
    /// The last: where the replacement would land; `None` where nobody asks.
    pub outlook: Option<Outlook>,
}

/// What is known of earlier moves.
const HISTORY: &str = "history";

impl Trial {
    /// The questions whose answers are the same for all strategies of a profile.
    pub fn shared(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.check != HISTORY)
    }

    /// Whether everything speaks for the pod's going.
    pub fn passes(&self) -> bool {
        self.findings.iter().all(|finding| finding.passes)
            && self.outlook.as_ref().is_none_or(|outlook| outlook.refusal.is_none())
    }
}

/// The pod that a witness watches, with what was said when it was proposed.
pub(crate) struct Watch {
    pub(crate) pod: PodId,
    pub(crate) trial: Option<Trial>,
}

impl<'s> Turn<'_, 's> {
    /// What the gate said when the pod was proposed in this turn, or else what it says now.
    pub(super) fn trial_of(&mut self, pod: PodId) -> Trial {
        let told = self.gate.watch.as_mut().and_then(|watch| watch.trial.take());
        told.unwrap_or_else(|| self.trial(pod))
    }

    /// Notes what the gate says about a pod, if it is watched and was not proposed before.
    pub(crate) fn testify(&mut self, pod: PodId) {
        let untold = |watch: &Watch| watch.pod == pod && watch.trial.is_none();
        if self.gate.watch.as_ref().is_some_and(untold) {
            let trial = self.trial(pod);
            if let Some(watch) = &mut self.gate.watch {
                watch.trial = Some(trial);
            }
        }
    }

    /// A question to this turn's strategy.
    pub(super) fn inquiry(&self) -> Inquiry<'_, 's> {
        Inquiry::new(self.view(), self.nodes(), self.knows_places())
    }

    /// The profile, as an index into the policy.
    pub(super) fn profile(&self) -> usize {
        self.seat.profile
    }

    /// What the turn has said so far.
    pub(super) fn notes(&self) -> &[String] {
        &self.run.notes
    }

    /// Whether a pod is on none of the nodes to work on.
    pub(super) fn is_outside(&self, pod: PodId) -> bool {
        !self.snapshot().pod(pod).node.is_some_and(|node| self.pool.works_on(node))
    }

    /// What this turn did about a pod.
    pub(super) fn answer(&self, pod: PodId) -> Option<Result<Eviction, Refusal>> {
        if let Some(eviction) = self.gate.eviction_of(pod) {
            return Some(Ok(eviction.clone()));
        }
        let refused = self.run.refusals.iter().find(|refused| refused.pod == pod);
        refused.map(|refused| Err(refused.refusal.clone()))
    }

    fn trial(&mut self, id: PodId) -> Trial {
        let mut findings = vec![self.about_place(id)];
        if self.gate.snapshot.pod(id).flawed {
            let change = "mend the object";
            let detail = Refusal::Malformed.to_string();
            findings.push(Finding::new("object", false, detail).or_else(change));
        }
        findings.push(self.about_history(id));
        let places_known = self.knows_places();
        for stage in Asked::STAGES {
            let asked = Asked { stage, places_known };
            findings.extend(self.shield.all(&self.gate.view, asked, id));
        }
        findings.extend(self.gate.limit_findings(id));
        findings.push(self.gate.budget_finding(id));
        let number = self.seat.number;
        let Gate { view, placer, .. } = &mut *self.gate;
        let placer = placer.as_mut().filter(|_| places_known);
        let outlook = placer.map(|placer| placer.outlook(view, id, number));
        Trial { findings, outlook }
    }

    fn about_place(&self, id: PodId) -> Finding {
        let snapshot = self.gate.snapshot;
        if self.view().is_gone(id) {
            return Finding::new("plan", false, Refusal::AlreadyPlanned.to_string());
        }
        let Some(node) = snapshot.pod(id).node else {
            return Finding::new("node", false, "it is on no node");
        };
        let name = &snapshot.node(node).name;
        match (self.pool.works_on(node), snapshot.node(node).ready) {
            (true, _) => Finding::new("node", true, format!("{name} is ready and selected")),
            (false, false) => Finding::new("node", false, format!("{name} is not ready")),
            (false, true) => {
                Finding::new("node", false, format!("{name} is not selected by `nodeSelector`"))
                    .or_else(format!("a `nodeSelector` that selects {name}"))
            }
        }
    }

    fn about_history(&self, id: PodId) -> Finding {
        match self.cooled_down(id).and_then(|()| self.is_new(id)) {
            Err(Refusal::CoolingDown { until, why }) => {
                Finding::new(HISTORY, false, why).or_else(format!("wait until {until}"))
            }
            Ok(()) | Err(_) => Finding::new(HISTORY, true, "its owner is not cooling down"),
        }
    }
}
