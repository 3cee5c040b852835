// The tab with a summary of an object: state, containers or data, labels, annotations and conditions.
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { clusterOf } from '../api/kube.ts';
import type { Condition, KubeObject } from '../api/kube.ts';
import { Conditions } from '../parts/conditions.tsx';
import { kubectl, kubectlName } from './object-view.ts';
import type { ObjectView } from './object-view.ts';
import { Age, CommandLine, Pairs, State, Text, toneOf } from '../parts/parts.tsx';

type Fields = Readonly<Record<string, unknown>>;

/** Returns the value at a path such as `status.phase`; undefined when a field on the path is absent. */
export function at(object: unknown, path: string): unknown {
  let value: unknown = object;
  for (const step of path.split('.')) value = (value as Fields | null | undefined)?.[step];
  return value;
}

/** For each kind, title and field path of the values that the summary shows beside metadata and conditions. */
const facts: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  Pod: [
    ['Phase', 'status.phase'],
    ['Reason', 'status.reason'],
    ['Node', 'spec.nodeName'],
    ['IP', 'status.podIP'],
    ['Service account', 'spec.serviceAccountName'],
    ['QoS', 'status.qosClass'],
  ],
  Deployment: [
    ['Wanted', 'spec.replicas'],
    ['Ready', 'status.readyReplicas'],
    ['Updated', 'status.updatedReplicas'],
    ['Available', 'status.availableReplicas'],
    ['Strategy', 'spec.strategy.type'],
  ],
  StatefulSet: [
    ['Wanted', 'spec.replicas'],
    ['Ready', 'status.readyReplicas'],
    ['Updated', 'status.updatedReplicas'],
    ['Service', 'spec.serviceName'],
  ],
  DaemonSet: [
    ['Wanted', 'status.desiredNumberScheduled'],
    ['Ready', 'status.numberReady'],
    ['Available', 'status.numberAvailable'],
  ],
  ReplicaSet: [
    ['Wanted', 'spec.replicas'],
    ['Ready', 'status.readyReplicas'],
  ],
  Service: [
    ['Type', 'spec.type'],
    ['Cluster IP', 'spec.clusterIP'],
    ['Selector', 'spec.selector'],
  ],
  Job: [
    ['Succeeded', 'status.succeeded'],
    ['Failed', 'status.failed'],
    ['Completions', 'spec.completions'],
  ],
  CronJob: [
    ['Schedule', 'spec.schedule'],
    ['Suspended', 'spec.suspend'],
    ['Last run', 'status.lastScheduleTime'],
  ],
  Node: [
    ['Kubelet', 'status.nodeInfo.kubeletVersion'],
    ['System', 'status.nodeInfo.osImage'],
    ['CPU', 'status.capacity.cpu'],
    ['Memory', 'status.capacity.memory'],
  ],
  PersistentVolumeClaim: [
    ['Phase', 'status.phase'],
    ['Volume', 'spec.volumeName'],
    ['Class', 'spec.storageClassName'],
    ['Size', 'status.capacity.storage'],
  ],
  Namespace: [['Phase', 'status.phase']],
};

export function SummaryTab({ place, object }: ObjectView): JSX.Element {
  const { metadata, kind } = object;
  const known = (facts[kind] ?? []).map(([name, path]) => [name, shown(name, at(object, path))] as const);
  const conditions = (at(object, 'status.conditions') ?? []) as readonly Condition[];
  const containers = kind === 'Pod' ? podContainers(object) : templateContainers(object);
  return (
    <>
      <div class="columns">
        <div>
          <Pairs
            rows={[
              ['Cluster', place.cluster],
              ['Namespace', metadata.namespace],
              ...known,
              ['Age', <Age key="age" since={metadata.creationTimestamp} />],
              ['Being deleted', metadata.deletionTimestamp && <Age key="deleted" since={metadata.deletionTimestamp} />],
              ['Labels', tags(metadata.labels)],
            ]}
          />
          <Annotations values={metadata.annotations ?? {}} />
        </div>
        <div>
          {containers.length > 0 && <Containers containers={containers} />}
          {'data' in object && <Data object={object} />}
          {Array.isArray(conditions) && <Conditions conditions={conditions} />}
        </div>
      </div>
      <CommandLine line={`${kubectl(place)} describe ${kubectlName(place)}`} />
    </>
  );
}

function shown(name: string, value: unknown): ComponentChildren {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'object') return tags(value as Record<string, string>);
  return name === 'Phase' ? <State tone={toneOf(String(value))}>{String(value)}</State> : String(value);
}

function tags(values: Readonly<Record<string, string>> = {}): ComponentChildren {
  const all = Object.entries(values);
  return all.length === 0 ? undefined : all.map(([key, value]) => <code key={key}>{`${key}=${value}`}</code>);
}

/**
 * Annotations that are not shown: the cluster name that the index adds, and the last manifest that kubectl applied,
 * which the YAML tab shows.
 */
const unshown = /^(?:shadow\.clusterpedia\.io\/cluster-name|kubectl\.kubernetes\.io\/last-applied-configuration)$/;

function Annotations({ values }: { values: Readonly<Record<string, string>> }): JSX.Element | null {
  const all = Object.entries(values).filter(([key]) => !unshown.test(key));
  if (all.length === 0) return null;
  return (
    <details>
      <summary>{all.length === 1 ? '1 annotation' : `${all.length} annotations`}</summary>
      <Pairs rows={all.map(([key, value]) => [key, <Text key={key}>{value}</Text>])} />
    </details>
  );
}

interface ContainerFacts {
  readonly name: string;
  readonly image: string;
  readonly state: string;
  readonly detail: string;
  readonly restarts: number | undefined;
}

interface ContainerStatus {
  readonly name: string;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly state?: {
    readonly waiting?: { reason?: string; message?: string };
    readonly running?: object;
    readonly terminated?: { reason?: string; exitCode?: number; message?: string };
  };
  readonly lastState?: { readonly terminated?: { reason?: string; exitCode?: number } };
}

/** Returns the containers of a Pod with their states. */
export function podContainers(object: KubeObject): readonly ContainerFacts[] {
  const specs = ['initContainers', 'containers', 'ephemeralContainers'].flatMap(
    (list) => (at(object.spec, list) ?? []) as { name: string; image: string }[],
  );
  const statuses = ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses'].flatMap(
    (list) => (at(object.status, list) ?? []) as ContainerStatus[],
  );
  return specs.map(({ name, image }) => {
    const status = statuses.find((each) => each.name === name);
    const { waiting, terminated, running } = status?.state ?? {};
    const state = waiting?.reason ?? terminated?.reason ?? (running ? 'Running' : 'Unknown');
    const last = status?.lastState?.terminated;
    const ended = last === undefined ? '' : `last ended: ${last.reason ?? ''} (exit code ${last.exitCode ?? '?'})`;
    const detail = [waiting?.message ?? terminated?.message ?? '', ended].filter((text) => text !== '').join('; ');
    return { name, image, state, detail, restarts: status?.restartCount };
  });
}

function templateContainers(object: KubeObject): readonly ContainerFacts[] {
  const specs = (at(object.spec, 'template.spec.containers') ??
    at(object.spec, 'jobTemplate.spec.template.spec.containers') ??
    []) as { name: string; image: string }[];
  return specs.map(({ name, image }) => ({ name, image, state: '', detail: '', restarts: undefined }));
}

function Containers({ containers }: { containers: readonly ContainerFacts[] }): JSX.Element {
  return (
    <>
      <h3>Containers</h3>
      <ul class="conditions">
        {containers.map(({ name, image, state, detail, restarts }) => (
          <li key={name}>
            {state === '' ? <strong>{name}</strong> : <State tone={toneOf(state)}>{`${name}: ${state}`}</State>}
            {restarts !== undefined && restarts > 0 && <span class="quiet"> {restarts} restarts</span>}
            <p>
              <code>{image}</code>
            </p>
            {detail !== '' && <p>{detail}</p>}
          </li>
        ))}
      </ul>
    </>
  );
}

/**
 * The data of a ConfigMap or Secret. Of a Secret only the keys are shown, and each value when the user clicks on its
 * button. Data of Secrets of clusters are not shown at all.
 */
function Data({ object }: { object: KubeObject }): JSX.Element | null {
  const data = Object.entries((object['data'] ?? {}) as Record<string, string>);
  if (clusterOf(object.metadata) !== '' && object.kind === 'Secret') return null;
  return (
    <>
      <h3>Data</h3>
      {data.length === 0 && <p class="quiet">none</p>}
      <ul class="data">
        {data.map(([key, value]) => (
          <li key={key}>
            <strong>{key}</strong> <span class="quiet">{sizeOf(object.kind, value)} bytes</span>
            {object.kind === 'Secret' ? <SecretValue name={key} value={value} /> : <pre>{value}</pre>}
          </li>
        ))}
      </ul>
    </>
  );
}

function sizeOf(kind: string, value: string): number {
  return kind === 'Secret'
    ? Math.floor((value.replace(/=+$/, '').length * 3) / 4)
    : new TextEncoder().encode(value).length;
}

function SecretValue({ name, value }: { name: string; value: string }): JSX.Element {
  const open = useSignal(false);
  return (
    <>
      {' '}
      <button type="button" class="small" aria-expanded={open} onClick={() => (open.value = !open.value)}>
        {open.value ? 'Hide' : `Show ${name}`}
      </button>
      {open.value && (
        <pre>{new TextDecoder().decode(Uint8Array.from(atob(value), (char) => char.codePointAt(0)!))}</pre>
      )}
    </>
  );
}
