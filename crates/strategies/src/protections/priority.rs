//! Pods that are too important.

use descheduler_cluster::{PodId, Snapshot};
use descheduler_engine::{Args, Check, Protection, Reason};

const SYSTEM_CRITICAL: &str = "SystemCritical";
const PRIORITY_THRESHOLD: &str = "PriorityThreshold";
const PRIORITY_CLASS_UNKNOWN: &str = "PriorityClassUnknown";

/// From this priority on a pod is critical for the system.
const CRITICAL: i32 = 2_000_000_000;

/// Pods of critical priority, and of any priority that reaches the threshold.
struct Priority {
    threshold: Threshold,
}

enum Threshold {
    Value(i32),
    /// The value of a PriorityClass, looked up in the snapshot.
    Class(String),
}

/// Reads `priorityThreshold`. Where critical pods may go, no priority protects, the threshold
/// included (docs/spec/strategies.md section 4.4, d and e).
pub(super) fn read(args: &mut Args<'_>, protect: bool) -> Option<Box<dyn Protection>> {
    let doc = "Pods of this priority and above are kept.";
    let threshold = args.object("priorityThreshold", doc, |args| {
        let value: Option<i32> = args.optional("value", "The priority; at most 2000000000.");
        let name: Option<String> = args.optional("name", "A PriorityClass that has the priority.");
        let name = name.filter(|name| !name.is_empty());
        if value.is_some() && name.is_some() {
            let message = "only one of `value` and `name` of `priorityThreshold` can be given";
            args.error_at("name", "value-and-name", message);
        }
        if value.is_some_and(|value| value > CRITICAL) {
            let message = format!("`priorityThreshold.value`: at most {CRITICAL}");
            args.error_at("value", "out-of-range", message);
        }
        match (value, name) {
            (Some(value), _) => Threshold::Value(value),
            (None, Some(name)) => Threshold::Class(name),
            (None, None) => Threshold::Value(CRITICAL),
        }
    });
    let threshold = threshold.unwrap_or(Threshold::Value(CRITICAL));
    protect.then(|| Box::new(Priority { threshold }) as Box<dyn Protection>)
}

impl Protection for Priority {
    fn name(&self) -> &'static str {
        "priority"
    }

    fn change(&self, held: &Reason) -> Option<&'static str> {
        Some(match held.code {
            PRIORITY_CLASS_UNKNOWN => {
                "a PriorityClass of that name, or another `priorityThreshold`"
            }
            // A threshold cannot be above what is critical.
            SYSTEM_CRITICAL => "`podProtections.defaultDisabled: [SystemCriticalPods]`",
            _ => {
                "a higher `priorityThreshold`, or `podProtections.defaultDisabled: \
                 [SystemCriticalPods]`"
            }
        })
    }

    fn bind<'s>(&'s self, snapshot: &'s Snapshot) -> Check<'s> {
        let threshold = match &self.threshold {
            Threshold::Value(value) => Ok(*value),
            Threshold::Class(name) => snapshot.priority_class(name).ok_or(name),
        };
        Box::new(move |_, pod: PodId| {
            let Some(priority) = snapshot.pod(pod).spec.priority else { return Ok(()) };
            if priority >= CRITICAL {
                let detail = format!("its priority {priority} is critical for the system");
                return Err(Reason::new(SYSTEM_CRITICAL, detail));
            }
            match threshold {
                Ok(threshold) if priority < threshold => Ok(()),
                Ok(threshold) => {
                    let detail =
                        format!("its priority {priority} reaches the threshold {threshold}");
                    Err(Reason::new(PRIORITY_THRESHOLD, detail))
                }
                // Any priority may be above a threshold that is not known.
                Err(name) => {
                    let detail = format!(
                        "PriorityClass `{name}` is not known, so pods with a priority are kept"
                    );
                    Err(Reason::new(PRIORITY_CLASS_UNKNOWN, detail))
                }
            }
        })
    }
}
