{{/* The spec of the pod, which a CronJob and a Deployment share. */}}
{{- define "descheduler.podSpec" -}}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
serviceAccountName: {{ include "descheduler.serviceAccountName" . }}
{{- if kindIs "bool" .Values.automountServiceAccountToken }}
automountServiceAccountToken: {{ .Values.automountServiceAccountToken }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: {{ .Chart.Name }}
    image: "{{ .Values.image.repository }}:{{ default (printf "v%s" .Chart.AppVersion) .Values.image.tag }}"
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    command:
      {{- toYaml .Values.command | nindent 6 }}
    args:
      {{- include "descheduler.arguments" . | nindent 6 }}
    {{- with .Values.ports }}
    ports:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .Values.livenessProbe }}
    livenessProbe:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- if eq .Values.kind "Deployment" }}
    {{- with .Values.readinessProbe }}
    readinessProbe:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- end }}
    {{- with .Values.resources }}
    resources:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .Values.securityContext }}
    securityContext:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    volumeMounts:
      - name: policy-volume
        mountPath: /policy-dir
        readOnly: true
      {{- if not .Values.automountServiceAccountToken }}
      {{- with .Values.extraServiceAccountVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- end }}
volumes:
  - name: policy-volume
    configMap:
      name: {{ include "descheduler.fullname" . }}
  {{- if not .Values.automountServiceAccountToken }}
  {{- with .Values.extraServiceAccountVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- end }}
{{- end -}}

{{- define "descheduler.arguments" -}}
- --policy-config-file=/policy-dir/policy.yaml
{{- if eq .Values.kind "Deployment" }}
- --descheduling-interval={{ .Values.deschedulingInterval }}
{{- end }}
{{- range $key, $value := .Values.cmdOptions }}
{{- if kindIs "invalid" $value }}
- {{ printf "--%s" $key | quote }}
{{- else }}
- {{ printf "--%s=%s" $key (include "descheduler.flagValue" $value) | quote }}
{{- end }}
{{- end }}
{{- if include "descheduler.leases" . }}
{{- with .Values.leaderElection }}
- --leader-elect=true
{{- with .leaseDuration }}
- --leader-elect-lease-duration={{ . }}
{{- end }}
{{- with .renewDeadline }}
- --leader-elect-renew-deadline={{ . }}
{{- end }}
{{- with .retryPeriod }}
- --leader-elect-retry-period={{ . }}
{{- end }}
{{- with .resourceLock }}
- --leader-elect-resource-lock={{ . }}
{{- end }}
{{- with .resourceName }}
- --leader-elect-resource-name={{ . }}
{{- end }}
{{- with default .resourceNamespace .resourceNamescape }}
- --leader-elect-resource-namespace={{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Numbers in values are floats once they have been through JSON: 1000000 must not become 1e+06. */}}
{{- define "descheduler.flagValue" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) -}}{{ int64 . }}{{- else -}}{{ . }}{{- end -}}
{{- end -}}

{{- define "descheduler.podMetadata" -}}
annotations:
  checksum/config: {{ include (print $.Template.BasePath "/configmap.yaml") . | sha256sum }}
  {{- with .Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
labels:
  {{- include "descheduler.labels" . | nindent 2 }}
  {{- with .Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
