// Follows one cluster: which life of it is there, what it serves, what of that is chosen. Easy to get wrong: a member
// made anew behind the same address must lose every row of its former life before the first of the new one is written,
// or two lives would be listed as one.
import type { IndexStore, StoredType } from '../stores/store.ts';
import { typeKey, type Incarnation, type ResourceType, type TypeKey } from '../types.ts';
import { pause } from './follow/bounds.ts';
import type { BatchLimits } from './follow/batch.ts';
import { watchApiServices } from './follow/change-signal.ts';
import { makeCustomTypes } from './discover/custom-resources.ts';
import { crdType, discoverTypes, readCustomTypes, type MemberTypes } from './discover/discovery.ts';
import { OtherIncarnation, readIncarnation, shareNext } from './discover/incarnation.ts';
import { setbackOf, SyncSetback } from './member-faults.ts';
import { makeRetryDelays } from './follow/retry-delays.ts';
import { chooseTypes, type ClusterChoice } from './discover/selection.ts';
import { makeReader, type MemberAsks } from './read-as.ts';
import type { ClusterState, PartState, SyncFault, SyncTiming, TypeState } from './sync-types.ts';
import { makeTypeSet, type TypeSet } from './discover/type-set.ts';

/** As far as it is written to. */
export interface SyncLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface ClusterSyncOptions {
  readonly cluster: { readonly uid: string; readonly name: string };
  readonly asks: MemberAsks;
  /** Read each time the types are looked at. */
  readonly choice: () => ClusterChoice;
  readonly store: IndexStore;
  /** What the store has of this cluster, told until the member is reached. */
  readonly stored: readonly StoredType[];
  /** What must be over before anything of this cluster is written. */
  readonly after: Promise<unknown>;
  readonly timing: SyncTiming;
  readonly limits?: BatchLimits | undefined;
  readonly log: SyncLog;
  readonly onState: () => void;
  readonly random: () => number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export interface ClusterSync {
  state(): ClusterState;
  stateOf(types: ReadonlySet<TypeKey>): PartState;
  confirmedAtMs(incarnation: string, type: ResourceType): number | undefined;
  /** What is chosen may have changed. */
  reconsider(): void;
  close(): Promise<void>;
}

/** One life of the member, while it lasts. */
interface Life {
  readonly incarnation: Incarnation;
  readonly set: TypeSet;
  /** Its types are known; what is not among them is not followed. */
  isFollowed: boolean;
}

export function startClusterSync(options: ClusterSyncOptions): ClusterSync {
  const { cluster, store, timing, random, log } = options;
  const { ask } = makeReader(options.asks);
  const closing = new AbortController();
  const waits = makeRetryDelays(timing.clusterRetry, random);
  let life: Life | undefined;
  let fault: SyncFault | undefined;
  let refused: ClusterState['refused'] = [];
  let look: () => void = () => undefined;

  function tell(next: SyncFault | undefined): void {
    const changed = next?.message !== fault?.message;
    fault = next;
    if (!changed) return;
    if (next !== undefined)
      log.warn({ cluster: cluster.name, reason: next.reason, detail: next.message }, 'index: cluster is not followed');
    options.onState();
  }

  /** Repeats `work` until it succeeds. */
  async function insist<Result>(what: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      signal.throwIfAborted();
      try {
        const result = await work();
        waits.reset();
        return result;
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof OtherIncarnation) throw error;
        tell(setbackOf(error, cluster.name, what).fault);
        await pause(waits.next(), signal);
      }
    }
  }

  async function run(): Promise<void> {
    await options.after;
    while (!closing.signal.aborted) {
      const identify = (): Promise<Incarnation> => readIncarnation(ask, cluster, timing, closing.signal);
      const incarnation = await insist('Namespace kube-system', closing.signal, identify);
      await insist('index', closing.signal, () => forgetOthers(incarnation));
      await live(incarnation);
    }
  }

  /** Rows of other lives of this cluster, and of others that had its name. */
  async function forgetOthers(incarnation: Incarnation): Promise<void> {
    const all = await store.types();
    const others = all.filter(
      (stored) =>
        (stored.incarnation.cluster === cluster.name || stored.incarnation.id.startsWith(`${cluster.uid}/`)) &&
        (stored.incarnation.id !== incarnation.id || stored.incarnation.cluster !== cluster.name),
    );
    for (const id of new Set(others.map((stored) => stored.incarnation.id))) {
      log.info({ cluster: cluster.name, incarnation: id }, 'index: rows of another incarnation are forgotten');
      await store.forget(id);
    }
  }

  /** Follows until the member is another one or all is closed. */
  async function live(incarnation: Incarnation): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([closing.signal, over.signal]);
    const customTypes = makeCustomTypes();
    const identify = shareNext(() => readIncarnation(ask, cluster, timing, signal));
    let wanted = true;
    let wake: () => void = () => undefined;
    look = () => {
      wanted = true;
      wake();
    };
    const set = makeTypeSet({
      ...options,
      ask,
      incarnation,
      signal,
      async verify() {
        const found = await identify();
        if (found.id === incarnation.id) return;
        log.warn({ cluster: cluster.name }, 'index: the cluster is another one than before, it is listed anew');
        over.abort();
        throw new OtherIncarnation();
      },
      onOtherReader: () => look(),
      onObject(key, what, object) {
        if (key !== typeKey(crdType)) {
          readers.rightsChanged();
          return;
        }
        if (what === 'there') customTypes.put(object);
        else customTypes.remove(object);
        look();
      },
      onState() {
        // A type that the member no longer has is looked for where it would be told.
        if (set.states().some((state) => state.fault?.reason === 'Missing')) look();
        options.onState();
      },
    });
    const readers = makeReaderLooks(set, timing.discoveryPauseMs, signal);
    const own: Life = { incarnation, set, isFollowed: false };
    life = own;
    /** Not read yet, or why it may not be: types are then kept as the member prefers them. */
    let crdRefusal: ClusterState['refused'][number] | undefined = {
      resource: typeKey(crdType),
      message: 'not read yet',
    };
    const customTypesOnce = async (refusal: typeof crdRefusal): Promise<typeof crdRefusal> => {
      if (refusal === undefined) return undefined;
      try {
        await readCustomTypes(ask, cluster.name, customTypes, timing, signal);
        return undefined;
      } catch (error) {
        if (!(error instanceof SyncSetback) || error.fault.reason !== 'Forbidden') throw error;
        return { resource: refusal.resource, message: error.message };
      }
    };
    void watchApiServices({ ...options, ask, cluster: cluster.name, signal, onChange: look });
    try {
      let before: MemberTypes['types'] = new Map();
      while (!signal.aborted) {
        wanted = false;
        crdRefusal = await insist('list of CustomResourceDefinitions', signal, () => customTypesOnce(crdRefusal));
        const found = await insist('discovery', signal, () =>
          discoverTypes(ask, cluster.name, customTypes, timing, signal),
        );
        const types = new Map(found.types);
        for (const [key, type] of before) {
          if (found.unknownGroups.has(type.group) && !types.has(key)) types.set(key, type);
        }
        before = types;
        const choice = chooseTypes(types, options.choice());
        refused = crdRefusal === undefined ? choice.refused : [crdRefusal, ...choice.refused];
        await insist('index', signal, () => set.follow(choice.chosen, (key) => !types.has(key)));
        own.isFollowed = true;
        readers.look();
        tell(undefined);
        options.onState();
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (wanted) resolve();
          else void pause(timing.discoveryMs, signal).then(resolve);
        });
        // Changes come in crowds, and discovery is a moment behind them.
        if (!signal.aborted) await pause(timing.discoveryPauseMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      over.abort();
      await set.close();
    }
  }

  const ended = run().catch((error: unknown) => {
    if (closing.signal.aborted) return;
    tell(setbackOf(error, cluster.name, 'index').fault);
  });

  const storedStates = (stored: readonly StoredType[]): readonly TypeState[] =>
    stored.map(({ type, position, objects }) =>
      Object.freeze({
        type,
        isChosen: chooseTypes(new Map([[typeKey(type), type]]), options.choice()).chosen.some(
          ({ isChosen }) => isChosen,
        ),
        phase: 'waiting',
        isWhole: position.resourceVersion !== '',
        objects,
        rate: 0,
        lagMs: 0,
        confirmedAtMs: position.confirmedAtMs === 0 ? undefined : position.confirmedAtMs,
        fault,
      }),
    );

  const incarnationNow = (): Incarnation | undefined => life?.incarnation ?? options.stored[0]?.incarnation;

  return {
    state: () =>
      Object.freeze({
        cluster: cluster.name,
        uid: cluster.uid,
        incarnation: incarnationNow(),
        fault,
        types: life?.isFollowed === true ? life.set.states() : storedStates(options.stored),
        refused,
      }),
    stateOf: (types) => {
      const told = { cluster: cluster.name, incarnation: incarnationNow(), fault };
      if (life?.isFollowed !== true) {
        const stored = options.stored.filter(({ type }) => types.has(typeKey(type)));
        return { ...told, types: storedStates(stored), hasTypes: options.stored.length > 0 };
      }
      const { set } = life;
      const stateOfType = (key: TypeKey): readonly TypeState[] => {
        const follower = set.of(key);
        return follower === undefined || (fault === undefined && follower.isCurrent()) ? [] : [follower.state()];
      };
      return { ...told, types: [...types].flatMap(stateOfType), hasTypes: set.size > 0 };
    },
    confirmedAtMs(incarnation, type) {
      const key = typeKey(type);
      if (life?.incarnation.id === incarnation) {
        const follower = life.set.of(key);
        if (follower !== undefined || life.isFollowed) return follower?.confirmedAtMs();
      }
      const stored = options.stored.find((each) => each.incarnation.id === incarnation && typeKey(each.type) === key);
      return stored === undefined || stored.position.confirmedAtMs === 0 ? undefined : stored.position.confirmedAtMs;
    },
    reconsider: () => look(),
    async close() {
      closing.abort();
      look();
      await ended;
    },
  };
}

/**
 * When it is looked whether what is read as the gateway may be read as `portcullis:index` again: when roles or bindings
 * changed, and now and then.
 */
function makeReaderLooks(
  set: Pick<TypeSet, 'reconsiderReaders'>,
  pauseMs: number,
  signal: AbortSignal,
): { rightsChanged(): void; look(): void } {
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
      // Changes come in crowds, and the member's own authorizer is a moment behind them.
      void pause(pauseMs, signal).then(() => {
        isDue = false;
        if (!signal.aborted) look(true);
      });
    },
  };
}
