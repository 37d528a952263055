{{/* What no schema can say: values that do not go together, each with the way out. */}}
{{- define "descheduler.validate" -}}
{{- $policy := include "descheduler.policyValues" . | fromYaml -}}
{{- if and (hasKey $policy "strategies") (hasKey $policy "profiles") -}}
{{- fail (printf "\n\ndeschedulerPolicy holds both `strategies` (descheduler/v1alpha1) and `profiles` (descheduler/v1alpha2), of which the program can read only one.\nIf the strategies are yours, the profiles are this chart's default. Either take the default back and say the version that goes with strategies:\n\n    deschedulerPolicyAPIVersion: descheduler/v1alpha1\n    deschedulerPolicy:\n      profiles: null\n      strategies: ...\n\nor turn them into profiles: `descheduler convert values.yaml` prints what they stand for.\nIf the profiles are yours, remove `strategies`, or set it to null where it comes from another file.\n") -}}
{{- end -}}
{{- $version := .Values.deschedulerPolicyAPIVersion -}}
{{- if and (hasKey $policy "strategies") (ne $version "descheduler/v1alpha1") -}}
{{- fail (printf "\n\ndeschedulerPolicy.strategies belongs to descheduler/v1alpha1, but deschedulerPolicyAPIVersion is %q.\nSet deschedulerPolicyAPIVersion to descheduler/v1alpha1, or turn the strategies into profiles: `descheduler convert values.yaml`.\n" $version) -}}
{{- end -}}
{{- if and (hasKey $policy "profiles") (eq $version "descheduler/v1alpha1") -}}
{{- fail "\n\ndeschedulerPolicy.profiles belongs to descheduler/v1alpha2, but deschedulerPolicyAPIVersion is \"descheduler/v1alpha1\".\nRemove deschedulerPolicyAPIVersion; if the policy is one of strategies, set deschedulerPolicy.profiles to null.\n" -}}
{{- end -}}
{{- range $key, $value := .Values.deschedulerPolicy -}}
{{- if has $key (list "apiVersion" "kind") -}}
{{- fail (printf "\n\ndeschedulerPolicy.%s is written by the chart: remove it; deschedulerPolicyAPIVersion says the version.\n" $key) -}}
{{- end -}}
{{- end -}}
{{- if eq .Values.kind "Deployment" -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.leaderElection.enabled) -}}
{{- fail "You must set leaderElection to use more than 1 replica" -}}
{{- end -}}
{{- if not .Values.deschedulingInterval -}}
{{- fail "\n\nkind Deployment needs a deschedulingInterval, such as 5m: without one the program ends after a cycle and is started again at once.\n" -}}
{{- end -}}
{{- $budget := .Values.podDisruptionBudget -}}
{{- if and $budget.enabled (not (empty $budget.minAvailable)) (not (empty $budget.maxUnavailable)) -}}
{{- fail "\n\npodDisruptionBudget holds both minAvailable and maxUnavailable, of which a budget takes one.\nSet podDisruptionBudget.minAvailable to \"\" in order to use maxUnavailable.\n" -}}
{{- end -}}
{{- end -}}
{{- end -}}
