//! What tests are written in: files of cases, and clusters in a few lines.
//!
//! ```text
//!  x.case: sections --> Case --> check --> compared with, or written to, the file
//!                        |
//!                        +-- Cluster: lines or YAML --> JSON --> Ingest --> Snapshot
//! ```
//!
//! [`case`] has the format of case files, [`fixture`] the language for clusters. For tests only.

pub mod case;
mod diff;
pub mod fixture;

pub use case::{Case, Failed, Format, Sections, run_cases};
pub use fixture::{Cluster, snapshot, yaml_documents};
