{{- define "descheduler.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "descheduler.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "descheduler.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "descheduler.selectorLabels" -}}
app.kubernetes.io/name: {{ include "descheduler.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "descheduler.labels" -}}
{{ include "descheduler.selectorLabels" . }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "descheduler.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "descheduler.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The policy as the program reads it. Templates in values work, as in upstream's chart. */}}
{{- define "descheduler.policy" -}}
apiVersion: {{ .Values.deschedulerPolicyAPIVersion | quote }}
kind: DeschedulerPolicy
{{ tpl (toYaml (include "descheduler.policyValues" . | fromYaml)) . }}
{{- end -}}

{{/* deschedulerPolicy without the keys that are null: that is how values take back a default. */}}
{{- define "descheduler.policyValues" -}}
{{- $policy := dict -}}
{{- range $key, $value := .Values.deschedulerPolicy -}}
{{- if not (kindIs "invalid" $value) -}}
{{- $_ := set $policy $key $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $policy -}}
{{- end -}}

{{- define "descheduler.leases" -}}
{{- if and (eq .Values.kind "Deployment") .Values.leaderElection.enabled -}}true{{- end -}}
{{- end -}}

{{/* Whether nothing is ever evicted. */}}
{{- define "descheduler.dryRun" -}}
{{- if hasKey .Values.cmdOptions "dry-run" -}}
{{- $value := index .Values.cmdOptions "dry-run" -}}
{{- if ne (toString $value) "false" -}}true{{- end -}}
{{- end -}}
{{- end -}}
