use serde_json::{Value, json};

use super::*;

fn redact(keep: &str, objects: &[Value]) -> Vec<Value> {
    let mut redactor = Redactor::new(keep);
    let kept: Vec<Vec<u8>> = objects
        .iter()
        .map(|object| redactor.learn(object.to_string().as_bytes()).expect("JSON"))
        .collect();
    let redaction = redactor.finish(42);
    let read = |object: &Vec<u8>| serde_json::from_slice(&redaction.apply(object)).expect("JSON");
    kept.iter().map(read).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

#[test]
fn what_belongs_together_still_does() {
    let objects = redact(
        "",
        &[
            json!({"kind": "StatefulSet", "metadata": {"name": "acme-db", "uid": "u-7"},
                "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}],
                    "selector": {"matchLabels": {"acme.com/tier": "acme-db"}}}}),
            json!({"kind": "Pod", "metadata": {"name": "acme-db-0", "namespace": "prod",
                    "labels": {"acme.com/tier": "acme-db", "kubernetes.io/os": "linux"},
                    "annotations": {"acme.com/owner": "alice"},
                    "ownerReferences": [{"kind": "StatefulSet", "name": "acme-db", "uid": "u-7"}]},
                "spec": {"nodeName": "ip-10-0-3-17", "containers": [{"name": "db",
                    "image": "registry.acme.com:5000/db:v7", "args": ["--password=hunter2"],
                    "resources": {"requests": {"cpu": "100m", "acme.com/fpga": "1"}}}],
                    "volumes": [{"name": "data",
                        "persistentVolumeClaim": {"claimName": "data-acme-db-0"}}]},
                "status": {"phase": "Running", "message": "all is well at Acme"}}),
            json!({"kind": "PersistentVolumeClaim",
                "metadata": {"name": "data-acme-db-0", "namespace": "prod"}}),
        ],
    );
    let [set, pod, claim] = objects.as_slice() else { panic!("three objects") };
    let name = text(&set["metadata"]["name"]);
    assert_eq!(pod["metadata"]["name"], format!("{name}-0"));
    let template = text(&set["spec"]["volumeClaimTemplates"][0]["metadata"]["name"]);
    assert_eq!(claim["metadata"]["name"], format!("{template}-{name}-0"));
    let of_pod = &pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"];
    assert_eq!(*of_pod, claim["metadata"]["name"]);
    assert_eq!(pod["metadata"]["ownerReferences"][0]["uid"], set["metadata"]["uid"]);
    assert_eq!(pod["metadata"]["ownerReferences"][0]["kind"], "StatefulSet");
    let selector = set["spec"]["selector"]["matchLabels"].as_object().expect("an object");
    let labels = pod["metadata"]["labels"].as_object().expect("an object");
    assert!(selector.iter().all(|(key, value)| labels.get(key) == Some(value)), "{labels:?}");
    assert!(labels.contains_key("kubernetes.io/os"), "{labels:?}");
    let container = &pod["spec"]["containers"][0];
    assert_eq!(container["resources"]["requests"]["cpu"], "100m");
    assert_eq!(pod["status"], json!({"phase": "Running"}));
    // The image has the same parts, with a tag.
    let image = text(&container["image"]);
    assert_eq!(image.matches(['.', ':', '/']).count(), 5, "{image}");

    let all = objects.iter().map(Value::to_string).collect::<String>();
    for word in ["acme", "alice", "hunter2", "prod", "linux", "u-7", "well", "5000", "ip-", "fpga"]
    {
        assert!(!all.contains(word), "{word} is in {all}");
    }
}

#[test]
fn words_of_a_policy_stay() {
    let pod = json!({"kind": "Pod", "metadata": {"name": "web-1", "namespace": "shop",
        "labels": {"app": "web", "team": "blue"}}});
    let objects = redact("namespaces: {include: [shop]} # app=web", &[pod]);
    let metadata = &objects[0]["metadata"];
    assert_eq!(metadata["namespace"], "shop");
    assert_eq!(metadata["name"], "web-1");
    assert_eq!(metadata["labels"]["app"], "web");
    assert!(!metadata.to_string().contains("blue"), "{metadata}");
}

#[test]
fn the_words_come_from_chance_alone() {
    let mut redactor = Redactor::new("");
    let kept = redactor.learn(br#"{"kind":"Pod","metadata":{"name":"web"}}"#).expect("JSON");
    let once = redactor.finish(1).apply(&kept);
    let mut redactor = Redactor::new("");
    redactor.learn(&kept).expect("JSON");
    assert_ne!(once, redactor.finish(2).apply(&kept));
}

#[test]
fn what_is_not_an_object_is_left_alone() {
    let mut redactor = Redactor::new("");
    assert!(redactor.learn(b"{\"kind\":").is_err());
    for odd in [json!({"metadata": "secret"}), json!({"spec": [["secret"]], "labels": "secret"})] {
        let [redacted] = &redact("", &[odd])[..] else { panic!("one object") };
        assert!(!redacted.to_string().contains("secret"), "{redacted}");
    }
}
