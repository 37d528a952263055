//! Accounts with the rights that a scenario gives them.

use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::cluster::PATIENCE;
use crate::plane::Plane;
use crate::scene::write;

/// Where the account lives.
const NAMESPACE: &str = "kube-system";

/// What has to be read for a plan, as group and resources.
const READ: [(&str, &[&str]); 8] = [
    (
        "",
        &[
            "nodes",
            "pods",
            "namespaces",
            "persistentvolumeclaims",
            "persistentvolumes",
            "replicationcontrollers",
            "services",
        ],
    ),
    ("apps", &["replicasets", "statefulsets", "deployments", "daemonsets", "controllerrevisions"]),
    ("batch", &["jobs"]),
    ("policy", &["poddisruptionbudgets"]),
    ("scheduling.k8s.io", &["priorityclasses"]),
    (
        "storage.k8s.io",
        &["storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"],
    ),
    ("resource.k8s.io", &["resourceclaims", "resourceslices", "deviceclasses"]),
    ("metrics.k8s.io", &["nodes", "pods"]),
];

/// The right to read everything that a plan is made from, but for some resources.
pub(crate) fn read_but(without: &[&str]) -> Vec<Value> {
    let rules = READ.iter().filter_map(|(group, resources)| {
        let left: Vec<&&str> = resources.iter().filter(|name| !without.contains(*name)).collect();
        let rule = json!({"apiGroups": [group], "resources": left,
            "verbs": ["get", "list", "watch"]});
        (!left.is_empty()).then_some(rule)
    });
    rules.collect()
}

/// The rights that the service needs: what is read, evictions, events and leases.
pub(crate) fn service_rights() -> Vec<Value> {
    let mut rules = read_but(&[]);
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    rules.extend([
        rule("", "pods/eviction", &["create"]),
        rule("events.k8s.io", "events", &["create", "patch", "update"]),
        rule("coordination.k8s.io", "leases", &["get", "create", "update", "patch"]),
    ]);
    rules
}

/// An account.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    name: String,
    token: String,
}

impl Account {
    /// Makes an account that may do what these rules say, and nothing else.
    pub(crate) fn new(plane: &Plane, name: &str, rules: &[Value]) -> Result<Self> {
        let meta = json!({"name": name, "namespace": NAMESPACE});
        let subject = json!({"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE});
        let cluster = plane.cluster();
        cluster.create([
            &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}),
            &json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": name}, "rules": rules}),
            &json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": {"name": name}, "subjects": [subject],
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                    "name": name}}),
        ])?;
        let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{name}/token");
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600}});
        let answer = cluster.post(&path, &request)?;
        let token = answer["status"]["token"].as_str().context("no token")?.to_owned();
        let account = Self { name: name.to_owned(), token };
        // Whoever may list anything at all has rights that the API server knows of by now.
        if let Some(rule) = rules.iter().find(|rule| rule["verbs"][0] == "get") {
            account.wait_until_allowed(plane, rule)?;
        }
        Ok(account)
    }

    /// What it is known by.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Its name as the audit log has it.
    pub(crate) fn user(&self) -> String {
        format!("system:serviceaccount:{NAMESPACE}:{}", self.name)
    }

    /// Writes a kubeconfig for it. `server` is where to send requests; by default to the plane's
    /// first API server.
    pub(crate) fn kubeconfig(&self, plane: &Plane, server: Option<&str>) -> Result<PathBuf> {
        let server = match server {
            Some(server) => server.to_owned(),
            None => format!("https://{}", plane.address("apiserver-0")?),
        };
        let authority = plane.folder().join("certs/ca.crt");
        let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "e2e",
            "clusters": [{"name": "e2e",
                "cluster": {"server": server, "certificate-authority": authority}}],
            "users": [{"name": "e2e", "user": {"token": self.token}}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}]});
        let name = format!("{}-{}.kubeconfig", self.name, server.rsplit(':').next().unwrap_or(""));
        write(plane.folder(), &name, &config.to_string())
    }

    /// Rights are known a moment after they are given, which no watch tells.
    fn wait_until_allowed(&self, plane: &Plane, rule: &Value) -> Result<()> {
        let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": self.user(), "resourceAttributes": {"verb": "get",
                "group": rule["apiGroups"][0], "resource": rule["resources"][0]}}});
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if plane.cluster().post(path, &review)?["status"]["allowed"] == true {
                return Ok(());
            }
            sleep(Duration::from_millis(50));
        }
        bail!("the rights of {} do not take effect", self.name)
    }
}
