// Says which rows of the index a caller may see: what the gateway lets them reach, and of that what each member lets
// the outgoing identity read. A cluster the gateway does not let the caller reach is not even named as hidden. What
// cannot be decided shows nothing ("fail closed, serve stale").
import type { Authorizer } from '../../auth/rules/authorize.ts';
import { makeIdentityNumbers } from '../../auth/callers/identity-key.ts';
import { memberView } from '../../auth/rules/impersonation.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import { makeRecent } from '../../lib/recent.ts';
import type { ClusterRecord, ClusterSpec } from '../../cache/model/records.ts';
import type { User } from '../../cache/model/user.ts';
import { typeKey } from '../types.ts';
import type { ResourceType, TypeKey } from '../types.ts';
import { grantDigest, intersectGrants, isNothing, noGrant, textDigest } from './grants.ts';
import type { RightsMirror, StoredIncarnation } from './mirror.ts';
import type { RightsModes } from './modes.ts';
import type { RowVerb, ScopedType } from './rbac-view.ts';
import { reachOf } from './reach.ts';
import type { Candidates } from './reach.ts';
import type { Reviewer } from './review.ts';
import type { Sampled } from './samples.ts';
import type { Grant, RowScope } from './scope.ts';

/** A cluster that the caller may reach and that is left out, in whole or in part. */
export interface HiddenCluster {
  readonly cluster: string;
  /**
   * `RightsStale`: its RBAC was not confirmed for too long. `RightsUnknown`: its RBAC was never read whole, or it did
   * not answer a review. `IdentityRefused`: this identity may not go out to it.
   */
  readonly reason: 'RightsStale' | 'RightsUnknown' | 'IdentityRefused';
  /** For the caller: which cluster, why, and until when. */
  readonly message: string;
}

/** What one user may see at this moment. */
export interface ScopeAnswer {
  readonly scope: RowScope;
  /** Only clusters that are in `reachable`. */
  readonly hidden: readonly HiddenCluster[];
  /**
   * All clusters, indexed or not, that the gateway lets the user ask for some of the types, each with these types. No
   * other cluster may be named to the user. A cluster in `unread` has only the first such type.
   */
  readonly reachable: ReadonlyMap<string, ReadonlySet<TypeKey>>;
  /** Those of `reachable` the index holds nothing of, not even RBAC, so that rights in them are unknown. */
  readonly unread: ReadonlySet<string>;
}

/** The only code of the index that knows rights. */
export interface Scopes {
  /**
   * @param user the caller, or whom they act as; as `authorize` left it
   * @param clusters names; absent means all
   * @throws GatewayError (rejects) HUB_UNAVAILABLE when the gateway's authorizer has nobody to ask, INDEX_UNAVAILABLE
   *   when the store does not answer
   */
  scope(user: User, verb: RowVerb, types: readonly ResourceType[], clusters?: readonly string[]): Promise<ScopeAnswer>;
  /**
   * As {@link RightsMirror.current}: scopes that are asked for after it resolves know of every change of RBAC up to the
   * version it gives.
   */
  current(atLeast?: string): Promise<string>;
  /**
   * Called when scopes may have changed because of RBAC. What else changes them (the authorizer's answers, reviews,
   * ages) has no event: a caller that keeps a scope asks again within 10 seconds and compares digests. Returns the
   * function that ends it.
   */
  onChange(listener: () => void): () => void;
}

export interface RowScopesOptions {
  readonly mirror: Pick<RightsMirror, 'current' | 'view' | 'stored' | 'onChange'>;
  readonly clusters: { list(): readonly ClusterRecord[] };
  /** The gateway's own. */
  readonly authorizer: Authorizer;
  /**
   * `outgoingIdentity` of auth/outgoing/outgoing.ts with the current rules; `self` where the gateway runs with the
   * person's own credentials.
   */
  readonly outgoing: (user: User, cluster: ClusterSpec) => User | 'self';
  readonly modes: Pick<RightsModes, 'modeOf'>;
  readonly reviewer: Reviewer;
  /** Unix milliseconds when a member last confirmed all of its RBAC; undefined while it was never read whole. */
  readonly confirmedAtMs: (incarnation: string) => number | undefined | Promise<number | undefined>;
  /** `--index-rights-max-age`. */
  readonly maxAgeMs: number;
  /** Called with every decision that was made from RBAC anew. */
  readonly onDecision?: (sampled: Sampled) => void;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

/** Grants by user, incarnation, verb and type. */
const rememberedGrants = 50_000;
const rememberedScopes = 2_000;

interface RememberedGrant {
  readonly generation: number;
  readonly grant: Grant;
}

interface MemberQuestion {
  readonly user: User;
  readonly record: ClusterRecord;
  readonly stored: StoredIncarnation;
  readonly verb: RowVerb;
  readonly types: readonly ScopedType[];
}

interface Part {
  /** Types that the gateway lets the user ask the cluster for. */
  readonly reached: ReadonlySet<TypeKey>;
  readonly isUnread: boolean;
  /** By incarnation id. */
  readonly grants: readonly (readonly [incarnation: string, ReadonlyMap<TypeKey, Grant>])[];
  readonly hidden?: HiddenCluster;
}

/** Answers from the mirror's RBAC or from the members' reviews, narrowed by the gateway's own authorizer. */
export function makeRowScopes(options: RowScopesOptions): Scopes {
  return new RowScopes(options);
}

class RowScopes implements Scopes {
  readonly #options: RowScopesOptions;
  readonly #now: () => number;
  readonly #numberOf = makeIdentityNumbers();
  readonly #grants = makeRecent<RememberedGrant>({ maxEntries: rememberedGrants });
  readonly #scopes = makeRecent<RowScope>({ maxEntries: rememberedScopes });

  constructor(options: RowScopesOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  async scope(
    user: User,
    verb: RowVerb,
    types: readonly ResourceType[],
    names?: readonly string[],
  ): Promise<ScopeAnswer> {
    const { mirror, clusters } = this.#options;
    await mirror.current();
    const incarnations = groupByRecord(await mirror.stored());
    const wanted = names === undefined ? undefined : new Set(names);
    const records = clusters.list().filter(({ spec }) => wanted === undefined || wanted.has(spec.name));
    const parts = await Promise.all(
      records.map((record) => this.#partOf(user, verb, types, record, incarnations.get(record.spec.uid) ?? [])),
    );
    const reachable = new Map<string, ReadonlySet<TypeKey>>();
    const unread = new Set<string>();
    const hidden: HiddenCluster[] = [];
    for (const [index, part] of parts.entries()) {
      if (part.reached.size === 0) continue;
      const { name } = records[index]!.spec;
      reachable.set(name, part.reached);
      if (part.isUnread) unread.add(name);
      if (part.hidden !== undefined) hidden.push(part.hidden);
    }
    const made = scopeOf(parts.flatMap((part) => part.grants));
    const known = this.#scopes.get(made.digest);
    if (known === undefined) this.#scopes.set(made.digest, made);
    return { scope: known ?? made, hidden, reachable, unread };
  }

  current(atLeast?: string): Promise<string> {
    return this.#options.mirror.current(atLeast);
  }

  onChange(listener: () => void): () => void {
    return this.#options.mirror.onChange(listener);
  }

  async #partOf(
    user: User,
    verb: RowVerb,
    types: readonly ResourceType[],
    record: ClusterRecord,
    incarnations: readonly StoredIncarnation[],
  ): Promise<Part> {
    if (incarnations.length === 0)
      return { reached: await this.#firstReached(user, record, verb, types), isUnread: true, grants: [] };
    const reached = new Set<TypeKey>();
    let hidden: HiddenCluster | undefined;
    const grants: [string, ReadonlyMap<TypeKey, Grant>][] = [];
    for (const stored of incarnations) {
      const scoped = types.map(({ group, resource }): ScopedType => {
        return { group, resource, namespaced: stored.types.get(typeKey({ group, resource }))?.type.namespaced };
      });
      const found = await this.#grantsIn({ user, record, stored, verb, types: scoped }, reached);
      if (found === undefined) continue;
      if (!(found instanceof Map)) hidden ??= found as HiddenCluster;
      else if (found.size > 0) grants.push([stored.incarnation.id, found]);
    }
    return { reached, isUnread: false, grants, ...(hidden === undefined ? {} : { hidden }) };
  }

  /** The first type the gateway lets the user ask for, in a cluster the index holds nothing of, not even its RBAC. */
  async #firstReached(
    user: User,
    record: ClusterRecord,
    verb: RowVerb,
    types: readonly ResourceType[],
  ): Promise<ReadonlySet<TypeKey>> {
    for (const { group, resource } of types) {
      const type = { group, resource, namespaced: undefined, version: '' };
      const asked = { user, cluster: record.spec, verb, type, candidates: () => ({ namespaces: [], names: [] }) };
      if (!isNothing(await reachOf(this.#options.authorizer, asked))) return new Set([typeKey(type)]);
    }
    return new Set();
  }

  /**
   * Grants in one incarnation; undefined when the gateway lets the user ask for none of the types. The types it lets
   * them ask for are added to `reachedTypes`.
   */
  async #grantsIn(
    question: MemberQuestion,
    reachedTypes: Set<TypeKey>,
  ): Promise<ReadonlyMap<TypeKey, Grant> | HiddenCluster | undefined> {
    const { user, record, stored, verb, types } = question;
    const reached: Grant[] = [];
    for (const type of types) {
      const version = stored.types.get(typeKey(type))?.type.version ?? '';
      const candidates = (): Candidates => this.#candidatesIn(question, type);
      const asked = { user, cluster: record.spec, verb, type: { ...type, version }, candidates };
      const grant = await reachOf(this.#options.authorizer, asked);
      reached.push(grant);
      if (!isNothing(grant)) reachedTypes.add(typeKey(type));
    }
    if (reached.every(isNothing)) return undefined;
    const member = await this.#memberGrants(question);
    if ('cluster' in member) return member;
    const byType = new Map<TypeKey, Grant>();
    for (const [index, type] of types.entries()) {
      const grant = intersectGrants(member[index] ?? noGrant, reached[index] ?? noGrant);
      if (!isNothing(grant)) byType.set(typeKey(type), grant);
    }
    return byType;
  }

  /** Namespaces and names to ask the gateway's authorizer about, where it cannot list them itself. */
  #candidatesIn({ user, record, stored, verb }: MemberQuestion, type: ScopedType): Candidates {
    const view = this.#options.mirror.view(stored.incarnation.id);
    try {
      const identity = this.#identityAt(user, record);
      const mentioned = identity === 'self' ? noGrant : view.grant(identity, verb, type);
      return { namespaces: view.namespaces, names: mentioned === 'all' ? [] : mentioned.names.map(({ name }) => name) };
    } catch {
      // This identity may not go out to the cluster; #memberGrants says why.
      return { namespaces: view.namespaces, names: [] };
    }
  }

  /** The member's grants in one incarnation, in the order of the types, or why there are none. */
  async #memberGrants(question: MemberQuestion): Promise<readonly Grant[] | HiddenCluster> {
    const { user, record, stored, verb, types } = question;
    const { modes, mirror, reviewer, confirmedAtMs } = this.#options;
    const { id } = stored.incarnation;
    try {
      const identity = this.#identityAt(user, record);
      if (identity === 'self') return this.#ownGrants(question);
      if ((await modes.modeOf(record, id)) === 'review') {
        const asked = { record, incarnation: id, view: mirror.view(id) };
        return await Promise.all(types.map((type) => reviewer.grant(asked, identity, verb, type)));
      }
      const hidden = this.#hiddenByAge(record, await confirmedAtMs(id), 'roles and bindings');
      return hidden ?? types.map((type) => this.#mirrored(record, id, identity, verb, type));
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return hide(record, error.code === 'IDENTITY_REFUSED' ? 'IdentityRefused' : 'RightsUnknown', error.message);
    }
  }

  /** With the person's own credential the index holds what that credential could read when it was last confirmed. */
  #ownGrants({ record, stored, types }: MemberQuestion): readonly Grant[] | HiddenCluster {
    const confirmed = types.map((type) => stored.types.get(typeKey(type))?.position.confirmedAtMs ?? 0);
    const oldest = Math.min(...confirmed.filter((ms) => ms > 0));
    const hidden = Number.isFinite(oldest) ? this.#hiddenByAge(record, oldest, 'rows') : undefined;
    return hidden ?? types.map(() => 'all');
  }

  /** Undefined while what decides was confirmed recently enough. */
  #hiddenByAge(record: ClusterRecord, confirmedAtMs: number | undefined, what: string): HiddenCluster | undefined {
    if (confirmedAtMs === undefined) return hide(record, 'RightsUnknown', `its ${what} have not been read yet`);
    const ageMs = this.#now() - confirmedAtMs;
    const { maxAgeMs } = this.#options;
    return Math.abs(ageMs) > maxAgeMs ? hide(record, 'RightsStale', staleText(what, ageMs, maxAgeMs)) : undefined;
  }

  /** As whom the member would see the user. */
  #identityAt(user: User, { spec }: ClusterRecord): User | 'self' {
    const identity = this.#options.outgoing(user, spec);
    return identity === 'self' ? identity : memberView(identity);
  }

  #mirrored(record: ClusterRecord, incarnation: string, identity: User, verb: RowVerb, type: ScopedType): Grant {
    const view = this.#options.mirror.view(incarnation);
    // Whether the type is namespaced is part of the key: it changes when the member serves the type otherwise.
    const key = JSON.stringify([
      this.#numberOf(identity),
      incarnation,
      verb,
      type.group,
      type.resource,
      type.namespaced ?? null,
    ]);
    const known = this.#grants.get(key);
    if (known?.generation === view.generation) return known.grant;
    const made = view.grant(identity, verb, type);
    // Equal rights stay the same object, so that a store can keep what it has prepared for them.
    const grant = known !== undefined && grantDigest(known.grant) === grantDigest(made) ? known.grant : made;
    this.#grants.set(key, { generation: view.generation, grant });
    this.#options.onDecision?.({ record, incarnation, view, identity, verb, type });
    return grant;
  }
}

function hide({ spec: { name } }: ClusterRecord, reason: HiddenCluster['reason'], why: string): HiddenCluster {
  return { cluster: name, reason, message: `nothing of cluster ${JSON.stringify(name)} is shown: ${why}` };
}

/**
 * Ids of incarnations begin with the uid of the cluster's record, so that a name given to another cluster finds nothing
 * of the old one.
 */
function groupByRecord(
  stored: ReadonlyMap<string, StoredIncarnation>,
): ReadonlyMap<string, readonly StoredIncarnation[]> {
  const groups = new Map<string, StoredIncarnation[]>();
  for (const [id, each] of stored) {
    const uid = id.slice(0, Math.max(0, id.lastIndexOf('/')));
    const group = groups.get(uid);
    if (group === undefined) groups.set(uid, [each]);
    else group.push(each);
  }
  return groups;
}

function scopeOf(parts: readonly (readonly [string, ReadonlyMap<TypeKey, Grant>])[]): RowScope {
  const sorted = parts.toSorted(([one], [other]) => (one < other ? -1 : 1));
  const texts = sorted.map(([incarnation, byType]) => {
    const grants = [...byType].map(([type, grant]) => [type, grantDigest(grant)] as const);
    return [incarnation, grants.sort(([one], [other]) => (one < other ? -1 : 1))];
  });
  return Object.freeze({ grants: new Map(sorted), digest: textDigest(JSON.stringify(texts)) });
}

function staleText(what: string, ageMs: number, maxAgeMs: number): string {
  const age = ageMs < 0 ? 'in the future by the clock of this gateway' : `${spanText(ageMs)} ago`;
  return `its ${what} were last confirmed ${age}, and they may decide for ${spanText(maxAgeMs)} (--index-rights-max-age)`;
}

/** `90s`, `12m`, `3h`. */
function spanText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)}m` : `${Math.round(seconds / 3600)}h`;
}
