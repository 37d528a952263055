//! Runs the cases of `crates/strategies/test_data/`: a policy and a cluster, and the plan that
//! comes of them; or a policy with bad arguments, and what is said about it.
//!
//! The examples in the manual are cases as well. Their policy is the one that stands in the manual of
//! the plugin that the section `manual` names, and they show the cluster before and after.

use std::fmt::Write;
use std::process::ExitCode;

use descheduler_cluster::{NodeId, Snapshot};
use descheduler_engine::{History, Placement, Plan, Reason, Unobserved, audit, plan};
use descheduler_policy::{Style, Surroundings, load_for, render, scheduler};
use descheduler_scheduler::{Profile as SchedulerProfile, Version};
use descheduler_strategies::{MANUALS, REGISTRY};
use descheduler_testkit::{Case, Failed, Format, run_cases};

fn main() -> ExitCode {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../strategies/test_data");
    let format = Format {
        given: &["policy", "manual", "scheduler", "cluster", "cluster.yaml"],
        expected: &["before-and-after", "plan", "diagnostics"],
    };
    run_cases(folder, format, check)
}

fn check(case: &Case) -> Result<Vec<(&'static str, String)>, Failed> {
    let text = policy_of(case)?;
    // That placement is off in many cases, and `nodeFit` with it, is not what they are about.
    let around = Surroundings { placement: Some(Placement::DEFAULT), scheduler: None };
    let (policy, diagnostics) = load_for(text.as_bytes(), "policy.yaml", &REGISTRY, &around);
    let said = render(&diagnostics, text.as_bytes(), Style::Plain);
    let Some(mut policy) = policy else { return Ok(vec![("diagnostics", said)]) };
    if let Some(text) = case.get("scheduler") {
        policy.scheduler.profiles = profiles(text, policy.scheduler.version)?;
    }
    if !case.has("cluster") {
        return Ok(vec![("diagnostics", said)]);
    }
    let (snapshot, _) = case.cluster()?.read();
    let planned = plan(&snapshot, &policy, &History::default(), &mut Unobserved);
    let violations = audit(&planned, &snapshot, &policy);
    if let Some(violation) = violations.first() {
        return Err(format!("the plan is not sound: {violation}").into());
    }
    let mut sections = vec![("plan", show(&planned, &snapshot)?), ("diagnostics", said)];
    if case.has("manual") {
        sections.insert(0, ("before-and-after", before_and_after(&planned, &snapshot)?));
    }
    Ok(sections)
}

/// The policy that the case gives, or the one of the manual that it names.
fn policy_of(case: &Case) -> Result<String, Failed> {
    let Some(name) = case.get("manual") else { return Ok(case.section("policy")?.to_owned()) };
    let manual = MANUALS.iter().find(|manual| manual.name == name.trim());
    let manual = manual.ok_or_else(|| format!("there is no plugin {name}"))?;
    Ok(manual.policy())
}

fn profiles(text: &str, version: Version) -> Result<Vec<SchedulerProfile>, Failed> {
    let (profiles, diagnostics) = scheduler::load(text.as_bytes(), "scheduler.yaml", version);
    let said = render(&diagnostics, text.as_bytes(), Style::Plain);
    profiles.ok_or_else(|| said.into())
}

/// Each node with its pods before the plan is carried out and after, if what takes the place of a
/// pod lands where it is expected.
fn before_and_after(plan: &Plan, snapshot: &Snapshot) -> Result<String, Failed> {
    let mut rows = vec![["node", "before", "after"].map(str::to_owned)];
    for &node in snapshot.nodes() {
        let name = |pod| snapshot.pod(pod).name.to_string();
        let on = |at: Option<NodeId>| at == Some(node);
        let here = snapshot.pods().iter().filter(|&&pod| on(snapshot.pod(pod).node));
        let before: Vec<String> = here.clone().map(|&pod| name(pod)).collect();
        let goes = |pod| plan.evictions.iter().any(|eviction| eviction.pod == pod);
        let mut after: Vec<String> =
            here.filter(|&&pod| !goes(pod)).map(|&pod| name(pod)).collect();
        let arrivals = plan.evictions.iter().filter(|e| on(e.destinations.first().copied()));
        after.extend(arrivals.map(|eviction| format!("{} (new)", name(eviction.pod))));
        let node = snapshot.node(node).name.to_string();
        rows.push([node, before.join(", "), after.join(", ")]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    let mut text = String::new();
    for [node, before, after] in &rows {
        let line = format!("{node:first$}  {before:second$}  {after}");
        writeln!(text, "{}", line.trim_end())?;
    }
    Ok(text)
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
