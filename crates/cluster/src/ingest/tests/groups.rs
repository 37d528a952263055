//! Selectors find the groups that a look at all of them would find.

use super::*;
use crate::{GroupId, LabelSelector};

#[test]
fn the_index_finds_what_a_scan_finds() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let mut objects = Vec::new();
    for at in 0..200 {
        let labels: Vec<String> = (0..4)
            .filter_map(|key| {
                let value = random(4);
                (value < 3).then(|| format!(r#""k{key}": "v{value}""#))
            })
            .collect();
        let own = format!(r#""own": "{at}""#);
        let labels = if random(2) == 0 { labels.join(",") } else { own };
        let namespace = random(3);
        objects.push(format!(
            r#"{{"kind": "Pod", "metadata": {{"name": "p{at}", "namespace": "n{namespace}",
                "uid": "{at}", "labels": {{{labels}}}}}}}"#
        ));
    }
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    let (snapshot, anomalies) = read(&objects);
    assert_eq!(anomalies, []);
    let mut found_any = 0;
    for text in [
        "",
        "k0=v0",
        "k0 in (v0,v1,v2)",
        "k0 in (v2,v0),k1=v1",
        "k1,k0=v1",
        "!k1",
        "k0!=v1",
        "k0 notin (v0,v1),k2 in (v0,v1)",
        "own=7",
        "own in (7,8,9,150,x)",
        "k0=x",
        "x=v0",
        "k0=",
        "k0=v0,k0=v1",
    ] {
        let selector = snapshot.compile(&LabelSelector::parse(text).expect("a selector"));
        for namespace in ["n0", "n1", "n2", "gone"].map(|name| snapshot.sym(name)) {
            let matches =
                |id: &GroupId| selector.matches(&snapshot.group(*id).labels, snapshot.strings());
            let scanned: Vec<GroupId> =
                snapshot.groups_in(namespace).iter().copied().filter(matches).collect();
            found_any += scanned.len();
            assert_eq!(snapshot.groups_matching(namespace, &selector), scanned, "{text}");
        }
    }
    assert!(found_any > 200);
}
