// Collections of objects that several users need, each followed once and no longer than somebody needs it.
import type { HubClient, HubObjects, WatchedResource } from '../../cache/hub/hub-types.ts';
import { resourceKey } from '../../cache/hub/hub-paths.ts';
import { startReflector, type Reflector, type ReflectorState } from '../../cache/hub/reflector.ts';
import type { ReflectorTiming } from '../../cache/hub/reflector-types.ts';

export interface FollowedTypesOptions {
  readonly client: Pick<HubClient, 'request' | 'open' | 'url'>;
  /** Only their metadata is read. */
  readonly metadataOnly?: boolean;
  /** Objects changed; `keys` are `namespace/name`, or `name`. */
  readonly onObjects: (type: WatchedResource, keys: readonly string[]) => void;
  /** A type came to be readable, or is no longer. */
  readonly onState: (type: WatchedResource) => void;
  readonly onError: (error: unknown) => void;
  readonly timing?: Partial<ReflectorTiming>;
}

export interface FollowedTypes {
  /** The types that this user reads from now on; an empty list ends it. */
  use(user: string, types: readonly WatchedResource[]): void;
  /** The users of a type. */
  usersOf(type: WatchedResource): readonly string[];
  /** What the user reads; empty when it reads nothing. */
  typesOf(user: string): readonly WatchedResource[];
  /** Undefined when nobody uses the type. */
  objects(type: WatchedResource): HubObjects | undefined;
  state(type: WatchedResource): ReflectorState | undefined;
  close(): void;
}

/** A right that was granted is noticed within this time. */
const retryMs = 5_000;
/** Only types that discovery names are followed, so that one which is missing comes soon. */
const missingPollMs = 1_000;

export function makeFollowedTypes(options: FollowedTypesOptions): FollowedTypes {
  const reflectors = new Map<string, Reflector>();
  const users = new Map<string, readonly WatchedResource[]>();

  function follow(type: WatchedResource): Reflector {
    return startReflector({
      client: options.client,
      resource: type,
      metadataOnly: options.metadataOnly ?? false,
      timing: { maxBackoffMs: retryMs, missingPollMs, ...options.timing },
      onChange: (changes) => options.onObjects(type, [...new Set(changes.map(({ key }) => key))]),
      onState: () => options.onState(type),
      onError: options.onError,
    });
  }

  return {
    use(user, types) {
      if (types.length === 0) users.delete(user);
      else users.set(user, types);
      for (const type of types) {
        const key = resourceKey(type);
        if (!reflectors.has(key)) reflectors.set(key, follow(type));
      }
      const used = new Set([...users.values()].flat().map(resourceKey));
      for (const [key, reflector] of reflectors) {
        if (used.has(key)) continue;
        reflectors.delete(key);
        reflector.close();
      }
    },
    usersOf(type) {
      const key = resourceKey(type);
      return [...users].flatMap(([user, types]) => (types.some((each) => resourceKey(each) === key) ? [user] : []));
    },
    typesOf: (user) => users.get(user) ?? [],
    objects: (type) => reflectors.get(resourceKey(type))?.objects,
    state: (type) => reflectors.get(resourceKey(type))?.state(),
    close() {
      for (const reflector of reflectors.values()) reflector.close();
      reflectors.clear();
      users.clear();
    },
  };
}
