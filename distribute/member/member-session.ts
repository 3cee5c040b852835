// Access to one member for the ManifestWorks of its cluster: a client for each executor, the kinds that the member
// serves, and watches of objects.
import { listAt } from '../../lib/objects/json-object.ts';
import type { ReflectorTiming } from '../../kube/reflector/reflector-types.ts';
import type { WatchedResource } from '../../kube/types.ts';
import { makeFollowedTypes, type FollowedTypes } from '../../kube/reflector/followed-types.ts';
import { hashOf } from '../work/content-hash.ts';
import { defaultFieldManager } from '../work/manifest-config.ts';
import { DeniedWorks } from './denied-works.ts';
import { identityOf, type Executor, type OutgoingRule } from './executor-identity.ts';
import type { RestMapper } from '../../kube/discovery/rest-mapper.ts';
import { memberMapper } from './discovery.ts';
import { makeMemberClient, type MemberAccess, type MemberClient } from './member-client.ts';
import { jsonOf, makeMemberObjects, type MemberObjects, type MemberWrite, type ObjectName } from './member-objects.ts';
import { collectionOf } from '../../kube/paths.ts';

/** Identifies the ManifestWork for which an object is written. */
export interface WorkReference {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A write to a member, with what the audit log records about it. */
export interface WorkWrite extends MemberWrite {
  readonly cluster: string;
  /** User name of the executor, the identity that writes the object; undefined for the gateway's own credential. */
  readonly executor: string | undefined;
  readonly work: WorkReference;
}

export interface SessionParts extends MemberAccess {
  readonly outgoing: OutgoingRule;
  readonly onWrite: (write: WorkWrite) => Promise<(status: number) => void>;
  /** Called when objects of a watched type may have changed, with the keys of the changed objects. */
  readonly onObjects: (type: WatchedResource, keys: readonly string[]) => void;
  /** Called with the name of a ManifestWork when its executor may have got a right that it lacked. */
  readonly onRights: (work: string) => void;
  readonly onError: (error: unknown) => void;
  readonly timing?: Partial<ReflectorTiming>;
}

export interface WatchedObject {
  /**
   * Whether a watch reports changes of the object, now or once its collection is watched. False when the kind has no
   * watch or the executor may not use it.
   */
  readonly isFollowable: boolean;
  /**
   * The object's `resourceVersion`; 'absent' when the object does not exist, undefined while its collection is not
   * watched.
   */
  readonly version: string | undefined;
}

interface AsExecutor {
  readonly client: MemberClient;
  readonly types: FollowedTypes;
}

const ownCredential = 'gateway';
const reviewTimeoutMs = 10_000;

export class MemberSession {
  readonly #parts: SessionParts;
  readonly #executors = new Map<string, AsExecutor>();
  readonly #denied: DeniedWorks;
  #closed = false;
  /** Sends requests with the gateway's own credential. */
  readonly own: MemberClient;
  readonly kinds: RestMapper;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.own = makeMemberClient(parts, () => 'self');
    this.kinds = memberMapper(this.own);
    const rulesOf = (executor: Executor, namespace: string): Promise<string> => this.#rulesOf(executor, namespace);
    this.#denied = new DeniedWorks({ rulesOf, onChange: parts.onRights });
  }

  /** Returns access to objects as the executor, for one ManifestWork. */
  objects(executor: Executor, work: WorkReference): MemberObjects {
    const { cluster, onWrite } = this.#parts;
    const name = executor.key === ownCredential ? undefined : executor.key;
    return makeMemberObjects(this.#as(executor).client, defaultFieldManager, (write) =>
      onWrite({ ...write, cluster, executor: name, work }),
    );
  }

  /**
   * Returns the rules that the member has for the executor in a namespace, as a text that changes when the rules do; ''
   * when the member refuses the request.
   * @throws GatewayError when the member cannot be reached or the identity must not be sent
   */
  async #rulesOf(executor: Executor, namespace: string): Promise<string> {
    const kind = 'SelfSubjectRulesReview';
    const answer = await this.#as(executor).client.request({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
      body: { apiVersion: 'authorization.k8s.io/v1', kind, spec: { namespace } },
      timeoutMs: reviewTimeoutMs,
    });
    if (answer.status >= 300) return '';
    const rules = listAt(jsonOf(answer.body), 'status', 'resourceRules');
    // The order of rules differs from answer to answer, so they are sorted.
    return hashOf(rules.map((rule) => JSON.stringify(rule)).toSorted());
  }

  /**
   * Watches, with the identity of the executor, the collections that hold the objects of a ManifestWork, and its rights
   * in the namespaces where it lacks one. Ends earlier watches for the work.
   */
  follow(executor: Executor, work: string, objects: readonly ObjectName[], denied: ReadonlySet<string>): void {
    this.#as(executor).types.use(work, collectionsOf(objects));
    this.#unfollow(work, executor.key);
    this.#denied.note(work, executor, denied);
  }

  /** Ends the watches for a ManifestWork. */
  forget(work: string): void {
    this.#unfollow(work);
    this.#denied.forget(work);
  }

  /** Ends the watches for a ManifestWork. Executors for which nothing is watched any more are forgotten. */
  #unfollow(work: string, exceptFor?: string): void {
    for (const [key, { types }] of this.#executors) {
      if (key === exceptFor) continue;
      types.use(work, []);
      if (!types.isIdle()) continue;
      types.close();
      this.#executors.delete(key);
    }
  }

  /** Returns the state of an object according to the watch of its collection. */
  watched(executor: Executor, object: ObjectName): WatchedObject {
    const { types } = this.#as(executor);
    const type = collectionOf(object);
    const state = types.state(type);
    const isFollowable = object.kind.verbs.includes('watch') && state?.fault === undefined;
    if (state?.phase !== 'watching') return { isFollowable, version: undefined };
    const key = object.kind.namespaced ? `${object.namespace}/${object.name}` : object.name;
    return { isFollowable, version: types.objects(type)?.get(key)?.metadata.resourceVersion ?? 'absent' };
  }

  /** Names of the ManifestWorks for which a collection is watched. */
  worksOf(type: WatchedResource): ReadonlySet<string> {
    return new Set([...this.#executors.values()].flatMap(({ types }) => types.usersOf(type)));
  }

  close(): void {
    this.#closed = true;
    this.#denied.close();
    for (const { types } of this.#executors.values()) types.close();
    this.#executors.clear();
  }

  #as(executor: Executor): AsExecutor {
    const known = this.#executors.get(executor.key);
    if (known !== undefined) return known;
    const { outgoing, onObjects, onError, timing } = this.#parts;
    const client = makeMemberClient(this.#parts, identityOf(executor, outgoing));
    const types = makeFollowedTypes({
      client,
      metadataOnly: true,
      onObjects,
      onState: (type) => onObjects(type, []),
      onError,
      ...(timing && { timing }),
    });
    // ManifestWorks that are still being applied when the session is closed can go on with their client, but nothing is
    // watched for them.
    if (this.#closed) types.close();
    const made = { client, types };
    this.#executors.set(executor.key, made);
    return made;
  }
}

function collectionsOf(objects: readonly ObjectName[]): readonly WatchedResource[] {
  const collections = objects.filter(({ kind }) => kind.verbs.includes('watch')).map(collectionOf);
  return [...new Map(collections.map((each) => [JSON.stringify(each), each])).values()];
}
