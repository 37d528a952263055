//! What we count besides.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use descheduler_engine::{Refusal, Settled};
use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

use super::upstream::profile;
use super::{Buckets, Counters, Gauges, Histograms, Names};
use crate::observe::{
    Begun, Decided, Ended, LeaseNews, News, Planned, PolicyNews, ServingNews, Spent,
};

const PHASE_BUCKETS: &[f64] =
    &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0];

type Seconds = Gauge<f64, AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Phase {
    phase: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, EncodeLabelSet)]
struct Of {
    strategy: &'static str,
    profile: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, EncodeLabelSet)]
struct Coded {
    code: &'static str,
    strategy: &'static str,
    profile: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Fated {
    fate: &'static str,
    strategy: &'static str,
    profile: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Resource {
    resource: String,
}

pub(super) struct Own {
    cycles: Counters<Outcome>,
    phases: Histograms<Phase>,
    /// What the cycle has spent before it began to evict.
    spent: Mutex<Option<Duration>>,
    last_cycle: Seconds,
    last_plan: Seconds,
    planned: Gauges<Of>,
    kept: Gauges<Coded>,
    loops_broken: Counters<Of>,
    fates: Counters<Fated>,
    requests: Counter,
    open: Gauge,
    settled: Counters<Outcome>,
    age: Seconds,
    objects: Gauges<Kind>,
    anomalies: Gauge,
    unreadable: Gauges<Resource>,
    policy_valid: Gauge,
    leader: Option<Gauge>,
    certificates: Counters<Outcome>,
}

impl Own {
    pub(super) fn new(elects: bool, names: &mut Names<'_>) -> Self {
        let phases = Histograms::new_with_constructor(Buckets(PHASE_BUCKETS));
        let leader = "Whether this process holds the lease and may evict; absent without election";
        Self {
            cycles: names.add("cycles", "Cycles, by `Planned` or why there was no plan"),
            phases: names.add_this("cycle_phase_duration_seconds", "How long the parts of a cycle took", phases),
            spent: Mutex::default(),
            last_cycle: names.add("last_cycle_timestamp_seconds", "When the last cycle began"),
            last_plan: names.add("last_plan_timestamp_seconds", "When the last cycle began that made a plan"),
            planned: names.add("planned_evictions", "Evictions of the latest plan"),
            kept: names.add("kept_pods", "Pods that a strategy would evict by the latest plan and that stay, by why"),
            loops_broken: names.add("loops_broken", "Moves that were not made again since they had not helped"),
            fates: names.add("eviction_fates", "Planned evictions by what became of them"),
            requests: names.add("eviction_requests", "Requests for evictions that were sent, repetitions included"),
            open: names.add("open_evictions", "Evictions of which it is not known yet what became of them"),
            settled: names.add("settled_evictions", "Open evictions of which it was seen later that the pod had left or stayed"),
            age: names.add("snapshot_age_seconds", "How old the picture of the cluster may have been when the latest plan was made"),
            objects: names.add("snapshot_objects", "Nodes and pods that the latest plan was made from"),
            anomalies: names.add("snapshot_anomalies", "Faults in objects that the latest plan was made from"),
            unreadable: names.add("unreadable_kinds", "Kinds that may not be read, which makes plans more careful"),
            policy_valid: names.add("policy_valid", "1 if the policy file as it is now is in use, 0 if it cannot be used and the last good one is"),
            leader: elects.then(|| names.add("leader", leader)),
            certificates: names.add("certificate_reloads", "Certificates that were replaced on disk, by whether they can be used"),
        }
    }

    pub(super) fn hear(&self, news: &News) {
        match news {
            News::Synced => {}
            News::Policy(news) => {
                let is_valid = match news {
                    PolicyNews::Used(_) => 1,
                    PolicyNews::Refused(_) => 0,
                };
                self.policy_valid.set(is_valid);
            }
            News::Lease(news) => {
                if let Some(leader) = &self.leader {
                    leader.set(i64::from(*news == LeaseNews::Acquired));
                }
            }
            News::Serving(news) => {
                let outcome = match news {
                    ServingNews::Listening(_) => return,
                    ServingNews::CertificateReplaced(_) => "used",
                    ServingNews::CertificateUnusable(..) => "unusable",
                };
                self.certificates.get_or_create(&Outcome { outcome }).inc();
            }
            News::Begun(Begun { at, .. }) => {
                self.last_cycle.set(seconds(*at));
            }
            News::Settled(news) => {
                let outcome = match news.settled {
                    Settled::Left => "left",
                    Settled::Stayed => "stayed",
                };
                self.settled.get_or_create(&Outcome { outcome }).inc();
            }
            News::Skipped(skipped) => {
                self.cycles.get_or_create(&Outcome { outcome: skipped.code }).inc();
            }
            News::Planned(planned) => self.planned(planned),
            News::Decided(Decided { record, policy, .. }) => {
                self.requests.inc_by(record.requests.into());
                let (strategy, fate) = (record.target.strategy, record.fate.code());
                let profile = profile(policy, record.target.profile);
                self.fates.get_or_create(&Fated { fate, strategy, profile }).inc();
            }
            News::Ended(ended) => self.ended(ended),
        }
    }

    fn planned(&self, planned: &Planned) {
        let Planned { world, policy, plan, spent, missing, age, .. } = planned;
        self.cycles.get_or_create(&Outcome { outcome: "Planned" }).inc();
        let Spent { snapshot, plan: planning, audit, strategies: _ } = spent;
        for (phase, took) in [("snapshot", snapshot), ("plan", planning), ("audit", audit)] {
            self.phase(phase, *took);
        }
        let spent = *snapshot + *planning + *audit;
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner) = Some(spent);
        let last_cycle: f64 = self.last_cycle.get();
        self.last_plan.set(last_cycle);

        let (mut counts, mut kept) = (BTreeMap::new(), BTreeMap::new());
        for run in &plan.report.runs {
            let (strategy, profile) = (run.strategy, profile(policy, run.profile));
            let of = Of { strategy, profile: profile.clone() };
            *counts.entry(of.clone()).or_insert(0) += run.planned;
            for refused in &run.refusals {
                let code = refused.refusal.code();
                let coded = Coded { code, strategy, profile: profile.clone() };
                *kept.entry(coded).or_insert(0) += 1;
                if matches!(refused.refusal, Refusal::CoolingDown { .. }) {
                    self.loops_broken.get_or_create(&of).inc();
                }
            }
        }
        self.planned.clear();
        for (labels, count) in counts {
            self.planned.get_or_create(&labels).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        self.kept.clear();
        for (labels, count) in kept {
            self.kept.get_or_create(&labels).set(count);
        }

        self.age.set(age.as_secs_f64());
        let (snapshot, anomalies) = &**world;
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.objects.get_or_create(&Kind { kind: "Node" }).set(count(snapshot.nodes().len()));
        self.objects.get_or_create(&Kind { kind: "Pod" }).set(count(snapshot.pods().len()));
        self.anomalies.set(count(anomalies.len()));
        self.unreadable.clear();
        for missing in missing {
            self.unreadable.get_or_create(&Resource { resource: missing.resource.clone() }).set(1);
        }
    }

    fn ended(&self, ended: &Ended) {
        self.open.set(i64::try_from(ended.open).unwrap_or(i64::MAX));
        let spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(spent) = spent.filter(|_| !ended.dry_run) {
            self.phase("evict", ended.took.saturating_sub(spent));
        }
    }

    fn phase(&self, phase: &'static str, took: Duration) {
        self.phases.get_or_create(&Phase { phase }).observe(took.as_secs_f64());
    }
}

fn seconds(at: Timestamp) -> f64 {
    at.as_duration().as_secs_f64()
}
