// Who may see which rows of the index: what the gateway lets a caller reach, and of that what each member lets exactly
// the identity that goes out read. Easy to get wrong: a cluster the gateway does not let the caller reach is not even
// named as hidden, and whatever cannot be decided shows nothing.
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

/** A cluster that the caller may reach and of which nothing is shown, or not all. */
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
   * Names of all clusters that the gateway lets the user ask for some of these types, indexed or not, with these types:
   * nothing else may be named to them. Of a cluster in `unread` the first such type stands for all.
   */
  readonly reachable: ReadonlyMap<string, ReadonlySet<TypeKey>>;
  /** Of `reachable`: the index holds nothing of them, not even their RBAC, so nobody's rights in them are known. */
  readonly unread: ReadonlySet<string>;
}

/** The one place that knows rights. */
export interface Scopes {
  /**
   * @param user the caller, or whom they act as; as `authorize` left it
   * @param clusters names; absent means all
   * @throws GatewayError (rejects) HUB_UNAVAILABLE when the gateway's authorizer has nobody to ask, INDEX_UNAVAILABLE
   *   when the store does not answer
   */
  scope(user: User, verb: RowVerb, types: readonly ResourceType[], clusters?: readonly string[]): Promise<ScopeAnswer>;
  /**
   * Called when scopes may have changed because of RBAC. What else changes them (the authorizer's answers, reviews,
   * ages) has no event: whoever keeps a scope asks again within 10 seconds and compares digests. Returns the way to end
   * it.
   */
  onChange(listener: () => void): () => void;
}

export interface RowScopesOptions {
  readonly mirror: Pick<RightsMirror, 'current' | 'view' | 'stored' | 'onChange'>;
  readonly clusters: { list(): readonly ClusterRecord[] };
  /** The gateway's own. */
  readonly authorizer: Authorizer;
  /**
   * `outgoingIdentity` of auth/outgoing/outgoing.ts with the rules of now; `self` where the gateway runs with the
   * person's own credentials.
   */
  readonly outgoing: (user: User, cluster: ClusterSpec) => User | 'self';
  readonly modes: Pick<RightsModes, 'modeOf'>;
  readonly reviewer: Reviewer;
  /** Unix milliseconds when a member last confirmed all of its RBAC; undefined while it was never read whole. */
  readonly confirmedAtMs: (incarnation: string) => number | undefined | Promise<number | undefined>;
  /** `--index-rights-max-age`. */
  readonly maxAgeMs: number;
  /** Told every decision that was made from RBAC anew. */
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

export function makeRowScopes(options: RowScopesOptions): Scopes {
  const { mirror, clusters, authorizer, outgoing, modes, reviewer, maxAgeMs } = options;
  const now = options.now ?? Date.now;
  const numberOf = makeIdentityNumbers();
  const remembered = makeRecent<RememberedGrant>({ maxEntries: rememberedGrants });
  const scopes = makeRecent<RowScope>({ maxEntries: rememberedScopes });

  const mirrored = (
    record: ClusterRecord,
    incarnation: string,
    identity: User,
    verb: RowVerb,
    type: ScopedType,
  ): Grant => {
    const view = mirror.view(incarnation);
    // The type's scope is part of the key: what a member says of it may change.
    const key = JSON.stringify([
      numberOf(identity),
      incarnation,
      verb,
      type.group,
      type.resource,
      type.namespaced ?? null,
    ]);
    const known = remembered.get(key);
    if (known?.generation === view.generation) return known.grant;
    const made = view.grant(identity, verb, type);
    // Equal rights stay the same object, so that a store can keep what it has prepared for them.
    const grant = known !== undefined && grantDigest(known.grant) === grantDigest(made) ? known.grant : made;
    remembered.set(key, { generation: view.generation, grant });
    options.onDecision?.({ record, incarnation, view, identity, verb, type });
    return grant;
  };

  /** As whom the member would see the user. */
  const identityAt = (user: User, { spec }: ClusterRecord): User | 'self' => {
    const identity = outgoing(user, spec);
    return identity === 'self' ? identity : memberView(identity);
  };

  /** Member's grants of one incarnation, in the order of the types, or why there are none. */
  const memberGrants = async (question: MemberQuestion): Promise<readonly Grant[] | HiddenCluster> => {
    const { user, record, stored, verb, types } = question;
    const { id } = stored.incarnation;
    const { name } = record.spec;
    const hide = (reason: HiddenCluster['reason'], why: string): HiddenCluster => {
      return { cluster: name, reason, message: `nothing of cluster ${JSON.stringify(name)} is shown: ${why}` };
    };
    const fault = (confirmed: number | undefined, what: string): HiddenCluster | undefined => {
      if (confirmed === undefined) return hide('RightsUnknown', `its ${what} have not been read yet`);
      const ageMs = now() - confirmed;
      return Math.abs(ageMs) > maxAgeMs ? hide('RightsStale', staleText(what, ageMs, maxAgeMs)) : undefined;
    };
    try {
      const identity = identityAt(user, record);
      if (identity === 'self') {
        // With the person's own credential the index holds what that credential could read when it was last confirmed.
        const confirmed = types.map((type) => stored.types.get(typeKey(type))?.position.confirmedAtMs ?? 0);
        const oldest = Math.min(...confirmed.filter((ms) => ms > 0));
        return (Number.isFinite(oldest) ? fault(oldest, 'rows') : undefined) ?? types.map(() => 'all');
      }
      if ((await modes.modeOf(record, id)) === 'review') {
        const asked = { record, incarnation: id, view: mirror.view(id) };
        return await Promise.all(types.map((type) => reviewer.grant(asked, identity, verb, type)));
      }
      const found = fault(await options.confirmedAtMs(id), 'roles and bindings');
      return found ?? types.map((type) => mirrored(record, id, identity, verb, type));
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return hide(error.code === 'IDENTITY_REFUSED' ? 'IdentityRefused' : 'RightsUnknown', error.message);
    }
  };

  /** What there is to ask the gateway's authorizer about, where it does not say itself. */
  const candidatesIn = ({ user, record, stored, verb }: MemberQuestion, type: ScopedType): Candidates => {
    const view = mirror.view(stored.incarnation.id);
    try {
      const identity = identityAt(user, record);
      const mentioned = identity === 'self' ? noGrant : view.grant(identity, verb, type);
      return { namespaces: view.namespaces, names: mentioned === 'all' ? [] : mentioned.names.map(({ name }) => name) };
    } catch {
      // Nobody goes out to it; memberGrants says why.
      return { namespaces: view.namespaces, names: [] };
    }
  };

  /**
   * One incarnation: undefined when the gateway lets the user ask for none of the types. Those it lets them ask for go
   * to `reachedTypes`.
   */
  const grantsIn = async (
    question: MemberQuestion,
    reachedTypes: Set<TypeKey>,
  ): Promise<ReadonlyMap<TypeKey, Grant> | HiddenCluster | undefined> => {
    const { user, record, stored, verb, types } = question;
    const reached: Grant[] = [];
    for (const type of types) {
      const version = stored.types.get(typeKey(type))?.type.version ?? '';
      const candidates = (): Candidates => candidatesIn(question, type);
      const asked = { user, cluster: record.spec, verb, type: { ...type, version }, candidates };
      const grant = await reachOf(authorizer, asked);
      reached.push(grant);
      if (!isNothing(grant)) reachedTypes.add(typeKey(type));
    }
    if (reached.every(isNothing)) return undefined;
    const member = await memberGrants(question);
    if ('cluster' in member) return member;
    const byType = new Map<TypeKey, Grant>();
    for (const [index, type] of types.entries()) {
      const grant = intersectGrants(member[index] ?? noGrant, reached[index] ?? noGrant);
      if (!isNothing(grant)) byType.set(typeKey(type), grant);
    }
    return byType;
  };

  /** A cluster that the index holds nothing of, not even its RBAC. */
  const firstReached = async (
    user: User,
    record: ClusterRecord,
    verb: RowVerb,
    types: readonly ResourceType[],
  ): Promise<ReadonlySet<TypeKey>> => {
    for (const { group, resource } of types) {
      const type = { group, resource, namespaced: undefined, version: '' };
      const asked = { user, cluster: record.spec, verb, type, candidates: () => ({ namespaces: [], names: [] }) };
      if (!isNothing(await reachOf(authorizer, asked))) return new Set([typeKey(type)]);
    }
    return new Set();
  };

  const partOf = async (
    user: User,
    verb: RowVerb,
    types: readonly ResourceType[],
    record: ClusterRecord,
    incarnations: readonly StoredIncarnation[],
  ): Promise<Part> => {
    if (incarnations.length === 0)
      return { reached: await firstReached(user, record, verb, types), isUnread: true, grants: [] };
    const reached = new Set<TypeKey>();
    let hidden: HiddenCluster | undefined;
    const grants: [string, ReadonlyMap<TypeKey, Grant>][] = [];
    for (const stored of incarnations) {
      const scoped = types.map(({ group, resource }): ScopedType => {
        return { group, resource, namespaced: stored.types.get(typeKey({ group, resource }))?.type.namespaced };
      });
      const found = await grantsIn({ user, record, stored, verb, types: scoped }, reached);
      if (found === undefined) continue;
      if (!(found instanceof Map)) hidden ??= found as HiddenCluster;
      else if (found.size > 0) grants.push([stored.incarnation.id, found]);
    }
    return { reached, isUnread: false, grants, ...(hidden === undefined ? {} : { hidden }) };
  };

  return {
    scope: async (user, verb, types, names) => {
      await mirror.current();
      const incarnations = groupByRecord(await mirror.stored());
      const wanted = names === undefined ? undefined : new Set(names);
      const records = clusters.list().filter(({ spec }) => wanted === undefined || wanted.has(spec.name));
      const parts = await Promise.all(
        records.map((record) => partOf(user, verb, types, record, incarnations.get(record.spec.uid) ?? [])),
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
      const known = scopes.get(made.digest);
      if (known === undefined) scopes.set(made.digest, made);
      return { scope: known ?? made, hidden, reachable, unread };
    },
    onChange: (listener) => mirror.onChange(listener),
  };
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
