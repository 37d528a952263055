//! `descheduler validate` and `descheduler convert` as a user meets them.
//!
//! The files lie in `cli/`. `SNAPSHOTS=overwrite cargo test -p descheduler --test policies` writes
//! what the program says into this file.

#[path = "common/program.rs"]
mod program;

use snapbox::str;

use program::descheduler;

#[test]
fn policies_are_validated() {
    descheduler("validate policy.yaml old.yaml")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
valid: 2 files, 0 errors, 0 warnings

"#]])
        .stderr_eq("");
    descheduler("validate wrong.yaml").assert().code(1).stdout_eq(str![[r#"
error[missing-criterion]: one of `maxPodLifeTimeSeconds`, `states`, `conditions` and `exitCodes` of `PodLifeTime` must be given
 --> wrong.yaml:7:9
  |
7 |         args: {maxPodLifeTimeSecond: 60}
  |         ^^^^

error[unknown-argument]: unknown argument `maxPodLifeTimeSecond` of `PodLifeTime`
 --> wrong.yaml:7:16
  |
7 |         args: {maxPodLifeTimeSecond: 60}
  |                ^^^^^^^^^^^^^^^^^^^^
  |
  = help: did you mean `maxPodLifeTimeSeconds`?

error[unknown-strategy]: unknown strategy `RemoveDuplicate`
  --> wrong.yaml:10:27
   |
10 |       balance: {enabled: [RemoveDuplicate]}
   |                           ^^^^^^^^^^^^^^^
   |
   = help: did you mean `RemoveDuplicates`?

not valid: 1 file, 3 errors, 0 warnings

"#]]).stderr_eq("");
    descheduler("validate --policy legacy.yaml --strict -o json")
        .assert()
        .code(1)
        .stdout_eq(str![[r#"
{
  "valid": true,
  "diagnostics": [
    {
      "severity": "warning",
      "code": "deprecated-v1alpha1",
      "message": "`descheduler/v1alpha1` is deprecated; it is read as the v1alpha2 policy that means the same",
      "file": "legacy.yaml",
      "line": 1,
      "column": 13,
      "help": "`descheduler convert` prints that policy"
    }
  ]
}

"#]])
        .stderr_eq("");
    descheduler("validate").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: the following required arguments were not provided:
  <FILE>...

Usage: descheduler validate <FILE>... [OPTIONS]

For more information, try '--help'.

"#]]);
    descheduler("validate -")
        .stdin("kind: DeschedulerPolicy\n")
        .assert()
        .code(1)
        .stdout_eq(str![[r#"
error[missing-api-version]: `apiVersion` is missing
 --> <stdin>:1:1
  |
1 | kind: DeschedulerPolicy
  | ^^^^
  |
  = help: begin the policy with `apiVersion: descheduler/v1alpha2`

warning[no-profiles]: there are no `profiles`: nothing will run
 --> <stdin>:1:1
  |
1 | kind: DeschedulerPolicy
  | ^^^^
  |
  = help: enable strategies in `profiles`, under `plugins`

not valid: 1 file, 1 error, 1 warning

"#]])
        .stderr_eq("");
}

#[test]
fn old_policies_are_converted() {
    descheduler("convert legacy.yaml")
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
# Converted from descheduler/v1alpha1.
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
# `thresholdPriority` became `priorityThreshold.value`
- name: strategy-RemoveDuplicates-profile
  pluginConfig:
  - name: DefaultEvictor
    args:
      priorityThreshold:
        value: 1000
  - name: RemoveDuplicates
    args:
      excludeOwnerKinds: [Job]
  plugins:
    balance:
      enabled: [RemoveDuplicates]

"#]])
        .stderr_eq(str![[r#"
warning[deprecated-v1alpha1]: `descheduler/v1alpha1` is deprecated; it is read as the v1alpha2 policy that means the same
 --> legacy.yaml:1:13
  |
1 | apiVersion: descheduler/v1alpha1
  |             ^^^^^^^^^^^^^^^^^^^^
  |
  = help: `descheduler convert` prints that policy


"#]]);
    descheduler("convert policy.yaml").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error[not-v1alpha1]: this is v1alpha2: nothing is to be converted
 --> policy.yaml:1:13
  |
1 | apiVersion: descheduler/v1alpha2
  |             ^^^^^^^^^^^^^^^^^^^^

error: `policy.yaml` cannot be used: 1 error; nothing is converted

"#]]);
    descheduler("plan --policy - --cluster -").assert().code(1).stdout_eq("").stderr_eq(str![[
        r#"
error: `--policy` and `--cluster` cannot both be read from standard input
help: put one of them into a file

"#
    ]]);
}

#[test]
fn policies_in_other_files() {
    descheduler("validate release.yaml -o json").assert().code(0).stdout_eq(str![[r#"
{
  "valid": true,
  "diagnostics": [
    {
      "severity": "warning",
      "code": "deprecated-v1alpha1",
      "message": "`descheduler/v1alpha1` is deprecated; it is read as the v1alpha2 policy that means the same",
      "file": "release.yaml",
      "line": 10,
      "column": 34,
      "help": "`descheduler convert` prints that policy"
    }
  ]
}

"#]]);
    descheduler("convert release.yaml").assert().code(0).stdout_eq(str![[r#"
# Converted from descheduler/v1alpha1.
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: strategy-RemoveDuplicates-profile
  pluginConfig:
  - name: RemoveDuplicates
  plugins:
    balance:
      enabled: [RemoveDuplicates]

"#]]);
    descheduler("plan --policy release.yaml --cluster dump --placement off -o json")
        .assert()
        .code(0)
        .stderr_eq(str![[r#"
warning[deprecated-v1alpha1]: `descheduler/v1alpha1` is deprecated; it is read as the v1alpha2 policy that means the same
  --> release.yaml:10:34
   |
10 |     deschedulerPolicyAPIVersion: descheduler/v1alpha1
   |                                  ^^^^^^^^^^^^^^^^^^^^
   |
   = help: `descheduler convert` prints that policy

note: no `--history` is given, so it cannot be seen whether pods move in a loop from one run to the next

"#]]);
}

#[test]
fn what_does_not_go_together() {
    descheduler("validate packing.yaml").assert().code(0).stdout_eq(str![[r#"
valid: 1 file, 0 errors, 0 warnings

"#]]);
    descheduler("validate packing.yaml --placement off --scheduler-config scheduler.yaml --strict")
        .assert()
        .code(1)
        .stdout_eq(str![[r#"
warning[no-room-asked-for]: placement is off and so is `nodeFit`: pods are evicted though they fit nowhere else
 --> packing.yaml:4:11
  |
4 |   - name: default
  |           ^^^^^^^
  |
  = help: with `nodeFit: true` it is asked whether another node has room

warning[opposite-scheduler]: `HighNodeUtilization` packs pods, and the scheduler prefers emptier nodes for them
 --> packing.yaml:9:27
  |
9 |       balance: {enabled: [HighNodeUtilization]}
  |                           ^^^^^^^^^^^^^^^^^^^
  |
  = help: give the scheduler's `NodeResourcesFit` the `scoringStrategy` of type `MostAllocated`

valid: 1 file, 0 errors, 2 warnings

"#]])
        .stderr_eq(str![[r#"
warning[unknown-plugin]: `Binpack` is no plugin of kube-scheduler
 --> scheduler.yaml:8:61
  |
8 |       enabled: [{name: NodeResourcesFit, weight: 5}, {name: Binpack}]
  |                                                             ^^^^^^^
  |
  = help: predictions leave it out


"#]]);
}

#[test]
fn a_file_that_is_missing_among_others() {
    descheduler("validate missing.yaml packing.yaml").assert().code(1).stdout_eq(str![[r#"
error[unreadable-file]: cannot read `missing.yaml`: No such file or directory (os error 2)
 --> missing.yaml:1:1
  |
1 |
  | ^

not valid: 2 files, 1 error, 0 warnings

"#]]);
    descheduler("validate . -o json").assert().code(1).stdout_eq(str![[r#"
{
  "valid": false,
  "diagnostics": [
    {
      "severity": "error",
      "code": "unreadable-file",
      "message": "cannot read `.`: Is a directory (os error 21)",
      "file": ".",
      "line": 1,
      "column": 1
    }
  ]
}

"#]]);
}
