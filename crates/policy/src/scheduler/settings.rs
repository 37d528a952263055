//! Fields that do not change where pods go. kube-scheduler refuses them when they are not what
//! they should be, so they are looked at all the same.

use descheduler_cluster::GoDuration;
use descheduler_engine::Diagnostics;

use crate::fields::Fields;

/// Checks the types and names of everything around the profiles.
pub(super) fn check(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) {
    positive(fields, "parallelism", diagnostics);
    let (first, most) = ("podInitialBackoffSeconds", "podMaxBackoffSeconds");
    let least = positive(fields, first, diagnostics).unwrap_or(1);
    let longest = positive(fields, most, diagnostics).unwrap_or(10);
    if longest < least
        && let Some(entry) = fields.entry(most).or_else(|| fields.entry(first))
    {
        let message = format!("`{most}` is {longest}, less than `{first}`, which is {least}");
        diagnostics.error("out-of-range", entry.value.span, message);
    }
    for name in ["enableProfiling", "enableContentionProfiling", "delayCacheUntilActive"] {
        fields.value::<bool>(name, diagnostics);
    }
    if let Some((_, mut inner)) = fields.map("leaderElection", diagnostics) {
        inner.value::<bool>("leaderElect", diagnostics);
        for name in ["leaseDuration", "renewDeadline", "retryPeriod"] {
            inner.value::<GoDuration>(name, diagnostics);
        }
        for name in ["resourceLock", "resourceName", "resourceNamespace"] {
            inner.value::<String>(name, diagnostics);
        }
        inner.refuse_unknown(diagnostics);
    }
    if let Some((_, mut inner)) = fields.map("clientConnection", diagnostics) {
        for name in ["kubeconfig", "acceptContentTypes", "contentType"] {
            inner.value::<String>(name, diagnostics);
        }
        inner.value::<f64>("qps", diagnostics);
        inner.value::<i32>("burst", diagnostics);
        inner.refuse_unknown(diagnostics);
    }
}

fn positive(
    fields: &mut Fields<'_>,
    name: &'static str,
    diagnostics: &mut Diagnostics,
) -> Option<i64> {
    let number: Option<i64> = fields.value(name, diagnostics);
    if let (Some(number @ ..=0), Some(entry)) = (number, fields.entry(name)) {
        let message = format!("`{name}` is {number}, not above 0");
        diagnostics.error("out-of-range", entry.value.span, message);
    }
    number
}
