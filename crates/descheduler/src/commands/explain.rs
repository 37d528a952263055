//! `descheduler explain`: every check of every strategy about one pod or node.

use std::process::ExitCode;

use anyhow::anyhow;
use descheduler_cluster::{NodeId, Snapshot};
use descheduler_engine::{History, Open, did_you_mean, explain_node, explain_pod};

use super::history;
use super::inputs::{self, Source, World};
use super::place as pods;
use crate::cli::{ExplainArgs, ExplainCommand, Format, SubjectArgs};
use crate::error::CliError;
use crate::output::Outcome;
use crate::output::explain::{NodeAnswer, PodAnswer, write_node, write_pod};
use crate::output::text::explain as text;
use crate::printer::Printer;

/// So many nodes are named to somebody who asks about none of them.
const NAMED_MAX: usize = 5;

/// Makes the plan and says what there is to say about a pod or a node.
pub(crate) fn run(arguments: &ExplainArgs, printer: &mut Printer) -> Result<ExitCode, CliError> {
    let (ExplainCommand::Pod(subject) | ExplainCommand::Node(subject)) = &arguments.command;
    let SubjectArgs { name, inputs, history: remembered, output } = subject;
    let history = remembered.as_deref().map_or_else(|| Ok(History::default()), history::read)?;
    let source = Source::open(&inputs.cluster, inputs.kubeconfig.as_deref())?;
    let policy = inputs::policy(inputs, &source, "nothing is explained", printer)?;
    let place = source.name();
    let world = source.world(inputs.now)?;
    let World { snapshot, .. } = &world;
    let history = history.seen(snapshot, policy.loop_breaker, &Open::default());
    let screen = printer.screen();
    match &arguments.command {
        ExplainCommand::Pod(_) => {
            let pod = pods::find(snapshot, name)
                .ok_or_else(|| pods::unknown_pod(snapshot, name, &place))?;
            let explanation = explain_pod(snapshot, &policy, &history, pod);
            let outcome = Outcome::new(&world, &policy, &explanation.plan);
            let answer = PodAnswer { world: &outcome, pod, explanation: &explanation };
            printer.data(|out| match output {
                Format::Json => write_pod(&answer, out),
                Format::Text => text::write_pod(&answer, screen, out),
            })?;
        }
        ExplainCommand::Node(_) => {
            let node = find_node(snapshot, name, &place)?;
            let explanation = explain_node(snapshot, &policy, &history, node);
            let outcome = Outcome::new(&world, &policy, &explanation.plan);
            let answer = NodeAnswer { world: &outcome, node, explanation: &explanation };
            printer.data(|out| match output {
                Format::Json => write_node(&answer, out),
                Format::Text => text::write_node(&answer, screen, out),
            })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn find_node(snapshot: &Snapshot, name: &str, place: &str) -> Result<NodeId, CliError> {
    let nodes = snapshot.nodes().iter().copied();
    let found = nodes.clone().find(|&node| *snapshot.node(node).name == *name);
    found.ok_or_else(|| {
        let error = CliError::user(anyhow!("there is no node `{name}` in {place}"));
        let names = nodes.map(|node| &*snapshot.node(node).name);
        let hint = did_you_mean(name, names.clone());
        error.help(hint.unwrap_or_else(|| {
            let some: Vec<&str> = names.take(NAMED_MAX).collect();
            format!("there are {}", some.join(", "))
        }))
    })
}
