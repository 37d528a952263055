//! The pods that a template would make, as admission would let them in
//! (docs/spec/scheduler.md section 11.2).

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::anomaly::Flaws;
use super::pools::Pools;
use super::spec::{Defaults, complain_of_requests, pod_spec};
use crate::intern::Sym;
use crate::requests;
use crate::spec::PodSpec;
use crate::taints::{Effect, Toleration, TolerationOperator};
use crate::wire;
use crate::workloads::Template;

/// Taints that every pod tolerates for five minutes, unless it says something else.
const TOLERATED: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// The template that stands at `field`; `None` if it is flawed, which `flaws` then says. What
/// needs other objects comes later: [`Classes::apply`].
pub(super) fn template(
    pools: &mut Pools,
    template: wire::Template<'_>,
    field: &str,
    flaws: &mut Flaws,
) -> Option<Template> {
    let metadata = template.metadata.unwrap_or_default();
    let mut spec = template.spec.unwrap_or_default();
    let mut mine = Flaws::default();
    complain_of_requests(&spec, &mut mine);
    requests::admit(&mut spec);
    let asked = requests::requests(&spec);
    let (scored, _) = requests::scored(&spec, &asked);
    let asked = pools.round(&asked);
    let mut shared = pod_spec(pools, &spec, Defaults::Missing, &mut mine);
    tolerate(pools, &mut shared);
    let volumes = || spec.volumes.iter().flatten();
    let mut claims = Vec::new();
    for volume in volumes() {
        if let Some(source) = &volume.persistent_volume_claim {
            claims.push((pools.sym_of(&volume.name), pools.sym_of(&source.claim_name)));
        }
    }
    let ephemeral = volumes().filter(|volume| volume.ephemeral.is_some());
    let made = Template {
        labels: pools.pairs(metadata.labels.as_ref()),
        requests: pools.share_requests(asked),
        scored,
        claims: claims.into_boxed_slice(),
        ephemeral_volumes: ephemeral.map(|volume| pools.sym_of(&volume.name)).collect(),
        spec: pools.share_spec(shared),
    };
    let whole = mine.is_empty();
    for (path, problem) in mine.iter() {
        flaws.push(format!("{field}.{path}"), problem);
    }
    whole.then_some(made)
}

/// Adds the tolerations that admission adds.
fn tolerate(pools: &mut Pools, spec: &mut PodSpec) {
    let mut tolerations = std::mem::take(&mut spec.tolerations).into_vec();
    for taint in TOLERATED {
        let key = pools.sym(taint);
        let known = tolerations.iter().any(|one| {
            (one.key == key || one.key == Sym::EMPTY)
                && one.effect.is_none_or(|effect| effect == Effect::NoExecute)
        });
        if !known {
            tolerations.push(Toleration {
                key,
                value: Sym::EMPTY,
                effect: Some(Effect::NoExecute),
                operator: TolerationOperator::Exists,
            });
        }
    }
    spec.tolerations = tolerations.into_boxed_slice();
}

/// What a PriorityClass makes of the pods that name it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    pub(super) name: Sym,
    pub(super) value: i32,
    /// `globalDefault`.
    pub(super) default: bool,
    /// `preemptionPolicy` is `Never`.
    pub(super) never_preempts: bool,
}

/// The PriorityClasses, with those that every cluster has.
pub(super) struct Classes {
    by_name: HashMap<Sym, Class, FxBuildHasher>,
    default: Option<Class>,
}

impl Classes {
    /// Of several that are to be the default, the one of the least value is.
    pub(super) fn new(classes: impl Iterator<Item = Class>, pools: &mut Pools) -> Self {
        let built_in =
            [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)]
                .map(|(name, value)| Class {
                    name: pools.sym(name),
                    value,
                    default: false,
                    never_preempts: false,
                });
        let mut by_name = HashMap::default();
        let mut default: Option<Class> = None;
        for class in built_in.into_iter().chain(classes) {
            by_name.insert(class.name, class);
            if class.default && default.is_none_or(|known| class.value < known.value) {
                default = Some(class);
            }
        }
        Self { by_name, default }
    }

    /// Sets the priority of the pods that `template` makes. One of a class that is not known has
    /// none.
    pub(super) fn apply(&self, template: &mut Template, pools: &mut Pools) {
        let named = template.spec.priority_class;
        let class = match named {
            Sym::EMPTY => self.default,
            named => self.by_name.get(&named).copied(),
        };
        if class.is_none() && named != Sym::EMPTY {
            return;
        }
        let mut spec = PodSpec::clone(&template.spec);
        spec.priority = Some(class.map_or(0, |class| class.value));
        spec.priority_class = class.map_or(Sym::EMPTY, |class| class.name);
        spec.never_preempts |= class.is_some_and(|class| class.never_preempts);
        template.spec = pools.share_spec(spec);
    }
}
