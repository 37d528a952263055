//! What the scheduler reads of a pod's spec, and of nodes.

use super::*;
use crate::PodAffinityTerm;
use crate::spec::{Features, InlineVolume, PodSpec};

fn with(spec: &str) -> (Snapshot, Vec<Anomaly>) {
    read(&[&pod("a", r#", "labels": {"app": "w"}"#, &format!(r#", "spec": {{{spec}}}"#))])
}

fn well(spec: &str) -> Snapshot {
    let (snapshot, anomalies) = with(spec);
    assert_eq!(anomalies, [], "{spec}");
    snapshot
}

fn spec(snapshot: &Snapshot) -> &PodSpec {
    &only(snapshot).spec
}

fn texts<'s>(snapshot: &'s Snapshot, syms: &[Sym]) -> Vec<&'s str> {
    syms.iter().map(|&sym| snapshot.text(sym)).collect()
}

#[test]
fn what_is_absent_is_the_default() {
    let snapshot = well("");
    let pod = only(&snapshot);
    assert_eq!((pod.nominated, pod.claims.len(), pod.ephemeral_claims.len()), (None, 0, 0));
    let scheduler_name = snapshot.sym("default-scheduler");
    assert_ne!(scheduler_name, Sym::UNKNOWN);
    let expected = PodSpec {
        priority: None,
        priority_class: Sym::EMPTY,
        node_selector: Box::default(),
        required_nodes: None,
        preferred_nodes: Box::default(),
        affinity: Box::default(),
        anti_affinity: Box::default(),
        preferred_pods: Box::default(),
        spread: Box::default(),
        tolerations: Box::default(),
        images: Box::default(),
        locality_images: Box::default(),
        image_volumes: Box::default(),
        host_ports: Box::default(),
        inline_volumes: Box::default(),
        migrated_disks: Box::default(),
        scheduler_name,
        features: Features::default(),
        gated: false,
        never_preempts: false,
        local_storage: false,
        resource_claims: Box::default(),
    };
    assert_eq!(*pod.spec, expected);
}

#[test]
fn single_words() {
    let is = |fields: &str, test: fn(&Snapshot, &PodSpec) -> bool| {
        let snapshot = well(fields);
        assert!(test(&snapshot, spec(&snapshot)), "{fields}");
    };
    is(r#""schedulerName": "mine""#, |all, spec| all.text(spec.scheduler_name) == "mine");
    is(r#""schedulerName": """#, |all, spec| all.text(spec.scheduler_name) == "default-scheduler");
    is(r#""schedulingGates": [{"name": "g"}]"#, |_, spec| spec.gated);
    is(r#""schedulingGates": []"#, |_, spec| !spec.gated);
    is(r#""preemptionPolicy": "Never""#, |_, spec| spec.never_preempts);
    is(r#""preemptionPolicy": "PreemptLowerPriority""#, |_, spec| !spec.never_preempts);
    is(r#""priorityClassName": "p""#, |all, spec| all.text(spec.priority_class) == "p");
    let (snapshot, _) = read(&[&pod("a", "", r#", "status": {"nominatedNodeName": "n"}"#)]);
    assert_eq!(only(&snapshot).nominated, Some(snapshot.sym("n")));
}

/// Containers, then the images that nodes would list them under.
#[test]
fn images_are_spelled_as_nodes_spell_them() {
    let table = [
        ("nginx", "nginx:latest"),
        ("nginx:1", "nginx:1"),
        ("r.example:5000/nginx", "r.example:5000/nginx:latest"),
        ("r.example:5000/nginx:1", "r.example:5000/nginx:1"),
        ("r/nginx@sha256:00", "r/nginx@sha256:00"),
        ("", ":latest"),
    ];
    for (written, listed) in table {
        let container = format!(r#"{{"image": "{written}"}}"#);
        let snapshot = well(&format!(
            r#""initContainers": [{container}], "containers": [{container}, {{"image": "z:1"}}],
               "volumes": [{{"image": {{"reference": "{written}"}}}}, {{"emptyDir": {{}}}}]"#
        ));
        let spec = spec(&snapshot);
        assert_eq!(texts(&snapshot, &spec.images), [written, "z:1"]);
        assert_eq!(texts(&snapshot, &spec.locality_images), [listed, listed, "z:1"]);
        assert_eq!(texts(&snapshot, &spec.image_volumes), [listed]);
    }
}

#[test]
fn ports_of_the_node() {
    let ports = |spec_text: &str| -> Vec<String> {
        let snapshot = well(spec_text);
        let shown = spec(&snapshot).host_ports.iter().map(|port| {
            format!("{}:{}/{}", snapshot.text(port.ip), port.port, snapshot.text(port.protocol))
        });
        shown.collect()
    };
    let regular = r#""containers": [{"ports": [{"containerPort": 1}, {"containerPort": 2,
        "hostPort": 80}, {"hostPort": 81, "hostIP": "10.0.0.1", "protocol": "UDP"},
        {"hostPort": 0}]}, {"ports": null}, {"ports": [{"hostPort": 82, "hostIP": ""}]}]"#;
    let own = ["0.0.0.0:80/TCP", "10.0.0.1:81/UDP", "0.0.0.0:82/TCP"];
    assert_eq!(ports(regular), own);
    // Sidecars count, what runs before the pod does not.
    let init = r#""initContainers": [{"restartPolicy": "Always", "ports": [{"hostPort": 90}]},
        {"ports": [{"hostPort": 91}]}]"#;
    assert_eq!(ports(init), ["0.0.0.0:90/TCP"]);
    // What the API server would have given a pod on the network of the node stands there already.
    assert_eq!(ports(&format!(r#""hostNetwork": true, {regular}"#)), own);
    // A key may be written with escapes.
    assert_eq!(ports(r#""containers": [{"ports": [{"hostP\u006frt": 80}]}]"#), ["0.0.0.0:80/TCP"]);
    let (snapshot, anomalies) = with(r#""containers": [{"ports": [{"hostPort": "http"}]}]"#);
    assert!(only(&snapshot).flawed);
    assert_eq!(
        said(&anomalies),
        ["Pod ns/a: `spec.containers[0].ports`: \
          invalid type: string \"http\", expected an integer"]
    );
}

#[test]
fn features_that_a_node_must_declare() {
    let features = |text: &str| spec(&well(text)).features;
    let none = Features::default();
    let rule =
        r#"{"restartPolicyRules": [{"action": "Restart"}, {"action": "RestartAllContainers"}]}"#;
    let restart = Features { restart_all_containers: true, ..none };
    assert_eq!(features(&format!(r#""containers": [{{}}, {rule}]"#)), restart);
    assert_eq!(features(&format!(r#""initContainers": [{rule}]"#)), restart);
    assert_eq!(
        features(r#""containers": [{"restartPolicyRules": [{"action": "Restart"}]}]"#),
        none
    );
    let users = Features { user_namespaces_host_network: true, ..none };
    assert_eq!(features(r#""hostNetwork": true, "hostUsers": false"#), users);
    assert_eq!(features(r#""hostNetwork": true, "hostUsers": true"#), none);
    assert_eq!(features(r#""hostUsers": false"#), none);
    let mount = Features { bind_mount_options: true, ..none };
    let with = r#"{"volumeMounts": [{"name": "a"}, {"bindMountOptions": {}}]}"#;
    assert_eq!(features(&format!(r#""containers": [{with}]"#)), mount);
    let without = r#"{"volumeMounts": [{"name": "bindMountOptions"}]}"#;
    assert_eq!(features(&format!(r#""containers": [{without}]"#)), none);
    let null = r#"{"volumeMounts": [{"bindMountOptions": null}]}"#;
    assert_eq!(features(&format!(r#""containers": [{null}]"#)), none);
}

#[test]
fn volumes_of_the_pod_itself() {
    let snapshot = well(
        r#""volumes": [
            {"name": "a", "gcePersistentDisk": {"pdName": "d"}},
            {"name": "b", "gcePersistentDisk": {"pdName": "d", "readOnly": true}},
            {"name": "c", "awsElasticBlockStore": {"volumeID": "v", "readOnly": true}},
            {"name": "d", "iscsi": {"targetPortal": "p", "iqn": "i", "readOnly": true}},
            {"name": "e", "rbd": {"monitors": ["m1", "m2"], "image": "i"}},
            {"name": "f", "rbd": {"monitors": [], "image": "i", "pool": "p", "readOnly": true}},
            {"name": "g", "persistentVolumeClaim": {"claimName": "c"}},
            {"name": "h", "ephemeral": {"volumeClaimTemplate": {}}}]"#,
    );
    let sym = |text: &str| snapshot.sym(text);
    let rbd = |monitors: &[&str], pool, read_only| InlineVolume::Rbd {
        monitors: monitors.iter().map(|monitor| sym(monitor)).collect(),
        pool: sym(pool),
        image: sym("i"),
        read_only,
    };
    let expected = [
        InlineVolume::GcePersistentDisk { name: sym("d"), read_only: false },
        InlineVolume::GcePersistentDisk { name: sym("d"), read_only: true },
        InlineVolume::AwsElasticBlockStore { volume: sym("v") },
        InlineVolume::Iscsi { iqn: sym("i"), read_only: true },
        rbd(&["m1", "m2"], "rbd", false),
        rbd(&[], "p", true),
    ];
    assert_eq!(*spec(&snapshot).inline_volumes, expected);
    let pod = only(&snapshot);
    assert_eq!(*pod.claims, [Box::from("c")]);
    assert_eq!(*pod.ephemeral_claims, [Box::from("a-h")]);
}

/// The term, with the answers of its selectors to `app=w`.
fn shown(snapshot: &Snapshot, term: &PodAffinityTerm) -> String {
    let labels = [(snapshot.sym("app"), snapshot.sym("w"))];
    let answers = [&term.selector, &term.namespace_selector].map(|selector| {
        selector.as_ref().map(|selector| selector.matches(&labels, snapshot.strings()))
    });
    format!(
        "{} {:?} {answers:?} {:?} {:?}",
        snapshot.text(term.topology_key),
        texts(snapshot, &term.namespaces),
        texts(snapshot, &term.match_label_keys),
        texts(snapshot, &term.mismatch_label_keys),
    )
}

#[test]
fn affinity_to_pods() {
    let app = r#""labelSelector": {"matchLabels": {"app": "w"}}"#;
    let full = format!(
        r#"{{"topologyKey": "zone", {app}, "namespaces": ["y", "x", "y"],
            "namespaceSelector": {{}}, "matchLabelKeys": ["k"], "mismatchLabelKeys": ["m", "n"]}}"#
    );
    let bare = r#"{"topologyKey": "host"}"#;
    let required = format!(r#""requiredDuringSchedulingIgnoredDuringExecution": [{full}, {bare}]"#);
    let preferred = |weight: i32| {
        format!(
            r#""preferredDuringSchedulingIgnoredDuringExecution":
               [{{"weight": {weight}, "podAffinityTerm": {full}}}, {{"weight": 1}},
                {{"weight": {}, "podAffinityTerm": {bare}}}]"#,
            weight + 1
        )
    };
    let snapshot = well(&format!(
        r#""affinity": {{"podAffinity": {{{required}, {}}}, "podAntiAffinity": {{{required}, {}}}}}"#,
        preferred(10),
        preferred(20)
    ));
    let spec = spec(&snapshot);
    let full = r#"zone ["x", "y"] [Some(true), Some(true)] ["k"] ["m", "n"]"#;
    let bare = "host [] [None, None] [] []";
    let terms = |terms: &[PodAffinityTerm]| -> Vec<String> {
        terms.iter().map(|term| shown(&snapshot, term)).collect()
    };
    assert_eq!(terms(&spec.affinity), [full, bare]);
    assert_eq!(terms(&spec.anti_affinity), [full, bare]);
    let preferred: Vec<_> = spec
        .preferred_pods
        .iter()
        .map(|preferred| (preferred.weight, shown(&snapshot, &preferred.term)))
        .collect();
    let expected = [(10, full), (11, bare), (-20, full), (-21, bare)];
    assert_eq!(preferred, expected.map(|(weight, term)| (weight, term.to_owned())));
}

#[test]
fn spreading() {
    let snapshot = well(
        r#""topologySpreadConstraints": [
            {"topologyKey": "zone", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule",
             "labelSelector": {}, "minDomains": 3, "matchLabelKeys": ["k"],
             "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"},
            {"topologyKey": "host", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}]"#,
    );
    let [hard, soft] = &*spec(&snapshot).spread else { panic!("two constraints") };
    assert_eq!((snapshot.text(hard.topology_key), hard.max_skew, hard.hard), ("zone", 2, true));
    assert_eq!(hard.selector.as_ref().map(crate::Selector::is_empty), Some(true));
    assert_eq!((hard.min_domains, hard.honor_affinity, hard.honor_taints), (Some(3), false, true));
    assert_eq!(texts(&snapshot, &hard.match_label_keys), ["k"]);
    assert_eq!((snapshot.text(soft.topology_key), soft.max_skew, soft.hard), ("host", 1, false));
    assert_eq!((&soft.selector, soft.min_domains), (&None, None));
    assert_eq!((soft.honor_affinity, soft.honor_taints), (true, false));
}

/// A term with a selector that means nothing is left out, and the pod is kept.
#[test]
fn selectors_that_mean_nothing_are_flaws() {
    let bad = r#""labelSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}"#;
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    let table = [
        (
            format!(r#""topologySpreadConstraints": [{{"topologyKey": "z", {bad}}}]"#),
            "spec.topologySpreadConstraints[0].labelSelector".to_owned(),
        ),
        (
            format!(
                r#""affinity": {{"podAffinity": {{"{preferred}":
                   [{{"weight": 1, "podAffinityTerm": {{"topologyKey": "z", {bad}}}}}]}}}}"#
            ),
            format!("spec.affinity.podAffinity.{preferred}[0].podAffinityTerm.labelSelector"),
        ),
    ];
    for (text, field) in table {
        let (snapshot, anomalies) = with(&text);
        let pod = only(&snapshot);
        assert!(pod.flawed && pod.spec.spread.is_empty() && pod.spec.preferred_pods.is_empty());
        let fields: Vec<&str> = anomalies.iter().map(|anomaly| &*anomaly.field).collect();
        assert_eq!(fields, [field]);
    }
}

#[test]
fn images_and_features_of_nodes() {
    let (snapshot, anomalies) = read(&[r#"{"kind": "Node", "metadata": {"name": "n"}, "status": {
        "images": [{"names": ["b", "a"], "sizeBytes": 5}, {"names": ["a", "c"], "sizeBytes": 7},
                   {"names": null, "sizeBytes": 9}, {"names": ["d"]}],
        "declaredFeatures": ["Y", "X"]}}"#]);
    assert_eq!(anomalies, []);
    let node = snapshot.node(snapshot.nodes()[0]);
    let size = |name: &str| {
        let at = node.images.binary_search_by_key(&snapshot.sym(name), |&(name, _)| name).ok()?;
        Some(node.images[at].1)
    };
    assert_eq!([size("a"), size("b"), size("c"), size("d")], [Some(5), Some(5), Some(7), Some(0)]);
    assert_eq!((node.images.len(), size("e")), (4, None));
    for feature in ["X", "Y"] {
        assert!(node.declared_features.binary_search(&snapshot.sym(feature)).is_ok());
    }
}

#[test]
fn who_waits_for_a_node() {
    let text = |name: &str, metadata: &str, spec: &str, status: &str| {
        pod(name, metadata, &format!(r#", "spec": {{{spec}}}, "status": {{{status}}}"#))
    };
    let objects = [
        text("d", "", "", r#""phase": "Pending""#),
        text("b", "", r#""nodeName": "gone""#, ""),
        text("c", "", r#""schedulingGates": [{"name": "g"}]"#, ""),
        text("e", r#", "deletionTimestamp": "2026-01-01T00:00:00Z""#, "", ""),
        text("f", "", "", r#""phase": "Failed""#),
        text("a", "", r#""priority": 5"#, ""),
    ];
    let (snapshot, _) = read(&objects.each_ref().map(String::as_str));
    let names: Vec<_> = snapshot.pending().iter().map(|&pod| snapshot.pod_name(pod)).collect();
    assert_eq!(names, ["ns/a", "ns/d"]);
}

/// Owners that are called like a kind of Kubernetes' own, but are none.
#[test]
fn owners_of_other_groups() {
    for (version, kind, foreign) in [
        ("apps/v1", "StatefulSet", false),
        ("apps.kruise.io/v1beta1", "StatefulSet", true),
        ("v1", "ReplicaSet", true),
        ("batch/v1", "Job", false),
        ("batch.volcano.sh/v1alpha1", "Job", true),
        ("v1", "Node", false),
        ("example.com/v1", "Rollout", false),
        // The API server would not store it; whoever writes it by hand means Kubernetes' own.
        ("", "StatefulSet", false),
    ] {
        let owners = format!(
            r#", "ownerReferences": [{{"apiVersion": "{version}", "kind": "{kind}", "name": "o",
                "uid": "o"}}]"#
        );
        let (snapshot, _) = read(&[&pod("a", &owners, "")]);
        assert_eq!(only(&snapshot).owners[0].foreign, foreign, "{version} {kind}");
    }
}
