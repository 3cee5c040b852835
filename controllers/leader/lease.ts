// Leader election by a Lease, as client-go's: one process of all that know the Lease's name leads. Clusterpedia's own
// components use the same names, so they and we never write the same objects at the same time.
import { isDeepStrictEqual } from 'node:util';
import type { HubClient } from '../../cache/hub/hub-types.ts';
import { fieldOf } from '../../cache/sources/objects/hub-object.ts';
import { check, HubRefusal } from '../hub/hub-writer.ts';

export interface LeaseTiming {
  /** How long a holder that says nothing is waited for. */
  readonly durationMs: number;
  /** A leader that could not renew for this long leads no more. */
  readonly renewWithinMs: number;
  /** How often the leader renews, and others look. */
  readonly periodMs: number;
}

export interface LeaseOptions {
  readonly client: Pick<HubClient, 'request'>;
  readonly namespace: string;
  readonly name: string;
  /** Of this process; no two may have the same. */
  readonly identity: string;
  /** Begins to lead; the function it returns ends that. */
  readonly lead: () => () => void;
  /** Why nobody can tell who leads; undefined when it is told again. */
  readonly onFault: (message: string | undefined) => void;
  readonly onLeader?: (holder: string) => void;
  readonly timing?: Partial<LeaseTiming>;
  readonly random?: () => number;
}

export interface Election {
  /** Leads no more, and lets the next one in at once. */
  close(): Promise<void>;
}

/** client-go's defaults, with fewer renewals. */
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

/** Starts at once and goes on until closed. */
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
  /** The Lease as it was seen last, and when it changed by our clock: clocks of others are not compared. */
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
        // Somebody else wrote it first; the next round sees who.
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

  /** As the holder writes it at first. */
  #taken({ leaseTransitions = 0, holderIdentity = '' }: LeaseSpec): LeaseSpec {
    const transitions = holderIdentity === '' && leaseTransitions === 0 ? 0 : leaseTransitions + 1;
    return { acquireTime: microTime(), leaseTransitions: transitions };
  }

  async #put(lease: Lease | undefined, spec: LeaseSpec): Promise<void> {
    const { identity } = this.#options;
    const leaseDurationSeconds = Math.ceil(this.#timing.durationMs / 1000);
    await this.#write(lease, { ...spec, holderIdentity: identity, leaseDurationSeconds, renewTime: microTime() });
  }

  /** So that another one need not wait for the end of the Lease. */
  async #release(): Promise<void> {
    const lease = await this.#get();
    if (lease?.spec?.holderIdentity !== this.#options.identity) return;
    await this.#write(lease, { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime() });
  }

  async #get(): Promise<Lease | undefined> {
    const answer = await this.#call('GET', this.#path());
    if (answer.status === 404) return undefined;
    check(answer, 'get', leaseType);
    return JSON.parse(answer.body.toString('utf8')) as Lease;
  }

  async #write(lease: Lease | undefined, spec: LeaseSpec): Promise<void> {
    const { namespace, name } = this.#options;
    const object = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace }, spec };
    if (lease === undefined) {
      check(await this.#call('POST', this.#path().slice(0, -name.length - 1), object), 'create', leaseType);
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
    return `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases/${encodeURIComponent(name)}`;
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

/** metav1.MicroTime. */
function microTime(): string {
  return new Date().toISOString().replace(/Z$/, '000Z');
}
