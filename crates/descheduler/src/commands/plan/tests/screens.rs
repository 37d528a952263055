//! The text on screens that tests of the command line do not have: narrow ones, coloured ones, and
//! with what no plan holds yet.

use descheduler_cluster::{Anomaly, Ingest};
use descheduler_engine::{History, Plan, Unobserved, plan};
use snapbox::{assert_data_eq, str};

use super::policy;
use crate::commands::inputs::World;
use crate::input;
use crate::output::layout::Screen;
use crate::output::{Outcome, text};

const FILES: [&str; 2] = [
    include_str!("../../../../tests/cli/dump/nodes.yaml"),
    include_str!("../../../../tests/cli/dump/pods.json"),
];
const POLICY: &str = include_str!("../../../../tests/cli/policy.yaml");

/// The text of the plan for a small cluster, after something was done to both.
fn shown(screen: Screen, change: impl FnOnce(&mut World, &mut Plan)) -> String {
    let mut ingest = Ingest::new();
    for file in FILES {
        input::read_one(file.as_bytes(), "dump", &mut ingest).expect("it is a cluster");
    }
    let policy = policy(POLICY.as_bytes()).expect("it is a policy");
    let mut world = World::new(ingest, None);
    let mut plan = plan(&world.snapshot, &policy, &History::default(), &mut Unobserved);
    change(&mut world, &mut plan);
    let mut bytes = Vec::new();
    text::write(&Outcome::new(&world, &policy, &plan), screen, &mut bytes)
        .expect("memory takes it");
    String::from_utf8(bytes).expect("it is text")
}

fn plain(columns: usize) -> Screen {
    Screen { columns, coloured: false }
}

#[test]
fn destinations_have_a_column() {
    let with_destinations = |world: &mut World, plan: &mut Plan| {
        for (at, eviction) in plan.evictions.iter_mut().enumerate() {
            eviction.destinations = world.snapshot.nodes().iter().copied().skip(at).collect();
        }
    };
    assert_data_eq!(
        shown(plain(100), with_destinations),
        str![[r#"
4 of 6 pods would move: 2 strategies, 2 nodes relieved
the cluster as of 2026-01-01T06:00:00Z: 3 nodes, 6 pods

                               moves   kept
RemovePodsViolatingNodeTaints      3      1
RemoveDuplicates                   1      0

Moves           from  to           why
RemovePodsViolatingNodeTaints  3 pods
  shop/cache-1  a     a or 2 more  does not tolerate example.com/old=true:NoSchedule
  shop/db-0     a     b or 1 more  does not tolerate example.com/old=true:NoSchedule
  shop/db-1     a     c            does not tolerate example.com/old=true:NoSchedule

RemoveDuplicates  1 pod
  shop/web-2    b                  2 of 2 replicas on b, at most 1

Kept  1 pod that a strategy would move
RemovePodsViolatingNodeTaints  1 pod
  1  NoOwner  it has no owner that would recreate it
              shop/loner

Notes
  the cluster files hold no PodDisruptionBudget: budgets are taken to be absent

"#]]
    );
    // No word of the reason fits behind the columns.
    assert_data_eq!(
        shown(plain(60), with_destinations),
        str![[r#"
4 of 6 pods would move: 2 strategies, 2 nodes relieved
the cluster as of 2026-01-01T06:00:00Z: 3 nodes, 6 pods

                               moves   kept
RemovePodsViolatingNodeTaints      3      1
RemoveDuplicates                   1      0

Moves
RemovePodsViolatingNodeTaints  3 pods
  shop/cache-1 from a to a or 2 more
      does not tolerate example.com/old=true:NoSchedule
  shop/db-0 from a to b or 1 more
      does not tolerate example.com/old=true:NoSchedule
  shop/db-1 from a to c
      does not tolerate example.com/old=true:NoSchedule

RemoveDuplicates  1 pod
  shop/web-2 from b
      2 of 2 replicas on b, at most 1

Kept  1 pod that a strategy would move
RemovePodsViolatingNodeTaints  1 pod
  1  NoOwner  it has no owner that would recreate it
              shop/loner

Notes
  the cluster files hold no PodDisruptionBudget: budgets
    are taken to be absent

"#]]
    );
}

#[test]
fn colours() {
    assert_data_eq!(
        shown(Screen { columns: 80, coloured: true }, |_, plan| plan.evictions.truncate(1))
            .replace('\u{1b}', "<ESC>"),
        str![[r#"
<ESC>[1m1 of 6 pods would move: 1 strategy, 1 node relieved<ESC>[0m
<ESC>[2mthe cluster as of 2026-01-01T06:00:00Z: 3 nodes, 6 pods<ESC>[0m

<ESC>[2m                               moves   kept<ESC>[0m
RemovePodsViolatingNodeTaints      3      1
RemoveDuplicates                   1      0

<ESC>[1mMoves           <ESC>[0m<ESC>[2mfrom  why<ESC>[0m
<ESC>[1;36mRemovePodsViolatingNodeTaints<ESC>[0m<ESC>[2m  1 pod<ESC>[0m
  shop/cache-1  a     does not tolerate example.com/old=true:NoSchedule

<ESC>[1mKept<ESC>[0m<ESC>[2m  1 pod that a strategy would move<ESC>[0m
<ESC>[1;36mRemovePodsViolatingNodeTaints<ESC>[0m<ESC>[2m  1 pod<ESC>[0m
  1  <ESC>[33mNoOwner  <ESC>[0mit has no owner that would recreate it
              <ESC>[2mshop/loner<ESC>[0m

<ESC>[1mNotes<ESC>[0m
  the cluster files hold no PodDisruptionBudget: budgets are taken to be
    absent

"#]]
    );
}

#[test]
fn long_lists_end() {
    let text = shown(plain(80), |world, plan| {
        world.anomalies = (0..1000)
            .map(|index| Anomaly {
                object: format!("Pod shop/odd-{index}"),
                problem: "`spec.nodeName`: expected a string".to_owned(),
                field: "spec.nodeName".to_owned(),
                file: "dump".into(),
                index,
            })
            .collect();
        for (run, from) in plan.report.runs.iter_mut().zip([0, 500]) {
            run.notes.extend((from..from + 1000).map(|index| format!("note {index}")));
        }
    });
    let end = text.find("Notes").expect("there are some");
    assert_data_eq!(
        text[end..].to_owned(),
        str![[r#"
Notes
  the cluster files hold no PodDisruptionBudget: budgets are taken to be
    absent
  RemovePodsViolatingNodeTaints: note 0
  RemovePodsViolatingNodeTaints: note 1
  RemovePodsViolatingNodeTaints: note 2
  RemovePodsViolatingNodeTaints: note 3
  RemovePodsViolatingNodeTaints: note 4
  RemovePodsViolatingNodeTaints: note 5
  RemovePodsViolatingNodeTaints: note 6
  RemovePodsViolatingNodeTaints: note 7
  RemovePodsViolatingNodeTaints: note 8
  RemovePodsViolatingNodeTaints: note 9
  RemovePodsViolatingNodeTaints: note 10
  RemovePodsViolatingNodeTaints: note 11
  RemovePodsViolatingNodeTaints: note 12
  RemovePodsViolatingNodeTaints: note 13
  and 1486 more

Faults in the cluster files  1000; what they concern stays
  Pod shop/odd-0: `spec.nodeName`: expected a string (dump, object 0)
  Pod shop/odd-1: `spec.nodeName`: expected a string (dump, object 1)
  Pod shop/odd-2: `spec.nodeName`: expected a string (dump, object 2)
  Pod shop/odd-3: `spec.nodeName`: expected a string (dump, object 3)
  Pod shop/odd-4: `spec.nodeName`: expected a string (dump, object 4)
  Pod shop/odd-5: `spec.nodeName`: expected a string (dump, object 5)
  Pod shop/odd-6: `spec.nodeName`: expected a string (dump, object 6)
  Pod shop/odd-7: `spec.nodeName`: expected a string (dump, object 7)
  Pod shop/odd-8: `spec.nodeName`: expected a string (dump, object 8)
  Pod shop/odd-9: `spec.nodeName`: expected a string (dump, object 9)
  Pod shop/odd-10: `spec.nodeName`: expected a string (dump, object 10)
  Pod shop/odd-11: `spec.nodeName`: expected a string (dump, object 11)
  Pod shop/odd-12: `spec.nodeName`: expected a string (dump, object 12)
  Pod shop/odd-13: `spec.nodeName`: expected a string (dump, object 13)
  Pod shop/odd-14: `spec.nodeName`: expected a string (dump, object 14)
  and 985 more

"#]]
    );
}
