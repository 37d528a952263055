//! An object without what no plan looks at and that is most of its text.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Who set which field. As long as the object itself, often.
const MANAGED_FIELDS: &str = "managedFields";
/// The object once more, as `kubectl apply` was given it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The object on one line, with its kind first. What is no object stays as it is.
pub(super) fn trim(api_version: Option<&str>, kind: &str, json: &[u8]) -> Vec<u8> {
    let Ok(Fields(fields)) = serde_json::from_slice(json) else { return compact(json) };
    let mut out = Vec::with_capacity(json.len());
    let said =
        |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.get());
    let given = api_version.map(quote);
    let own = said("apiVersion").filter(|text| *text != "null");
    if let Some(version) = own.or(given.as_deref()) {
        field(&mut out, "apiVersion", version.as_bytes());
    }
    field(&mut out, "kind", quote(kind).as_bytes());
    for (name, value) in &fields {
        match &**name {
            "apiVersion" | "kind" => {}
            "metadata" => field(&mut out, name, &metadata(value.get().as_bytes())),
            name => field(&mut out, name, &compact(value.get().as_bytes())),
        }
    }
    out.push(b'}');
    out
}

fn metadata(json: &[u8]) -> Vec<u8> {
    without(json, MANAGED_FIELDS, |name, value| match name {
        "annotations" => without(value, LAST_APPLIED, |_, value| compact(value)),
        _ => compact(value),
    })
}

/// An object without one of its fields, the others as `each` has them.
fn without(json: &[u8], dropped: &str, each: impl Fn(&str, &[u8]) -> Vec<u8>) -> Vec<u8> {
    let Ok(Fields(fields)) = serde_json::from_slice(json) else { return compact(json) };
    let mut out = Vec::with_capacity(json.len());
    for (name, value) in fields.iter().filter(|(name, _)| name != dropped) {
        field(&mut out, name, &each(name, value.get().as_bytes()));
    }
    if out.is_empty() {
        out.push(b'{');
    }
    out.push(b'}');
    out
}

fn field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.push(if out.is_empty() { b'{' } else { b',' });
    out.extend_from_slice(quote(name).as_bytes());
    out.push(b':');
    out.extend_from_slice(value);
}

pub(super) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// JSON without the spaces between its parts.
pub(super) fn compact(json: &[u8]) -> Vec<u8> {
    let (mut is_text, mut is_escaped) = (false, false);
    let keep = |byte: &u8| {
        if !is_text {
            is_text = *byte == b'"';
            return !byte.is_ascii_whitespace();
        }
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_text = false,
            _ => {}
        }
        true
    };
    json.iter().copied().filter(keep).collect()
}

/// An object, with its fields in order and not looked into.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Objects;
        impl<'de> Visitor<'de> for Objects {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry::<Cow<'de, str>, &'de RawValue>()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(Objects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trimmed(json: &str) -> String {
        String::from_utf8(trim(Some("v1"), "Pod", json.as_bytes())).expect("text")
    }

    #[test]
    fn what_nobody_reads_is_dropped_and_the_rest_stays() {
        let pod = r#"{ "metadata": {"name": "a \" b", "managedFields": [{"x": 1}],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "k": "v"}},
            "spec": {"n": [1.50, true ]}}"#;
        assert_eq!(
            trimmed(pod),
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a \" b","annotations":{"k":"v"}},"spec":{"n":[1.50,true]}}"#
        );
        let only = r#"{"kind":"Pod","apiVersion":"v2","metadata":{"managedFields":[]}}"#;
        assert_eq!(trimmed(only), r#"{"apiVersion":"v2","kind":"Pod","metadata":{}}"#);
    }

    #[test]
    fn what_is_odd_stays_odd() {
        assert_eq!(trimmed("[ 1 ]"), "[1]");
        let odd = r#"{"apiVersion":"v1","kind":"Pod","metadata":"none"}"#;
        assert_eq!(trimmed(odd), odd);
    }
}
