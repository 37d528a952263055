//! Label selectors of `matchLabels` and `matchExpressions` (docs/spec/strategies.md section 3.5).

use descheduler_cluster::{LabelOperator, LabelRequirement, LabelSelector};

use super::{Args, Place};

/// Operators that a structured selector knows; `Gt` and `Lt` are for selector strings alone.
const OPERATORS: [(&str, LabelOperator); 4] = [
    ("In", LabelOperator::In),
    ("NotIn", LabelOperator::NotIn),
    ("Exists", LabelOperator::Exists),
    ("DoesNotExist", LabelOperator::DoesNotExist),
];

/// Reads a selector, leaving out requirements that are wrong.
pub(super) fn read(args: &mut Args<'_>) -> LabelSelector {
    let labels = args.map::<String>("matchLabels", "Labels with exactly these values.");
    let mut requirements = Vec::new();
    for (key, value) in labels {
        let place = args.at("matchLabels").key(&key);
        requirements.extend(requirement(args, place, key, LabelOperator::In, vec![value]));
    }
    let expressions = args.objects("matchExpressions", "Conditions on labels.", expression);
    requirements.extend(expressions.into_iter().flatten());
    LabelSelector { requirements }
}

fn expression(args: &mut Args<'_>) -> Option<LabelRequirement> {
    let key: Option<String> = args.arg("key", "The label.").required().value();
    let operator = args.arg("operator", "How it is compared.").required().choice(&OPERATORS);
    let values = args.list("values", "The values of In and NotIn.");
    requirement(args, args.here(), key?, operator?, values)
}

fn requirement(
    args: &mut Args<'_>,
    place: Place<'_>,
    key: String,
    operator: LabelOperator,
    values: Vec<String>,
) -> Option<LabelRequirement> {
    match LabelRequirement::new(key, operator, values) {
        Ok(requirement) => Some(requirement),
        Err(error) => {
            let path = args.prefix.trim_end_matches('.');
            let message = format!("`{path}`: {error}");
            args.error(place, "bad-selector", message);
            None
        }
    }
}
