//! The policy file, looked at before each cycle.

use std::sync::Arc;

use descheduler_controller::{Look, PolicySource};
use descheduler_policy::Style;
use descheduler_scheduler::Scheduler;

use super::super::{inputs, validate};
use crate::cli::InputArgs;

/// A policy file and what was in it when it was looked at last.
pub(super) struct PolicyFile {
    inputs: InputArgs,
    scheduler: Scheduler,
    /// Its content, or why it could not be read.
    last: Result<Vec<u8>, String>,
}

impl PolicyFile {
    /// The file as it is now is in use already.
    pub(super) fn new(inputs: InputArgs, scheduler: Scheduler) -> Self {
        let mut file = Self { inputs, scheduler, last: Ok(Vec::new()) };
        file.last = file.read();
        file
    }

    fn read(&self) -> Result<Vec<u8>, String> {
        // What comes by standard input comes once.
        if self.inputs.policy.as_os_str() == "-" {
            return self.last.clone();
        }
        let read = validate::read(&self.inputs.policy);
        read.map(|(_, bytes)| bytes).map_err(|error| error.to_string())
    }
}

impl PolicySource for PolicyFile {
    fn look(&mut self) -> Look {
        let now = self.read();
        if now == self.last {
            return Look::Same;
        }
        self.last = now;
        let bytes = match &self.last {
            Ok(bytes) => bytes,
            Err(why) => return Look::Unusable(why.clone()),
        };
        let file = self.inputs.policy.display().to_string();
        let (policy, diagnostics) = inputs::load(&self.inputs, &self.scheduler, bytes, &file);
        match policy {
            Some(policy) => Look::New(Arc::new(policy)),
            None => Look::Unusable(descheduler_policy::render(&diagnostics, bytes, Style::Plain)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cli::SchedulerArgs;

    #[test]
    fn a_file_is_used_when_it_changes_and_can_be_used() {
        let path = std::env::temp_dir().join(format!("descheduler-policy-{}", std::process::id()));
        let write = |text: &str| fs::write(&path, text).expect("the file can be written");
        let policy = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n";
        write(policy);
        let scheduler = SchedulerArgs { scheduler_config: None, scheduler_version: None };
        let inputs = InputArgs {
            policy: path.clone(),
            cluster: Vec::new(),
            kubeconfig: None,
            now: None,
            placement: None,
            scheduler,
        };
        let mut file = PolicyFile::new(inputs, Scheduler::default());
        assert!(matches!(file.look(), Look::Same));
        write("apiVersion: nonsense\n");
        assert!(matches!(file.look(), Look::Unusable(why) if why.contains("nonsense")));
        assert!(matches!(file.look(), Look::Same), "said once");
        write(&format!("{policy}maxNoOfPodsToEvictTotal: 3\n"));
        assert!(matches!(file.look(), Look::New(policy) if policy.limits.total == Some(3)));
        fs::remove_file(&path).expect("it is there");
        assert!(matches!(file.look(), Look::Unusable(why) if why.contains("cannot read")));
        assert!(matches!(file.look(), Look::Same));
    }
}
