//! `place -o text`: for a person who wants to know where a pod could go, and why not elsewhere.

use std::collections::BTreeMap;
use std::io::{self, Write};

use descheduler_cluster::NodeId;
use descheduler_scheduler::{Candidate, Code, CycleError, Placement, Plugin};

use super::page::{Page, Span};
use crate::output::layout::{Ink, Screen, count, padded, width};
use crate::output::place::Answer;

/// So many nodes are shown; JSON has them all.
const NODES_MAX: usize = 10;

/// Of the nodes that are out for one reason, so many are named.
const NAMED_MAX: usize = 4;

/// Writes the answer.
pub(crate) fn write(answer: &Answer<'_>, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(out, screen);
    let &Answer { snapshot: _, id: _, version, profile, placement: _, winners } = answer;
    page.paragraph(0, &[], &verdict(answer), Ink::Bold)?;
    let by = format!("as kube-scheduler {version} with the profile `{profile}` sees it");
    page.paragraph(0, &[], &by, Ink::Dim)?;
    if winners.sampled {
        let text = "in a cluster of this size it looks at some of them only, so which one it takes \
                    depends on where it begins";
        page.paragraph(0, &[], text, Ink::Dim)?;
    }
    body(answer, &mut page)
}

/// The nodes that pass with their scores, and why the others do not.
pub(super) fn body(answer: &Answer<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let &Answer { snapshot, placement, .. } = answer;
    let Placement { rejected, error, feasible, infeasible, plugins } = placement;
    if let Some(CycleError { stage, plugin, message }) = error {
        page.blank()?;
        let text = format!("{stage} of {plugin}: {message}");
        return page.paragraph(2, &[], &text, Ink::Plain);
    }
    if let Some(fault) = rejected {
        page.blank()?;
        let text = fault.why.text(snapshot);
        let plugin = fault.plugin.map_or(String::new(), |plugin| format!("  {plugin}"));
        return page
            .line(&[Span::new(Ink::Plain, format!("  {text}")), Span::new(Ink::Dim, plugin)]);
    }
    if !feasible.is_empty() {
        candidates(answer, plugins, feasible, page)?;
    }
    let mut reasons: BTreeMap<(Code, String), Vec<NodeId>> = BTreeMap::new();
    for (node, fault) in infeasible {
        reasons.entry((fault.code, fault.why.text(snapshot))).or_default().push(*node);
    }
    if reasons.is_empty() {
        return Ok(());
    }
    page.heading(&[
        Span::new(Ink::Bold, "Out"),
        Span::new(Ink::Dim, format!("  {}", count(infeasible.len(), "node"))),
    ])?;
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    for ((code, text), nodes) in &reasons {
        reason(answer, (*code, text), nodes, page)?;
    }
    Ok(())
}

fn verdict(answer: &Answer<'_>) -> String {
    let &Answer { id, placement, .. } = answer;
    let Placement { rejected, error, feasible, infeasible, plugins: _ } = placement;
    if error.is_some() {
        return format!("{id}: the scheduler fails and tries again later");
    }
    if rejected.is_some() {
        return format!("{id} can go nowhere: it is turned down before any node is looked at");
    }
    let all = count(feasible.len() + infeasible.len(), "node");
    let best = match answer.winners().as_slice() {
        [] => return format!("{id} can go to none of {all}"),
        [one] => format!("`{one}` is best"),
        [first, second] => format!("`{first}` and `{second}` could win"),
        all @ [first, ..] => format!("{} nodes could win, such as `{first}`", all.len()),
    };
    format!("{id} can go to {} of {all}: {best}", feasible.len())
}

/// The best nodes with what each plugin gives them.
fn candidates(
    answer: &Answer<'_>,
    plugins: &[Plugin],
    feasible: &[Candidate],
    page: &mut Page<'_>,
) -> io::Result<()> {
    let mut best: Vec<&Candidate> = feasible.iter().collect();
    // They are sorted by name, which stays for those that are equally good.
    best.sort_by_key(|candidate| std::cmp::Reverse(candidate.total));
    let more = best.len().saturating_sub(NODES_MAX);
    best.truncate(NODES_MAX);
    let names = best.iter().map(|candidate| answer.name(candidate.node));
    let wide = names.clone().map(width).max().unwrap_or_default().max("node".len());
    let titles: Vec<&str> = plugins.iter().map(|&plugin| title(plugin)).collect();
    let mut head = format!("  {}  score", padded("node", wide));
    titles.iter().for_each(|title| head.push_str(&format!("  {title:>4}")));
    page.blank()?;
    page.line(&[Span::new(Ink::Dim, head)])?;
    let top = best.first().map(|candidate| candidate.total);
    for (candidate, name) in best.iter().zip(names) {
        let ink = if Some(candidate.total) == top { Ink::Green } else { Ink::Plain };
        let mut scores = String::new();
        for (title, score) in titles.iter().zip(&candidate.scores) {
            let columns = width(title).max(4);
            scores.push_str(&format!("  {score:>columns$}"));
        }
        page.line(&[
            Span::new(ink, format!("  {}  {:>5}", padded(name, wide), candidate.total)),
            Span::new(Ink::Plain, scores),
        ])?;
    }
    page.more(2, more)
}

/// What the score of a plugin is called in the table: what it is about.
fn title(plugin: Plugin) -> &'static str {
    match plugin {
        Plugin::TaintToleration => "taints",
        Plugin::NodeAffinity => "affinity",
        Plugin::NodeResourcesFit => "room",
        Plugin::VolumeBinding => "volumes",
        Plugin::PodTopologySpread => "spread",
        Plugin::InterPodAffinity => "pods",
        Plugin::NodeResourcesBalancedAllocation => "balance",
        Plugin::ImageLocality => "images",
        Plugin::NodeUnschedulable
        | Plugin::NodeName
        | Plugin::NodePorts
        | Plugin::VolumeRestrictions
        | Plugin::NodeVolumeLimits
        | Plugin::VolumeZone
        | Plugin::DynamicResources
        | Plugin::NodeDeclaredFeatures => plugin.name(),
    }
}

/// How many nodes are out for a reason, in the scheduler's words, and which.
fn reason(
    answer: &Answer<'_>,
    (code, text): (Code, &str),
    nodes: &[NodeId],
    page: &mut Page<'_>,
) -> io::Result<()> {
    let mut named: Vec<&str> =
        nodes.iter().take(NAMED_MAX).map(|&node| answer.name(node)).collect();
    let more = nodes.len().saturating_sub(NAMED_MAX);
    let more = (more > 0).then(|| format!("{more} more"));
    named.extend(more.as_deref());
    let hope = match code {
        Code::Unschedulable => "; fewer pods there might help",
        Code::UnschedulableAndUnresolvable => "",
    };
    let front = [Span::new(Ink::Plain, format!("{:>5}  ", nodes.len()))];
    page.paragraph(0, &front, &format!("{text}: {}{hope}", named.join(", ")), Ink::Plain)
}
