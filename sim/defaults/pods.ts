// Defaults of pods and pod templates (kubernetes pkg/apis/core/v1/defaults.go). imagePullPolicy is Always for an image
// with the tag :latest or with neither tag nor digest, and IfNotPresent for all others.
import type { JsonObject } from '../model/types.ts';

const defaultMode = 0o644;

/** Sets the fields that are missing in the object. */
export function fill(object: JsonObject, fields: JsonObject): void {
  for (const [field, value] of Object.entries(fields))
    if (object[field] === undefined || object[field] === null) object[field] = value;
}

/** Fills in the defaults of a pod spec. Changes `spec`. */
export function fillPodSpec(spec: JsonObject): void {
  fill(spec, {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
  });
  for (const container of [...(spec['initContainers'] ?? []), ...(spec['containers'] ?? [])]) fillContainer(container);
  for (const container of spec['ephemeralContainers'] ?? []) fillContainer(container);
  for (const volume of spec['volumes'] ?? []) fillVolume(volume);
}

function fillContainer(container: JsonObject): void {
  const image: string = container['image'] ?? '';
  const tag = /:([^:/@]+)$/.exec(image)?.[1] ?? (image.includes('@') ? 'digest' : 'latest');
  fill(container, {
    resources: {},
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: tag === 'latest' ? 'Always' : 'IfNotPresent',
  });
  for (const port of container['ports'] ?? []) fill(port, { protocol: 'TCP' });
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const probe: JsonObject | undefined = container[name];
    if (probe === undefined) continue;
    fill(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
    if (probe['httpGet'] !== undefined) fill(probe['httpGet'], { path: '/', scheme: 'HTTP' });
  }
  for (const variable of container['env'] ?? [])
    if (variable['valueFrom']?.fieldRef !== undefined) fill(variable['valueFrom'].fieldRef, { apiVersion: 'v1' });
  const { limits } = container['resources'] as { limits?: JsonObject };
  if (limits !== undefined) fill((container['resources'].requests ??= {}), limits);
}

function fillVolume(volume: JsonObject): void {
  for (const kind of ['configMap', 'secret', 'projected', 'downwardAPI'])
    if (volume[kind] !== undefined) fill(volume[kind], { defaultMode });
  if (volume['hostPath'] !== undefined) fill(volume['hostPath'], { type: '' });
  if (Object.keys(volume).length === 1) volume['emptyDir'] = {};
}

/** Adds what admission plugins add to pods, but not to pod templates. */
export function admitPodSpec(spec: JsonObject): void {
  fill(spec, {
    serviceAccountName: spec['serviceAccount'] ?? 'default',
    priority: 0,
    preemptionPolicy: 'PreemptLowerPriority',
  });
  spec['serviceAccount'] = spec['serviceAccountName'];
  const tolerations: JsonObject[] = (spec['tolerations'] ??= []);
  for (const key of ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']) {
    if (tolerations.some((toleration) => toleration['key'] === key || toleration['key'] === undefined)) continue;
    tolerations.push({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 });
  }
}

/** The QoS class of a pod: Guaranteed, Burstable or BestEffort. */
export function qosClass(spec: JsonObject): string {
  const containers: readonly JsonObject[] = [...(spec['initContainers'] ?? []), ...(spec['containers'] ?? [])];
  const parts = containers.map((container) => container['resources'] ?? {});
  const isEmpty = (part: JsonObject): boolean =>
    Object.keys(part['requests'] ?? {}).length === 0 && Object.keys(part['limits'] ?? {}).length === 0;
  if (parts.every(isEmpty)) return 'BestEffort';
  const isFull = parts.every((part) =>
    ['cpu', 'memory'].every(
      (name) => part['limits']?.[name] !== undefined && part['limits'][name] === part['requests']?.[name],
    ),
  );
  return isFull ? 'Guaranteed' : 'Burstable';
}
