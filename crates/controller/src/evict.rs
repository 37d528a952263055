//! Asks the API server to evict a pod. No other file does.
//!
//! | the server says | which means |
//! |---|---|
//! | 2xx | evicted |
//! | 404 `NotFound` | gone |
//! | 409 about the UID | the name belongs to another pod now |
//! | any other 409 | somebody else changed something; nothing was done |
//! | 429 with the cause `DisruptionBudget` | the budget is spent, or with `Retry-After` not processed |
//! | 429 with the confirmation of a migration | it goes on in the background, where that is wanted |
//! | any other 429, often bare text | the server wants less of us |
//! | 500 for several budgets, any other 4xx | no |
//! | any other 5xx, no answer, a broken connection | may be an eviction |
//! | no connection to begin with | the request has not left us |

use descheduler_engine::{Answer, PodKey, Target};
use jiff::SignedDuration;
use serde::Serialize;

use crate::api::{Api, CallError, chain};

/// The cause of a 429 that comes from a disruption budget.
const BUDGET: &str = "DisruptionBudget";

/// What a webhook answers that has begun to move the pod by itself (docs/spec/runtime.md section
/// 8.1).
const IN_BACKGROUND: &str = "Eviction triggered evacuation";

/// What the API server says of a pod under more than one budget. It looks before it does anything,
/// so this 500 is a no.
const SEVERAL_BUDGETS: &str = "more than one PodDisruptionBudget";

/// Asks once. `by` is `profile/strategy`; `background`: whether 429 may mean that the eviction goes
/// on in the background.
pub(crate) async fn evict(api: &Api, target: &Target, by: &str, background: bool) -> Answer {
    let PodKey { namespace, name, .. } = &target.pod;
    let body = match serde_json::to_vec(&Eviction::of(target, by)) {
        Ok(body) => body,
        Err(error) => return Answer::Unreached(error.to_string()),
    };
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/eviction");
    match api.submit(&path, body).await {
        Ok(()) => Answer::Evicted,
        Err(error) => answer(&error, background),
    }
}

/// What an answer means that is not a yes.
fn answer(error: &CallError, background: bool) -> Answer {
    let CallError::Status { code, message, reason, causes, retry_after } = error else {
        let said = chain(error);
        return if error.is_unsent() { Answer::Unreached(said) } else { Answer::Unknown(said) };
    };
    let retry_after = retry_after
        .and_then(|delay| SignedDuration::try_from(delay).ok())
        .filter(|delay| delay.is_positive());
    match code {
        404 if reason == "NotFound" => Answer::Gone,
        409 if is_about_uid(message) => Answer::Replaced,
        409 => Answer::Conflict,
        429 if background && message.contains(IN_BACKGROUND) => Answer::InBackground,
        429 if causes.iter().any(|cause| cause == BUDGET) => {
            Answer::BlockedByBudget { retry_after }
        }
        429 => Answer::Throttled { retry_after },
        500 if message.contains(SEVERAL_BUDGETS) => Answer::Denied(chain(error)),
        // The server gave up waiting for the rest of our request, or for what it had begun.
        408 | 500.. => Answer::Unknown(chain(error)),
        _ => Answer::Denied(chain(error)),
    }
}

/// `the UID in the precondition (..) does not match the UID in record (..)`, and as older servers
/// have it `Precondition failed: UID in precondition: .., UID in object meta: ..`.
fn is_about_uid(message: &str) -> bool {
    message.contains("UID in the precondition") || message.contains("UID in precondition")
}

/// `policy/v1 Eviction`, as docs/spec/runtime.md section 7.3 has it and with the UID.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Eviction<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata<'a>,
    delete_options: DeleteOptions<'a>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    name: &'a str,
    namespace: &'a str,
    annotations: Annotations,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Annotations {
    reason: String,
    requested_by: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeleteOptions<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    grace_period_seconds: Option<i64>,
    preconditions: Preconditions<'a>,
}

#[derive(Serialize)]
struct Preconditions<'a> {
    uid: &'a str,
}

impl<'a> Eviction<'a> {
    fn of(target: &'a Target, by: &str) -> Self {
        let PodKey { namespace, name, uid } = &target.pod;
        let annotations = Annotations {
            reason: format!("triggered by {by}: {}", target.reason.detail),
            requested_by: "sigs.k8s.io/descheduler",
        };
        Self {
            api_version: "policy/v1",
            kind: "Eviction",
            metadata: Metadata { name, namespace, annotations },
            delete_options: DeleteOptions {
                grace_period_seconds: target.grace_period_seconds,
                preconditions: Preconditions { uid },
            },
        }
    }
}
