// Cluster records as the first process sends them to workers: whole at first, then event by event. Easy to get wrong:
// the gateway compares specs by identity to see whether they changed. So a spec that did not change is not sent again,
// and one that is twice in a snapshot arrives as one object.
import { makeAddressRule } from '../../cache/model/address-rule.ts';
import type { AddressRuleOptions } from '../../cache/model/address-rule.ts';
import type { ClusterHistory } from '../../cache/model/cluster-events.ts';
import type { ClusterRecord, ClusterSpec, Credential, CredentialSource } from '../../cache/model/records.ts';
import type { ClusterEvent } from '../../cache/model/cluster-events.ts';
import type { ClusterStore } from '../../cache/model/store.ts';

/** A credential that never changes, or the number under which the first process is asked for it. */
export type WireCredential =
  | { readonly kind: Exclude<CredentialSource['kind'], 'exec'>; readonly fixed: Credential }
  | { readonly kind: 'exec'; readonly id: number };

/** A spec without its functions. */
export interface WireSpec extends Omit<ClusterSpec, 'credential' | 'addressRule'> {
  readonly credential: WireCredential | undefined;
  /** Its addresses are subject to the rule of the configuration. */
  readonly isRuled: boolean;
}

export interface WireRecord extends Omit<ClusterRecord, 'spec'> {
  readonly spec: WireSpec;
}

/** One change; without a spec it is that of the record before. */
export interface WireEvent {
  readonly type: ClusterEvent['type'];
  readonly uid: string;
  readonly record: Omit<ClusterRecord, 'spec'>;
  readonly spec: WireSpec | undefined;
}

/** A whole store. */
export interface WireSnapshot {
  readonly records: readonly WireRecord[];
  readonly history: Omit<ClusterHistory, 'events'> & {
    readonly events: readonly {
      readonly type: ClusterEvent['type'];
      readonly record: WireRecord;
      readonly previous: WireRecord | undefined;
    }[];
  };
}

/** The first process's end. */
export interface ClusterWriter {
  /** The store now. */
  snapshot(): WireSnapshot;
  event(event: ClusterEvent): WireEvent;
  /** The source behind a number; undefined when it is no longer known. */
  source(id: number): CredentialSource | undefined;
  /** The number of a source that workers may know; undefined when none does. */
  idOf(source: CredentialSource): number | undefined;
  close(): void;
}

/** How long after a change a request that read the old record may still ask for its credential. */
const outdatedMs = 60_000;

/** Makes the writer that all workers share, so that a number means the same to each. */
export function makeClusterWriter(store: Pick<ClusterStore, 'list' | 'history'>): ClusterWriter {
  const numbers = new CredentialNumbers(store);
  const specOf = ({ credential, addressRule, ...plain }: ClusterSpec): WireSpec => ({
    ...plain,
    credential: credential && wireCredentialOf(credential, numbers),
    isRuled: addressRule !== undefined,
  });
  return {
    snapshot() {
      const specs = memo(specOf);
      const recordOf = memo((record: ClusterRecord): WireRecord => ({ ...record, spec: specs(record.spec) }));
      const { events, startVersion, version } = store.history();
      return {
        records: store.list().map(recordOf),
        history: {
          startVersion,
          version,
          events: events.map(({ type, record, previous }) => ({
            type,
            record: recordOf(record),
            previous: previous && recordOf(previous),
          })),
        },
      };
    },
    event({ type, record: { spec, ...record }, previous }) {
      const before = type === 'DELETED' ? spec : previous?.spec;
      const source = before?.credential;
      if (source?.kind === 'exec' && (type === 'DELETED' || spec.credential !== source)) numbers.forgetLater(source);
      return { type, uid: spec.uid, record, spec: before === spec ? undefined : specOf(spec) };
    },
    source: (id) => numbers.source(id),
    idOf: (source) => numbers.known(source),
    close: () => numbers.close(),
  };
}

function wireCredentialOf(source: CredentialSource, numbers: CredentialNumbers): WireCredential {
  const { kind } = source;
  if (kind === 'exec') return { kind, id: numbers.idOf(source) };
  const fixed = source.current();
  if (fixed instanceof Promise) throw new Error(`a credential of kind ${kind} is not at hand`);
  return { kind, fixed };
}

/** The numbers of credentials that workers ask the first process for. */
class CredentialNumbers {
  readonly #store: Pick<ClusterStore, 'list'>;
  readonly #ids = new Map<CredentialSource, number>();
  readonly #sources = new Map<number, CredentialSource>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #lastId = 0;

  constructor(store: Pick<ClusterStore, 'list'>) {
    this.#store = store;
  }

  source(id: number): CredentialSource | undefined {
    return this.#sources.get(id);
  }

  known(source: CredentialSource): number | undefined {
    return this.#ids.get(source);
  }

  /** The number of a source, a new one when it has none. */
  idOf(source: CredentialSource): number {
    const known = this.#ids.get(source);
    if (known !== undefined) return known;
    this.#lastId += 1;
    this.#ids.set(source, this.#lastId);
    this.#sources.set(this.#lastId, source);
    return this.#lastId;
  }

  /** Forgets a source after a while, unless a cluster has it then. */
  forgetLater(source: CredentialSource): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      // A renamed cluster is one that was deleted and one that was added, with the same credential.
      if (this.#store.list().some(({ spec }) => spec.credential === source)) return;
      this.#sources.delete(this.#ids.get(source) ?? 0);
      this.#ids.delete(source);
    }, outdatedMs).unref();
    this.#timers.add(timer);
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }
}

/** The worker's end: turns what came into records. */
export interface ClusterWireReader {
  record(wire: WireRecord): ClusterRecord;
  spec(wire: WireSpec): ClusterSpec;
}

/**
 * Makes the reader of one worker.
 * @param credentials sources of credentials that the first process is asked for
 * @param addresses what the operator says of addresses that objects of a hub name; undefined without a hub
 */
export function makeClusterReader(
  credentials: (id: number) => CredentialSource,
  addresses: AddressRuleOptions | undefined,
): ClusterWireReader {
  const rule = addresses && makeAddressRule(addresses);
  const credentialOf = (wire: WireCredential): CredentialSource => {
    if (wire.kind === 'exec') return credentials(wire.id);
    const { kind, fixed } = wire;
    return Object.freeze({ kind, current: () => fixed, invalidate: () => undefined });
  };
  const spec = memo(({ credential, isRuled, ...plain }: WireSpec): ClusterSpec => {
    if (isRuled && rule === undefined)
      throw new Error(`there is no rule for addresses, and cluster "${plain.name}" needs it`);
    const made: ClusterSpec = { ...plain, credential: credential && credentialOf(credential) };
    return Object.freeze(isRuled ? { ...made, addressRule: rule! } : made);
  });
  return {
    spec: (wire) => spec(frozen(wire)),
    record: memo((wire) => Object.freeze({ ...wire, spec: spec(frozen(wire.spec)) })),
  };
}

/** Remembers what each object gave, as long as that object lives. */
function memo<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, V>();
  return (key) => {
    if (!made.has(key)) made.set(key, make(key));
    return made.get(key)!;
  };
}

/** Plain data, frozen to the bottom. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value) || ArrayBuffer.isView(value)) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}
