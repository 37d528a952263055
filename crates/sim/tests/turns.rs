//! Runs the cases in `test_data/turns/`: what becomes of a cluster when pods are evicted.
//!
//! `-- evict --` has a line for each turn, with the pods in the order in which they are evicted;
//! `nobody` evicts none. A first line may set `seed=7` or `grace=0s`.

use std::fmt::Write;
use std::process::ExitCode;

use descheduler_cluster::{GoDuration, PodId, Snapshot};
use descheduler_scheduler::Scheduler;
use descheduler_sim::{Dice, Fate, Pace, World};
use descheduler_testkit::{Case, Failed, Format, Sections, run_cases};
use jiff::SignedDuration;

const FORMAT: Format = Format { given: &["cluster", "evict"], expected: &["turns", "after"] };

fn main() -> ExitCode {
    run_cases(concat!(env!("CARGO_MANIFEST_DIR"), "/test_data/turns"), FORMAT, check)
}

fn check(case: &Case) -> Result<Sections, Failed> {
    let (snapshot, anomalies) = case.cluster()?.read();
    if !anomalies.is_empty() {
        return Err(format!("{anomalies:?}").into());
    }
    let (mut seed, mut pace) = (1, Pace::default());
    let mut lines: Vec<&str> = case.section("evict")?.lines().collect();
    if lines.first().is_some_and(|line| line.contains('=')) {
        for word in lines.remove(0).split_whitespace() {
            match word.split_once('=').ok_or("expected NAME=VALUE")? {
                ("seed", value) => seed = value.parse()?,
                ("grace", value) => pace.grace = span(value)?,
                (other, _) => return Err(format!("`{other}` is nothing to set").into()),
            }
        }
    }
    let mut chance = Dice::new(seed, "placing");
    let mut world = World::new(snapshot, pace, seed);
    let mut turns = String::new();
    for line in lines {
        let mut evicted = Vec::new();
        for name in line.split_whitespace().filter(|name| *name != "nobody") {
            evicted.push(find(world.snapshot(), name)?);
        }
        let names: Vec<String> =
            evicted.iter().map(|&pod| world.snapshot().pod_name(pod)).collect();
        let fates;
        (world, fates) = world.turn(&evicted, &Scheduler::default(), &mut chance);
        for (name, fate) in names.iter().zip(fates) {
            let fate = match fate {
                Fate::Landed(node) => format!("-> {}", world.snapshot().node(node).name),
                Fate::Waits => "waits".to_owned(),
                Fate::Ended(why) => why.to_owned(),
            };
            writeln!(turns, "{name} {fate}")?;
        }
    }
    Ok(vec![("turns", turns), ("after", render(world.snapshot()))])
}

fn span(text: &str) -> Result<SignedDuration, Failed> {
    let span: GoDuration = text.parse().map_err(|error| format!("{text}: {error}"))?;
    Ok(SignedDuration::from_nanos(span.as_nanos()))
}

fn find(snapshot: &Snapshot, name: &str) -> Result<PodId, Failed> {
    let mut pods = snapshot.pods().iter().copied();
    let found = pods.find(|&pod| snapshot.pod_name(pod) == name);
    found.ok_or_else(|| format!("there is no pod {name}").into())
}

/// Every pod with what may have changed about it.
fn render(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    for &id in snapshot.pods() {
        let pod = snapshot.pod(id);
        let node = pod.node.map_or("no node", |node| &snapshot.node(node).name);
        let ready = if pod.is_ready() { "ready" } else { "not ready" };
        let age = pod.created.map(|created| snapshot.taken_at().duration_since(created));
        let age = age.map_or_else(|| "?".to_owned(), |age| format!("{}s", age.as_secs()));
        let name = snapshot.pod_name(id);
        let state = pod.phase.as_str();
        text += &format!("{name} on {node}, {state}, {ready}, {age}, uid {}\n", pod.uid);
    }
    text
}
