//! Worlds as the lines of `descheduler_testkit`, and back.

use std::fmt::Write;

use descheduler_testkit::fixture::NOW;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::faults::Faults;
use crate::world::{Budget, KNOWN, Key, Node, Pod, Workload, World};

/// A node that nothing is to be placed on has this taint, too.
const CORDONED: &str = "taint:node.kubernetes.io/unschedulable:NoSchedule";
const NOT_READY: &str = "taint:node.kubernetes.io/not-ready:NoSchedule";
const TAINTED: &str = "taint:gone:NoSchedule";

/// The lines.
pub(crate) fn of(world: &World) -> String {
    let mut out = String::from("namespace x label:team=a\nnamespace y label:team=b\n");
    let mut line = |text: String| writeln!(out, "{text}").expect("a string takes all");
    for Node { name, words, cordoned, notready, tainted } in &world.nodes {
        let mut words = vec![words.clone()];
        let mut flag = |is: bool, more: &str| words.extend(is.then(|| more.to_owned()));
        flag(*cordoned, &format!("cordoned {CORDONED}"));
        flag(*notready, &format!("notready {NOT_READY}"));
        flag(*tainted, TAINTED);
        line(format!("node {name} {}", words.join(" ")));
    }
    for Workload { namespace, kind, name, replicas, template, vacant: _ } in &world.workloads {
        if KNOWN.contains(&kind.as_str()) {
            let kind = kind.to_lowercase();
            line(format!("{kind} {namespace}/{name} replicas={replicas}"));
            line(format!("  | {}", json!({"spec": {"template": template}})));
        }
    }
    for pod in &world.pods {
        pod_lines(pod, &mut line);
    }
    for budget in &world.budgets {
        let Budget { namespace, name, app, min_available, always_allow, .. } = budget;
        let Budget { allowed, healthy, unprocessed, .. } = budget;
        let mut words = format!(
            "budget {namespace}/{name} selector:app={app} minAvailable={min_available} \
             allowed={allowed} healthy={healthy}/{min_available}"
        );
        words += if *always_allow { " unhealthy=AlwaysAllow" } else { "" };
        words += if *unprocessed { " unprocessed" } else { "" };
        line(words);
    }
    out
}

fn pod_lines(pod: &Pod, line: &mut impl FnMut(String)) {
    let Pod { key, owner, node, words, patch, made, terminating, unready, kept, lineage: _ } = pod;
    let mut all = vec![format!("pod {}/{}", key.namespace, key.name)];
    all.extend(node.as_ref().map(|node| format!("on={node}")));
    all.extend((!owner.is_empty()).then(|| format!("owner={owner}")));
    all.extend(terminating.then(|| "terminating".to_owned()));
    all.extend((*unready && !words.contains("unready")).then(|| "unready".to_owned()));
    all.extend((!words.is_empty()).then(|| words.clone()));
    line(all.join(" "));
    let mut patch = patch.clone();
    patch["metadata"]["uid"] = json!(key.uid);
    patch["metadata"]["creationTimestamp"] = json!(made.to_string());
    if *kept {
        patch["metadata"]["annotations"]["descheduler.alpha.kubernetes.io/evict"] = json!("false");
    }
    if node.is_some() {
        patch["status"]["startTime"] = json!(made.to_string());
        patch["spec"]["nodeName"] = json!(node);
    }
    line(format!("  | {patch}"));
}

/// A world out of its lines. Other lines of the same language are not understood.
pub(crate) fn parse(text: &str, faults: Faults) -> Result<World, String> {
    let mut world = World::new(NOW, faults);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    while let Some(line) = lines.next() {
        let patch = lines.next_if(|next| next.starts_with('|'));
        let patch = patch.map_or(Ok(json!({})), |patch| serde_json::from_str(&patch[1..]));
        let patch: Value = patch.map_err(|error| format!("below `{line}`: {error}"))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [kind, name, words @ ..] = &*words else { return Err(format!("`{line}`: a name")) };
        match *kind {
            "namespace" => {}
            "node" => world.nodes.push(node(name, words)),
            "pod" => {
                let pod = pod(name, words, patch, world.pods.len())?;
                world.pods.push(pod);
            }
            "budget" => world.budgets.push(budget(name, words)?),
            other => {
                let kind = KNOWN.into_iter().find(|known| known.to_lowercase() == other);
                let kind = kind.ok_or_else(|| format!("`{other}` is not known here"))?;
                world.workloads.push(workload(kind, name, words, &patch)?);
            }
        }
    }
    world.born = world.pods.len();
    Ok(world)
}

fn node(name: &str, words: &[&str]) -> Node {
    let is = |word: &str| words.contains(&word);
    let rest = words
        .iter()
        .copied()
        .filter(|word| !["cordoned", "notready", CORDONED, NOT_READY, TAINTED].contains(word));
    Node {
        name: name.to_owned(),
        words: rest.collect::<Vec<_>>().join(" "),
        cordoned: is("cordoned"),
        notready: is("notready"),
        tainted: is(TAINTED),
    }
}

fn workload(kind: &str, name: &str, words: &[&str], patch: &Value) -> Result<Workload, String> {
    let (namespace, name) = full_name(name)?;
    Ok(Workload {
        namespace,
        kind: kind.to_owned(),
        name,
        replicas: usize::try_from(number(words, "replicas=")?).unwrap_or(0),
        template: patch["spec"]["template"].clone(),
        vacant: Vec::new(),
    })
}

fn pod(name: &str, words: &[&str], mut patch: Value, number: usize) -> Result<Pod, String> {
    let (namespace, name) = full_name(name)?;
    let value = |prefix: &str| words.iter().find_map(|word| word.strip_prefix(prefix));
    let is = |word: &str| words.contains(&word);
    let rest = words.iter().copied().filter(|word| {
        !["terminating", "unready"].contains(word)
            && !word.starts_with("on=")
            && !word.starts_with("owner=")
    });
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let made = text(&patch["metadata"]["creationTimestamp"]);
    let made: Timestamp = made.parse().map_err(|_| format!("`{name}`: creationTimestamp"))?;
    let key = Key { namespace, name, uid: text(&patch["metadata"]["uid"]) };
    let spec = patch["spec"].as_object_mut();
    spec.map(|spec| spec.remove("nodeName"));
    let (node, owner) = (value("on="), value("owner="));
    Ok(Pod {
        key,
        owner: owner.unwrap_or("").to_owned(),
        node: node.map(str::to_owned),
        words: rest.collect::<Vec<_>>().join(" "),
        patch,
        made,
        terminating: is("terminating"),
        unready: is("unready"),
        kept: false,
        lineage: number + 1,
    })
}

fn budget(name: &str, words: &[&str]) -> Result<Budget, String> {
    let (namespace, name) = full_name(name)?;
    let app = words.iter().find_map(|word| word.strip_prefix("selector:app="));
    let healthy = words.iter().find_map(|word| word.strip_prefix("healthy="));
    let healthy = healthy.and_then(|text| text.split('/').next()?.parse().ok());
    Ok(Budget {
        namespace,
        app: app.ok_or_else(|| format!("budget {name}: selector"))?.to_owned(),
        min_available: number(words, "minAvailable=")?,
        always_allow: words.contains(&"unhealthy=AlwaysAllow"),
        allowed: number(words, "allowed=")?,
        healthy: healthy.ok_or_else(|| format!("budget {name}: healthy"))?,
        unprocessed: words.contains(&"unprocessed"),
        name,
    })
}

fn number(words: &[&str], prefix: &str) -> Result<i64, String> {
    let word = words.iter().find_map(|word| word.strip_prefix(prefix));
    word.and_then(|word| word.parse().ok()).ok_or_else(|| format!("`{prefix}` with a number"))
}

fn full_name(name: &str) -> Result<(String, String), String> {
    let (namespace, name) = name.split_once('/').ok_or_else(|| format!("`{name}`: a namespace"))?;
    Ok((namespace.to_owned(), name.to_owned()))
}
