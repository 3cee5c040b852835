// Rules for kinds that Argo CD has no health script for. The conditions Ready and Available do not suffice for them, so
// the rules follow the documentation of their APIs.
import type { KindRow, Rule } from './rule.ts';

const isReady: Rule = { needs: 'Ready' };
const isStored: Rule = { ready: { phase: ['Completed'] }, failed: { phase: ['Failed', 'Canceled'] }, once: true };
const isRunning: Rule = { ready: { phase: ['Running'] }, failed: { phase: ['Failed'] } };
const isGreen: Rule = { ready: { health: ['green'] } };
const isPooled: Rule = { ready: { phase: ['Ready', 'Connected'] }, failed: { phase: ['Failure'] } };
const routes: Rule = { each: { at: 'parents', some: true, needs: 'Accepted', holds: 'ResolvedRefs' } };

/** The rules, by API group. */
export const apiKinds: readonly KindRow[] = [
  [
    'acme.cert-manager.io',
    'Order',
    { ready: { state: ['valid'] }, failed: { state: ['invalid', 'expired', 'errored'] }, once: true },
  ],
  [
    'acme.cert-manager.io',
    'Challenge',
    { ready: { state: ['valid'] }, failed: { state: ['invalid', 'expired', 'errored'] }, once: true },
  ],
  ['agent.k8s.elastic.co', 'Agent', isGreen],
  ['apm.k8s.elastic.co', 'ApmServer', isGreen],
  ['argoproj.io', 'ArgoCD', { ready: { phase: ['Available'] }, failed: { phase: ['Failed'] } }],
  ['argoproj.io', 'EventSource Sensor', { needs: 'Deployed', holds: '*' }],
  [
    'cert-manager.io',
    'CertificateRequest',
    { needs: 'Ready', fails: 'Denied InvalidRequest', failedReasons: { Ready: ['Failed'] }, once: true },
  ],
  ['ceph.rook.io', 'CephBlockPool CephFilesystem CephObjectStoreUser', isPooled],
  ['cluster.x-k8s.io', 'MachineSet', { has: 'observedGeneration', equal: [['readyReplicas', 'replicas']] }],
  ['config.openshift.io', 'ClusterOperator', { needs: 'Available', waits: 'Degraded Progressing' }],
  ['controlplane.cluster.x-k8s.io', 'KubeadmControlPlane', { oneOf: 'Available Ready' }],
  ['customize.core.cnrm.cloud.google.com', '*', { ready: { healthy: [true] } }],
  ['eventing.knative.dev', 'Broker Trigger', isReady],
  ['external-secrets.io', 'ClusterPushSecret', isReady],
  ['gateway.networking.k8s.io', 'TCPRoute TLSRoute UDPRoute', routes],
  ['groupsnapshot.storage.k8s.io', 'VolumeGroupSnapshot VolumeGroupSnapshotContent', { ready: { readyToUse: [true] } }],
  ['k8s.keycloak.org', 'KeycloakRealmImport', { needs: 'Done', waits: 'HasErrors' }],
  ['kafka.strimzi.io', 'KafkaMirrorMaker2', isReady],
  ['kibana.k8s.elastic.co', 'Kibana', isGreen],
  ['kyverno.io', 'ClusterPolicy', isReady],
  ['messaging.knative.dev', 'Channel InMemoryChannel Subscription', isReady],
  ['mongodb.com', 'MongoDB MongoDBMultiCluster', isRunning],
  [
    'mongodb.com',
    'MongoDBOpsManager',
    { ready: { 'opsManager.phase': ['Running'] }, failed: { 'opsManager.phase': ['Failed'] } },
  ],
  ['mongodb.com', 'MongoDBUser', { ready: { phase: ['Updated'] }, failed: { phase: ['Failed'] } }],
  ['mongodbcommunity.mongodb.com', 'MongoDBCommunity', isRunning],
  [
    'operators.coreos.com',
    'ClusterServiceVersion',
    { ready: { phase: ['Succeeded'] }, failed: { phase: ['Failed'] }, foreign: true },
  ],
  [
    'operators.coreos.com',
    'InstallPlan',
    { ready: { phase: ['Complete'] }, failed: { phase: ['Failed'] }, once: true },
  ],
  ['postgresql.cnpg.io', 'Backup', { ready: { phase: ['completed'] }, failed: { phase: ['failed'] }, once: true }],
  ['postgresql.cnpg.io', 'Database Publication Subscription', { ready: { applied: [true] } }],
  ['rabbitmq.com', 'Federation OperatorPolicy SchemaReplication SuperStream TopicPermission', isReady],
  ['sailoperator.io', 'Istio IstioCNI IstioRevision ZTunnel', { needs: 'Reconciled Ready' }],
  ['serving.knative.dev', 'Configuration DomainMapping Revision Route', isReady],
  ['tekton.dev', 'CustomRun PipelineRun TaskRun', { ends: 'Succeeded', once: true }],
  [
    'velero.io',
    'Backup Restore',
    {
      ready: { phase: ['Completed'] },
      failed: { phase: ['Failed', 'PartiallyFailed', 'FailedValidation'] },
      once: true,
    },
  ],
  ['velero.io', 'BackupStorageLocation', { ready: { phase: ['Available'] } }],
  ['velero.io', 'DataDownload DataUpload PodVolumeBackup PodVolumeRestore', isStored],
  [
    'velero.io',
    'Schedule',
    { ready: { phase: ['Enabled'] }, failed: { phase: ['FailedValidation'] }, idle: { paused: [true] } },
  ],
];
