//! All scenarios. The numbers are those of `README.md`; `u` stands for upstream's own.

mod deploy;
mod fixture;
mod plan;

use crate::scene::Scenario;

/// Every scenario under the name by which it is asked for.
pub(crate) const ALL: &[(&str, Scenario)] = &[
    ("00-plan-of-live-cluster-is-plan-of-dump", plan::live_is_dump),
    ("11-plan-without-rights", plan::without_rights),
    ("12-plan-while-api-server-restarts", plan::api_server_restarts),
    ("21-plan-writes-nothing", plan::writes_nothing),
    ("23-watch-list-off", plan::watch_list_off),
    ("26-helm-chart-renders", deploy::chart_renders),
    ("26-helm-chart-installs", deploy::chart_installs),
    ("26-manifests", deploy::manifests),
    ("24-plan-over-slow-api-server", plan::slow_api_server),
];
