// Leader election by a Lease, compatible with client-go's: of all processes that use the Lease, one leads.
// The controllers of import/ use the Leases of Clusterpedia's own components, so that the gateway and Clusterpedia
// never write at the same time.
import { isDeepStrictEqual } from 'node:util';
import { collectionPath, objectPath } from '../../kube/paths.ts';
import type { ApiClient } from '../../kube/types.ts';
import { fieldOf } from '../../lib/objects/json-object.ts';
import { check, HubRefusal } from '../../kube/objects/object-writer.ts';
import { parseExact } from '../../lib/json/exact-json.ts';

export interface LeaseTiming {
  /** Milliseconds after which other processes may take over the Lease of a holder that did not renew it. */
  readonly durationMs: number;
  /** Milliseconds after which a leader that could not renew the Lease stops leading. */
  readonly renewWithinMs: number;
  /** Milliseconds between renewals by the leader, and between reads of the Lease by the other processes. */
  readonly periodMs: number;
}

export interface LeaseOptions {
  readonly client: Pick<ApiClient, 'request'>;
  readonly namespace: string;
  readonly name: string;
  /** Name of this process as holder of the Lease. No two processes may have the same name, or both would lead. */
  readonly identity: string;
  /** Called when this process becomes the leader; the function that it returns is called when it stops leading. */
  readonly lead: () => () => void;
  /**
   * Called with the reason when the Lease cannot be read or written; called with undefined once it can be used again.
   */
  readonly onFault: (message: string | undefined) => void;
  readonly onLeader?: (holder: string) => void;
  readonly timing?: Partial<LeaseTiming>;
  readonly random?: () => number;
}

export interface Election {
  /** Stops leading and releases the Lease, so that another process can become the leader at once. */
  close(): Promise<void>;
}

/** The times of client-go's leader election, except for a longer `periodMs`, which means fewer renewals. */
export const defaultLeaseTiming: LeaseTiming = { durationMs: 15_000, renewWithinMs: 10_000, periodMs: 2_500 };

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

interface Lease {
  readonly metadata: { readonly resourceVersion?: string };
  readonly spec?: LeaseSpec;
}

/** Takes part in the election from now on, until `close` of the result is called. */
export function startElection(options: LeaseOptions): Election {
  const election = new LeaseElection(options);
  void election.run();
  return election;
}

class LeaseElection implements Election {
  readonly #options: LeaseOptions;
  readonly #timing: LeaseTiming;
  readonly #random: () => number;
  readonly #ended = Promise.withResolvers<void>();
  /**
   * The Lease as it was last read, and when this process noticed its last change, on this process's own clock. The
   * times in the Lease are not used, since the clocks of other processes may be wrong.
   */
  #seen: { readonly spec: LeaseSpec; readonly atMs: number } | undefined;
  #endLeading: (() => void) | undefined;
  #renewedAtMs = 0;
  #fault: string | undefined;
  #holder: string | undefined;
  #closed = false;
  #wake: () => void = () => undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#timing = { ...defaultLeaseTiming, ...options.timing };
    this.#random = options.random ?? Math.random;
  }

  async run(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#round();
        this.#report(undefined);
      } catch (error) {
        // 409: another process wrote the Lease first. The next loop reads which process holds it.
        const conflict = error instanceof HubRefusal && error.status === 409;
        if (!conflict) this.#report(error instanceof Error ? error.message : 'unknown fault');
      }
      if (this.#endLeading !== undefined && performance.now() - this.#renewedAtMs > this.#timing.renewWithinMs)
        this.#stopLeading();
      await this.#pause(this.#timing.periodMs * (0.8 + this.#random() * 0.4));
    }
    this.#stopLeading();
    await this.#release().catch(() => undefined);
    this.#ended.resolve();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wake();
    await this.#ended.promise;
  }

  async #round(): Promise<void> {
    const { identity } = this.#options;
    const lease = await this.#get();
    const spec = lease?.spec ?? {};
    const { holderIdentity = '' } = spec;
    if (this.#seen === undefined || !isDeepStrictEqual(this.#seen.spec, spec))
      this.#seen = { spec, atMs: performance.now() };
    const isMine = holderIdentity === identity;
    if (!isMine && this.#endLeading !== undefined) this.#stopLeading();
    const patienceMs = Math.max((spec.leaseDurationSeconds ?? 0) * 1000, 1000);
    const isHeld = holderIdentity !== '' && performance.now() - this.#seen.atMs < patienceMs;
    if (!isMine && isHeld) {
      this.#tell(holderIdentity);
      return;
    }
    const startedMs = performance.now();
    await this.#put(lease, isMine ? spec : this.#taken(spec));
    this.#renewedAtMs = startedMs;
    this.#tell(identity);
    if (!this.#closed) this.#endLeading ??= this.#options.lead();
  }

  /** Returns the fields of the Lease that are set only when its holder changes. */
  #taken({ leaseTransitions = 0, holderIdentity = '' }: LeaseSpec): LeaseSpec {
    const transitions = holderIdentity === '' && leaseTransitions === 0 ? 0 : leaseTransitions + 1;
    return { acquireTime: microTime(), leaseTransitions: transitions };
  }

  async #put(lease: Lease | undefined, spec: LeaseSpec): Promise<void> {
    const { identity } = this.#options;
    const leaseDurationSeconds = Math.ceil(this.#timing.durationMs / 1000);
    await this.#write(lease, { ...spec, holderIdentity: identity, leaseDurationSeconds, renewTime: microTime() });
  }

  /**
   * Removes the holder from the Lease, so that another process can take it at once and need not wait until it expires.
   */
  async #release(): Promise<void> {
    const lease = await this.#get();
    if (lease?.spec?.holderIdentity !== this.#options.identity) return;
    await this.#write(lease, { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime() });
  }

  async #get(): Promise<Lease | undefined> {
    const answer = await this.#call('GET', this.#path());
    if (answer.status === 404) return undefined;
    check(answer, 'get', leaseType);
    return parseExact(answer.body) as Lease;
  }

  async #write(lease: Lease | undefined, spec: LeaseSpec): Promise<void> {
    const { namespace, name } = this.#options;
    const object = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace }, spec };
    if (lease === undefined) {
      const path = collectionPath({ ...leaseType, namespace }, {});
      check(await this.#call('POST', path, object), 'create', leaseType);
      return;
    }
    const { resourceVersion } = lease.metadata;
    const metadata = { ...(fieldOf(lease, 'metadata') as object), name, namespace, resourceVersion };
    check(await this.#call('PUT', this.#path(), { ...object, metadata }), 'update', leaseType);
  }

  #call(method: 'GET' | 'POST' | 'PUT', path: string, body?: object) {
    return this.#options.client.request({ method, path, timeoutMs: 5_000, ...(body && { body }) });
  }

  #path(): string {
    const { namespace, name } = this.#options;
    return objectPath({ ...leaseType, namespace }, name);
  }

  #stopLeading(): void {
    this.#endLeading?.();
    this.#endLeading = undefined;
  }

  #tell(holder: string): void {
    if (holder !== this.#holder) this.#options.onLeader?.(holder);
    this.#holder = holder;
  }

  #report(fault: string | undefined): void {
    if (fault !== this.#fault) this.#options.onFault(fault);
    this.#fault = fault;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.#closed) this.#wake();
    });
  }
}

const leaseType = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' };

/** Returns the present time in the format of a metav1.MicroTime, with six digits after the point. */
function microTime(): string {
  return new Date().toISOString().replace(/Z$/, '000Z');
}
