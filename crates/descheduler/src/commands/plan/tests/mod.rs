//! The whole way from bytes to print, in this process: whatever the bytes are, it ends without a
//! panic, and the order of the objects in them does not matter.

mod mutations;
mod policies;
mod screens;
mod shuffles;

use descheduler_cluster::Ingest;
use descheduler_engine::{History, Policy, Unobserved, audit, plan};
use descheduler_policy::{Style, load, render};
use descheduler_strategies::REGISTRY;
use serde_json::Value;

use crate::commands::inputs::World;
use crate::input;
use crate::output::layout::Screen;
use crate::output::{Outcome, json, text};

/// What is printed for a cluster.
#[derive(Debug, PartialEq, Eq)]
struct Printed {
    text: String,
    json: String,
}

fn policy(bytes: &[u8]) -> Option<Policy> {
    let (policy, diagnostics) = load(bytes, "policy", &REGISTRY);
    for style in [Style::Plain, Style::Coloured] {
        let rendered = render(&diagnostics, bytes, style);
        assert_eq!(rendered.is_empty(), diagnostics.is_empty());
    }
    policy
}

/// Plans a cluster and holds against the result what must be true of every plan; `None` if the
/// bytes are no cluster.
fn printed(policy: &Policy, cluster: &[u8]) -> Option<Printed> {
    let mut ingest = Ingest::new();
    if let Err(error) = input::read_one(cluster, "cluster", &mut ingest) {
        assert!(!error.to_string().is_empty());
        return None;
    }
    let world = World::new(ingest, None);
    let plan = plan(&world.snapshot, policy, &History::default(), &mut Unobserved);
    assert_eq!(audit(&plan, &world.snapshot, policy), []);
    let outcome = Outcome::new(&world, policy, &plan);
    // The engine contains a strategy that panics; here it is not to.
    let failed = outcome.notes.iter().find(|note| note.text.contains("failed inside"));
    assert_eq!(failed, None);

    let print = |columns, coloured| {
        let mut bytes = Vec::new();
        text::write(&outcome, Screen { columns, coloured }, &mut bytes).expect("memory takes it");
        String::from_utf8(bytes).expect("it is text")
    };
    for columns in [40, 80, 200] {
        let coloured = print(columns, true);
        let plain = print(columns, false);
        assert!(plain.len() < coloured.len());
        assert!(!plain.contains(|letter: char| letter.is_control() && letter != '\n'), "{plain}");
        assert!(plain.lines().all(|line| line == line.trim_end()), "{plain}");
    }
    let mut bytes = Vec::new();
    json::write(&outcome, &mut bytes).expect("memory takes it");
    let read: Value = serde_json::from_slice(&bytes).expect("it is JSON");
    assert_eq!(read["apiVersion"], "descheduler/plan/v1");
    assert_eq!(read["evictions"].as_array().map(Vec::len), Some(plan.evictions.len()));
    let json = String::from_utf8(bytes).expect("it is text");
    Some(Printed { text: print(120, false), json })
}
