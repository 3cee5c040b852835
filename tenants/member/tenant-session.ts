// Access to one member as the authors of grants, the users who last changed a TenantBinding or ClusterPermission: their
// objects there, the namespaces, and watches of both. Each request is sent as an author, by the same identity rules as
// requests that the author sends through the gateway.
import type { ApiObject, WatchedResource } from '../../kube/types.ts';
import type { ReflectorTiming } from '../../kube/reflector/reflector-types.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { makeFollowedTypes, type FollowedTypes } from '../../kube/reflector/followed-types.ts';
import { makeMemberClient, type MemberAccess, type MemberClient } from '../../distribute/member/member-client.ts';
import type { OutgoingRule } from '../../distribute/member/executor-identity.ts';
import {
  makeMemberObjects,
  MemberRefusal,
  type MemberObjects,
  type MemberWrite,
  type ObjectName,
} from '../../distribute/member/member-objects.ts';
import { accessKinds } from '../../distribute/member/rbac-kinds.ts';
import type { User } from '../../model/user.ts';
import type { Author } from '../../distribute/stamp/authors.ts';
import { fieldManager, uidLabel } from '../object/grant.ts';
import { isMarked, type Mark } from './manifests.ts';

/** A write to a member for a grant (TenantBinding or ClusterPermission), with what the audit log records about it. */
export interface TenantWrite extends MemberWrite {
  readonly cluster: string;
  /** The user that the member sees; undefined for the gateway's own credential. */
  readonly user: User | undefined;
  readonly mark: Mark;
}

export interface TenantSessionParts extends MemberAccess {
  readonly outgoing: OutgoingRule;
  readonly onWrite: (write: TenantWrite) => Promise<(status: number) => void>;
  /**
   * Called with the keys of the grants (TenantBindings and ClusterPermissions) that may have to be reconciled, after
   * something has changed in the member.
   */
  readonly onObjects: (grants: readonly string[]) => void;
  readonly onError: (error: unknown) => void;
  readonly timing?: Partial<ReflectorTiming>;
}

interface AsAuthor {
  readonly name: string;
  /** Keys of the grants (TenantBindings and ClusterPermissions) that use this access. Without any, it is dropped. */
  readonly grants: Set<string>;
  readonly client: MemberClient;
  /** Watches of the metadata of Namespaces. */
  readonly namespaces: FollowedTypes;
  /** Watches of whole objects that have the label of grants (TenantBindings and ClusterPermissions). */
  readonly granted: FollowedTypes;
}

const namespaceType: WatchedResource = { group: '', version: 'v1', resource: 'namespaces' };

export class TenantSession {
  readonly #parts: TenantSessionParts;
  readonly #authors = new Map<string, AsAuthor>();
  #closed = false;

  constructor(parts: TenantSessionParts) {
    this.#parts = { userAgent: 'portcullis-tenants', ...parts };
  }

  /**
   * Returns access to objects for one grant (TenantBinding or ClusterPermission), as the author, or with the gateway's
   * own credential if `author` is undefined.
   */
  objects(author: Author | undefined, mark: Mark): MemberObjects {
    const { cluster, outgoing, onWrite, record } = this.#parts;
    const client = author === undefined ? makeMemberClient(this.#parts, () => 'self') : this.#clientOf(author);
    return makeMemberObjects(client, fieldManager, async (write) => {
      const spec = record()?.spec;
      const user = author === undefined || spec === undefined ? undefined : outgoing(author.user, spec);
      return await onWrite({ ...write, cluster, user, mark });
    });
  }

  /**
   * Watches, as the author, the kinds of objects that a grant (TenantBinding or ClusterPermission) makes, and the
   * namespaces if asked to. Ends other watches for the grant; without an author, all of them.
   */
  follow(grant: string, author: Author | undefined, kinds: readonly ObjectName['kind'][], namespaces: boolean): void {
    if (author !== undefined) {
      const as = this.#as(author);
      as.grants.add(grant);
      as.namespaces.use(grant, namespaces ? [namespaceType] : []);
      as.granted.use(grant, kinds.map(labelled));
    }
    for (const [key, as] of this.#authors) {
      if (key === author?.key) continue;
      as.namespaces.use(grant, []);
      as.granted.use(grant, []);
      as.grants.delete(grant);
      if (as.grants.size > 0) continue;
      closeAuthor(as);
      this.#authors.delete(key);
    }
  }

  /**
   * The namespaces of the member, by name; 'reading' while they are being listed, a fault when the author may not list
   * them.
   */
  namespaces(author: Author): ReadonlyMap<string, ApiObject> | 'reading' | { readonly fault: string } {
    const { namespaces } = this.#as(author);
    const state = namespaces.state(namespaceType);
    if (state?.fault !== undefined) return { fault: state.fault.message };
    const objects = namespaces.objects(namespaceType);
    return state?.synced === true && objects !== undefined ? objects : 'reading';
  }

  /**
   * The object as the watch shows it, or, if the watch does not have it, as the member returns it; undefined when it
   * does not exist.
   */
  async live(author: Author, object: ObjectName, mark: Mark): Promise<unknown> {
    const { granted } = this.#as(author);
    const type = labelled(object.kind);
    const key = object.kind.namespaced ? `${object.namespace}/${object.name}` : object.name;
    const watched = granted.state(type)?.phase === 'watching' ? granted.objects(type)?.get(key) : undefined;
    if (watched !== undefined && isMarked(watched, mark.uid)) return watched;
    return await this.objects(author, mark).get(object);
  }

  /**
   * Whether changes of these kinds are noticed by watches. If not, the member has to be read again from time to time.
   */
  isWatched(author: Author, kinds: readonly ObjectName['kind'][]): boolean {
    const { granted } = this.#as(author);
    return kinds.every((kind) => granted.state(labelled(kind))?.fault === undefined);
  }

  /** The names of the authors that are kept, since a grant (TenantBinding or ClusterPermission) uses them. */
  authors(): readonly string[] {
    return [...this.#authors.values()].map(({ name }) => name);
  }

  close(): void {
    this.#closed = true;
    for (const each of this.#authors.values()) closeAuthor(each);
    this.#authors.clear();
  }

  /** A client of the author. Does not keep it: who only removes objects has no grant here that would drop it later. */
  #clientOf(author: Author): MemberClient {
    const { outgoing } = this.#parts;
    const known = this.#authors.get(author.key);
    return known?.client ?? makeMemberClient(this.#parts, (spec: ClusterSpec) => outgoing(author.user, spec));
  }

  #as(author: Author): AsAuthor {
    const known = this.#authors.get(author.key);
    if (known !== undefined) return known;
    const { onObjects, onError, timing } = this.#parts;
    const client = this.#clientOf(author);
    const follow = (metadataOnly: boolean): FollowedTypes => {
      const types: FollowedTypes = makeFollowedTypes({
        client,
        metadataOnly,
        onObjects: (type) => onObjects(types.usersOf(type)),
        onState: (type) => onObjects(types.usersOf(type)),
        onError,
        ...(timing && { timing }),
      });
      return types;
    };
    const made = {
      name: author.modifier.name,
      grants: new Set<string>(),
      client,
      namespaces: follow(true),
      granted: follow(false),
    };
    // A reconciliation that is still running after `close` can use the client, but nothing is watched for it.
    if (this.#closed) closeAuthor(made);
    this.#authors.set(author.key, made);
    return made;
  }
}

function closeAuthor({ namespaces, granted }: AsAuthor): void {
  namespaces.close();
  granted.close();
}

function labelled({ group, version, resource }: ObjectName['kind']): WatchedResource {
  return { group, version, resource, labelSelector: uidLabel };
}

/** Whether the member refused a request with 403, since the user lacks a right. */
export function isForbidden(error: unknown): error is MemberRefusal {
  return error instanceof MemberRefusal && error.status === 403;
}

/** The kinds of these objects, each once. */
export function kindsOf(objects: readonly { readonly kind: keyof typeof accessKinds }[]): ObjectName['kind'][] {
  return [...new Set(objects.map(({ kind }) => kind))].map((kind) => accessKinds[kind]);
}
