//! Node affinity and the terms of pod affinity and anti-affinity (docs/spec/strategies.md sections
//! 3.6 and 3.12, docs/spec/scheduler.md sections 3.4 and 6).

use crate::intern::{Interner, Sym};
use crate::labels::{Labels, Selector};
use crate::node::Node;

/// Terms of which one has to match. No usable term at all matches no node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSelector {
    /// The terms in the order written, empty ones left out: they match nothing.
    pub terms: Box<[NodeSelectorTerm]>,
    /// The only nodes that can match, sorted, if every term names nodes that it allows: the union
    /// over the terms of what each one's conditions have in common. Terms that match nothing or
    /// cannot be evaluated take part (docs/spec/scheduler.md section 3.4).
    pub names: Option<Box<[Box<str>]>>,
}

/// One term: all of it must match.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeSelectorTerm {
    /// Conditions on labels and on the node's name.
    Valid {
        /// On the labels.
        labels: Selector,
        /// On `metadata.name`.
        fields: Box<[NameField]>,
    },
    /// The term cannot be evaluated; the text says why. It never matches by itself.
    Invalid(Box<str>),
}

/// A condition on `metadata.name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NameField {
    /// The name compared with.
    pub name: Box<str>,
    /// Whether the name has to be equal (`In`) or different (`NotIn`).
    pub equal: bool,
}

/// A term with a weight, of a preferred node affinity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PreferredTerm {
    /// 1 to 100 in the API.
    pub weight: i32,
    /// `None` for an empty preference, which matches nothing.
    pub term: Option<NodeSelectorTerm>,
}

/// The answer of a node selector, which has a third value upstream treats differently from
/// place to place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeMatch {
    /// Some term matches.
    Yes,
    /// No term matches.
    No,
    /// No term matches and at least one cannot be evaluated.
    Invalid,
}

impl NodeSelector {
    /// Whether `node`, with its labels, is selected.
    pub fn matches(&self, node: &Node, labels: &Labels, strings: &Interner) -> NodeMatch {
        let mut answer = NodeMatch::No;
        for term in &self.terms {
            match term.matches(node, labels, strings) {
                NodeMatch::Yes => return NodeMatch::Yes,
                NodeMatch::Invalid => answer = NodeMatch::Invalid,
                NodeMatch::No => {}
            }
        }
        answer
    }
}

impl NodeSelectorTerm {
    /// Whether this term alone selects `node`.
    pub fn matches(&self, node: &Node, labels: &Labels, strings: &Interner) -> NodeMatch {
        match self {
            Self::Invalid(_) => NodeMatch::Invalid,
            Self::Valid { labels: selector, fields } => {
                let names = fields.iter().all(|field| (*field.name == *node.name) == field.equal);
                if names && selector.matches(labels, strings) {
                    NodeMatch::Yes
                } else {
                    NodeMatch::No
                }
            }
        }
    }
}

/// A required term of pod affinity or anti-affinity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodAffinityTerm {
    /// Namespaces named one by one, sorted. With no names and no `namespace_selector` the term
    /// speaks of the pod's own namespace.
    pub namespaces: Box<[Sym]>,
    /// Namespaces chosen by their labels, in addition to those named. Empty: all.
    pub namespace_selector: Option<Selector>,
    /// Which pods; absent matches none.
    pub selector: Option<Selector>,
    /// The node label whose equal values make two nodes the same place.
    pub topology_key: Sym,
    /// `matchLabelKeys`. The API server has merged them into the selector of a pod; in a template
    /// they are yet to be merged (docs/spec/scheduler.md section 6.1).
    pub match_label_keys: Box<[Sym]>,
    /// `mismatchLabelKeys`, likewise.
    pub mismatch_label_keys: Box<[Sym]>,
}

/// A preferred term of a pod affinity or, with a negative weight, of a pod anti-affinity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PreferredPodTerm {
    /// 1 to 100 in the API, negated for anti-affinity.
    pub weight: i32,
    /// Which pods, and what makes two nodes the same place.
    pub term: PodAffinityTerm,
}
