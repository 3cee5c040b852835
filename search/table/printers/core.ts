// Rows of the other core types: nodes, namespaces, configuration, quotas, events. Easy to get wrong: an event's times
// and count stand in different fields in its two API groups, and a redacted secret keeps its DATA count in an
// annotation. Follows pkg/printers/internalversion of Kubernetes v1.36 (Apache-2.0).
import { sortedEntries } from '../cells.ts';
import { printer, type Ages, type Cell, type KubeObject, type Printers } from '../printer.ts';

/** How many keys `data` of a secret had before the index dropped it. */
export const dataCountAnnotation = 'search.portcullis.io/data-count';

interface Node extends KubeObject {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: {
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
    readonly addresses?: readonly { readonly type?: string; readonly address?: string }[];
    readonly nodeInfo?: {
      readonly kubeletVersion?: string;
      readonly osImage?: string;
      readonly kernelVersion?: string;
      readonly containerRuntimeVersion?: string;
      readonly architecture?: string;
    };
  };
}

function nodeCells(node: Node, ages: Ages): readonly Cell[] {
  const info = node.status?.nodeInfo ?? {};
  const ready = node.status?.conditions?.findLast(({ type }) => type === 'Ready');
  const status = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  const address = (wanted: string): string =>
    node.status?.addresses?.find(({ type }) => type === wanted)?.address ?? '<none>';
  const architecture = info.architecture ? ` (${info.architecture})` : '';
  return [
    node.metadata?.name ?? '',
    node.spec?.unschedulable === true ? `${status},SchedulingDisabled` : status,
    nodeRoles(node).join(',') || '<none>',
    ages.of(node),
    info.kubeletVersion ?? '',
    address('InternalIP'),
    address('ExternalIP'),
    info.osImage || '<unknown>',
    `${info.kernelVersion || '<unknown>'}${architecture}`,
    info.containerRuntimeVersion || '<unknown>',
  ];
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

/** An Event of the core group or of events.k8s.io, whose fields have other names. */
interface Event extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
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

function eventCells(event: Event, ages: Ages): readonly Cell[] {
  const first = ages.since(event.firstTimestamp ?? event.deprecatedFirstTimestamp ?? event.eventTime);
  const lastTimestamp = event.lastTimestamp ?? event.deprecatedLastTimestamp;
  const { series } = event;
  const last = series ? ages.since(series.lastObservedTime) : lastTimestamp ? ages.since(lastTimestamp) : first;
  const about = event.involvedObject ?? event.regarding ?? {};
  const kind = (about.kind ?? '').toLowerCase();
  const source = event.source ?? event.deprecatedSource ?? {};
  const component = source.component || event.reportingComponent || event.reportingController || '';
  const instance = source.host || event.reportingInstance || '';
  return [
    last,
    event.type ?? '',
    event.reason ?? '',
    about.name ? `${kind}/${about.name}` : kind,
    about.fieldPath ?? '',
    instance === '' ? component : `${component}, ${instance}`,
    (event.message ?? event.note ?? '').trim(),
    first,
    series ? (series.count ?? 0) : event.count || event.deprecatedCount || 1,
    event.metadata?.name ?? '',
  ];
}

const eventPrinter = printer<Event>(
  `Last Seen:string | The time at which the most recent occurrence of this event was recorded.
Type:string | Type of this event (Normal, Warning), new types could be added in the future
Reason:string | This should be a short, machine understandable string that gives the reason for the transition into the object's current status.
Object:string | The object that this event is about.
Subobject:string::1 | If referring to a piece of an object instead of an entire object, this string should contain a valid JSON/Go field access statement, such as desiredState.manifest.containers[2]. For example, if the object reference is to a container within a pod, this would take on a value like: "spec.containers{name}" (where "name" refers to the name of the container that triggered the event) or if no container name is specified "spec.containers[2]" (container with index 2 in this pod). This syntax is chosen only to have some well-defined way of referencing a part of an object.
Source:string::1 | The component reporting this event. Should be a short machine understandable string.
Message:string | A human-readable description of the status of this operation.
First Seen:string::1 | The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)
Count:string::1 | The number of times this event has occurred.
Name:string:name:1 | @name`,
  eventCells,
);

interface Quota extends KubeObject {
  readonly status?: {
    readonly hard?: Readonly<Record<string, string>>;
    readonly used?: Readonly<Record<string, string>>;
  };
}

function quotaCells(quota: Quota, ages: Ages): readonly Cell[] {
  const used = new Map(Object.entries(quota.status?.used ?? {}));
  const entries = sortedEntries(quota.status?.hard).map(([name, hard]) => ({
    isLimit: name.startsWith('limits.'),
    text: `${name}: ${used.get(name) ?? '0'}/${hard}`,
  }));
  const texts = (isLimit: boolean): string =>
    entries
      .filter((e) => e.isLimit === isLimit)
      .map(({ text }) => text)
      .join(', ');
  return [quota.metadata?.name ?? '', texts(false), texts(true), ages.of(quota)];
}

interface Secret extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>> | null;
}

function dataCount({ metadata, data }: Secret): number {
  const kept = metadata?.annotations?.[dataCountAnnotation];
  return kept !== undefined && /^\d{1,9}$/.test(kept) ? Number(kept) : Object.keys(data ?? {}).length;
}

export const corePrinters: Printers = {
  'nodes.': printer<Node>(
    `Name:string:name | @name
Status:string | The status of the node
Roles:string | The roles of the node
Age:string | @age
Version:string | Kubelet Version reported by the node.
Internal-IP:string::1 | List of addresses reachable to the node. Queried from cloud provider, if available. More info: https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should assume that addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API (status.hostIP).
External-IP:string::1 | List of addresses reachable to the node. Queried from cloud provider, if available. More info: https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should assume that addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API (status.hostIP).
OS-Image:string::1 | OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy)).
Kernel-Version:string::1 | Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64).
Container-Runtime:string::1 | ContainerRuntime Version reported by the node through runtime remote API (e.g. containerd://1.4.2).`,
    nodeCells,
  ),
  'namespaces.': printer<{ readonly status?: { readonly phase?: string } }>(
    `Name:string:name | @name
Status:string | The status of the namespace
Age:string | @age`,
    (object, ages) => [object.metadata?.name ?? '', object.status?.phase ?? '', ages.of(object)],
  ),
  'configmaps.': printer<{ readonly data?: object | null; readonly binaryData?: object | null }>(
    `Name:string:name | @name
Data:string | Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced during validation process.
Age:string | @age`,
    (object, ages) => [
      object.metadata?.name ?? '',
      Object.keys(object.data ?? {}).length + Object.keys(object.binaryData ?? {}).length,
      ages.of(object),
    ],
  ),
  'secrets.': printer<Secret>(
    `Name:string:name | @name
Type:string | Used to facilitate programmatic handling of secret data. More info: https://kubernetes.io/docs/concepts/configuration/secret/#secret-types
Data:string | Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4
Age:string | @age`,
    (object, ages) => [object.metadata?.name ?? '', object.type ?? '', dataCount(object), ages.of(object)],
  ),
  'serviceaccounts.': printer(
    `Name:string:name | @name
Age:string | @age`,
    (object, ages) => [object.metadata?.name ?? '', ages.of(object)],
  ),
  'events.': eventPrinter,
  'events.events.k8s.io': eventPrinter,
  'resourcequotas.': printer<Quota>(
    `Name:string:name | @name
Request:string | Request represents a minimum amount of cpu/memory that a container may consume.
Limit:string | Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.
Age:string | @age`,
    quotaCells,
  ),
  'componentstatuses.': printer<{
    readonly conditions?: readonly {
      readonly type?: string;
      readonly status?: string;
      readonly message?: string;
      readonly error?: string;
    }[];
  }>(
    `Name:string:name | @name
Status:string | Status of the component conditions
Message:string | Message of the component conditions
Error:string | Error of the component conditions`,
    ({ metadata, conditions }) => {
      const healthy = conditions?.find(({ type }) => type === 'Healthy');
      const status = healthy === undefined ? 'Unknown' : healthy.status === 'True' ? 'Healthy' : 'Unhealthy';
      return [metadata?.name ?? '', status, healthy?.message ?? '', healthy?.error ?? ''];
    },
  ),
};
