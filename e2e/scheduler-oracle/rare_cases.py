#!/usr/bin/env python3
"""More random scheduling cases: those of gen_cases.py, each with one to three things that it does not have.

    rare_cases.py --seed 1 --count 1000 > cases.jsonl

The cases of a seed are others than those of gen_cases.py, and as there case i does not depend on --count. The title of a
case ends with what was added to it. What each thing is stands beside the method that adds it.
"""
import json

import gen_cases
from gen_cases import DRIVER, GI, HOST, MI, REGION, ZONE, Gen

# Drivers that were part of Kubernetes: name, driver that took over, label of a zone for it.
LEGACY = {
    "aws": ("kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"),
    "gce": ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"),
    "azure": ("kubernetes.io/azure-disk", "disk.csi.azure.com", "topology.disk.csi.azure.com/zone"),
    "cinder": ("kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"),
    "portworx": ("kubernetes.io/portworx-volume", "pxd.portworx.com", None),
}
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def meta(kind, name, version="v1", **more):
    return {"apiVersion": version, "kind": kind, "metadata": dict({"name": name}, **more)}


class Rare(Gen):
    TWISTS = ["migrated", "inline", "replication", "sizes", "quantities", "bare", "nominated", "sources", "points", "numbers",
              "many", "claims", "profiles", "shared", "prefixed", "devices", "allocated",
              "restarts", "empty", "named", "limits", "beta"]

    def __init__(self, seed, index, args):
        super().__init__(f"rare-{seed}", index, args)
        self.id = f"r{seed}-{index}"

    def case(self):
        case = super().case()
        chosen = self.some(self.TWISTS, self.one(1, 1, 2, 3))
        # Where a node is filtered twice, the model takes an error of either time for one of the cycle.
        self.errors = "nominated" not in chosen and "nominated" not in case
        for twist in chosen:
            getattr(self, twist)(case)
        # Of an image with several sizes that of the first node counts; a scheduler that starts sees them by name.
        case["nodes"].sort(key=lambda n: n["metadata"]["name"])
        case["title"] += " with " + ", ".join(chosen)
        return case

    # --- helpers -------------------------------------------------------------------------------
    def names(self, case):
        return [n["metadata"]["name"] for n in case["nodes"]]

    def placed(self, case):
        """The pods that are on a node, the one to be placed, and those that a node is kept for."""
        names = self.names(case)
        return [p for p in case["pods"] if p["spec"].get("nodeName") in names] + [case["pod"]] + case.get("nominated", [])

    def labels_of(self, node):
        return node["metadata"].setdefault("labels", {})

    def csi_node(self, case, name):
        for n in case.setdefault("csiNodes", []):
            if n["metadata"]["name"] == name:
                return n
        n = dict(meta("CSINode", name, "storage.k8s.io/v1"), spec={"drivers": []})
        case["csiNodes"].append(n)
        return n

    def legacy_zones(self, case, kinds):
        """What the drivers put on nodes and CSINodes, with limits that matter."""
        for n in case["nodes"]:
            labels = self.labels_of(n)
            for kind in kinds:
                key = LEGACY[kind][2]
                if key and ZONE in labels and not self.p(0.15):
                    labels[key] = labels[ZONE] if self.p(0.85) else self.one("a", "b", "z-a-1", "z-a-2")
            if self.p(0.1) and ZONE in labels:
                labels[BETA_ZONE] = labels.pop(ZONE)
            if self.p(0.85):
                c = self.csi_node(case, n["metadata"]["name"])
                moved = [LEGACY[k][0] for k in kinds if not self.p(0.25)]
                if moved:
                    c["metadata"]["annotations"] = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(moved)}
                for kind in kinds:
                    if self.p(0.85) and not any(d["name"] == LEGACY[kind][1] for d in c["spec"]["drivers"]):
                        d = {"name": LEGACY[kind][1], "nodeID": n["metadata"]["name"], "topologyKeys": []}
                        if self.p(0.85):
                            d["allocatable"] = {"count": self.one(0, 1, 1, 2, 2, 3)}
                        c["spec"]["drivers"].append(d)
        for kind in kinds:
            if self.minor >= 36 and self.p(0.2):
                case.setdefault("csiDrivers", []).append(
                    dict(meta("CSIDriver", LEGACY[kind][1], "storage.k8s.io/v1"), spec={"preventPodSchedulingIfMissing": True}))
        # Two features may have added the same driver.
        drivers = {d["metadata"]["name"]: d for d in case.get("csiDrivers", [])}
        if drivers:
            case["csiDrivers"] = list(drivers.values())

    def legacy_source(self, kind):
        x = self.one("1", "2", "3")
        if kind == "aws":
            ids = [f"vol-{x}", f"vol-{x}", f"aws://z-a-1/vol-{x}", f"aws:///vol-{x}"] + ([f"aws://a/x-{x}"] if self.errors and self.p(0.05) else [])
            return {"awsElasticBlockStore": {"volumeID": self.one(*ids)}}
        if kind == "gce":
            return {"gcePersistentDisk": {"pdName": "pd-" + x}}
        if kind == "azure":
            disk = {"diskName": "d" + x, "diskURI": "/subscriptions/s/disks/d" + x}
            if self.p(0.5):
                disk["kind"] = "Dedicated" if self.errors and self.p(0.05) else "Managed"
            return {"azureDisk": disk}
        if kind == "cinder":
            return {"cinder": {"volumeID": "c" + x}}
        return {"portworxVolume": {"volumeID": "p" + x}}

    def claim(self, case, name, ns, cls, volume=None, modes=("ReadWriteOnce",)):
        c = dict(meta("PersistentVolumeClaim", name, namespace=ns, uid=self.next_uid()),
                 spec={"accessModes": list(modes), "storageClassName": cls, "resources": {"requests": {"storage": "1Gi"}}}, status={"phase": "Pending"})
        if volume:
            c["metadata"]["annotations"] = dict(BOUND)
            c["spec"]["volumeName"] = volume
            c["status"]["phase"] = "Bound"
        case.setdefault("pvcs", []).append(c)
        return c

    def use(self, pod, source):
        volumes = pod["spec"].setdefault("volumes", [])
        volumes.append(dict({"name": f"more{len(volumes)}"}, **source))

    def use_claim(self, pod, name):
        if not any(v.get("persistentVolumeClaim", {}).get("claimName") == name for v in pod["spec"].get("volumes", [])):
            self.use(pod, {"persistentVolumeClaim": {"claimName": name}})

    # --- volumes -------------------------------------------------------------------------------
    def migrated(self, case):
        """Volumes of drivers that were part of Kubernetes: bound, of the new driver, and to be made."""
        kinds = self.some(list(LEGACY), self.one(1, 1, 2))
        self.legacy_zones(case, kinds)
        classes = case.setdefault("storageClasses", [])
        for kind in kinds:
            classes.append(dict(meta("StorageClass", "old-" + kind, "storage.k8s.io/v1"), provisioner=LEGACY[kind][0],
                                volumeBindingMode="WaitForFirstConsumer"))
        if self.p(0.3):
            classes.append(dict(meta("StorageClass", "old-file", "storage.k8s.io/v1"), provisioner="kubernetes.io/azure-file",
                                volumeBindingMode="WaitForFirstConsumer"))
        pods = self.placed(case)
        for at, pod in enumerate(self.some(pods, 4) + [case["pod"]]):
            for i in range(self.one(1, 1, 2)):
                kind, name, ns = self.one(*kinds), f"old-{at}-{i}", pod["metadata"]["namespace"]
                if self.p(0.25):  # to be made
                    self.claim(case, name, ns, "old-" + kind)
                    self.use_claim(pod, name)
                    continue
                self.claim(case, name, ns, "old-" + kind, volume="pv-" + name)
                self.use_claim(pod, name)
                pv = dict(meta("PersistentVolume", "pv-" + name), spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                                                                         "storageClassName": "old-" + kind}, status={"phase": "Bound"})
                if self.p(0.25):
                    handle = {"aws": "vol-1", "gce": "projects/UNSPECIFIED/zones/a/disks/pd-1", "azure": "/subscriptions/s/disks/d1", "cinder": "c1",
                              "portworx": "p1"}[kind]
                    pv["spec"]["csi"] = {"driver": LEGACY[kind][1], "volumeHandle": handle}
                else:
                    pv["spec"].update(self.legacy_source(kind))
                zones = self.one("a", "b", "z-a-1", "z-a-1__z-a-2", "", *(["a__b", "z-a-1__z-b-1", " a __"] if self.errors or kind != "gce" else []))
                if self.p(0.5):
                    pv["metadata"]["labels"] = {self.one(ZONE, ZONE, BETA_ZONE): zones}
                    if self.p(0.2):
                        pv["metadata"]["labels"][self.one(REGION, BETA_REGION)] = "r1"
                if self.p(0.6):
                    keys = [(ZONE, ["a", "b", "z-a-1"]), (BETA_ZONE, ["a", "b"]), (REGION, ["r1", "r2"]), (BETA_REGION, ["r1"]), (HOST, self.names(case)),
                            ("disk", ["ssd"])]
                    terms = []
                    for _ in range(self.one(1, 1, 2)):
                        term = []
                        for key, values in self.some(keys[:1] * 3 + keys, self.one(1, 1, 2)):
                            op = self.one("In", "In", "In", "In", "NotIn", "Exists")
                            term.append(dict({"key": key, "operator": op}, **({} if op == "Exists" else {"values": self.some(values, 2)})))
                        terms.append({"matchExpressions": term})
                    pv["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
                case.setdefault("pvs", []).append(pv)
                if self.p(0.3):
                    va = dict(meta("VolumeAttachment", "va-" + name, "storage.k8s.io/v1"), spec={
                        "attacher": LEGACY[kind][1], "nodeName": self.one(*self.names(case)), "source": {"persistentVolumeName": "pv-" + name}},
                        status={"attached": True})
                    case.setdefault("volumeAttachments", []).append(va)

    def inline(self, case):
        """Volumes of such drivers in pods themselves, with and without the new driver on the node."""
        kinds = self.some(list(LEGACY), self.one(1, 1, 2))
        self.legacy_zones(case, kinds)
        for pod in self.some(self.placed(case), 5) + [case["pod"]]:
            for _ in range(self.one(1, 1, 2)):
                self.use(pod, self.legacy_source(self.one(*kinds)))

    def sources(self, case):
        """Volumes of kinds that no plugin looks at, CSI volumes in pods among them, beside claims with limits."""
        for n in case["nodes"]:
            if self.p(0.6):
                c = self.csi_node(case, n["metadata"]["name"])
                if not c["spec"]["drivers"]:
                    c["spec"]["drivers"] = [{"name": DRIVER, "nodeID": "x", "topologyKeys": [], "allocatable": {"count": self.one(0, 1, 2)}}]
        for pod in self.some(self.placed(case), 4) + [case["pod"]]:
            for _ in range(self.one(1, 2)):
                self.use(pod, self.one(
                    {"csi": {"driver": DRIVER, "volumeAttributes": {"a": "b"}}}, {"emptyDir": {}}, {"configMap": {"name": "c"}},
                    {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}, {"hostPath": {"path": "/x"}},
                    {"nfs": {"server": "s", "path": "/"}}, {"fc": {"lun": 0, "targetWWNs": ["w"]}},
                    {"azureFile": {"secretName": "s", "shareName": "x"}}, {"vsphereVolume": {"volumePath": "[d] v"}},
                    {"iscsi": {"targetPortal": "10.0.0.9", "iqn": "iqn.1", "lun": self.one(0, 1)}}))

    def claims(self, case):
        """Claims with classes for attributes, and with their class in the annotation from before there was a field."""
        ns, names = case["pod"]["metadata"]["namespace"], self.names(case)
        case.setdefault("storageClasses", []).append(
            dict(meta("StorageClass", "vac", "storage.k8s.io/v1"), provisioner=self.one(DRIVER, "kubernetes.io/no-provisioner"),
                 volumeBindingMode="WaitForFirstConsumer"))
        for i in range(self.one(1, 2)):
            c = self.claim(case, f"vac{i}", ns, "vac", modes=self.some(["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"], self.one(1, 2)))
            if self.p(0.5):
                c["spec"]["volumeAttributesClassName"] = self.one("fast", "slow")
            if self.p(0.15):
                c["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": "vac"}
            self.use_claim(case["pod"], f"vac{i}")
        for i in range(self.one(1, 2, 3)):
            pv = dict(meta("PersistentVolume", f"vac-pv{i}"), spec={
                "capacity": {"storage": self.one("1Gi", "2Gi", "1000M")}, "storageClassName": "vac", "local": {"path": "/x"},
                "accessModes": self.some(["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"], self.one(1, 2, 3)),
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                    {"key": HOST, "operator": "In", "values": self.some(names, self.one(1, 2))}]}]}}}, status={"phase": "Available"})
            if self.p(0.4):
                pv["spec"]["volumeAttributesClassName"] = self.one("fast", "slow")
            case.setdefault("pvs", []).append(pv)

    def shared(self, case):
        """Claims that several pods use, also one that is for a single pod, and also pods that only wait for a node."""
        ns = case["pod"]["metadata"]["namespace"]
        modes = [self.one("ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany")]
        self.claim(case, "shared", ns, "shared", volume="shared", modes=modes)
        case.setdefault("storageClasses", []).append(
            dict(meta("StorageClass", "shared", "storage.k8s.io/v1"), provisioner=DRIVER, volumeBindingMode="Immediate"))
        case.setdefault("pvs", []).append(dict(meta("PersistentVolume", "shared"), spec={
            "capacity": {"storage": "1Gi"}, "storageClassName": "shared", "accessModes": modes, "csi": {"driver": DRIVER, "volumeHandle": "shared"}},
            status={"phase": "Bound"}))
        for name in self.names(case):
            if self.p(0.7):
                c = self.csi_node(case, name)
                c["spec"]["drivers"] = [{"name": DRIVER, "nodeID": name, "topologyKeys": [], "allocatable": {"count": self.one(0, 1, 1, 2)}}]
        self.use_claim(case["pod"], "shared")
        for pod in self.some([p for p in self.placed(case) if p["metadata"]["namespace"] == ns and p is not case["pod"]], self.one(0, 1, 2)):
            self.use_claim(pod, "shared")

    # --- owners --------------------------------------------------------------------------------
    def replication(self, case):
        """A ReplicationController as owner, and owners that are not what they are called."""
        pod = case["pod"]
        pod["spec"].pop("topologySpreadConstraints", None)
        version, kind = self.one(("v1", "ReplicationController"), ("v1", "ReplicationController"), ("example.com/v1", "ReplicaSet"))
        pod["metadata"]["ownerReferences"] = [{"apiVersion": version, "kind": kind, "name": "rc", "uid": "rc-uid", "controller": True}]
        labels = pod["metadata"].get("labels") or {"app": "web"}
        key = self.one(*labels)
        rc = dict(meta("ReplicationController", "rc", namespace=pod["metadata"]["namespace"]), spec={"selector": {key: labels[key]}})
        if self.p(0.9):
            case.setdefault("replicationControllers", []).append(rc)
        if self.p(0.5):
            case.setdefault("replicaSets", []).append(dict(meta("ReplicaSet", "rc", "apps/v1", namespace=pod["metadata"]["namespace"]), spec={
                "selector": {"matchLabels": {"app": "web"}}}))

    # --- nodes ---------------------------------------------------------------------------------
    def sizes(self, case):
        """One image name with another size on each node, as where nodes differ in architecture; digests beside tags."""
        images = ["r/app:1", "r/db:latest", "r/data:1"]
        for n in case["nodes"]:
            mine = []
            for image in images:
                if self.p(0.7):
                    size = self.one(20, 23, 24, 100, 500, 900, 2000) * MI + self.one(0, 1)
                    mine.append({"names": [image] + ([image.split(":")[0] + "@sha256:" + "b" * 64] if self.p(0.4) else []), "sizeBytes": size})
            if self.p(0.2):
                mine.append({"sizeBytes": 5})
            n["status"]["images"] = mine
        for c in case["pod"]["spec"]["containers"] + case["pod"]["spec"].get("initContainers", []):
            c["image"] = self.one("r/app:1", "r/db", "r/data:1", "r/app@sha256:" + "b" * 64, "none")

    def bare(self, case):
        """Nodes that have only just come: without labels, without what they can hold, or with none of it."""
        for n in self.some(case["nodes"], self.one(1, 1, 2)):
            what = self.one("labels", "allocatable", "pods", "zero", "status")
            if what == "labels":
                n["metadata"].pop("labels", None)
            elif what == "allocatable":
                n["status"].pop("allocatable", None)
            elif what == "pods":
                n["status"].get("allocatable", {}).pop("pods", None)
            elif what == "zero":
                n["status"]["allocatable"] = {k: "0" if k != "pods" else v for k, v in n["status"].get("allocatable", {}).items()}
            else:
                n["status"] = {}

    def many(self, case):
        """More nodes, alike, so that shares of a hundred are not round."""
        if self.p(0.7):
            return
        import copy
        for i in range(self.one(20, 60, 90)):
            n = copy.deepcopy(self.one(*case["nodes"][:3]))
            n["metadata"]["name"] = f"x{i}"
            labels = self.labels_of(n)
            labels[HOST] = f"x{i}"
            if self.p(0.9):
                labels[ZONE] = self.one("a", "b", "c", "d", "e")
            case["nodes"].append(n)

    # --- amounts -------------------------------------------------------------------------------
    def quantities(self, case):
        """Amounts as people write them: exponents, fractions, very small and very large units."""
        cpus = ["0.1", "0.0001", "1e-1", "1E-3", "100000u", "100000001n", "0.5", "1500m", "2e0", "1k", "+1"]
        memories = ["1e9", "1.5Gi", "0.5Gi", "128974848", "129e6", "129M", "123Mi", "100k", "1000m", "1.1", "5e8", "1Ti", "0.1Ki"]
        for pod in self.some(self.placed(case), 4) + [case["pod"]]:
            for c in pod["spec"]["containers"] + pod["spec"].get("initContainers", []):
                requests = c.setdefault("resources", {}).setdefault("requests", {})
                if self.p(0.6):
                    requests["cpu"] = self.one(*cpus)
                if self.p(0.6):
                    requests["memory"] = self.one(*memories)
        for n in self.some(case["nodes"], 2):
            allocatable = n["status"].setdefault("allocatable", {})
            if self.p(0.5):
                allocatable["cpu"] = self.one("4e0", "3920m", "0.5", "1k")
            if self.p(0.5):
                allocatable["memory"] = self.one("8e9", "7.5Gi", "16374044Ki", "1Ti")

    def prefixed(self, case):
        """Resources with names that the scheduler does not know, knows only from quotas, or takes for its own."""
        names = ["requests.nvidia.com/gpu", "attachable-volumes-aws-ebs", "foo", "hugepages-1Gi", "pods.kubernetes.io/x", "kubernetes.io/batch-cpu",
                 "example.com/Foo_1.b", "-x.com/y", "storage", "smarter-devices/kvm", "xn--a.io/b"]
        for pod in self.some(self.placed(case), 3) + [case["pod"]]:
            for c in pod["spec"]["containers"]:
                if self.p(0.7):
                    name = self.one(*names)
                    c.setdefault("resources", {}).setdefault("requests", {})[name] = self.one("1", "1", "2", "0") if "huge" not in name else "1Gi"
            if self.p(0.15):
                pod["spec"].setdefault("overhead", {})[self.one(*names)] = "1"
        for n in case["nodes"]:
            for name in names:
                if self.p(0.5):
                    n["status"].setdefault("allocatable", {})[name] = self.one("1", "2", "3") if "huge" not in name else "2Gi"

    def devices(self, case):
        """Extended resources that some nodes have of a device plugin, and that others might hand out as devices but have none of.

        Devices themselves are left out: whether a claim can be met is not modelled.
        """
        for n in case["nodes"]:
            if self.p(0.6):
                n["status"].setdefault("allocatable", {})["nvidia.com/gpu"] = self.one("0", "1", "4", "8")
        for pod in self.some(self.placed(case), 3) + [case["pod"]]:
            c = pod["spec"]["containers"][0]
            c.setdefault("resources", {}).setdefault("requests", {})["nvidia.com/gpu"] = self.one("1", "2", "3", "8")
        if self.minor >= 34 and self.p(0.7):
            gpu = dict(meta("DeviceClass", "gpu", "resource.k8s.io/v1"), spec={})
            if self.p(0.7):
                gpu["spec"]["extendedResourceName"] = self.one("nvidia.com/gpu", "nvidia.com/gpu", "a.com/x")
            case["deviceClasses"] = [gpu]
            case["resourceSlices"] = [dict(meta("ResourceSlice", "elsewhere", "resource.k8s.io/v1"), spec={
                "driver": "gpu.nvidia.com", "nodeName": "elsewhere", "pool": {"name": "elsewhere", "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "gpu-0"}]})]
            if self.p(0.3):
                requests = case["pod"]["spec"]["containers"][0]["resources"]["requests"]
                requests["deviceclass.resource.kubernetes.io/" + self.one("gpu", "gpu", "none")] = "1"
                for n in case["nodes"]:
                    if self.p(0.3):
                        n["status"].setdefault("allocatable", {})["deviceclass.resource.kubernetes.io/gpu"] = "2"

    def allocated(self, case):
        """Claims for devices that were met before and that other pods use."""
        ns, names = case["pod"]["metadata"]["namespace"], self.names(case)
        claims = []
        for i in range(self.one(1, 1, 2)):
            users = [{"resource": "pods", "name": f"user{u}", "uid": f"user{u}"} for u in range(self.one(1, 2, 200))]
            if self.p(0.1):
                users.append({"resource": "pods", "name": "x", "uid": case["pod"]["metadata"]["uid"]})
            allocation = {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "0"}]}}
            if self.p(0.8):
                term = self.one({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [self.one(*names)]}]},
                                {"matchExpressions": [{"key": ZONE, "operator": "In", "values": self.some(["a", "b", "c"], 2)}]},
                                {"matchExpressions": [{"key": "disk", "operator": "Exists"}]})
                allocation["nodeSelector"] = {"nodeSelectorTerms": [term]}
            claim = dict(meta("ResourceClaim", f"devices{i}", "resource.k8s.io/v1", namespace=ns, uid=self.next_uid()), spec={}, status={
                "allocation": allocation, "reservedFor": users})
            if self.p(0.05):
                claim["metadata"]["deletionTimestamp"] = "2025-01-01T00:00:00Z"
            claims.append(claim)
        case["resourceClaims"] = claims
        case["pod"]["spec"]["resourceClaims"] = [{"name": f"c{i}", "resourceClaimName": f"devices{i}"} for i in range(len(claims))]
        for pod in self.some(case["pods"], 1):
            if pod["metadata"]["namespace"] == ns:
                pod["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": "devices0"}]

    def limits(self, case):
        """Limits without requests, which a stored pod has only where requests were removed, and limits of whole pods."""
        for pod in self.some(self.placed(case), 3) + [case["pod"]]:
            for c in pod["spec"]["containers"] + pod["spec"].get("initContainers", []):
                if self.p(0.5):
                    resources = c.setdefault("resources", {})
                    resources["limits"] = {"cpu": "2", "memory": "1Gi"}
                    if self.p(0.5):
                        resources.pop("requests", None)
            if self.p(0.3):
                pod["spec"].setdefault("resources", {})["limits"] = {"cpu": "3", "memory": "2Gi"}
            if self.p(0.2):
                requests = pod["spec"].setdefault("resources", {}).setdefault("requests", {})
                requests[self.one("cpu", "memory", "hugepages-2Mi")] = self.one("0", "2", "4Mi")

    def restarts(self, case):
        """Containers with restart policies of their own: of init containers only those that always restart are sidecars."""
        for pod in self.some(self.placed(case), 4) + [case["pod"]]:
            spec = pod["spec"]
            if self.p(0.6):
                spec.setdefault("initContainers", []).append(self.container("more-init"))
            for c in spec.get("initContainers", []):
                if self.p(0.5):
                    c["restartPolicy"] = self.one("Never", "OnFailure", "Always")
            for c in spec["containers"]:
                if self.p(0.5):
                    c["restartPolicy"] = self.one("Never", "OnFailure", "Always")
            if self.p(0.3):
                spec["restartPolicy"] = self.one("Never", "OnFailure")

    # --- conditions ----------------------------------------------------------------------------
    def numbers(self, case):
        """Greater and less with negative numbers, large ones, and labels that are none."""
        for n in case["nodes"]:
            if self.p(0.8):
                self.labels_of(n)["gen"] = self.one("-1", "0", "7", "007", "+7", "9223372036854775807", "9223372036854775808", "1.5", "1e3", "x", "")
        affinity = case["pod"]["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})

        def term():
            return {"matchExpressions": [{"key": "gen", "operator": self.one("Gt", "Lt"), "values": [self.one("-2", "0", "6", "7", "-9223372036854775808")]}]
                    + ([{"key": "gen", "operator": "NotIn", "values": ["7", "x"]}] if self.p(0.3) else [])}
        if self.p(0.6):
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [term() for _ in range(self.one(1, 2))]}
        if self.p(0.7):
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": self.weight(), "preference": term()} for _ in range(self.one(1, 2, 3))]

    def empty(self, case):
        """Labels without a value, as roles of nodes are, in every place that compares labels; a zone without a name."""
        pod = case["pod"]
        for n in case["nodes"]:
            labels = self.labels_of(n)
            if self.p(0.6):
                labels["node-role.kubernetes.io/worker"] = ""
            if self.p(0.25):
                labels[self.one(ZONE, ZONE, "rack", "disk")] = ""
            if self.p(0.2):
                taints = n["spec"].setdefault("taints", [])
                if not any(t["key"] == "role" for t in taints):
                    taints.append({"key": "role", "effect": self.one("NoSchedule", "PreferNoSchedule"), **({"value": ""} if self.p(0.5) else {})})
        x = self.r.random()
        if x < 0.3:
            pod["spec"]["nodeSelector"] = {"node-role.kubernetes.io/worker": ""}
        elif x < 0.6:
            pod["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": self.weight(), "preference": {"matchExpressions": [
                    {"key": "node-role.kubernetes.io/worker", "operator": self.one("In", "NotIn"), "values": self.one([""], ["", "x"], ["x"])}]}}]
        if self.p(0.4):
            pod["spec"].setdefault("tolerations", []).append(
                self.one({"key": "role", "operator": "Equal"}, {"key": "role", "operator": "Exists"}, {"key": "role", "value": "x"}))
        for p in self.some(case["pods"], 3) + [pod]:
            p["metadata"].setdefault("labels", {})[self.one("app", "tier", "bare")] = ""
        if self.p(0.4):
            selector = self.one({"matchLabels": {"app": ""}}, {"matchExpressions": [{"key": "app", "operator": "In", "values": ["", "web"]}]},
                                {"matchExpressions": [{"key": "bare", "operator": "Exists"}]})
            key, how = self.one(ZONE, HOST, "rack"), self.one("DoNotSchedule", "ScheduleAnyway")
            others = [c for c in pod["spec"].get("topologySpreadConstraints", []) if (c["topologyKey"], c["whenUnsatisfiable"]) != (key, how)]
            pod["spec"]["topologySpreadConstraints"] = others + [
                {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": how, "labelSelector": selector}]
        elif self.p(0.5):
            pod["spec"].pop("topologySpreadConstraints", None)
            case.setdefault("services", []).append(
                dict(meta("Service", "bare", namespace=pod["metadata"]["namespace"]), spec={"selector": {"app": ""} if self.p(0.5) else {"app": "web"}}))

    def named(self, case):
        """A pod that asks for a node by name, also for one that other conditions leave out or that is gone."""
        case["pod"]["spec"]["nodeName"] = self.one(*self.names(case), "gone")
        if self.p(0.4):
            case["pod"]["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})["requiredDuringSchedulingIgnoredDuringExecution"] = {
                "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [self.one(*self.names(case), "gone")]}]}]}

    def beta(self, case):
        """Nodes whose zones stand under the old keys, alone or beside the new ones, and conditions on those."""
        for n in case["nodes"]:
            labels = self.labels_of(n)
            if ZONE in labels and self.p(0.7):
                labels[BETA_ZONE] = labels[ZONE] if self.p(0.8) else self.one("a", "b")
                if self.p(0.4):
                    del labels[ZONE]
            if REGION in labels and self.p(0.5):
                labels[BETA_REGION] = labels.pop(REGION)
        for v in case.get("pvs", []):
            if self.p(0.4):
                v["metadata"].setdefault("labels", {})[self.one(BETA_ZONE, ZONE)] = self.one("a", "b", "a__b")

    def nominated(self, case):
        """Pods that preemption made room for: with ports, spreading and claims, and the pod itself among them."""
        names, ns = self.names(case), case["pod"]["metadata"]["namespace"]
        case.setdefault("nominated", [])
        for i in range(self.one(1, 2)):
            labels = dict(case["pod"]["metadata"].get("labels", {})) if self.p(0.5) else self.pod_labels()
            p = self.pod(f"more-nom{i}", ns, labels, big=self.p(0.3))
            p["spec"]["priority"] = self.one(0, 5, 10, 20)
            p["status"]["nominatedNodeName"] = self.one(*names, *(["gone"] if self.p(0.05) else []))
            if self.p(0.4):
                port = {"containerPort": 80, "hostPort": self.one(80, 443)}
                p["spec"]["containers"][0]["ports"] = [port]
                if self.p(0.6):
                    case["pod"]["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
            if self.p(0.3):
                p["spec"]["topologySpreadConstraints"] = self.spread(labels)
            for v in case["pod"]["spec"].get("volumes", []):
                if "persistentVolumeClaim" in v and self.p(0.4):
                    p["spec"].setdefault("volumes", []).append(v)
            case["nominated"].append(p)
        if self.p(0.2):
            case["pod"]["status"]["nominatedNodeName"] = self.one(*names)

    # --- configuration -------------------------------------------------------------------------
    def profile(self, case):
        """The profile of the pod in the configuration, both made if they are not there."""
        config = case.setdefault("config", {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": []})
        if not config["profiles"]:
            config["profiles"].append({"schedulerName": "default-scheduler"})
        return config["profiles"][0]

    def profiles(self, case):
        """Several profiles, one of which is the pod's; settings for all profiles."""
        profile = self.profile(case)
        config = case["config"]
        config["percentageOfNodesToScore"] = self.one(0, 50, 100)
        other = {"schedulerName": "other", "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [
            {"name": "NodeResourcesFit", "weight": self.one(1, 2)}, {"name": "ImageLocality"}]}}}
        if self.p(0.5):
            other["percentageOfNodesToScore"] = 100
        config["profiles"].append(other)
        if self.p(0.5):
            case["pod"]["spec"]["schedulerName"] = "other"
        elif self.p(0.3):
            profile["schedulerName"] = "renamed"
            case["pod"]["spec"]["schedulerName"] = "renamed"

    def points(self, case):
        """Plugins that are on at some points only, and arguments that are rarely given."""
        profile = self.profile(case)
        plugins = profile.setdefault("plugins", {})
        pool = ["NodeAffinity", "PodTopologySpread", "InterPodAffinity", "NodePorts", "VolumeBinding", "VolumeZone", "NodeVolumeLimits", "VolumeRestrictions",
                "NodeResourcesFit", "TaintToleration", "NodeUnschedulable", "NodeName"]
        # A plugin that is on at one point and off at the one before it is an error of the configuration.
        pool = [n for n in pool if f'"{n}"' not in json.dumps(plugins)]
        if self.p(0.4) and "multiPoint" not in plugins:
            plugins["multiPoint"] = {"disabled": [{"name": n} for n in self.some(pool, self.one(1, 2))]}
        elif self.p(0.4) and "filter" not in plugins:
            plugins["filter"] = {"disabled": [{"name": n} for n in self.some(pool, self.one(1, 2))]}
        elif "filter" not in plugins:
            first = self.some([n for n in pool if n not in ("VolumeBinding",)], 2)
            plugins["filter"] = {"enabled": [{"name": n} for n in first]}
        args = profile.setdefault("pluginConfig", [])
        have = {one["name"] for one in args}
        if "NodeAffinity" not in have and self.p(0.5):
            added = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": self.one("In", "NotIn"), "values": [self.one(*self.names(case))]}]},
                {"matchExpressions": [self.node_requirement()]}]}}
            if self.p(0.5):
                added["preferredDuringSchedulingIgnoredDuringExecution"] = [
                    {"weight": self.weight(), "preference": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [self.one(*self.names(case))]}]}}]
            args.append({"name": "NodeAffinity", "args": {"addedAffinity": added}})
        if "NodeResourcesFit" not in have and self.p(0.5):
            shape = [{"utilization": u, "score": s} for u, s in self.one(([0, 0], [100, 10]), ([0, 10], [100, 0]), ([50, 10],), ([0, 3], [1, 7], [99, 2], [100, 10]))]
            args.append({"name": "NodeResourcesFit", "args": {"scoringStrategy": {
                "type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape},
                "resources": [{"name": n} for n in self.some(["cpu", "memory", "nvidia.com/gpu", "ephemeral-storage"], self.one(1, 2, 3))]}}})
        if "PodTopologySpread" not in have and self.p(0.4):
            args.append({"name": "PodTopologySpread", "args": {"defaultingType": "List", "defaultConstraints": [
                {"maxSkew": self.one(1, 2), "topologyKey": self.one(ZONE, HOST), "whenUnsatisfiable": self.one("DoNotSchedule", "ScheduleAnyway"),
                 **({"nodeTaintsPolicy": "Honor"} if self.p(0.3) else {}), **({"nodeAffinityPolicy": "Ignore"} if self.p(0.3) else {})}]}})


if __name__ == "__main__":
    gen_cases.main(Rare)
