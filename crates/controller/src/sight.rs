//! A look at a pod, and at where it would go, right before it is evicted.

use descheduler_cluster::Store;
use descheduler_engine::{Reason, Sight, Target};

/// It was asked for between the plan and now.
const ASKS_TO_STAY: &str = "AsksToStay";
/// Its object can no longer be read.
const MALFORMED: &str = "Malformed";
/// No node of those that it was to land on can take it any more.
const DESTINATIONS_LOST: &str = "DestinationsLost";

/// What the store knows of the pod of a planned eviction. Whether a budget or a limit lets it go is
/// not asked here: the execution keeps count of these.
pub(crate) fn sight(store: &Store, target: &Target) -> Sight {
    let Some(pod) = store.pod(&target.pod.namespace, &target.pod.name) else { return Sight::Gone };
    if *pod.uid != *target.pod.uid {
        return Sight::Replaced;
    }
    if pod.terminating {
        return Sight::Gone;
    }
    let held = |code, detail: &str| Sight::Held(Reason::new(code, detail));
    if pod.flawed {
        return held(MALFORMED, "part of the pod can no longer be read");
    }
    // Where nobody asked where the pod would land, upstream's rules hold, and it knows no others.
    let is_placed = !target.destinations.is_empty();
    let asks_autoscalers = pod.evict.is_none() && (pod.do_not_disrupt || pod.unsafe_to_evict);
    if pod.evict == Some(false) || is_placed && asks_autoscalers {
        return held(ASKS_TO_STAY, "an annotation asks for it since the plan was made");
    }
    let can_take = |name: &str| {
        store.node(name).is_some_and(|node| node.ready && !node.unschedulable && !node.flawed)
    };
    if is_placed && !target.destinations.iter().any(|name| can_take(name)) {
        let nodes = target.destinations.join(", ");
        return held(DESTINATIONS_LOST, &format!("{nodes}: gone, cordoned or not ready by now"));
    }
    Sight::Same
}

#[cfg(test)]
mod tests {
    use descheduler_cluster::Kind;
    use descheduler_engine::PodKey;
    use serde_json::{Value, json};

    use super::*;

    fn target(destinations: &[&str]) -> Target {
        let pod = PodKey { namespace: "ns".into(), name: "p".into(), uid: "1".into() };
        Target {
            pod,
            node: "a".into(),
            profile: 0,
            strategy: "First",
            reason: Reason::new("Wrong", "by hand"),
            grace_period_seconds: None,
            budget: None,
            set: None,
            destinations: destinations.iter().map(|&name| name.into()).collect(),
        }
    }

    fn store(pod: Option<Value>, node: Option<Value>) -> Store {
        let mut store = Store::new();
        for (kind, object) in [(Kind::Pod, pod), (Kind::Node, node)] {
            let text = object.map(|object| object.to_string());
            if let Some(text) = text {
                store.put(kind, text.as_bytes()).expect("it is JSON");
            }
        }
        store
    }

    #[test]
    fn what_has_changed_since_the_plan_keeps_the_pod() {
        let pod = |metadata: Value| {
            let mut all = json!({"name": "p", "namespace": "ns", "uid": "1"});
            all.as_object_mut().expect("a map").extend(metadata.as_object().expect("too").clone());
            Some(json!({"metadata": all, "spec": {}}))
        };
        let node = |spec: Value, ready: &str| {
            let conditions = json!([{"type": "Ready", "status": ready}]);
            let status = json!({"conditions": conditions});
            Some(json!({"metadata": {"name": "b"}, "spec": spec, "status": status}))
        };
        let good = || node(json!({}), "True");
        let karpenter = json!({"annotations": {"karpenter.sh/do-not-disrupt": "true"}});
        let stay = json!({"annotations": {"descheduler.alpha.kubernetes.io/evict": "false"}});
        let both = json!({"annotations": {"karpenter.sh/do-not-disrupt": "true",
            "descheduler.alpha.kubernetes.io/evict": "true"}});
        let placed: &[&str] = &["b"];
        let nowhere: &[&str] = &[];
        for (pod, node, destinations, expected) in [
            (pod(json!({})), good(), placed, "Same"),
            (pod(json!({})), None, nowhere, "Same"),
            (None, good(), placed, "Gone"),
            (pod(json!({"uid": "2"})), good(), placed, "Replaced"),
            (pod(json!({"deletionTimestamp": "2026-01-01T00:00:00Z"})), good(), placed, "Gone"),
            (pod(json!({"labels": 7})), good(), placed, MALFORMED),
            (pod(stay), good(), nowhere, ASKS_TO_STAY),
            (pod(karpenter.clone()), good(), placed, ASKS_TO_STAY),
            (pod(karpenter), good(), nowhere, "Same"),
            (pod(both), good(), placed, "Same"),
            (pod(json!({})), None, placed, DESTINATIONS_LOST),
            (pod(json!({})), good(), &["c", "b"], "Same"),
            (
                pod(json!({})),
                node(json!({"unschedulable": true}), "True"),
                placed,
                DESTINATIONS_LOST,
            ),
            (pod(json!({})), node(json!({}), "Unknown"), placed, DESTINATIONS_LOST),
        ] {
            let said = format!("{pod:?}, {node:?}, {destinations:?}");
            let code = match sight(&store(pod, node), &target(destinations)) {
                Sight::Same => "Same",
                Sight::Gone => "Gone",
                Sight::Replaced => "Replaced",
                Sight::Held(reason) => reason.code,
                Sight::Unseen => "Unseen",
            };
            assert_eq!(code, expected, "{said}");
        }
    }
}
