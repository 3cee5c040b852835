// Rows of resource.k8s.io: device classes, claims, slices and taints. The STATE of a claim can have several words, such
// as `allocated,reserved`. The numbers of a pool status request are sums over its pools. Follows
// pkg/printers/internalversion of Kubernetes v1.36 (Apache-2.0).
import { printer, type KubeObject, type Printers } from './printer.ts';

interface Claim extends KubeObject {
  readonly status?: { readonly allocation?: object; readonly reservedFor?: readonly object[] };
}

function claimState({ metadata, status }: Claim): string {
  const states = metadata?.deletionTimestamp ? ['deleted'] : [];
  if (status?.allocation !== undefined)
    states.push('allocated', ...((status.reservedFor?.length ?? 0) > 0 ? ['reserved'] : []));
  else if (states.length === 0) states.push('pending');
  return states.join(',');
}

interface Pool {
  readonly validationError?: string;
  readonly totalDevices?: number;
  readonly availableDevices?: number;
  readonly allocatedDevices?: number;
  readonly unavailableDevices?: number;
}

interface PoolRequest extends KubeObject {
  readonly status?: {
    readonly poolCount?: number;
    readonly pools?: readonly Pool[];
    readonly conditions?: readonly {
      readonly type?: string;
      readonly status?: string;
      readonly lastTransitionTime?: string;
    }[];
  };
}

function endOf({ status }: PoolRequest) {
  return status?.conditions?.find((c) => (c.type === 'Complete' || c.type === 'Failed') && c.status === 'True');
}

/** The pools in the status of a pool status request; undefined when the request has no status yet or has failed. */
function countedPools(request: PoolRequest): readonly Pool[] | undefined {
  const isCounted = request.status !== undefined && endOf(request)?.type !== 'Failed';
  return isCounted ? (request.status?.pools ?? []) : undefined;
}

function poolSum(request: PoolRequest, field: Exclude<keyof Pool, 'validationError'>): string {
  const pools = countedPools(request);
  return pools === undefined ? '-' : String(pools.reduce((total, pool) => total + (pool[field] ?? 0), 0));
}

function poolErrors(request: PoolRequest): string {
  const pools = countedPools(request);
  return pools === undefined
    ? '-'
    : String(pools.filter(({ validationError }) => validationError !== undefined).length);
}

function poolStatus(request: PoolRequest): string {
  const end = endOf(request);
  const { poolCount = 0, pools = [] } = request.status ?? {};
  const isCut = end?.type === 'Complete' && poolCount > pools.length;
  return isCut ? `Complete (${pools.length}/${poolCount} pools)` : (end?.type ?? 'Pending');
}

export const devicePrinters: Printers = {
  'deviceclasses.resource.k8s.io': printer(
    `Name:string:name | @name
Age:string | @age`,
  ),
  'resourceclaims.resource.k8s.io': printer<Claim>(
    `Name:string:name | @name
State:string | A summary of the current state (allocated, pending, reserved, etc.).
Age:string | @age`,
    { State: claimState },
  ),
  'resourceclaimtemplates.resource.k8s.io': printer(
    `Name:string:name | @name
Age:string | @age`,
  ),
  'resourceslices.resource.k8s.io': printer(
    `Name:string:name | @name
Node:string = spec.nodeName | NodeName identifies the node which provides the resources in this pool. A field selector can be used to list only ResourceSlice objects belonging to a certain node.\\n\\nThis field can be used to limit access from nodes to ResourceSlices with the same node name. It also indicates to autoscalers that adding new nodes of the same type as some old node might also make new resources available.\\n\\nExactly one of NodeName, NodeSelector, AllNodes, and PerDeviceNodeSelection must be set. This field is immutable.
Driver:string = spec.driver | Driver identifies the DRA driver providing the capacity information. A field selector can be used to list only ResourceSlice objects with a certain driver name.\\n\\nMust be a DNS subdomain and should end with a DNS domain owned by the vendor of the driver. It should use only lower case characters. This field is immutable.
Pool:string = spec.pool.name | Name is used to identify the pool. For node-local devices, this is often the node name, but this is not required.\\n\\nIt must not be longer than 253 characters and must consist of one or more DNS sub-domains separated by slashes. This field is immutable.
Age:string | @age`,
  ),
  'resourcepoolstatusrequests.resource.k8s.io': printer<PoolRequest>(
    `Name:string:name | @name
Driver:string = spec.driver | The driver to query pools for.
Total:string | Total number of devices across all pools.
Available:string | Number of available devices across all pools.
Allocated:string | Number of allocated devices across all pools.
Unavailable:string | Number of unavailable devices across all pools.
Errors:string | Number of pools with validation errors.
Pools:integer = status.poolCount ?? 0 | Total number of matching pools.
Status:string | Processing status.
Completed:string | Time since the observation completed.`,
    {
      Total: (request) => poolSum(request, 'totalDevices'),
      Available: (request) => poolSum(request, 'availableDevices'),
      Allocated: (request) => poolSum(request, 'allocatedDevices'),
      Unavailable: (request) => poolSum(request, 'unavailableDevices'),
      Errors: poolErrors,
      Status: poolStatus,
      Completed: (request, ages) => {
        const end = endOf(request);
        return end?.type === 'Complete' ? ages.since(end.lastTransitionTime) : '<none>';
      },
    },
  ),
  'devicetaintrules.resource.k8s.io': printer<{ readonly spec?: { readonly taint?: { readonly timeAdded?: string } } }>(
    `Name:string:name | @name
Key:string = spec.taint.key | The taint key to be applied to a device. Must be a label name.
Value:string = spec.taint.value | The taint value corresponding to the taint key. Must be a label value.
Effect:string = spec.taint.effect | The effect of the taint on claims that do not tolerate the taint and through such claims on the pods using them.\\n\\nValid effects are None, NoSchedule and NoExecute. PreferNoSchedule as used for nodes is not valid here. More effects may get added in the future. Consumers must treat unknown effects like None.
TimeAdded:string | TimeAdded represents the time at which the taint was added or (only in a DeviceTaintRule) the effect was modified. Added automatically during create or update if not set.\\n\\nIn addition, in a DeviceTaintRule a value provided during an update gets replaced with the current time if the provided value is the same as the old one and the new effect is different. Changing the key and/or value while keeping the effect unchanged is possible and does not update the time stamp because the eviction which uses it is either already started (NoExecute) or not started yet (NoEffect, NoSchedule).
Age:string | @age`,
    {
      TimeAdded: ({ spec }, ages) => (spec?.taint?.timeAdded === undefined ? '' : ages.since(spec.taint.timeAdded)),
    },
  ),
};
