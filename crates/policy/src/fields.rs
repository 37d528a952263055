//! Reading mappings other than the arguments of plugins. In a policy upstream ignores there what it
//! does not know (docs/spec/runtime.md section 3.2) and we point it out; in a configuration of the
//! scheduler it does not.

use descheduler_engine::{Argument, Diagnostics, Entry, Map, Mismatch, Value};

/// The fields of one mapping, and which of them were asked for.
pub(crate) struct Fields<'v> {
    map: &'v Map,
    /// What stands before a field in messages.
    prefix: String,
    known: Vec<&'static str>,
}

impl<'v> Fields<'v> {
    pub(crate) fn new(map: &'v Map, prefix: impl Into<String>) -> Self {
        Self { map, prefix: prefix.into(), known: Vec::new() }
    }

    /// A field as it stands there, null counting as absent.
    pub(crate) fn entry(&mut self, name: &'static str) -> Option<&'v Entry> {
        self.known.push(name);
        self.map.given(name)
    }

    pub(crate) fn value<T: Argument>(
        &mut self,
        name: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Option<T> {
        let value = &self.entry(name)?.value;
        read(&self.path(name), value, diagnostics)
    }

    pub(crate) fn map(
        &mut self,
        name: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Option<(&'v Entry, Fields<'v>)> {
        let entry = self.entry(name)?;
        let path = self.path(name);
        Some((entry, as_fields(&path, &entry.value, diagnostics)?))
    }

    pub(crate) fn list(
        &mut self,
        name: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Option<(&'v Entry, &'v [Value])> {
        let entry = self.entry(name)?;
        let Some(items) = entry.value.as_list() else {
            mismatch(&self.path(name), &entry.value, Mismatch::list(&entry.value), diagnostics);
            return None;
        };
        Some((entry, items))
    }

    /// A field's name for messages.
    pub(crate) fn path(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The fields that can stand here.
    pub(crate) fn known(&self) -> &[&'static str] {
        &self.known
    }

    /// The entries that nothing asked for.
    pub(crate) fn unknown(&self) -> Vec<&'v Entry> {
        self.map.effective().filter(|entry| !self.known.contains(&entry.key.as_str())).collect()
    }

    /// Warns of every entry that nothing asked for.
    pub(crate) fn warn_of_unknown(&self, diagnostics: &mut Diagnostics) {
        for entry in self.unknown() {
            warn_unknown(&self.path(&entry.key), entry, &self.known, diagnostics);
        }
    }

    /// Where upstream is strict: every entry that nothing asked for is an error.
    pub(crate) fn refuse_unknown(&self, diagnostics: &mut Diagnostics) {
        for entry in self.unknown() {
            let suggestion =
                descheduler_engine::did_you_mean(&entry.key, self.known.iter().copied());
            let message = format!("unknown field `{}`", self.path(&entry.key));
            diagnostics.error("unknown-field", entry.key_span, message).help(suggestion);
        }
    }
}

/// Warns of one entry, offering the known field that it is close to.
pub(crate) fn warn_unknown(
    path: &str,
    entry: &Entry,
    known: &[&str],
    diagnostics: &mut Diagnostics,
) {
    let suggestion = descheduler_engine::did_you_mean(&entry.key, known.iter().copied());
    diagnostics
        .warning("unknown-key", entry.key_span, format!("unknown key `{path}` is ignored"))
        .help(suggestion);
}

/// The fields of a value that should be a mapping; null is an empty one.
pub(crate) fn as_fields<'v>(
    path: &str,
    value: &'v Value,
    diagnostics: &mut Diagnostics,
) -> Option<Fields<'v>> {
    static EMPTY: Map = Map { entries: Vec::new() };
    match value.as_map() {
        Some(map) => Some(Fields::new(map, format!("{path}."))),
        None if value.is_null() => Some(Fields::new(&EMPTY, format!("{path}."))),
        None => {
            mismatch(path, value, Mismatch::type_of("a mapping"), diagnostics);
            None
        }
    }
}

/// One value of a type; null is its zero value.
pub(crate) fn read<T: Argument>(
    path: &str,
    value: &Value,
    diagnostics: &mut Diagnostics,
) -> Option<T> {
    if value.is_null() {
        return Some(T::default());
    }
    T::from_value(value).map_err(|wrong| mismatch(path, value, wrong, diagnostics)).ok()
}

pub(crate) fn mismatch(path: &str, value: &Value, wrong: Mismatch, diagnostics: &mut Diagnostics) {
    let Mismatch { code, expected, help } = wrong;
    let message = format!("`{path}`: expected {expected}, found {}", value.describe());
    diagnostics.error(code, value.span, message).help(help);
}
