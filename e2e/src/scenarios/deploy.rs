//! What is shipped in `deploy/`: the Helm chart and the manifests, as a real API server takes them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Deserializer, Value};

use super::fixture::{POLICY, busy};
use crate::access::Account;
use crate::plane::{Plane, Shape};
use crate::program::Arguments;
use crate::scene::Scene;

/// The release that charts are rendered for.
const RELEASE: &str = "one";
/// The version of Kubernetes that charts are rendered for where no cluster is asked.
const VERSION: &str = "1.36.0";

/// Flags for helm, and what the outcome has to say: with `!` in front, what it must not say.
const RENDERED: &[(&str, &[&str])] = &[
    ("", &["kind: CronJob", "!kind: Deployment", "schedule: \"*/2 * * * *\"", "!suspend"]),
    ("", &["!pods.metrics", "!metrics.k8s.io", "!leases", "!secrets", "!metadata:\n    spec"]),
    ("", &["checksum/config:", "concurrencyPolicy: Forbid", "restartPolicy: Never", "!--leader"]),
    (
        "--set kind=Deployment",
        &["kind: Deployment", "!kind: CronJob", "--descheduling-interval=5m"],
    ),
    ("", &["path: /healthz\n", "port: 10258\n", "scheme: HTTPS\n", "!readyz"]),
    ("--set kind=Deployment", &["path: /healthz\n", "path: /readyz\n"]),
    ("--set kind=Deployment --set readinessProbe=null", &["path: /healthz\n", "!readyz"]),
    ("--set kind=Deployment", &["!kind: PodDisruptionBudget", "!kind: Service\n", "!leader-elect"]),
    ("--set suspend=true", &["suspend: true"]),
    ("--set successfulJobsHistoryLimit=0", &["successfulJobsHistoryLimit: 0"]),
    ("--set startingDeadlineSeconds=0", &["!startingDeadlineSeconds"]),
    (
        "--set cronJobLabels.a=b --set jobLabels.c=d",
        &["    a: b\nspec:", "        c: d\n    spec:"],
    ),
    ("--set jobAnnotations.e=f", &["      annotations:\n        e: f\n    spec:"]),
    ("--set cmdOptions.dry-run=null", &["- \"--v=3\""]),
    ("--set cmdOptions.dry-run=true", &["- \"--dry-run=true\"", "!pods/eviction", "!events"]),
    ("--set-json cmdOptions.dry-run=true", &["- \"--dry-run=true\"", "!pods/eviction"]),
    ("--set-json cmdOptions.client-connection-qps=1000000", &["--client-connection-qps=1000000"]),
    (
        "--set kind=Deployment --set leaderElection.enabled=true --set replicas=2",
        &["--leader-elect=true", "replicas: 2", "resourceNames: [\"descheduler\"]"],
    ),
    (
        "--set kind=Deployment --set leaderElection.enabled=true \
         --set leaderElection.resourceNamespace=a",
        &["--leader-elect-resource-namespace=a", "name: one-descheduler-leader\n  namespace: a"],
    ),
    (
        "--set kind=Deployment --set leaderElection.enabled=true \
         --set leaderElection.resourceNamespace=a --set leaderElection.resourceNamescape=b",
        &["--leader-elect-resource-namespace=b", "!namespace=a"],
    ),
    ("--set leaderElection.enabled=true", &["!leader-elect", "!leases"]),
    (
        "--set kind=Deployment --set podDisruptionBudget.enabled=true",
        &["kind: PodDisruptionBudget", "minAvailable: 1", "!maxUnavailable"],
    ),
    (
        "--set kind=Deployment --set podDisruptionBudget.enabled=true \
         --set podDisruptionBudget.minAvailable= --set podDisruptionBudget.maxUnavailable=2",
        &["maxUnavailable: 2", "!minAvailable"],
    ),
    ("--set podDisruptionBudget.enabled=true", &["!kind: PodDisruptionBudget"]),
    (
        "--set kind=Deployment --set serviceMonitor.enabled=true \
         --set serviceMonitor.apiVersion=x/v2",
        &["apiVersion: x/v2", "kind: ServiceMonitor", "name: one-descheduler-servicemonitor"],
    ),
    ("--set deschedulerPolicy.placement.mode=Off", &["!replicasets", "pods/eviction"]),
    ("--set cmdOptions.placement=off", &["!replicasets", "pods/eviction"]),
    (
        "--set deschedulerPolicy.metricsProviders[0].source=KubernetesMetrics",
        &["apiGroups: [metrics.k8s.io]"],
    ),
    (
        "--set deschedulerPolicy.metricsProviders[0].source=Prometheus --set \
         deschedulerPolicy.metricsProviders[0].prometheus.authToken.secretReference.name=token --set \
         deschedulerPolicy.metricsProviders[0].prometheus.authToken.secretReference.namespace=other",
        &["resourceNames: [\"token\"]", "prometheus\n  namespace: other", "!metrics.k8s.io"],
    ),
    ("--set rbac.create=false", &["!kind: ClusterRole", "kind: ServiceAccount"]),
    ("--set serviceAccount.create=false", &["!kind: ServiceAccount\nmeta", "AccountName: default"]),
    ("--set fullnameOverride=balancer", &["name: balancer\n", "!one-descheduler"]),
    ("--set image.tag=v9", &["image: \"descheduler:v9\""]),
];

/// Flags for helm that it refuses, and what is said of them.
const REFUSED: &[(&str, &[&str])] = &[
    (
        "--set deschedulerPolicy.strategies.RemoveDuplicates.enabled=true",
        &["both `strategies`", "profiles: null", "descheduler convert"],
    ),
    (
        "--set deschedulerPolicyAPIVersion=descheduler/v1alpha1",
        &["profiles belongs to", "Remove deschedulerPolicyAPIVersion"],
    ),
    ("--set deschedulerPolicy.kind=DeschedulerPolicy", &["deschedulerPolicy.kind", "remove it"]),
    ("--set schedul=@daily", &["'schedul'", "'schedule'"]),
    ("--set leaderElection.enable=true", &["'enable'", "'enabled'"]),
    ("--set kind=deployment", &["/kind", "'Deployment'"]),
    ("--set replicas=many", &["/replicas", "integer"]),
    ("--set deschedulingInterval=5", &["/deschedulingInterval"]),
    ("--set kind=Deployment --set replicas=2", &["You must set leaderElection to use more than 1"]),
    ("--set kind=Deployment --set deschedulingInterval=", &["deschedulingInterval", "such as 5m"]),
    (
        "--set kind=Deployment --set podDisruptionBudget.enabled=true \
         --set podDisruptionBudget.maxUnavailable=1",
        &["both minAvailable and maxUnavailable", "\"\""],
    ),
];

/// A file in `deploy/`.
fn shipped(path: &str) -> String {
    format!("{}/../deploy/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// Renders the chart; what helm says where it refuses is an error.
fn render(plane: &Plane, flags: &str) -> Result<String> {
    let chart = shipped("charts/descheduler");
    let mut arguments = vec!["template", RELEASE, &chart, "--namespace", "kube-system"];
    arguments.extend(["--kube-version", VERSION]);
    arguments.extend(flags.split_whitespace());
    plane.helm(&arguments)
}

/// Values of every kind render to what they stand for, or are refused with a way out.
pub(super) fn chart_renders(scene: &Scene<'_>) -> Result<()> {
    // Only the programs of the plane are used.
    let plane = scene.plane(&Shape::nodes(0))?;
    plane.helm(&["lint", "--strict", "--kube-version", VERSION, &shipped("charts/descheduler")])?;
    for (flags, wanted) in RENDERED {
        let text = render(&plane, flags)?;
        for words in *wanted {
            let (words, is_there) = words.strip_prefix('!').map_or((*words, true), |w| (w, false));
            ensure!(text.contains(words) == is_there, "{flags}: `{words}` in\n{text}");
        }
    }
    for (flags, wanted) in REFUSED {
        let Err(error) = render(&plane, flags) else { bail!("`{flags}` is not refused") };
        let said = format!("{error:#}");
        for words in *wanted {
            ensure!(said.contains(words), "{flags}: `{words}` is not said: {said}");
        }
    }
    for values in values()? {
        let text = render(&plane, &format!("--values {}", values.display()))?;
        let rendered = scene.file("rendered.yaml", &text)?;
        let run = scene.run(Arguments::of("validate").path("--policy", &rendered))?;
        run.expect(0, &[]).with_context(|| format!("the policy of {}", values.display()))?;
    }
    Ok(())
}

/// The values that the chart is tried with.
fn values() -> Result<Vec<PathBuf>> {
    let folder = shipped("charts/descheduler/ci");
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.clone())? {
        found.push(entry.with_context(|| folder.clone())?.path());
    }
    found.sort();
    ensure!(found.len() >= 4, "{folder} holds {} files", found.len());
    Ok(found)
}

/// The chart is installed, changed and removed; with the rights that it gives everything can be
/// read that a plan is made from.
pub(super) fn chart_installs(scene: &Scene<'_>) -> Result<()> {
    let plane = busy(scene)?;
    let chart = shipped("charts/descheduler");
    let go = |arguments: &[&str]| {
        let mut all = arguments.to_vec();
        all.extend(["--namespace", "kube-system", "--wait", "--timeout", "60s"]);
        plane.helm(&all)
    };
    let deployment = ["--set", "kind=Deployment", "--set", "replicas=2", "--set"];
    let election = "leaderElection.enabled=true";
    let notes = go(&[&["install", RELEASE, &chart][..], &deployment, &[election]].concat())?;
    ensure!(notes.contains("a cycle every 5m"), "{notes}");
    let path = "/apis/apps/v1/namespaces/kube-system/deployments";
    plane.cluster().wait("both replicas", path, |found| {
        let ready = |one: &Value| one["status"]["readyReplicas"] == 2;
        found.values().any(ready).then_some(())
    })?;

    let role = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{RELEASE}-descheduler");
    let rules = plane.cluster().get(&role)?["rules"].clone();
    let account = Account::new(&plane, "shipped", rules.as_array().map_or(&[], Vec::as_slice))?;
    let policy = scene.file("policy.yaml", POLICY)?;
    let plan = scene.plan(&account.kubeconfig(&plane, None)?, &policy, "")?;
    ensure!(plan["evictions"].as_array().is_some_and(|all| !all.is_empty()), "nothing planned");
    for note in plan["notes"].as_array().into_iter().flatten() {
        let text = note["text"].as_str().unwrap_or_default();
        // The policy does not ask for usage, so the chart does not ask for the right to read it.
        let is_usage = text.contains("metrics.k8s.io");
        ensure!(is_usage || !text.contains("no right to read"), "{text}");
    }

    let notes = go(&["upgrade", RELEASE, &chart, "--set", "kind=CronJob"])?;
    ensure!(notes.contains("one cycle at a time"), "{notes}");
    go(&["uninstall", RELEASE])?;
    let left = plane.kubectl(&[
        "get",
        "all,configmaps,clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts",
        "--all-namespaces",
        "--selector",
        &format!("app.kubernetes.io/instance={RELEASE}"),
        "--output",
        "name",
    ])?;
    // Pods may still be ending.
    let left: Vec<&str> = left.lines().filter(|line| !line.starts_with("pod/")).collect();
    ensure!(left.is_empty(), "uninstalled, but there is {left:?}");
    Ok(())
}

/// The manifests are what the API server takes, `install.yaml` is what kustomize makes of them, and
/// they grant what the chart grants for a policy that needs everything.
pub(super) fn manifests(scene: &Scene<'_>) -> Result<()> {
    let plane = scene.plane(&Shape::nodes(1))?;
    for kind in ["job", "cronjob", "deployment"] {
        plane.kubectl(&["apply", "--kustomize", &shipped(&format!("kustomize/{kind}"))])?;
    }
    let wait = ["wait", "--namespace", "kube-system", "--timeout", "60s", "--for"];
    plane.kubectl(&[&wait[..], &["condition=Available", "deployment/descheduler"]].concat())?;
    let built = plane.kubectl(&["kustomize", &shipped("kustomize/deployment")])?;
    let path = shipped("install.yaml");
    let install = fs::read_to_string(&path).with_context(|| path.clone())?;
    let advice = "kubectl kustomize deploy/kustomize/deployment > deploy/install.yaml";
    ensure!(install == built, "install.yaml is out of date: {advice}");

    let whole = "--set kind=Deployment --set leaderElection.enabled=true \
        --set deschedulerPolicy.metricsProviders[0].source=KubernetesMetrics";
    let chart = rules(&plane, &scene.file("chart.yaml", &render(&plane, whole)?)?)?;
    let manifests = rules(&plane, &PathBuf::from(path))?;
    ensure!(chart == manifests, "different rights:\n{chart}\n{manifests}");
    Ok(())
}

/// The rules of the cluster role in a file, as the API server reads it.
fn rules(plane: &Plane, file: &std::path::Path) -> Result<Value> {
    let file = file.to_string_lossy();
    let text =
        plane.kubectl(&["apply", "--dry-run=server", "--output=json", "--filename", &file])?;
    for object in Deserializer::from_str(&text).into_iter::<Value>() {
        let object = object.context("read what kubectl prints")?;
        let items = object["items"].as_array().cloned().unwrap_or_else(|| vec![object]);
        if let Some(role) = items.iter().find(|one| one["kind"] == "ClusterRole") {
            return Ok(role["rules"].clone());
        }
    }
    bail!("there is no ClusterRole in {file}")
}
