// Verdicts by the rules of argo-data-kinds.ts. A line has the kind, what of an object the rule reads, and the verdict.
// `Ready=True:Reason@2` is a condition, 2 being its observedGeneration.
export const argoDataVerdicts = `
acid.zalan.do/v1 postgresql | {"status":{"PostgresClusterStatus":"Updating"}} | waiting: PostgresClusterStatus is Updating
acid.zalan.do/v1 postgresql | {"status":{"PostgresClusterStatus":"Running"}} | ready
astra.netapp.io/v1 AppVault | {"status":{"state":"available"}} | ready
astra.netapp.io/v1 AppVault | {"status":{"state":"failed"}} | failed: state is failed
astra.netapp.io/v1 Application | {"status":{"conditions":["Ready=True"]}} | ready
astra.netapp.io/v1 Application | {"status":{"conditions":["Ready=False:Ready"]}} | waiting: Ready is not True: Ready
astra.netapp.io/v1 Backup | {"status":{"state":"Running"}} | waiting: state is Running
astra.netapp.io/v1 Backup | {"status":{"state":"Completed"}} | ready
astra.netapp.io/v1 Backup | {"status":{"state":"Failed"}} | failed: state is Failed
astra.netapp.io/v1 ExecHooksRun | {"status":{"state":"Running"}} | waiting: state is Running
astra.netapp.io/v1 ExecHooksRun | {"status":{"state":"Completed"}} | ready
astra.netapp.io/v1 ExecHooksRun | {"status":{"state":"Failed"}} | failed: state is Failed
astra.netapp.io/v1 ResourceBackup | {"status":{"state":"Running"}} | waiting: state is Running
astra.netapp.io/v1 ResourceBackup | {"status":{"state":"Completed"}} | ready
astra.netapp.io/v1 ResourceBackup | {"status":{"state":"Error"}} | failed: state is Error
astra.netapp.io/v1 ResticVolumeBackup | {"status":{"state":"Running"}} | waiting: state is Running
astra.netapp.io/v1 ResticVolumeBackup | {"status":{"state":"Completed"}} | ready
astra.netapp.io/v1 Snapshot | {"status":{"state":"Running"}} | waiting: state is Running
astra.netapp.io/v1 Snapshot | {"status":{"state":"Completed"}} | ready
astra.netapp.io/v1 Snapshot | {"status":{"state":"Failed"}} | failed: state is Failed
beat.k8s.elastic.co/v1beta1 Beat | {"status":{"health":"green"}} | ready
beat.k8s.elastic.co/v1beta1 Beat | {"status":{"health":"yellow"}} | waiting: health is yellow
cassandra.rook.io/v1alpha1 Cluster | {"status":{"racks":{"us-east-1a":{"members":3,"readyMembers":1}}}} | waiting: status.racks.us-east-1a: readyMembers is 1, members is 3
cassandra.rook.io/v1alpha1 Cluster | {"status":{"racks":{"us-east-1c":{"members":3,"readyMembers":3}}}} | ready
ceph.rook.io/v1 CephCluster | {"status":{"ceph":{"health":"HEALTH_OK"},"state":"Created"}} | ready
ceph.rook.io/v1 CephCluster | {"status":{"ceph":{"health":"HEALTH_WARN"}}} | waiting: ceph.health is HEALTH_WARN
ceph.rook.io/v1 CephCluster | {"status":{"state":"Error"}} | failed: state is Error
ceph.rook.io/v1 CephObjectStore | {"status":{"phase":"Ready"}} | ready
ceph.rook.io/v1 CephObjectStore | {"status":{"phase":"Pending"}} | waiting: phase is Pending
ceph.rook.io/v1 CephObjectStore | {"status":{"phase":"Failure"}} | failed: phase is Failure
clickhouse-keeper.altinity.com/v1 ClickHouseKeeperInstallation | {"status":{"status":"Completed"}} | ready
clickhouse-keeper.altinity.com/v1 ClickHouseKeeperInstallation | {"status":{"status":"InProgress"}} | waiting: status is InProgress
clickhouse.altinity.com/v1 ClickHouseInstallation | {"status":{"status":"Completed"}} | ready
clickhouse.altinity.com/v1 ClickHouseInstallation | {"status":{"status":"InProgress"}} | waiting: status is InProgress
core.humio.com/v1alpha1 HumioAction | {"status":{"state":"Exists"}} | ready
core.humio.com/v1alpha1 HumioAction | {"status":{"state":"NotFound"}} | waiting: state is NotFound
core.humio.com/v1alpha1 HumioAction | {"status":{"state":"ConfigError"}} | failed: state is ConfigError
core.humio.com/v1alpha1 HumioAlert | {"status":{"state":"Exists"}} | ready
core.humio.com/v1alpha1 HumioAlert | {"status":{"state":"NotFound"}} | waiting: state is NotFound
core.humio.com/v1alpha1 HumioCluster | {"status":{"state":"Running"}} | ready
core.humio.com/v1alpha1 HumioCluster | {"status":{"state":"Restarting"}} | waiting: state is Restarting
core.humio.com/v1alpha1 HumioCluster | {"status":{"state":"ConfigError"}} | failed: state is ConfigError
core.humio.com/v1alpha1 HumioIngestToken | {"status":{"state":"Exists"}} | ready
core.humio.com/v1alpha1 HumioIngestToken | {"status":{"state":"NotFound"}} | waiting: state is NotFound
core.humio.com/v1alpha1 HumioIngestToken | {"status":{"state":"ConfigError"}} | failed: state is ConfigError
core.humio.com/v1alpha1 HumioParser | {"status":{"state":"Exists"}} | ready
core.humio.com/v1alpha1 HumioParser | {"status":{"state":"NotFound"}} | waiting: state is NotFound
core.humio.com/v1alpha1 HumioParser | {"status":{"state":"ConfigError"}} | failed: state is ConfigError
core.humio.com/v1alpha1 HumioRepository | {"status":{"state":"Exists"}} | ready
core.humio.com/v1alpha1 HumioRepository | {"status":{"state":"NotFound"}} | waiting: state is NotFound
core.humio.com/v1alpha1 HumioView | {"status":{"state":"Exists"}} | ready
core.humio.com/v1alpha1 HumioView | {"status":{"state":"NotFound"}} | waiting: state is NotFound
core.humio.com/v1alpha1 HumioView | {"status":{"state":"ConfigError"}} | failed: state is ConfigError
elasticsearch.k8s.elastic.co/v1 Elasticsearch | {"status":{"health":"green","phase":"Ready"}} | ready
elasticsearch.k8s.elastic.co/v1 Elasticsearch | {"status":{"health":"yellow","phase":"Ready"}} | waiting: health is yellow
elasticsearch.k8s.elastic.co/v1 Elasticsearch | {"status":{"phase":"Invalid"}} | failed: phase is Invalid
flink.apache.org/v1alpha1 FlinkDeployment | {"status":{"jobManagerDeploymentStatus":"READY","reconciliationStatus":{"state":"DEPLOYED"}}} | ready
flink.apache.org/v1alpha1 FlinkDeployment | {"status":{"reconciliationStatus":{}}} | waiting: has no reconciliationStatus.state yet
flink.apache.org/v1alpha1 FlinkDeployment | {"status":{"jobManagerDeploymentStatus":"ERROR"}} | failed: jobManagerDeploymentStatus is ERROR
k8s.mariadb.com/v1alpha1 Backup | {"status":{"conditions":["Complete=True"]}} | ready
k8s.mariadb.com/v1alpha1 Backup | {"status":{"conditions":["Complete=False:CronJobScheduled"]}} | waiting: Complete is not True: CronJobScheduled
k8s.mariadb.com/v1alpha1 Database | {"status":{"conditions":["Ready=True"]}} | ready
k8s.mariadb.com/v1alpha1 Grant | {"status":{"conditions":["Ready=True"]}} | ready
k8s.mariadb.com/v1alpha1 MariaDB | {"status":{"revision":0}} | waiting: has no condition Ready yet
k8s.mariadb.com/v1alpha1 MariaDB | {"status":{"conditions":["Ready=True"]}} | ready
k8s.mariadb.com/v1alpha1 SqlJob | {"status":{"conditions":["Complete=True"]}} | ready
k8s.mariadb.com/v1alpha1 SqlJob | {"status":{"conditions":["Complete=True:JobFailed"]}} | failed: Complete: JobFailed
k8s.mariadb.com/v1alpha1 User | {"status":{"conditions":["Ready=True"]}} | ready
kafka.banzaicloud.io/v1beta1 KafkaCluster | {"status":{"state":"ClusterReconciling"}} | waiting: state is ClusterReconciling
kafka.banzaicloud.io/v1beta1 KafkaCluster | {"status":{"brokersState":{"103":{"configurationState":"ConfigInSync"}},"cruiseControlTopicStatus":"CruiseControlTopicReady","state":"ClusterRunning"}} | ready
kafka.strimzi.io/v1beta1 Kafka | {"status":{"observedGeneration":1}} | waiting: has no condition Ready yet
kafka.strimzi.io/v1beta1 Kafka | {"status":{"conditions":["Ready=True"]}} | ready
kafka.strimzi.io/v1beta1 KafkaTopic | {"status":{"observedGeneration":1}} | waiting: has no condition Ready yet
kafka.strimzi.io/v1beta1 KafkaTopic | {"status":{"conditions":["Ready=True"]}} | ready
kafka.strimzi.io/v1beta1 KafkaUser | {"status":{"username":"CN=my-user"}} | waiting: has no condition Ready yet
kafka.strimzi.io/v1beta1 KafkaUser | {"status":{"conditions":["Ready=True"]}} | ready
logstash.k8s.elastic.co/v1alpha1 Logstash | {"status":{"health":"green"}} | ready
logstash.k8s.elastic.co/v1alpha1 Logstash | {"status":{"health":"yellow"}} | waiting: health is yellow
mariadb.mmontes.io/v1alpha1 MariaDB | {"status":{"revision":0}} | waiting: has no condition Ready yet
mariadb.mmontes.io/v1alpha1 MariaDB | {"status":{"conditions":["Ready=True"]}} | ready
minio.min.io/v2 Tenant | {"status":{"currentState":"Initialized"}} | ready
minio.min.io/v2 Tenant | {"status":{"currentState":"Provisioning MinIO Cluster IP Service"}} | waiting: currentState is Provisioning MinIO Cluster IP Service
minio.min.io/v2 Tenant | {"status":{"currentState":"Statefulset not controlled by operator"}} | failed: currentState is Statefulset not controlled by operator
objectbucket.io/v1alpha1 ObjectBucketClaim | {"status":{"phase":"Bound"}} | ready
objectbucket.io/v1alpha1 ObjectBucketClaim | {"status":{"phase":"Pending"}} | waiting: phase is Pending
objectbucket.io/v1alpha1 ObjectBucketClaim | {"status":{"phase":"Failed"}} | failed: phase is Failed
ocs.openshift.io/v1 StorageCluster | {"status":{"conditions":["Degraded=True:ClusterStateError"]}} | waiting: Degraded: ClusterStateError
ocs.openshift.io/v1 StorageCluster | {"status":{"conditions":["Available=True"]}} | ready
platform.confluent.io/v1beta1 Connect | {"status":{"phase":"PROVISIONING"}} | waiting: phase is PROVISIONING
platform.confluent.io/v1beta1 Connect | {"status":{"phase":"RUNNING"}} | ready
platform.confluent.io/v1beta1 Connector | {"status":{"connectorState":"RUNNING","state":"CREATED"}} | ready
platform.confluent.io/v1beta1 Connector | {"status":{"state":"ERROR"}} | failed: state is ERROR
platform.confluent.io/v1beta1 Connector | {"status":{"connectorState":"RUNNING","failedTasksCount":1,"state":"CREATED"}} | waiting: failedTasksCount is 1
platform.confluent.io/v1beta1 ControlCenter | {"status":{"phase":"PROVISIONING"}} | waiting: phase is PROVISIONING
platform.confluent.io/v1beta1 ControlCenter | {"status":{"phase":"RUNNING"}} | ready
platform.confluent.io/v1beta1 Kafka | {"status":{"phase":"PROVISIONING"}} | waiting: phase is PROVISIONING
platform.confluent.io/v1beta1 Kafka | {"status":{"phase":"RUNNING"}} | ready
platform.confluent.io/v1beta1 KsqlDB | {"status":{"phase":"PROVISIONING"}} | waiting: phase is PROVISIONING
platform.confluent.io/v1beta1 KsqlDB | {"status":{"phase":"RUNNING"}} | ready
platform.confluent.io/v1beta1 SchemaRegistry | {"status":{"phase":"PROVISIONING"}} | waiting: phase is PROVISIONING
platform.confluent.io/v1beta1 SchemaRegistry | {"status":{"phase":"RUNNING"}} | ready
platform.confluent.io/v1beta1 Zookeeper | {"status":{"phase":"PROVISIONING"}} | waiting: phase is PROVISIONING
platform.confluent.io/v1beta1 Zookeeper | {"status":{"phase":"RUNNING"}} | ready
postgresql.cnpg.io/v1 Cluster | {"status":{"phase":"Setting up primary"}} | waiting: phase is Setting up primary
postgresql.cnpg.io/v1 Cluster | {"status":{"phase":"Cluster in healthy state"}} | ready
psmdb.percona.com/v1 PerconaServerMongoDB | {"status":{"state":"initializing"}} | waiting: state is initializing
psmdb.percona.com/v1 PerconaServerMongoDB | {"status":{"state":"ready"}} | ready
psmdb.percona.com/v1 PerconaServerMongoDB | {"status":{"state":"error"}} | failed: state is error
pxc.percona.com/v1 PerconaXtraDBCluster | {"status":{"state":"initializing"}} | waiting: state is initializing
pxc.percona.com/v1 PerconaXtraDBCluster | {"status":{"state":"ready"}} | ready
pxc.percona.com/v1 PerconaXtraDBCluster | {"status":{"state":"error"}} | failed: state is error
rabbitmq.com/v1beta1 Binding | {"status":{"conditions":["Ready=False:FailedCreateOrUpdate"]}} | waiting: Ready is not True: FailedCreateOrUpdate
rabbitmq.com/v1beta1 Binding | {"status":{"conditions":["Ready=True"]}} | ready
rabbitmq.com/v1beta1 Permission | {"status":{"conditions":["Ready=False:FailedCreateOrUpdate"]}} | waiting: Ready is not True: FailedCreateOrUpdate
rabbitmq.com/v1beta1 Permission | {"status":{"conditions":["Ready=True"]}} | ready
rabbitmq.com/v1beta1 Policy | {"status":{"conditions":["Ready=False:FailedCreateOrUpdate"]}} | waiting: Ready is not True: FailedCreateOrUpdate
rabbitmq.com/v1beta1 Policy | {"status":{"conditions":["Ready=True"]}} | ready
rabbitmq.com/v1beta1 Queue | {"status":{"conditions":["Ready=False:FailedCreateOrUpdate"]}} | waiting: Ready is not True: FailedCreateOrUpdate
rabbitmq.com/v1beta1 Queue | {"status":{"conditions":["Ready=True"]}} | ready
rabbitmq.com/v1beta1 RabbitmqCluster | {"status":{"conditions":[]}} | waiting: has no condition ClusterAvailable yet
rabbitmq.com/v1beta1 RabbitmqCluster | {"status":{"conditions":["AllReplicasReady=True","ClusterAvailable=True"]}} | ready
rabbitmq.com/v1beta1 Shovel | {"status":{"conditions":["Ready=False:FailedCreateOrUpdate"]}} | waiting: Ready is not True: FailedCreateOrUpdate
rabbitmq.com/v1beta1 Shovel | {"status":{"conditions":["Ready=True"]}} | ready
rabbitmq.com/v1beta1 User | {"status":{"conditions":["Ready=False:FailedCreateOrUpdate"]}} | waiting: Ready is not True: FailedCreateOrUpdate
rabbitmq.com/v1beta1 User | {"status":{"conditions":["Ready=True"]}} | ready
rabbitmq.com/v1beta1 Vhost | {"status":{"conditions":["Ready=False:FailedCreateOrUpdate"]}} | waiting: Ready is not True: FailedCreateOrUpdate
rabbitmq.com/v1beta1 Vhost | {"status":{"conditions":["Ready=True"]}} | ready
snapshot.storage.k8s.io/v1 VolumeSnapshot | {"status":{"readyToUse":true}} | ready
snapshot.storage.k8s.io/v1 VolumeSnapshot | {"status":{"readyToUse":false}} | waiting: readyToUse is false
snapshot.storage.k8s.io/v1 VolumeSnapshotContent | {"status":{"readyToUse":true}} | ready
snapshot.storage.k8s.io/v1 VolumeSnapshotContent | {"status":{"readyToUse":false}} | waiting: readyToUse is false
solr.apache.org/v1beta1 SolrCloud | {} | waiting: has no status yet
solr.apache.org/v1beta1 SolrCloud | {"status":{"solrNodes":[{"ready":true}]}} | ready
sparkoperator.k8s.io/v1beta2 SparkApplication | {"status":{"applicationState":{"state":"PENDING_RERUN"}}} | waiting: applicationState.state is PENDING_RERUN
sparkoperator.k8s.io/v1beta2 SparkApplication | {"status":{"applicationState":{"state":"RUNNING"}}} | ready
trident.netapp.io/v1 TridentBackendConfig | {"status":{"lastOperationStatus":"Failed"}} | failed: lastOperationStatus is Failed
trident.netapp.io/v1 TridentBackendConfig | {"status":{"lastOperationStatus":"Progressing","phase":"Bound"}} | waiting: lastOperationStatus is Progressing
trident.netapp.io/v1 TridentBackendConfig | {"status":{"lastOperationStatus":"Success","phase":"Bound"}} | ready
trident.netapp.io/v1 TridentOrchestrator | {"status":{"status":"Error"}} | failed: status is Error
trident.netapp.io/v1 TridentOrchestrator | {"status":{"status":"Installing"}} | waiting: status is Installing
trident.netapp.io/v1 TridentOrchestrator | {"status":{"status":"Installed"}} | ready
zookeeper.pravega.io/v1beta1 ZookeeperCluster | {"status":{"replicas":1}} | waiting: has no readyReplicas yet
zookeeper.pravega.io/v1beta1 ZookeeperCluster | {"status":{"readyReplicas":1,"replicas":1}} | ready
k8s.mariadb.com/v1alpha1 Grant | {"status":{"conditions":["Ready=False:Failed"]}} | waiting: Ready is not True: Failed
`;
