//! Every checker is shown a world in which something is wrong, and has to say so.

use descheduler_engine::{Fate, PodKey, Reason, Receipt, Record, Target, Untried};
use descheduler_testkit::fixture::NOW;
use jiff::SignedDuration;

use crate::checks::{self, Cycle, Failure, Planned, Request, Settling};
use crate::faults::Faults;
use crate::lines;
use crate::rules::{AFFINITY, RULES, TAINTS};
use crate::settings::Settings;
use crate::world::{Carried, Key, World};

/// Two nodes, of which one is tainted, and two pods of one owner.
const WORLD: &str = r#"
node n0
node n1 taint:gone:NoSchedule
replicaset x/w replicas=2
  | {"spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}}}
pod x/w-0 on=n0 owner=ReplicaSet/w
  | {"metadata": {"uid": "u0", "creationTimestamp": "2025-12-31T00:00:00Z", "labels": {"app": "web"}}}
pod x/w-1 on=n1 owner=ReplicaSet/w
  | {"metadata": {"uid": "u1", "creationTimestamp": "2025-12-31T00:00:00Z", "labels": {"app": "web"}}}
budget x/b selector:app=web minAvailable=1 allowed=1 healthy=2/1
"#;

/// A cycle in which both pods are moved, one after the other.
struct Story {
    settings: Settings,
    world: World,
    moves: Vec<Planned>,
    requests: Vec<Request>,
    carried: Vec<Carried>,
    fates: [Fate; 2],
    told: usize,
    calm: bool,
}

impl Story {
    fn new() -> Self {
        let world = lines::parse(WORLD, Faults::default()).expect("it is a world");
        let keys: Vec<Key> = world.pods.iter().map(|pod| pod.key.clone()).collect();
        let ways = [("n0", "n1"), ("n1", "n0")];
        let moves = keys.iter().zip(ways).map(|(key, (from, to))| Planned {
            key: key.clone(),
            node: from.to_owned(),
            strategy: TAINTS,
            destinations: vec![to.to_owned()],
            lineage: 1,
        });
        let carried = keys.iter().zip(ways).map(|(key, (from, _))| Carried {
            at: NOW,
            cycle: 1,
            key: key.clone(),
            node: from.to_owned(),
            budget: None,
        });
        let rules = RULES.iter().filter(|rule| rule.name == TAINTS).take(1).copied();
        Self {
            settings: Settings {
                mode: "Improving".to_owned(),
                rules: rules.collect(),
                limits: [None; 3],
                breaker: None,
                evictor: Vec::new(),
            },
            moves: moves.collect(),
            requests: keys
                .iter()
                .map(|key| Request { key: key.clone(), kept: false, on_its_way: false })
                .collect(),
            carried: carried.collect(),
            world,
            fates: [Fate::Evicted, Fate::Evicted],
            told: 2,
            calm: false,
        }
    }

    fn receipt(&self) -> Receipt {
        let record = |(planned, fate): (&Planned, &Fate)| Record {
            target: Target {
                pod: PodKey {
                    namespace: planned.key.namespace.as_str().into(),
                    name: planned.key.name.as_str().into(),
                    uid: planned.key.uid.as_str().into(),
                },
                node: planned.node.as_str().into(),
                profile: 0,
                strategy: planned.strategy,
                reason: Reason::new("Wrong", ""),
                grace_period_seconds: None,
                budget: None,
                set: None,
                destinations: Vec::new(),
            },
            fate: fate.clone(),
            requests: 1,
        };
        let records = self.moves.iter().zip(&self.fates).map(record).take(self.told);
        Receipt { records: records.collect(), open: Vec::new() }
    }

    /// What a checker says of it.
    fn said(&self, check: impl Fn(&Cycle<'_>, &Settings) -> Result<(), Failure>) -> String {
        let cycle = Cycle {
            number: 1,
            began: NOW,
            seen: self.world.clone(),
            moves: self.moves.clone(),
            requests: self.requests.clone(),
            carried: &self.carried,
            receipt: &self.receipt(),
            calm: self.calm,
        };
        match check(&cycle, &self.settings) {
            Ok(()) => String::new(),
            Err(failure) => failure.to_string(),
        }
    }
}

#[test]
fn limits() {
    for (limits, said) in [
        ([Some(2), Some(1), Some(2)], ""),
        ([Some(1), None, None], "limits: 2 evictions in total "),
        ([None, Some(0), None], "limits: 1 evictions of node n0"),
        ([None, None, Some(1)], "limits: 2 evictions in namespace x"),
    ] {
        let mut story = Story::new();
        story.settings.limits = limits;
        assert_eq!(story.said(checks::limits), said);
        // One of an earlier cycle that comes late counts as well.
        story.carried[0].cycle = 0;
        assert_eq!(story.said(checks::limits).is_empty(), said.is_empty());
        story.carried[0].at = NOW - SignedDuration::from_secs(1);
        assert!(story.said(checks::limits).is_empty() || limits[1] == Some(0));
    }
}

#[test]
fn budgets() {
    let mut story = Story::new();
    assert_eq!(story.said(|cycle, _| checks::budgets(cycle)), "");
    story.carried.iter_mut().for_each(|one| one.budget = Some("b".to_owned()));
    let said = story.said(|cycle, _| checks::budgets(cycle));
    assert_eq!(said, "budgets: 2 taken of b, which allowed 1");
    let mut story = Story::new();
    story.fates[0] = Fate::BlockedByBudget;
    assert_eq!(story.said(|cycle, _| checks::budgets(cycle)), "");
    story.calm = true;
    let said = story.said(|cycle, _| checks::budgets(cycle));
    assert_eq!(said, "budgets: the budget of w-0 had nothing left");
}

#[test]
fn protected() {
    const EVICT: &str = "annotation:descheduler.alpha.kubernetes.io/evict";
    assert_eq!(Story::new().said(checks::protected), "");
    let said = |change: &dyn Fn(&mut Story)| {
        let mut story = Story::new();
        change(&mut story);
        story.said(checks::protected)
    };
    let pod = |change: fn(&mut crate::world::Pod)| {
        move |story: &mut Story| change(&mut story.world.pods[0])
    };
    assert_eq!(said(&|story| drop(story.world.pods.remove(0))), "protected: w-0 was not seen");
    let terminating = pod(|pod| pod.terminating = true);
    assert_eq!(said(&terminating), "protected: w-0: it is being deleted");
    assert_eq!(said(&pod(|pod| pod.kept = true)), "protected: w-0: its annotation says so");
    let meanwhile = said(&|story| story.requests[0].kept = true);
    assert_eq!(meanwhile, "protected: w-0: its annotation says so by now");
    let annotated = pod(|pod| pod.words = format!("{EVICT}=false"));
    assert_eq!(said(&annotated), "protected: w-0: its annotation says so");
    assert_eq!(said(&pod(|pod| pod.owner.clear())), "protected: w-0: nobody owns it");
    let of_daemon = pod(|pod| pod.owner = "DaemonSet/d".to_owned());
    assert_eq!(said(&of_daemon), "protected: w-0: a DaemonSet owns it");
    let asked_for = pod(|pod| {
        pod.owner.clear();
        pod.words = format!("{EVICT}=true");
    });
    assert_eq!(said(&asked_for), "");
    let busy = |story: &mut Story| {
        story.world.pods[0].words = "annotation:karpenter.sh/do-not-disrupt=true".to_owned();
    };
    assert_eq!(said(&busy), "protected: w-0: it is not to be disrupted");
    let off = |story: &mut Story| {
        busy(story);
        story.settings.mode = "Off".to_owned();
    };
    assert_eq!(said(&off), "");
    let local = pod(|pod| pod.patch["spec"] = serde_json::json!({"volumes": [{"emptyDir": {}}]}));
    assert_eq!(said(&local), "protected: w-0: it has local storage");
    let important = |story: &mut Story| {
        story.world.pods[0].patch["spec"] = serde_json::json!({"priority": 500});
        story.settings.evictor = vec!["priorityThreshold: {value: 500}".to_owned()];
    };
    assert_eq!(said(&important), "protected: w-0: it is important");
    let alone = |story: &mut Story| {
        story.world.pods[1].owner = "ReplicaSet/v".to_owned();
        story.settings.evictor = vec!["minReplicas: 2".to_owned()];
    };
    assert_eq!(said(&alone), "protected: w-0: its owner has no other");
}

#[test]
fn uids() {
    let said = |change: fn(&mut Story)| {
        let mut story = Story::new();
        change(&mut story);
        story.said(|cycle, _| checks::uids(cycle))
    };
    assert_eq!(said(|_| {}), "");
    let other = said(|story| story.requests[0].key.uid = "u9".to_owned());
    assert!(other.ends_with("was not planned"), "{other}");
    let none = said(|story| story.requests[0].key.uid.clear());
    assert!(none.ends_with("was not planned"), "{none}");
    let unasked = said(|story| drop(story.requests.remove(0)));
    assert!(unasked.ends_with("was not asked for"), "{unasked}");
}

#[test]
fn accounts() {
    let said = |change: fn(&mut Story)| {
        let mut story = Story::new();
        change(&mut story);
        story.said(|cycle, _| checks::accounts(cycle))
    };
    assert_eq!(said(|_| {}), "");
    assert_eq!(said(|story| story.told = 1), "accounts: the receipt is not about the plan");
    for fate in [Fate::NotTried(Untried::Stopped), Fate::Conflict, Fate::Denied(String::new())] {
        let mut story = Story::new();
        story.fates[1] = fate;
        let said = story.said(|cycle, _| checks::accounts(cycle));
        assert!(said.starts_with("accounts: u1 was evicted, but its fate is "), "{said}");
    }
}

#[test]
fn open() {
    let mut story = Story::new();
    assert_eq!(story.said(|cycle, _| checks::open(cycle)), "");
    story.requests[1].on_its_way = true;
    let said = story.said(|cycle, _| checks::open(cycle));
    assert_eq!(said, "open: w-1 is asked for again, but may still go");
}

#[test]
fn improves() {
    let said = |moves: &[usize], mode: &str| {
        let mut story = Story::new();
        story.moves = moves.iter().map(|&at| story.moves[at].clone()).collect();
        story.settings.mode = mode.to_owned();
        story.said(checks::improves)
    };
    assert_eq!(said(&[1], "Improving"), "");
    assert_eq!(said(&[0], "Improving"), format!("improves: {TAINTS}: 1 before, 2 after"));
    assert_eq!(said(&[0, 1], "Improving"), "improves: nothing is better afterwards");
    assert_eq!(said(&[0], "Feasible"), "");
}

#[test]
fn panics() {
    let told = "the strategy failed inside; its moves of this cycle are dropped";
    assert!(checks::notes(["all is well", told].into_iter()).is_err());
    assert_eq!(checks::notes(["all is well"].into_iter()), Ok(()));
}

#[test]
fn rest() {
    let Story { settings, mut world, moves, .. } = Story::new();
    let [there, back] = [&moves[..1], &moves[1..]];
    let mut settling = Settling::new(&settings, &world);
    assert_eq!(settling.moved(there, &world), Ok(()));
    let twice = settling.moved(there, &world).expect_err("the same once more");
    assert_eq!(twice.check, "twice");

    let mut settling = Settling::new(&settings, &world);
    assert_eq!(settling.moved(there, &world), Ok(()));
    world.pods.remove(1);
    world.pods[0].node = Some("n1".to_owned());
    let other = [Planned { strategy: AFFINITY, ..back[0].clone() }];
    let undone = settling.moved(&other, &world).expect_err("it goes back");
    assert_eq!(undone.check, "undone");

    let mut settling = Settling::new(&settings, &world);
    assert!((0..1000).any(|_| !settling.has_time(true)), "there is no end");
    assert_eq!(settling.never_rests().check, "rest");
}
