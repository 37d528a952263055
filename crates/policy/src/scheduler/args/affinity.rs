//! NodeAffinityArgs: node affinity that is added to every pod's
//! (docs/spec/scheduler.md section 3.4).

use descheduler_cluster::{LabelOperator, LabelRequirement, LabelSelector};
use descheduler_engine::Args;
use descheduler_scheduler::{AddedAffinity, NodeTerm, NodeTerms};

use super::word;

const OPERATORS: [(&str, LabelOperator); 6] = [
    ("In", LabelOperator::In),
    ("NotIn", LabelOperator::NotIn),
    ("Exists", LabelOperator::Exists),
    ("DoesNotExist", LabelOperator::DoesNotExist),
    ("Gt", LabelOperator::Gt),
    ("Lt", LabelOperator::Lt),
];

/// The one field of nodes that has a value.
const NAME_FIELD: &str = "metadata.name";

pub(super) fn read(args: &mut Args<'_>) -> AddedAffinity {
    let read = |args: &mut Args<'_>| AddedAffinity {
        required: args.object(
            "requiredDuringSchedulingIgnoredDuringExecution",
            "A node must match one of these terms.",
            |args| NodeTerms(args.objects("nodeSelectorTerms", "The terms.", term)),
        ),
        preferred: args.objects(
            "preferredDuringSchedulingIgnoredDuringExecution",
            "Nodes that match are better.",
            |args| {
                let weight = args.optional::<i32>("weight", "How much better.").unwrap_or(0);
                let term = args.object("preference", "The term.", term);
                (weight, term.unwrap_or_default())
            },
        ),
    };
    args.object("addedAffinity", "Added to the node affinity of every pod.", read)
        .unwrap_or_default()
}

fn term(args: &mut Args<'_>) -> NodeTerm {
    let labels = args.objects("matchExpressions", "Conditions on labels.", expression);
    let names = args.objects("matchFields", "Conditions on the name.", field);
    NodeTerm {
        labels: LabelSelector { requirements: labels.into_iter().flatten().collect() },
        names: names.into_iter().flatten().collect(),
    }
}

fn parts(
    args: &mut Args<'_>,
    operators: &[&'static str],
) -> (Option<String>, Option<&'static str>, Vec<String>) {
    let key = args.arg("key", "What is compared.").required().value();
    let operator = word(args, "operator", "How it is compared.", operators);
    let values = args.list("values", "What it is compared with.");
    (key, operator, values)
}

fn expression(args: &mut Args<'_>) -> Option<LabelRequirement> {
    let (key, operator, values) = parts(args, &OPERATORS.map(|(name, _)| name));
    let (key, operator) = (key?, operator?);
    let (_, operator) = OPERATORS.into_iter().find(|(name, _)| *name == operator)?;
    match LabelRequirement::new(key, operator, values) {
        Ok(requirement) => Some(requirement),
        Err(error) => {
            args.error(args.here(), "bad-selector", error.to_string());
            None
        }
    }
}

fn field(args: &mut Args<'_>) -> Option<(String, bool)> {
    let (key, operator, values) = parts(args, &["In", "NotIn"]);
    let (key, operator) = (key?, operator?);
    let [value] = values.as_slice() else {
        let message = format!("`{key}`: exactly one value is needed, found {}", values.len());
        args.error(args.here(), "bad-selector", message);
        return None;
    };
    let equal = operator == "In";
    if key != NAME_FIELD {
        let message = format!("`{key}` is a field that no node has");
        args.warning(args.at("key"), "unknown-value", message)
            .help(format!("only `{NAME_FIELD}` can be compared"));
        // To the scheduler it is empty. No node has an empty name, so that can stand for it.
        let matches = value.is_empty() == equal;
        return Some((String::new(), !matches));
    }
    Some((value.clone(), equal))
}
