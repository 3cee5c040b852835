// Rules for kinds for which Argo CD has health scripts; the rules ask for the same as the scripts. A phase such as
// Failed is a failure. A condition that is False is waited for, since controllers keep trying, except where it means
// the end of a run.
import type { KindRow, Rule } from './rule.ts';

const isReady: Rule = { needs: 'Ready' };
const isSynced: Rule = { needs: 'RemoteSynced' };
/** Flux: the condition Ready. With `spec.suspend`, Flux does nothing about the object, so it counts as ready. */
const isFluxReady: Rule = { needs: 'Ready', idle: { suspend: [true] } };
const isRunningPhase: Rule = { ready: { phase: ['Running'] }, failed: { phase: ['Failed'] } };
const succeeds: Rule = { ready: { status: ['Succeeded'] }, failed: { status: ['Failed'] }, once: true };
const isGlooAccepted: Rule = { each: { at: 'statuses', some: true, ready: { state: ['Accepted', 1] } } };
const runsFlow: Rule = {
  holds: '*',
  ready: { phase: ['Running', 'Paused', 'Pausing'] },
  failed: { phase: ['Failed'] },
};
const isRolledOut: Rule = {
  ...{ oneOf: 'ChildResourcesHealthy MonoVertexPausingOrPaused PipelinePausingOrPaused' },
  ...{ holds: 'ProgressiveUpgradeSucceeded', lacks: 'upgradeInProgress' },
  ...{ waiting: { phase: ['Pending'] }, failed: { phase: ['Failed'] } },
};
const hasPassed: Rule = { needs: 'Ready', each: { at: 'environments', ready: { phase: ['success'] } } };
const isRouted: Rule = {
  each: { at: 'parents', some: true, needs: 'Accepted', holds: 'ResolvedRefs Programmed' },
};
/**
 * Condition types of Crossplane: Healthy is for packages, Established and Offered are for CompositeResourceDefinitions.
 */
const crossplaneTypes = 'Ready Healthy Offered Established ValidPipeline RevisionHealthy';
const providerConfigs = 'ProviderConfig ClusterProviderConfig ProviderConfigUsage';
/** Kinds of Crossplane that have no status. */
const compositions =
  'Composition CompositionRevision DeploymentRuntimeConfig ControllerConfig EnvironmentConfig ImageConfig Lock StoreConfig ' +
  'ClusterStackInstall';

/**
 * The rules, by API group. They follow the scripts in Argo CD's folder resource_customizations; those for data stores
 * are in argo-data-kinds.ts.
 */
export const argoKinds: readonly KindRow[] = [
  ['*.cnrm.cloud.google.com', '*', { needs: 'Ready' }],
  ['core.cnrm.cloud.google.com', 'ConfigConnector ConfigConnectorContext', { ready: { healthy: [true] } }],
  [
    '*.crossplane.io',
    '*',
    {
      oneOf: crossplaneTypes,
      holds: 'Ready Synced LastAsyncOperation',
      except: `${compositions} ${providerConfigs}`,
    },
  ],
  ['*.upbound.io', '*', { needs: 'Ready', holds: 'Synced LastAsyncOperation', except: providerConfigs }],
  ['pkg.crossplane.io', 'Provider Function Configuration', { needs: 'Installed Healthy' }],
  ['*.services.k8s.aws', '*', { oneOf: 'Ready ACK.ResourceSynced', holds: 'Ready', fails: 'ACK.Terminal' }],
  ['addons.cluster.x-k8s.io', 'ClusterResourceSet', { needs: 'ResourcesApplied' }],
  ['apiregistration.k8s.io', 'APIService', { needs: 'Available' }],
  ['apps.3scale.net', 'APIManager', { needs: 'Available' }],
  ['apps.kruise.io', 'BroadcastJob', { ready: { phase: ['completed'] }, failed: { phase: ['failed'] } }],
  [
    'apps.openshift.io',
    'DeploymentConfig',
    {
      needs: 'Available',
      failedReasons: { Progressing: ['ProgressDeadlineExceeded'] },
      reasons: { Progressing: ['NewReplicationControllerAvailable'] },
      idle: { replicas: [0] },
    },
  ],
  [
    'argoproj.io',
    'AnalysisRun Experiment',
    {
      ...{ ready: { phase: ['Successful'] }, failed: { phase: ['Failed', 'Error', 'Inconclusive'] } },
      once: true,
    },
  ],
  ['argoproj.io', 'Application', { ready: { 'sync.status': ['Synced'], 'health.status': ['Healthy'] }, foreign: true }],
  ['argoproj.io', 'ApplicationSet', { needs: 'ResourcesUpToDate', waits: 'ErrorOccurred RolloutProgressing' }],
  ['argoproj.io', 'CronWorkflow', { waits: 'SubmissionError', fails: 'SpecError', quiet: true }],
  ['argoproj.io', 'EventBus', { needs: 'Deployed' }],
  ['argoproj.io', 'Workflow', { ready: { phase: ['Succeeded'] }, failed: { phase: ['Failed', 'Error'] }, once: true }],
  ['bitnami.com', 'SealedSecret', { ends: 'Synced' }],
  ['camel.apache.org', 'Integration', isReady],
  [
    'capabilities.3scale.net',
    'ActiveDoc ApplicationAuth CustomPolicyDefinition DeveloperAccount DeveloperUser OpenAPI ProxyConfigPromote',
    { needs: 'Ready', waits: 'Failed', fails: 'Invalid' },
  ],
  ['capabilities.3scale.net', 'Application', { needs: 'Ready', waiting: { state: ['suspended'] } }],
  ['capabilities.3scale.net', 'Backend Product', { needs: 'Synced', waits: 'Failed', fails: 'Invalid' }],
  ['capabilities.3scale.net', 'Tenant', { needs: 'Ready', has: 'tenantId adminId' }],
  ['cdi.kubevirt.io', 'DataVolume', { ready: { phase: ['Succeeded'] }, failed: { phase: ['Failed'] } }],
  ['cert-manager.io', 'Certificate', { needs: 'Ready', waits: 'Issuing' }],
  ['cert-manager.io', 'Issuer ClusterIssuer', isReady],
  ['certmanager.k8s.io', 'Certificate Issuer', isReady],
  [
    'cluster.x-k8s.io',
    'Cluster',
    {
      ...{ ready: { phase: ['Provisioned'] }, failed: { phase: ['Failed'] } },
      ...{ holds: 'Ready Available', idle: { paused: [true] } },
    },
  ],
  [
    'cluster.x-k8s.io',
    'Machine',
    { ready: { phase: ['Running'] }, failed: { phase: ['Failed'] }, holds: 'Ready Available' },
  ],
  ['cluster.x-k8s.io', 'MachineDeployment', { ...isRunningPhase, idle: { paused: [true] } }],
  [
    'cluster.x-k8s.io',
    'MachineHealthCheck',
    { has: 'observedGeneration', equal: [['currentHealthy', 'expectedMachines']] },
  ],
  ['cluster.x-k8s.io', 'MachinePool', { ready: { phase: ['Running', 'Scaling'] }, failed: { phase: ['Failed'] } }],
  [
    'controlplane.cluster.x-k8s.io',
    'AWSManagedControlPlane',
    { needs: 'Ready', waits: 'EKSControlPlaneUpdating', lacks: 'failureMessage' },
  ],
  ['coralogix.com', 'Alert RecordingRuleGroupSet', isSynced],
  [
    'core.gardener.cloud',
    'Shoot',
    { ready: { 'lastOperation.state': ['Succeeded'] }, failed: { 'lastOperation.state': ['Failed'] }, holds: '*' },
  ],
  [
    'core.spinkube.dev',
    'SpinApp',
    { needs: 'Available', waits: 'Progressing', failedReasons: { Progressing: ['ProgressDeadlineExceeded'] } },
  ],
  ['datadoghq.com', 'DatadogMetric', { holds: 'Valid', waits: 'Error', quiet: true }],
  ['db.atlasgo.io', 'AtlasMigration AtlasSchema', isReady],
  ['external-secrets.io', 'ClusterExternalSecret ClusterSecretStore ExternalSecret PushSecret SecretStore', isReady],
  ['flagger.app', 'Canary', { ready: { phase: ['Succeeded', 'Initialized'] }, failed: { phase: ['Failed'] } }],
  ['game.kruise.io', 'GameServer', { ready: { currentState: ['Ready'], desiredState: ['Ready'] } }],
  ['game.kruise.io', 'GameServerSet', { has: 'observedGeneration', equal: [['updatedReadyReplicas', 'replicas']] }],
  [
    'gateway.networking.k8s.io',
    'BackendTLSPolicy',
    { each: { at: 'ancestors', some: true, needs: 'Accepted', holds: 'ResolvedRefs' } },
  ],
  [
    'gateway.networking.k8s.io',
    'Gateway',
    {
      needs: 'Accepted Programmed',
      holds: 'ResolvedRefs',
      each: { at: 'listeners', holds: 'Accepted Programmed ResolvedRefs', waits: 'Conflicted' },
    },
  ],
  ['gateway.networking.k8s.io', 'GatewayClass', { needs: 'Accepted' }],
  ['gateway.networking.k8s.io', 'HTTPRoute GRPCRoute', isRouted],
  [
    'gateway.solo.io',
    'Gateway MatchableHttpGateway RouteOption RouteTable VirtualHostOption VirtualService',
    isGlooAccepted,
  ],
  ['gloo.solo.io', 'Proxy Settings Upstream UpstreamGroup', isGlooAccepted],
  ['grafana-org-operator.kubitus-project.gitlab.io', '*', isReady],
  [
    'grafana.integreatly.org',
    'Grafana',
    { ready: { stage: ['complete'], stageStatus: ['success'] }, failed: { stageStatus: ['failed'] } },
  ],
  ['grafana.integreatly.org', 'GrafanaDashboard', { needs: 'DashboardSynchronized', waits: 'NoMatchingInstance' }],
  ['grafana.integreatly.org', 'GrafanaFolder', { needs: 'FolderSynchronized', waits: 'NoMatchingInstance' }],
  ['grafana.integreatly.org', 'GrafanaDatasource', { has: 'uid', waiting: { NoMatchingInstances: [true] } }],
  ['helm.toolkit.fluxcd.io', 'HelmRelease', isFluxReady],
  [
    'iammanager.keikoproj.io',
    'Iamrole',
    {
      ready: { state: ['Ready'] },
      failed: { state: ['Error', 'RolesMaxLimitReached', 'PolicyNotAllowed', 'RoleNameNotAvailable'] },
    },
  ],
  ['image.toolkit.fluxcd.io', 'ImagePolicy ImageRepository ImageUpdateAutomation', isFluxReady],
  ['install.istio.io', 'IstioOperator', { ready: { status: ['HEALTHY', 3] }, failed: { status: ['ERROR', 4] } }],
  ['jaegertracing.io', 'Jaeger', isRunningPhase],
  ['k8s.keycloak.org', 'Keycloak', { needs: 'Ready', waits: 'HasErrors' }],
  ['karpenter.k8s.aws', 'EC2NodeClass', isReady],
  ['karpenter.sh', 'NodeClaim', { needs: 'Ready', waits: 'Disrupting' }],
  ['karpenter.sh', 'NodePool', isReady],
  ['keda.sh', 'ScaledJob', isReady],
  ['keda.sh', 'ScaledObject', { needs: 'Ready', waits: 'Fallback' }],
  ['kiali.io', 'Kiali', { needs: 'Successful', waits: 'Failure' }],
  ['kubernetes-client.io', 'ExternalSecret', { ready: { status: ['SUCCESS'] } }],
  [
    'kubevirt.io',
    'VirtualMachine',
    { needs: 'Ready', waits: 'Paused', idle: { running: [false], runStrategy: ['Halted'] } },
  ],
  [
    'kubevirt.io',
    'VirtualMachineInstance',
    { needs: 'Ready', waits: 'Paused', failed: { phase: ['Failed'] }, once: true },
  ],
  ['kustomize.toolkit.fluxcd.io', 'Kustomization', isFluxReady],
  ['kyverno.io', 'Policy', isReady],
  ['lifecycle.keptn.sh', 'KeptnAppVersion KeptnTask KeptnWorkloadInstance KeptnWorkloadVersion', succeeds],
  [
    'lifecycle.keptn.sh',
    'KeptnEvaluation',
    { ready: { overallStatus: ['Succeeded'] }, failed: { overallStatus: ['Failed'] }, once: true },
  ],
  ['metrics.keptn.sh', 'Analysis', { ready: { pass: [true] } }],
  ['metrics.keptn.sh', 'KeptnMetric', { has: 'value', lacks: 'errMsg' }],
  ['monitoring.coreos.com', 'Prometheus', { needs: 'Available' }],
  ['networking.gke.io', 'ManagedCertificate', { ready: { certificateStatus: ['Active'] } }],
  ['nmstate.io', 'NodeNetworkConfigurationPolicy', { oneOf: 'Available Ignored', waits: 'Progressing Degraded' }],
  ['notification.toolkit.fluxcd.io', 'Receiver', isFluxReady],
  ['numaflow.numaproj.io', 'InterStepBufferService MonoVertex Pipeline Vertex', runsFlow],
  [
    'numaplane.numaproj.io',
    'ISBServiceRollout MonoVertexRollout NumaflowControllerRollout PipelineRollout',
    isRolledOut,
  ],
  ['onepassword.com', 'OnePasswordItem', isReady],
  ['openfaas.com', 'Function', isReady],
  ['opentelemetry.io', 'OpenTelemetryCollector', { ratio: 'scale.statusReplicas', idle: { mode: ['sidecar'] } }],
  ['operator.knative.dev', 'KnativeEventing', { needs: 'InstallSucceeded Ready' }],
  [
    'operator.knative.dev',
    'KnativeServing',
    { needs: 'DependenciesInstalled InstallSucceeded DeploymentsAvailable Ready' },
  ],
  [
    'operator.openshift.io',
    'IngressController',
    { needs: 'Available', holds: 'DeploymentReplicasAllAvailable', waits: 'Degraded Progressing' },
  ],
  [
    'operator.victoriametrics.com',
    '*',
    { ready: { updateStatus: ['operational'] }, failed: { updateStatus: ['failed'] }, idle: { paused: [true] } },
  ],
  [
    'operators.coreos.com',
    'Subscription',
    {
      ready: { state: ['AtLatestKnown'] },
      failed: { state: ['UpgradeFailed'] },
      waits: 'CatalogSourcesUnhealthy InstallPlanFailed InstallPlanPending ResolutionFailed',
    },
  ],
  ['policy.open-cluster-management.io', 'CertificatePolicy', { ready: { compliant: ['Compliant'] } }],
  [
    'policy.open-cluster-management.io',
    'ConfigurationPolicy',
    { ready: { compliant: ['Compliant'] }, seen: 'lastEvaluatedGeneration' },
  ],
  ['policy.open-cluster-management.io', 'OperatorPolicy', { needs: 'Compliant' }],
  ['policy.open-cluster-management.io', 'Policy', { ready: { compliant: ['Compliant'] }, idle: { disabled: [true] } }],
  ['proclaim.dogmatiq.io', 'DNSSDServiceInstance', { needs: 'Discoverable', holds: 'Adopted' }],
  ['projectcontour.io', 'ExtensionService HTTPProxy', { needs: 'Valid' }],
  ['promoter.argoproj.io', 'ChangeTransferPolicy', { needs: 'Ready', same: [['active.dry.sha', 'proposed.dry.sha']] }],
  [
    'promoter.argoproj.io',
    'ArgoCDCommitStatus ClusterScmProvider CommitStatus GitRepository PullRequest ScmProvider',
    isReady,
  ],
  ['promoter.argoproj.io', 'GitCommitStatus TimedCommitStatus WebRequestCommitStatus', hasPassed],
  [
    'promoter.argoproj.io',
    'PromotionStrategy',
    { needs: 'Ready', each: { at: 'environments', some: true, same: [['active.dry.sha', 'proposed.dry.sha']] } },
  ],
  ['pulumi.com', 'Stack', isReady],
  ['rollouts.kruise.io', 'Rollout', { ready: { phase: ['Healthy'] } }],
  ['route.openshift.io', 'Route', { each: { at: 'ingress', some: true, needs: 'Admitted' } }],
  ['services.cloud.sap.com', 'ServiceBinding ServiceInstance', { needs: 'Succeeded', waits: 'Failed' }],
  ['serving.knative.dev', 'Service', { needs: 'ConfigurationsReady RoutesReady Ready' }],
  [
    'serving.kserve.io',
    'InferenceService',
    {
      ...{ needs: 'Ready', waits: 'Stopped', waiting: { 'modelStatus.transitionStatus': ['InProgress'] } },
      failed: { 'modelStatus.transitionStatus': ['InvalidSpec', 'BlockedByFailedLoad'] },
    },
  ],
  ['source.toolkit.fluxcd.io', 'Bucket GitRepository HelmChart OCIRepository', isFluxReady],
  ['source.toolkit.fluxcd.io', 'HelmRepository', { needs: 'Ready', idle: { suspend: [true], type: ['oci'] } }],
  [
    'spot.io',
    'SpotDeployment',
    {
      ...{ waits: 'Paused', fails: 'InvalidSpec', waiting: { phase: ['Progressing'] } },
      failedReasons: { Progressing: ['RolloutAborted', 'ProgressDeadlineExceeded'] },
    },
  ],
  [
    'tower.ansible.com',
    'AnsibleJob',
    {
      ready: { 'ansibleJobResult.status': ['successful'] },
      failed: { 'ansibleJobResult.status': ['failed', 'error', 'canceled'] },
      once: true,
    },
  ],
  [
    'work.karmada.io',
    'ClusterResourceBinding ResourceBinding',
    {
      each: {
        ...{ at: 'aggregatedStatus', some: true },
        ...{ ready: { applied: [true] }, waiting: { health: ['Unhealthy'] } },
      },
    },
  ],
];
