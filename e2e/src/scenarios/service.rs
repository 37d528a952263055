//! The service at work: how it is run in scenarios, with policies made for them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

use crate::access::{Account, service_rights};
use crate::plane::Plane;
use crate::program::{Arguments, Output, Running};
use crate::scene::Scene;

/// What every run is told. Two scenarios run at a time, so the endpoint would want one port twice.
const FLAGS: &str = "-v 3 --secure-port 0 --client-connection-qps 50 --client-connection-burst 100";

/// Strategies that even out, which run after all others.
const BALANCE: [&str; 4] = [
    "HighNodeUtilization",
    "LowNodeUtilization",
    "RemoveDuplicates",
    "RemovePodsViolatingTopologySpreadConstraint",
];

/// A policy of one profile.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    top: Value,
    evictor: Value,
    strategies: Vec<(&'static str, Value)>,
}

impl Policy {
    /// With one strategy.
    pub(crate) fn of(strategy: &'static str, arguments: Value) -> Self {
        Self { top: json!({}), evictor: json!({}), strategies: vec![(strategy, arguments)] }
    }

    /// Without any profile.
    pub(crate) fn empty() -> Self {
        Self { top: json!({}), evictor: Value::Null, strategies: Vec::new() }
    }

    /// Pods of a namespace that are older than a second.
    pub(crate) fn old_pods(namespace: &str) -> Self {
        Self::of(
            "PodLifeTime",
            json!({"maxPodLifeTimeSeconds": 1, "namespaces": {"include": [namespace]}}),
        )
    }

    /// With an argument of DefaultEvictor.
    pub(crate) fn evictor(mut self, field: &str, value: Value) -> Self {
        self.evictor[field] = value;
        self
    }

    /// With a field beside the profiles.
    pub(crate) fn top(mut self, field: &str, value: Value) -> Self {
        self.top[field] = value;
        self
    }

    /// As a file holds it: JSON is YAML.
    pub(crate) fn text(&self) -> String {
        let Self { top, evictor, strategies } = self;
        let mut policy = top.clone();
        policy["apiVersion"] = json!("descheduler/v1alpha2");
        policy["kind"] = json!("DeschedulerPolicy");
        policy["profiles"] = json!([]);
        if evictor.is_null() {
            return policy.to_string();
        }
        let mut config = vec![json!({"name": "DefaultEvictor", "args": evictor})];
        let (mut balance, mut deschedule) = (Vec::new(), Vec::new());
        for (name, arguments) in strategies {
            config.push(json!({"name": name, "args": arguments}));
            if BALANCE.contains(name) { balance.push(name) } else { deschedule.push(name) }
        }
        // As upstream's own scenarios write it: nulls where nothing is said.
        let points = json!({"balance": {"enabled": balance, "disabled": null},
            "deschedule": {"enabled": deschedule, "disabled": null},
            "filter": {"enabled": null, "disabled": null}});
        policy["profiles"] =
            json!([{"name": "scenario", "pluginConfig": config, "plugins": points}]);
        policy.to_string()
    }
}

/// How the program is run.
pub(crate) struct Service<'s> {
    scene: &'s Scene<'s>,
    kubeconfig: PathBuf,
    policy: PathBuf,
}

impl<'s> Service<'s> {
    /// As the administrator of a plane.
    pub(crate) fn new(scene: &'s Scene<'s>, plane: &Plane, policy: &Policy) -> Result<Self> {
        Self::with(scene, &plane.kubeconfig(), policy)
    }

    /// With a kubeconfig.
    pub(crate) fn with(scene: &'s Scene<'s>, kubeconfig: &Path, policy: &Policy) -> Result<Self> {
        let policy = scene.file_anew("policy", &policy.text())?;
        Ok(Self { scene, kubeconfig: kubeconfig.to_owned(), policy })
    }

    /// As an account with the rights of a service, to this server or to the plane's first.
    pub(crate) fn account(
        scene: &'s Scene<'s>,
        plane: &Plane,
        name: &str,
        server: Option<&str>,
        policy: &Policy,
    ) -> Result<(Self, Account)> {
        let account = Account::new(plane, name, &service_rights())?;
        let service = Self::with(scene, &account.kubeconfig(plane, server)?, policy)?;
        Ok((service, account))
    }

    /// The file that holds its policy.
    pub(crate) fn policy(&self) -> &Path {
        &self.policy
    }

    /// The plan that it would carry out.
    pub(crate) fn plan(&self, flags: &str) -> Result<Value> {
        self.scene.plan(&self.kubeconfig, &self.policy, flags)
    }

    /// Runs one cycle, which has to end well.
    pub(crate) fn once(&self, flags: &str) -> Result<Output> {
        let output = self.start(flags)?.wait()?;
        output.expect(0, &[])?;
        Ok(output)
    }

    /// Starts it.
    pub(crate) fn start(&self, flags: &str) -> Result<Running> {
        let arguments = Arguments::of(FLAGS)
            .path("--kubeconfig", &self.kubeconfig)
            .path("--policy-config-file", &self.policy)
            .and(flags);
        self.scene.start(arguments)
    }
}
