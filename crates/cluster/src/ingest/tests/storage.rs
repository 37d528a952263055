//! Claims, volumes, and what decides where a volume can be.

use super::*;
use crate::{AccessModes, MigratedDisk};

const GI: i64 = 1 << 30;

fn well(objects: &[&str]) -> Snapshot {
    let (snapshot, anomalies) = read(objects);
    assert_eq!(anomalies, []);
    snapshot
}

fn texts<'s>(snapshot: &'s Snapshot, syms: &[Sym]) -> Vec<&'s str> {
    syms.iter().map(|&sym| snapshot.text(sym)).collect()
}

fn claim(metadata: &str, rest: &str) -> Snapshot {
    well(&[&format!(
        r#"{{"kind": "PersistentVolumeClaim", "metadata": {{"name": "c", "namespace": "ns",
            "uid": "u" {metadata}}} {rest}}}"#
    )])
}

#[test]
fn a_claim_with_everything() {
    let snapshot = claim(
        r#", "deletionTimestamp": "2026-01-01T00:00:00Z", "annotations":
            {"pv.kubernetes.io/bind-completed": "yes", "volume.kubernetes.io/selected-node": "n",
             "volume.beta.kubernetes.io/storage-class": "old"},
            "ownerReferences": [{"kind": "Pod", "name": "p", "uid": "pu", "controller": true}]"#,
        r#", "spec": {"storageClassName": "new", "volumeName": "v", "volumeMode": "Block",
             "accessModes": ["ReadWriteOnce", "ReadWriteOncePod"], "volumeAttributesClassName": "fast",
             "resources": {"requests": {"storage": "1500m"}}, "selector": {"matchLabels": {"a": "b"}}},
            "status": {"phase": "Lost"}"#,
    );
    let ns = snapshot.sym("ns");
    let claim = snapshot.claim(ns, "c").expect("the claim");
    assert_eq!((claim.namespace, &*claim.name, &*claim.uid), (ns, "c", "u"));
    assert_eq!(snapshot.text(claim.owners[0].uid), "pu");
    let names = [claim.class, claim.spec_class, claim.volume, claim.attributes_class];
    assert_eq!(texts(&snapshot, &names), ["old", "new", "v", "fast"]);
    // What protects a class goes by the field alone.
    assert_eq!(snapshot.claim_class(ns, "c"), Some(snapshot.sym("new")));
    assert!(claim.bound && claim.lost && claim.deleting && claim.block);
    assert_eq!((claim.requested, claim.selected_node), (2, Some(snapshot.sym("n"))));
    assert!(claim.access_modes.contains(AccessModes::READ_WRITE_ONCE_POD));
    assert!(!claim.access_modes.contains(AccessModes::READ_WRITE_MANY));
    assert!(claim.selector.as_ref().is_some_and(|selector| !selector.is_empty()));
    assert!(snapshot.claim(ns, "d").is_none() && snapshot.claim(Sym::EMPTY, "c").is_none());
}

#[test]
fn a_claim_with_nothing() {
    let snapshot = claim("", "");
    let claim = snapshot.claim(snapshot.sym("ns"), "c").expect("the claim");
    let names = [claim.class, claim.spec_class, claim.volume, claim.attributes_class];
    assert_eq!(names, [Sym::EMPTY; 4]);
    assert!(!(claim.bound || claim.lost || claim.deleting || claim.block));
    assert_eq!((claim.requested, claim.selected_node, &claim.selector), (0, None, &None));
    assert_eq!(claim.access_modes, AccessModes::default());
}

/// Bound is what has a volume and the word that this is for good.
#[test]
fn when_a_claim_is_bound() {
    let done = r#", "annotations": {"pv.kubernetes.io/bind-completed": ""}"#;
    let volume = r#", "spec": {"volumeName": "v"}"#;
    for (metadata, spec, bound) in
        [(done, volume, true), ("", volume, false), (done, "", false), ("", "", false)]
    {
        let snapshot = claim(metadata, spec);
        assert_eq!(snapshot.claims()[0].bound, bound, "{metadata} {spec}");
    }
    // An annotation that is there counts even where it is empty.
    let snapshot = claim(
        r#", "annotations": {"volume.beta.kubernetes.io/storage-class": ""}"#,
        r#", "spec": {"storageClassName": "new"}"#,
    );
    assert_eq!(snapshot.claims()[0].class, Sym::EMPTY);
}

#[test]
fn volumes() {
    let snapshot = well(&[
        r#"{"kind": "PersistentVolume", "metadata": {"name": "b", "labels": {"zone": "z"},
            "annotations": {"volume.beta.kubernetes.io/storage-class": "old"}},
            "spec": {"capacity": {"storage": "1Gi"}, "storageClassName": "new", "volumeMode": "Block",
             "accessModes": ["ReadOnlyMany"], "volumeAttributesClassName": "fast",
             "claimRef": {"namespace": "ns", "name": "c", "uid": "u"},
             "csi": {"driver": "d", "volumeHandle": "h"}, "nodeAffinity": {"required":
               {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}}},
            "status": {"phase": "Available"}}"#,
        r#"{"kind": "PersistentVolume", "metadata": {"name": "a",
            "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"awsElasticBlockStore": {"volumeID": "vol-1"}}}"#,
    ]);
    let names: Vec<Sym> = snapshot.volumes().iter().map(|volume| volume.name).collect();
    assert_eq!(texts(&snapshot, &names), ["a", "b"]);
    let volume = snapshot.volume(snapshot.sym("b")).expect("a volume");
    assert_eq!((volume.capacity, volume.labels.len()), (GI, 1));
    assert_eq!(texts(&snapshot, &[volume.class, volume.attributes_class]), ["old", "fast"]);
    assert!(volume.block && volume.available && !volume.deleting);
    assert_eq!(volume.access_modes, AccessModes::READ_ONLY_MANY);
    assert_eq!(volume.affinity.as_ref().map(|affinity| affinity.terms.len()), Some(1));
    assert_eq!(volume.csi, Some((snapshot.sym("d"), snapshot.sym("h"))));
    let claim = volume.claim.as_ref().expect("a claim");
    assert_eq!((snapshot.text(claim.namespace), &*claim.name, &*claim.uid), ("ns", "c", "u"));
    assert!(volume.legacy.is_none());
    let bare = snapshot.volume(snapshot.sym("a")).expect("a volume");
    assert!(bare.deleting && !bare.available && bare.claim.is_none() && bare.affinity.is_none());
    assert!(snapshot.volume(snapshot.sym("z")).is_none());
}

/// What the driver that took over calls a volume, in a PersistentVolume and in a pod.
#[test]
fn names_of_volumes_that_another_driver_took_over() {
    let zones = |key: &str, zones: &str| format!(r#""{key}": "{zones}""#);
    let zone = |value: &str| zones("topology.kubernetes.io/zone", value);
    let beta = |value: &str| zones("failure-domain.beta.kubernetes.io/zone", value);
    let gce = r#""gcePersistentDisk": {"pdName": "d"}"#;
    let azure = r#""azureDisk": {"diskName": "x", "diskURI": "/uri""#;
    let place =
        |place: &str| Some(format!("pd.csi.storage.gke.io projects/UNSPECIFIED/{place}/disks/d"));
    let some = |text: &str| Some(text.to_owned());
    let table = [
        (
            r#""awsElasticBlockStore": {"volumeID": "any"}"#,
            String::new(),
            some("ebs.csi.aws.com any"),
        ),
        (
            r#""awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}"#,
            String::new(),
            some("ebs.csi.aws.com vol-1"),
        ),
        (
            r#""awsElasticBlockStore": {"volumeID": "aws:///vol-1"}"#,
            String::new(),
            some("ebs.csi.aws.com vol-1"),
        ),
        (r#""awsElasticBlockStore": {"volumeID": "aws://vol-1"}"#, String::new(), None),
        (r#""awsElasticBlockStore": {"volumeID": "aws://z/y/vol-1"}"#, String::new(), None),
        (r#""awsElasticBlockStore": {"volumeID": "aws://z/disk"}"#, String::new(), None),
        (gce, String::new(), place("zones/UNSPECIFIED")),
        (gce, zone(""), place("zones/UNSPECIFIED")),
        (gce, zone("a"), place("zones/a")),
        (gce, format!("{}, {}", zone("a"), beta("b")), place("zones/b")),
        (gce, format!("{}, {}", zone("a"), beta("")), place("zones/a")),
        (gce, zone("a-b-c__a-b-d"), place("regions/a-b")),
        (gce, zone("a-b-c__a-x-d"), None),
        (gce, zone("a__b"), None),
        (&format!("{azure}}}"), String::new(), some("disk.csi.azure.com /uri")),
        (
            &format!(r#"{azure}, "kind": "managed"}}"#),
            String::new(),
            some("disk.csi.azure.com /uri"),
        ),
        (&format!(r#"{azure}, "kind": "Dedicated"}}"#), String::new(), None),
        (r#""cinder": {"volumeID": "c"}"#, String::new(), some("cinder.csi.openstack.org c")),
        (r#""portworxVolume": {"volumeID": "p"}"#, String::new(), some("pxd.portworx.com p")),
    ];
    for (source, labels, expected) in table {
        let volume = format!(
            r#"{{"kind": "PersistentVolume", "metadata": {{"name": "v", "labels": {{{labels}}}}},
                "spec": {{{source}}}}}"#
        );
        let user =
            pod("p", "", &format!(r#", "spec": {{"volumes": [{{"name": "v", {source}}}]}}"#));
        let snapshot = well(&[&volume, &user]);
        let name = |disk: MigratedDisk| {
            let driver = snapshot.text(disk.driver);
            disk.handle.map(|handle| format!("{driver} {}", snapshot.text(handle)))
        };
        let legacy = snapshot.volumes()[0].legacy.as_ref().expect("another driver took over");
        assert_eq!(name(legacy.disk), expected, "{source} {labels}");
        // A pod says nothing about zones.
        let [disk] = *only(&snapshot).spec.migrated_disks else { panic!("one disk: {source}") };
        assert_eq!(disk.plugin, legacy.disk.plugin);
        if labels.is_empty() {
            assert_eq!(name(disk), expected, "{source}");
        }
    }
    let other = r#"{"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"nfs": {}}}"#;
    let user = pod("p", "", r#", "spec": {"volumes": [{"name": "v", "nfs": {"path": "/"}}]}"#);
    let snapshot = well(&[other, &user]);
    assert!(snapshot.volumes()[0].legacy.is_none());
    assert!(only(&snapshot).spec.migrated_disks.is_empty());
}

#[test]
fn classes_drivers_and_nodes() {
    let snapshot = well(&[
        r#"{"kind": "StorageClass", "metadata": {"name": "sc"}, "provisioner": "p",
            "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": [
              {"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}, {}]}"#,
        r#"{"kind": "StorageClass", "metadata": {"name": "now"}, "volumeBindingMode": "Immediate"}"#,
        r#"{"kind": "CSIDriver", "metadata": {"name": "p"}, "spec": {"storageCapacity": true,
            "preventPodSchedulingIfMissing": true}}"#,
        r#"{"kind": "CSIDriver", "metadata": {"name": "q"}, "spec": {}}"#,
        r#"{"kind": "CSINode", "metadata": {"name": "n", "annotations":
            {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd,kubernetes.io/cinder"}},
            "spec": {"drivers": [{"name": "p", "allocatable": {"count": 5}}, {"name": "q",
             "allocatable": null}, {"name": "r", "allocatable": {}}]}}"#,
    ]);
    let sym = |text: &str| snapshot.sym(text);
    let class = snapshot.storage_class(sym("sc")).expect("a class");
    assert_eq!((class.provisioner, class.delayed), (sym("p"), true));
    let [term, empty] = &*class.allowed_topologies else { panic!("two terms") };
    assert_eq!(**term, [(sym("zone"), Box::from([sym("a"), sym("b")]))]);
    assert!(empty.is_empty());
    let now = snapshot.storage_class(sym("now")).expect("a class");
    assert!(!now.delayed && now.allowed_topologies.is_empty() && now.provisioner == Sym::EMPTY);
    let driver = |name: &str| {
        let driver = snapshot.csi_driver(sym(name)).expect("a driver");
        (driver.storage_capacity, driver.prevent_if_missing)
    };
    assert_eq!((driver("p"), driver("q")), ((true, true), (false, false)));
    let node = snapshot.csi_node(sym("n")).expect("a node");
    assert_eq!(*node.drivers, [(sym("p"), Some(5)), (sym("q"), None), (sym("r"), None)]);
    for plugin in ["kubernetes.io/gce-pd", "kubernetes.io/cinder"] {
        assert!(node.migrated.binary_search(&sym(plugin)).is_ok(), "{plugin}");
    }
    assert!(snapshot.csi_node(sym("p")).is_none() && snapshot.csi_driver(sym("n")).is_none());
}

#[test]
fn attachments_and_capacities_stand_together() {
    let attachment = |name: &str, node: &str, volume: &str| {
        format!(
            r#"{{"kind": "VolumeAttachment", "metadata": {{"name": "{name}"}}, "spec":
                {{"attacher": "d", "nodeName": "{node}", "source": {volume}}}}}"#
        )
    };
    let capacity = |namespace: &str, name: &str, class: &str, rest: &str| {
        format!(
            r#"{{"kind": "CSIStorageCapacity", "metadata": {{"namespace": "{namespace}",
                "name": "{name}"}}, "storageClassName": "{class}" {rest}}}"#
        )
    };
    let volume = r#"{"persistentVolumeName": "v"}"#;
    let objects = [
        attachment("c", "n1", volume),
        attachment("b", "n2", volume),
        attachment("a", "n1", r#"{"inlineVolumeSpec": {}}"#),
        capacity("y", "a", "sc", r#", "capacity": "1Gi", "maximumVolumeSize": "1Mi""#),
        capacity("x", "b", "sc", r#", "nodeTopology": {"matchLabels": {"zone": "a"}}"#),
        capacity("x", "a", "other", ""),
    ];
    let snapshot = well(&objects.each_ref().map(String::as_str));
    let on = |node: &str| -> Vec<(&str, &str)> {
        let found = snapshot.attachments_of(snapshot.sym(node)).iter();
        found.map(|one| (&*one.name, snapshot.text(one.volume))).collect()
    };
    assert_eq!(on("n1"), [("a", ""), ("c", "v")]);
    assert_eq!(on("n2"), [("b", "v")]);
    assert_eq!(on("n3"), []);
    let [first, second] = snapshot.storage_capacities(snapshot.sym("sc")) else { panic!("two") };
    assert_eq!((snapshot.text(first.namespace), &*first.name), ("x", "b"));
    assert!(first.topology.is_some());
    assert_eq!((first.capacity, first.maximum_volume_size), (None, None));
    assert_eq!((second.topology.is_none(), second.capacity), (true, Some(GI)));
    assert_eq!(second.maximum_volume_size, Some(1 << 20));
    assert_eq!(snapshot.storage_capacities(snapshot.sym("n1")).len(), 0);
}

/// Of what is flawed nothing is known, not even an earlier state.
#[test]
fn what_is_flawed_is_left_out() {
    let claim = |version: &str, amount: &str| {
        format!(
            r#"{{"kind": "PersistentVolumeClaim", "metadata": {{"name": "c", "namespace": "ns",
                "uid": "u", "resourceVersion": "{version}"}},
                "spec": {{"resources": {{"requests": {{"storage": "{amount}"}}}}}}}}"#
        )
    };
    let (snapshot, anomalies) = read(&[
        &claim("1", "1Gi"),
        &claim("2", "much"),
        r#"{"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"capacity": 5}}"#,
        r#"{"kind": "CSINode", "metadata": {"name": "n"}, "spec": {"drivers": {}}}"#,
        r#"{"kind": "CSIStorageCapacity", "metadata": {"name": "s"}, "storageClassName": "sc",
            "nodeTopology": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}"#,
        r#"{"kind": "CSIStorageCapacity", "metadata": {"name": "t"}, "storageClassName": "sc",
            "capacity": "much"}"#,
        r#"{"kind": "Service", "metadata": {"name": "s", "namespace": "ns"},
            "spec": {"selector": {"a": 1}}}"#,
    ]);
    let fields: Vec<_> =
        anomalies.iter().map(|anomaly| (&*anomaly.object, &*anomaly.field)).collect();
    assert_eq!(
        fields,
        [
            ("CSINode n", "spec.drivers"),
            ("CSIStorageCapacity default/s", "nodeTopology"),
            ("CSIStorageCapacity default/t", "capacity"),
            ("PersistentVolume v", "spec.capacity"),
            ("PersistentVolumeClaim ns/c", "spec.resources.requests.storage"),
            ("Service ns/s", "spec.selector.a"),
        ]
    );
    let sym = |text: &str| snapshot.sym(text);
    assert_eq!((snapshot.claims().len(), snapshot.claim_class(sym("ns"), "c")), (0, None));
    assert!(snapshot.volume(sym("v")).is_none() && snapshot.csi_node(sym("n")).is_none());
    assert_eq!(snapshot.storage_capacities(sym("sc")).len(), 0);
    assert_eq!(snapshot.services_in(sym("ns")).len(), 0);
    assert!(snapshot.has(Kind::CsiNode) && !snapshot.has(Kind::CsiDriver));
}
