//! Which fields are kept, and what stands in them. By name alone: where a name occurs twice in the
//! API it means the same.

use serde_json::{Map, Value};

use super::{What, is_short_number};

/// How the strings in a field are taken. Numbers and truth values are always kept, and objects and
/// lists are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treat {
    /// Names and values that somebody chose.
    Text,
    /// The key of a label, an annotation, a taint or a field.
    Key,
    /// An object whose keys are those of labels and whose values are theirs.
    Labels,
    /// The annotations that mean something, each as it says.
    Annotations,
    /// An object whose keys are names of resources, with amounts; or a single amount.
    Amounts,
    /// A number in a string: amounts, moments, percentages, versions of resources.
    Number,
    /// One of a few words that the API knows.
    Word,
    /// The kind of an owner, or something like it.
    Kind,
    /// `apps/v1` and the like.
    ApiVersion,
    /// Plugins that are built into Kubernetes, by name, with commas in between.
    Plugins,
    /// What objects are referred to by.
    Uid,
    /// A selector of labels: as an object, or as plain labels.
    Selector,
    /// Only whether it is there, or how many there are.
    Presence,
}

/// Every field that is read (`wire/`), and nothing else.
const FIELDS: [(Treat, &str); 12] = [
    (
        Treat::Text,
        "attacher claimName driver extendedResourceName hostIP id image \
         iqn name names namespace namespaces nodeName nominatedNodeName persistentVolumeName \
         pool priorityClassName provisioner monitors reference resourceClaimName schedulerName \
         storageClassName volumeAttributesClassName volumeHandle volumeName value values \
         currentRevision updateRevision pdName volumeID diskURI",
    ),
    (Treat::Key, "key topologyKey matchLabelKeys mismatchLabelKeys"),
    (Treat::Labels, "labels matchLabels nodeSelector"),
    (Treat::Annotations, "annotations"),
    (
        Treat::Amounts,
        "allocatable allocatedResources capacity limits maximumVolumeSize overhead requests usage",
    ),
    (
        Treat::Number,
        "creationTimestamp lastHeartbeatTime lastTransitionTime maxUnavailable minAvailable \
         resourceVersion startTime timestamp",
    ),
    (
        Treat::Word,
        "accessModes action declaredFeatures effect nodeAffinityPolicy nodeTaintsPolicy operator \
         phase podReplacementPolicy preemptionPolicy protocol qosClass reason restartPolicy \
         status type unhealthyPodEvictionPolicy volumeBindingMode volumeMode whenUnsatisfiable",
    ),
    (Treat::Kind, "kind"),
    (Treat::ApiVersion, "apiVersion"),
    (Treat::Uid, "uid"),
    (Treat::Selector, "selector"),
    (
        Treat::Presence,
        "bindMountOptions bindingConditions deletionTimestamp emptyDir ephemeral hostPath \
         podFailurePolicy schedulingGates",
    ),
];

/// Fields that hold others, or numbers and truth values alone.
const INNER: &str = "affinity allocation allowedTopologies awsElasticBlockStore azureDisk cinder \
    claimRef completions conditions containerPort containerStatuses containers controller count csi currentHealthy data \
    desiredHealthy devices disruptionsAllowed drivers ephemeralContainerStatuses exitCode \
    gcePersistentDisk generation globalDefault hostNetwork hostPort hostUsers images \
    initContainerStatuses initContainers iscsi items labelSelector matchExpressions matchFields \
    matchLabelExpressions maxSkew metadata minDomains namespaceSelector nodeAffinity \
    nodeSelectorTerms nodeTopology observedGeneration ordinals ownerReferences parallelism \
    partition paused persistentVolumeClaim podAffinity podAffinityTerm podAntiAffinity ports \
    portworxVolume preference preferredDuringSchedulingIgnoredDuringExecution \
    preventPodSchedulingIfMissing priority rbd readOnly replicas required \
    requiredDuringSchedulingIgnoredDuringExecution reservedFor resourceClaims resources \
    restartCount restartPolicyRules results revision rollingUpdate sizeBytes source spec start \
    state storageCapacity succeeded suspend taints template terminated tolerations \
    topologySpreadConstraints unschedulable updateStrategy volumeClaimTemplates volumeMounts \
    volumes waiting weight";

/// Annotations that mean something, and what stands in them.
const ANNOTATIONS: [(&str, Treat); 11] = [
    ("descheduler.alpha.kubernetes.io/evict", Treat::Text),
    ("descheduler.alpha.kubernetes.io/prefer-no-eviction", Treat::Presence),
    ("karpenter.sh/do-not-disrupt", Treat::Text),
    ("cluster-autoscaler.kubernetes.io/safe-to-evict", Treat::Text),
    ("kubernetes.io/config.mirror", Treat::Presence),
    ("kubernetes.io/config.source", Treat::Text),
    ("pv.kubernetes.io/bind-completed", Treat::Presence),
    ("volume.beta.kubernetes.io/storage-class", Treat::Text),
    ("volume.kubernetes.io/selected-node", Treat::Text),
    ("storage.alpha.kubernetes.io/migrated-plugins", Treat::Plugins),
    ("deployment.kubernetes.io/revision", Treat::Number),
];

/// Values that Kubernetes gives a meaning to, or everybody has.
const PLAIN: [&str; 21] = [
    "true",
    "false",
    "api",
    "file",
    "http",
    "0.0.0.0",
    "::",
    "default-scheduler",
    "system-cluster-critical",
    "system-node-critical",
    "kubernetes.io/no-provisioner",
    "kubernetes.io/aws-ebs",
    "kubernetes.io/azure-disk",
    "kubernetes.io/cinder",
    "kubernetes.io/gce-pd",
    "kubernetes.io/portworx-volume",
    "cinder.csi.openstack.org",
    "disk.csi.azure.com",
    "ebs.csi.aws.com",
    "pd.csi.storage.gke.io",
    "pxd.portworx.com",
];

/// Where keys begin that Kubernetes and what surrounds it chose, and that some rule may look for.
const KEY_PREFIXES: [&str; 19] = [
    "app.kubernetes.io",
    "apps.kubernetes.io",
    "batch.kubernetes.io",
    "beta.kubernetes.io",
    "cluster-autoscaler.kubernetes.io",
    "descheduler.alpha.kubernetes.io",
    "failure-domain.beta.kubernetes.io",
    "karpenter.sh",
    "kubernetes.io",
    "node.kubernetes.io",
    "statefulset.kubernetes.io",
    "topology.cinder.csi.openstack.org",
    "topology.disk.csi.azure.com",
    "topology.ebs.csi.aws.com",
    "topology.gke.io",
    "topology.kubernetes.io",
    "amd.com",
    "intel.com",
    "nvidia.com",
];

/// Keys and resources without a prefix, and single ones with a prefix that others use too.
const KEYS: [&str; 11] = [
    "controller-revision-hash",
    "count",
    "cpu",
    "ephemeral-storage",
    "memory",
    "metadata.name",
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "pod-template-hash",
    "pods",
    "storage",
];

/// Resources of which only the beginning is fixed; what follows is a size or a name.
const RESOURCE_PREFIXES: [&str; 3] =
    ["attachable-volumes-", "deviceclass.resource.kubernetes.io/", "hugepages-"];

/// Kinds of owners, and of managed disks.
const KINDS: [&str; 13] = [
    "CronJob",
    "DaemonSet",
    "Dedicated",
    "Deployment",
    "Job",
    "Managed",
    "Node",
    "Pod",
    "PodGroup",
    "ReplicaSet",
    "ReplicationController",
    "Shared",
    "StatefulSet",
];

/// Goes through an object: drops what nobody reads and hands on every string that is not kept as it
/// is.
pub(super) fn walk(object: &mut Value, each: &mut dyn FnMut(What, &mut String)) {
    let Value::Object(fields) = object else { return };
    // The kind of the object itself is known, or it would not be here.
    let kind = fields.get("kind").cloned();
    named(fields, each);
    if let Some(kind) = kind {
        fields.insert("kind".to_owned(), kind);
    }
}

/// The fields of an object of the API.
fn named(fields: &mut Map<String, Value>, each: &mut dyn FnMut(What, &mut String)) {
    fields.retain(|name, _| treat_of(name).is_some());
    for (name, value) in fields {
        // Neither is missing: the others have just been dropped.
        if let Some(treat) = treat_of(name) {
            take(treat, value, each);
        }
    }
}

fn treat_of(name: &str) -> Option<Treat> {
    let holds = |names: &str| names.split(' ').any(|known| known == name);
    let treat = FIELDS.iter().find(|(_, names)| holds(names)).map(|(treat, _)| *treat);
    treat.or_else(|| holds(INNER).then_some(Treat::Text))
}

fn take(treat: Treat, value: &mut Value, each: &mut dyn FnMut(What, &mut String)) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => string(treat, text, each),
        Value::Array(items) => items.iter_mut().for_each(|item| take(treat, item, each)),
        Value::Object(fields) => match treat {
            Treat::Labels => keyed(fields, Treat::Text, each),
            Treat::Amounts => keyed(fields, Treat::Number, each),
            Treat::Annotations => {
                fields.retain(|name, _| annotation(name).is_some());
                for (name, value) in fields {
                    take(annotation(name).unwrap_or(Treat::Presence), value, each);
                }
            }
            Treat::Selector if fields.values().all(Value::is_string) => {
                keyed(fields, Treat::Text, each);
            }
            Treat::Presence => fields.clear(),
            _ => named(fields, each),
        },
    }
}

fn annotation(name: &str) -> Option<Treat> {
    ANNOTATIONS.iter().find(|(known, _)| *known == name).map(|(_, treat)| *treat)
}

/// An object of which the keys are chosen, too.
fn keyed(fields: &mut Map<String, Value>, treat: Treat, each: &mut dyn FnMut(What, &mut String)) {
    for (mut key, mut value) in std::mem::take(fields) {
        string(Treat::Key, &mut key, each);
        take(treat, &mut value, each);
        fields.insert(key, value);
    }
}

fn string(treat: Treat, text: &mut String, each: &mut dyn FnMut(What, &mut String)) {
    let is_kept = match treat {
        Treat::Text | Treat::Labels | Treat::Selector | Treat::Annotations => {
            is_short_number(text) || PLAIN.contains(&text.as_str())
        }
        Treat::Key => is_known_key(text),
        Treat::Number | Treat::Amounts => is_number(text),
        Treat::Word => text.bytes().all(|byte| byte.is_ascii_alphabetic()),
        Treat::Kind => KINDS.contains(&text.as_str()),
        Treat::ApiVersion => is_known_version(text),
        Treat::Plugins => text.split(',').all(|plugin| PLAIN.contains(&plugin)),
        Treat::Uid => return each(What::Uid, text),
        Treat::Presence => return text.clear(),
    };
    if is_kept {
        return;
    }
    let prefix = RESOURCE_PREFIXES.iter().find(|prefix| text.starts_with(**prefix));
    match prefix.filter(|_| treat == Treat::Key) {
        // A size is a number with a unit.
        Some(prefix) if is_number(&text[prefix.len()..]) => {}
        Some(prefix) => {
            let mut name = text.split_off(prefix.len());
            string(Treat::Text, &mut name, each);
            text.push_str(&name);
        }
        None => each(What::Words, text),
    }
}

fn is_known_key(key: &str) -> bool {
    let prefix = key.split_once('/').map(|(prefix, _)| prefix);
    KEYS.contains(&key) || prefix.is_some_and(|prefix| KEY_PREFIXES.contains(&prefix))
}

/// A number with a sign, a unit or a percent sign, or a moment.
fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-', '.']);
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit() || "+-.:T".contains(c));
    let is_unit = matches!(
        rest,
        "" | "Z"
            | "%"
            | "n"
            | "u"
            | "m"
            | "k"
            | "M"
            | "G"
            | "T"
            | "P"
            | "E"
            | "Ki"
            | "Mi"
            | "Gi"
            | "Ti"
            | "Pi"
            | "Ei"
            | "KB"
            | "MB"
            | "GB"
    );
    let is_power = rest.strip_prefix(['e', 'E']).is_some_and(|power| {
        let power = power.trim_start_matches(['+', '-']);
        !power.is_empty() && power.bytes().all(|byte| byte.is_ascii_digit())
    });
    rest.len() < digits.len() && (is_unit || is_power)
}

fn is_known_version(version: &str) -> bool {
    let group = version.split_once('/').map_or("", |(group, _)| group);
    matches!(group, "" | "apps" | "batch" | "policy") || group.ends_with(".k8s.io")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field that a rule begins to read has to be named here, or redacted captures lack it.
    #[test]
    fn every_field_that_is_read_is_kept() {
        let wire = [
            include_str!("../wire/devices.rs"),
            include_str!("../wire/meta.rs"),
            include_str!("../wire/metrics.rs"),
            include_str!("../wire/node.rs"),
            include_str!("../wire/other.rs"),
            include_str!("../wire/pod.rs"),
            include_str!("../wire/spec.rs"),
            include_str!("../wire/volumes.rs"),
            include_str!("../wire/workloads.rs"),
        ];
        let mut read = Vec::new();
        let mut renamed = false;
        for line in wire.iter().flat_map(|text| text.lines()) {
            for quoted in ["rename = \"", "alias = \""] {
                let names = line.split(quoted).skip(1).filter_map(|rest| rest.split('"').next());
                read.extend(names.map(str::to_owned));
            }
            if line.trim_start().starts_with("#[serde(") {
                renamed |= line.contains("rename = ");
            } else if let Some((name, _)) =
                line.trim_start().strip_prefix("pub(crate) ").and_then(|rest| rest.split_once(':'))
                && !std::mem::take(&mut renamed)
                && !name.contains([' ', '('])
            {
                read.push(camel(name.trim_start_matches("r#")));
            }
        }
        assert!(read.len() > 200, "the fields were not found: {read:?}");
        let lost: Vec<&String> = read
            .iter()
            .filter(|name| treat_of(name).is_none() && annotation(name).is_none())
            .collect();
        assert!(lost.is_empty(), "fields that are read and would be dropped: {lost:?}");
    }

    fn camel(name: &str) -> String {
        let mut parts = name.split('_');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |name, part| name + &part[..1].to_uppercase() + &part[1..])
    }

    #[test]
    fn numbers_are_told_from_words() {
        for number in ["1", "100m", "1.5Gi", "-3", "+1", ".5", "1e3", "12E2", "50%", "2Mi"] {
            assert!(is_number(number), "{number}");
        }
        assert!(is_number("2026-01-01T00:00:00Z"));
        for word in ["", "m", "lots", "1secret", "e3", "-", "Z"] {
            assert!(!is_number(word), "{word}");
        }
    }
}
