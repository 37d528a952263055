//! What objects of all kinds share.

use std::fmt;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Int, Strings, Text};

/// A list, before its items are looked at.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Header<'a> {
    #[serde(borrow)]
    pub(crate) items: Option<&'a RawValue>,
}

/// The `kind` of the object in `json`, wherever it stands, and whether a key `items` was seen
/// before it. What follows `kind` is not read. `Err` when the text is no JSON object.
pub(crate) fn key_of_object(json: &[u8]) -> Result<(Option<Text<'_>>, bool), serde_json::Error> {
    struct Kinds<'k, 'de> {
        kind: &'k mut Option<Text<'de>>,
        items: &'k mut bool,
    }
    impl<'de> Visitor<'de> for Kinds<'_, 'de> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<Text<'de>>()? {
                match &*key {
                    "kind" => {
                        *self.kind = map.next_value()?;
                        if self.kind.is_some() {
                            return Ok(());
                        }
                    }
                    key => {
                        *self.items |= key == "items";
                        map.next_value::<IgnoredAny>()?;
                    }
                }
            }
            Ok(())
        }
    }
    let (mut kind, mut items) = (None, false);
    let mut reader = serde_json::Deserializer::from_slice(json);
    let read = reader.deserialize_map(Kinds { kind: &mut kind, items: &mut items });
    // Leaving early makes the parser complain about the rest; the kind is known all the same.
    if kind.is_none() {
        read?;
    }
    Ok((kind, items))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Metadata<'a> {
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) namespace: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) uid: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) resource_version: Option<Text<'a>>,
    pub(crate) generation: Option<Int>,
    pub(crate) creation_timestamp: Option<Timestamp>,
    /// Only whether it is there: its value is never asked for.
    pub(crate) deletion_timestamp: Option<IgnoredAny>,
    #[serde(borrow)]
    pub(crate) labels: Option<Strings<'a>>,
    #[serde(borrow)]
    pub(crate) annotations: Option<Annotations<'a>>,
    #[serde(borrow)]
    pub(crate) owner_references: Option<Vec<OwnerReference<'a>>>,
}

/// The annotations that mean something here.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Annotations<'a> {
    #[serde(borrow, rename = "descheduler.alpha.kubernetes.io/evict")]
    pub(crate) evict: Option<Text<'a>>,
    #[serde(rename = "descheduler.alpha.kubernetes.io/prefer-no-eviction")]
    pub(crate) prefer_no_eviction: Option<IgnoredAny>,
    #[serde(borrow, rename = "karpenter.sh/do-not-disrupt")]
    pub(crate) do_not_disrupt: Option<Text<'a>>,
    #[serde(borrow, rename = "cluster-autoscaler.kubernetes.io/safe-to-evict")]
    pub(crate) safe_to_evict: Option<Text<'a>>,
    #[serde(rename = "kubernetes.io/config.mirror")]
    pub(crate) mirror: Option<IgnoredAny>,
    #[serde(borrow, rename = "kubernetes.io/config.source")]
    pub(crate) source: Option<Text<'a>>,
    #[serde(rename = "pv.kubernetes.io/bind-completed")]
    pub(crate) bind_completed: Option<IgnoredAny>,
    #[serde(borrow, rename = "volume.beta.kubernetes.io/storage-class")]
    pub(crate) storage_class: Option<Text<'a>>,
    #[serde(borrow, rename = "volume.kubernetes.io/selected-node")]
    pub(crate) selected_node: Option<Text<'a>>,
    #[serde(borrow, rename = "storage.alpha.kubernetes.io/migrated-plugins")]
    pub(crate) migrated_plugins: Option<Text<'a>>,
    #[serde(borrow, rename = "deployment.kubernetes.io/revision")]
    pub(crate) revision: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct OwnerReference<'a> {
    #[serde(borrow)]
    pub(crate) api_version: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) uid: Option<Text<'a>>,
    pub(crate) controller: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct LabelSelector<'a> {
    #[serde(borrow)]
    pub(crate) match_labels: Option<Strings<'a>>,
    #[serde(borrow)]
    pub(crate) match_expressions: Option<Vec<Expression<'a>>>,
}

#[derive(Clone, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Expression<'a> {
    #[serde(borrow)]
    pub(crate) key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) operator: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) values: Option<Vec<Text<'a>>>,
}
