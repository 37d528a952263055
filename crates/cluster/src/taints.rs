//! Taints of nodes and the tolerations of pods (docs/spec/strategies.md section 3.7).

use crate::intern::{Interner, Sym};

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// New pods are kept away.
    NoSchedule,
    /// New pods are kept away where another node serves as well.
    PreferNoSchedule,
    /// New pods are kept away and running ones evicted by the node lifecycle controller.
    NoExecute,
}

impl Effect {
    /// Whether the scheduler refuses a node for it.
    pub fn is_hard(self) -> bool {
        matches!(self, Self::NoSchedule | Self::NoExecute)
    }

    /// As the API spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

/// One taint of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Taint {
    /// Its key.
    pub key: Sym,
    /// Its value, [`Sym::EMPTY`] when it has none.
    pub value: Sym,
    /// What it does.
    pub effect: Effect,
}

impl Taint {
    /// The taint as `key=value:Effect`, or `key:Effect` without a value.
    pub fn display(&self, strings: &Interner) -> String {
        let (key, value) = (strings.text(self.key), strings.text(self.value));
        let equals = if value.is_empty() { "" } else { "=" };
        format!("{key}{equals}{value}:{}", self.effect.as_str())
    }
}

/// How a toleration compares values. `Unset` means what `Equal` means, but upstream does not
/// take the two for the same when it groups pods (docs/spec/strategies.md section 3.15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TolerationOperator {
    /// Not given: as `Equal`.
    Unset,
    /// Values are equal.
    Equal,
    /// Any value.
    Exists,
    /// The taint's value, an integer, is less than the toleration's.
    Lt,
    /// The taint's value, an integer, is greater than the toleration's.
    Gt,
    /// Anything else: tolerates nothing.
    Other,
}

/// One toleration of a pod. `tolerationSeconds` is not kept: nothing here waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Toleration {
    /// The taint key it is for; [`Sym::EMPTY`] for every key.
    pub key: Sym,
    /// The value it compares with.
    pub value: Sym,
    /// The effect it is for; `None` for every effect.
    pub effect: Option<Effect>,
    /// How it compares.
    pub operator: TolerationOperator,
}

impl Toleration {
    /// Whether this toleration tolerates `taint`.
    pub fn tolerates(&self, taint: &Taint, strings: &Interner) -> bool {
        if self.effect.is_some_and(|effect| effect != taint.effect)
            || (self.key != Sym::EMPTY && self.key != taint.key)
        {
            return false;
        }
        let numbers = || {
            let taint = canonical_integer(strings.text(taint.value))?;
            Some((taint, canonical_integer(strings.text(self.value))?))
        };
        match self.operator {
            TolerationOperator::Unset | TolerationOperator::Equal => self.value == taint.value,
            TolerationOperator::Exists => true,
            TolerationOperator::Lt => numbers().is_some_and(|(taint, mine)| taint < mine),
            TolerationOperator::Gt => numbers().is_some_and(|(taint, mine)| taint > mine),
            TolerationOperator::Other => false,
        }
    }
}

/// Whether `tolerations` tolerate `taint`.
pub fn tolerated(tolerations: &[Toleration], taint: &Taint, strings: &Interner) -> bool {
    tolerations.iter().any(|toleration| toleration.tolerates(taint, strings))
}

/// The first hard taint that is not tolerated.
pub fn untolerated_hard<'t>(
    taints: &'t [Taint],
    tolerations: &[Toleration],
    strings: &Interner,
) -> Option<&'t Taint> {
    taints
        .iter()
        .filter(|taint| taint.effect.is_hard())
        .find(|taint| !tolerated(tolerations, taint, strings))
}

/// Reads `0`, `7`, `-12`; not `+7`, `07`, `-0` or nothing at all.
fn canonical_integer(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators() {
        let mut strings = Interner::default();
        let mut toleration = |key: &str, operator, value: &str, effect| Toleration {
            key: strings.intern(key),
            value: strings.intern(value),
            effect,
            operator,
        };
        use Effect::{NoExecute, NoSchedule};
        use TolerationOperator::{Equal, Exists, Gt, Lt, Other, Unset};
        let table = [
            (toleration("k", Equal, "5", None), true),
            (toleration("k", Unset, "5", Some(NoSchedule)), true),
            (toleration("k", Equal, "5", Some(NoExecute)), false),
            (toleration("k", Equal, "6", None), false),
            (toleration("", Exists, "", None), true),
            (toleration("k", Exists, "", None), true),
            (toleration("j", Exists, "", None), false),
            (toleration("k", Lt, "6", None), true),
            (toleration("k", Lt, "5", None), false),
            (toleration("k", Gt, "4", None), true),
            (toleration("k", Gt, "+4", None), false),
            (toleration("k", Gt, "04", None), false),
            (toleration("k", Other, "5", None), false),
        ];
        let taint =
            Taint { key: strings.intern("k"), value: strings.intern("5"), effect: NoSchedule };
        for (at, (toleration, expected)) in table.iter().enumerate() {
            assert_eq!(toleration.tolerates(&taint, &strings), *expected, "row {at}");
        }
        assert_eq!(taint.display(&strings), "k=5:NoSchedule");
    }
}
