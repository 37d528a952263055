//! How a strategy reads its arguments.
//!
//! One call per argument names it, documents it and reads it. The same `build` function so
//! serves three ends: it reads a policy ([`Args::read`]), it knows which keys are unknown, and,
//! run over nothing, it tells which arguments there are ([`Args::describe`]).
//!
//! ```
//! # use std::collections::BTreeMap;
//! # use descheduler_engine::{Args, ArgsSource, Diagnostics};
//! struct Young { seconds: u64, states: Vec<&'static str>, owners: Option<Vec<String>> }
//!
//! fn build(args: &mut Args<'_>) -> Young {
//!     let seconds = args.arg("minSeconds", "Keep pods younger than this.").or(3600_u64);
//!     let states = args.arg("states", "Only pods in one of these.").words(&["Running", "Failed"]);
//!     let owners = args.object("owners", "Whose pods.", |owners| {
//!         owners.list::<String>("kinds", "Kinds of owners.")
//!     });
//!     if seconds == 0 {
//!         args.error_at("minSeconds", "no-age", "`minSeconds`: 0 keeps no pod")
//!             .help("leave it out for an hour".to_owned());
//!     }
//!     Young { seconds, states, owners }
//! }
//!
//! let mut diagnostics = Diagnostics::new("policy.yaml");
//! let young = Args::read(ArgsSource::absent("Young"), &mut diagnostics, build);
//! assert_eq!((young.seconds, diagnostics.is_empty()), (3600, true));
//! assert_eq!(Args::describe(build)[0].name, "minSeconds");
//! ```
//!
//! All problems are collected, so a `build` asks for every argument before it gives up, and what
//! it returns counts only if no error was found. Rules: docs/spec/runtime.md section 3.2 and
//! docs/spec/strategies.md section 2.2; `null` is as good as absent, and the zero value in a list.

mod argument;
mod describe;
mod selector;

use std::collections::BTreeMap;

use descheduler_cluster::LabelSelector;

pub use argument::{Argument, Mismatch, Percent};
pub use describe::{ArgumentDoc, ArgumentType};

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::suggest::did_you_mean;
use crate::value::{Entry, Map, Node, Span, Value};

/// What is read: the arguments of one plugin as they stand in a file.
#[derive(Clone, Copy)]
pub struct ArgsSource<'a> {
    /// The plugin, for messages.
    pub plugin: &'a str,
    /// The value of `args`, if there is one.
    pub value: Option<&'a Value>,
    /// Where to point when there is nothing better: the key `args` or the plugin's name.
    pub fallback: Span,
}

impl<'a> ArgsSource<'a> {
    /// No arguments at all, at no place: for defaults.
    pub fn absent(plugin: &'a str) -> Self {
        Self { plugin, value: None, fallback: Span::default() }
    }
}

/// The arguments of one plugin, or of an object inside them, while they are read.
pub struct Args<'a> {
    owner: &'a str,
    /// What stands before a name in messages: `namespaces.` inside that object.
    prefix: String,
    map: Option<&'a Map>,
    fallback: Span,
    known: Vec<ArgumentDoc>,
    describing: bool,
    diagnostics: &'a mut Diagnostics,
}

/// A place inside the arguments. Where a step leads nowhere it stays where it was, so there is
/// always something to point at.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    value: Option<&'a Value>,
    span: Span,
}

impl<'a> Args<'a> {
    /// Reads arguments, with everything wrong with them going to `diagnostics`.
    pub fn read<T>(
        source: ArgsSource<'_>,
        diagnostics: &mut Diagnostics,
        build: impl FnOnce(&mut Args<'_>) -> T,
    ) -> T {
        let ArgsSource { plugin, value, fallback } = source;
        let value = value.filter(|value| !value.is_null());
        let mut discarded = Diagnostics::new("");
        let mut sink = diagnostics;
        let map = value.and_then(Value::as_map);
        if let Some(value) = value {
            for (earlier, later) in value.duplicates() {
                sink.error(
                    "duplicate-key",
                    later.key_span,
                    format!("`{}` is given twice; upstream takes the last", later.key),
                )
                .related(earlier.key_span, "first here");
            }
            if map.is_none() {
                let found = value.describe();
                sink.error(
                    "wrong-type",
                    value.span,
                    format!("`args` of `{plugin}`: expected a mapping of arguments, found {found}"),
                );
                // Complaints about what is missing would only repeat it.
                sink = &mut discarded;
            }
        }
        let mut args = Args {
            owner: plugin,
            prefix: String::new(),
            map,
            fallback,
            known: Vec::new(),
            describing: false,
            diagnostics: sink,
        };
        let built = build(&mut args);
        args.check_unknown();
        built
    }

    /// Which arguments `build` asks for, in that order.
    pub fn describe<T>(build: impl FnOnce(&mut Args<'_>) -> T) -> Vec<ArgumentDoc> {
        let mut discarded = Diagnostics::new("");
        let mut args = Args {
            owner: "",
            prefix: String::new(),
            map: None,
            fallback: Span::default(),
            known: Vec::new(),
            describing: true,
            diagnostics: &mut discarded,
        };
        build(&mut args);
        args.known
    }

    /// The plugin whose arguments these are.
    pub fn plugin(&self) -> &str {
        self.owner
    }

    /// Begins to read the argument of that name; `doc` is a sentence for the manual.
    pub fn arg(&mut self, name: &'static str, doc: &'static str) -> Arg<'_, 'a> {
        Arg { args: self, name, doc, required: false, deprecated: None }
    }

    /// A boolean, false unless given: `arg(..).or(false)`.
    pub fn flag(&mut self, name: &'static str, doc: &'static str) -> bool {
        self.arg(name, doc).or(false)
    }

    /// A value that may be absent: `arg(..).value()`.
    pub fn optional<T: Argument>(&mut self, name: &'static str, doc: &'static str) -> Option<T> {
        self.arg(name, doc).value()
    }

    /// A list, empty unless given: `arg(..).list()`.
    pub fn list<T: Argument>(&mut self, name: &'static str, doc: &'static str) -> Vec<T> {
        self.arg(name, doc).list()
    }

    /// Values under names that the user chooses: `arg(..).map()`.
    pub fn map<T: Argument>(
        &mut self,
        name: &'static str,
        doc: &'static str,
    ) -> BTreeMap<String, T> {
        self.arg(name, doc).map()
    }

    /// An object with arguments of its own: `arg(..).object(read)`.
    pub fn object<T>(
        &mut self,
        name: &'static str,
        doc: &'static str,
        read: impl FnOnce(&mut Args<'_>) -> T,
    ) -> Option<T> {
        self.arg(name, doc).object(read)
    }

    /// A list of objects: `arg(..).objects(read)`.
    pub fn objects<T>(
        &mut self,
        name: &'static str,
        doc: &'static str,
        read: impl FnMut(&mut Args<'_>) -> T,
    ) -> Vec<T> {
        self.arg(name, doc).objects(read)
    }

    /// A label selector of `matchLabels` and `matchExpressions`: `arg(..).label_selector()`.
    pub fn label_selector(
        &mut self,
        name: &'static str,
        doc: &'static str,
    ) -> Option<LabelSelector> {
        self.arg(name, doc).label_selector()
    }

    /// Whether the argument stands in the file with a value, be it an empty list or zero.
    pub fn given(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// These arguments as a whole.
    pub fn here(&self) -> Place<'a> {
        Place { value: None, span: self.fallback }
    }

    /// An argument. [`Place::item`] and [`Place::key`] go on from there.
    pub fn at(&self, name: &str) -> Place<'a> {
        match self.entry(name) {
            Some(entry) => Place::of(entry),
            None => self.here(),
        }
    }

    /// Reports an error at a place.
    pub fn error(
        &mut self,
        place: Place<'_>,
        code: &'static str,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.diagnostics.push(Severity::Error, code, place.span, message)
    }

    /// Reports an error at an argument, or at these arguments as a whole if it is absent.
    pub fn error_at(
        &mut self,
        name: &str,
        code: &'static str,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.error(self.at(name), code, message)
    }

    /// Reports a warning at a place.
    pub fn warning(
        &mut self,
        place: Place<'_>,
        code: &'static str,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.diagnostics.push(Severity::Warning, code, place.span, message)
    }

    /// Reports something good to know about a place.
    pub fn note(
        &mut self,
        place: Place<'_>,
        code: &'static str,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.diagnostics.push(Severity::Note, code, place.span, message)
    }

    fn entry(&self, name: &str) -> Option<&'a Entry> {
        self.map?.given(name)
    }

    fn mismatch(&mut self, path: &str, value: &Value, mismatch: Mismatch) {
        let Mismatch { code, expected, help } = mismatch;
        let message = format!("`{path}`: expected {expected}, found {}", value.describe());
        self.diagnostics.error(code, value.span, message).help(help);
    }

    fn nested<'n>(&'n mut self, path: &str, map: Option<&'n Map>, fallback: Span) -> Args<'n> {
        Args {
            owner: self.owner,
            prefix: format!("{path}."),
            map,
            fallback,
            known: Vec::new(),
            describing: self.describing,
            diagnostics: self.diagnostics,
        }
    }

    /// Every key that no call asked for is an error.
    fn check_unknown(&mut self) {
        let Some(map) = self.map else { return };
        let top = self.prefix.is_empty();
        for Entry { key, key_span, .. } in &map.entries {
            // Upstream decodes arguments as an API object, which may say what it is.
            let ignored = top && matches!(key.as_str(), "kind" | "apiVersion");
            if ignored || self.known.iter().any(|known| known.name == key) {
                continue;
            }
            let known = self.known.iter().map(|known| known.name);
            let help = did_you_mean(key, known.clone()).unwrap_or_else(|| {
                let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
                match known.is_empty() {
                    true => "there are no arguments here".to_owned(),
                    false => format!("known here: {}", known.join(", ")),
                }
            });
            let within = match self.prefix.strip_suffix('.') {
                None => String::new(),
                Some(path) => format!(" in `{path}`"),
            };
            let message = format!("unknown argument `{key}`{within} of `{}`", self.owner);
            self.diagnostics.error("unknown-argument", *key_span, message).help(help);
        }
    }
}

impl<'a> Place<'a> {
    /// A rule about a single value points at the value, one about a collection at its name.
    fn of(entry: &'a Entry) -> Self {
        let span = match entry.value.node {
            Node::Scalar(_) => entry.value.span,
            Node::List(_) | Node::Map(_) => entry.key_span,
        };
        Self { value: Some(&entry.value), span }
    }

    /// An item of the list here, counted from 0.
    pub fn item(self, index: usize) -> Self {
        match self.value.and_then(Value::as_list).and_then(|items| items.get(index)) {
            Some(item) => Self { value: Some(item), span: item.span },
            None => self,
        }
    }

    /// An entry of the mapping here.
    pub fn key(self, name: &str) -> Self {
        match self.value.and_then(Value::as_map).and_then(|map| map.get(name)) {
            Some(entry) => Self::of(entry),
            None => self,
        }
    }

    /// Where that is.
    pub fn span(self) -> Span {
        self.span
    }
}

/// One argument about to be read. Say what is special about it, then read it.
#[must_use = "an argument counts as known only once it is read"]
pub struct Arg<'s, 'a> {
    args: &'s mut Args<'a>,
    name: &'static str,
    doc: &'static str,
    required: bool,
    deprecated: Option<&'static str>,
}

impl<'a> Arg<'_, 'a> {
    /// It is an error to leave it out; an empty list or mapping is as good as none.
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Using it is warned about; `instead` says what to write, as in "use `states`".
    pub fn deprecated(mut self, instead: &'static str) -> Self {
        self.deprecated = Some(instead);
        self
    }

    /// The value, if given and right.
    pub fn value<T: Argument>(mut self) -> Option<T> {
        let entry = self.begin(T::argument_type(), None)?;
        let path = self.path();
        self.read_one(&path, &entry.value)
    }

    /// The value, or what it is when not given.
    pub fn or<T: Argument + ToString>(mut self, default: T) -> T {
        let entry = self.begin(T::argument_type(), Some(default.to_string()));
        let path = self.path();
        entry.and_then(|entry| self.read_one(&path, &entry.value)).unwrap_or(default)
    }

    /// A boolean, false unless given.
    pub fn flag(self) -> bool {
        self.or(false)
    }

    /// The items of a list, those left out that are wrong.
    pub fn list<T: Argument>(mut self) -> Vec<T> {
        let entry = self.begin(ArgumentType::List(Box::new(T::argument_type())), None);
        self.items(entry, |arg, path, item| arg.read_one(path, item))
    }

    /// A mapping with keys that the user chooses, those entries left out that are wrong.
    pub fn map<T: Argument>(mut self) -> BTreeMap<String, T> {
        let entry = self.begin(ArgumentType::Map(Box::new(T::argument_type())), None);
        let Some((entry, map)) = entry.and_then(|entry| self.as_map(entry)) else {
            return BTreeMap::new();
        };
        if map.entries.is_empty() {
            self.missing(entry.key_span);
        }
        let path = self.path();
        map.effective()
            .filter_map(|Entry { key, value, .. }| {
                Some((key.clone(), self.read_one(&format!("{path}.{key}"), value)?))
            })
            .collect()
    }

    /// One of these words, each with what it stands for. The empty string counts as absent, as
    /// it does upstream.
    pub fn choice<T: Clone>(mut self, choices: &[(&'static str, T)]) -> Option<T> {
        let entry = self.begin(ArgumentType::choice(choices), None)?;
        if entry.value.as_text() == Some("") {
            return None;
        }
        let path = self.path();
        self.choose(&path, &entry.value, choices)
    }

    /// A list of some of these words, each with what it stands for.
    pub fn choices<T: Clone>(mut self, choices: &[(&'static str, T)]) -> Vec<T> {
        let entry = self.begin(ArgumentType::List(Box::new(ArgumentType::choice(choices))), None);
        self.items(entry, |arg, path, item| arg.choose(path, item, choices))
    }

    /// A list of some of these words.
    pub fn words(self, words: &[&'static str]) -> Vec<&'static str> {
        let choices: Vec<(&'static str, &'static str)> = words.iter().map(|&w| (w, w)).collect();
        self.choices(&choices)
    }

    /// An object with arguments of its own.
    pub fn object<T>(mut self, read: impl FnOnce(&mut Args<'_>) -> T) -> Option<T> {
        let entry = self.begin(ArgumentType::Object, None);
        let path = self.path();
        if self.args.describing {
            let mut nested = self.args.nested(&path, None, Span::default());
            read(&mut nested);
            let children = nested.known;
            self.describe_children(children);
            return None;
        }
        let (entry, map) = entry.and_then(|entry| self.as_map(entry))?;
        let mut nested = self.args.nested(&path, Some(map), entry.key_span);
        let built = read(&mut nested);
        nested.check_unknown();
        Some(built)
    }

    /// A list of objects with arguments of their own.
    pub fn objects<T>(mut self, mut read: impl FnMut(&mut Args<'_>) -> T) -> Vec<T> {
        let entry = self.begin(ArgumentType::List(Box::new(ArgumentType::Object)), None);
        if self.args.describing {
            let path = format!("{}[]", self.path());
            let mut nested = self.args.nested(&path, None, Span::default());
            read(&mut nested);
            let children = nested.known;
            self.describe_children(children);
            return Vec::new();
        }
        self.items(entry, |arg, path, item| {
            let map = item.as_map();
            if map.is_none() && !item.is_null() {
                arg.args.mismatch(path, item, Mismatch::type_of("a mapping"));
                return None;
            }
            let mut nested = arg.args.nested(path, map, item.span);
            let built = read(&mut nested);
            nested.check_unknown();
            Some(built)
        })
    }

    /// A label selector of `matchLabels` and `matchExpressions`. An empty one matches everything;
    /// an absent one is `None` (docs/spec/strategies.md section 3.5).
    pub fn label_selector(mut self) -> Option<LabelSelector> {
        let entry = self.begin(ArgumentType::LabelSelector, None)?;
        let (entry, map) = self.as_map(entry)?;
        let path = self.path();
        let mut nested = self.args.nested(&path, Some(map), entry.key_span);
        let read = selector::read(&mut nested);
        nested.check_unknown();
        Some(read)
    }

    /// A selector string such as `a=b,c in (d,e)`; an empty one counts as absent.
    pub fn selector_string(mut self) -> Option<LabelSelector> {
        let entry = self.begin(ArgumentType::SelectorString, None)?;
        let path = self.path();
        let text: String = self.read_one(&path, &entry.value)?;
        match LabelSelector::parse(&text) {
            Ok(selector) => Some(selector).filter(|selector| !selector.is_empty()),
            Err(error) => {
                let message = format!("`{path}`: {error}");
                self.args.diagnostics.error("bad-selector", entry.value.span, message);
                None
            }
        }
    }

    fn path(&self) -> String {
        format!("{}{}", self.args.prefix, self.name)
    }

    /// Makes the argument known and finds it.
    fn begin(&mut self, kind: ArgumentType, default: Option<String>) -> Option<&'a Entry> {
        self.args.known.push(ArgumentDoc {
            name: self.name,
            doc: self.doc,
            kind,
            default,
            required: self.required,
            deprecated: self.deprecated,
            children: Vec::new(),
        });
        let Some(entry) = self.args.entry(self.name) else {
            self.missing(self.args.fallback);
            return None;
        };
        if let Some(instead) = self.deprecated {
            // Spelling out that an old switch is off changes nothing, so it is no reason to warn.
            let off = entry.value.is_off();
            let severity = if off { Severity::Note } else { Severity::Warning };
            let message = format!("`{}` is deprecated", self.path());
            self.args
                .diagnostics
                .push(severity, "deprecated-argument", entry.key_span, message)
                .help(instead.to_owned());
        }
        Some(entry)
    }

    fn missing(&mut self, span: Span) {
        if self.required {
            let message = format!("`{}` of `{}` must be given", self.path(), self.args.owner);
            self.args.diagnostics.error("missing-argument", span, message);
        }
    }

    fn describe_children(&mut self, children: Vec<ArgumentDoc>) {
        if let Some(last) = self.args.known.last_mut() {
            last.children = children;
        }
    }

    fn as_map(&mut self, entry: &'a Entry) -> Option<(&'a Entry, &'a Map)> {
        let map = entry.value.as_map();
        if map.is_none() {
            let path = self.path();
            self.args.mismatch(&path, &entry.value, Mismatch::type_of("a mapping"));
        }
        Some((entry, map?))
    }

    fn items<T>(
        &mut self,
        entry: Option<&'a Entry>,
        mut read: impl FnMut(&mut Self, &str, &'a Value) -> Option<T>,
    ) -> Vec<T> {
        let Some(entry) = entry else { return Vec::new() };
        let path = self.path();
        let Some(items) = entry.value.as_list() else {
            self.args.mismatch(&path, &entry.value, Mismatch::list(&entry.value));
            return Vec::new();
        };
        if items.is_empty() {
            self.missing(entry.key_span);
        }
        let each = items.iter().enumerate();
        each.filter_map(|(at, item)| read(self, &format!("{path}[{at}]"), item)).collect()
    }

    fn read_one<T: Argument>(&mut self, path: &str, value: &Value) -> Option<T> {
        if value.is_null() {
            return Some(T::default());
        }
        T::from_value(value).map_err(|mismatch| self.args.mismatch(path, value, mismatch)).ok()
    }

    fn choose<T: Clone>(
        &mut self,
        path: &str,
        value: &Value,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        let text: String = self.read_one(path, value)?;
        let chosen = choices.iter().find(|(word, _)| *word == text);
        if chosen.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            self.args.mismatch(path, value, Mismatch::choice(&text, &words));
        }
        chosen.map(|(_, meaning)| meaning.clone())
    }
}
