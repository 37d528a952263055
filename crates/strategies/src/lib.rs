//! The strategies, one file each, and the protections, one concern each.
//!
//! A strategy's file begins with its manual page and holds everything about it: its definition,
//! its arguments with their checks, and its logic. Read [`pod_life_time`] first: it is the
//! smallest complete one. What several share is beside them: which pods a strategy looks at
//! (`scope`), in which order (`order`), what its containers are doing (`containers`), on which nodes
//! it could be (`reach`), whom it has anti-affinity to (`anti_affinity`), upstream's own fit check
//! (`upstream_fit`), how evenly it is spread (`spread`), how much is used
//! (`meter`) and how full nodes are (`utilization`).

mod age;
mod anti_affinity;
mod containers;
mod follow;
mod manual;
mod meter;
mod order;
mod owner_kinds;
mod protections;
mod reach;
mod scope;
mod spread;
mod upstream_fit;
mod utilization;
mod worked_on;

use descheduler_engine::{Args, Registry, StrategyDef};

pub use manual::{Example, Manual};

/// The manual of a plugin, with its files, as paths from `src/`.
macro_rules! manual {
    ($def:path, $pass:expr, $source:expr, $case:expr) => {
        Manual {
            name: $def.name,
            pass: $pass,
            summary: $def.summary,
            source: concat!("crates/strategies/src/", $source),
            code: include_str!($source),
            case: include_str!($case),
            describe: || Args::describe($def.build),
        }
    };
}

/// Declares the module of each strategy, and lists their definitions and their manuals.
macro_rules! strategies {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*
        /// Every strategy there is.
        pub const ALL: &[&StrategyDef] = &[$(&$module::DEF),*];
        /// What there is to read about each of them, and about the protections.
        pub static MANUALS: &[Manual] = &[
            $(manual!(
                $module::DEF,
                Some($module::DEF.pass),
                concat!(stringify!($module), ".rs"),
                concat!("../test_data/", stringify!($module), "/example.case")
            ),)*
            manual!(
                protections::DEF,
                None,
                "protections/mod.rs",
                "../test_data/protections/example.case"
            ),
        ];
    };
}

strategies! {
    high_node_utilization,
    low_node_utilization,
    pod_life_time,
    remove_duplicates,
    remove_failed_pods,
    remove_pods_having_too_many_restarts,
    remove_pods_violating_inter_pod_anti_affinity,
    remove_pods_violating_node_affinity,
    remove_pods_violating_node_taints,
    remove_pods_violating_topology_spread_constraint,
}

/// The plugins as a policy knows them.
pub const REGISTRY: Registry = Registry { strategies: ALL, evictor: &protections::DEF };
