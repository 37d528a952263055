//! `descheduler place --cases` as whoever checks the model meets it.
//!
//! `SNAPSHOTS=overwrite cargo test -p descheduler --test place_cases` writes what the program says
//! into this file.

#[path = "common/program.rs"]
mod program;

use snapbox::cmd::Command;
use snapbox::str;

use program::descheduler;

/// Runs cases given on standard input.
fn cases(text: &str) -> Command {
    descheduler("place --cases -").stdin(text)
}

const NODE: &str =
    r#"{"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "pods": "9"}}}"#;
const POD: &str =
    r#"{"metadata": {"name": "x", "namespace": "d", "uid": "u"}, "spec": {"containers": []}}"#;

/// A node that could hand out devices, for all that is known, might win or not be feasible.
#[test]
fn devices_are_not_known() {
    let case = |version: &str, slice: &str, allocatable: &str| {
        let node = format!(
            r#"{{"metadata": {{"name": "n", "labels": {{"gpu": "yes"}}}}, "status": {{"allocatable":
                {{"pods": "1" {allocatable}}}}}}}"#
        );
        let text = format!(
            r#"{{"id": "a", "nodes": [{node}], "pod": {{"metadata": {{"name": "p", "uid": "u"}},
                "spec": {{"containers": [{{"resources": {{"requests": {{"a.b/gpu": "1"}}}}}}]}}}},
                "deviceClasses": [{{"metadata": {{"name": "c"}},
                    "spec": {{"extendedResourceName": "a.b/gpu"}}}}],
                "resourceSlices": [{slice}]}}"#
        );
        let output = descheduler("place --cases - -o json --scheduler-version")
            .arg(version)
            .stdin(text.replace('\n', ""))
            .assert()
            .code(0);
        String::from_utf8(output.get_output().stdout.clone()).expect("it is text")
    };
    let slice = |reach: &str| format!(r#"{{"metadata": {{"name": "s"}}, "spec": {{{reach}}}}}"#);
    let unknown =
        r#""preFilter":{"code":"UnschedulableAndUnresolvable","plugin":"DynamicResources"}"#;
    let nothing =
        r#""feasible":false,"code":"UnschedulableAndUnresolvable","plugin":"DynamicResources""#;
    let selector = |value: &str| {
        format!(
            r#""nodeSelector": {{"nodeSelectorTerms": [{{"matchExpressions":
                [{{"key": "gpu", "operator": "In", "values": ["{value}"]}}]}}]}}"#
        )
    };
    for (reach, expected) in [
        (r#""nodeName": "n""#.to_owned(), unknown),
        (r#""nodeName": "other""#.to_owned(), nothing),
        (selector("yes"), unknown),
        (selector("no"), nothing),
        (r#""allNodes": true"#.to_owned(), unknown),
        (r#""perDeviceNodeSelection": true"#.to_owned(), unknown),
    ] {
        let answer = case("1.36", &slice(&reach), "");
        assert!(answer.contains(expected), "{reach}: {answer}");
    }
    // Without any slice, none may have been asked for.
    assert!(case("1.36", "", "").contains(unknown));
    // A node that has the resource itself hands out no devices for it, and before 1.36 none does.
    let here = case("1.36", &slice(r#""allNodes": true"#), r#", "a.b/gpu": "1""#);
    assert!(here.contains(r#""feasible":true"#), "{here}");
    let before = case("1.35", &slice(r#""allNodes": true"#), "");
    assert!(before.contains(r#""plugin":"NodeResourcesFit""#), "{before}");
}

/// A claim that may be given back, or that is not met yet, may be met anywhere.
#[test]
fn claims_for_devices() {
    let case = |name: &str, status: &str| {
        let text = format!(
            r#"{{"id": "a", "nodes": [{{"metadata": {{"name": "n"}}, "status": {{"allocatable":
                {{"pods": "1"}}}}}}],
                "pod": {{"metadata": {{"name": "p", "uid": "u"}}, "spec": {{"resourceClaims":
                    [{{"name": "x", "{name}": "c"}}]}}}},
                "resourceClaims": [{{"metadata": {{"name": "c", "namespace": "default"}},
                    "status": {{{status}}}}}]}}"#
        );
        let output = descheduler("place --cases - -o json").stdin(text.replace('\n', ""));
        let output = output.assert().code(0);
        String::from_utf8(output.get_output().stdout.clone()).expect("it is text")
    };
    let named = "resourceClaimName";
    let users = |users: &[&str]| {
        let users: Vec<String> =
            users.iter().map(|user| format!(r#"{{"uid": "{user}"}}"#)).collect();
        format!(r#""reservedFor": [{}]"#, users.join(","))
    };
    let full: Vec<String> = (0..256).map(|user| user.to_string()).collect();
    let full: Vec<&str> = full.iter().map(String::as_str).collect();
    let met = r#""allocation": {}"#;
    let later = r#""allocation": {"devices": {"results": [{"bindingConditions": ["ready"]}]}}"#;
    for (name, status, known) in [
        (named, format!("{met}, {}", users(&["other"])), true),
        (named, format!("{met}, {}", users(&["u"])), true),
        (named, format!("{met}, {}", users(&full[1..])), true),
        (named, format!("{met}, {}", users(&full)), false),
        (named, format!("{met}, {}", users(&[])), false),
        (named, users(&["other"]), false),
        (named, format!("{later}, {}", users(&["other"])), false),
        ("resourceClaimTemplateName", format!("{met}, {}", users(&["other"])), false),
        ("another", format!("{met}, {}", users(&["other"])), false),
    ] {
        let answer = case(name, &status);
        assert_eq!(answer.contains(r#""feasible":true"#), known, "{name} {status}: {answer}");
        assert_eq!(answer.contains(r#""plugin":"DynamicResources""#), !known, "{answer}");
    }
}

#[test]
fn cases_line_by_line_or_in_a_list() {
    let one = |id: &str| format!(r#"{{"id": "{id}", "nodes": [{NODE}], "pod": {POD}}}"#);
    let expected = str![[r#"
{"id":"a","nodes":{"n":{"feasible":true,"scores":{"ImageLocality":0,"NodeResourcesFit":100,"TaintToleration":300},"total":400}}}
{"id":"b","nodes":{"n":{"feasible":true,"scores":{"ImageLocality":0,"NodeResourcesFit":100,"TaintToleration":300},"total":400}}}

"#]];
    let lines = format!("{}\n\n{}\n", one("a"), one("b"));
    cases(&lines).assert().code(0).stdout_eq(expected.clone()).stderr_eq("");
    let list = format!("[{}, {}]", one("a"), one("b"));
    cases(&list).assert().code(0).stdout_eq(expected).stderr_eq("");
    cases("").assert().code(0).stdout_eq("").stderr_eq("");
}

#[test]
fn cases_that_make_no_sense_are_named() {
    let pod = |from: &str, to: &str| POD.replace(from, to);
    let gated = pod(r#""containers""#, r#""schedulingGates": [{"name": "g"}], "containers""#);
    let foreign = pod(r#""containers""#, r#""schedulerName": "other", "containers""#);
    let odd = pod("[]", r#"[{"resources": {"requests": {"cpu": "much"}}}]"#);
    let config = r#""config": {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "x"}, "#;
    for (case, expected) in [
        (
            format!(r#"{{"id": "a", "nodes": [], "pod": {gated}}}"#),
            str![[r#"
error: case `a`: the pod has scheduling gates, so the scheduler leaves it alone

"#]],
        ),
        (
            format!(r#"{{"id": "a", "nodes": [], "pod": {foreign}}}"#),
            str![[r#"
error: case `a`: no profile is called `other`, as the pod's `schedulerName` says

"#]],
        ),
        (
            format!(r#"{{"id": "a", "nodes": [], "pod": {odd}}}"#),
            str![[r#"
error: case `a`: `pod[0]`: Pod d/x: `spec.containers[0].resources.requests.cpu`: expected a number and perhaps a suffix, such as 2, 0.5, 100m or 128Mi; 'c' at offset 2 is out of place

"#]],
        ),
        (
            format!(r#"{{"id": "a", {config} "nodes": [], "pod": {POD}}}"#),
            str![[r#"
error: case `a`: `config` cannot be used: 1:58: expected the kind `KubeSchedulerConfiguration`, found `x`

"#]],
        ),
        (
            format!(r#"{{"id": "a", "node": [], "pod": {POD}}}"#),
            str![[r#"
error: case `a`: it is not what a case should be: unknown field `node`, expected one of `id`, `pod`, `config`, `nodes`, `pods`, `nominated`, `namespaces`, `services`, `replicaSets`, `statefulSets`, `replicationControllers`, `pvcs`, `pvs`, `storageClasses`, `csiNodes`, `csiDrivers`, `csiStorageCapacities`, `volumeAttachments`, `deviceClasses`, `resourceClaims`, `resourceSlices`, `title`, `expect`, `note` at line 1 column 18

"#]],
        ),
        (
            format!(r#"{{"nodes": [], "pod": {POD}}}"#),
            str![[r#"
error: case 1: it is not what a case should be: missing field `id` at line 1 column 107

"#]],
        ),
        (
            format!(r#"{{"id": "a", "nodes": [5], "pod": {POD}}}"#),
            str![[r#"
error: case `a`: `nodes[0]`: value without a kind: is not an object

"#]],
        ),
        (
            r#"{"id": "a", "nodes": []}"#.to_owned(),
            str![[r#"
error: case `a`: it is not what a case should be: missing field `pod` at line 1 column 24

"#]],
        ),
        (
            r#"{"id": "a", "#.to_owned(),
            str![[r#"
error: `<stdin>`: case 1: EOF while parsing an object at line 1 column 12

"#]],
        ),
    ] {
        cases(&case).assert().code(1).stdout_eq("").stderr_eq(expected);
    }
    descheduler("place --cases none.json").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: cannot read `none.json`: No such file or directory (os error 2)

"#]]);
    descheduler("place --cases - -o text").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: cases are answered in JSON only
help: use `-o json`, or leave `-o` out

"#]]);
}
