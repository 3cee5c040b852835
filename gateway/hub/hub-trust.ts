// Whom the hub trusts to say who calls: its client authority and its front proxy, from the ConfigMap that every API
// server publishes, followed for change. Easy to get wrong: a bad edit keeps the last good trust and is told, but a key
// that was taken away takes the trust with it; and each of the two has a pool of its own, although the listener asks
// clients for certificates of both.
import { isDeepStrictEqual } from 'node:util';
import type { AuthenticationRequest } from '../../auth/callers/authentication-request.ts';
import type { Authenticator } from '../../auth/callers/authenticate.ts';
import { makeClientCertificateAuthenticator } from '../../auth/callers/client-cert.ts';
import type { ClientCertificateAuthenticator } from '../../auth/callers/client-cert.ts';
import {
  authenticationConfigMap,
  makeRequestHeaderAuthenticator,
  parseFrontProxyTrust,
} from '../../auth/callers/request-header.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import type { HubClient, HubObjects, WatchedResource } from '../../cache/hub/hub-types.ts';
import { startReflector } from '../../cache/hub/reflector.ts';
import type { ReflectorState } from '../../cache/hub/reflector.ts';

/** The trust of this moment. */
export interface HubTrust {
  /** Callers whom an aggregating API server names in headers. */
  readonly frontProxy: Authenticator;
  /** Callers with a certificate of the hub's client authority. */
  readonly clientCertificates: Authenticator;
  /** PEM of all authorities whose certificates clients should be asked for; '' while none is known. */
  clientCas(): string;
  /** Adds a listener, called after they changed. */
  onClientCas(listener: () => void): void;
  /** `data` of the ConfigMap as it is in force, bad edits left out; undefined while nothing was told. */
  inForce(): Readonly<Record<string, unknown>> | undefined;
  /** One listener, called after that changed. */
  onInForce(listener: () => void): void;
  /** What is wrong now. */
  faults(): readonly string[];
}

/** The trust with the way to change it. */
export interface AppliedHubTrust extends HubTrust {
  /** Takes the ConfigMap out of what is watched. Never throws: what cannot be used is a fault. */
  apply(objects: HubObjects): void;
  /** Why the ConfigMap cannot be followed now, or undefined. */
  applyState(state: ReflectorState): void;
}

/** The trust as it follows the hub. */
export interface StartedHubTrust extends HubTrust {
  /** Resolves when the hub has said for the first time what it trusts. */
  readonly synced: Promise<void>;
  close(): void;
}

/** Told once when a fault comes and once when it is gone. */
export interface HubTrustReports {
  readonly onFault: (message: string) => void;
  readonly onRecovered: (message: string) => void;
}

/** What is watched: one object. */
export const watchedTrust: WatchedResource = {
  group: '',
  version: 'v1',
  resource: 'configmaps',
  namespace: authenticationConfigMap.namespace,
  fieldSelector: `metadata.name=${authenticationConfigMap.name}`,
};

const label = `ConfigMap ${authenticationConfigMap.namespace}/${authenticationConfigMap.name}`;
const clientCaKey = 'client-ca-file';
type Part = 'watch' | 'object' | typeof clientCaKey | 'front proxy';

/**
 * Makes one that trusts nobody yet.
 * @param now Unix milliseconds
 */
export function makeHubTrust(reports: HubTrustReports, now: () => number = Date.now): AppliedHubTrust {
  const requestHeader = makeRequestHeaderAuthenticator(now);
  const listeners: (() => void)[] = [];
  const faults = new Map<Part, string>();
  let certificates: ClientCertificateAuthenticator | undefined;
  let clientCa = '';
  let frontProxyCa = '';
  /** The last good data of each part. */
  const good: { clientCa: object; frontProxy: object } = { clientCa: {}, frontProxy: {} };
  let inForce: Readonly<Record<string, unknown>> | undefined;
  let inForceChanged: (() => void) | undefined;

  const setFault = (part: Part, message: string | undefined): void => {
    const before = faults.get(part);
    if (before === message) return;
    if (message === undefined) {
      faults.delete(part);
      reports.onRecovered(before!);
    } else {
      faults.set(part, message);
      reports.onFault(message);
    }
  };
  /** Changes one part or leaves it as it was. */
  const attempt = (part: Part, change: () => void): void => {
    try {
      change();
      setFault(part, undefined);
    } catch (error) {
      const reason = error instanceof GatewayError ? error.message : `cannot be used (${(error as Error).name})`;
      setFault(part, `${reason}; the last good state is kept`);
    }
  };
  const setClientCa = (pem: unknown): void => {
    if (pem === undefined) certificates = undefined;
    else {
      const caPem = String(pem);
      if (certificates !== undefined) {
        if (caPem !== clientCa) certificates.replaceCa(caPem);
      } else {
        certificates = makeClientCertificateAuthenticator({
          caPem,
          caFile: `${label}: ${clientCaKey}`,
          now,
          origin: 'hub',
        });
      }
    }
    clientCa = pem === undefined ? '' : String(pem);
  };
  const clientCas = (): string => [clientCa, frontProxyCa].filter((pem) => pem !== '').join('\n');

  return {
    frontProxy: requestHeader.authenticate,
    clientCertificates: (request: AuthenticationRequest) => certificates?.authenticate(request),
    clientCas,
    onClientCas: (listener) => void listeners.push(listener),
    inForce: () => inForce,
    onInForce: (listener) => void (inForceChanged = listener),
    faults: () => [...faults.values()],
    apply: (objects) => {
      const object = objects.get(`${authenticationConfigMap.namespace}/${authenticationConfigMap.name}`);
      if (object === undefined) {
        // The hub's API server writes it again within a minute; without it nobody could come through the hub.
        setFault(
          'object',
          `${label} is not there; ${clientCas() === '' ? 'nobody is' : 'those trusted before are'} trusted`,
        );
        return;
      }
      setFault('object', undefined);
      const data = (object['data'] ?? {}) as Readonly<Record<string, unknown>>;
      const { [clientCaKey]: clientCaData, ...frontProxyData } = data;
      const before = clientCas();
      attempt(clientCaKey, () => {
        setClientCa(clientCaData);
        good.clientCa = clientCaData === undefined ? {} : { [clientCaKey]: clientCaData };
      });
      attempt('front proxy', () => {
        const trust = parseFrontProxyTrust(data);
        requestHeader.replace(trust);
        frontProxyCa = trust?.caPem ?? '';
        good.frontProxy = frontProxyData;
      });
      const next = { ...good.frontProxy, ...good.clientCa };
      if (!isDeepStrictEqual(next, inForce)) {
        inForce = next;
        inForceChanged?.();
      }
      if (clientCas() !== before) for (const listener of listeners) attempt(clientCaKey, listener);
    },
    applyState: ({ fault }) => {
      const advice =
        fault?.reason === 'Forbidden'
          ? `; bind the gateway's account to Role extension-apiserver-authentication-reader in ${authenticationConfigMap.namespace}`
          : '';
      setFault('watch', fault && `${label}: ${fault.message}${advice}`);
    },
  };
}

/** Follows the hub's trust until closed. */
export function startHubTrust(
  client: Pick<HubClient, 'request' | 'open' | 'url'>,
  reports: HubTrustReports & { readonly onError: (error: unknown) => void },
): StartedHubTrust {
  const trust = makeHubTrust(reports);
  const reflector = startReflector({
    client,
    resource: watchedTrust,
    onChange: () => trust.apply(reflector.objects),
    onState: (state) => trust.applyState(state),
    onError: reports.onError,
  });
  // A list without the object changes nothing, so nobody would be told of it.
  const synced = reflector.synced.then(() => trust.apply(reflector.objects));
  synced.catch(() => undefined);
  return { ...trust, synced, close: () => reflector.close() };
}
