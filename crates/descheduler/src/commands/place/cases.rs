//! `place --cases`: many small clusters in one file, each with a pod to be placed, for comparing
//! the model with kube-scheduler itself.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use descheduler_cluster::ingest::Source;
use descheduler_cluster::{Anomaly, Ingest, PodId, Snapshot};
use descheduler_engine::{Diagnostics, Severity};
use descheduler_scheduler::{Model, PodRef, Profile, Scheduler};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::error::CliError;
use crate::output::place::write_case;
use crate::printer::Printer;

/// Answers each case with a line of JSON, in the order of the file. The first one that makes no
/// sense ends it.
pub(super) fn run(
    path: &Path,
    scheduler: &Scheduler,
    printer: &mut Printer,
) -> Result<(), CliError> {
    let mut bytes = Vec::new();
    let is_stdin = path == Path::new("-");
    let name = if is_stdin { "<stdin>".to_owned() } else { path.display().to_string() };
    match is_stdin {
        true => io::stdin().lock().read_to_end(&mut bytes).map(drop),
        false => fs::read(path).map(|read| bytes = read),
    }
    .with_context(|| format!("cannot read `{name}`"))
    .map_err(CliError::user)?;

    let mut configs = Configs { scheduler, known: HashMap::new() };
    let mut number = 0;
    each(&bytes, |case| {
        number += 1;
        let outcome = read(case).and_then(|case| answer(&case, &mut configs));
        let line = outcome.map_err(|error| CliError::user(error.context(title(case, number))))?;
        printer.data(|out| out.write_all(&line))
    })
    .map_err(|error| match error {
        Stop::Case(error) => error,
        Stop::Syntax(error) => {
            CliError::user(anyhow!(error).context(format!("`{name}`: case {}", number + 1)))
        }
    })
}

/// Why not all cases were answered.
enum Stop {
    Case(CliError),
    Syntax(serde_json::Error),
}

/// Calls `take` with each case: a line, or an item of an array.
fn each<'b>(
    bytes: &'b [u8],
    mut take: impl FnMut(&'b RawValue) -> Result<(), CliError>,
) -> Result<(), Stop> {
    for value in serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>() {
        let value = value.map_err(Stop::Syntax)?;
        if value.get().starts_with('[') {
            let items: Vec<&RawValue> = serde_json::from_str(value.get()).map_err(Stop::Syntax)?;
            items.into_iter().try_for_each(&mut take).map_err(Stop::Case)?;
        } else {
            take(value).map_err(Stop::Case)?;
        }
    }
    Ok(())
}

/// How messages call a case.
fn title(case: &RawValue, number: usize) -> String {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    match serde_json::from_str::<Named>(case.get()) {
        Ok(Named { id }) => format!("case `{id}`"),
        Err(_) => format!("case {number}"),
    }
}

/// A case as written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    pod: &'a RawValue,
    #[serde(borrow, default)]
    config: Option<&'a RawValue>,
    #[serde(borrow, default)]
    nodes: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    pods: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    nominated: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    namespaces: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    services: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    replica_sets: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    stateful_sets: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    replication_controllers: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    pvcs: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    pvs: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    storage_classes: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    csi_nodes: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    csi_drivers: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    csi_storage_capacities: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    volume_attachments: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    device_classes: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    resource_claims: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    resource_slices: Vec<&'a RawValue>,
    #[serde(default, rename = "title")]
    _title: IgnoredAny,
    #[serde(default, rename = "expect")]
    _expect: IgnoredAny,
    #[serde(default, rename = "note")]
    _note: IgnoredAny,
}

fn read(case: &RawValue) -> Result<Case<'_>> {
    serde_json::from_str(case.get()).context("it is not what a case should be")
}

/// The answer to one case, as a line.
fn answer(case: &Case<'_>, configs: &mut Configs<'_>) -> Result<Vec<u8>> {
    let profiles = configs.profiles(case.config)?;
    let snapshot = snapshot(case)?;
    let id = incoming(case, &snapshot)?;
    let version = configs.scheduler.version;
    let scheduler = Scheduler { version, profiles: profiles.to_vec() };
    let model = Model::new(&snapshot, &scheduler);
    let pod = PodRef::of(&snapshot, id);
    ensure!(!pod.spec.gated, "the pod has scheduling gates, so the scheduler leaves it alone");
    ensure!(!snapshot.pod(id).terminating, "the pod is terminating, so the scheduler drops it");
    let Some(profile) = model.profile_of(&pod) else {
        let name = snapshot.text(pod.spec.scheduler_name);
        bail!("no profile is called `{name}`, as the pod's `schedulerName` says");
    };
    let mut occupancy = model.occupancy();
    // The pod may ask for a node by name. It is not there yet.
    occupancy.remove(id);
    let placement = model.place(profile, &mut occupancy, &pod, true);
    let mut line = Vec::new();
    write_case(&snapshot, &case.id, &placement, &mut line)?;
    Ok(line)
}

/// The cluster of a case, with the pod to be placed in it.
fn snapshot(case: &Case<'_>) -> Result<Snapshot> {
    let lists = [
        ("NodeList", "nodes", &case.nodes),
        ("PodList", "pods", &case.pods),
        ("PodList", "nominated", &case.nominated),
        ("NamespaceList", "namespaces", &case.namespaces),
        ("ServiceList", "services", &case.services),
        ("ReplicaSetList", "replicaSets", &case.replica_sets),
        ("StatefulSetList", "statefulSets", &case.stateful_sets),
        ("ReplicationControllerList", "replicationControllers", &case.replication_controllers),
        ("PersistentVolumeClaimList", "pvcs", &case.pvcs),
        ("PersistentVolumeList", "pvs", &case.pvs),
        ("StorageClassList", "storageClasses", &case.storage_classes),
        ("CSINodeList", "csiNodes", &case.csi_nodes),
        ("CSIDriverList", "csiDrivers", &case.csi_drivers),
        ("CSIStorageCapacityList", "csiStorageCapacities", &case.csi_storage_capacities),
        ("VolumeAttachmentList", "volumeAttachments", &case.volume_attachments),
        ("DeviceClassList", "deviceClasses", &case.device_classes),
        ("ResourceClaimList", "resourceClaims", &case.resource_claims),
        ("ResourceSliceList", "resourceSlices", &case.resource_slices),
        ("PodList", "pod", &vec![case.pod]),
    ];
    let mut ingest = Ingest::new();
    for (kind, name, items) in lists {
        let file: Arc<str> = name.into();
        for (index, item) in items.iter().enumerate() {
            let source = Source { file: Arc::clone(&file), index: index as u64 };
            ingest
                .add_item(&source, kind, item.get().as_bytes())
                .with_context(|| format!("`{name}[{index}]`"))?;
        }
    }
    let (snapshot, anomalies) = ingest.finish(None);
    match anomalies.first() {
        Some(Anomaly { object, problem, field: _, file, index }) => {
            bail!("`{file}[{index}]`: {object}: {problem}")
        }
        None => Ok(snapshot),
    }
}

/// The pod to be placed.
fn incoming(case: &Case<'_>, snapshot: &Snapshot) -> Result<PodId> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Metadata {
        uid: String,
    }
    #[derive(Deserialize)]
    struct Object {
        metadata: Metadata,
    }
    let Object { metadata: Metadata { uid } } =
        serde_json::from_str(case.pod.get()).context("`pod`")?;
    let mut pods = snapshot.pods().iter().copied();
    pods.find(|&id| *snapshot.pod(id).uid == *uid).ok_or_else(|| anyhow!("`pod` was not read"))
}

/// Configurations of the scheduler, each distinct one read once.
struct Configs<'s> {
    scheduler: &'s Scheduler,
    known: HashMap<String, Arc<[Profile]>>,
}

impl Configs<'_> {
    fn profiles(&mut self, config: Option<&RawValue>) -> Result<Arc<[Profile]>> {
        let text = config.map_or("", RawValue::get);
        if let Some(known) = self.known.get(text) {
            return Ok(Arc::clone(known));
        }
        let profiles: Arc<[Profile]> = match config {
            None => self.scheduler.profiles.clone().into(),
            Some(_) => {
                let version = self.scheduler.version;
                let (profiles, diagnostics) =
                    descheduler_policy::scheduler::load(text.as_bytes(), "config", version);
                profiles.ok_or_else(|| unusable(&diagnostics))?.into()
            }
        };
        self.known.insert(text.to_owned(), Arc::clone(&profiles));
        Ok(profiles)
    }
}

/// The first of the reasons why a configuration cannot be used.
fn unusable(diagnostics: &Diagnostics) -> anyhow::Error {
    let first = diagnostics.iter().find(|found| found.severity == Severity::Error);
    let first = first.map_or(String::new(), |found| {
        format!(": {}:{}: {}", found.span.line, found.span.column, found.message)
    });
    anyhow!("`config` cannot be used{first}")
}
