// Rules that follow Argo CD's health scripts, like those in argo-kinds.ts, for kinds that store or move data:
// databases, queues, storage, backups and the like.
import type { KindRow, Rule } from './rule.ts';

const isReady: Rule = { needs: 'Ready' };
const isCompleted: Rule = { ready: { state: ['Completed'] }, failed: { state: ['Failed', 'Error'] }, once: true };
const runs: Rule = { ready: { phase: ['RUNNING'] } };
const isGreen: Rule = { ready: { health: ['green'] } };
const exists: Rule = { ready: { state: ['Exists'] }, failed: { state: ['ConfigError'] } };
const isInstalled: Rule = { ready: { status: ['Completed'] }, failed: { status: ['Aborted'] } };

/** The rules, by API group. They follow the scripts in Argo CD's folder resource_customizations. */
export const argoDataKinds: readonly KindRow[] = [
  [
    'acid.zalan.do',
    'postgresql',
    {
      ready: { PostgresClusterStatus: ['Running'] },
      failed: { PostgresClusterStatus: ['CreateFailed', 'UpdateFailed', 'SyncFailed', 'Invalid'] },
    },
  ],
  [
    'astra.netapp.io',
    'AppVault',
    { ready: { state: ['available', 'Available'] }, failed: { state: ['failed', 'Failed'] } },
  ],
  ['astra.netapp.io', 'Application', isReady],
  ['astra.netapp.io', 'Backup ExecHooksRun ResourceBackup ResticVolumeBackup Snapshot', isCompleted],
  ['beat.k8s.elastic.co', 'Beat', isGreen],
  ['cassandra.rook.io', 'Cluster', { each: { at: 'racks', some: true, equal: [['readyMembers', 'members']] } }],
  [
    'ceph.rook.io',
    'CephCluster',
    { ready: { 'ceph.health': ['HEALTH_OK'], state: ['Created', 'Connected'] }, failed: { state: ['Error'] } },
  ],
  ['ceph.rook.io', 'CephObjectStore', { ready: { phase: ['Ready', 'Connected'] }, failed: { phase: ['Failure'] } }],
  ['clickhouse-keeper.altinity.com', 'ClickHouseKeeperInstallation', isInstalled],
  ['clickhouse.altinity.com', 'ClickHouseInstallation', isInstalled],
  ['core.humio.com', 'HumioAction HumioAlert HumioIngestToken HumioParser HumioRepository HumioView', exists],
  ['core.humio.com', 'HumioCluster', { ready: { state: ['Running'] }, failed: { state: ['ConfigError'] } }],
  [
    'elasticsearch.k8s.elastic.co',
    'Elasticsearch',
    { ready: { phase: ['Ready'], health: ['green'] }, failed: { phase: ['Invalid'] } },
  ],
  [
    'flink.apache.org',
    'FlinkDeployment',
    {
      ready: { 'reconciliationStatus.state': ['DEPLOYED'], jobManagerDeploymentStatus: ['READY'] },
      failed: { jobManagerDeploymentStatus: ['ERROR'] },
      idle: { 'job.state': ['suspended'] },
    },
  ],
  ['k8s.mariadb.com', 'Backup SqlJob', { needs: 'Complete', failedReasons: { Complete: ['JobFailed'] } }],
  ['k8s.mariadb.com', 'Database Grant User', isReady],
  ['k8s.mariadb.com', 'MariaDB', { needs: 'Ready', holds: '*' }],
  ['mariadb.mmontes.io', 'MariaDB', { needs: 'Ready', holds: '*' }],
  [
    'kafka.banzaicloud.io',
    'KafkaCluster',
    {
      ready: { state: ['ClusterRunning'], cruiseControlTopicStatus: ['CruiseControlTopicReady'] },
      each: { at: 'brokersState', some: true, ready: { configurationState: ['ConfigInSync'] } },
    },
  ],
  ['kafka.strimzi.io', 'Kafka KafkaBridge KafkaConnect KafkaConnector KafkaTopic KafkaUser', isReady],
  ['logstash.k8s.elastic.co', 'Logstash', isGreen],
  [
    'minio.min.io',
    'Tenant',
    {
      ready: { currentState: ['Initialized'] },
      failed: {
        currentState: [
          'Statefulset not controlled by operator',
          'Another MinIO Tenant already exists in the namespace',
          'Tenant credentials are not set properly',
          'Different versions across MinIO Pools',
          'Pool Decommissioning Not Allowed',
        ],
      },
    },
  ],
  ['objectbucket.io', 'ObjectBucketClaim', { ready: { phase: ['Bound'] }, failed: { phase: ['Failed'] } }],
  ['ocs.openshift.io', 'StorageCluster', { needs: 'Available', waits: 'Degraded Progressing' }],
  ['platform.confluent.io', 'Connect ControlCenter Kafka KsqlDB SchemaRegistry Zookeeper', runs],
  [
    'platform.confluent.io',
    'Connector',
    {
      ...{ ready: { state: ['CREATED'], connectorState: ['RUNNING'] }, failed: { state: ['ERROR'] } },
      lacks: 'failedTasksCount',
    },
  ],
  [
    'postgresql.cnpg.io',
    'Cluster',
    {
      ready: { phase: ['Cluster in healthy state'] },
      failed: { phase: ['Cluster is unrecoverable and needs manual intervention'] },
    },
  ],
  [
    'psmdb.percona.com',
    'PerconaServerMongoDB',
    { ready: { state: ['ready'] }, failed: { state: ['error'] }, idle: { pause: [true] } },
  ],
  [
    'pxc.percona.com',
    'PerconaXtraDBCluster',
    { ready: { state: ['ready'] }, failed: { state: ['error'] }, idle: { pause: [true] } },
  ],
  ['rabbitmq.com', 'Binding Exchange Permission Policy Queue Shovel User Vhost', isReady],
  ['rabbitmq.com', 'RabbitmqCluster', { needs: 'ClusterAvailable AllReplicasReady', holds: 'ReconcileSuccess' }],
  ['snapshot.storage.k8s.io', 'VolumeSnapshot VolumeSnapshotContent', { ready: { readyToUse: [true] } }],
  ['solr.apache.org', 'SolrCloud', { each: { at: 'solrNodes', some: true, ready: { ready: [true] } } }],
  [
    'sparkoperator.k8s.io',
    'SparkApplication',
    {
      ready: { 'applicationState.state': ['RUNNING', 'COMPLETED'] },
      failed: { 'applicationState.state': ['FAILED', 'SUBMISSION_FAILED'] },
    },
  ],
  [
    'trident.netapp.io',
    'TridentBackendConfig',
    { ready: { phase: ['Bound'], lastOperationStatus: ['Success'] }, failed: { lastOperationStatus: ['Failed'] } },
  ],
  [
    'trident.netapp.io',
    'TridentOrchestrator',
    { ready: { status: ['Installed'] }, failed: { status: ['Failed', 'Error'] } },
  ],
  ['zookeeper.pravega.io', 'ZookeeperCluster', { has: 'readyReplicas', equal: [['readyReplicas', 'replicas']] }],
];
