// Rows of nodes, namespaces, configuration, quotas and events. The two API groups for events have times and counts in
// different fields. The index does not store the data of a Secret, so the DATA column comes from an annotation. Follows
// pkg/printers/internalversion of Kubernetes v1.36 (Apache-2.0).
import { sortedEntries } from './cells.ts';
import { printer, type Ages, type KubeObject, type Printers } from './printer.ts';

/** Annotation on a Secret in the index: the number of keys that `data` had before the index removed `data`. */
export const dataCountAnnotation = 'search.portcullis.io/data-count';

interface Node extends KubeObject {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: {
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
    readonly addresses?: readonly { readonly type?: string; readonly address?: string }[];
    readonly nodeInfo?: { readonly kernelVersion?: string; readonly architecture?: string };
  };
}

function nodeStatus({ spec, status }: Node): string {
  const ready = status?.conditions?.findLast(({ type }) => type === 'Ready');
  const text = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return spec?.unschedulable === true ? `${text},SchedulingDisabled` : text;
}

function nodeAddress({ status }: Node, wanted: string): string {
  return status?.addresses?.find(({ type }) => type === wanted)?.address ?? '<none>';
}

const rolePrefix = 'node-role.kubernetes.io/';

function nodeRoles(node: Node): readonly string[] {
  const roles = Object.entries(node.metadata?.labels ?? {}).map(([key, value]) => {
    if (key.startsWith(rolePrefix)) return key.slice(rolePrefix.length);
    return key === 'kubernetes.io/role' ? value : '';
  });
  return [...new Set(roles)].filter((role) => role !== '').sort();
}

interface ObjectReference {
  readonly kind?: string;
  readonly name?: string;
  readonly fieldPath?: string;
}

interface EventSource {
  readonly component?: string;
  readonly host?: string;
}

/** An Event of the core group, or of events.k8s.io, which uses other field names. */
interface Event extends KubeObject {
  readonly message?: string;
  readonly note?: string;
  readonly involvedObject?: ObjectReference;
  readonly regarding?: ObjectReference;
  readonly source?: EventSource;
  readonly deprecatedSource?: EventSource;
  readonly reportingComponent?: string;
  readonly reportingController?: string;
  readonly reportingInstance?: string;
  readonly firstTimestamp?: string | null;
  readonly deprecatedFirstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly deprecatedLastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly count?: number;
  readonly deprecatedCount?: number;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string | null } | null;
}

function firstSeen({ firstTimestamp, deprecatedFirstTimestamp, eventTime }: Event, ages: Ages): string {
  return ages.since(firstTimestamp ?? deprecatedFirstTimestamp ?? eventTime);
}

function lastSeen(event: Event, ages: Ages): string {
  if (event.series) return ages.since(event.series.lastObservedTime);
  const last = event.lastTimestamp ?? event.deprecatedLastTimestamp;
  return last ? ages.since(last) : firstSeen(event, ages);
}

function eventObject({ involvedObject, regarding }: Event): ObjectReference {
  return involvedObject ?? regarding ?? {};
}

function eventSource(event: Event): string {
  const source = event.source ?? event.deprecatedSource ?? {};
  const component = source.component || event.reportingComponent || event.reportingController || '';
  const instance = source.host || event.reportingInstance || '';
  return instance === '' ? component : `${component}, ${instance}`;
}

const eventPrinter = printer<Event>(
  `Last Seen:string | The time at which the most recent occurrence of this event was recorded.
Type:string = type | Type of this event (Normal, Warning), new types could be added in the future
Reason:string = reason | This should be a short, machine understandable string that gives the reason for the transition into the object's current status.
Object:string | The object that this event is about.
Subobject:string::1 | If referring to a piece of an object instead of an entire object, this string should contain a valid JSON/Go field access statement, such as desiredState.manifest.containers[2]. For example, if the object reference is to a container within a pod, this would take on a value like: "spec.containers{name}" (where "name" refers to the name of the container that triggered the event) or if no container name is specified "spec.containers[2]" (container with index 2 in this pod). This syntax is chosen only to have some well-defined way of referencing a part of an object.
Source:string::1 | The component reporting this event. Should be a short machine understandable string.
Message:string | A human-readable description of the status of this operation.
First Seen:string::1 | The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)
Count:string::1 | The number of times this event has occurred.
Name:string:name:1 | @name`,
  {
    'Last Seen': lastSeen,
    Object: (event) => {
      const { kind = '', name } = eventObject(event);
      return name ? `${kind.toLowerCase()}/${name}` : kind.toLowerCase();
    },
    Subobject: (event) => eventObject(event).fieldPath ?? '',
    Source: eventSource,
    Message: ({ message, note }) => (message ?? note ?? '').trim(),
    'First Seen': firstSeen,
    Count: ({ series, count, deprecatedCount }) => (series ? (series.count ?? 0) : count || deprecatedCount || 1),
  },
);

interface Quota extends KubeObject {
  readonly status?: {
    readonly hard?: Readonly<Record<string, string>>;
    readonly used?: Readonly<Record<string, string>>;
  };
}

/**
 * Used and permitted amounts of a ResourceQuota, such as `cpu: 1/2, pods: 3/10`. With `isLimit`, only the amounts whose
 * names begin with `limits.`; otherwise all others.
 */
function quotaText({ status }: Quota, isLimit: boolean): string {
  const used = new Map(Object.entries(status?.used ?? {}));
  return sortedEntries(status?.hard)
    .filter(([name]) => name.startsWith('limits.') === isLimit)
    .map(([name, hard]) => `${name}: ${used.get(name) ?? '0'}/${hard}`)
    .join(', ');
}

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>> | null;
}

function dataCount({ metadata, data }: Secret): number {
  const kept = metadata?.annotations?.[dataCountAnnotation];
  return kept !== undefined && /^\d{1,9}$/.test(kept) ? Number(kept) : Object.keys(data ?? {}).length;
}

interface Health {
  readonly type?: string;
  readonly status?: string;
  readonly message?: string;
  readonly error?: string;
}

interface ComponentStatus {
  readonly conditions?: readonly Health[];
}

function healthOf({ conditions }: ComponentStatus): Health | undefined {
  return conditions?.find(({ type }) => type === 'Healthy');
}

export const corePrinters: Printers = {
  'nodes.': printer<Node>(
    `Name:string:name | @name
Status:string | The status of the node
Roles:string | The roles of the node
Age:string | @age
Version:string = status.nodeInfo.kubeletVersion | Kubelet Version reported by the node.
Internal-IP:string::1 | List of addresses reachable to the node. Queried from cloud provider, if available. More info: https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should assume that addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API (status.hostIP).
External-IP:string::1 | List of addresses reachable to the node. Queried from cloud provider, if available. More info: https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should assume that addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API (status.hostIP).
OS-Image:string::1 = status.nodeInfo.osImage || <unknown> | OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy)).
Kernel-Version:string::1 | Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64).
Container-Runtime:string::1 = status.nodeInfo.containerRuntimeVersion || <unknown> | ContainerRuntime Version reported by the node through runtime remote API (e.g. containerd://1.4.2).`,
    {
      Status: nodeStatus,
      Roles: (node) => nodeRoles(node).join(',') || '<none>',
      'Internal-IP': (node) => nodeAddress(node, 'InternalIP'),
      'External-IP': (node) => nodeAddress(node, 'ExternalIP'),
      'Kernel-Version': ({ status }) => {
        const { kernelVersion, architecture } = status?.nodeInfo ?? {};
        return `${kernelVersion || '<unknown>'}${architecture ? ` (${architecture})` : ''}`;
      },
    },
  ),
  'namespaces.': printer(
    `Name:string:name | @name
Status:string = status.phase | The status of the namespace
Age:string | @age`,
  ),
  'configmaps.': printer<{ readonly data?: object | null; readonly binaryData?: object | null }>(
    `Name:string:name | @name
Data:string | Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced during validation process.
Age:string | @age`,
    {
      Data: ({ data, binaryData }) => Object.keys(data ?? {}).length + Object.keys(binaryData ?? {}).length,
    },
  ),
  'secrets.': printer<Secret>(
    `Name:string:name | @name
Type:string = type | Used to facilitate programmatic handling of secret data. More info: https://kubernetes.io/docs/concepts/configuration/secret/#secret-types
Data:string | Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4
Age:string | @age`,
    { Data: dataCount },
  ),
  'serviceaccounts.': printer(
    `Name:string:name | @name
Age:string | @age`,
  ),
  'events.': eventPrinter,
  'events.events.k8s.io': eventPrinter,
  'resourcequotas.': printer<Quota>(
    `Name:string:name | @name
Request:string | Request represents a minimum amount of cpu/memory that a container may consume.
Limit:string | Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.
Age:string | @age`,
    { Request: (quota) => quotaText(quota, false), Limit: (quota) => quotaText(quota, true) },
  ),
  'componentstatuses.': printer<ComponentStatus>(
    `Name:string:name | @name
Status:string | Status of the component conditions
Message:string | Message of the component conditions
Error:string | Error of the component conditions`,
    {
      Status: (object) => {
        const healthy = healthOf(object);
        return healthy === undefined ? 'Unknown' : healthy.status === 'True' ? 'Healthy' : 'Unhealthy';
      },
      Message: (object) => healthOf(object)?.message ?? '',
      Error: (object) => healthOf(object)?.error ?? '',
    },
  ),
};
