// Keeps the rows of one incarnation of a member cluster up to date: repeats discovery, and lists and watches the
// selected types.
import { makeBackoff, type Backoff } from '../lib/backoff.ts';
import type { FencedError } from '../store/fenced-error.ts';
import { typeKey, type Incarnation, type LiveType, type TypeKey } from '../query/types.ts';
import type { ClusterSyncOptions } from './cluster-sync-options.ts';
import { makeCustomTypes } from './discover/custom-resources.ts';
import { crdType, discoverTypes, readCustomTypes, type MemberTypes } from './discover/discovery.ts';
import { OtherIncarnation, readIncarnation, shareNext } from './member/incarnation.ts';
import { chooseTypes, liveTypes } from './discover/selection.ts';
import { makeTypeSet, type TypeSet } from './discover/type-set.ts';
import { pause } from '../lib/concurrency/gates.ts';
import { watchApiServices } from './follow/change-signal.ts';
import { SyncSetback } from './member/member-faults.ts';
import type { AskMember, ClusterState } from './member/sync-types.ts';

type Refusal = ClusterState['refused'][number];

export interface MemberLifeOptions extends ClusterSyncOptions {
  readonly ask: AskMember;
  readonly incarnation: Incarnation;
  /**
   * The selected resources that were not available before the cluster was set up anew, shown until discovery has been
   * read.
   */
  readonly refused: readonly Refusal[];
  readonly closing: AbortSignal;
  /** Repeats `work` with growing waits until it succeeds. `what` names the work in messages. */
  readonly insist: <Result>(what: string, work: () => Promise<Result>) => Promise<Result>;
  /** Called when all selected types are being listed or watched. */
  readonly onFollowed: () => void;
  /** Called when another process writes the rows of this cluster now. */
  readonly onFenced: (error: FencedError) => void;
}

/** Keeps the rows of one incarnation of a cluster up to date. It ends when `follow` resolves. */
export class MemberLife {
  readonly #options: MemberLifeOptions;
  readonly #over = new AbortController();
  readonly #customTypes = makeCustomTypes();
  readonly #identify: () => Promise<Incarnation>;
  readonly #readers: ReaderLooks;
  /** Aborted when the cluster was set up anew, or is not to be indexed any longer. */
  readonly signal: AbortSignal;
  readonly incarnation: Incarnation;
  readonly set: TypeSet;
  /**
   * True once discovery was read. From then on, the states of types come from the followers and no longer from the
   * store.
   */
  isFollowed = false;
  /** The selected resources that are not available, with the reason. */
  refused: readonly Refusal[];
  /**
   * Why CRDs could not be read; undefined when they were read. Until then, types are stored in the version that the
   * member cluster prefers.
   */
  #crdRefusal: Refusal | undefined = { resource: typeKey(crdType), message: 'not read yet' };
  /** The types that are answered by the cluster itself; undefined until discovery was read. */
  live: readonly LiveType[] | undefined;
  #types: MemberTypes['types'] = new Map();
  #listed: MemberTypes['listed'] = [];
  #isWanted = true;
  /**
   * True when discovery lacks a type whose CRD is there. An API server begins to serve a type only some time after the
   * watch has shown its CRD, and sends no event when it does.
   */
  #isBehind = false;
  readonly #behindWaits: Backoff;
  #wake: () => void = () => undefined;

  constructor(options: MemberLifeOptions) {
    const { ask, cluster, timing, closing } = options;
    this.#options = options;
    this.#behindWaits = makeBackoff(timing.discoveryPauseMs, timing.discoveryMs, options.random);
    this.incarnation = options.incarnation;
    this.refused = options.refused;
    this.signal = AbortSignal.any([closing, this.#over.signal]);
    this.#identify = shareNext(() => readIncarnation(ask, cluster, timing, this.signal));
    this.set = makeTypeSet({
      ...options,
      signal: this.signal,
      verify: () => this.#verify(),
      onOutdated: () => this.look(),
      onObject: (key, what, object) => this.#onObject(key, what, object),
      onState: () => {
        // The member cluster may have removed the type. Discovery will show whether it did.
        if (this.set.states().some((state) => state.fault?.reason === 'Missing')) this.look();
        options.onState();
      },
    });
    this.#readers = makeReaderLooks(this.set, timing.discoveryPauseMs, this.signal);
  }

  /** Makes discovery run again soon, instead of at its next regular time. */
  look(): void {
    this.#isWanted = true;
    this.#wake();
  }

  /** Resolves when the cluster was set up anew, or is not to be indexed any longer. */
  async follow(): Promise<void> {
    const { ask, cluster } = this.#options;
    const { signal } = this;
    void watchApiServices({ ...this.#options, ask, cluster: cluster.name, signal, onChange: () => this.look() });
    try {
      while (!signal.aborted) {
        this.#isWanted = false;
        await this.#followChosen();
        await this.#untilWanted();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#over.abort();
      await this.set.close();
    }
  }

  async #followChosen(): Promise<void> {
    const { insist, choice, onFollowed, onState } = this.#options;
    await insist('list of CustomResourceDefinitions', () => this.#readCustomTypes());
    const types = await insist('discovery', () => this.#discover());
    this.#isBehind = this.#customTypes.served().some((name) => !types.has(name));
    const chooses = choice();
    const { chosen, refused } = chooseTypes(types, chooses);
    this.live = liveTypes(this.#listed, chosen, chooses);
    this.refused = this.#crdRefusal === undefined ? refused : [this.#crdRefusal, ...refused];
    await insist('index', () => this.set.follow(chosen, (key) => !types.has(key)));
    this.isFollowed = true;
    this.#readers.look();
    onFollowed();
    onState();
  }

  /** Reads all CRDs once. Later changes arrive through the watch of CRDs. */
  async #readCustomTypes(): Promise<void> {
    const { ask, cluster, timing } = this.#options;
    const before = this.#crdRefusal;
    if (before === undefined) return;
    try {
      await readCustomTypes(ask, cluster.name, this.#customTypes, timing, this.signal);
      this.#crdRefusal = undefined;
    } catch (error) {
      if (!(error instanceof SyncSetback) || error.fault.reason !== 'Forbidden') throw error;
      this.#crdRefusal = { resource: before.resource, message: error.message };
    }
  }

  /**
   * Reads the types of the member cluster. For a group whose server is down, the types that were known before are kept.
   */
  async #discover(): Promise<MemberTypes['types']> {
    const { ask, cluster, timing } = this.#options;
    const found = await discoverTypes(ask, cluster.name, this.#customTypes, timing, this.signal);
    const types = new Map(found.types);
    for (const [key, type] of this.#types) {
      if (found.unknownGroups.has(type.group) && !types.has(key)) types.set(key, type);
    }
    this.#types = types;
    const named = new Set(found.listed.map(typeKey));
    const kept = this.#listed.filter((type) => found.unknownGroups.has(type.group) && !named.has(typeKey(type)));
    this.#listed = [...found.listed, ...kept];
    return types;
  }

  async #untilWanted(): Promise<void> {
    const { discoveryMs, discoveryPauseMs } = this.#options.timing;
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    if (!this.#isWanted) {
      const waitMs = this.#isBehind ? this.#behindWaits.next() : discoveryMs;
      await pause(waitMs, AbortSignal.any([woken.signal, this.signal]));
    }
    // Changes often come many at a time, and discovery shows them only a moment later.
    if (!this.signal.aborted) await pause(discoveryPauseMs, this.signal);
  }

  async #verify(): Promise<void> {
    const { log, cluster } = this.#options;
    const found = await this.#identify();
    if (found.id === this.incarnation.id) return;
    log.warn({ cluster: cluster.name }, 'index: the cluster was set up anew behind its address, so it is listed again');
    this.#over.abort();
    throw new OtherIncarnation();
  }

  #onObject(key: TypeKey, what: 'there' | 'gone', object: Buffer): void {
    if (key !== typeKey(crdType)) {
      this.#readers.rightsChanged();
      return;
    }
    if (what === 'there') this.#customTypes.put(object);
    else this.#customTypes.remove(object);
    this.#behindWaits.reset();
    this.look();
  }
}

interface ReaderLooks {
  rightsChanged(): void;
  look(): void;
}

/**
 * Tries whether `portcullis:index` may now read types that are read with the gateway's own credential. It tries after
 * each change of roles or bindings, and after each discovery.
 */
function makeReaderLooks(set: Pick<TypeSet, 'reconsiderReaders'>, pauseMs: number, signal: AbortSignal): ReaderLooks {
  let under: Promise<void> = Promise.resolve();
  let isDue = false;
  const look = (asksAll: boolean): void => {
    under = under.then(() => set.reconsiderReaders(asksAll)).catch(() => undefined);
  };
  return {
    look: () => look(false),
    rightsChanged() {
      if (isDue) return;
      isDue = true;
      // Changes often come many at a time, and the member cluster's authorizer applies them a moment later.
      void pause(pauseMs, signal).then(() => {
        isDue = false;
        if (!signal.aborted) look(true);
      });
    },
  };
}
