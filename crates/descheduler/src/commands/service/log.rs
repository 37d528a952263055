//! What the service tells, as a log: an entry for each eviction as upstream writes it, and one line
//! at the end of each cycle that says how it went.

use std::sync::{Mutex, PoisonError};

use descheduler_controller::Missing;
use descheduler_controller::observe::{
    Decided, Ended, LeaseNews, Listener, News, Planned, PolicyNews, ServingNews,
};
use descheduler_engine::{Eviction, Fate, Policy, Record, Settled};

use crate::logger::{Entry, Logger};

/// From this verbosity on, each pod that stays is told, of which there may be very many.
const KEPT: i32 = 4;

/// Writes an entry for each thing that happens.
pub(super) struct Log {
    logger: Logger,
    /// The kinds that could not be read, as they were told last.
    missing: Mutex<Vec<Missing>>,
}

impl Log {
    pub(super) fn new(logger: Logger) -> Self {
        Self { logger, missing: Mutex::default() }
    }

    fn tell(&self, entry: &Entry) {
        self.logger.tell(entry);
    }

    fn policy(&self, news: &PolicyNews) {
        self.tell(&match news {
            PolicyNews::Used(policy) => {
                Entry::info("Policy in use").field("profiles", policy.profiles.len())
            }
            PolicyNews::Refused(why) => {
                Entry::error("The new policy cannot be used, the old one stays", why)
            }
        });
    }

    /// In upstream's words where it has any (docs/spec/runtime.md section 11).
    fn lease(&self, news: &LeaseNews) {
        self.tell(&match news {
            LeaseNews::HeldBy(who) => Entry::info("New leader elected").field("identity", &**who),
            LeaseNews::Acquired => Entry::info("Started leading"),
            LeaseNews::Lost(why) => Entry::warning("Leader lost").field("reason", &**why),
            LeaseNews::Released => Entry::info("The lease is given up"),
            LeaseNews::Failed(why) => Entry::error("Cannot ask for the lease", why),
        });
    }

    fn serving(&self, news: &ServingNews) {
        self.tell(&match news {
            ServingNews::Listening(address) => {
                Entry::info(format!("Serving securely on {address}"))
            }
            ServingNews::CertificateReplaced(path) => {
                Entry::info("The certificate was replaced and is in use").field("file", &**path)
            }
            ServingNews::CertificateUnusable(path, why) => {
                let what = "The new certificate cannot be used, the old one stays";
                Entry::error(what, why).field("file", &**path)
            }
        });
    }

    fn planned(&self, planned: &Planned) {
        let mut told = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if *told != planned.missing {
            for Missing { resource, problem, without } in &planned.missing {
                let text = format!("No right to read {resource}, so {without}");
                self.tell(&Entry::warning(text).field("reason", &**problem));
            }
            told.clone_from(&planned.missing);
        }
        drop(told);
        let Planned { world, policy, plan, dry_run, .. } = planned;
        for note in &plan.report.notes {
            self.tell(&Entry::info(note));
        }
        let snapshot = &world.0;
        for Eviction { pod, node, profile, strategy, reason, .. } in &plan.evictions {
            let pod = snapshot.pod(*pod);
            // A dry run is made in order to read this.
            let (what, level) =
                if *dry_run { ("Evicted pod in dry run mode", 0) } else { ("Planned eviction", 1) };
            let entry = Entry::info(what).at(level);
            let entry = entry.pod(snapshot.text(pod.namespace), &pod.name);
            let entry = entry.field("reason", format!("{}: {}", reason.code, reason.detail));
            let entry = entry.field("strategy", *strategy);
            let entry = entry.field("node", &*snapshot.node(*node).name);
            self.tell(&entry.field("profile", profile_name(policy, *profile)));
        }
        if self.logger.tells(KEPT) {
            self.kept(planned);
        }
    }

    fn kept(&self, planned: &Planned) {
        let snapshot = &planned.world.0;
        for run in &planned.plan.report.runs {
            for refused in &run.refusals {
                let pod = snapshot.pod(refused.pod);
                let entry = Entry::info("Pod stays").at(KEPT);
                let entry = entry.pod(snapshot.text(pod.namespace), &pod.name);
                let entry = entry.field("code", refused.refusal.code());
                let entry = entry.field("reason", refused.refusal.to_string());
                let entry = entry.field("strategy", run.strategy);
                self.tell(&entry.field("profile", profile_name(&planned.policy, run.profile)));
            }
        }
    }

    fn decided(&self, Decided { record, policy, .. }: &Decided) {
        let (target, fate) = (&record.target, &record.fate);
        let entry = match fate {
            Fate::Evicted => Entry::info("Evicted pod"),
            Fate::Denied(why) | Fate::Unreached(why) | Fate::Unknown(why) => {
                Entry::error("Error evicting pod", why).field("code", fate.code())
            }
            Fate::InBackground => Entry::info("Eviction goes on in the background"),
            Fate::Gone
            | Fate::Replaced
            | Fate::BlockedByBudget
            | Fate::ThrottledOut
            | Fate::Conflict
            | Fate::NotTried(_) => Entry::info("Pod not evicted").field("code", fate.code()),
        };
        let entry = entry.pod(&target.pod.namespace, &target.pod.name);
        let reason = format!("{}: {}", target.reason.code, target.reason.detail);
        let entry = entry.field("reason", reason).field("strategy", target.strategy);
        let entry = entry.field("node", &*target.node);
        self.tell(&entry.field("profile", profile_name(policy, target.profile)));
    }

    fn ended(&self, ended: &Ended) {
        let evicted = |record: &&Record| record.fate == Fate::Evicted;
        let evicted = ended.receipt.records.iter().filter(evicted).count();
        let requests: u32 = ended.receipt.records.iter().map(|record| record.requests).sum();
        let entry = match &ended.skipped {
            Some(skipped) => Entry::warning(ended).detail("code", skipped.code),
            None => Entry::info(ended),
        };
        let took_ms = u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX);
        let entry = entry.detail("cycle", ended.cycle).detail("planned", ended.planned);
        let entry = entry.detail("kept", ended.refused).detail("evicted", evicted);
        self.tell(&entry.detail("open", ended.open).detail("took_ms", took_ms));
        let entry = Entry::info("Number of evictions/requests").at(1);
        self.tell(&entry.field("totalEvicted", evicted).field("evictionRequests", requests));
    }
}

fn profile_name(policy: &Policy, index: usize) -> &str {
    policy.profiles.get(index).map_or("", |profile| &profile.name)
}

impl Listener for Log {
    fn hear(&self, news: &News) {
        match news {
            News::Synced => self.tell(&Entry::info("The cluster has been read").at(1)),
            News::Policy(news) => self.policy(news),
            News::Lease(news) => self.lease(news),
            News::Serving(news) => self.serving(news),
            News::Settled(news) => {
                let pod = &news.eviction.pod;
                let outcome = match news.settled {
                    Settled::Left => "the pod has left",
                    Settled::Stayed => "the pod has stayed",
                };
                let entry = Entry::info("It is known what became of an open eviction");
                self.tell(&entry.pod(&pod.namespace, &pod.name).field("outcome", outcome));
            }
            // The end of the cycle says so, too.
            News::Skipped(_) => {}
            News::Begun(begun) => {
                self.tell(&Entry::info(format!("cycle {} begins", begun.cycle)).at(1));
            }
            News::Planned(planned) => self.planned(planned),
            News::Decided(decided) => self.decided(decided),
            News::Ended(ended) => self.ended(ended),
        }
    }
}
