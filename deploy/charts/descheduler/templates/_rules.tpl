{{/*
What the program may do, made from the policy. Everything that is read is read by a watch.
*/}}
{{- define "descheduler.rules" -}}
{{- $verbs := "[get, list, watch]" -}}
# What is judged, and what protects it.
- apiGroups: [""]
  resources: [nodes, pods, namespaces, persistentvolumeclaims]
  verbs: {{ $verbs }}
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: {{ $verbs }}
- apiGroups: [scheduling.k8s.io]
  resources: [priorityclasses]
  verbs: {{ $verbs }}
{{- if include "descheduler.places" . }}
# Whether there is a better place for a pod: what its owner will recreate, and where the scheduler
# could put it. With `placement: {mode: Off}` in the policy nothing of this is asked.
- apiGroups: [""]
  resources: [persistentvolumes, replicationcontrollers, services]
  verbs: {{ $verbs }}
- apiGroups: [apps]
  resources: [controllerrevisions, daemonsets, deployments, replicasets, statefulsets]
  verbs: {{ $verbs }}
- apiGroups: [batch]
  resources: [jobs]
  verbs: {{ $verbs }}
- apiGroups: [storage.k8s.io]
  resources: [csidrivers, csinodes, csistoragecapacities, storageclasses, volumeattachments]
  verbs: {{ $verbs }}
- apiGroups: [resource.k8s.io]
  resources: [deviceclasses, resourceclaims, resourceslices]
  verbs: {{ $verbs }}
{{- end }}
{{- if include "descheduler.usage" . }}
# What nodes and pods really use.
- apiGroups: [metrics.k8s.io]
  resources: [nodes, pods]
  verbs: [get, list]
{{- end }}
{{- if not (include "descheduler.dryRun" .) }}
# What is done about it.
- apiGroups: [""]
  resources: [pods/eviction]
  verbs: [create]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch, update]
{{- end }}
{{- end -}}

{{/* Whether any profile asks where pods would land. */}}
{{- define "descheduler.places" -}}
{{- $policy := include "descheduler.policyValues" . | fromYaml -}}
{{- $top := lower (default "" ($policy.placement).mode) -}}
{{- $flag := lower (toString (default "" (index .Values.cmdOptions "placement"))) -}}
{{- $off := true -}}
{{- if not $policy.profiles -}}{{- $off = eq $top "off" -}}{{- end -}}
{{- range $profile := $policy.profiles -}}
{{- $mode := lower (default $top ($profile.placement).mode) -}}
{{- if ne $mode "off" -}}{{- $off = false -}}{{- end -}}
{{- end -}}
{{- if $flag -}}{{- $off = eq $flag "off" -}}{{- end -}}
{{- if not $off -}}true{{- end -}}
{{- end -}}

{{/* Whether metrics.k8s.io is asked. */}}
{{- define "descheduler.usage" -}}
{{- $policy := include "descheduler.policyValues" . | fromYaml -}}
{{- $asked := ($policy.metricsCollector).enabled -}}
{{- range $provider := $policy.metricsProviders -}}
{{- if eq (toString $provider.source) "KubernetesMetrics" -}}{{- $asked = true -}}{{- end -}}
{{- end -}}
{{- if $asked -}}true{{- end -}}
{{- end -}}

{{/* The misspelt key is upstream's old one; it wins where it is set. */}}
{{- define "descheduler.leaseNamespace" -}}
{{- with .Values.leaderElection -}}
{{- default "kube-system" (default .resourceNamespace .resourceNamescape) -}}
{{- end -}}
{{- end -}}
