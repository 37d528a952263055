//! `spec` of a pod, or of the pods that a template would make.

use super::anomaly::Flaws;
use super::migration;
use super::pools::{Pools, complain_of_amounts};
use super::salvage::without_position;
use super::selectors::{
    node_selector, pod_terms, preferred_pod_terms, preferred_terms, selector_of,
};
use crate::intern::Sym;
use crate::spec::{Features, HostPort, InlineVolume, PodSpec, SpreadConstraint};
use crate::taints::{Effect, Toleration, TolerationOperator};
use crate::wire::{self, Text, text};

/// Whether what the API server adds to a pod stands in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Defaults {
    /// It is a pod as stored.
    There,
    /// It is the template of one.
    Missing,
}

/// What pods of one template have in common; what cannot be read is left out and named.
pub(super) fn pod_spec(
    pools: &mut Pools,
    spec: &wire::PodSpec<'_>,
    defaults: Defaults,
    flaws: &mut Flaws,
) -> PodSpec {
    let affinity = spec.affinity.as_ref();
    let nodes = affinity.and_then(|affinity| affinity.node_affinity.as_ref());
    let required_nodes =
        nodes.and_then(|nodes| nodes.required_during_scheduling_ignored_during_execution.as_ref());
    let preferred_nodes =
        nodes.and_then(|nodes| nodes.preferred_during_scheduling_ignored_during_execution.as_ref());
    let together = affinity.and_then(|affinity| affinity.pod_affinity.as_ref());
    let apart = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let volumes = || spec.volumes.iter().flatten();
    let (images, locality_images) = images(pools, spec);
    PodSpec {
        priority: spec.priority.map(wire::Int::narrow),
        priority_class: pools.sym_of(&spec.priority_class_name),
        node_selector: pools.pairs(spec.node_selector.as_ref()),
        required_nodes: required_nodes.map(|required| node_selector(pools, required)),
        preferred_nodes: preferred_terms(pools, preferred_nodes),
        affinity: required_terms(pools, together, TOGETHER, flaws),
        anti_affinity: required_terms(pools, apart, APART, flaws),
        preferred_pods: preferred_pods(pools, together, apart, flaws),
        spread: spread(pools, spec, flaws),
        tolerations: spec.tolerations.iter().flatten().map(|one| toleration(pools, one)).collect(),
        images,
        locality_images,
        image_volumes: volumes()
            .filter_map(|volume| volume.image.as_ref())
            .map(|source| image(pools, &source.reference))
            .collect(),
        host_ports: host_ports(pools, spec, defaults, flaws),
        inline_volumes: volumes().filter_map(|volume| inline_volume(pools, volume)).collect(),
        migrated_disks: volumes().filter_map(|one| migration::of_pod(pools, one)).collect(),
        scheduler_name: match text(&spec.scheduler_name) {
            "" => pools.sym("default-scheduler"),
            name => pools.sym(name),
        },
        features: features(spec, flaws),
        gated: spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty()),
        never_preempts: text(&spec.preemption_policy) == "Never",
        local_storage: volumes().any(|v| v.empty_dir.is_some() || v.host_path.is_some()),
        resource_claims: spec
            .resource_claims
            .iter()
            .flatten()
            .map(|claim| pools.name_of(&claim.resource_claim_name))
            .collect(),
    }
}

/// Names the requests and limits that cannot be read.
pub(super) fn complain_of_requests(spec: &wire::PodSpec<'_>, flaws: &mut Flaws) {
    for (container, path) in containers(spec) {
        complain_of_resources(container.resources.as_ref(), || path.to("resources"), flaws);
    }
    complain_of_resources(spec.resources.as_ref(), || "spec.resources".to_owned(), flaws);
    complain_of_amounts(spec.overhead.as_ref(), || "spec.overhead".to_owned(), flaws);
}

pub(super) fn complain_of_resources(
    resources: Option<&wire::Resources<'_>>,
    field: impl Fn() -> String,
    flaws: &mut Flaws,
) {
    let Some(wire::Resources { requests, limits }) = resources else { return };
    complain_of_amounts(requests.as_ref(), || format!("{}.requests", field()), flaws);
    complain_of_amounts(limits.as_ref(), || format!("{}.limits", field()), flaws);
}

/// Where a container stands in a spec.
#[derive(Clone, Copy)]
struct Path {
    list: &'static str,
    at: usize,
}

impl Path {
    fn to(self, field: &str) -> String {
        let Self { list, at } = self;
        format!("spec.{list}[{at}].{field}")
    }
}

/// All regular and init containers.
fn containers<'s, 'a>(
    spec: &'s wire::PodSpec<'a>,
) -> impl Iterator<Item = (&'s wire::Container<'a>, Path)> {
    let lists = [(&spec.containers, "containers"), (&spec.init_containers, "initContainers")];
    lists.into_iter().flat_map(|(containers, list)| {
        let containers = containers.iter().flatten().enumerate();
        containers.map(move |(at, container)| (container, Path { list, at }))
    })
}

const TOGETHER: &str = "spec.affinity.podAffinity";
const APART: &str = "spec.affinity.podAntiAffinity";

fn required_terms(
    pools: &mut Pools,
    affinity: Option<&wire::PodAffinity<'_>>,
    field: &str,
    flaws: &mut Flaws,
) -> Box<[crate::PodAffinityTerm]> {
    let terms = affinity
        .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    let Some(terms) = terms else { return Box::default() };
    let field = format!("{field}.requiredDuringSchedulingIgnoredDuringExecution");
    pod_terms(pools, terms, &field, flaws)
}

fn preferred_pods(
    pools: &mut Pools,
    together: Option<&wire::PodAffinity<'_>>,
    apart: Option<&wire::PodAffinity<'_>>,
    flaws: &mut Flaws,
) -> Box<[crate::PreferredPodTerm]> {
    let mut found = Vec::new();
    for (affinity, field, sign) in [(together, TOGETHER, 1), (apart, APART, -1)] {
        let terms = affinity.and_then(|affinity| {
            affinity.preferred_during_scheduling_ignored_during_execution.as_ref()
        });
        if let Some(terms) = terms {
            let field = format!("{field}.preferredDuringSchedulingIgnoredDuringExecution");
            preferred_pod_terms(pools, terms, sign, &field, flaws, &mut found);
        }
    }
    found.into_boxed_slice()
}

fn spread(
    pools: &mut Pools,
    spec: &wire::PodSpec<'_>,
    flaws: &mut Flaws,
) -> Box<[SpreadConstraint]> {
    let mut found = Vec::new();
    for (at, constraint) in spec.topology_spread_constraints.iter().flatten().enumerate() {
        let field = || format!("spec.topologySpreadConstraints[{at}].labelSelector");
        let Ok(selector) = selector_of(pools, constraint.label_selector.as_ref(), field, flaws)
        else {
            continue;
        };
        found.push(SpreadConstraint {
            topology_key: pools.sym_of(&constraint.topology_key),
            max_skew: constraint.max_skew.map_or(0, wire::Int::narrow),
            hard: text(&constraint.when_unsatisfiable) != "ScheduleAnyway",
            min_domains: constraint.min_domains.map(wire::Int::narrow),
            selector,
            match_label_keys: pools.syms(constraint.match_label_keys.as_ref()),
            honor_affinity: text(&constraint.node_affinity_policy) != "Ignore",
            honor_taints: text(&constraint.node_taints_policy) == "Honor",
        });
    }
    found.into_boxed_slice()
}

fn toleration(pools: &mut Pools, toleration: &wire::Toleration<'_>) -> Toleration {
    let operator = match text(&toleration.operator) {
        "" => TolerationOperator::Unset,
        "Equal" => TolerationOperator::Equal,
        "Exists" => TolerationOperator::Exists,
        "Lt" => TolerationOperator::Lt,
        "Gt" => TolerationOperator::Gt,
        _ => TolerationOperator::Other,
    };
    let effect = effect(text(&toleration.effect));
    Toleration {
        key: pools.sym_of(&toleration.key),
        value: pools.sym_of(&toleration.value),
        effect: effect.ok().flatten(),
        // An effect that no taint can have tolerates nothing.
        operator: if effect.is_ok() { operator } else { TolerationOperator::Other },
    }
}

/// An effect, or none; `Err` for a word that is neither.
pub(super) fn effect(text: &str) -> Result<Option<Effect>, ()> {
    match text {
        "" => Ok(None),
        "NoSchedule" => Ok(Some(Effect::NoSchedule)),
        "PreferNoSchedule" => Ok(Some(Effect::PreferNoSchedule)),
        "NoExecute" => Ok(Some(Effect::NoExecute)),
        _ => Err(()),
    }
}

/// The images of the regular containers as written, and those of init and regular containers as
/// nodes list them.
fn images(pools: &mut Pools, spec: &wire::PodSpec<'_>) -> (Box<[Sym]>, Box<[Sym]>) {
    let regular = || spec.containers.iter().flatten();
    let init =
        spec.init_containers.iter().flatten().map(|container| image(pools, &container.image));
    let mut listed: Vec<Sym> = init.collect();
    let mut written = Vec::with_capacity(regular().count());
    for container in regular() {
        let name = pools.sym_of(&container.image);
        written.push(name);
        // Nearly all have a tag, and looking up a name costs more than looking for one.
        let tagged = is_tagged(text(&container.image));
        listed.push(if tagged { name } else { image(pools, &container.image) });
    }
    (written.into_boxed_slice(), listed.into_boxed_slice())
}

/// The name under which a node lists an image: with a tag, unless there is a tag or a digest
/// already (docs/spec/scheduler.md section 7.4).
fn image(pools: &mut Pools, name: &Option<Text<'_>>) -> Sym {
    let name = text(name);
    if is_tagged(name) { pools.sym(name) } else { pools.sym(&format!("{name}:latest")) }
}

fn is_tagged(image: &str) -> bool {
    // `None` is less than any place.
    image.rfind(':') > image.rfind('/')
}

/// Ports of the node that the pod takes (section 3.5).
fn host_ports(
    pools: &mut Pools,
    spec: &wire::PodSpec<'_>,
    defaults: Defaults,
    flaws: &mut Flaws,
) -> Box<[HostPort]> {
    // The API server gives ports of the node to all ports of a pod on its network.
    let shared = spec.host_network == Some(true) && defaults == Defaults::Missing;
    let key = if shared { "Port" } else { "hostPort" };
    let mut found = Vec::new();
    for (container, path) in containers(spec) {
        let init = path.list == "initContainers";
        if init && text(&container.restart_policy) != "Always" {
            continue;
        }
        let ports: Vec<wire::Port<'_>> = rare(container.ports, key, || path.to("ports"), flaws);
        for port in &ports {
            let number = port.host_port.map_or(0, wire::Int::narrow);
            let number = match port.container_port {
                Some(inner) if number == 0 && shared => inner.narrow(),
                _ => number,
            };
            if number <= 0 {
                continue;
            }
            let mut or = |given: &Option<Text<'_>>, default: &str| match text(given) {
                "" => pools.sym(default),
                given => pools.sym(given),
            };
            found.push(HostPort {
                ip: or(&port.host_ip, "0.0.0.0"),
                protocol: or(&port.protocol, "TCP"),
                port: number,
            });
        }
    }
    found.into_boxed_slice()
}

/// The items of a list that may have `key`.
fn rare<'a, T: serde::Deserialize<'a>>(
    list: Option<wire::Rare<'a>>,
    key: &str,
    field: impl Fn() -> String,
    flaws: &mut Flaws,
) -> Vec<T> {
    let items = list.map(|list| list.items_with(key)).transpose();
    items.map(Option::unwrap_or_default).unwrap_or_else(|error| {
        flaws.push(field(), without_position(&error));
        Vec::new()
    })
}

fn inline_volume(pools: &mut Pools, volume: &wire::Volume<'_>) -> Option<InlineVolume> {
    let gce = volume.gce_persistent_disk.as_ref().map(|disk| InlineVolume::GcePersistentDisk {
        name: pools.sym_of(&disk.id),
        read_only: disk.read_only == Some(true),
    });
    let aws = volume
        .aws_elastic_block_store
        .as_ref()
        .map(|disk| InlineVolume::AwsElasticBlockStore { volume: pools.sym_of(&disk.id) });
    let iscsi = volume.iscsi.as_ref().map(|disk| InlineVolume::Iscsi {
        iqn: pools.sym_of(&disk.iqn),
        read_only: disk.read_only == Some(true),
    });
    let rbd = volume.rbd.as_ref().map(|disk| InlineVolume::Rbd {
        monitors: pools.syms(disk.monitors.as_ref()),
        pool: match text(&disk.pool) {
            "" => pools.sym("rbd"),
            pool => pools.sym(pool),
        },
        image: pools.sym_of(&disk.image),
        read_only: disk.read_only == Some(true),
    });
    // A volume has one source.
    gce.or(aws).or(iscsi).or(rbd)
}

fn features(spec: &wire::PodSpec<'_>, flaws: &mut Flaws) -> Features {
    let user_namespaces_host_network =
        spec.host_network == Some(true) && spec.host_users == Some(false);
    let mut features = Features { user_namespaces_host_network, ..Features::default() };
    for (container, path) in containers(spec) {
        let rules = container.restart_policy_rules.iter().flatten();
        features.restart_all_containers |=
            rules.into_iter().any(|rule| text(&rule.action) == "RestartAllContainers");
        let field = || path.to("volumeMounts");
        let mounts: Vec<wire::Mount> =
            rare(container.volume_mounts, "bindMountOptions", field, flaws);
        features.bind_mount_options |=
            mounts.iter().any(|mount| mount.bind_mount_options.is_some());
    }
    features
}
