//! Our own field: for how long a move that did not help is not tried again.

use descheduler_cluster::GoDuration;
use descheduler_engine::{Diagnostics, LoopBreaker};
use jiff::SignedDuration;

use crate::fields::Fields;

/// Where only one bound is given, the default of the other gives way.
pub(super) fn read(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> LoopBreaker {
    let default = LoopBreaker::default();
    let Some((_, mut inner)) = fields.map("loopBreaker", diagnostics) else { return default };
    let initial = bound(&mut inner, "initial", diagnostics);
    let max = bound(&mut inner, "max", diagnostics);
    inner.warn_of_unknown(diagnostics);
    if let (Some(initial), Some(max), Some(entry)) = (initial, max, inner.entry("max"))
        && max < initial
    {
        let (first, last) = (inner.path("initial"), inner.path("max"));
        let message = format!("`{last}` is shorter than `{first}`, which is the first cool-down");
        let help = "it doubles from `initial` up to `max`".to_owned();
        diagnostics.error("bad-cool-down", entry.value.span, message).help(help);
    }
    match (initial, max) {
        (None, None) => default,
        (Some(initial), None) => LoopBreaker { initial, max: default.max.max(initial) },
        (None, Some(max)) => LoopBreaker { initial: default.initial.min(max), max },
        (Some(initial), Some(max)) => LoopBreaker { initial, max },
    }
}

fn bound(
    fields: &mut Fields<'_>,
    name: &'static str,
    diagnostics: &mut Diagnostics,
) -> Option<SignedDuration> {
    let span: GoDuration = fields.value(name, diagnostics)?;
    if let Some(entry) = fields.entry(name).filter(|_| span < GoDuration::ZERO) {
        let message = format!("`{}`: a cool-down cannot be negative", fields.path(name));
        let help = "`0s` switches the loop breaker off".to_owned();
        diagnostics.error("bad-cool-down", entry.value.span, message).help(help);
    }
    Some(SignedDuration::from_nanos(span.as_nanos()))
}
