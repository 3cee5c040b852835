// Where requests to an API server go, and with which credential.
import type { CredentialSource, Endpoint, TlsTrust } from '../../model/records.ts';

/**
 * Address, trust and credential for requests to the hub. Frozen. `current()` returns the same object until something
 * changes.
 */
export interface HubAccess {
  readonly endpoint: Endpoint;
  readonly tls: TlsTrust;
  readonly credential: CredentialSource;
  /** Digest of endpoint and trust. While it stays equal, open connections may be used again. */
  readonly transportKey: string;
}

/** Where requests to the hub go and with which credential. */
export interface HubConnection {
  /** Where the connection was configured, for messages: the kubeconfig file and context, or `in-cluster`. */
  readonly origin: string;
  /** The present address and credential. Call it for every request, since both may change. */
  current(): HubAccess;
  /** Why the files as they are now cannot be used; undefined when they can. Contains no secret. */
  problem(): string | undefined;
  /**
   * Reads the files again now, for example after a 401 of the hub. Never rejects; faults are reported by `problem()`.
   */
  reload(): Promise<void>;
  /** Stops watching the files and ends running exec plugins. */
  close(): void;
}
