//! Runs the cases of `crates/strategies/test_data/`: a policy and a cluster, and the plan that
//! comes of them; or a policy with bad arguments, and what is said about it.

use std::fmt::Write;
use std::process::ExitCode;

use descheduler_cluster::Snapshot;
use descheduler_engine::{History, Plan, Reason, Unobserved, audit, plan};
use descheduler_policy::{Style, load, render};
use descheduler_strategies::REGISTRY;
use descheduler_testkit::{Case, Failed, Format, run_cases};

fn main() -> ExitCode {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../strategies/test_data");
    let format = Format {
        given: &["policy", "cluster", "cluster.yaml"],
        expected: &["plan", "diagnostics"],
    };
    run_cases(folder, format, check)
}

fn check(case: &Case) -> Result<Vec<(&'static str, String)>, Failed> {
    let text = case.section("policy")?;
    let (policy, diagnostics) = load(text.as_bytes(), "policy.yaml", &REGISTRY);
    let said = render(&diagnostics, text.as_bytes(), Style::Plain);
    let Some(policy) = policy else { return Ok(vec![("diagnostics", said)]) };
    if !case.has("cluster") {
        return Ok(vec![("diagnostics", said)]);
    }
    let (snapshot, _) = case.cluster()?.read();
    let planned = plan(&snapshot, &policy, &History::default(), &mut Unobserved);
    let violations = audit(&planned, &snapshot, &policy);
    if let Some(violation) = violations.first() {
        return Err(format!("the plan is not sound: {violation}").into());
    }
    Ok(vec![("plan", show(&planned, &snapshot)?), ("diagnostics", said)])
}

/// The whole plan: what goes, what stays and why, and what else is said.
fn show(plan: &Plan, snapshot: &Snapshot) -> Result<String, Failed> {
    let mut text = String::new();
    for eviction in &plan.evictions {
        let pod = snapshot.pod_name(eviction.pod);
        let node = &snapshot.node(eviction.node).name;
        let destinations = eviction.destinations.iter().map(|&node| &*snapshot.node(node).name);
        let destinations: Vec<&str> = destinations.collect();
        let to = if destinations.is_empty() { "" } else { " to " };
        let (to, strategy) = (format!("{to}{}", destinations.join(" or ")), eviction.strategy);
        let Reason { code, detail } = &eviction.reason;
        writeln!(text, "evict {pod} from {node}{to}: {strategy}/{code}: {detail}")?;
    }
    for run in &plan.report.runs {
        let strategy = run.strategy;
        for refused in &run.refusals {
            let pod = snapshot.pod_name(refused.pod);
            let refusal = &refused.refusal;
            writeln!(text, "keep {pod}: {strategy}/{}: {refusal}", refusal.code())?;
        }
        for note in &run.notes {
            writeln!(text, "note {strategy}: {note}")?;
        }
    }
    for note in &plan.report.notes {
        writeln!(text, "note: {note}")?;
    }
    if text.is_empty() {
        text.push_str("nothing\n");
    }
    Ok(text)
}
