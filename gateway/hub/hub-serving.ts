// The serving certificate that all replicas share through one Secret on the hub. The first replica that finds the
// certificate due for renewal renews it and writes the CA certificates to the `caBundle` of the gateway's APIServices.
// Easy to get wrong: a certificate may be served only after the hub trusts its CA; otherwise discovery fails for the
// whole hub.
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ApiAnswer, ApiClient, ApiObject, ApiObjects, WatchedResource } from '../../kube/types.ts';
import type { Log } from '../../lib/log.ts';
import {
  bundleCovers,
  readMaterial,
  renewed,
  splitBundle,
  trustBundle,
  writeMaterial,
} from '../certificates/serving-material.ts';
import type { ServingMaterial } from '../certificates/serving-material.ts';
import { parseExact } from '../../lib/json/exact-json.ts';

/**
 * Watches one kind of object on the hub. `onObjects` is called with all objects when the first list is there, and after
 * every change.
 */
export type FollowObjects = (
  resource: WatchedResource,
  onObjects: (objects: ApiObjects) => void,
) => { readonly close: () => void };

/** Where the shared certificate is stored and for which names it is valid. */
export interface HubServingOptions {
  readonly client: Pick<ApiClient, 'request'>;
  readonly follow: FollowObjects;
  readonly namespace: string;
  /**
   * Name of the Secret. It must exist already (the Helm chart creates it empty), so that the gateway needs no right to
   * create Secrets.
   */
  readonly secretName: string;
  /**
   * Names of APIServices, such as `v1alpha1.gateway.portcullis.io`. The CA bundle is written to each of them that
   * points to a Service whose DNS name `<name>.<namespace>.svc` is in `names`.
   */
  readonly apiServices: readonly string[];
  /** DNS names and IP addresses by which clients reach the gateway. */
  readonly names: readonly string[];
  readonly log: Log;
  /** The present time in milliseconds since 1970. */
  readonly now?: () => number;
  readonly startTimeoutMs?: number;
}

interface ApiServiceSpec {
  readonly caBundle?: string;
  readonly service?: { readonly name: string; readonly namespace: string };
}

const hourMs = 60 * 60 * 1000;
const requestTimeoutMs = 10_000;

/**
 * Loads the shared certificate, or makes it when the Secret is empty.
 * @throws ConfigurationError (rejects) when the Secret does not exist or the gateway may not write it
 * @throws GatewayError (rejects) HUB_UNAVAILABLE when the hub does not show the Secret within `startTimeoutMs` (30
 * seconds by default)
 */
export async function startHubServing(options: HubServingOptions): Promise<HubServing> {
  const serving = new SharedServing(options);
  const label = labelOf(options);
  const late = Promise.withResolvers<never>();
  const deadline = setTimeout(() => late.reject(tooSlow(label)), options.startTimeoutMs ?? 30_000);
  try {
    await Promise.race([serving.shown, late.promise]);
    await serving.check();
    if (!serving.isLoaded) throw tooSlow(label);
  } catch (error) {
    serving.close();
    throw error;
  } finally {
    clearTimeout(deadline);
  }
  return serving;
}

/**
 * The shared certificate as the rest of the gateway uses it: with the methods of `Serving` in
 * gateway/certificates/serving.ts. There is no CA file.
 */
export type HubServing = Omit<SharedServing, 'shown' | 'isLoaded'>;

/** Keeps the shared certificate. It has the methods of `Serving` in gateway/certificates/serving.ts, but no CA file. */
class SharedServing {
  readonly caFile = undefined;
  readonly #options: HubServingOptions;
  readonly #secretPath: string;
  readonly #apiServices = new Map<string, ApiObject>();
  readonly #shown = Promise.withResolvers<void>();
  readonly #follows: readonly { readonly close: () => void }[];
  readonly #timer: NodeJS.Timeout;
  /**
   * The Secret with the shared certificate, as the last event of its watch showed it; undefined when it does not exist.
   */
  #secret: ApiObject | undefined;
  #material: ServingMaterial | undefined;
  #listener: (() => void) | undefined;
  #running: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: HubServingOptions) {
    this.#options = options;
    const { namespace, secretName } = options;
    this.#secretPath = `/api/v1/namespaces/${namespace}/secrets/${secretName}`;
    this.#follows = [
      options.follow(watched('', 'v1', 'secrets', secretName, namespace), (objects) => {
        this.#secret = objects.get(`${namespace}/${secretName}`) ?? objects.get(secretName);
        if (this.#material === undefined) this.#shown.resolve();
        else this.#checkAndLog();
      }),
      ...options.apiServices.map((name) => this.#followApiService(name)),
    ];
    this.#timer = setInterval(() => this.#checkAndLog(), hourMs);
    this.#timer.unref();
  }

  /** Resolves when the watch of the hub has shown for the first time whether the Secret exists. */
  get shown(): Promise<void> {
    return this.#shown.promise;
  }

  get isLoaded(): boolean {
    return this.#material !== undefined;
  }

  /** PEM bundle of the CAs that clients of the gateway must trust. */
  caBundle(): string {
    return trustBundle(this.#material!);
  }

  current(): { readonly cert: string; readonly key: string } {
    return this.#material!.leaf;
  }

  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  /**
   * Renews the certificate if it is due. Calls run one after the other: two renewals at once would overwrite each
   * other's Secret.
   */
  check(): Promise<void> {
    this.#running = this.#running.catch(() => undefined).then(() => (this.#closed ? undefined : this.#renew()));
    return this.#running;
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    for (const follow of this.#follows) follow.close();
  }

  #followApiService(name: string): { readonly close: () => void } {
    return this.#options.follow(watched('apiregistration.k8s.io', 'v1', 'apiservices', name), (objects) => {
      const object = objects.get(name);
      if (object === undefined) this.#apiServices.delete(name);
      else this.#apiServices.set(name, object);
      if (this.#material !== undefined) this.#checkAndLog();
    });
  }

  #checkAndLog(): void {
    this.check().catch((error: unknown) => {
      this.#options.log.error({ fault: (error as Error).message }, 'the serving certificate could not be renewed');
    });
  }

  async #renew(): Promise<void> {
    const { names, log, namespace, secretName, now = Date.now } = this.#options;
    const label = labelOf(this.#options);
    // An update must send the content and the resourceVersion of the same read. A watch event may replace `#secret` at
    // any time, so the Secret that was read is kept in a variable.
    let held = this.#secret;
    for (;;) {
      if (held === undefined) throw missing(label);
      const data = held['data'] as Readonly<Record<string, string>> | undefined;
      const next = await renewed(readMaterial(data), names, now());
      if (next === undefined) return await this.#adopt(held);
      const answer = await this.#request('PUT', this.#secretPath, { ...held, data: writeMaterial(next) });
      if (answer.status === 200) {
        log.info({ secret: `${namespace}/${secretName}` }, 'the serving certificate was renewed');
        return await this.#adopt(parse(answer));
      }
      if (answer.status !== 409) throw refused(answer, `update ${label}`);
      // 409: another replica has written the Secret in the meantime. Read the Secret again and use what that replica
      // wrote.
      const fresh = await this.#request('GET', this.#secretPath);
      if (fresh.status !== 200 && fresh.status !== 404) throw refused(fresh, `get ${label}`);
      held = fresh.status === 404 ? undefined : parse(fresh);
    }
  }

  /** Begins to serve the certificate that is stored in `object`, after writing its CA to the APIServices. */
  async #adopt(object: ApiObject): Promise<void> {
    const read = readMaterial(object['data'] as Readonly<Record<string, string>> | undefined);
    if (read === undefined) return;
    await this.#publish(read);
    const changed = read.leaf.cert !== this.#material?.leaf.cert;
    this.#material = read;
    if (changed) this.#listener?.();
  }

  /** Writes the CA bundle to the gateway's APIServices. */
  async #publish(wanted: ServingMaterial): Promise<void> {
    const bundle = trustBundle(wanted);
    for (const [name, object] of this.#apiServices) {
      const { caBundle: shown = '', service } = (object['spec'] ?? {}) as ApiServiceSpec;
      // The aggregation layer verifies the server by this DNS name. An APIService that points to another Service
      // (during a migration perhaps that of cluster-gateway) needs another CA; the gateway's CA would break it.
      if (!this.#options.names.includes(`${service?.name}.${service?.namespace}.svc`)) continue;
      if (covers(Buffer.from(shown, 'base64').toString('utf8'), bundle)) continue;
      const body = { spec: { caBundle: Buffer.from(bundle).toString('base64') } };
      const answer = await this.#request('PATCH', `/apis/apiregistration.k8s.io/v1/apiservices/${name}`, body);
      if (answer.status === 200) this.#apiServices.set(name, parse(answer));
      // 404: the APIService was removed in the meantime. The bundle is written to it when it exists again.
      else if (answer.status !== 404) throw refused(answer, `patch APIService ${name}`);
    }
  }

  #request(method: 'GET' | 'PUT' | 'PATCH', path: string, body?: object): Promise<ApiAnswer> {
    return this.#options.client.request({
      method,
      path,
      ...(body === undefined ? {} : { body }),
      ...(method === 'PATCH' ? { contentType: 'application/merge-patch+json' } : {}),
      timeoutMs: requestTimeoutMs,
    });
  }
}

function labelOf({ namespace, secretName }: HubServingOptions): string {
  return `Secret ${namespace}/${secretName}`;
}

function watched(group: string, version: string, resource: string, name: string, namespace?: string): WatchedResource {
  // The list and watch have a field selector for the object's name: then an RBAC rule with `resourceNames` allows them,
  // too (apiserver/pkg/endpoints/request/requestinfo.go).
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

function parse(answer: ApiAnswer): ApiObject {
  return parseExact(answer.body) as ApiObject;
}

function missing(label: string): ConfigurationError {
  return new ConfigurationError([
    { file: label, message: 'does not exist: create an empty one (the Helm chart does); the gateway fills it' },
  ]);
}

function tooSlow(label: string): GatewayError {
  return new GatewayError('HUB_UNAVAILABLE', `the hub did not show ${label} in time`);
}

function refused(answer: ApiAnswer, what: string): Error {
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
