// Serves `clustergateways/<name>/health`. Clients of cluster-gateway write the health of a cluster to this path; the
// gateway keeps it in two annotations of the cluster's Secret or ManagedCluster on the hub. The gateway's own health
// probe never writes these annotations. Security: the hub answers a write with the whole Secret, so only
// `resourceVersion` is taken from its answer.
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import { GatewayError } from '../../model/errors.ts';
import { objectPath } from '../../kube/paths.ts';
import type { ApiClient } from '../../kube/types.ts';
import type { ClusterGatewayView, ClusterRecord } from '../../model/records.ts';
import type { ClusterReader } from '../../model/store.ts';
import { acceptedForm } from '../../request/answer/accept.ts';
import { clusterGatewayGroup, groupVersionOf } from '../../request/api-groups.ts';
import {
  clusterGatewaysResource,
  healthOf,
  healthyAnnotation,
  healthyReasonAnnotation,
  shownView,
} from './cluster-gateways.ts';
import type { Authorized } from '../../request/exchange.ts';
import { readJsonBody } from '../../request/answer/request-body.ts';
import { absent, existing, objectResponse } from './served-resource.ts';
import { jsonResponse } from '../../request/answer/status.ts';
import type { CompleteResponse } from '../../request/answer/status.ts';

/** The parts of the gateway that are needed to answer requests for the health of a cluster. */
export interface HealthParts {
  readonly store: ClusterReader;
  /** The hub, which stores the health of clusters; undefined when there is no hub, and then no cluster has health. */
  readonly hub: ApiClient | undefined;
  readonly versions: ViewVersions;
}

/**
 * Knows, for each cluster, which resourceVersion the gateway's store had at the last change of the cluster's Secret or
 * ManagedCluster on the hub.
 */
export interface ViewVersions {
  /**
   * The resourceVersion of the gateway's store at the last change of the cluster's object on the hub; 0 when the object
   * has not changed since the gateway started. `uid` is the UID of the cluster record.
   */
  since(uid: string): number;
}

const patchTimeoutMs = 10_000;
/**
 * After a write to the hub, how many milliseconds to wait until the gateway's watch of the hub shows the change. If the
 * watch does not show it in this time, the answer to the client has no resourceVersion.
 */
const echoTimeoutMs = 2000;
const details = { kind: 'clustergateways', group: clusterGatewayGroup } as const;

/**
 * Subscribes to the store of clusters and remembers when each cluster's object on the hub last changed, so that an
 * update from a client that read an older state can be refused. New results of the gateway's health probe do not count
 * as changes.
 */
export function makeViewVersions(store: ClusterReader): ViewVersions {
  const versions = new Map<string, number>();
  store.subscribe(({ type, record, previous }) => {
    const { uid } = record.spec;
    if (type === 'DELETED') versions.delete(uid);
    else if (previous === undefined || hubState(previous) !== hubState(record)) {
      versions.set(uid, Number(record.resourceVersion));
    }
  });
  return { since: (uid) => versions.get(uid) ?? 0 };
}

/**
 * A text by which two states of the object on the hub are compared: an update is refused when the text has changed
 * since the client read the object. For a Secret, every change counts. For a ManagedCluster only a change of its health
 * counts, because every heartbeat of its agent changes the object.
 */
function hubState({ spec }: ClusterRecord): string | undefined {
  const { clusterGateway: view } = spec;
  return view && JSON.stringify([view.metadata.resourceVersion, healthOf(view)]);
}

/**
 * Answers GET and PUT of the health of cluster `name`.
 * @throws GatewayError (rejects) with the code for 400, 403, 404, 405, 406, 409, 413, 415 or 503
 */
export async function answerHealth(state: Authorized, name: string, parts: HealthParts): Promise<CompleteResponse> {
  const { method } = state.inbound;
  const form = acceptedForm(state.headers, ['Table', '', 'PartialObjectMetadata']).as;
  if (method === 'GET' || method === 'HEAD') {
    return objectResponse(state, clusterGatewaysResource, existing(clusterGatewaysResource, parts.store, name), form);
  }
  if (method !== 'PUT') {
    throw new GatewayError('METHOD_NOT_ALLOWED', 'health is read by GET and written by PUT', details);
  }
  const record = parts.store.get(name);
  const view = record && shownView(record);
  if (record === undefined || view === undefined) throw absent(clusterGatewaysResource, name);
  const update = readUpdate(await readJsonBody(state.inbound), name);
  checkPrecondition(update, record, view, parts.versions);
  if (parts.hub === undefined) {
    throw new GatewayError(
      'METHOD_NOT_ALLOWED',
      'health cannot be written: this gateway has no hub to store it on',
      details,
    );
  }
  const dryRun = isDryRun(state.target.query);
  const written = await patchHub(parts.hub, name, view, update, dryRun);
  const expected = unseen(record, view, update, written);
  const seen = dryRun ? undefined : await seenWrite(parts.store, expected);
  const shown = seen ?? expected;
  const object = clusterGatewaysResource.of(shown)!;
  if (seen !== undefined) return objectResponse(state, clusterGatewaysResource, object, form);
  // The new resourceVersion is not known yet. It is left out of the answer, so that the client's next update has no
  // precondition; with the old resourceVersion that update would fail with 409.
  const whole = object.whole() as { readonly metadata: object };
  return jsonResponse({ ...whole, metadata: { ...whole.metadata, resourceVersion: undefined } }, state.auditId);
}

/**
 * Whether the update is a dry run.
 * @throws GatewayError BAD_REQUEST for another value than `All`, which kube-apiserver refuses too: whoever sends one
 * does not expect that something is written
 */
function isDryRun(query: string): boolean {
  const values = new URLSearchParams(query).getAll('dryRun');
  if (values.every((value) => value === 'All')) return values.length > 0;
  throw new GatewayError('BAD_REQUEST', 'dryRun= must be All; leave it out to write', details);
}

interface HealthUpdate {
  readonly healthy: boolean;
  readonly reason: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

function readUpdate(body: unknown, name: string): HealthUpdate {
  if (!isJsonObject(body)) throw badUpdate(name, 'the body must be a ClusterGateway');
  const { apiVersion = groupVersionOf(clusterGatewayGroup), kind = 'ClusterGateway' } = body;
  if (apiVersion !== groupVersionOf(clusterGatewayGroup) || kind !== 'ClusterGateway') {
    throw badUpdate(name, `the body must be a ClusterGateway of ${groupVersionOf(clusterGatewayGroup)}`);
  }
  const { metadata = {}, status = {} } = body;
  if (!isJsonObject(metadata) || !isJsonObject(status)) throw badUpdate(name, 'metadata and status must be objects');
  return { ...readIdentity(metadata, name), ...readHealth(status, name) };
}

function readIdentity(metadata: JsonObject, name: string): Pick<HealthUpdate, 'uid' | 'resourceVersion'> {
  const { name: given = name, uid = '', resourceVersion = '' } = metadata;
  if (given !== name) {
    throw badUpdate(name, `the name of the object (${String(given)}) is not the name in the path (${name})`);
  }
  if (typeof uid !== 'string' || typeof resourceVersion !== 'string') {
    throw badUpdate(name, 'metadata.uid and metadata.resourceVersion must be strings');
  }
  return { uid, resourceVersion };
}

function readHealth(status: JsonObject, name: string): Pick<HealthUpdate, 'healthy' | 'reason'> {
  const { healthy = false, healthyReason = '' } = status;
  if (typeof healthy !== 'boolean') throw badUpdate(name, 'status.healthy must be true or false');
  if (typeof healthyReason !== 'string') throw badUpdate(name, 'status.healthyReason must be a string');
  return { healthy, reason: healthyReason };
}

function badUpdate(name: string, message: string): GatewayError {
  return new GatewayError('BAD_REQUEST', message, { ...details, name });
}

function checkPrecondition(
  { uid, resourceVersion }: HealthUpdate,
  { spec }: ClusterRecord,
  view: ClusterGatewayView,
  versions: ViewVersions,
): void {
  if (uid !== '' && uid !== view.metadata.uid) throw conflict(spec.name, 'the UID is not that of the present object');
  if (resourceVersion === '') return;
  if (!/^\d{1,20}$/.test(resourceVersion)) {
    throw new GatewayError(
      'BAD_REQUEST',
      'metadata.resourceVersion was not issued by this server; read the object again',
      details,
    );
  }
  if (Number(resourceVersion) < versions.since(spec.uid)) {
    throw conflict(
      spec.name,
      'the object has been modified; please apply your changes to the latest version and try again',
    );
  }
}

function conflict(name: string, why: string): GatewayError {
  return new GatewayError(
    'CONFLICT',
    `Operation cannot be fulfilled on clustergateways.${clusterGatewayGroup} "${name}": ${why}`,
    { ...details, name },
  );
}

/**
 * Writes the two health annotations to the object on the hub; resolves with the object's new resourceVersion there.
 * @throws GatewayError (rejects) with the code for 403, 404, 409 or 503
 */
async function patchHub(
  hub: ApiClient,
  name: string,
  { secret, metadata }: ClusterGatewayView,
  { healthy, reason, resourceVersion }: HealthUpdate,
  dryRun: boolean,
): Promise<string> {
  const path =
    secret === undefined
      ? objectPath({ group: 'cluster.open-cluster-management.io', version: 'v1', resource: 'managedclusters' }, name)
      : objectPath({ group: '', version: 'v1', resource: 'secrets', namespace: secret.namespace }, secret.name);
  const { status, body } = await hub.request({
    method: 'PATCH',
    path: `${path}?fieldManager=portcullis${dryRun ? '&dryRun=All' : ''}`,
    contentType: 'application/merge-patch+json',
    body: {
      metadata: {
        // With `uid`, the hub refuses the write when another object now has the name. When the client sent a
        // resourceVersion, the hub also refuses the write when the Secret has changed since.
        uid: metadata.uid,
        ...(resourceVersion === '' || secret === undefined ? {} : { resourceVersion: metadata.resourceVersion }),
        annotations: { [healthyAnnotation]: String(healthy), [healthyReasonAnnotation]: reason },
      },
    },
    timeoutMs: patchTimeoutMs,
  });
  if (status === 200) return versionIn(body);
  if (status === 404) throw absent(clusterGatewaysResource, name);
  if (status === 409 || status === 422) {
    throw conflict(name, 'the object has been modified; please apply your changes to the latest version and try again');
  }
  if (status === 403) {
    const what = secret === undefined ? 'managedclusters' : `secrets in namespace ${secret.namespace}`;
    throw new GatewayError(
      'FORBIDDEN',
      `the gateway's own account on the hub may not patch ${what}; grant it "patch"`,
      {
        ...details,
        name,
      },
    );
  }
  throw new GatewayError('HUB_UNAVAILABLE', `the hub refused the update of health (status ${status}); try again later`);
}

function versionIn(body: Buffer): string {
  try {
    const { metadata } = JSON.parse(body.toString('utf8')) as { metadata?: { resourceVersion?: string } };
    return metadata?.resourceVersion ?? '';
  } catch {
    return '';
  }
}

/**
 * Waits until the gateway's watch of the hub has delivered a write: resolves with the cluster record as soon as its
 * object on the hub has the state of `expected`; with undefined when this takes more than two seconds.
 */
function seenWrite(store: ClusterReader, expected: ClusterRecord): Promise<ClusterRecord | undefined> {
  const isIt = (record: ClusterRecord | undefined): boolean =>
    record?.spec.uid === expected.spec.uid && hubState(record) === hubState(expected);
  const now = store.getByUid(expected.spec.uid);
  if (isIt(now)) return Promise.resolve(now);
  return new Promise((resolve) => {
    const done = (record: ClusterRecord | undefined): void => {
      clearTimeout(timer);
      unsubscribe();
      resolve(record);
    };
    const timer = setTimeout(() => done(undefined), echoTimeoutMs);
    const unsubscribe = store.subscribe(({ record }) => {
      if (isIt(record)) done(record);
    });
  });
}

/** The cluster record as it will look once the hub's watch has delivered the new health annotations. */
function unseen(
  record: ClusterRecord,
  view: ClusterGatewayView,
  { healthy, reason }: HealthUpdate,
  version: string,
): ClusterRecord {
  const annotations = {
    ...view.metadata.annotations,
    [healthyAnnotation]: String(healthy),
    [healthyReasonAnnotation]: reason,
  };
  const resourceVersion = view.secret === undefined ? view.metadata.resourceVersion : version;
  const metadata = { ...view.metadata, resourceVersion, annotations };
  return { ...record, spec: { ...record.spec, clusterGateway: { ...view, metadata } } };
}
