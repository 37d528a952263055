//! Selectors and affinity, checked as upstream converts them and compiled.

use super::anomaly::Flaws;
use super::pools::Pools;
use crate::affinity::{
    NameField, NodeSelector, NodeSelectorTerm, PodAffinityTerm, PreferredPodTerm, PreferredTerm,
};
use crate::labels::{LabelError, LabelOperator, LabelRequirement, LabelSelector, Selector};
use crate::wire::{self, text};

/// A label selector, or why it cannot be converted (docs/spec/strategies.md section 3.5).
pub(super) fn label_selector(
    pools: &mut Pools,
    selector: &wire::LabelSelector<'_>,
) -> Result<Selector, String> {
    let mut requirements = Vec::new();
    for (key, value) in selector.match_labels.iter().flat_map(|labels| &labels.0) {
        let values = vec![value.to_string()];
        requirements.push(
            LabelRequirement::new(key.to_string(), LabelOperator::In, values)
                .map_err(|error| error.to_string())?,
        );
    }
    for expression in selector.match_expressions.iter().flatten() {
        let operator = match text(&expression.operator) {
            "In" => LabelOperator::In,
            "NotIn" => LabelOperator::NotIn,
            "Exists" => LabelOperator::Exists,
            "DoesNotExist" => LabelOperator::DoesNotExist,
            other => {
                return Err(format!(
                    "`{other}` is no operator, expected In, NotIn, Exists or DoesNotExist"
                ));
            }
        };
        requirements.push(requirement(expression, operator).map_err(|error| error.to_string())?);
    }
    Ok(Selector::intern(&LabelSelector { requirements }, &mut pools.strings))
}

fn requirement(
    expression: &wire::Expression<'_>,
    operator: LabelOperator,
) -> Result<LabelRequirement, LabelError> {
    let values = expression.values.iter().flatten().map(|value| value.to_string()).collect();
    LabelRequirement::new(text(&expression.key).to_owned(), operator, values)
}

/// Terms of a required node affinity; one that cannot be evaluated is kept as such, since a
/// caller may still find another that matches (section 3.6).
pub(super) fn node_selector(pools: &mut Pools, selector: &wire::NodeSelector<'_>) -> NodeSelector {
    let terms = selector.node_selector_terms.as_deref().unwrap_or_default();
    NodeSelector {
        names: named(terms),
        terms: terms.iter().filter_map(|term| node_term(pools, term)).collect(),
    }
}

fn named(terms: &[wire::NodeSelectorTerm<'_>]) -> Option<Box<[Box<str>]>> {
    let mut all: Vec<Box<str>> = Vec::new();
    for term in terms {
        let is_list = |field: &&wire::Expression<'_>| {
            text(&field.key) == "metadata.name" && text(&field.operator) == "In"
        };
        let fields = term.match_fields.as_deref().unwrap_or_default();
        let mut lists =
            fields.iter().filter(is_list).map(|field| field.values.as_deref().unwrap_or_default());
        let first = lists.next()?;
        let rest: Vec<_> = lists.collect();
        let common = first.iter().filter(|name| rest.iter().all(|list| list.contains(name)));
        all.extend(common.map(|name| Box::from(&**name)));
    }
    all.sort_unstable();
    all.dedup();
    (!terms.is_empty()).then(|| all.into())
}

/// The preferred terms of a node affinity.
pub(super) fn preferred_terms(
    pools: &mut Pools,
    terms: Option<&Vec<wire::PreferredTerm<'_>>>,
) -> Box<[PreferredTerm]> {
    terms
        .into_iter()
        .flatten()
        .map(|preferred| PreferredTerm {
            weight: preferred.weight.map_or(0, wire::Int::narrow),
            term: preferred.preference.as_ref().and_then(|term| node_term(pools, term)),
        })
        .collect()
}

/// `None` for a term without conditions, which matches nothing.
fn node_term(pools: &mut Pools, term: &wire::NodeSelectorTerm<'_>) -> Option<NodeSelectorTerm> {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    if expressions.is_empty() && fields.is_empty() {
        return None;
    }
    Some(
        valid_node_term(pools, expressions, fields)
            .unwrap_or_else(|problem| NodeSelectorTerm::Invalid(problem.into())),
    )
}

fn valid_node_term(
    pools: &mut Pools,
    expressions: &[wire::Expression<'_>],
    fields: &[wire::Expression<'_>],
) -> Result<NodeSelectorTerm, String> {
    let mut requirements = Vec::with_capacity(expressions.len());
    for expression in expressions {
        let operator = match text(&expression.operator) {
            "In" => LabelOperator::In,
            "NotIn" => LabelOperator::NotIn,
            "Exists" => LabelOperator::Exists,
            "DoesNotExist" => LabelOperator::DoesNotExist,
            "Gt" => LabelOperator::Gt,
            "Lt" => LabelOperator::Lt,
            other => return Err(format!("`{other}` is no operator of a node selector")),
        };
        requirements.push(requirement(expression, operator).map_err(|error| error.to_string())?);
    }
    let fields = fields.iter().map(name_field).collect::<Result<_, _>>()?;
    let selector = LabelSelector { requirements };
    Ok(NodeSelectorTerm::Valid { labels: Selector::intern(&selector, &mut pools.strings), fields })
}

fn name_field(field: &wire::Expression<'_>) -> Result<NameField, String> {
    let equal = match text(&field.operator) {
        "In" => true,
        "NotIn" => false,
        other => return Err(format!("`{other}` is no operator for fields, expected In or NotIn")),
    };
    let [name] = field.values.as_deref().unwrap_or_default() else {
        return Err("a condition on a field needs exactly one value".to_owned());
    };
    match text(&field.key) {
        "metadata.name" => Ok(NameField { name: (**name).into(), equal }),
        // Of any other field a node has nothing, which equals the empty string alone.
        _ => Ok(NameField { name: "".into(), equal: if name.is_empty() { !equal } else { equal } }),
    }
}

/// Required terms of a pod affinity or anti-affinity. One whose selector cannot be converted is
/// left out and named in `flaws`.
pub(super) fn pod_terms(
    pools: &mut Pools,
    terms: &[wire::PodAffinityTerm<'_>],
    field: &str,
    flaws: &mut Flaws,
) -> Box<[PodAffinityTerm]> {
    let terms = terms.iter().enumerate();
    terms
        .filter_map(|(at, term)| pod_term(pools, term, || format!("{field}[{at}]"), flaws))
        .collect()
}

/// Adds the preferred terms of a pod affinity, or with `sign` -1 those of an anti-affinity.
pub(super) fn preferred_pod_terms(
    pools: &mut Pools,
    terms: &[wire::WeightedPodTerm<'_>],
    sign: i32,
    field: &str,
    flaws: &mut Flaws,
    found: &mut Vec<PreferredPodTerm>,
) {
    for (at, weighted) in terms.iter().enumerate() {
        // Without a term, there is no selector, which matches no pod.
        let Some(term) = &weighted.pod_affinity_term else { continue };
        let field = || format!("{field}[{at}].podAffinityTerm");
        if let Some(term) = pod_term(pools, term, field, flaws) {
            let weight = weighted.weight.map_or(0, wire::Int::narrow);
            found.push(PreferredPodTerm { weight: weight.saturating_mul(sign), term });
        }
    }
}

fn pod_term(
    pools: &mut Pools,
    term: &wire::PodAffinityTerm<'_>,
    field: impl Fn() -> String,
    flaws: &mut Flaws,
) -> Option<PodAffinityTerm> {
    let selector = term.label_selector.as_ref();
    let selector = selector_of(pools, selector, || format!("{}.labelSelector", field()), flaws);
    let spaces = term.namespace_selector.as_ref();
    let spaces = selector_of(pools, spaces, || format!("{}.namespaceSelector", field()), flaws);
    let (Ok(selector), Ok(namespace_selector)) = (selector, spaces) else { return None };
    let mut names: Vec<&str> = term.namespaces.iter().flatten().map(|name| &**name).collect();
    names.sort_unstable();
    names.dedup();
    Some(PodAffinityTerm {
        namespaces: names.into_iter().map(|name| pools.sym(name)).collect(),
        namespace_selector,
        selector,
        topology_key: pools.sym_of(&term.topology_key),
        match_label_keys: pools.syms(term.match_label_keys.as_ref()),
        mismatch_label_keys: pools.syms(term.mismatch_label_keys.as_ref()),
    })
}

/// A label selector that may be absent; `Err` when it cannot be converted, which `flaws` then says
/// of the field.
pub(super) fn selector_of(
    pools: &mut Pools,
    selector: Option<&wire::LabelSelector<'_>>,
    field: impl Fn() -> String,
    flaws: &mut Flaws,
) -> Result<Option<Selector>, ()> {
    match selector.map(|selector| label_selector(pools, selector)).transpose() {
        Ok(selector) => Ok(selector),
        Err(problem) => {
            flaws.push(field(), problem);
            Err(())
        }
    }
}
