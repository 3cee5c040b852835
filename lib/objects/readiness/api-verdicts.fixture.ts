// Verdicts by the rules of api-kinds.ts. A line has the kind, what of an object the rule reads, and the verdict.
// `Ready=True:Reason@2` is a condition, 2 being its observedGeneration.
export const apiVerdicts = `
acme.cert-manager.io/v1 Order | {"status":{"state":"valid"}} | ready
acme.cert-manager.io/v1 Order | {"status":{"state":"pending"}} | waiting: state is pending
acme.cert-manager.io/v1 Order | {"metadata":{"generation":2},"status":{"state":"errored"}} | failed: state is errored
acme.cert-manager.io/v1 Challenge | {"status":{"state":"valid","presented":false}} | ready
acme.cert-manager.io/v1 Challenge | {"status":{"presented":true}} | waiting: has no state yet
acme.cert-manager.io/v1 Challenge | {"status":{"state":"invalid"}} | failed: state is invalid
agent.k8s.elastic.co/v1alpha1 Agent | {"status":{"health":"green"}} | ready
agent.k8s.elastic.co/v1alpha1 Agent | {"status":{"health":"red"}} | waiting: health is red
apm.k8s.elastic.co/v1 ApmServer | {"status":{"health":"green"}} | ready
apm.k8s.elastic.co/v1 ApmServer | {"status":{"health":"red"}} | waiting: health is red
argoproj.io/v1beta1 ArgoCD | {"status":{"phase":"Available"}} | ready
argoproj.io/v1beta1 ArgoCD | {"status":{"phase":"Pending"}} | waiting: phase is Pending
argoproj.io/v1beta1 ArgoCD | {"status":{"phase":"Failed"}} | failed: phase is Failed
argoproj.io/v1alpha1 Sensor | {"status":{"conditions":["Deployed=True","DependenciesProvided=True"]}} | ready
argoproj.io/v1alpha1 EventSource | {"status":{"conditions":["Deployed=True","SourcesProvided=False"]}} | waiting: SourcesProvided is not True: no reason given
cert-manager.io/v1 CertificateRequest | {"status":{"conditions":["Approved=True","Ready=True:Issued"]}} | ready
cert-manager.io/v1 CertificateRequest | {"status":{"conditions":["Approved=True","Ready=False:Pending"]}} | waiting: Ready is not True: Pending
cert-manager.io/v1 CertificateRequest | {"status":{"conditions":["Denied=True:Policy","Ready=False:Denied"]}} | failed: Denied: Policy
cert-manager.io/v1 CertificateRequest | {"status":{"conditions":["Approved=True","Ready=False:Failed"]}} | failed: Ready: Failed
ceph.rook.io/v1 CephBlockPool | {"status":{"phase":"Ready"}} | ready
ceph.rook.io/v1 CephFilesystem | {"status":{"phase":"Progressing"}} | waiting: phase is Progressing
ceph.rook.io/v1 CephObjectStoreUser | {"status":{"phase":"Failure"}} | failed: phase is Failure
cluster.x-k8s.io/v1beta1 MachineSet | {"metadata":{"generation":1},"status":{"observedGeneration":1,"replicas":2,"readyReplicas":2}} | ready
cluster.x-k8s.io/v1beta1 MachineSet | {"metadata":{"generation":1},"status":{"observedGeneration":1,"replicas":2}} | waiting: readyReplicas is 0, replicas is 2
config.openshift.io/v1 ClusterOperator | {"status":{"conditions":["Available=True","Progressing=False","Degraded=False"]}} | ready
config.openshift.io/v1 ClusterOperator | {"status":{"conditions":["Available=True","Progressing=True:Rollout"]}} | waiting: Progressing: Rollout
controlplane.cluster.x-k8s.io/v1beta2 KubeadmControlPlane | {"status":{"conditions":["Available=True"]}} | ready
controlplane.cluster.x-k8s.io/v1beta1 KubeadmControlPlane | {"status":{"conditions":["Ready=False:ScalingUp"]}} | waiting: Ready is not True: ScalingUp
customize.core.cnrm.cloud.google.com/v1beta1 ControllerResource | {"status":{"healthy":true}} | ready
customize.core.cnrm.cloud.google.com/v1beta1 ControllerResource | {"status":{"healthy":false}} | waiting: healthy is false
eventing.knative.dev/v1 Broker | {"status":{"conditions":["Ready=True"]}} | ready
eventing.knative.dev/v1 Trigger | {"status":{"observedGeneration":1}} | waiting: has no condition Ready yet
external-secrets.io/v1alpha1 ClusterPushSecret | {"status":{"conditions":["Ready=True"]}} | ready
external-secrets.io/v1alpha1 ClusterPushSecret | {"status":{"conditions":["Ready=False"]}} | waiting: Ready is not True: no reason given
gateway.networking.k8s.io/v1alpha2 TCPRoute | {"status":{"parents":[{"conditions":["Accepted=True","ResolvedRefs=True"]}]}} | ready
gateway.networking.k8s.io/v1alpha2 TLSRoute | {"status":{"parents":[]}} | waiting: status.parents is empty
groupsnapshot.storage.k8s.io/v1beta1 VolumeGroupSnapshot | {"status":{"readyToUse":true}} | ready
groupsnapshot.storage.k8s.io/v1beta1 VolumeGroupSnapshot | {"status":{"readyToUse":false}} | waiting: readyToUse is false
k8s.keycloak.org/v2alpha1 KeycloakRealmImport | {"status":{"conditions":["Done=True","HasErrors=False"]}} | ready
k8s.keycloak.org/v2alpha1 KeycloakRealmImport | {"status":{"conditions":["Done=False","HasErrors=True"]}} | waiting: HasErrors: no reason given
kafka.strimzi.io/v1beta2 KafkaMirrorMaker2 | {"metadata":{"generation":1},"status":{"observedGeneration":1,"conditions":["Ready=True"]}} | ready
kafka.strimzi.io/v1beta2 KafkaMirrorMaker2 | {"metadata":{"generation":1},"status":{"observedGeneration":1,"conditions":["NotReady=True"]}} | waiting: has no condition Ready yet
kibana.k8s.elastic.co/v1 Kibana | {"status":{"health":"green"}} | ready
kibana.k8s.elastic.co/v1 Kibana | {"status":{"health":"red"}} | waiting: health is red
kyverno.io/v1 ClusterPolicy | {"status":{"conditions":["Ready=True:Succeeded"]}} | ready
kyverno.io/v1 ClusterPolicy | {"status":{"autogen":{}}} | waiting: has no condition Ready yet
messaging.knative.dev/v1 Channel | {"status":{"conditions":["Ready=True"]}} | ready
messaging.knative.dev/v1 Subscription | {"status":{"conditions":["Ready=Unknown"]}} | waiting: Ready is not True: no reason given
mongodb.com/v1 MongoDB | {"status":{"phase":"Running"}} | ready
mongodb.com/v1 MongoDB | {"status":{"phase":"Reconciling"}} | waiting: phase is Reconciling
mongodb.com/v1 MongoDBOpsManager | {"status":{"opsManager":{"phase":"Running"}}} | ready
mongodb.com/v1 MongoDBOpsManager | {"status":{"opsManager":{"phase":"Pending"}}} | waiting: opsManager.phase is Pending
mongodb.com/v1 MongoDBUser | {"status":{"phase":"Updated"}} | ready
mongodb.com/v1 MongoDBUser | {"status":{"phase":"Failed"}} | failed: phase is Failed
mongodbcommunity.mongodb.com/v1 MongoDBCommunity | {"status":{"phase":"Running"}} | ready
mongodbcommunity.mongodb.com/v1 MongoDBCommunity | {"metadata":{"generation":2},"status":{"phase":"Failed"}} | waiting: phase is Failed
operators.coreos.com/v1alpha1 ClusterServiceVersion | {"status":{"phase":"Succeeded","conditions":[{"phase":"Pending"},{"phase":"Succeeded"}]}} | ready
operators.coreos.com/v1alpha1 ClusterServiceVersion | {"status":{"phase":"Installing"}} | waiting: phase is Installing
operators.coreos.com/v1alpha1 InstallPlan | {"status":{"phase":"Complete","conditions":["Installed=True"]}} | ready
operators.coreos.com/v1alpha1 InstallPlan | {"status":{"phase":"RequiresApproval"}} | waiting: phase is RequiresApproval
postgresql.cnpg.io/v1 Backup | {"status":{"phase":"completed"}} | ready
postgresql.cnpg.io/v1 Backup | {"status":{"phase":"failed"}} | failed: phase is failed
postgresql.cnpg.io/v1 Database | {"status":{"applied":true}} | ready
postgresql.cnpg.io/v1 Publication | {"status":{"applied":false}} | waiting: applied is false
rabbitmq.com/v1beta1 SuperStream | {"status":{"conditions":["Ready=True"]}} | ready
rabbitmq.com/v1beta1 Federation | {"status":{"conditions":["Ready=False:FailedCreateOrUpdate"]}} | waiting: Ready is not True: FailedCreateOrUpdate
sailoperator.io/v1 Istio | {"status":{"conditions":["Reconciled=True","Ready=True"]}} | ready
sailoperator.io/v1 ZTunnel | {"status":{"conditions":["Reconciled=True","Ready=False:NotReady"]}} | waiting: Ready is not True: NotReady
serving.knative.dev/v1 Revision | {"status":{"conditions":["Ready=True","Active=False:NoTraffic"]}} | ready
serving.knative.dev/v1 Route | {"status":{"conditions":["Ready=Unknown:IngressNotConfigured"]}} | waiting: Ready is not True: IngressNotConfigured
tekton.dev/v1 PipelineRun | {"status":{"conditions":["Succeeded=True:Completed"]}} | ready
tekton.dev/v1 TaskRun | {"status":{"conditions":["Succeeded=Unknown:Running"]}} | waiting: Succeeded is not True: Running
tekton.dev/v1 TaskRun | {"metadata":{"generation":3},"status":{"conditions":["Succeeded=False:TaskRunTimeout"]}} | failed: Succeeded: TaskRunTimeout
velero.io/v1 Backup | {"status":{"phase":"Completed"}} | ready
velero.io/v1 Backup | {"metadata":{"generation":6},"status":{"phase":"PartiallyFailed"}} | failed: phase is PartiallyFailed
velero.io/v1 Restore | {"status":{"phase":"InProgress"}} | waiting: phase is InProgress
velero.io/v1 BackupStorageLocation | {"status":{"phase":"Available"}} | ready
velero.io/v1 BackupStorageLocation | {"status":{"phase":"Unavailable"}} | waiting: phase is Unavailable
velero.io/v1 PodVolumeBackup | {"status":{"phase":"Completed"}} | ready
velero.io/v2alpha1 DataUpload | {"status":{"phase":"Canceled"}} | failed: phase is Canceled
velero.io/v1 Schedule | {"status":{"phase":"Enabled"}} | ready
velero.io/v1 Schedule | {"status":{"phase":"New"}} | waiting: phase is New
velero.io/v1 Schedule | {"spec":{"paused":true}} | ready
`;
