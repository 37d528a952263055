//! `descheduler strategies` as a user meets it.

#[path = "common/program.rs"]
mod program;

use descheduler_engine::ArgumentDoc;
use descheduler_strategies::MANUALS;
use program::descheduler;
use serde_json::Value;
use snapbox::str;

/// What the program prints, which it has to print without complaint.
fn printed(arguments: &str) -> String {
    let assert = descheduler(arguments).assert().code(0).stderr_eq("");
    String::from_utf8(assert.get_output().stdout.clone()).expect("it is text")
}

#[test]
fn the_list() {
    descheduler("strategies").assert().code(0).stderr_eq("").stdout_eq(str![[r#"
Strategies under `deschedule`
  PodLifeTime                                  Evicts pods that are too old or stuck in a state.
  RemoveFailedPods                             Evicts pods that have failed.
  RemovePodsHavingTooManyRestarts              Evicts pods whose containers were restarted too often.
  RemovePodsViolatingInterPodAntiAffinity      Evicts pods that share a place with a pod they have anti-affinity to.
  RemovePodsViolatingNodeAffinity              Evicts pods whose node affinity speaks against their node.
  RemovePodsViolatingNodeTaints                Evicts pods that do not tolerate a taint of their node.

Strategies under `balance`
  HighNodeUtilization                          Frees nodes that are used little.
  LowNodeUtilization                           Moves pods from nodes that are used too much to nodes that are used little.
  RemoveDuplicates                             Evicts pods of an owner that share a node while others could take them.
  RemovePodsViolatingTopologySpreadConstraint  Evicts pods that are spread less evenly than their constraints ask for.

Protections, in every profile
  DefaultEvictor                               Keeps pods that should not be evicted, whichever strategy asks.

`descheduler strategies NAME` shows the arguments and an example.

"#]]);
}

#[test]
fn one_of_them() {
    let page = str![[r#"
RemovePodsViolatingNodeTaints

Evicts pods that do not tolerate a taint of their node.

A taint keeps new pods away; those that were there before it stay. Use this to clear nodes
after they were tainted: for maintenance, or because they now belong to somebody.

```yaml
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: taints
    pluginConfig:
      - name: RemovePodsViolatingNodeTaints
        args:
          excludedTaints: [node.kubernetes.io/unschedulable]
    plugins:
      deschedule:
        enabled: [RemovePodsViolatingNodeTaints]
```

Taints with the effect `NoSchedule` count, and those with `PreferNoSchedule` when
`includePreferNoSchedule` says so; pods that violate `NoExecute` are evicted by Kubernetes
itself. A cordoned node carries the taint `node.kubernetes.io/unschedulable:NoSchedule`, so its
pods are violators unless that taint is excluded.

Example

A node was set aside for databases while other pods ran there.

  node a taint:dedicated=db:NoSchedule
  node b
  replicaset web replicas=1
  statefulset db replicas=1
  pod web-1 on=a owner=ReplicaSet/web cpu=500m
  pod db-0 on=a owner=StatefulSet/db toleration:dedicated=db:NoSchedule cpu=500m

With the policy above the pods stand so before and after:

  node  before       after
  a     db-0, web-1  db-0
  b                  web-1 (new)

  evict default/web-1 from a to b: RemovePodsViolatingNodeTaints/TaintNotTolerated: does not tolerate dedicated=db:NoSchedule

Arguments

  namespaces  object
      Only pods in these namespaces.

  namespaces.include  list of string
      Only these; not together with `exclude`.

  namespaces.exclude  list of string
      All but these; not together with `include`.

  labelSelector  label selector
      Only pods with these labels.

  includePreferNoSchedule  boolean
      Taints with the effect `PreferNoSchedule` count too. Default: `false`.

  excludedTaints  list of string
      Taints that do not count: `key` or `key=value`.

  includedTaints  list of string
      Only these taints count: `key` or `key=value`.

"#]];
    descheduler("strategies RemovePodsViolatingNodeTaints")
        .assert()
        .code(0)
        .stderr_eq("")
        .stdout_eq(page);
}

#[test]
fn names_in_any_case_and_names_that_are_none() {
    assert_eq!(printed("strategies defaultevictor"), printed("strategies DefaultEvictor"));
    descheduler("strategies PodLifeTimes").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: unknown strategy `PodLifeTimes`
help: did you mean `PodLifeTime`?

"#]]);
    descheduler("strategies nothing -o json").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: unknown strategy `nothing`
help: `descheduler strategies` lists them

"#]]);
}

#[test]
fn json_has_every_plugin_with_every_argument() {
    let all: Value = serde_json::from_str(&printed("strategies -o json")).expect("it is JSON");
    assert_eq!(all["apiVersion"], "descheduler/strategies/v1");
    let plugins = all["strategies"].as_array().expect("a list");
    assert_eq!(plugins.len(), MANUALS.len());
    for (plugin, manual) in plugins.iter().zip(MANUALS) {
        assert_eq!(plugin["name"], manual.name);
        assert_eq!(plugin["extensionPoint"].is_null(), manual.pass.is_none());
        compare(&plugin["arguments"], &manual.arguments());
        let one = printed(&format!("strategies {} --output json", manual.name));
        let one: Value = serde_json::from_str(&one).expect("it is JSON");
        assert_eq!(one["strategies"], Value::from(vec![plugin.clone()]));
    }
}

fn compare(printed: &Value, arguments: &[ArgumentDoc]) {
    let printed = printed.as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(printed.len(), arguments.len());
    for (printed, argument) in printed.iter().zip(arguments) {
        assert_eq!(printed["name"], argument.name);
        assert_eq!(printed["required"], argument.required);
        compare(&printed["arguments"], &argument.children);
    }
}
