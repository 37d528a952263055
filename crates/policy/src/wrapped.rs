//! Policies inside of other files: ConfigMaps, Helm values, and what carries either to a cluster.
//!
//! A file that is no policy itself is searched for one, all of its documents. A policy is a mapping
//! `deschedulerPolicy`, which only the values of the chart have (docs/spec/runtime.md section
//! 16.3), wherever it stands: in a values file of its own, under the name of a subchart, in a Flux
//! HelmRelease, in an Argo CD Application. Or it is a text, as in the `data` of a ConfigMap; such a
//! text may also be Helm values or a manifest, with a policy inside of it.
//!
//! Whatever is said about such a policy, the places are those of the file.

mod chart;
mod places;

use std::collections::BTreeSet;

use descheduler_engine::{Diagnostics, Map, Node, Span, Value};

use crate::{header, source, yaml};
use places::{Level, Places};

/// Texts inside of texts inside of texts are as deep as anybody goes: Helm values with a manifest
/// that has a ConfigMap in it.
const NESTED_MAX: usize = 3;

/// The names under which a ConfigMap for the descheduler holds a policy.
const POLICY_FILES: [&str; 3] = ["policy.yaml", "policy.yml", "policy.json"];

/// Finds the policy of a file, and gives it to `read` as if it were a file by itself.
pub(crate) fn read<T>(
    bytes: &[u8],
    diagnostics: &mut Diagnostics,
    read: impl FnOnce(&Value, &mut Diagnostics) -> Option<T>,
) -> Option<T> {
    let text = source::checked(bytes, diagnostics)?;
    let mut said = diagnostics.of_same_file();
    let first = yaml::parse(&text, &mut said);
    if first.as_ref().is_some_and(|first| !header::is_policy(first)) {
        let found = search(&text, diagnostics);
        if found.is_some() || diagnostics.has_errors() {
            return found?.read(&text, diagnostics, read);
        }
    }
    // Either the policy, or what the file is instead of one.
    diagnostics.absorb(said, |span| span);
    read(&first?, diagnostics)
}

/// A policy inside of a file.
struct Found {
    what: What,
    /// The texts that it stands in.
    level: Level,
}

enum What {
    /// The text of a policy file.
    Text { root: Value, said: Diagnostics },
    /// Values of the chart.
    Values(Map),
    /// A policy as an object among others.
    Object(Span),
}

impl Found {
    fn read<T>(
        self,
        text: &str,
        diagnostics: &mut Diagnostics,
        read: impl FnOnce(&Value, &mut Diagnostics) -> Option<T>,
    ) -> Option<T> {
        let Self { what, level } = self;
        let mut said = diagnostics.of_same_file();
        let root = match what {
            What::Text { root, said: before } => {
                said = before;
                Some(root)
            }
            What::Values(values) => chart::policy(&values, &mut said),
            What::Object(span) => {
                let message =
                    "this policy is not the first document of the file, and so is not read";
                let diagnostic = said.error("policy-not-first", span, message);
                diagnostic.help("put it into a file of its own".to_owned());
                None
            }
        };
        let result = root.and_then(|root| read(&root, &mut said));
        diagnostics.absorb(said, |span| level.place(span, text));
        result
    }

    /// Where it begins.
    fn place(&self, text: &str) -> Span {
        let span = match &self.what {
            What::Text { root, .. } => root.span,
            What::Values(values) => {
                values.entries.first().map_or_else(Span::default, |e| e.key_span)
            }
            What::Object(span) => *span,
        };
        self.level.place(span, text)
    }
}

/// The policy somewhere in a file; if there are several, that is an error.
fn search(text: &str, diagnostics: &mut Diagnostics) -> Option<Found> {
    let documents = yaml::parse_all(text, diagnostics)?;
    let mut search = Search {
        file: text,
        found: Vec::new(),
        fallback: Vec::new(),
        texts: BTreeSet::new(),
        mappings: BTreeSet::new(),
        diagnostics,
    };
    for document in &documents {
        search.visit(document, text, &Level::default());
    }
    let Search { mut found, mut fallback, diagnostics, .. } = search;
    if let [first, second, ..] = found.as_slice() {
        let message = format!("{} policies are in this file; only one can be read", found.len());
        diagnostics
            .error("several-policies", second.place(text), message)
            .help("put each into a file of its own".to_owned())
            .related(first.place(text), "the first one");
        return None;
    }
    if diagnostics.has_errors() {
        return None;
    }
    let last = fallback.pop().filter(|_| fallback.is_empty());
    found.pop().or(last)
}

struct Search<'t, 'd> {
    file: &'t str,
    found: Vec<Found>,
    /// What counts if there is nothing else: texts that only their name makes a policy, and values
    /// of the chart that say nothing of one.
    fallback: Vec<Found>,
    /// Where texts stand that were looked at: many aliases can stand for the same one.
    texts: BTreeSet<usize>,
    /// The same of policies that are no texts.
    mappings: BTreeSet<usize>,
    diagnostics: &'d mut Diagnostics,
}

impl Search<'_, '_> {
    /// Looks for policies in a value of a document; `text` is that of the document.
    fn visit(&mut self, value: &Value, text: &str, level: &Level) {
        match &value.node {
            Node::Scalar(_) => self.scalar(value, text, level, false),
            Node::List(items) => items.iter().for_each(|item| self.visit(item, text, level)),
            Node::Map(map) => {
                let what = if header::is_policy(value) {
                    What::Object(value.span)
                } else if chart::is_values(map) {
                    What::Values(map.clone())
                } else {
                    return self.inside(map, text, level);
                };
                let found = Found { what, level: level.clone() };
                if self.mappings.insert(found.place(self.file).start) {
                    match chart::is_silent(map) {
                        true => self.fallback.push(found),
                        false => self.found.push(found),
                    }
                }
            }
        }
    }

    fn inside(&mut self, map: &Map, text: &str, level: &Level) {
        let is_object = map.given("apiVersion").is_some() && map.given("kind").is_some();
        let is_config = map.given("kind").is_some_and(|e| e.value.as_text() == Some("ConfigMap"));
        for entry in map.effective() {
            let skipped = match entry.key.as_str() {
                // `kubectl apply` keeps a copy in an annotation, and Argo CD the values it used.
                "metadata" | "status" | "operation" => is_object,
                // Argo CD does not look at the text if there is an object as well.
                "values" => map.given("valuesObject").is_some(),
                _ => false,
            };
            let data = entry.value.as_map().filter(|_| is_config && entry.key == "data");
            if let Some(data) = data {
                for file in data.effective() {
                    let named = POLICY_FILES.contains(&file.key.as_str());
                    self.scalar(&file.value, text, level, named);
                }
            } else if !skipped {
                self.visit(&entry.value, text, level);
            }
        }
    }

    /// Looks at a text; `named` if its name says that it is a policy.
    fn scalar(&mut self, value: &Value, text: &str, level: &Level, named: bool) {
        let Some(inner) = value.as_text() else { return };
        if level.depth() == NESTED_MAX || !(named || may_hold_policy(inner)) {
            return;
        }
        let Span { start, end, .. } = value.span;
        if !self.texts.insert(level.place(value.span, self.file).start) {
            return;
        }
        let level = level.deeper(Places::new(inner, text, start, end));
        let mut said = self.diagnostics.of_same_file();
        let Some(root) = yaml::parse(inner, &mut said) else {
            // Other texts may be anything: a script, a template.
            if named || claims_to_be_policy(inner) {
                self.diagnostics.absorb(said, |span| level.place(span, self.file));
            }
            return;
        };
        if header::is_policy(&root) || header::looks_like_policy(&root) {
            self.found.push(Found { what: What::Text { root, said }, level });
            return;
        }
        let before = self.found.len();
        let documents = yaml::parse_all(inner, &mut self.diagnostics.of_same_file());
        for document in documents.iter().flatten() {
            self.visit(document, inner, &level);
        }
        if named && self.found.len() == before {
            self.fallback.push(Found { what: What::Text { root, said }, level });
        }
    }
}

/// Whether it is worth while to read a text.
fn may_hold_policy(text: &str) -> bool {
    let words = ["descheduler/", "DeschedulerPolicy", "pluginConfig", "strategies", "descheduling"];
    words.iter().any(|word| text.contains(word)) || text.contains(chart::POLICY)
}

/// Whether a text has the header of a policy, though it cannot be read.
fn claims_to_be_policy(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start().trim_start_matches(['"', '{']);
        (line.starts_with("kind") && line.contains("DeschedulerPolicy"))
            || (line.starts_with("apiVersion") && line.contains("descheduler/v"))
    })
}
