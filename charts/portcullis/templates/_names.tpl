{{- define "portcullis.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* At most 50 characters, so that a DNS label has room for every suffix used here. */}}
{{- define "portcullis.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- $name := include "portcullis.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "portcullis.selector" -}}
app.kubernetes.io/name: {{ include "portcullis.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "portcullis.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "portcullis.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "portcullis.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "portcullis.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- required "serviceAccount.name is needed with serviceAccount.create=false" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* The subject of all bindings of the gateway. */}}
{{- define "portcullis.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "portcullis.serviceAccountName" . }}
    namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "portcullis.servingSecretName" -}}
{{- if eq .Values.servingCertificate.mode "secret" }}
{{- required "servingCertificate.secretName is needed with servingCertificate.mode=secret" .Values.servingCertificate.secretName }}
{{- else }}
{{- default (printf "%s-serving" (include "portcullis.fullname" .)) .Values.servingCertificate.secretName }}
{{- end }}
{{- end }}

{{/* Names of the serving certificate, comma-separated. The first is what the hub's aggregator verifies. */}}
{{- define "portcullis.servingNames" -}}
{{- $name := include "portcullis.fullname" . }}
{{- $names := list (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s" $name .Release.Namespace) $name (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) }}
{{- if .Values.clusterDomain }}
{{- $names = concat $names (list .Values.clusterDomain (printf "*.%s" .Values.clusterDomain)) }}
{{- end }}
{{- concat $names .Values.servingCertificate.dnsNames | uniq | join "," }}
{{- end }}

{{/* APIServices of this release, comma-separated. */}}
{{- define "portcullis.apiServices" -}}
{{- $names := list }}
{{- if .Values.apiService.create }}{{ $names = append $names "v1alpha1.gateway.portcullis.io" }}{{ end }}
{{- if .Values.clusterGateway.apiService }}{{ $names = append $names "v1alpha1.cluster.core.oam.dev" }}{{ end }}
{{- if .Values.index.apiService }}{{ $names = append $names "v1alpha1.search.portcullis.io" }}{{ end }}
{{- if .Values.index.clusterpediaApiService }}{{ $names = append $names "v1beta1.clusterpedia.io" }}{{ end }}
{{- if .Values.karmada.searchApiService }}{{ $names = append $names "v1alpha1.search.karmada.io" }}{{ end }}
{{- join "," $names }}
{{- end }}

{{/* "true" when a source is on whose Secrets are in secretNamespaces; else empty. */}}
{{- define "portcullis.readsNamespaces" -}}
{{- if or (has "cluster-api" .Values.sources) (has "vcluster" .Values.sources) (has "argocd" .Values.sources) }}true{{ end }}
{{- end }}

{{/* Checks that the schema cannot express. */}}
{{- define "portcullis.check" -}}
{{- if and (or (has "cluster-api" .Values.sources) (has "vcluster" .Values.sources)) (empty .Values.secretNamespaces) (not .Values.clusterWideSecrets) }}
{{- fail "sources cluster-api and vcluster need secretNamespaces (where their Secrets are), or clusterWideSecrets=true to read every Secret of the hub" }}
{{- end }}
{{- if and .Values.kubeconfigSecrets (not (has "kubeconfig" .Values.sources)) }}
{{- fail "kubeconfigSecrets are given, but sources does not list kubeconfig" }}
{{- end }}
{{- if and (has "kubeconfig" .Values.sources) (empty .Values.kubeconfigSecrets) }}
{{- fail "source kubeconfig needs kubeconfigSecrets" }}
{{- end }}
{{- if and .Values.clusterGateway.apiService (not .Values.clusterGateway.api) }}
{{- fail "clusterGateway.apiService=true needs clusterGateway.api=true" }}
{{- end }}
{{- if and .Values.karmada.search (not (has "karmada" .Values.sources)) }}
{{- fail "karmada.search needs the source karmada" }}
{{- end }}
{{- if and .Values.karmada.search (eq .Values.index.resources "none") }}
{{- fail "karmada.search needs an index: give index.resources, also \"\" for what is indexed of clusters that are not Karmada's" }}
{{- end }}
{{- if and .Values.karmada.searchApiService (ne .Values.karmada.search "replace") }}
{{- fail "karmada.searchApiService=true needs karmada.search=replace" }}
{{- end }}
{{- if and (or .Values.index.apiService .Values.index.clusterpediaApiService .Values.karmada.searchApiService) (gt (int .Values.replicas) 1) (ne .Values.index.store "postgres") }}
{{- fail "index.apiService, index.clusterpediaApiService and karmada.searchApiService need replicas=1 or index.store=postgres: in SQLite each replica keeps an index of its own, whose resourceVersions and continue tokens the others do not know" }}
{{- end }}
{{- if eq .Values.index.store "postgres" }}
{{- if eq .Values.index.resources "none" }}
{{- fail "index.store=postgres needs index.resources" }}
{{- end }}
{{- with .Values.index.postgres }}
{{- if empty .host }}
{{- fail "index.store=postgres needs index.postgres.host" }}
{{- end }}
{{- if and (empty .existingSecret) (empty .clientSecretName) }}
{{- fail "index.store=postgres needs index.postgres.existingSecret (a Secret with the key password) or index.postgres.clientSecretName" }}
{{- end }}
{{- end }}
{{- if .Values.index.maxBytes }}
{{- fail "index.maxBytes is for index.store=sqlite: the disk of a database is bounded where the database runs" }}
{{- end }}
{{- else if .Values.networkPolicy.databaseTo }}
{{- fail "networkPolicy.databaseTo needs index.store=postgres" }}
{{- end }}
{{- if and (ne .Values.index.resources "none") (ne .Values.index.store "postgres") (eq .Values.state.sizeLimit "64Mi") }}
{{- fail "index.resources needs room: set state.sizeLimit, e.g. to 2Gi; a pod whose volume grows over it is evicted" }}
{{- end }}
{{- if and (eq .Values.index.resources "none") (or .Values.index.apiService .Values.index.clusterpediaApiService) }}
{{- fail "index.apiService and index.clusterpediaApiService need index.resources" }}
{{- end }}
{{- if and .Values.clusterGateway.updateHealth (not (has "cluster-gateway" .Values.sources)) }}
{{- fail "clusterGateway.updateHealth=true needs the source cluster-gateway" }}
{{- end }}
{{- if and (eq .Values.servingCertificate.mode "secret") (empty .Values.servingCertificate.caBundle) (include "portcullis.apiServices" .) }}
{{- fail "servingCertificate.mode=secret needs servingCertificate.caBundle: the hub never skips verification" }}
{{- end }}
{{- if and .Values.identity.allowPrivileged (empty .Values.identity.privilegedUser) }}
{{- fail "identity.allowPrivileged=true needs identity.privilegedUser" }}
{{- end }}
{{- if and (empty .Values.audit.policy) (or .Values.audit.overflowPolicy .Values.audit.webhook.kubeconfigSecret) }}
{{- fail "audit.overflowPolicy and audit.webhook need audit.policy: without a policy nothing is audited" }}
{{- end }}
{{- if and .Values.audit.policy (empty .Values.audit.log.path) (empty .Values.audit.webhook.kubeconfigSecret) }}
{{- fail "audit.policy needs audit.log.path or audit.webhook.kubeconfigSecret: events must go somewhere" }}
{{- end }}
{{- end }}
