//! JSON whose objects keep the order of their keys.
//!
//! A library could do this too, but the setting that makes it do so would hold for every crate of
//! the workspace that is built along with this one.

use std::fmt::{self, Display, Formatter, Write};
use std::ops::{Index, IndexMut};

/// Any JSON but numbers with a fraction, of which there are none in what we write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(i64),
    Text(String),
    List(Vec<Json>),
    Object(Object),
}

const NULL: Json = Json::Null;

/// Keys and values in the order in which the keys came. The objects are small, so a key is found by
/// looking at each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object(Vec<(String, Json)>);

impl Object {
    /// Replaces the value of a key, or adds the key at the end.
    pub(crate) fn insert(&mut self, key: &str, value: impl ToJson) {
        *self.entry(key) = value.to_json();
    }

    /// Adds a key that is not there yet, at a place of its own.
    pub(crate) fn insert_at(&mut self, index: usize, key: &str, value: impl ToJson) {
        self.0.insert(index, (key.to_owned(), value.to_json()));
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(String, Json)> {
        self.0.iter()
    }

    fn entry(&mut self, key: &str) -> &mut Json {
        let found = self.0.iter().position(|(known, _)| known == key);
        let index = found.unwrap_or_else(|| {
            self.0.push((key.to_owned(), Json::Null));
            self.0.len() - 1
        });
        &mut self.0[index].1
    }
}

impl FromIterator<(String, Json)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(pairs: I) -> Self {
        let mut object = Self::default();
        for (key, value) in pairs {
            *object.entry(&key) = value;
        }
        object
    }
}

/// `null` for what is not there.
impl Index<&str> for Json {
    type Output = Self;

    fn index(&self, key: &str) -> &Self {
        match self {
            Self::Object(object) => object.get(key).unwrap_or(&NULL),
            _ => &NULL,
        }
    }
}

/// Adds the key when it is not there; what is no object becomes one.
impl IndexMut<&str> for Json {
    fn index_mut(&mut self, key: &str) -> &mut Self {
        if !matches!(self, Self::Object(_)) {
            *self = Self::Object(Object::default());
        }
        match self {
            Self::Object(object) => object.entry(key),
            _ => unreachable!("it was made an object"),
        }
    }
}

impl Index<&str> for Object {
    type Output = Json;

    fn index(&self, key: &str) -> &Json {
        self.get(key).unwrap_or(&NULL)
    }
}

/// One line, without spaces.
impl Display for Json {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Bool(value) => write!(out, "{value}"),
            Self::Number(value) => write!(out, "{value}"),
            Self::Text(text) => write_text(text, out),
            Self::List(items) => {
                out.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    write!(out, "{}{item}", if index == 0 { "" } else { "," })?;
                }
                out.write_char(']')
            }
            Self::Object(object) => {
                out.write_char('{')?;
                for (index, (key, value)) in object.iter().enumerate() {
                    out.write_str(if index == 0 { "" } else { "," })?;
                    write_text(key, out)?;
                    write!(out, ":{value}")?;
                }
                out.write_char('}')
            }
        }
    }
}

fn write_text(text: &str, out: &mut Formatter<'_>) -> fmt::Result {
    out.write_char('"')?;
    // From one character that needs an escape to the next.
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c < ' ' || c == '"' || c == '\\') {
        out.write_str(&rest[..at])?;
        match rest.as_bytes()[at] {
            b'"' => out.write_str("\\\"")?,
            b'\\' => out.write_str("\\\\")?,
            b'\n' => out.write_str("\\n")?,
            control => write!(out, "\\u{control:04x}")?,
        }
        rest = &rest[at + 1..];
    }
    out.write_str(rest)?;
    out.write_char('"')
}

/// What may stand as a value in [`json!`].
pub(crate) trait ToJson {
    fn to_json(&self) -> Json;
}

impl<T: ToJson + ?Sized> ToJson for &T {
    fn to_json(&self) -> Json {
        (**self).to_json()
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn to_json(&self) -> Json {
        self.as_ref().map_or(Json::Null, T::to_json)
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn to_json(&self) -> Json {
        Json::List(self.iter().map(T::to_json).collect())
    }
}

impl ToJson for Json {
    fn to_json(&self) -> Json {
        self.clone()
    }
}

impl ToJson for Object {
    fn to_json(&self) -> Json {
        Json::Object(self.clone())
    }
}

impl ToJson for str {
    fn to_json(&self) -> Json {
        Json::Text(self.to_owned())
    }
}

impl ToJson for String {
    fn to_json(&self) -> Json {
        self.as_str().to_json()
    }
}

impl ToJson for bool {
    fn to_json(&self) -> Json {
        Json::Bool(*self)
    }
}

impl ToJson for i64 {
    fn to_json(&self) -> Json {
        Json::Number(*self)
    }
}

impl ToJson for i32 {
    fn to_json(&self) -> Json {
        Json::Number(i64::from(*self))
    }
}

impl ToJson for usize {
    fn to_json(&self) -> Json {
        Json::Number(i64::try_from(*self).unwrap_or(i64::MAX))
    }
}

/// JSON as it is written, with expressions as values: `json!({ "name": name, "tags": [] })`.
macro_rules! json {
    (@object $object:ident) => {};
    (@object $object:ident $key:literal : null $(, $($rest:tt)*)?) => {
        $object.insert($key, $crate::json::Json::Null);
        $($crate::json::json!(@object $object $($rest)*);)?
    };
    (@object $object:ident $key:literal : [ $($value:tt)* ] $(, $($rest:tt)*)?) => {
        $object.insert($key, $crate::json::json!([ $($value)* ]));
        $($crate::json::json!(@object $object $($rest)*);)?
    };
    (@object $object:ident $key:literal : { $($value:tt)* } $(, $($rest:tt)*)?) => {
        $object.insert($key, $crate::json::json!({ $($value)* }));
        $($crate::json::json!(@object $object $($rest)*);)?
    };
    (@object $object:ident $key:literal : $value:expr $(, $($rest:tt)*)?) => {
        $object.insert($key, &$value);
        $($crate::json::json!(@object $object $($rest)*);)?
    };
    (@list [$($done:expr,)*]) => { $crate::json::Json::List(vec![$($done,)*]) };
    (@list [$($done:expr,)*] { $($value:tt)* } $(, $($rest:tt)*)?) => {
        $crate::json::json!(@list [$($done,)* $crate::json::json!({ $($value)* }),] $($($rest)*)?)
    };
    (@list [$($done:expr,)*] $value:expr $(, $($rest:tt)*)?) => {
        $crate::json::json!(
            @list [$($done,)* $crate::json::ToJson::to_json(&$value),] $($($rest)*)?
        )
    };
    ({}) => { $crate::json::Json::Object($crate::json::Object::default()) };
    ({ $($inner:tt)* }) => {{
        let mut object = $crate::json::Object::default();
        $crate::json::json!(@object object $($inner)*);
        $crate::json::Json::Object(object)
    }};
    ([ $($inner:tt)* ]) => { $crate::json::json!(@list [] $($inner)*) };
    ($value:expr) => { $crate::json::ToJson::to_json(&$value) };
}

pub(crate) use json;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_written_as_it_stands() {
        let name = String::from("a \"b\"\n\\\u{1}\u{e9}");
        let mut value =
            json!({ "z": 1 + 1, "a": [{ "x": null }, name, json!([])], "m": {}, "t": true });
        value["late"] = Some("x").to_json();
        value["z"] = 3_usize.to_json();
        let text = r#"{"z":3,"a":[{"x":null},"a \"b\"\n\\\u0001é",[]],"m":{},"t":true,"late":"x"}"#;
        assert_eq!(value.to_string(), text);
        let parsed: serde_json::Value = serde_json::from_str(text).expect("it is JSON");
        assert_eq!(parsed["a"][1], name.as_str());
    }

    #[test]
    fn what_is_not_there_is_null() {
        assert_eq!(json!({ "a": 1 })["b"]["c"], Json::Null);
    }
}
