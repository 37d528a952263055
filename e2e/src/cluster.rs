//! An API server, as a scenario talks to it: requests, and waiting by watches.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use http::Request;
use http_body_util::BodyExt;
use k8s_openapi::api::policy::v1::Eviction;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::runtime;

/// How long a scenario waits for something to become true, on a machine that may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// No request takes longer, if not for a reason that the test is about.
const ANSWER: Duration = Duration::from_secs(65);

/// Between one try to reach a server that is away and the next.
const RECONNECT: Duration = Duration::from_millis(100);

/// The objects of a watched collection by `namespace/name`, or by `name` where there is none.
pub(crate) type Objects = BTreeMap<String, Value>;

/// A client with rights of its own.
#[derive(Clone)]
pub(crate) struct Cluster {
    client: Client,
}

impl Cluster {
    /// The cluster of a kubeconfig.
    pub(crate) fn of(kubeconfig: &Path) -> Result<Self> {
        let client = runtime::wait(async {
            let file = Kubeconfig::read_from(kubeconfig)?;
            let mut config =
                Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
            config.default_retry = false;
            Ok(Client::try_from(config)?)
        });
        Ok(Self { client: client.with_context(|| kubeconfig.display().to_string())? })
    }

    /// Any request; returns the status and the body, whatever they are.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value)> {
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let body = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
        let request = Request::builder().method(method).uri(path);
        let request = request.header("content-type", kind).body(Body::from(body))?;
        let answer = runtime::wait(async {
            let answer = timeout(ANSWER, self.client.send(request)).await??;
            let status = answer.status().as_u16();
            let body = timeout(ANSWER, answer.into_body().collect()).await??.to_bytes();
            Ok((status, body))
        });
        let (status, body) = answer.with_context(|| format!("{method} {path}"))?;
        // Throttling answers with bare text.
        let text = || json!({"message": String::from_utf8_lossy(&body)});
        Ok((status, serde_json::from_slice(&body).unwrap_or_else(|_| text())))
    }

    /// Reads an object or a collection.
    pub(crate) fn get(&self, path: &str) -> Result<Value> {
        self.expect("GET", path, None)
    }

    /// Creates objects; where there is no namespace yet, it is `default`.
    pub(crate) fn create<'o>(&self, objects: impl IntoIterator<Item = &'o Value>) -> Result<()> {
        for object in objects {
            self.expect("POST", &collection(object)?, Some(object))?;
        }
        Ok(())
    }

    /// Creates one object below a path and returns it.
    pub(crate) fn post(&self, path: &str, object: &Value) -> Result<Value> {
        self.expect("POST", path, Some(object))
    }

    /// Merges a patch into an object.
    pub(crate) fn patch(&self, path: &str, patch: &Value) -> Result<Value> {
        self.expect("PATCH", path, Some(patch))
    }

    /// Deletes an object.
    pub(crate) fn delete(&self, path: &str) -> Result<()> {
        self.expect("DELETE", path, None).map(|_| ())
    }

    /// Evicts a pod as anybody would; returns the status.
    pub(crate) fn evict(&self, namespace: &str, name: &str) -> Result<u16> {
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/eviction");
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        };
        let body = serde_json::to_value(Eviction { metadata, delete_options: None })?;
        Ok(self.request("POST", &path, Some(&body))?.0)
    }

    fn expect(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let (status, answer) = self.request(method, path, body)?;
        let message = &answer["message"];
        ensure!((200..300).contains(&status), "{method} {path}: {status} {message}");
        Ok(answer)
    }

    /// Waits until the objects of a collection are as wanted: `what`, for the message when they do
    /// not become so.
    pub(crate) fn wait<T>(
        &self,
        what: &str,
        path: &str,
        mut wanted: impl FnMut(&Objects) -> Option<T>,
    ) -> Result<T> {
        let end = Instant::now() + PATIENCE;
        loop {
            let mut objects = Objects::new();
            let watched = runtime::wait(self.follow(path, end, &mut objects, &mut wanted));
            match watched {
                Ok(Some(found)) => return Ok(found),
                // The stream ended, or its beginning is forgotten: begin anew.
                Ok(None) => {}
                // A server that is away comes back, if the scenario is right to wait for it.
                Err(_) if Instant::now() < end => std::thread::sleep(RECONNECT),
                Err(error) => {
                    let seen = summary(&objects);
                    return Err(error.context(format!("waited for {what} in vain; {path}:{seen}")));
                }
            }
            if Instant::now() >= end {
                bail!("waited for {what} in vain; {path}:{}", summary(&objects));
            }
        }
    }

    async fn follow<T>(
        &self,
        path: &str,
        end: Instant,
        objects: &mut Objects,
        wanted: &mut impl FnMut(&Objects) -> Option<T>,
    ) -> Result<Option<T>> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let request = Request::get(path).body(Body::empty())?;
        let list = timeout(left(end), self.client.send(request)).await??;
        ensure!(list.status().is_success(), "GET {path}: {}", list.status());
        let list = timeout(left(end), list.into_body().collect()).await??.to_bytes();
        let list: Value = serde_json::from_slice(&list)?;
        for item in list["items"].as_array().into_iter().flatten() {
            objects.insert(key(item), item.clone());
        }
        if let Some(found) = wanted(objects) {
            return Ok(Some(found));
        }
        let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let watch = format!("{path}{separator}watch=true&resourceVersion={version}");
        let request = Request::get(watch).body(Body::empty())?;
        let mut stream = timeout(left(end), self.client.send(request)).await??.into_body();
        let mut rest = Vec::new();
        while let Some(frame) = timeout(left(end), stream.frame()).await? {
            rest.extend_from_slice(frame?.data_ref().map_or(&[][..], |data| data));
            while let Some(at) = rest.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=at).collect();
                let event: Value = serde_json::from_slice(&line)?;
                match event["type"].as_str() {
                    Some("ADDED" | "MODIFIED") => {
                        objects.insert(key(&event["object"]), event["object"].clone());
                    }
                    Some("DELETED") => {
                        objects.remove(&key(&event["object"]));
                    }
                    _ => return Ok(None),
                }
                if let Some(found) = wanted(objects) {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }
}

fn left(end: Instant) -> Duration {
    end.saturating_duration_since(Instant::now())
}

fn key(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    match text("namespace") {
        "" => text("name").to_owned(),
        namespace => format!("{namespace}/{}", text("name")),
    }
}

/// What there was instead, for whoever waited in vain.
fn summary(objects: &Objects) -> String {
    let mut text = String::new();
    for (key, object) in objects {
        let (node, phase) = (&object["spec"]["nodeName"], &object["status"]["phase"]);
        let _ = write!(text, "\n  {key}");
        for (name, value) in [
            ("node", node),
            ("phase", phase),
            ("deleted", &object["metadata"]["deletionTimestamp"]),
        ] {
            if !value.is_null() {
                let _ = write!(text, " {name}={value}");
            }
        }
    }
    if text.is_empty() { " nothing there".to_owned() } else { text }
}

/// Where objects of a kind are created.
fn collection(object: &Value) -> Result<String> {
    let version = object["apiVersion"].as_str().context("an object without apiVersion")?;
    let kind = object["kind"].as_str().context("an object without kind")?;
    let base = match version.contains('/') {
        true => format!("/apis/{version}"),
        false => format!("/api/{version}"),
    };
    let plural = match kind {
        "PriorityClass" | "StorageClass" => format!("{}es", kind.to_lowercase()),
        kind => format!("{}s", kind.to_lowercase()),
    };
    let global = matches!(
        kind,
        "ClusterRole"
            | "ClusterRoleBinding"
            | "FlowSchema"
            | "Namespace"
            | "Node"
            | "PersistentVolume"
            | "PriorityClass"
            | "PriorityLevelConfiguration"
            | "StorageClass"
            | "ValidatingWebhookConfiguration"
    );
    Ok(match object["metadata"]["namespace"].as_str() {
        _ if global => format!("{base}/{plural}"),
        namespace => format!("{base}/namespaces/{}/{plural}", namespace.unwrap_or("default")),
    })
}
