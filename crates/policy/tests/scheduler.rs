//! Configurations of kube-scheduler and what is said about them: one text file each in
//! `tests/scheduler`.
//!
//! A case gives `config` as it stands in a file, and `version` if it is not for the default one.
//! It expects `profiles`, if the configuration can be used, and `diagnostics`.
//! `UPDATE_EXPECT=1 cargo test -p descheduler-policy` rewrites these.

use std::fmt::Write;
use std::process::ExitCode;

use descheduler_policy::{Style, render, scheduler};
use descheduler_scheduler::{
    AddedAffinity, DefaultConstraint, FitArgs, InterPodArgs, NodeTerm, Plugin, Profile,
    ScoringStrategy, ShapePoint, SpreadDefaults, Version,
};
use descheduler_testkit::{Case, Failed, Format, Sections, run_cases};

fn main() -> ExitCode {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scheduler");
    let format = Format { given: &["version", "config"], expected: &["profiles", "diagnostics"] };
    run_cases(folder, format, check)
}

fn check(case: &Case) -> Result<Sections, Failed> {
    let version = match case.has("version") {
        true => Version::parse(case.section("version")?).ok_or("that is no version")?.0,
        false => Version::DEFAULT,
    };
    let config = case.section("config")?.as_bytes();
    let (profiles, diagnostics) = scheduler::load(config, "scheduler.yaml", version);
    let mut shown = String::new();
    for profile in profiles.iter().flatten() {
        show(profile, &mut shown)?;
    }
    let said = render(&diagnostics, config, Style::Plain);
    Ok(vec![("profiles", shown), ("diagnostics", said)])
}

/// The plugins of a profile, and its arguments where they are not the default.
fn show(profile: &Profile, text: &mut String) -> std::fmt::Result {
    let Profile {
        scheduler_name,
        pre_filter,
        filter,
        pre_score,
        score,
        percentage_of_nodes_to_score,
        fit,
        balanced,
        added_affinity,
        inter_pod,
        spread,
        volume_shape,
    } = profile;
    let names = |plugins: &[Plugin]| {
        let names: Vec<&str> = plugins.iter().map(|plugin| plugin.name()).collect();
        names.join(" ")
    };
    let scores: Vec<String> =
        score.iter().map(|(plugin, weight)| format!("{plugin}={weight}")).collect();
    writeln!(text, "{scheduler_name}")?;
    writeln!(text, "  pre_filter: {}", names(pre_filter))?;
    writeln!(text, "  filter: {}", names(filter))?;
    writeln!(text, "  pre_score: {}", names(pre_score))?;
    writeln!(text, "  score: {}", scores.join(" "))?;
    let default = Profile::default();
    if *percentage_of_nodes_to_score != 0 {
        writeln!(text, "  percentage: {percentage_of_nodes_to_score}")?;
    }
    if *fit != default.fit {
        show_fit(fit, text)?;
    }
    if *balanced != default.balanced {
        writeln!(text, "  balanced: {}", balanced.join(" "))?;
    }
    if *added_affinity != default.added_affinity {
        show_affinity(added_affinity, text)?;
    }
    if *inter_pod != default.inter_pod {
        let InterPodArgs { hard_weight, ignore_existing } = inter_pod;
        writeln!(text, "  inter-pod: hard {hard_weight}, ignore existing {ignore_existing}")?;
    }
    if let SpreadDefaults::List(list) = spread {
        writeln!(text, "  spread: {} constraints", list.len())?;
        for constraint in list {
            show_constraint(constraint, text)?;
        }
    }
    if *volume_shape != default.volume_shape {
        writeln!(text, "  volumes: {}", shape(volume_shape))?;
    }
    Ok(())
}

fn show_fit(fit: &FitArgs, text: &mut String) -> std::fmt::Result {
    let FitArgs { ignored_resources, ignored_groups, strategy, resources } = fit;
    let strategy = match strategy {
        ScoringStrategy::LeastAllocated => "LeastAllocated".to_owned(),
        ScoringStrategy::MostAllocated => "MostAllocated".to_owned(),
        ScoringStrategy::RequestedToCapacityRatio(points) => shape(points),
    };
    let resources: Vec<String> =
        resources.iter().map(|(name, weight)| format!("{name}={weight}")).collect();
    writeln!(text, "  fit: {strategy} of {}", resources.join(" "))?;
    for (what, list) in [("resources", ignored_resources), ("groups", ignored_groups)] {
        if !list.is_empty() {
            writeln!(text, "  ignored {what}: {}", list.join(" "))?;
        }
    }
    Ok(())
}

fn shape(points: &[ShapePoint]) -> String {
    let points: Vec<String> = points
        .iter()
        .map(|ShapePoint { utilization, score }| format!("{utilization}%->{score}"))
        .collect();
    points.join(" ")
}

fn show_affinity(affinity: &AddedAffinity, text: &mut String) -> std::fmt::Result {
    let AddedAffinity { required, preferred } = affinity;
    let term = |NodeTerm { labels, names }: &NodeTerm| {
        let labels = labels.requirements.iter().map(|requirement| {
            format!("{} {:?} {:?}", requirement.key, requirement.operator, requirement.values)
        });
        let names = names
            .iter()
            .map(|(name, equal)| format!("name {} {name:?}", if *equal { "is" } else { "is not" }));
        let all: Vec<String> = labels.chain(names).collect();
        if all.is_empty() { "nothing".to_owned() } else { all.join(" and ") }
    };
    if let Some(terms) = required {
        let terms: Vec<String> = terms.0.iter().map(term).collect();
        writeln!(text, "  nodes: {}", terms.join(" or "))?;
    }
    for (weight, preference) in preferred {
        writeln!(text, "  nodes +{weight}: {}", term(preference))?;
    }
    Ok(())
}

fn show_constraint(constraint: &DefaultConstraint, text: &mut String) -> std::fmt::Result {
    let DefaultConstraint {
        topology_key,
        max_skew,
        hard,
        min_domains,
        honor_affinity,
        honor_taints,
    } = constraint;
    let kind = if *hard { "hard" } else { "soft" };
    let least = min_domains.map(|least| format!(", at least {least} domains")).unwrap_or_default();
    let honors = match (honor_affinity, honor_taints) {
        (true, true) => ", honors affinity and taints",
        (true, false) => "",
        (false, true) => ", honors taints alone",
        (false, false) => ", honors nothing",
    };
    writeln!(text, "    {kind} {topology_key} {max_skew}{least}{honors}")
}
