//! Which kinds are watched, where they are found, and what is not known without them.

use descheduler_cluster::Kind;

/// A kind as the API server serves it.
#[derive(Clone, Copy, Debug)]
pub struct Resource {
    /// What it is read as.
    pub kind: Kind,
    /// Where all objects of the kind are.
    pub path: &'static str,
    /// Whether a plan needs it; all others may be missing.
    pub required: bool,
    /// Whether changes are sent; else it is asked for again and again.
    pub(crate) watched: bool,
    /// What follows when there is no right to read it.
    pub without: &'static str,
}

impl Resource {
    /// Nodes and pods come first: without them nothing else matters.
    pub const ALL: [Self; 25] = [
        required(Kind::Node, "/api/v1/nodes"),
        required(Kind::Pod, "/api/v1/pods"),
        watched(Kind::Namespace, "/api/v1/namespaces", "namespaces are taken to have no labels"),
        watched(
            Kind::PriorityClass,
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            "priority classes cannot be named in the policy",
        ),
        watched(
            Kind::PodDisruptionBudget,
            "/apis/policy/v1/poddisruptionbudgets",
            "budgets are taken to be absent",
        ),
        watched(
            Kind::PersistentVolumeClaim,
            "/api/v1/persistentvolumeclaims",
            "pods with claims stay where volumes matter",
        ),
        watched(Kind::PersistentVolume, "/api/v1/persistentvolumes", VOLUMES),
        watched(Kind::StorageClass, "/apis/storage.k8s.io/v1/storageclasses", VOLUMES),
        watched(Kind::CsiNode, "/apis/storage.k8s.io/v1/csinodes", VOLUMES),
        watched(Kind::CsiDriver, "/apis/storage.k8s.io/v1/csidrivers", VOLUMES),
        watched(Kind::CsiStorageCapacity, "/apis/storage.k8s.io/v1/csistoragecapacities", VOLUMES),
        watched(Kind::VolumeAttachment, "/apis/storage.k8s.io/v1/volumeattachments", VOLUMES),
        watched(Kind::ReplicaSet, "/apis/apps/v1/replicasets", OWNERS),
        watched(Kind::ReplicationController, "/api/v1/replicationcontrollers", OWNERS),
        watched(Kind::StatefulSet, "/apis/apps/v1/statefulsets", OWNERS),
        watched(Kind::Deployment, "/apis/apps/v1/deployments", OWNERS),
        watched(Kind::Job, "/apis/batch/v1/jobs", OWNERS),
        watched(Kind::DaemonSet, "/apis/apps/v1/daemonsets", OWNERS),
        watched(Kind::ControllerRevision, "/apis/apps/v1/controllerrevisions", OWNERS),
        watched(Kind::Service, "/api/v1/services", "the scheduler is taken to know no services"),
        watched(Kind::ResourceClaim, "/apis/resource.k8s.io/v1/resourceclaims", DEVICES),
        watched(Kind::DeviceClass, "/apis/resource.k8s.io/v1/deviceclasses", DEVICES),
        watched(Kind::ResourceSlice, "/apis/resource.k8s.io/v1/resourceslices", DEVICES),
        polled(Kind::NodeMetrics, "/apis/metrics.k8s.io/v1beta1/nodes"),
        polled(Kind::PodMetrics, "/apis/metrics.k8s.io/v1beta1/pods"),
    ];

    /// As objects of the kind spell it: `apps/v1`.
    pub fn api_version(&self) -> String {
        let path = self.path.trim_start_matches("/apis/").trim_start_matches("/api/");
        path.rsplit_once('/').map_or_else(String::new, |(version, _)| version.to_owned())
    }

    /// The resource with its group, as roles name it: `replicasets.apps`.
    pub fn name(&self) -> String {
        let mut parts = self.path.rsplit('/');
        let plural = parts.next().unwrap_or_default();
        let group = parts.nth(1).filter(|_| self.path.starts_with("/apis/"));
        match group {
            Some(group) => format!("{plural}.{group}"),
            None => plural.to_owned(),
        }
    }
}

const VOLUMES: &str = "pods with claims stay where volumes matter";
const OWNERS: &str = "owners of this kind are taken to recreate their pods as they are";
const DEVICES: &str = "pods with claims for devices stay";

const fn required(kind: Kind, path: &'static str) -> Resource {
    Resource { kind, path, required: true, watched: true, without: "nothing can be planned" }
}

const fn watched(kind: Kind, path: &'static str, without: &'static str) -> Resource {
    Resource { kind, path, required: false, watched: true, without }
}

const fn polled(kind: Kind, path: &'static str) -> Resource {
    let without = "what pods really use is not known";
    Resource { kind, path, required: false, watched: false, without }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_there_once_under_the_name_that_roles_use() {
        let mut kinds: Vec<Kind> = Resource::ALL.iter().map(|resource| resource.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), Resource::ALL.len());
        let names: Vec<String> = Resource::ALL.iter().map(Resource::name).collect();
        let versions: Vec<String> = Resource::ALL.iter().map(Resource::api_version).collect();
        for version in ["v1", "apps/v1", "metrics.k8s.io/v1beta1"] {
            assert!(versions.iter().any(|found| found == version), "{versions:?}");
        }
        for name in ["pods", "replicasets.apps", "pods.metrics.k8s.io"] {
            assert!(names.iter().any(|found| found == name), "{names:?}");
        }
    }
}
