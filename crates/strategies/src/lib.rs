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
mod meter;
mod order;
mod protections;
mod reach;
mod scope;
mod spread;
mod upstream_fit;
mod utilization;

use descheduler_engine::{Registry, StrategyDef};

/// Declares the module of each strategy and lists their definitions.
macro_rules! strategies {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*
        /// Every strategy there is.
        pub const ALL: &[&StrategyDef] = &[$(&$module::DEF),*];
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
