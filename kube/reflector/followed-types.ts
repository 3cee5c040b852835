// Watches collections of objects for several users, such as the import policies or ManifestWorks that need them. Each
// collection is watched once, and only while some user needs it. A user is any name that the caller chooses.
import type { ApiClient, ApiObjects, WatchedResource } from '../types.ts';
import { resourceKey } from '../paths.ts';
import { startReflector, type Reflector, type ReflectorState } from './reflector.ts';
import type { ReflectorTiming } from './reflector-types.ts';

export interface FollowedTypesOptions {
  readonly client: Pick<ApiClient, 'request' | 'open' | 'url'>;
  /** True if only the metadata of the objects is requested (PartialObjectMetadata). */
  readonly metadataOnly?: boolean;
  /** Called when objects changed; `keys` are `namespace/name`, or `name` for cluster-scoped objects. */
  readonly onObjects: (type: WatchedResource, keys: readonly string[]) => void;
  /** Called when lists and watches of a type begin to succeed or to fail. */
  readonly onState: (type: WatchedResource) => void;
  readonly onError: (error: unknown) => void;
  readonly timing?: Partial<ReflectorTiming>;
}

export interface FollowedTypes {
  /**
   * Replaces the types that a user needs; an empty list means that the user needs none any more. A type that no user
   * needs is watched no longer. Does nothing after `close`.
   */
  use(user: string, types: readonly WatchedResource[]): void;
  /** Whether no user needs any type. */
  isIdle(): boolean;
  /** Returns the names of the users that need a type. */
  usersOf(type: WatchedResource): readonly string[];
  /** Returns the types that a user needs; empty for an unknown user. */
  typesOf(user: string): readonly WatchedResource[];
  /** Returns the watched objects of a type; undefined when no user needs the type. */
  objects(type: WatchedResource): ApiObjects | undefined;
  state(type: WatchedResource): ReflectorState | undefined;
  close(): void;
}

/**
 * Longest wait in milliseconds between attempts to list a type, so a newly granted RBAC rule is noticed within this
 * time.
 */
const retryMs = 5_000;
/**
 * Milliseconds between requests for a type that the server does not serve yet. The time is short, because discovery
 * lists the type already and its path will be served in a moment.
 */
const missingPollMs = 1_000;

export function makeFollowedTypes(options: FollowedTypesOptions): FollowedTypes {
  const reflectors = new Map<string, Reflector>();
  const users = new Map<string, readonly WatchedResource[]>();
  let closed = false;

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
      // A reconcile that still runs after `close` may ask for types. Watching them would keep the process alive.
      if (closed) return;
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
    isIdle: () => users.size === 0,
    usersOf(type) {
      const key = resourceKey(type);
      return [...users].flatMap(([user, types]) => (types.some((each) => resourceKey(each) === key) ? [user] : []));
    },
    typesOf: (user) => users.get(user) ?? [],
    objects: (type) => reflectors.get(resourceKey(type))?.objects,
    state: (type) => reflectors.get(resourceKey(type))?.state(),
    close() {
      closed = true;
      for (const reflector of reflectors.values()) reflector.close();
      reflectors.clear();
      users.clear();
    },
  };
}
