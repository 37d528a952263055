//! What the service tells, as lines on standard error.

use std::fmt::Display;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use descheduler_controller::observe::{
    Decided, LeaseNews, Listener, News, Planned, PolicyNews, ServingNews,
};
use descheduler_controller::{Missing, clock};
use descheduler_engine::{Eviction, Fate, Reason, Settled};

use crate::output::layout::clean;

/// Writes a line for each thing that happens.
pub(super) struct Log {
    verbosity: i32,
    /// The kinds that could not be read, as they were told last.
    missing: Mutex<Vec<Missing>>,
}

impl Log {
    pub(super) fn new(verbosity: i32) -> Self {
        Self { verbosity, missing: Mutex::default() }
    }

    /// Where standard error cannot be written to, nobody can be told.
    fn line(&self, level: &str, text: &dyn Display) {
        let text = clean(&text.to_string()).into_owned();
        let line = format!("{} {level} {text}\n", clock::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ"));
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn decided(&self, Decided { record, policy, .. }: &Decided) {
        let pod = format!("{}/{}", record.target.pod.namespace, record.target.pod.name);
        let profile = policy.profiles.get(record.target.profile);
        let profile = profile.map_or("", |profile| &profile.name);
        let (strategy, node) = (record.target.strategy, &record.target.node);
        let by = format!("pod {pod}, node {node}, strategy {strategy}, profile {profile}");
        match &record.fate {
            Fate::Evicted => self.line("info", &format!("evicted: {by}")),
            Fate::Denied(why) | Fate::Unreached(why) | Fate::Unknown(why) => {
                self.line("warn", &format!("{}: {by}: {why}", record.fate.code()));
            }
            Fate::InBackground
            | Fate::Gone
            | Fate::Replaced
            | Fate::BlockedByBudget
            | Fate::ThrottledOut
            | Fate::Conflict
            | Fate::NotTried(_) => self.line("info", &format!("{}: {by}", record.fate.code())),
        }
    }
}

impl Log {
    fn planned(&self, planned: &Planned) {
        let mut told = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if *told != planned.missing {
            for Missing { resource, problem, without } in &planned.missing {
                let text = format!("no right to read {resource}, so {without}; {problem}");
                self.line("warn", &text);
            }
            told.clone_from(&planned.missing);
        }
        drop(told);
        for note in &planned.plan.report.notes {
            self.line("info", note);
        }
        if !planned.dry_run && self.verbosity == 0 {
            return;
        }
        let (snapshot, _) = &*planned.world;
        for Eviction { pod, node, strategy, reason, .. } in &planned.plan.evictions {
            let (pod, node) = (snapshot.pod_name(*pod), &snapshot.node(*node).name);
            let Reason { code, detail } = reason;
            let by = format!("pod {pod}, node {node}, strategy {strategy}");
            self.line("info", &format!("to evict: {by}: {code}: {detail}"));
        }
    }
}

impl Listener for Log {
    fn hear(&self, news: &News) {
        match news {
            News::Policy(PolicyNews::Used(policy)) => {
                let text = format!("policy in use: {} profiles", policy.profiles.len());
                self.line("info", &text);
            }
            News::Policy(PolicyNews::Refused(why)) => {
                self.line(
                    "error",
                    &format!("the new policy cannot be used, the old one stays: {why}"),
                );
            }
            News::Lease(news) => match news {
                LeaseNews::HeldBy(who) => self.line("info", &format!("the lease is held by {who}")),
                LeaseNews::Acquired => self.line("info", &"the lease is ours"),
                LeaseNews::Lost(why) => self.line("warn", &format!("the lease is lost: {why}")),
                LeaseNews::Released => self.line("info", &"the lease is given up"),
                LeaseNews::Failed(why) => {
                    self.line("warn", &format!("cannot ask for the lease: {why}"));
                }
            },
            News::Serving(news) => match news {
                ServingNews::Listening(address) => {
                    self.line("info", &format!("serving securely on {address}"));
                }
                ServingNews::CertificateReplaced(path) => {
                    self.line(
                        "info",
                        &format!("the certificate {path} was replaced and is in use"),
                    );
                }
                ServingNews::CertificateUnusable(path, why) => {
                    let text = "cannot be used, the old one stays";
                    self.line("error", &format!("the new certificate {path} {text}: {why}"));
                }
            },
            News::Settled(news) => {
                let pod = &news.eviction.pod;
                let was = match news.settled {
                    Settled::Left => "it was an eviction",
                    Settled::Stayed => "it was none",
                };
                self.line("info", &format!("settled: pod {}/{}: {was}", pod.namespace, pod.name));
            }
            News::Skipped(_) => {}
            News::Begun(begun) if self.verbosity > 0 => {
                self.line("info", &format!("cycle {} begins", begun.cycle));
            }
            News::Planned(planned) => self.planned(planned),
            News::Begun(_) | News::Synced => {}
            News::Decided(decided) => self.decided(decided),
            News::Ended(ended) => {
                let level = if ended.skipped.is_some() { "warn" } else { "info" };
                self.line(level, ended);
            }
        }
    }
}
