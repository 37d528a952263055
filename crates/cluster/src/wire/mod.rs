//! The objects as the API server writes them, as far as anything here reads them.
//!
//! Borrowed from the bytes; keys that no struct names are skipped by the parser. Everything is
//! optional, since the API takes `null` and absent for the same.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use crate::quantity::{Format, Quantity, QuantityError};

mod devices;
mod meta;
mod metrics;
mod node;
mod other;
mod pod;
mod spec;
mod volumes;
mod workloads;

pub(crate) use devices::{DeviceClass, ResourceClaim, ResourceSlice};
pub(crate) use meta::{Expression, Header, LabelSelector, Metadata, OwnerReference, key_of_object};
pub(crate) use metrics::{NodeMetrics, PodMetrics};
pub(crate) use node::{Image, Node};
pub(crate) use other::{
    Budget, BudgetSpec, BudgetStatus, IntOrPercent, Namespace, PriorityClass, Service,
};
pub(crate) use pod::{Condition, ContainerState, ContainerStatus, Pod, PodStatus};
pub(crate) use spec::{
    Container, Disk, Mount, NodeSelector, NodeSelectorTerm, PodAffinity, PodAffinityTerm, PodSpec,
    Port, PreferredTerm, Rare, Resources, Template, Toleration, Volume, WeightedPodTerm,
};
pub(crate) use volumes::{
    Claim, CsiDriver, CsiNode, CsiStorageCapacity, PersistentVolume, StorageClass,
    VolumeAttachment, VolumeSpec,
};
pub(crate) use workloads::{Revision, Workload, WorkloadSpec, WorkloadStatus};

/// A string that borrows from the JSON unless it holds escapes. (`Cow` alone copies when it
/// stands inside an `Option` or a list.)
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// The text, or nothing when it is absent: the API does not tell the two apart.
pub(crate) fn text<'t>(text: &'t Option<Text<'_>>) -> &'t str {
    text.as_deref().unwrap_or("")
}

/// Whether an object is of an API group; one that does not say is.
pub(crate) fn is_of_group(api_version: &Option<Text<'_>>, group: &str) -> bool {
    let version = text(api_version);
    version.is_empty() || version.split_once('/').map_or("", |(group, _)| group) == group
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Strings;
        impl<'de> Visitor<'de> for Strings {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        from.deserialize_str(Strings)
    }
}

/// An integer. A float without a fraction passes, as it does with the API server's converters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Int(pub(crate) i64);

impl Int {
    /// As a 32-bit number, which is what the API holds; what does not fit saturates.
    pub(crate) fn narrow(self) -> i32 {
        i32::try_from(self.0).unwrap_or(if self.0 < 0 { i32::MIN } else { i32::MAX })
    }
}

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Ints;
        impl Visitor<'_> for Ints {
            type Value = Int;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer")
            }
            fn visit_i64<E>(self, number: i64) -> Result<Int, E> {
                Ok(Int(number))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Int, E> {
                i64::try_from(number)
                    .map(Int)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Int, E> {
                // Beyond 2^53 a float no longer says which integer was meant.
                if number.fract() == 0.0 && number.abs() < 9e15 {
                    Ok(Int(number as i64))
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(number), &self))
                }
            }
        }
        from.deserialize_any(Ints)
    }
}

/// A quantity, written as a string or as a bare number. One that cannot be read keeps its
/// complaint, so that the rest of the object is still known.
#[derive(Clone, Debug)]
pub(crate) struct Amount(pub(crate) Result<Quantity, Box<str>>);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Amounts;
        impl Visitor<'_> for Amounts {
            type Value = Amount;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity")
            }
            fn visit_str<E>(self, text: &str) -> Result<Amount, E> {
                Ok(Amount(
                    text.parse().map_err(|error: QuantityError| error.to_string().into_boxed_str()),
                ))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Amount, E> {
                Ok(Amount(Ok(Quantity::from_units(number, Format::DecimalSi))))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Amount, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Amount, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_unit<E>(self) -> Result<Amount, E> {
                Ok(Amount(Ok(Quantity::ZERO)))
            }
        }
        from.deserialize_any(Amounts)
    }
}

/// A JSON object with any keys, in the order written. Objects are read far more often than
/// asked, so they are no maps.
#[derive(Clone, Debug)]
pub(crate) struct Pairs<'a, V>(pub(crate) Vec<(Text<'a>, V)>);

impl<'de: 'a, 'a, V: Value<'de>> Deserialize<'de> for Pairs<'a, V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Objects<V>(PhantomData<V>);
        impl<'de, V: Value<'de>> Visitor<'de> for Objects<V> {
            type Value = Pairs<'de, V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(key) = map.next_key()? {
                    pairs.push((key, map.next_value::<V::Read>().map(V::settle)?));
                }
                Ok(Pairs(pairs))
            }
        }
        from.deserialize_map(Objects(PhantomData))
    }
}

/// What stands behind a key of [`Pairs`], `null` included.
pub(crate) trait Value<'de>: Sized {
    /// What is read.
    type Read: Deserialize<'de>;
    /// What is made of it.
    fn settle(read: Self::Read) -> Self;
}

impl<'de: 'a, 'a> Value<'de> for Text<'a> {
    type Read = Option<Text<'a>>;

    // Go decodes `null` into a string as the empty one.
    fn settle(read: Self::Read) -> Self {
        read.unwrap_or_default()
    }
}

impl<'de> Value<'de> for Amount {
    type Read = Amount;

    fn settle(read: Amount) -> Self {
        read
    }
}

/// Labels and the like.
pub(crate) type Strings<'a> = Pairs<'a, Text<'a>>;

/// A list of resources.
pub(crate) type Amounts<'a> = Pairs<'a, Amount>;
