// Verdicts by the rules of argo-kinds.ts. A line has the kind, what of an object the rule reads, and the verdict.
// `Ready=True:Reason@2` is a condition, 2 being its observedGeneration.
export const argoVerdicts = `
addons.cluster.x-k8s.io/v1beta1 ClusterResourceSet | {"status":{"conditions":["ResourcesApplied=False:RemoteClusterClientFailed"]}} | waiting: ResourcesApplied is not True: RemoteClusterClientFailed
addons.cluster.x-k8s.io/v1beta1 ClusterResourceSet | {"status":{"conditions":["ResourcesApplied=True"]}} | ready
apps.3scale.net/v1alpha1 APIManager | {"status":{"conditions":["Available=False:MissingWatchedSecrets"]}} | waiting: Available is not True: MissingWatchedSecrets
apps.3scale.net/v1alpha1 APIManager | {"status":{"conditions":["Available=True"]}} | ready
apps.kruise.io/v1alpha1 BroadcastJob | {"status":{"phase":"completed"}} | ready
apps.kruise.io/v1alpha1 BroadcastJob | {"status":{"phase":"failed"}} | failed: phase is failed
apps.kruise.io/v1alpha1 BroadcastJob | {"status":{"phase":"running"}} | waiting: phase is running
apps.openshift.io/v1 DeploymentConfig | {"status":{"readyReplicas":20}} | waiting: Progressing: no reason given
apps.openshift.io/v1 DeploymentConfig | {"status":{"conditions":["Available=True","Progressing=True:NewReplicationControllerAvailable"]}} | ready
argoproj.io/v1alpha1 AnalysisRun | {"status":{"phase":"Pending"}} | waiting: phase is Pending
argoproj.io/v1alpha1 AnalysisRun | {"status":{"phase":"Successful"}} | ready
argoproj.io/v1alpha1 AnalysisRun | {"status":{"phase":"Failed"}} | failed: phase is Failed
argoproj.io/v1alpha1 ApplicationSet | {"status":{"conditions":["ResourcesUpToDate=True"]}} | ready
argoproj.io/v1alpha1 ApplicationSet | {"status":{"conditions":["ErrorOccurred=True:ApplicationGenerationFromParamsError"]}} | waiting: ErrorOccurred: ApplicationGenerationFromParamsError
argoproj.io/v1alpha1 CronWorkflow | {} | ready
argoproj.io/v1alpha1 CronWorkflow | {"status":{"conditions":["SpecError=True"]}} | failed: SpecError: no reason given
argoproj.io/v1alpha1 CronWorkflow | {"status":{"conditions":["SubmissionError=True"]}} | waiting: SubmissionError: no reason given
argoproj.io/v1alpha1 EventBus | {"status":{"conditions":["Deployed=True"]}} | ready
argoproj.io/v1alpha1 EventBus | {"status":{"conditions":["Deployed=False:JetStreamStatefulSetFailed"]}} | waiting: Deployed is not True: JetStreamStatefulSetFailed
azure.m.upbound.io/v1beta1 ResourceGroup | {"status":{"conditions":["Ready=True","Synced=False:ReconcileError"]}} | waiting: Synced is not True: ReconcileError
bitnami.com/v1alpha1 SealedSecret | {"status":{"conditions":["Synced=False"]}} | failed: Synced: no reason given
bitnami.com/v1alpha1 SealedSecret | {"status":{"conditions":["Synced=True"]}} | ready
camel.apache.org/v1 Integration | {"status":{"phase":"Deploying"}} | waiting: has no condition Ready yet
camel.apache.org/v1 Integration | {"status":{"conditions":["Ready=True"]}} | ready
capabilities.3scale.net/v1alpha1 Tenant | {"status":{"tenantId":123456,"adminId":789,"conditions":["Ready=True"]}} | ready
capabilities.3scale.net/v1alpha1 Tenant | {"status":{"conditions":["Ready=False"]}} | waiting: Ready is not True: no reason given
capabilities.3scale.net/v1beta1 ActiveDoc | {"status":{"conditions":["Ready=True"]}} | ready
capabilities.3scale.net/v1beta1 ActiveDoc | {"status":{"conditions":["Failed=True"]}} | waiting: Failed: no reason given
capabilities.3scale.net/v1beta1 ActiveDoc | {"status":{"conditions":["Invalid=True"]}} | failed: Invalid: no reason given
capabilities.3scale.net/v1beta1 Application | {"status":{"conditions":["Ready=True"]}} | ready
capabilities.3scale.net/v1beta1 Application | {"status":{"conditions":["Ready=False"]}} | waiting: Ready is not True: no reason given
capabilities.3scale.net/v1beta1 ApplicationAuth | {"status":{"conditions":["Ready=True"]}} | ready
capabilities.3scale.net/v1beta1 ApplicationAuth | {"status":{"conditions":["Failed=True"]}} | waiting: Failed: no reason given
capabilities.3scale.net/v1beta1 Backend | {"status":{"conditions":["Synced=True"]}} | ready
capabilities.3scale.net/v1beta1 Backend | {"status":{"conditions":["Failed=True"]}} | waiting: Failed: no reason given
capabilities.3scale.net/v1beta1 Backend | {"status":{"conditions":["Invalid=True"]}} | failed: Invalid: no reason given
capabilities.3scale.net/v1beta1 CustomPolicyDefinition | {"status":{"conditions":["Ready=True"]}} | ready
capabilities.3scale.net/v1beta1 CustomPolicyDefinition | {"status":{"conditions":["Invalid=True"]}} | failed: Invalid: no reason given
capabilities.3scale.net/v1beta1 CustomPolicyDefinition | {"status":{"conditions":[]}} | waiting: has no condition Ready yet
capabilities.3scale.net/v1beta1 DeveloperAccount | {"status":{"conditions":["Ready=True"]}} | ready
capabilities.3scale.net/v1beta1 DeveloperAccount | {"status":{"conditions":[]}} | waiting: has no condition Ready yet
capabilities.3scale.net/v1beta1 DeveloperAccount | {"status":{"conditions":["Invalid=True"]}} | failed: Invalid: no reason given
capabilities.3scale.net/v1beta1 DeveloperUser | {"status":{"conditions":["Ready=True"]}} | ready
capabilities.3scale.net/v1beta1 DeveloperUser | {"status":{"developerUserState":"suspended"}} | waiting: has no condition Ready yet
capabilities.3scale.net/v1beta1 DeveloperUser | {"status":{"conditions":["Invalid=True"]}} | failed: Invalid: no reason given
capabilities.3scale.net/v1beta1 OpenAPI | {"status":{"conditions":["Ready=True"]}} | ready
capabilities.3scale.net/v1beta1 OpenAPI | {"status":{"conditions":["Failed=True"]}} | waiting: Failed: no reason given
capabilities.3scale.net/v1beta1 OpenAPI | {"status":{"conditions":["Invalid=True"]}} | failed: Invalid: no reason given
capabilities.3scale.net/v1beta1 Product | {"status":{"conditions":["Synced=True"]}} | ready
capabilities.3scale.net/v1beta1 Product | {"status":{"conditions":["Failed=True"]}} | waiting: Failed: no reason given
capabilities.3scale.net/v1beta1 Product | {"status":{"conditions":["Invalid=True"]}} | failed: Invalid: no reason given
capabilities.3scale.net/v1beta1 ProxyConfigPromote | {"status":{"conditions":["Ready=True"]}} | ready
capabilities.3scale.net/v1beta1 ProxyConfigPromote | {"status":{"conditions":["Failed=True"]}} | waiting: Failed: no reason given
cdi.kubevirt.io/v1beta1 DataVolume | {"status":{"phase":"ImportInProgress"}} | waiting: phase is ImportInProgress
cdi.kubevirt.io/v1beta1 DataVolume | {"status":{"phase":"Succeeded"}} | ready
cert-manager.io/v1 ClusterIssuer | {"status":{"conditions":["Ready=True"]}} | ready
cert-manager.io/v1 ClusterIssuer | {"status":{"conditions":["Ready=False:ErrRegisterACMEAccount"]}} | waiting: Ready is not True: ErrRegisterACMEAccount
cert-manager.io/v1alpha2 Certificate | {"status":{"conditions":["Issuing=True:DoesNotExist"]}} | waiting: Issuing: DoesNotExist
cert-manager.io/v1alpha2 Certificate | {"status":{"conditions":["Ready=True"]}} | ready
cert-manager.io/v1alpha2 Issuer | {"status":{"conditions":["Ready=True"]}} | ready
cert-manager.io/v1alpha2 Issuer | {"status":{"conditions":["Ready=False:ErrRegisterACMEAccount"]}} | waiting: Ready is not True: ErrRegisterACMEAccount
certmanager.k8s.io/v1alpha1 Certificate | {"status":{"conditions":["Ready=False:ConfigError"]}} | waiting: Ready is not True: ConfigError
certmanager.k8s.io/v1alpha1 Certificate | {"status":{"conditions":["Ready=True"]}} | ready
certmanager.k8s.io/v1alpha1 Issuer | {"status":{"conditions":["Ready=True"]}} | ready
certmanager.k8s.io/v1alpha1 Issuer | {"status":{"conditions":["Ready=False:ErrRegisterACMEAccount"]}} | waiting: Ready is not True: ErrRegisterACMEAccount
cloudfront.aws.crossplane.io/v1alpha1 Distribution | {"status":{"conditions":["Ready=False:Creating"]}} | waiting: Ready is not True: Creating
cloudfront.aws.crossplane.io/v1alpha1 Distribution | {"status":{"conditions":["Ready=True"]}} | ready
cluster.x-k8s.io/v1alpha3 Cluster | {"status":{"phase":"Provisioning"}} | waiting: phase is Provisioning
cluster.x-k8s.io/v1alpha3 Cluster | {"status":{"phase":"Failed"}} | failed: phase is Failed
cluster.x-k8s.io/v1alpha3 Cluster | {"status":{"phase":"Provisioned"}} | ready
cluster.x-k8s.io/v1alpha3 Machine | {"status":{"conditions":["Ready=False:Cloning"]}} | waiting: Ready is not True: Cloning
cluster.x-k8s.io/v1alpha3 Machine | {"status":{"phase":"Failed"}} | failed: phase is Failed
cluster.x-k8s.io/v1alpha3 Machine | {"status":{"phase":"Running"}} | ready
cluster.x-k8s.io/v1alpha3 MachineDeployment | {"status":{"phase":"ScalingUp"}} | waiting: phase is ScalingUp
cluster.x-k8s.io/v1alpha3 MachineDeployment | {"status":{"phase":"Failed"}} | failed: phase is Failed
cluster.x-k8s.io/v1alpha3 MachineDeployment | {"status":{"phase":"Running"}} | ready
cluster.x-k8s.io/v1beta1 MachineHealthCheck | {"status":{"currentHealthy":1,"expectedMachines":3,"observedGeneration":3}} | waiting: currentHealthy is 1, expectedMachines is 3
cluster.x-k8s.io/v1beta1 MachineHealthCheck | {"status":{"currentHealthy":3,"expectedMachines":3,"observedGeneration":3}} | ready
cluster.x-k8s.io/v1beta1 MachinePool | {"status":{"phase":"Running"}} | ready
cluster.x-k8s.io/v1beta1 MachinePool | {"status":{"phase":"Provisioning"}} | waiting: phase is Provisioning
cluster.x-k8s.io/v1beta1 MachinePool | {"status":{"phase":"Failed"}} | failed: phase is Failed
controlplane.cluster.x-k8s.io/v1beta2 AWSManagedControlPlane | {"status":{"conditions":["Ready=True"]}} | ready
controlplane.cluster.x-k8s.io/v1beta2 AWSManagedControlPlane | {"status":{"conditions":["Ready=False"]}} | waiting: Ready is not True: no reason given
coralogix.com/v1alpha1 RecordingRuleGroupSet | {"status":{"conditions":["RemoteSynced=False:RemoteCreationFailed"]}} | waiting: RemoteSynced is not True: RemoteCreationFailed
coralogix.com/v1alpha1 RecordingRuleGroupSet | {"status":{"conditions":["RemoteSynced=True"]}} | ready
coralogix.com/v1beta1 Alert | {"status":{"conditions":["RemoteSynced=False:RemoteCreationFailed"]}} | waiting: RemoteSynced is not True: RemoteCreationFailed
coralogix.com/v1beta1 Alert | {"status":{"conditions":["RemoteSynced=True"]}} | ready
core.cnrm.cloud.google.com/v1beta1 ConfigConnector | {"status":{"healthy":true}} | ready
core.cnrm.cloud.google.com/v1beta1 ConfigConnector | {"status":{"healthy":false}} | waiting: healthy is false
core.cnrm.cloud.google.com/v1beta1 ConfigConnectorContext | {"status":{"healthy":true}} | ready
core.cnrm.cloud.google.com/v1beta1 ConfigConnectorContext | {"status":{"healthy":false}} | waiting: healthy is false
core.gardener.cloud/v1beta1 Shoot | {"status":{"lastOperation":{"state":"Succeeded"}}} | ready
core.gardener.cloud/v1beta1 Shoot | {"status":{"conditions":["APIServerAvailable=False:HealthzRequestSucceeded"]}} | waiting: APIServerAvailable is not True: HealthzRequestSucceeded
core.spinkube.dev/v1alpha1 SpinApp | {"status":{"conditions":["Available=True"]}} | ready
core.spinkube.dev/v1alpha1 SpinApp | {"metadata":{"generation":8},"status":{"conditions":["Progressing=False:ProgressDeadlineExceeded"]}} | waiting: Progressing: ProgressDeadlineExceeded
datadoghq.com/v1alpha1 DatadogMetric | {"status":{"conditions":["Error=True:Unable to fetch data from Datadog"]}} | waiting: Error: Unable to fetch data from Datadog
datadoghq.com/v1alpha1 DatadogMetric | {} | ready
db.atlasgo.io/v1alpha1 AtlasMigration | {"status":{"conditions":["Ready=False:Reconciling"]}} | waiting: Ready is not True: Reconciling
db.atlasgo.io/v1alpha1 AtlasMigration | {"status":{"conditions":["Ready=True"]}} | ready
db.atlasgo.io/v1alpha1 AtlasSchema | {"status":{"conditions":["Ready=False:Reconciling"]}} | waiting: Ready is not True: Reconciling
external-secrets.io/v1alpha1 ExternalSecret | {"status":{"conditions":["Ready=False:SecretSyncedError"]}} | waiting: Ready is not True: SecretSyncedError
external-secrets.io/v1alpha1 ExternalSecret | {"status":{"conditions":["Ready=True"]}} | ready
external-secrets.io/v1alpha1 PushSecret | {"status":{"conditions":["Ready=False:Errored"]}} | waiting: Ready is not True: Errored
external-secrets.io/v1alpha1 PushSecret | {"status":{"conditions":["Ready=True"]}} | ready
external-secrets.io/v1beta1 ClusterExternalSecret | {"status":{"failedNamespaces":[]}} | waiting: has no condition Ready yet
external-secrets.io/v1beta1 ClusterExternalSecret | {"status":{"conditions":["Ready=True"]}} | ready
external-secrets.io/v1beta1 ClusterSecretStore | {"status":{"conditions":["Ready=False:ValidationFailed"]}} | waiting: Ready is not True: ValidationFailed
external-secrets.io/v1beta1 ClusterSecretStore | {"status":{"conditions":["Ready=True"]}} | ready
external-secrets.io/v1beta1 SecretStore | {"status":{"conditions":["Ready=False:ValidationFailed"]}} | waiting: Ready is not True: ValidationFailed
external-secrets.io/v1beta1 SecretStore | {"status":{"conditions":["Ready=True"]}} | ready
flagger.app/v1beta1 Canary | {"status":{"phase":"Progressing"}} | waiting: phase is Progressing
flagger.app/v1beta1 Canary | {"status":{"phase":"Failed"}} | failed: phase is Failed
flagger.app/v1beta1 Canary | {"status":{"phase":"Succeeded"}} | ready
game.kruise.io/v1alpha1 GameServer | {"status":{"currentState":"Ready","desiredState":"Ready"}} | ready
game.kruise.io/v1alpha1 GameServer | {"status":{"currentState":"Creating"}} | waiting: currentState is Creating
game.kruise.io/v1alpha1 GameServerSet | {"status":{"observedGeneration":1,"replicas":3,"updatedReadyReplicas":3}} | ready
game.kruise.io/v1alpha1 GameServerSet | {"status":{"observedGeneration":1,"replicas":3}} | waiting: updatedReadyReplicas is 0, replicas is 3
gateway.networking.k8s.io/v1 BackendTLSPolicy | {"status":{"ancestors":[{"conditions":["Accepted=True"]}]}} | ready
gateway.networking.k8s.io/v1 BackendTLSPolicy | {"status":{"ancestors":[{"conditions":["Accepted=True"]},{"conditions":["ResolvedRefs=False:InvalidCACertificateRef","Accepted=True"]}]}} | waiting: status.ancestors[1]: ResolvedRefs is not True: InvalidCACertificateRef
gateway.networking.k8s.io/v1 GRPCRoute | {"status":{"parents":[{"conditions":["Accepted=True"]}]}} | ready
gateway.networking.k8s.io/v1 GRPCRoute | {"status":{"parents":[{"conditions":["Accepted=True","ResolvedRefs=False:BackendNotFound"]}]}} | waiting: status.parents[0]: ResolvedRefs is not True: BackendNotFound
gateway.networking.k8s.io/v1 Gateway | {"status":{"conditions":["Programmed=True","Accepted=True"]}} | ready
gateway.networking.k8s.io/v1 Gateway | {"status":{"conditions":["Programmed=True","Accepted=True","ResolvedRefs=False:InvalidGatewayClass"]}} | waiting: ResolvedRefs is not True: InvalidGatewayClass
gateway.networking.k8s.io/v1 GatewayClass | {"status":{"conditions":["Accepted=True"]}} | ready
gateway.networking.k8s.io/v1 GatewayClass | {"status":{"conditions":["Accepted=False:InvalidParameters"]}} | waiting: Accepted is not True: InvalidParameters
gateway.networking.k8s.io/v1 HTTPRoute | {"status":{"parents":[{"conditions":["Accepted=True"]}]}} | ready
gateway.networking.k8s.io/v1 HTTPRoute | {"status":{"parents":[{"conditions":["Accepted=True","ResolvedRefs=False:BackendNotFound"]}]}} | waiting: status.parents[0]: ResolvedRefs is not True: BackendNotFound
gateway.solo.io/v1 Gateway | {"status":{"statuses":{"gloo-system":{"state":"Warning"}}}} | waiting: status.statuses.gloo-system: state is Warning
gateway.solo.io/v1 Gateway | {"status":{"statuses":{"gloo-system":{"state":"Accepted"}}}} | ready
gateway.solo.io/v1 MatchableHttpGateway | {"status":{"statuses":{"gloo-system":{"state":"Warning"}}}} | waiting: status.statuses.gloo-system: state is Warning
gateway.solo.io/v1 MatchableHttpGateway | {"status":{"statuses":{"gloo-system":{"state":"Accepted"}}}} | ready
gateway.solo.io/v1 RouteOption | {"status":{"statuses":{"gloo-system":{"state":"Warning"}}}} | waiting: status.statuses.gloo-system: state is Warning
gateway.solo.io/v1 RouteOption | {"status":{"statuses":{"gloo-system":{"state":"Accepted"}}}} | ready
gateway.solo.io/v1 RouteTable | {"status":{"statuses":{"gloo-system":{"state":"Warning"}}}} | waiting: status.statuses.gloo-system: state is Warning
gateway.solo.io/v1 RouteTable | {"status":{"statuses":{"gloo-system":{"state":"Accepted"}}}} | ready
gateway.solo.io/v1 VirtualHostOption | {"status":{"statuses":{"gloo-system":{"state":"Warning"}}}} | waiting: status.statuses.gloo-system: state is Warning
gateway.solo.io/v1 VirtualHostOption | {"status":{"statuses":{"gloo-system":{"state":"Accepted"}}}} | ready
gateway.solo.io/v1 VirtualService | {"status":{"statuses":{"gloo-system":{"state":"Warning"}}}} | waiting: status.statuses.gloo-system: state is Warning
gateway.solo.io/v1 VirtualService | {"status":{"statuses":{"gloo-system":{"state":"Accepted"}}}} | ready
gloo.solo.io/v1 Proxy | {"status":{"statuses":{"gloo-system":{"state":"Warning"}}}} | waiting: status.statuses.gloo-system: state is Warning
gloo.solo.io/v1 Proxy | {"status":{"statuses":{"gloo-system":{"state":"Accepted"}}}} | ready
gloo.solo.io/v1 Settings | {"status":{"statuses":{"gloo-system":{"state":"Warning"}}}} | waiting: status.statuses.gloo-system: state is Warning
gloo.solo.io/v1 Settings | {"status":{"statuses":{"gloo-system":{"state":"Accepted"}}}} | ready
gloo.solo.io/v1 Upstream | {"status":{"statuses":{"gloo-system":{"state":"Warning"}}}} | waiting: status.statuses.gloo-system: state is Warning
gloo.solo.io/v1 Upstream | {"status":{"statuses":{"gloo-system":{"state":"Accepted"}}}} | ready
gloo.solo.io/v1 UpstreamGroup | {"status":{"statuses":{"gloo-system":{"state":"Warning"}}}} | waiting: status.statuses.gloo-system: state is Warning
gloo.solo.io/v1 UpstreamGroup | {"status":{"statuses":{"gloo-system":{"state":"Accepted"}}}} | ready
grafana-org-operator.kubitus-project.gitlab.io/v1beta1 GrafanaInstance | {"status":{"conditions":["Ready=True"]}} | ready
grafana-org-operator.kubitus-project.gitlab.io/v1beta1 GrafanaInstance | {"status":{"conditions":["Ready=False:Unreachable"]}} | waiting: Ready is not True: Unreachable
grafana.integreatly.org/v1beta1 Grafana | {} | waiting: has no status yet
grafana.integreatly.org/v1beta1 Grafana | {"status":{"stage":"complete","stageStatus":"success"}} | ready
grafana.integreatly.org/v1beta1 GrafanaDashboard | {"status":{"conditions":["DashboardSynchronized=True"]}} | ready
grafana.integreatly.org/v1beta1 GrafanaDashboard | {"status":{"conditions":["DashboardSynchronized=False:ApplyFailed"]}} | waiting: DashboardSynchronized is not True: ApplyFailed
grafana.integreatly.org/v1beta1 GrafanaDatasource | {"status":{"uid":""}} | waiting: has no uid yet
grafana.integreatly.org/v1beta1 GrafanaDatasource | {"status":{"uid":"927b3c23-e25f-4cbe-a82f-effbb0bbbf40"}} | ready
grafana.integreatly.org/v1beta1 GrafanaFolder | {"status":{"conditions":["FolderSynchronized=True"]}} | ready
grafana.integreatly.org/v1beta1 GrafanaFolder | {"status":{"conditions":["FolderSynchronized=False:ApplyFailed"]}} | waiting: FolderSynchronized is not True: ApplyFailed
helm.toolkit.fluxcd.io/v2 HelmRelease | {"status":{"conditions":["Reconciling=True:Progressing"]}} | waiting: Progressing
helm.toolkit.fluxcd.io/v2 HelmRelease | {"status":{"conditions":["Ready=True"]}} | ready
iam.aws.crossplane.io/v1beta1 Policy | {"status":{"conditions":["Synced=False:ReconcileError"]}} | waiting: Synced is not True: ReconcileError
iam.aws.crossplane.io/v1beta1 Policy | {"status":{"conditions":["Ready=True"]}} | ready
iam.aws.crossplane.io/v1beta1 Role | {"status":{"conditions":["Synced=False:ReconcileError"]}} | waiting: Synced is not True: ReconcileError
iam.aws.crossplane.io/v1beta1 Role | {"status":{"conditions":["Ready=True"]}} | ready
iam.aws.crossplane.io/v1beta1 RolePolicyAttachment | {"status":{"conditions":["Ready=False:Creating"]}} | waiting: Ready is not True: Creating
iam.aws.crossplane.io/v1beta1 RolePolicyAttachment | {"status":{"conditions":["Ready=True"]}} | ready
iammanager.keikoproj.io/v1alpha1 Iamrole | {"status":{"state":"Error"}} | failed: state is Error
iammanager.keikoproj.io/v1alpha1 Iamrole | {"status":{"state":"Ready"}} | ready
image.toolkit.fluxcd.io/v1beta2 ImagePolicy | {"status":{"conditions":["Reconciling=True:ProgressingWithRetry"]}} | waiting: ProgressingWithRetry
image.toolkit.fluxcd.io/v1beta2 ImagePolicy | {"status":{"conditions":["Ready=True"]}} | ready
image.toolkit.fluxcd.io/v1beta2 ImageRepository | {"status":{"conditions":["Reconciling=True:ProgressingWithRetry"]}} | waiting: ProgressingWithRetry
image.toolkit.fluxcd.io/v1beta2 ImageRepository | {"status":{"conditions":["Ready=True"]}} | ready
image.toolkit.fluxcd.io/v1beta2 ImageUpdateAutomation | {"status":{"conditions":["Ready=False:ReconciliationFailed"]}} | waiting: Ready is not True: ReconciliationFailed
image.toolkit.fluxcd.io/v1beta2 ImageUpdateAutomation | {"status":{"conditions":["Ready=True"]}} | ready
install.istio.io/v1alpha1 IstioOperator | {"status":{"status":"UPDATING"}} | waiting: status is UPDATING
install.istio.io/v1alpha1 IstioOperator | {"status":{"status":"ERROR"}} | failed: status is ERROR
install.istio.io/v1alpha1 IstioOperator | {"status":{"status":"HEALTHY"}} | ready
jaegertracing.io/v1 Jaeger | {"metadata":{"generation":3},"status":{"phase":"Failed"}} | waiting: phase is Failed
jaegertracing.io/v1 Jaeger | {"status":{"phase":"Running"}} | ready
k8s.keycloak.org/v1alpha1 Keycloak | {"status":{"conditions":["Ready=True"]}} | ready
k8s.keycloak.org/v2alpha1 Keycloak | {} | waiting: has no status yet
k8s.keycloak.org/v2alpha1 Keycloak | {"status":{"conditions":["Ready=True"]}} | ready
karpenter.k8s.aws/v1 EC2NodeClass | {"status":{"conditions":["Ready=False:NotReady"]}} | waiting: Ready is not True: NotReady
karpenter.k8s.aws/v1 EC2NodeClass | {"status":{"conditions":["Ready=True"]}} | ready
karpenter.sh/v1 NodeClaim | {"status":{"conditions":[]}} | waiting: has no condition Ready yet
karpenter.sh/v1 NodeClaim | {"status":{"conditions":["Ready=True"]}} | ready
karpenter.sh/v1 NodePool | {"status":{"conditions":["Ready=False:NotReady"]}} | waiting: Ready is not True: NotReady
karpenter.sh/v1 NodePool | {"status":{"conditions":["Ready=True"]}} | ready
keda.sh/v1alpha1 ScaledJob | {"status":{"triggersTypes":"rabbitmq"}} | waiting: has no condition Ready yet
keda.sh/v1alpha1 ScaledJob | {"status":{"conditions":["Ready=True"]}} | ready
keda.sh/v1alpha1 ScaledObject | {"status":{"conditions":[]}} | waiting: has no condition Ready yet
keda.sh/v1alpha1 ScaledObject | {"status":{"conditions":["Ready=True"]}} | ready
kiali.io/v1alpha1 Kiali | {"status":{"conditions":[]}} | waiting: has no condition Successful yet
kiali.io/v1alpha1 Kiali | {"status":{"conditions":["Successful=True"]}} | ready
kubernetes-client.io/v1 ExternalSecret | {"status":{"status":"ERROR, Secrets Manager can't find the specified secret."}} | waiting: status is ERROR, Secrets Manager can't find the specified secret.
kubernetes-client.io/v1 ExternalSecret | {"status":{"status":"SUCCESS"}} | ready
kubevirt.io/v1 VirtualMachine | {"status":{"volumeSnapshotStatuses":[]}} | waiting: has no condition Ready yet
kubevirt.io/v1 VirtualMachine | {"status":{"conditions":["Ready=True"]}} | ready
kubevirt.io/v1 VirtualMachineInstance | {"status":{"conditions":["Ready=False:GuestNotRunning"]}} | waiting: Ready is not True: GuestNotRunning
kubevirt.io/v1 VirtualMachineInstance | {"status":{"conditions":["Ready=True"]}} | ready
kustomize.toolkit.fluxcd.io/v1 Kustomization | {"status":{"conditions":["Reconciling=True:Progressing"]}} | waiting: Progressing
kustomize.toolkit.fluxcd.io/v1 Kustomization | {"status":{"conditions":["Ready=True"]}} | ready
kyverno.io/v1 Policy | {"status":{"conditions":["Ready=True"]}} | ready
lifecycle.keptn.sh/v1alpha2 KeptnAppVersion | {"status":{"status":"Progressing"}} | waiting: status is Progressing
lifecycle.keptn.sh/v1alpha2 KeptnAppVersion | {"status":{"status":"Failed"}} | failed: status is Failed
lifecycle.keptn.sh/v1alpha2 KeptnAppVersion | {"status":{"status":"Succeeded"}} | ready
lifecycle.keptn.sh/v1alpha2 KeptnEvaluation | {"status":{"overallStatus":"Progressing"}} | waiting: overallStatus is Progressing
lifecycle.keptn.sh/v1alpha2 KeptnEvaluation | {"status":{"overallStatus":"Failed"}} | failed: overallStatus is Failed
lifecycle.keptn.sh/v1alpha2 KeptnEvaluation | {"status":{"overallStatus":"Succeeded"}} | ready
lifecycle.keptn.sh/v1alpha2 KeptnTask | {"status":{"status":"Progressing"}} | waiting: status is Progressing
lifecycle.keptn.sh/v1alpha2 KeptnTask | {"status":{"status":"Failed"}} | failed: status is Failed
lifecycle.keptn.sh/v1alpha2 KeptnTask | {"status":{"status":"Succeeded"}} | ready
lifecycle.keptn.sh/v1alpha2 KeptnWorkloadInstance | {"status":{"status":"Progressing"}} | waiting: status is Progressing
lifecycle.keptn.sh/v1alpha2 KeptnWorkloadInstance | {"status":{"status":"Failed"}} | failed: status is Failed
lifecycle.keptn.sh/v1alpha2 KeptnWorkloadInstance | {"status":{"status":"Succeeded"}} | ready
lifecycle.keptn.sh/v1alpha4 KeptnWorkloadVersion | {"status":{"status":"Progressing"}} | waiting: status is Progressing
lifecycle.keptn.sh/v1alpha4 KeptnWorkloadVersion | {"status":{"status":"Failed"}} | failed: status is Failed
lifecycle.keptn.sh/v1alpha4 KeptnWorkloadVersion | {"status":{"status":"Succeeded"}} | ready
metrics.keptn.sh/v1 Analysis | {"status":{"state":"Progressing"}} | waiting: has no pass yet
metrics.keptn.sh/v1 Analysis | {"status":{"pass":true}} | ready
metrics.keptn.sh/v1 KeptnMetric | {"status":{"lastUpdated":"2024-07-23T12:49:44Z"}} | waiting: has no value yet
metrics.keptn.sh/v1 KeptnMetric | {"status":{"value":"100"}} | ready
monitoring.coreos.com/v1 Prometheus | {"status":{"conditions":["Available=True"]}} | ready
monitoring.coreos.com/v1 Prometheus | {"status":{"conditions":["Available=Degraded:SomePodsNotReady"]}} | waiting: Available is not True: SomePodsNotReady
networking.gke.io/v1beta2 ManagedCertificate | {"status":{"certificateStatus":"Provisioning"}} | waiting: certificateStatus is Provisioning
networking.gke.io/v1beta2 ManagedCertificate | {"status":{"certificateStatus":"Active"}} | ready
nmstate.io/v1 NodeNetworkConfigurationPolicy | {"status":{"conditions":["Progressing=True:ConfigurationProgressing"]}} | waiting: Progressing: ConfigurationProgressing
nmstate.io/v1 NodeNetworkConfigurationPolicy | {"status":{"conditions":["Available=True"]}} | ready
notification.toolkit.fluxcd.io/v1 Receiver | {"status":{"conditions":["Reconciling=True:ProgressingWithRetry"]}} | waiting: ProgressingWithRetry
notification.toolkit.fluxcd.io/v1 Receiver | {"status":{"conditions":["Ready=True"]}} | ready
numaflow.numaproj.io/v1alpha1 InterStepBufferService | {"status":{"phase":"Running"}} | ready
numaflow.numaproj.io/v1alpha1 InterStepBufferService | {"status":{"conditions":["ChildrenResourcesHealthy=False:Unavailable"]}} | waiting: ChildrenResourcesHealthy is not True: Unavailable
numaflow.numaproj.io/v1alpha1 MonoVertex | {"status":{"phase":"Running"}} | ready
numaflow.numaproj.io/v1alpha1 MonoVertex | {"status":{"conditions":["DaemonHealthy=False:Progressing"]}} | waiting: DaemonHealthy is not True: Progressing
numaflow.numaproj.io/v1alpha1 Pipeline | {"status":{"phase":"Running"}} | ready
numaflow.numaproj.io/v1alpha1 Pipeline | {"status":{"conditions":["DaemonServiceHealthy=False:Progressing"]}} | waiting: DaemonServiceHealthy is not True: Progressing
numaflow.numaproj.io/v1alpha1 Vertex | {"status":{"phase":"Running"}} | ready
numaflow.numaproj.io/v1alpha1 Vertex | {"status":{"conditions":["PodsHealthy=False:NoPodsFound"]}} | waiting: PodsHealthy is not True: NoPodsFound
numaplane.numaproj.io/v1alpha1 ISBServiceRollout | {"status":{"conditions":["ChildResourcesHealthy=True"]}} | ready
numaplane.numaproj.io/v1alpha1 ISBServiceRollout | {"status":{"conditions":["ChildResourcesHealthy=False:ISBSvcFailed"]}} | waiting: ChildResourcesHealthy is not True: ISBSvcFailed
numaplane.numaproj.io/v1alpha1 MonoVertexRollout | {"status":{"conditions":["ChildResourcesHealthy=True"]}} | ready
numaplane.numaproj.io/v1alpha1 MonoVertexRollout | {"status":{"conditions":["ChildResourcesHealthy=False:MonoVertexFailed"]}} | waiting: ChildResourcesHealthy is not True: MonoVertexFailed
numaplane.numaproj.io/v1alpha1 NumaflowControllerRollout | {"status":{"conditions":["ChildResourcesHealthy=True"]}} | ready
numaplane.numaproj.io/v1alpha1 NumaflowControllerRollout | {"status":{"phase":"Failed"}} | failed: phase is Failed
numaplane.numaproj.io/v1alpha1 NumaflowControllerRollout | {"status":{"conditions":["ChildResourcesHealthy=False:Progressing"]}} | waiting: ChildResourcesHealthy is not True: Progressing
numaplane.numaproj.io/v1alpha1 PipelineRollout | {"status":{"conditions":["ChildResourcesHealthy=True"]}} | ready
numaplane.numaproj.io/v1alpha1 PipelineRollout | {"status":{"conditions":["ChildResourcesHealthy=False:PipelineFailed"]}} | waiting: ChildResourcesHealthy is not True: PipelineFailed
onepassword.com/v1 OnePasswordItem | {"status":{"conditions":["Ready=False"]}} | waiting: Ready is not True: no reason given
onepassword.com/v1 OnePasswordItem | {"status":{"conditions":["Ready=True"]}} | ready
openfaas.com/v1 Function | {"status":{"conditions":["Stalled=True:SecretMissing"]}} | failed: SecretMissing
openfaas.com/v1 Function | {"status":{"conditions":["Ready=True"]}} | ready
opentelemetry.io/v1beta1 OpenTelemetryCollector | {"status":{"scale":{"statusReplicas":"2/2"}}} | ready
opentelemetry.io/v1beta1 OpenTelemetryCollector | {"status":{"scale":{"statusReplicas":"0/2"}}} | waiting: scale.statusReplicas is 0/2
operator.knative.dev/v1alpha1 KnativeEventing | {"status":{"conditions":["InstallSucceeded=True","Ready=Unknown"]}} | waiting: Ready is not True: no reason given
operator.knative.dev/v1alpha1 KnativeEventing | {"status":{"conditions":["InstallSucceeded=True","Ready=True"]}} | ready
operator.knative.dev/v1alpha1 KnativeServing | {"status":{"conditions":["DependenciesInstalled=True","DeploymentsAvailable=True","InstallSucceeded=True","Ready=Unknown"]}} | waiting: Ready is not True: no reason given
operator.knative.dev/v1alpha1 KnativeServing | {"status":{"conditions":["DependenciesInstalled=True","DeploymentsAvailable=True","InstallSucceeded=True","Ready=True"]}} | ready
operator.openshift.io/v1 IngressController | {"status":{"selector":""}} | waiting: has no condition Available yet
operator.openshift.io/v1 IngressController | {"status":{"conditions":["Available=True"]}} | ready
operator.victoriametrics.com/v1beta1 VMAgent | {"status":{"updateStatus":"operational"}} | ready
operator.victoriametrics.com/v1beta1 VMAgent | {"status":{"updateStatus":"expanding"}} | waiting: updateStatus is expanding
operator.victoriametrics.com/v1beta1 VMAgent | {"status":{"updateStatus":"failed"}} | failed: updateStatus is failed
operators.coreos.com/v1alpha1 Subscription | {"status":{"lastUpdated":"2024-10-14T08:37:15Z"}} | waiting: has no state yet
operators.coreos.com/v1alpha1 Subscription | {"status":{"state":"AtLatestKnown"}} | ready
pkg.crossplane.io/v1 ConfigurationRevision | {"status":{"conditions":["RevisionHealthy=True"]}} | ready
pkg.crossplane.io/v1 Provider | {"status":{"conditions":["Healthy=False:UnhealthyPackageRevision","Installed=True"]}} | waiting: Healthy is not True: UnhealthyPackageRevision
pkg.crossplane.io/v1alpha1 Provider | {"status":{"conditions":["Installed=True","Healthy=False:UnhealthyPackageRevision"]}} | waiting: Healthy is not True: UnhealthyPackageRevision
pkg.crossplane.io/v1alpha1 Provider | {"status":{"conditions":["Installed=True","Healthy=True"]}} | ready
policy.open-cluster-management.io/v1 CertificatePolicy | {"status":{"compliant":"NonCompliant"}} | waiting: compliant is NonCompliant
policy.open-cluster-management.io/v1 CertificatePolicy | {"status":{"compliant":"Compliant"}} | ready
policy.open-cluster-management.io/v1 ConfigurationPolicy | {"status":{"compliant":"NonCompliant"}} | waiting: compliant is NonCompliant
policy.open-cluster-management.io/v1 ConfigurationPolicy | {"status":{"compliant":"Compliant"}} | ready
policy.open-cluster-management.io/v1 Policy | {"status":{"compliant":"NonCompliant"}} | waiting: compliant is NonCompliant
policy.open-cluster-management.io/v1 Policy | {"status":{"compliant":"Compliant"}} | ready
policy.open-cluster-management.io/v1beta1 OperatorPolicy | {"status":{"conditions":["Compliant=False:NonCompliant"]}} | waiting: Compliant is not True: NonCompliant
policy.open-cluster-management.io/v1beta1 OperatorPolicy | {"status":{"conditions":["Compliant=True"]}} | ready
proclaim.dogmatiq.io/v1 DNSSDServiceInstance | {"status":{"conditions":["Discoverable=True"]}} | ready
proclaim.dogmatiq.io/v1 DNSSDServiceInstance | {"status":{"conditions":["Discoverable=False:NegativeBrowseResult"]}} | waiting: Discoverable is not True: NegativeBrowseResult
projectcontour.io/v1 HTTPProxy | {"status":{"conditions":["Valid=True"]}} | ready
projectcontour.io/v1 HTTPProxy | {"status":{"description":"Waiting for controller"}} | waiting: has no condition Valid yet
projectcontour.io/v1alpha1 ExtensionService | {"status":{"conditions":["Valid=True"]}} | ready
projectcontour.io/v1alpha1 ExtensionService | {"status":{"conditions":["Valid=False:ErrorPresent"]}} | waiting: Valid is not True: ErrorPresent
promoter.argoproj.io/v1alpha1 ArgoCDCommitStatus | {"status":{"conditions":["Ready=False:ReconciliationError"]}} | waiting: Ready is not True: ReconciliationError
promoter.argoproj.io/v1alpha1 ChangeTransferPolicy | {"status":{"conditions":["Ready=False:ReconciliationError"]}} | waiting: Ready is not True: ReconciliationError
promoter.argoproj.io/v1alpha1 ChangeTransferPolicy | {"status":{"active":{"dry":{"sha":"7810fcb6e2143b9a85f3f5bb3e02754b48f63c56"}},"conditions":["Ready=True"],"proposed":{"dry":{"sha":"7810fcb6e2143b9a85f3f5bb3e02754b48f63c56"}}}} | ready
promoter.argoproj.io/v1alpha1 ClusterScmProvider | {"status":{"conditions":["Ready=False:ReconciliationError"]}} | waiting: Ready is not True: ReconciliationError
promoter.argoproj.io/v1alpha1 ClusterScmProvider | {"status":{"conditions":["Ready=True"]}} | ready
promoter.argoproj.io/v1alpha1 CommitStatus | {"status":{"conditions":["Ready=False:ReconciliationError"]}} | waiting: Ready is not True: ReconciliationError
promoter.argoproj.io/v1alpha1 GitCommitStatus | {"status":{"conditions":["Ready=False:ReconciliationError"]}} | waiting: Ready is not True: ReconciliationError
promoter.argoproj.io/v1alpha1 GitCommitStatus | {"status":{"conditions":["Ready=True"]}} | ready
promoter.argoproj.io/v1alpha1 GitRepository | {"status":{"conditions":["Ready=False:ReconciliationError"]}} | waiting: Ready is not True: ReconciliationError
promoter.argoproj.io/v1alpha1 GitRepository | {"status":{"conditions":["Ready=True"]}} | ready
promoter.argoproj.io/v1alpha1 PromotionStrategy | {"status":{"conditions":["Ready=False:ReconciliationError"]}} | waiting: Ready is not True: ReconciliationError
promoter.argoproj.io/v1alpha1 PromotionStrategy | {"status":{"conditions":["Ready=True"],"environments":[{"active":{"dry":{"sha":"56057f1abcdef0"}},"proposed":{"dry":{"sha":"56057f1abcdef0"}}}]}} | ready
promoter.argoproj.io/v1alpha1 PullRequest | {"status":{"conditions":["Ready=False:ReconciliationError"]}} | waiting: Ready is not True: ReconciliationError
promoter.argoproj.io/v1alpha1 ScmProvider | {"status":{"conditions":["Ready=False:ReconciliationError"]}} | waiting: Ready is not True: ReconciliationError
promoter.argoproj.io/v1alpha1 ScmProvider | {"status":{"conditions":["Ready=True"]}} | ready
promoter.argoproj.io/v1alpha1 TimedCommitStatus | {"status":{"conditions":["Ready=False:ReconciliationError"]}} | waiting: Ready is not True: ReconciliationError
promoter.argoproj.io/v1alpha1 TimedCommitStatus | {"status":{"conditions":["Ready=True"]}} | ready
promoter.argoproj.io/v1alpha1 WebRequestCommitStatus | {"status":{"conditions":["Ready=False:ReconciliationError"]}} | waiting: Ready is not True: ReconciliationError
promoter.argoproj.io/v1alpha1 WebRequestCommitStatus | {"status":{"conditions":["Ready=True"]}} | ready
pulumi.com/v1 Stack | {"status":{"conditions":["Ready=True"]}} | ready
pulumi.com/v1 Stack | {"status":{"conditions":["Reconciling=True:StackProcessing"]}} | waiting: StackProcessing
pulumi.com/v1 Stack | {"status":{"conditions":["Stalled=True:UpdateFailed"]}} | failed: UpdateFailed
rds.aws.crossplane.io/v1alpha1 DBCluster | {"status":{"conditions":["Ready=False:Creating"]}} | waiting: Ready is not True: Creating
rds.aws.crossplane.io/v1alpha1 DBCluster | {"status":{"conditions":["Ready=True"]}} | ready
rds.aws.crossplane.io/v1alpha1 DBInstance | {"status":{"conditions":["Ready=False:Creating"]}} | waiting: Ready is not True: Creating
rds.aws.crossplane.io/v1alpha1 DBInstance | {"status":{"conditions":["Ready=True"]}} | ready
rollouts.kruise.io/v1alpha1 Rollout | {"status":{"phase":"Healthy"}} | ready
rollouts.kruise.io/v1alpha1 Rollout | {"status":{"phase":"Disabled"}} | waiting: phase is Disabled
route.openshift.io/v1 Route | {"status":{"ingress":[{"conditions":["Admitted=Unknown"]}]}} | waiting: status.ingress[0]: Admitted is not True: no reason given
route.openshift.io/v1 Route | {"status":{"ingress":[{"conditions":["Admitted=True"]}]}} | ready
route53.aws.crossplane.io/v1alpha1 ResourceRecordSet | {"status":{"conditions":["Ready=False:Creating"]}} | waiting: Ready is not True: Creating
route53.aws.crossplane.io/v1alpha1 ResourceRecordSet | {"status":{"conditions":["Ready=True"]}} | ready
s3.aws.crossplane.io/v1beta1 Bucket | {"status":{"conditions":["Ready=False:Deleting"]}} | waiting: Ready is not True: Deleting
s3.aws.crossplane.io/v1beta1 Bucket | {"status":{"conditions":["Ready=True"]}} | ready
s3.services.k8s.aws/v1alpha1 Bucket | {"status":{"conditions":["ACK.ResourceSynced=True"]}} | ready
s3.services.k8s.aws/v1alpha1 Bucket | {"status":{"conditions":["Ready=False:bucket in CREATING state"]}} | waiting: Ready is not True: bucket in CREATING state
s3.services.k8s.aws/v1alpha1 Bucket | {"status":{"conditions":["ACK.Terminal=True:This resource already exists but is not managed by ACK."]}} | failed: ACK.Terminal: This resource already exists but is not managed by ACK.
services.cloud.sap.com/v1 ServiceBinding | {"status":{"conditions":["Failed=True:CreateFailed"]}} | waiting: Failed: CreateFailed
services.cloud.sap.com/v1 ServiceBinding | {"status":{"conditions":["Succeeded=True"]}} | ready
services.cloud.sap.com/v1 ServiceInstance | {"status":{"conditions":["Failed=True:UpdateFailed"]}} | waiting: Failed: UpdateFailed
services.cloud.sap.com/v1 ServiceInstance | {"status":{"conditions":["Succeeded=True"]}} | ready
serving.knative.dev/v1 Service | {"status":{"conditions":["ConfigurationsReady=True","RoutesReady=Unknown:RolloutInProgress"]}} | waiting: RoutesReady is not True: RolloutInProgress
serving.knative.dev/v1 Service | {"status":{"conditions":["ConfigurationsReady=True","Ready=True","RoutesReady=True"]}} | ready
serving.kserve.io/v1beta1 InferenceService | {"status":{"conditions":["Ready=Unknown:RevisionMissing"]}} | waiting: Ready is not True: RevisionMissing
serving.kserve.io/v1beta1 InferenceService | {"status":{"modelStatus":{"transitionStatus":"BlockedByFailedLoad"}}} | failed: modelStatus.transitionStatus is BlockedByFailedLoad
serving.kserve.io/v1beta1 InferenceService | {"status":{"conditions":["Ready=True"]}} | ready
source.toolkit.fluxcd.io/v1 GitRepository | {"status":{"conditions":["Reconciling=True:ProgressingWithRetry"]}} | waiting: ProgressingWithRetry
source.toolkit.fluxcd.io/v1 GitRepository | {"status":{"conditions":["Ready=True"]}} | ready
source.toolkit.fluxcd.io/v1 HelmChart | {"status":{"conditions":["Reconciling=True:ProgressingWithRetry"]}} | waiting: ProgressingWithRetry
source.toolkit.fluxcd.io/v1 HelmChart | {"status":{"conditions":["Ready=True"]}} | ready
source.toolkit.fluxcd.io/v1 HelmRepository | {"status":{"conditions":["Reconciling=True:ProgressingWithRetry"]}} | waiting: ProgressingWithRetry
source.toolkit.fluxcd.io/v1 HelmRepository | {"status":{"conditions":["Ready=True"]}} | ready
source.toolkit.fluxcd.io/v1beta2 Bucket | {"status":{"conditions":["Reconciling=True:ProgressingWithRetry"]}} | waiting: ProgressingWithRetry
source.toolkit.fluxcd.io/v1beta2 Bucket | {"status":{"conditions":["Ready=True"]}} | ready
source.toolkit.fluxcd.io/v1beta2 OCIRepository | {"status":{"conditions":["Reconciling=True:Progressing"]}} | waiting: Progressing
source.toolkit.fluxcd.io/v1beta2 OCIRepository | {"status":{"conditions":["Ready=True"]}} | ready
spot.io/v1beta1 SpotDeployment | {"status":{"observedGeneration":"58b949649c"}} | waiting: status.observedGeneration is not a number
spot.io/v1beta1 SpotDeployment | {"status":{"conditions":["InvalidSpec=True:InvalidSpec"]}} | failed: InvalidSpec: InvalidSpec
sql.cnrm.cloud.google.com/v1beta1 SQLInstance | {"status":{"conditions":["Ready=False:DependencyNotFound"]}} | waiting: Ready is not True: DependencyNotFound
sql.cnrm.cloud.google.com/v1beta1 SQLInstance | {"status":{"conditions":["Ready=True"]}} | ready
tower.ansible.com/v1alpha1 AnsibleJob | {"status":{"ansibleJobResult":{"status":"new"}}} | waiting: ansibleJobResult.status is new
tower.ansible.com/v1alpha1 AnsibleJob | {"status":{"ansibleJobResult":{"status":"canceled"}}} | failed: ansibleJobResult.status is canceled
tower.ansible.com/v1alpha1 AnsibleJob | {"status":{"ansibleJobResult":{"status":"successful"}}} | ready
work.karmada.io/v1alpha2 ClusterResourceBinding | {"status":{"conditions":[]}} | waiting: status.aggregatedStatus is empty
work.karmada.io/v1alpha2 ClusterResourceBinding | {"status":{"aggregatedStatus":[{"applied":true}]}} | ready
work.karmada.io/v1alpha2 ResourceBinding | {"status":{"conditions":[]}} | waiting: status.aggregatedStatus is empty
work.karmada.io/v1alpha2 ResourceBinding | {"status":{"aggregatedStatus":[{"applied":true}]}} | ready
apiregistration.k8s.io/v1 APIService | {"status":{"conditions":["Available=True:Local"]}} | ready
apiregistration.k8s.io/v1 APIService | {"status":{"conditions":["Available=False:MissingEndpoints"]}} | waiting: Available is not True: MissingEndpoints
argoproj.io/v1alpha1 Application | {"status":{"conditions":[{"type":"SyncError"}],"sync":{"status":"Synced"},"health":{"status":"Healthy"}}} | ready
argoproj.io/v1alpha1 Application | {"status":{"sync":{"status":"Synced"},"health":{"status":"Degraded"}}} | waiting: health.status is Degraded
argoproj.io/v1alpha1 Application | {"status":{"sync":{"status":"OutOfSync"},"health":{"status":"Healthy"}}} | waiting: sync.status is OutOfSync
argoproj.io/v1alpha1 Workflow | {"status":{"phase":"Running"}} | waiting: phase is Running
argoproj.io/v1alpha1 Workflow | {"status":{"phase":"Succeeded"}} | ready
argoproj.io/v1alpha1 Workflow | {"metadata":{"generation":41},"status":{"phase":"Error"}} | failed: phase is Error
azure.upbound.io/v1beta1 ResourceGroup | {"status":{"conditions":["Ready=True:Available","Synced=True:ReconcileSuccess"]}} | ready
azure.upbound.io/v1beta1 ProviderConfig | {} | ready
kyverno.io/v1 Policy | {"status":{"conditions":["Ready=False"]}} | waiting: Ready is not True: no reason given
spot.io/v1beta1 SpotDeployment | {"status":{"conditions":["Progressing=True:NewReplicaSetAvailable"]}} | ready
metrics.keptn.sh/v1 Analysis | {"status":{"pass":true}} | ready
metrics.keptn.sh/v1 Analysis | {"status":{"state":"Progressing"}} | waiting: has no pass yet
`;
