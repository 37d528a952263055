//! All scenarios. The numbers group them; `u` stands for upstream's own (docs/spec/runtime.md
//! section 18).

mod deploy;
mod endpoint;
mod evict;
mod fixture;
mod plan;
mod prediction;
mod service;
mod steady;
mod upstream;

use crate::scene::Scenario;

/// Every scenario under the name by which it is asked for. Those that take longest come first, so
/// that none of them is the last to begin.
pub(crate) const ALL: &[(&str, Scenario)] = &[
    ("01-prediction", prediction::prediction),
    ("u04-priorities", upstream::priorities),
    ("u15-ended-jobs", upstream::ended_jobs),
    ("u20-topology-spread", upstream::spread),
    ("u14-duplicates", upstream::duplicates),
    ("u18-leaders", steady::leaders),
    ("u01-low-node-utilization", upstream::low_node_utilization),
    ("u02-namespaces", upstream::namespaces),
    ("u06-daemon-sets", upstream::daemon_sets),
    ("u08-selection", upstream::selection),
    ("u11-ends-by-itself", upstream::ends_by_itself),
    ("u13-restarts", upstream::restarts),
    ("u21-claims", upstream::claims),
    ("00-plan-of-live-cluster-is-plan-of-dump", plan::live_is_dump),
    ("02-budget-allows-one", evict::budget_allows_one),
    ("03-budget-tightened", evict::budget_tightened),
    ("04-throttled", evict::throttled),
    ("05-budget-not-processed", evict::budget_not_processed),
    ("06-api-server-killed", evict::api_server_killed),
    ("07-answer-lost", evict::answer_lost),
    ("10-leader-halted", steady::leader_halted),
    ("11-no-right-to-evict", evict::no_right_to_evict),
    ("11-plan-without-rights", plan::without_rights),
    ("12-plan-while-api-server-restarts", plan::api_server_restarts),
    ("12-watch-expires", steady::watch_expires),
    ("13-gone-or-replaced", evict::gone_or_replaced),
    ("15-hangs-in-termination", evict::hangs),
    ("16-told-to-stop", evict::told_to_stop),
    ("17-policy-changes", steady::policy_changes),
    ("19-certificate-replaced", endpoint::certificate_replaced),
    ("19-health", endpoint::health),
    ("21-dry-run", steady::dry_run),
    ("21-plan-writes-nothing", plan::writes_nothing),
    ("23-watch-list-off", plan::watch_list_off),
    ("24-plan-over-slow-api-server", plan::slow_api_server),
    ("26-helm-chart-installs", deploy::chart_installs),
    ("26-helm-chart-renders", deploy::chart_renders),
    ("26-manifests", deploy::manifests),
    ("27-settled", steady::settled),
];
