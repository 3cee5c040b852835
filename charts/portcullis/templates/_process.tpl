{{/* Settings without a flag. */}}
{{- define "portcullis.config" -}}
apiVersion: config.portcullis.io/v1alpha1
kind: GatewayConfiguration
logLevel: {{ .Values.log.level }}
shutdownDelaySeconds: {{ .Values.shutdown.delaySeconds }}
shutdownGraceSeconds: {{ .Values.shutdown.graceSeconds }}
probeIntervalSeconds: {{ .Values.probeIntervalSeconds }}
{{- with .Values.index.rules }}
indexRules:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.settings }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Command line of the process: one list item for each flag. */}}
{{- define "portcullis.args" -}}
{{- $v6 := eq .Values.ipFamily "IPv6" -}}
- serve
- --config=/etc/portcullis/config/config.yaml
- --listen={{ ternary "[::]" "0.0.0.0" $v6 }}:8443
{{- if .Values.metrics.enabled }}
- --ops-listen={{ ternary "[$(POD_IP)]" "$(POD_IP)" $v6 }}:{{ .Values.metrics.port }}
{{- else }}
- --ops-listen=127.0.0.1:{{ .Values.metrics.port }}
{{- end }}
- --data-dir=/var/lib/portcullis
{{- if gt (int .Values.workers) 1 }}
- --workers={{ int .Values.workers }}
{{- end }}
- --sources={{ join "," .Values.sources }}
{{- range .Values.kubeconfigSecrets }}
- --kubeconfig=/etc/portcullis/kubeconfigs/{{ .name }}/{{ .key }}
{{- end }}
{{- if has "ocm" .Values.sources }}
- --managed-service-account={{ .Values.ocm.managedServiceAccount }}
{{- end }}
{{- if has "cluster-gateway" .Values.sources }}
- --secret-namespace={{ .Values.clusterGateway.secretNamespace }}
{{- end }}
{{- if has "karmada" .Values.sources }}
- --karmada-namespace={{ .Values.karmada.secretNamespace }}
{{- end }}
{{- if and (include "portcullis.readsNamespaces" .) .Values.secretNamespaces (not .Values.clusterWideSecrets) }}
- --secret-namespaces={{ join "," .Values.secretNamespaces }}
{{- end }}
{{- if not .Values.clusterGateway.api }}
- --no-cluster-gateway-api
{{- end }}
{{- with .Values.ocm.clusterProxy }}
{{- if .host }}
- --proxy-host={{ .host }}
- --proxy-port={{ .port }}
{{- if .caSecretName }}
- --proxy-ca-cert=/etc/portcullis/cluster-proxy-ca/ca.crt
{{- end }}
{{- if .clientSecretName }}
- --proxy-cert=/etc/portcullis/cluster-proxy-client/tls.crt
- --proxy-key=/etc/portcullis/cluster-proxy-client/tls.key
{{- end }}
{{- end }}
{{- end }}
- --authorize-verb={{ .Values.authorization.verb }}
{{- if .Values.authorization.subpath }}
- --subpath-authorization
{{- end }}
- --authorization-webhook-cache-authorized-ttl={{ .Values.authorization.authorizedTtl }}
- --authorization-webhook-cache-unauthorized-ttl={{ .Values.authorization.unauthorizedTtl }}
- --authentication-token-webhook-cache-ttl={{ .Values.authentication.tokenReviewTtl }}
{{- with .Values.authentication.audiences }}
- --api-audiences={{ join "," . }}
{{- end }}
{{- with .Values.authentication.hubOrigins }}
- --hub-origins={{ join "," . }}
{{- end }}
{{- if .Values.authentication.config }}
- --authentication-config=/etc/portcullis/config/authentication.yaml
{{- end }}
{{- if .Values.authorization.rules }}
- --authorization-rules=/etc/portcullis/config/rules.yaml
{{- end }}
- --service-account-identity={{ .Values.identity.serviceAccounts }}
- --impersonation-mode={{ .Values.identity.impersonation }}
{{- if .Values.identity.forwardSystemMasters }}
- --forward-system-masters
{{- end }}
{{- with .Values.identity.forwardReserved }}
- --forward-reserved={{ join "," . }}
{{- end }}
{{- if .Values.identity.exchange }}
- --identity-exchange=/etc/portcullis/config/identity-exchange.yaml
{{- end }}
{{- if .Values.identity.allowPrivileged }}
- --allow-privileged-identity
- --privileged-user={{ .Values.identity.privilegedUser }}
{{- end }}
{{- with .Values.audit }}
{{- if .policy }}
- --audit-policy-file=/etc/portcullis/config/audit-policy.yaml
{{- if .overflowPolicy }}
- --audit-overflow-policy-file=/etc/portcullis/config/audit-overflow-policy.yaml
{{- end }}
{{- if .log.path }}
- --audit-log-path={{ .log.path }}
- --audit-log-maxage={{ int64 .log.maxAge }}
- --audit-log-maxbackup={{ int64 .log.maxBackups }}
- --audit-log-maxsize={{ int64 .log.maxSize }}
{{- end }}
{{- if .webhook.kubeconfigSecret }}
- --audit-webhook-config-file=/etc/portcullis/audit-webhook/kubeconfig
- --audit-webhook-mode={{ .webhook.mode }}
- --audit-webhook-spool-maxsize={{ int64 .webhook.spoolMaxSize }}
{{- end }}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.limits }}
{{- $flag := kebabcase $name }}
{{- if kindIs "bool" $value }}
- --{{ ternary $flag (printf "no-%s" $flag) $value }}
{{- else }}
- --{{ $flag }}={{ if kindIs "string" $value }}{{ $value }}{{ else }}{{ int64 $value }}{{ end }}
{{- end }}
{{- end }}
{{- with .Values.index.resources }}
- {{ printf "--index-resources=%s" . | quote }}
{{- end }}
{{- with .Values.index.clusters }}
- {{ printf "--index-clusters=%s" . | quote }}
{{- end }}
{{- with .Values.index.exclude }}
- {{ printf "--index-exclude=%s" . | quote }}
{{- end }}
{{- if .Values.index.collections }}
- --hub-collections
- --collections-lease={{ .Release.Namespace }}/{{ include "portcullis.fullname" . }}-collections
{{- end }}
{{- with .Values.index.maxBytes }}
- --index-max-bytes={{ . }}
{{- end }}
{{- with .Values.index.rightsMaxAge }}
- --index-rights-max-age={{ . }}
{{- end }}
{{- with .Values.index.identity }}
- --index-identity={{ . }}
{{- end }}
{{- if .Values.importPolicies.enabled }}
- --import-policies
- --clusterpedia-namespace={{ .Values.importPolicies.namespace }}
{{- with .Values.importPolicies.shardingName }}
- --sharding-name={{ . }}
{{- end }}
{{- end }}
{{- with .Values.karmada.search }}
- --karmada-search={{ . }}
{{- end }}
{{- if .Values.joins.enabled }}
- --cluster-joins
- --joins-lease={{ .Release.Namespace }}/{{ include "portcullis.fullname" . }}-joins
- --joins-bootstrap-namespaces={{ join "," (default (list .Release.Namespace) .Values.joins.bootstrapNamespaces) }}
{{- end }}
{{- if .Values.tenants.enabled }}
- --tenant-bindings
- --tenants-lease={{ .Release.Namespace }}/{{ include "portcullis.fullname" . }}-tenants
{{- if .Values.tenants.clusterPermissions }}
- --cluster-permissions
{{- end }}
{{- end }}
{{- if .Values.clusterProfiles.enabled }}
- --publish-cluster-profiles={{ .Values.clusterProfiles.namespace | default .Release.Namespace }}
- {{ printf "--profiles-address=%s" (.Values.clusterProfiles.address | default (printf "https://%s.%s.svc:%d" (include "portcullis.fullname" .) .Release.Namespace (int .Values.service.port))) | quote }}
- --profiles-lease={{ .Release.Namespace }}/{{ include "portcullis.fullname" . }}-profiles
{{- end }}
{{- if .Values.works.enabled }}
- --execute-works
- --works-lease={{ .Release.Namespace }}/{{ include "portcullis.fullname" . }}-works
- {{ printf "--works-hub-url=%s" (required "works.hubUrl must be the address of the hub as clusters see it" .Values.works.hubUrl) | quote }}
- --works-default-executor={{ .Values.works.defaultExecutor }}
{{- if .Values.works.acceptUnstamped }}
- --works-accept-unstamped
{{- end }}
{{- with .Values.works.clusterSets }}
- --works-cluster-sets={{ join "," . }}
{{- end }}
{{- end }}
{{- if eq .Values.index.store "postgres" }}
{{- with .Values.index.postgres }}
- {{ printf "--index-store=postgres://%s@%s:%d/%s?sslmode=%s%s%s" .user .host (int .port) .database .sslmode (ternary "&sslrootcert=/etc/portcullis/index-store-ca/ca.crt" "" (not (empty .caSecretName))) (ternary "&sslcert=/etc/portcullis/index-store-client/tls.crt&sslkey=/etc/portcullis/index-store-client/tls.key" "" (not (empty .clientSecretName))) | quote }}
{{- if .existingSecret }}
- --index-store-password-file=/etc/portcullis/index-store/password
{{- end }}
{{- with .schema }}
- --index-store-schema={{ . }}
{{- end }}
- --index-store-connections={{ int .connections }}
{{- end }}
{{- end }}
{{- with .Values.console }}
{{- if not .enabled }}
- --console=false
{{- else if .oidc.issuer }}
- {{ printf "--console-oidc-issuer=%s" .oidc.issuer | quote }}
- {{ printf "--console-oidc-client-id=%s" (required "console.oidc.clientId must be the public client of console.oidc.issuer" .oidc.clientId) | quote }}
{{- with .oidc.scopes }}
- {{ printf "--console-oidc-scopes=%s" . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.clusterDomain }}
- --cluster-domain={{ . }}
{{- end }}
{{- if eq .Values.servingCertificate.mode "self" }}
- --serving-secret={{ .Release.Namespace }}/{{ include "portcullis.servingSecretName" . }}
- --serving-names={{ include "portcullis.servingNames" . }}
{{- with include "portcullis.apiServices" . }}
- --api-services={{ . }}
{{- end }}
{{- else }}
- --tls-cert-file=/etc/portcullis/serving/tls.crt
- --tls-private-key-file=/etc/portcullis/serving/tls.key
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* Secrets of the index's database by the name of their volume. */}}
{{- define "portcullis.indexStoreSecrets" -}}
{{- with .Values.index.postgres }}
{{- with .existingSecret }}
index-store: { name: {{ . }}, keys: [password] }
{{- end }}
{{- with .caSecretName }}
index-store-ca: { name: {{ . }}, keys: [ca.crt] }
{{- end }}
{{- with .clientSecretName }}
index-store-client: { name: {{ . }}, keys: [tls.crt, tls.key] }
{{- end }}
{{- end }}
{{- end }}

{{- define "portcullis.volumeMounts" -}}
- name: config
  mountPath: /etc/portcullis/config
  readOnly: true
- name: state
  mountPath: /var/lib/portcullis
{{- if ne .Values.servingCertificate.mode "self" }}
- name: serving
  mountPath: /etc/portcullis/serving
  readOnly: true
{{- end }}
{{- range $index, $secret := .Values.kubeconfigSecrets }}
- name: kubeconfig-{{ $index }}
  mountPath: /etc/portcullis/kubeconfigs/{{ $secret.name }}
  readOnly: true
{{- end }}
{{- if .Values.ocm.clusterProxy.host }}
{{- if .Values.ocm.clusterProxy.caSecretName }}
- name: cluster-proxy-ca
  mountPath: /etc/portcullis/cluster-proxy-ca
  readOnly: true
{{- end }}
{{- if .Values.ocm.clusterProxy.clientSecretName }}
- name: cluster-proxy-client
  mountPath: /etc/portcullis/cluster-proxy-client
  readOnly: true
{{- end }}
{{- end }}
{{- if and .Values.audit.policy .Values.audit.webhook.kubeconfigSecret }}
- name: audit-webhook
  mountPath: /etc/portcullis/audit-webhook
  readOnly: true
{{- end }}
{{- if eq .Values.index.store "postgres" }}
{{- range $name, $secret := include "portcullis.indexStoreSecrets" . | fromYaml }}
- name: {{ $name }}
  mountPath: /etc/portcullis/{{ $name }}
  readOnly: true
{{- end }}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "portcullis.volumes" -}}
- name: config
  configMap:
    name: {{ include "portcullis.fullname" . }}
- name: state
  emptyDir:
    sizeLimit: {{ .Values.state.sizeLimit }}
{{- if ne .Values.servingCertificate.mode "self" }}
- name: serving
  secret:
    secretName: {{ include "portcullis.servingSecretName" . }}
{{- end }}
{{- range $index, $secret := .Values.kubeconfigSecrets }}
- name: kubeconfig-{{ $index }}
  secret:
    secretName: {{ $secret.name }}
    items:
      - key: {{ $secret.key }}
        path: {{ $secret.key }}
{{- end }}
{{- with .Values.ocm.clusterProxy }}
{{- if .host }}
{{- if .caSecretName }}
- name: cluster-proxy-ca
  secret:
    secretName: {{ .caSecretName }}
{{- end }}
{{- if .clientSecretName }}
- name: cluster-proxy-client
  secret:
    secretName: {{ .clientSecretName }}
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.audit.policy .Values.audit.webhook.kubeconfigSecret }}
- name: audit-webhook
  secret:
    secretName: {{ .Values.audit.webhook.kubeconfigSecret }}
    items:
      - key: kubeconfig
        path: kubeconfig
{{- end }}
{{- if eq .Values.index.store "postgres" }}
{{- range $name, $secret := include "portcullis.indexStoreSecrets" . | fromYaml }}
- name: {{ $name }}
  secret:
    secretName: {{ $secret.name }}
    items:
      {{- range $secret.keys }}
      - key: {{ . }}
        path: {{ . }}
      {{- end }}
{{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
