// Whom the hub trusts to say who calls: its client authority and its front proxy, from the ConfigMap that every API
// server publishes, followed for change. A bad edit keeps the last good trust and is reported; a key that was removed
// ends the trust. Each of the two is checked against its own authorities, although the listener asks clients for
// certificates of both.
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
  /** What is wrong now. */
  faults(): readonly string[];
}

/** The trust, and how it is changed. */
export interface AppliedHubTrust extends HubTrust {
  /** Reads the ConfigMap among the watched objects. Never throws: what cannot be used is a fault. */
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

/** Each is called once, when a fault begins and when it ends. */
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
 * Makes a trust that trusts nobody yet.
 * @param now Unix milliseconds
 */
export function makeHubTrust(reports: HubTrustReports, now: () => number = Date.now): AppliedHubTrust {
  return new ConfigMapTrust(reports, now);
}

/** Its methods are properties because callers spread it. */
class ConfigMapTrust implements AppliedHubTrust {
  readonly frontProxy: Authenticator;
  readonly #now: () => number;
  readonly #requestHeader: ReturnType<typeof makeRequestHeaderAuthenticator>;
  readonly #faults: PartFaults;
  readonly #listeners: (() => void)[] = [];
  #certificates: ClientCertificateAuthenticator | undefined;
  #clientCa = '';
  #frontProxyCa = '';

  constructor(reports: HubTrustReports, now: () => number) {
    this.#now = now;
    this.#requestHeader = makeRequestHeaderAuthenticator(now);
    this.frontProxy = this.#requestHeader.authenticate;
    this.#faults = new PartFaults(reports);
  }

  readonly clientCertificates: Authenticator = (request: AuthenticationRequest) =>
    this.#certificates?.authenticate(request);
  readonly clientCas = (): string => [this.#clientCa, this.#frontProxyCa].filter((pem) => pem !== '').join('\n');
  readonly onClientCas = (listener: () => void): void => void this.#listeners.push(listener);
  readonly faults = (): readonly string[] => this.#faults.all();

  readonly apply = (objects: HubObjects): void => {
    const object = objects.get(`${authenticationConfigMap.namespace}/${authenticationConfigMap.name}`);
    if (object === undefined) {
      // The hub's API server writes it again within a minute, so the trust is kept until then.
      const trusted = this.clientCas() === '' ? 'nobody is' : 'those trusted before are';
      this.#faults.set('object', `${label} is not there; ${trusted} trusted`);
      return;
    }
    this.#faults.set('object', undefined);
    const before = this.clientCas();
    this.#applyData((object['data'] ?? {}) as Readonly<Record<string, unknown>>);
    if (this.clientCas() !== before)
      for (const listener of this.#listeners) this.#faults.attempt(clientCaKey, listener);
  };

  readonly applyState = ({ fault }: ReflectorState): void => {
    const advice =
      fault?.reason === 'Forbidden'
        ? `; bind the gateway's account to Role extension-apiserver-authentication-reader in ${authenticationConfigMap.namespace}`
        : '';
    this.#faults.set('watch', fault && `${label}: ${fault.message}${advice}`);
  };

  /** Takes each of the two parts, or keeps its last good state. */
  #applyData(data: Readonly<Record<string, unknown>>): void {
    this.#faults.attempt(clientCaKey, () => this.#setClientCa(data[clientCaKey]));
    this.#faults.attempt('front proxy', () => {
      const trust = parseFrontProxyTrust(data);
      this.#requestHeader.replace(trust);
      this.#frontProxyCa = trust?.caPem ?? '';
    });
  }

  /** @throws GatewayError for what is no authority; the former one is kept then */
  #setClientCa(pem: unknown): void {
    if (pem === undefined) {
      this.#certificates = undefined;
      this.#clientCa = '';
      return;
    }
    const caPem = String(pem);
    if (this.#certificates === undefined) {
      const caFile = `${label}: ${clientCaKey}`;
      this.#certificates = makeClientCertificateAuthenticator({ caPem, caFile, now: this.#now, origin: 'hub' });
    } else if (caPem !== this.#clientCa) this.#certificates.replaceCa(caPem);
    this.#clientCa = caPem;
  }
}

/** What is wrong with each part, reported when it begins and when it ends. */
class PartFaults {
  readonly #faults = new Map<Part, string>();
  readonly #reports: HubTrustReports;

  constructor(reports: HubTrustReports) {
    this.#reports = reports;
  }

  all(): readonly string[] {
    return [...this.#faults.values()];
  }

  set(part: Part, message: string | undefined): void {
    const before = this.#faults.get(part);
    if (before === message) return;
    if (message === undefined) {
      this.#faults.delete(part);
      this.#reports.onRecovered(before!);
    } else {
      this.#faults.set(part, message);
      this.#reports.onFault(message);
    }
  }

  /** Changes one part; when that fails, the part keeps its state and has a fault. */
  attempt(part: Part, change: () => void): void {
    try {
      change();
      this.set(part, undefined);
    } catch (error) {
      const reason = error instanceof GatewayError ? error.message : `cannot be used (${(error as Error).name})`;
      this.set(part, `${reason}; the last good state is kept`);
    }
  }
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
  // A list without the object is no change, so `onChange` is not called for it.
  const synced = reflector.synced.then(() => trust.apply(reflector.objects));
  synced.catch(() => undefined);
  return { ...trust, synced, close: () => reflector.close() };
}
