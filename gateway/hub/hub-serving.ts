// The serving certificate that all replicas share through one Secret of the hub, renewed by whichever is first, and the
// `caBundle` of our APIServices kept in step. Easy to get wrong: a pair is shown only after the hub trusts its
// authority, or discovery of the whole hub fails meanwhile.
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import type { HubAnswer, HubClient, HubObject, HubObjects, WatchedResource } from '../../cache/hub/hub-types.ts';
import type { Log } from '../operations/log.ts';
import {
  bundleCovers,
  readMaterial,
  renewed,
  splitBundle,
  trustBundle,
  writeMaterial,
} from '../certificates/serving-material.ts';
import type { ServingMaterial } from '../certificates/serving-material.ts';

/** Follows one kind of hub object; `onObjects` gets the whole set at first and after every change. */
export type FollowObjects = (
  resource: WatchedResource,
  onObjects: (objects: HubObjects) => void,
) => { readonly close: () => void };

/** Where the certificate is kept and whom it is for. */
export interface HubServingOptions {
  readonly client: Pick<HubClient, 'request'>;
  readonly follow: FollowObjects;
  readonly namespace: string;
  /** The Secret must exist (the chart makes it empty), so that no right to create Secrets is needed. */
  readonly secretName: string;
  /**
   * `v1alpha1.gateway.portcullis.io`; each gets the bundle while it points to a Service that `names` has as
   * `<name>.<namespace>.svc`.
   */
  readonly apiServices: readonly string[];
  /** DNS names and IP addresses clients use. */
  readonly names: readonly string[];
  readonly log: Log;
  /** Unix milliseconds. */
  readonly now?: () => number;
  readonly checkIntervalMs?: number;
  readonly startTimeoutMs?: number;
}

/**
 * The shared certificate as the listener uses it; `Serving` of gateway/certificates/serving.ts but that the CA is no
 * file.
 */
export interface HubServing {
  readonly caFile: undefined;
  /** PEM bundle that clients of the direct listener must trust. */
  caBundle(): string;
  current(): { readonly cert: string; readonly key: string };
  onChange(listener: () => void): void;
  /** Renews when due and mends the APIServices; runs by itself every hour and after every change. */
  check(): Promise<void>;
  close(): void;
}

interface ApiServiceSpec {
  readonly caBundle?: string;
  readonly service?: { readonly name: string; readonly namespace: string };
}

const hourMs = 60 * 60 * 1000;
const requestTimeoutMs = 10_000;

/**
 * Loads the shared certificate, or makes it.
 * @throws ConfigurationError when the Secret does not exist or may not be written
 * @throws GatewayError HUB_UNAVAILABLE when the hub does not tell within `startTimeoutMs` (30 s)
 */
export async function startHubServing(options: HubServingOptions): Promise<HubServing> {
  const { client, namespace, secretName, names, log, now = Date.now } = options;
  const secretPath = `/api/v1/namespaces/${namespace}/secrets/${secretName}`;
  const label = `Secret ${namespace}/${secretName}`;
  let secret: HubObject | undefined;
  let material: ServingMaterial | undefined;
  const apiServices = new Map<string, HubObject>();
  let listener: (() => void) | undefined;
  let closed = false;

  /** Takes over what a Secret holds, after the hub was told to trust it. */
  const adopt = async (object: HubObject): Promise<void> => {
    const read = readMaterial(object['data'] as Readonly<Record<string, string>> | undefined);
    if (read === undefined) return;
    await publish(read);
    const changed = read.leaf.cert !== material?.leaf.cert;
    material = read;
    if (changed) listener?.();
  };

  const publish = async (wanted: ServingMaterial): Promise<void> => {
    const bundle = trustBundle(wanted);
    for (const [name, object] of apiServices) {
      const { caBundle: shown = '', service } = (object['spec'] ?? {}) as ApiServiceSpec;
      // The aggregator verifies this name. One that points elsewhere (cluster-gateway before it is taken over, or after
      // it is given back) has another CA, and ours in its place would cut it off.
      if (!names.includes(`${service?.name}.${service?.namespace}.svc`)) continue;
      if (covers(Buffer.from(shown, 'base64').toString('utf8'), bundle)) continue;
      const answer = await client.request({
        method: 'PATCH',
        path: `/apis/apiregistration.k8s.io/v1/apiservices/${name}`,
        contentType: 'application/merge-patch+json',
        body: { spec: { caBundle: Buffer.from(bundle).toString('base64') } },
        timeoutMs: requestTimeoutMs,
      });
      if (answer.status === 200) apiServices.set(name, parse(answer));
      // Removed meanwhile: nothing to tell, and it gets the bundle when it comes back.
      else if (answer.status !== 404) throw refused(answer, `patch APIService ${name}`);
    }
  };

  const renew = async (): Promise<void> => {
    // Its version and its content must be of one moment, and `secret` moves with every event: hence a variable of our
    // own.
    let held = secret;
    for (;;) {
      if (held === undefined) throw missing(label);
      const data = held['data'] as Readonly<Record<string, string>> | undefined;
      const next = await renewed(readMaterial(data), names, now());
      if (next === undefined) return await adopt(held);
      const answer = await client.request({
        method: 'PUT',
        path: secretPath,
        body: { ...held, data: writeMaterial(next) },
        timeoutMs: requestTimeoutMs,
      });
      if (answer.status === 200) {
        log.info({ secret: `${namespace}/${secretName}` }, 'the serving certificate was renewed');
        return await adopt(parse(answer));
      }
      if (answer.status !== 409) throw refused(answer, `update ${label}`);
      // Another replica was first: what it wrote is as good.
      const fresh = await client.request({ method: 'GET', path: secretPath, timeoutMs: requestTimeoutMs });
      if (fresh.status !== 200 && fresh.status !== 404) throw refused(fresh, `get ${label}`);
      held = fresh.status === 404 ? undefined : parse(fresh);
    }
  };

  // One at a time: two renewals of one process would race each other through the Secret.
  let running: Promise<void> = Promise.resolve();
  const check = (): Promise<void> =>
    (running = running.catch(() => undefined).then(() => (closed ? undefined : renew())));
  const checkAndTell = (): void => {
    check().catch((error: unknown) => {
      log.error({ fault: (error as Error).message }, 'the serving certificate could not be renewed');
    });
  };

  const first = Promise.withResolvers<void>();
  const follows = [
    options.follow(watched('', 'v1', 'secrets', secretName, namespace), (objects) => {
      secret = objects.get(`${namespace}/${secretName}`) ?? objects.get(secretName);
      if (material === undefined) first.resolve();
      else checkAndTell();
    }),
    ...options.apiServices.map((name) =>
      options.follow(watched('apiregistration.k8s.io', 'v1', 'apiservices', name), (objects) => {
        const object = objects.get(name);
        if (object === undefined) apiServices.delete(name);
        else apiServices.set(name, object);
        if (material !== undefined) checkAndTell();
      }),
    ),
  ];
  const timer = setInterval(checkAndTell, options.checkIntervalMs ?? hourMs);
  timer.unref();
  const close = (): void => {
    closed = true;
    clearInterval(timer);
    for (const follow of follows) follow.close();
  };

  const deadline = setTimeout(() => first.reject(tooSlow(label)), options.startTimeoutMs ?? 30_000);
  try {
    await first.promise;
    await check();
    if (material === undefined) throw tooSlow(label);
  } catch (error) {
    close();
    throw error;
  } finally {
    clearTimeout(deadline);
  }
  return {
    caFile: undefined,
    caBundle: () => trustBundle(material!),
    current: () => material!.leaf,
    onChange: (next) => void (listener = next),
    check,
    close,
  };
}

function watched(group: string, version: string, resource: string, name: string, namespace?: string): WatchedResource {
  // With the name as field selector, RBAC's resourceNames holds for list and watch too
  // (apiserver/pkg/endpoints/request/requestinfo.go).
  return {
    group,
    version,
    resource,
    fieldSelector: `metadata.name=${name}`,
    ...(namespace === undefined ? {} : { namespace }),
  };
}

function covers(shown: string, wanted: string): boolean {
  try {
    return splitBundle(shown).length > 0 && bundleCovers(shown, wanted);
  } catch {
    return false;
  }
}

function parse(answer: HubAnswer): HubObject {
  return JSON.parse(answer.body.toString('utf8')) as HubObject;
}

function missing(label: string): ConfigurationError {
  return new ConfigurationError([
    { file: label, message: 'does not exist: create it empty (the Helm chart does), it is filled by the gateway' },
  ]);
}

function tooSlow(label: string): GatewayError {
  return new GatewayError('HUB_UNAVAILABLE', `the hub did not show ${label} in time`);
}

function refused(answer: HubAnswer, what: string): Error {
  if (answer.status === 403) {
    return new ConfigurationError([
      {
        file: what,
        message: "refused by the hub's RBAC: compare the rights of the gateway's ServiceAccount with the Helm chart",
      },
    ]);
  }
  return new GatewayError('HUB_UNAVAILABLE', `the hub answered ${answer.status} to: ${what}`);
}
