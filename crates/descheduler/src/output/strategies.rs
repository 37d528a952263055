//! `strategies`: what plugins there are, as text and as JSON.

use std::io::{self, Write};

use descheduler_engine::{ArgumentDoc, ArgumentType, Pass};
use descheduler_strategies::{Example, Manual};
use serde::Serialize;

use super::layout::{Ink, Screen, padded, width, wrapped};

/// How far what is said about an argument is indented.
const INDENT: &str = "      ";

/// One line for each plugin.
pub(crate) fn list(manuals: &[Manual], screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    let widest = manuals.iter().map(|manual| width(manual.name)).max().unwrap_or(0);
    let groups = Pass::ORDER.into_iter().map(Some).chain([None]);
    for pass in groups {
        let title = match pass {
            Some(pass) => format!("Strategies under `{}`", pass.extension_point()),
            None => "Protections, in every profile".to_owned(),
        };
        writeln!(out, "{}", Ink::Bold.paint(&title, screen.coloured))?;
        for Manual { name, summary, .. } in manuals.iter().filter(|manual| manual.pass == pass) {
            let name = padded(name, widest);
            writeln!(out, "  {}  {summary}", Ink::Cyan.paint(&name, screen.coloured))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "`descheduler strategies NAME` shows the arguments and an example.")
}

/// Everything about one plugin.
pub(crate) fn page(manual: &Manual, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    let bold = |text: &str| Ink::Bold.paint(text, screen.coloured).into_owned();
    writeln!(out, "{}\n\n{}\n", bold(manual.name), manual.text())?;
    let Example { about, scheduler, cluster, before_and_after, plan } = manual.example();
    writeln!(out, "{}\n\n{about}\n", bold("Example"))?;
    indented(cluster, out)?;
    if let Some(scheduler) = scheduler {
        writeln!(out, "kube-scheduler is configured so:\n")?;
        indented(scheduler, out)?;
    }
    writeln!(out, "With the policy above the pods stand so before and after:\n")?;
    indented(before_and_after, out)?;
    indented(plan, out)?;
    writeln!(out, "{}", bold("Arguments"))?;
    arguments(&manual.arguments(), "", screen, out)
}

fn indented(text: &str, out: &mut dyn Write) -> io::Result<()> {
    text.lines().try_for_each(|line| writeln!(out, "  {line}"))?;
    writeln!(out)
}

/// Each argument with its type, and below it what it does; those inside an object after it.
fn arguments(
    docs: &[ArgumentDoc],
    prefix: &str,
    screen: Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let columns = screen.columns.saturating_sub(width(INDENT));
    for argument in docs {
        let ArgumentDoc { name, kind, children, .. } = argument;
        let name = format!("{prefix}{name}");
        let kind = kind.to_string().replace('`', "");
        writeln!(out)?;
        let painted = Ink::Cyan.paint(&name, screen.coloured);
        // A type that lists many words has lines of its own.
        match width(&name) + width(&kind) + 4 <= screen.columns {
            true => writeln!(out, "  {painted}  {}", Ink::Dim.paint(&kind, screen.coloured))?,
            false => {
                writeln!(out, "  {painted}")?;
                for line in wrapped(&kind, columns) {
                    writeln!(out, "{INDENT}{}", Ink::Dim.paint(&line, screen.coloured))?;
                }
            }
        }
        let what = argument.sentences();
        wrapped(&what, columns).iter().try_for_each(|line| writeln!(out, "{INDENT}{line}"))?;
        let many = matches!(argument.kind, ArgumentType::List(_));
        let inside = format!("{name}{}.", if many { "[]" } else { "" });
        arguments(children, &inside, screen, out)?;
    }
    Ok(())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    api_version: &'static str,
    strategies: Vec<Plugin>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Plugin {
    name: &'static str,
    /// Where it can be enabled; absent for the protections.
    #[serde(skip_serializing_if = "Option::is_none")]
    extension_point: Option<&'static str>,
    summary: &'static str,
    /// The manual, in Markdown.
    manual: String,
    example: Shown,
    arguments: Vec<Argument>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    about: &'static str,
    policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduler_config: Option<&'static str>,
    cluster: &'static str,
    before_and_after: &'static str,
    plan: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Argument {
    name: &'static str,
    #[serde(rename = "type")]
    kind: String,
    /// The words that it takes, or each item of a list.
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    words: Option<Vec<&'static str>>,
    description: &'static str,
    required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecated: Option<&'static str>,
    /// Those inside of an object, or of each object in a list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arguments: Vec<Argument>,
}

/// Everything about these plugins, for programs.
pub(crate) fn json(manuals: &[Manual], out: &mut dyn Write) -> io::Result<()> {
    let strategies = manuals.iter().map(plugin).collect();
    let answer = Answer { api_version: "descheduler/strategies/v1", strategies };
    serde_json::to_writer_pretty(&mut *out, &answer)?;
    writeln!(out)
}

fn plugin(manual: &Manual) -> Plugin {
    let Example { about, scheduler, cluster, before_and_after, plan } = manual.example();
    Plugin {
        name: manual.name,
        extension_point: manual.pass.map(Pass::extension_point),
        summary: manual.summary,
        manual: manual.text(),
        example: Shown {
            about,
            policy: manual.policy(),
            scheduler_config: scheduler,
            cluster,
            before_and_after,
            plan,
        },
        arguments: manual.arguments().into_iter().map(argument).collect(),
    }
}

fn argument(doc: ArgumentDoc) -> Argument {
    let ArgumentDoc { name, doc, kind, default, required, deprecated, children } = doc;
    let (kind, words) = type_of(kind);
    Argument {
        name,
        kind,
        words,
        description: doc,
        required,
        default: default.filter(|default| !default.is_empty()),
        deprecated,
        arguments: children.into_iter().map(argument).collect(),
    }
}

/// The type in a word or a few, and the words that it takes, if those are all.
fn type_of(kind: ArgumentType) -> (String, Option<Vec<&'static str>>) {
    match kind {
        ArgumentType::Choice(words) => ("string".to_owned(), Some(words)),
        ArgumentType::List(item) => {
            let (item, words) = type_of(*item);
            (format!("list of {item}"), words)
        }
        other => (other.to_string(), None),
    }
}
