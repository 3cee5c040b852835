// Rows of leases, priorities, flow control, API services and storage versions. Rows of API services follow
// kube-aggregator, all others pkg/printers/internalversion, both of Kubernetes v1.36 (Apache-2.0).
import { shortList } from './cells.ts';
import { printer, type Printers } from './printer.ts';

interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
}

function availability(conditions: readonly Condition[] | undefined): string {
  const available = conditions?.find(({ type }) => type === 'Available');
  if (available === undefined) return 'Unknown';
  const { status = '', reason } = available;
  return status !== 'True' && reason ? `${status} (${reason})` : status;
}

interface PriorityLevel {
  readonly spec?: {
    readonly limited?: {
      readonly nominalConcurrencyShares?: number;
      readonly limitResponse?: {
        readonly queuing?: {
          readonly queues?: number;
          readonly handSize?: number;
          readonly queueLengthLimit?: number;
        };
      };
    };
  };
}

function queuingCell({ spec }: PriorityLevel, field: 'queues' | 'handSize' | 'queueLengthLimit'): string | number {
  const queuing = spec?.limited?.limitResponse?.queuing;
  return queuing === undefined ? '<none>' : (queuing[field] ?? 0);
}

export const clusterPrinters: Printers = {
  'leases.coordination.k8s.io': printer(
    `Name:string:name | @name
Holder:string = spec.holderIdentity | holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field.
Age:string | @age`,
  ),
  'leasecandidates.coordination.k8s.io': printer(
    `Name:string:name | @name
LeaseName:string = spec.leaseName | LeaseName is the name of the lease for which this candidate is contending. This field is immutable.
BinaryVersion:string = spec.binaryVersion | 
EmulationVersion:string = spec.emulationVersion | 
Age:string | @age`,
  ),
  'priorityclasses.scheduling.k8s.io': printer(
    `Name:string:name | @name
Value:integer = value ?? 0 | value represents the integer value of this priority class. This is the actual priority that pods receive when they have the name of this class in their pod spec.
Global-Default:boolean = globalDefault ?? false | globalDefault specifies whether this PriorityClass should be considered as the default priority for pods that do not have any priority class. Only one PriorityClass can be marked as \`globalDefault\`. However, if more than one PriorityClasses exists with their \`globalDefault\` field set to true, the smallest value of such global default PriorityClasses will be used as the default priority.
Age:string | @age
PreemptionPolicy:string = preemptionPolicy | preemptionPolicy is the Policy for preempting pods with lower priority. One of Never, PreemptLowerPriority. Defaults to PreemptLowerPriority if unset.`,
  ),
  'workloads.scheduling.k8s.io': printer(
    `Name:string:name | @name
Age:string | @age`,
  ),
  'podgroups.scheduling.k8s.io': printer<{
    readonly spec?: {
      readonly schedulingPolicy?: { readonly gang?: object };
      readonly podGroupTemplateRef?: { readonly workload?: { readonly workloadName?: string } };
    };
    readonly status?: { readonly conditions?: readonly Condition[] };
  }>(
    `Name:string:name | @name
Policy:string | SchedulingPolicy defines the scheduling policy for this instance of the PodGroup. Controllers are expected to fill this field by copying it from a PodGroupTemplate. This field is immutable.
Workload:string | Name of the referenced Workload object
Status:string | Status of the PodGroup
Age:string | @age`,
    {
      Policy: ({ spec }) => (spec?.schedulingPolicy?.gang === undefined ? 'Basic' : 'Gang'),
      Workload: ({ spec }) => {
        const template = spec?.podGroupTemplateRef;
        return template === undefined ? '<none>' : (template.workload?.workloadName ?? '');
      },
      Status: ({ status }) => {
        const condition = (wanted: string): Condition | undefined =>
          status?.conditions?.findLast(({ type }) => type === wanted);
        const disruption = condition('DisruptionTarget');
        if (disruption !== undefined) return disruption.reason ?? '';
        const scheduled = condition('PodGroupScheduled');
        return scheduled === undefined ? 'Pending' : scheduled.status === 'True' ? 'Scheduled' : 'Unschedulable';
      },
    },
  ),
  'runtimeclasses.node.k8s.io': printer(
    `Name:string:name | @name
Handler:string = handler | 
Age:string | @age`,
  ),
  'flowschemas.flowcontrol.apiserver.k8s.io': printer<{
    readonly spec?: { readonly distinguisherMethod?: { readonly type?: string } | null };
    readonly status?: { readonly conditions?: readonly Condition[] };
  }>(
    `Name:string:name | @name
PriorityLevel:string = spec.priorityLevelConfiguration.name | \`name\` is the name of the priority level configuration being referenced Required.
MatchingPrecedence:string = spec.matchingPrecedence ?? 0 | \`matchingPrecedence\` is used to choose among the FlowSchemas that match a given request. The chosen FlowSchema is among those with the numerically lowest (which we take to be logically highest) MatchingPrecedence.  Each MatchingPrecedence value must be ranged in [1,10000]. Note that if the precedence is not specified, it will be set to 1000 as default.
DistinguisherMethod:string | \`distinguisherMethod\` defines how to compute the flow distinguisher for requests that match this schema. \`nil\` specifies that the distinguisher is disabled and thus will always be the empty string.
Age:string | @age
MissingPL:string | references a broken or non-existent PriorityLevelConfiguration`,
    {
      DistinguisherMethod: ({ spec }) => (spec?.distinguisherMethod ? (spec.distinguisherMethod.type ?? '') : '<none>'),
      MissingPL: ({ status }) => status?.conditions?.find(({ type }) => type === 'Dangling')?.status ?? '?',
    },
  ),
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io': printer<PriorityLevel>(
    `Name:string:name | @name
Type:string = spec.type | \`type\` indicates whether this priority level is subject to limitation on request execution.  A value of \`"Exempt"\` means that requests of this priority level are not subject to a limit (and thus are never queued) and do not detract from the capacity made available to other priority levels.  A value of \`"Limited"\` means that (a) requests of this priority level _are_ subject to limits and (b) some of the server's limited capacity is made available exclusively to this priority level. Required.
NominalConcurrencyShares:string | \`nominalConcurrencyShares\` (NCS) contributes to the computation of the NominalConcurrencyLimit (NominalCL) of this level. This is the number of execution seats available at this priority level. This is used both for requests dispatched from this priority level as well as requests dispatched from other priority levels borrowing seats from this level. The server's concurrency limit (ServerCL) is divided among the Limited priority levels in proportion to their NCS values:\\n\\nNominalCL(i)  = ceil( ServerCL * NCS(i) / sum_ncs ) sum_ncs = sum[priority level k] NCS(k)\\n\\nBigger numbers mean a larger nominal concurrency limit, at the expense of every other priority level.\\n\\nIf not specified, this field defaults to a value of 30.\\n\\nSetting this field to zero supports the construction of a "jail" for this priority level that is used to hold some request(s)
Queues:string | \`queues\` is the number of queues for this priority level. The queues exist independently at each apiserver. The value must be positive.  Setting it to 1 effectively precludes shufflesharding and thus makes the distinguisher method of associated flow schemas irrelevant.  This field has a default value of 64.
HandSize:string | \`handSize\` is a small positive number that configures the shuffle sharding of requests into queues.  When enqueuing a request at this priority level the request's flow identifier (a string pair) is hashed and the hash value is used to shuffle the list of queues and deal a hand of the size specified here.  The request is put into one of the shortest queues in that hand. \`handSize\` must be no larger than \`queues\`, and should be significantly smaller (so that a few heavy flows do not saturate most of the queues).  See the user-facing documentation for more extensive guidance on setting this field.  This field has a default value of 8.
QueueLengthLimit:string | \`queueLengthLimit\` is the maximum number of requests allowed to be waiting in a given queue of this priority level at a time; excess requests are rejected.  This value must be positive.  If not specified, it will be defaulted to 50.
Age:string | @age`,
    {
      NominalConcurrencyShares: ({ spec }) =>
        spec?.limited === undefined ? '<none>' : (spec.limited.nominalConcurrencyShares ?? 0),
      Queues: (level) => queuingCell(level, 'queues'),
      HandSize: (level) => queuingCell(level, 'handSize'),
      QueueLengthLimit: (level) => queuingCell(level, 'queueLengthLimit'),
    },
  ),
  'apiservices.apiregistration.k8s.io': printer<{
    readonly spec?: { readonly service?: { readonly namespace?: string; readonly name?: string } | null };
    readonly status?: { readonly conditions?: readonly Condition[] };
  }>(
    `Name:string:name | @name
Service:string | The reference to the service that hosts this API endpoint.
Available:string | Whether this service is available.
Age:string | @age`,
    {
      Service: ({ spec }) => {
        const service = spec?.service;
        return service ? `${service.namespace ?? ''}/${service.name ?? ''}` : 'Local';
      },
      Available: ({ status }) => availability(status?.conditions),
    },
  ),
  'storageversions.internal.apiserver.k8s.io': printer<{
    readonly status?: {
      readonly storageVersions?: readonly { readonly apiServerID?: string; readonly encodingVersion?: string }[];
    };
  }>(
    `Name:string:name | @name
CommonEncodingVersion:string = status.commonEncodingVersion ?? <unset> | commonEncodingVersion is set to an encoding storage version if all API server instances share that same version. If they don't share one storage version, this field is left empty. API servers should finish updating its storageVersionStatus entry before serving write operations, so that this field will be in sync with the reality.
StorageVersions:string | storageVersions lists the reported versions per API server instance.
Age:string | @age`,
    {
      StorageVersions: ({ status }) => {
        const versions = status?.storageVersions ?? [];
        const texts = versions.map(({ apiServerID = '', encodingVersion = '' }) => `${apiServerID}=${encodingVersion}`);
        return shortList(texts, 3) || '<unset>';
      },
    },
  ),
  'storageversionmigrations.storagemigration.k8s.io': printer<{
    readonly spec?: { readonly resource?: { readonly group?: string; readonly resource?: string } };
    readonly status?: { readonly conditions?: readonly Condition[] };
  }>(
    `Name:string | @name
Resource:string | GroupResource to migrate
Status:string | Status of the migration`,
    {
      Resource: ({ spec }) => {
        const { group, resource = '' } = spec?.resource ?? {};
        return group ? `${resource}.${group}` : resource;
      },
      Status: ({ status }) => {
        const ends = (status?.conditions ?? []).filter((c) => c.status === 'True').map(({ type = '' }) => type);
        return ends.findLast((type) => ['Running', 'Failed', 'Succeeded'].includes(type)) ?? 'Unknown';
      },
    },
  ),
};
