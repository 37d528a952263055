//! Captures: the objects that plans are made from, in one file that `--cluster` reads.
//!
//! The file is a `v1 List` in JSON or YAML. Its first item says how it came to be
//! ([`descheduler_cluster::capture`]) and stands on a line of its own, in JSON in either case, so
//! that it can be read before all the rest is.

mod collect;
mod layout;
mod target;
mod trim;

pub(crate) use collect::{Collector, Summary};
pub(crate) use layout::{Layout, Writer, header_of};
pub(crate) use target::Target;
