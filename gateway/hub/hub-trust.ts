// Authenticates callers by the CAs that the hub trusts: its client CA and the CA of its front proxy. Both CAs are in a
// ConfigMap that every API server publishes; the gateway watches it. While an entry of the ConfigMap is invalid, its
// last valid CAs stay in use and a fault is reported; when an entry is removed, its CA is no longer trusted. Each
// certificate is verified only with the CA for its purpose, although the listener asks clients for certificates of both
// CAs.
import type { AuthenticationRequest } from '../../auth/callers/authentication-request.ts';
import type { Authenticator } from '../../auth/callers/authenticate.ts';
import { makeClientCertificateAuthenticator } from '../../auth/callers/client-cert.ts';
import type { ClientCertificateAuthenticator } from '../../auth/callers/client-cert.ts';
import {
  authenticationConfigMap,
  makeRequestHeaderAuthenticator,
  parseFrontProxyTrust,
} from '../../auth/callers/request-header.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ApiClient, ApiObjects, WatchedResource } from '../../kube/types.ts';
import { startReflector } from '../../kube/reflector/reflector.ts';
import type { ReflectorState } from '../../kube/reflector/reflector.ts';

/** Authenticators for callers whose identity the hub confirms, with the CAs that the hub trusts at present. */
export interface HubTrust {
  /** Authenticates callers whom an aggregating API server names in headers (front proxy). */
  readonly frontProxy: Authenticator;
  /** Authenticates callers with a certificate that the hub's client CA signed. */
  readonly clientCertificates: Authenticator;
  /** PEM of all CAs whose certificates the listener should ask clients for; '' while none is known. */
  clientCas(): string;
  /** Adds a listener that is called after `clientCas()` has changed. */
  onClientCas(listener: () => void): void;
  /** What is wrong with the hub's CAs at present, as texts for readyz; empty when nothing is wrong. */
  faults(): readonly string[];
}

/** The hub's trusted CAs, for code that watches the ConfigMap itself and passes on each state that it sees. */
export interface AppliedHubTrust extends HubTrust {
  /**
   * Takes the CAs from the ConfigMap, if it is among the watched objects. Never throws: a ConfigMap that cannot be used
   * is reported as a fault.
   */
  apply(objects: ApiObjects): void;
  /** Takes the state of the watch: that the ConfigMap cannot be watched is reported as a fault. */
  applyState(state: ReflectorState): void;
}

/** The hub's trusted CAs, with a watch of the ConfigMap. */
export interface StartedHubTrust extends HubTrust {
  /** Resolves when the ConfigMap has been read for the first time. */
  readonly synced: Promise<void>;
  close(): void;
}

/**
 * Callbacks for faults with the hub's CAs. Each is called once for a fault: `onFault` when it begins, `onRecovered`
 * when it ends.
 */
export interface HubTrustReports {
  readonly onFault: (message: string) => void;
  readonly onRecovered: (message: string) => void;
}

/** The resource to watch: only the ConfigMap extension-apiserver-authentication in kube-system. */
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
 * Makes a {@link HubTrust} that trusts nobody until `apply` is called.
 * @param now returns the present time in milliseconds since 1970
 */
export function makeHubTrust(reports: HubTrustReports, now: () => number = Date.now): AppliedHubTrust {
  return new ConfigMapTrust(reports, now);
}

/**
 * The methods are properties, because callers copy this object with `{ ...trust }`, which does not copy methods of a
 * class.
 */
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

  readonly apply = (objects: ApiObjects): void => {
    const object = objects.get(`${authenticationConfigMap.namespace}/${authenticationConfigMap.name}`);
    if (object === undefined) {
      // The ConfigMap does not exist. When it was deleted, the hub's kube-apiserver creates it again within a minute,
      // so the CAs stay trusted until then.
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

  /**
   * Uses the new data of both parts of the ConfigMap (client CA, front proxy). A part with invalid data keeps its last
   * valid CAs.
   */
  #applyData(data: Readonly<Record<string, unknown>>): void {
    this.#faults.attempt(clientCaKey, () => this.#setClientCa(data[clientCaKey]));
    this.#faults.attempt('front proxy', () => {
      const trust = parseFrontProxyTrust(data);
      this.#requestHeader.replace(trust);
      this.#frontProxyCa = trust?.caPem ?? '';
    });
  }

  /**
   * Replaces the CA for client certificates; undefined removes it.
   * @throws GatewayError when the text is no CA certificate; the previous CA stays in use
   */
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

/** Remembers what is wrong with each part of the ConfigMap, and reports when a fault begins and when it ends. */
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

  /**
   * Runs `change` for one part of the ConfigMap. When `change` throws, its error is remembered as the fault of this
   * part.
   */
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

/** Watches which CAs the hub trusts, until it is closed. */
export function startHubTrust(
  client: Pick<ApiClient, 'request' | 'open' | 'url'>,
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
  // When the ConfigMap does not exist at first, the reflector does not call `onChange`. So the result of the first list
  // is applied here.
  const synced = reflector.synced.then(() => trust.apply(reflector.objects));
  synced.catch(() => undefined);
  return { ...trust, synced, close: () => reflector.close() };
}
