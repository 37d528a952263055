//! What a pod demands of its node.

use super::other::selector_labels;
use crate::json::{Json, Object, json};
use crate::plan::model::{Kind, Pool, Spread, Workload};

pub(crate) fn affinity(w: &Workload) -> Option<Json> {
    let mut affinity = Object::default();
    let pool_is = |pool: Pool| {
        json!({
            "matchExpressions": [{
                "key": "node.example.com/pool", "operator": "In", "values": [pool.name()],
            }],
        })
    };
    if let Some(pool) = w.required_pool {
        affinity.insert(
            "nodeAffinity",
            json!({
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [pool_is(pool)],
                },
            }),
        );
    } else if let Some(pool) = w.preferred_pool {
        affinity.insert(
            "nodeAffinity",
            json!({
                "preferredDuringSchedulingIgnoredDuringExecution": [{
                    "weight": 50, "preference": pool_is(pool),
                }],
            }),
        );
    }
    if w.anti_affinity {
        affinity.insert(
            "podAntiAffinity",
            json!({ "requiredDuringSchedulingIgnoredDuringExecution": [{
                "labelSelector": { "matchLabels": selector_labels(w) },
                "topologyKey": "kubernetes.io/hostname",
            }] }),
        );
    }
    (!affinity.is_empty()).then_some(Json::Object(affinity))
}

pub(crate) fn spread_constraints(w: &Workload) -> Option<Json> {
    let constraint = |key: &str, hard: bool| {
        json!({
            "maxSkew": 1, "topologyKey": key,
            "whenUnsatisfiable": if hard { "DoNotSchedule" } else { "ScheduleAnyway" },
            "labelSelector": { "matchLabels": selector_labels(w) },
        })
    };
    const ZONE: &str = "topology.kubernetes.io/zone";
    match w.spread {
        Spread::None => None,
        Spread::Zone { hard, per_revision } => {
            let mut c = constraint(ZONE, hard);
            if per_revision {
                c["matchLabelKeys"] = json!(["pod-template-hash"]);
            }
            Some(json!([c]))
        }
        Spread::ZoneAndHost => {
            Some(json!([constraint(ZONE, true), constraint("kubernetes.io/hostname", false)]))
        }
    }
}

pub(crate) fn tolerations(w: &Workload) -> Vec<Json> {
    if w.kind == Kind::DaemonSet {
        return vec![json!({ "operator": "Exists" })];
    }
    let mut tolerations: Vec<Json> = ["not-ready", "unreachable"]
        .map(|k| {
            json!({
                "key": format!("node.kubernetes.io/{k}"),
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            })
        })
        .into();
    if let Some(pool) = w.dedicated {
        tolerations.push(json!({
            "key": "dedicated",
            "operator": "Equal",
            "value": pool.name(),
            "effect": "NoSchedule",
        }));
    }
    tolerations
}
