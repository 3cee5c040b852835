// What one user may see of one cluster. Two sides must allow it: the gateway's own authorizer, and the cluster itself
// for the identity under which the user's requests reach it. Where either side cannot be decided, nothing is shown.
// A result counts for at most five minutes.
import type { Authorizer } from '../auth/rules/authorize.ts';
import { makeIdentityNumbers } from '../auth/callers/identity-key.ts';
import { memberView } from '../auth/rules/impersonation.ts';
import { GatewayError } from '../model/errors.ts';
import type { ClusterRecord, ClusterSpec } from '../model/records.ts';
import type { User } from '../model/user.ts';
import { makeRecent } from '../lib/recent.ts';
import { typeKey } from '../query/types.ts';
import type { ResourceType, TypeKey } from '../query/types.ts';
import { grantDigest, grantSize, intersectGrants, isCut, isNothing, noGrant } from '../query/scope/grants.ts';
import { hiddenByAge, hide, leftOutNames } from './hidden-cluster.ts';
import type { HiddenCluster } from './hidden-cluster.ts';
import type { Member } from './members.ts';
import { rightsTypes } from './mirror.ts';
import type { RightsMirror } from './mirror.ts';
import type { RightsModes } from './modes.ts';
import { subjectKeysOf } from './rbac/rbac.ts';
import type { SubjectKey } from './rbac/rbac.ts';
import type { RowVerb, ScopedType } from './rbac/rbac-view.ts';
import { reachOf } from './reach.ts';
import type { Candidates, Reach } from './reach.ts';
import type { Reviewer, TimedGrant } from './review.ts';
import type { Sampled } from './samples.ts';
import type { Grant } from '../query/scope/scope.ts';
import type { StoredIncarnation } from './stored-incarnations.ts';

/** The question that rights answer: which objects of these types may the user `get`, `list` or `watch`? */
export interface RightsQuestion {
  readonly user: User;
  readonly verb: RowVerb;
  readonly types: readonly ResourceType[];
}

/** Pairs of an incarnation id and what is granted in that incarnation of a cluster, by type. */
export type IncarnationGrants = readonly (readonly [incarnation: string, ReadonlyMap<TypeKey, Grant>])[];

/** What the user may see of one cluster, and until when this result may be used. */
export interface ClusterPart {
  /** Types that the gateway lets the user request from this cluster. */
  readonly reached: ReadonlySet<TypeKey>;
  readonly isUnread: boolean;
  readonly grants: IncarnationGrants;
  readonly hidden: HiddenCluster | undefined;
  /**
   * Set when only mirrored RBAC has decided: the user and group keys whose RBAC changes can alter this result.
   * Undefined: any change in the cluster can.
   */
  readonly subjects: readonly SubjectKey[] | undefined;
  /**
   * The time, in milliseconds of `performance.now()`, from which the result must be computed again, even if no change
   * was reported.
   */
  readonly untilMs: number;
  /**
   * The Unix time in milliseconds at which the copy of the cluster's RBAC or rows becomes too old to be used, so that
   * the result must be computed again.
   */
  readonly staleAtMs: number;
}

/** The settings of {@link ClusterRights}, and the parts of the index and the gateway that it asks. */
export interface ClusterRightsOptions {
  readonly mirror: Pick<RightsMirror, 'view'>;
  /** The gateway's own authorizer, which decides about requests to the gateway. */
  readonly authorizer: Authorizer;
  /**
   * Usually `outgoingIdentity` of auth/outgoing/outgoing.ts with the current rules. Gives the identity that the cluster
   * will see, or `self` where the gateway uses the person's own credentials.
   */
  readonly outgoing: (user: User, cluster: ClusterSpec) => User | 'self';
  readonly modes: Pick<RightsModes, 'modeOf'>;
  readonly reviewer: Reviewer;
  /**
   * Returns, for each of these types, when its rows were last known to be up to date, in Unix milliseconds; 0 for a
   * type that was never read.
   */
  readonly confirmations: (incarnation: string, types: readonly ResourceType[]) => Promise<readonly number[]>;
  /**
   * `--index-rights-max-age` in milliseconds. A cluster is hidden when its copied RBAC was last known to be up to date
   * longer ago.
   */
  readonly maxAgeMs: number;
  /** Called with every decision that was newly computed from mirrored RBAC. */
  readonly onDecision?: (sampled: Sampled) => void;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
}

interface MemberQuestion {
  readonly user: User;
  readonly record: ClusterRecord;
  readonly stored: StoredIncarnation;
  readonly verb: RowVerb;
  readonly types: readonly ScopedType[];
  readonly basis: Basis;
}

/** Collects, while one {@link ClusterPart} is computed, until when it holds and what it depends on. */
interface Basis {
  untilMs: number;
  staleAtMs: number;
  subjects: readonly SubjectKey[] | undefined;
  /** True once something other than RBAC for the outgoing identity has influenced the result. */
  isMixed: boolean;
  /** True once a grant leaves out single objects, because roles name too many. */
  isCut: boolean;
}

interface RememberedGrant {
  readonly generation: number;
  readonly grant: Grant;
}

/**
 * The limits of the cache of grants. A key consists of identity, incarnation, verb and type; a namespace or name of a
 * grant counts as 32 characters.
 */
const rememberedGrants = {
  maxEntries: 50_000,
  maxKeyLength: 16 * 1024 * 1024,
  sizeOf: ({ grant }: RememberedGrant): number => 32 * grantSize(grant),
};
/**
 * The most milliseconds for which a result is used; then it is computed again. Clusters are asked at about the same
 * interval whether RBAC is their only authorizer.
 */
const longestMs = 5 * 60_000;
/** Expiry times are rounded up to this step, so that results which expire about together are recomputed together. */
const dueStepMs = 10_000;
const nothingReached: ReadonlySet<TypeKey> = new Set();

const noGrants: IncarnationGrants = Object.freeze([]);

/** Decides what a user may see of a cluster, and remembers grants by identity. */
export class ClusterRights {
  readonly #options: ClusterRightsOptions;
  readonly #numberOf = makeIdentityNumbers();
  readonly #grants = makeRecent<RememberedGrant>(rememberedGrants);

  constructor(options: ClusterRightsOptions) {
    this.#options = options;
  }

  /**
   * Decides what a user may see of one cluster. @throws GatewayError (rejects) when the gateway's authorizer cannot
   * answer
   */
  async decide({ user, verb, types }: RightsQuestion, { record, stored }: Member): Promise<ClusterPart> {
    // A random lifetime, so that not all clusters are due for a new decision at the same moment.
    const lastsMs = longestMs * (0.8 + 0.2 * Math.random());
    const untilMs = Math.ceil((performance.now() + lastsMs) / dueStepMs) * dueStepMs;
    const basis: Basis = { untilMs, staleAtMs: Infinity, subjects: undefined, isMixed: false, isCut: false };
    if (stored.length === 0) {
      const reached = await this.#firstReached({ user, verb, types }, record, basis);
      return { reached, isUnread: true, grants: noGrants, hidden: undefined, ...madeOn(basis) };
    }
    const reached = new Set<TypeKey>();
    let hidden: HiddenCluster | undefined;
    const grants: [string, ReadonlyMap<TypeKey, Grant>][] = [];
    for (const each of stored) {
      const scoped = types.map(({ group, resource }): ScopedType => {
        return { group, resource, namespaced: each.types.get(typeKey({ group, resource }))?.type.namespaced };
      });
      const found = await this.#grantsIn({ user, record, stored: each, verb, types: scoped, basis }, reached);
      if (found === undefined) continue;
      if (!(found instanceof Map)) hidden ??= found as HiddenCluster;
      else if (found.size > 0) grants.push([each.incarnation.id, found]);
    }
    // A hidden cluster may become visible at any moment, so this result is computed again with the next question.
    if (hidden !== undefined) basis.untilMs = 0;
    else if (basis.isCut) hidden = leftOutNames(record);
    return { reached, isUnread: false, grants: grants.length === 0 ? noGrants : grants, hidden, ...madeOn(basis) };
  }

  /**
   * Computes what the mirrored RBAC of one incarnation grants at this moment, for a cluster that uses no other
   * authorizer.
   * @returns one grant for each type of the question, in the order of the types
   * @throws GatewayError when the gateway's rules do not let it send requests with this identity to the cluster
   */
  byRbac({ user, verb, types }: RightsQuestion, { record, stored }: Member, incarnation: string): readonly Grant[] {
    const identity = this.#identityAt(user, record);
    const view = this.#options.mirror.view(incarnation);
    const kept = stored.find((each) => each.incarnation.id === incarnation);
    return types.map(({ group, resource }) => {
      const { namespaced } = kept?.types.get(typeKey({ group, resource }))?.type ?? { namespaced: undefined };
      return identity === 'self' ? noGrant : view.grant(identity, verb, { group, resource, namespaced });
    });
  }

  /**
   * Finds the first type that the gateway lets the user request from a cluster of which the index holds nothing yet.
   * One type is enough to know that the user may reach the cluster. The set is empty when the user may request none.
   */
  async #firstReached(
    { user, verb, types }: RightsQuestion,
    record: ClusterRecord,
    basis: Basis,
  ): Promise<ReadonlySet<TypeKey>> {
    for (const { group, resource } of types) {
      const type = { group, resource, namespaced: undefined, version: '' };
      const asked = { user, cluster: record.spec, verb, type, candidates: () => ({ namespaces: [], names: [] }) };
      if (!isNothing(await this.#reach(asked, basis))) return new Set([typeKey(type)]);
    }
    return nothingReached;
  }

  async #reach(asked: Parameters<typeof reachOf>[1], basis: Basis): Promise<Reach['grant']> {
    const { grant, untilMs } = await reachOf(this.#options.authorizer, asked);
    basis.untilMs = Math.min(basis.untilMs, untilMs);
    return grant;
  }

  /**
   * Computes what both the gateway and the cluster grant in one incarnation, or why the cluster is hidden. Undefined
   * when the gateway lets the user request none of the types. Adds the types that the gateway allows to `reachedTypes`.
   */
  async #grantsIn(
    question: MemberQuestion,
    reachedTypes: Set<TypeKey>,
  ): Promise<ReadonlyMap<TypeKey, Grant> | HiddenCluster | undefined> {
    const { user, record, stored, verb, types, basis } = question;
    const reached: Grant[] = [];
    for (const type of types) {
      const version = stored.types.get(typeKey(type))?.type.version ?? '';
      const candidates = (): Candidates => this.#candidatesIn(question, type);
      const asked = { user, cluster: record.spec, verb, type: { ...type, version }, candidates };
      const grant = await this.#reach(asked, basis);
      if (grant !== 'all' && !isNothing(grant)) basis.isMixed = true;
      reached.push(grant);
      if (!isNothing(grant)) reachedTypes.add(typeKey(type));
    }
    if (reached.every(isNothing)) return undefined;
    const member = await this.#memberGrants(question);
    if ('cluster' in member) return member;
    const byType = new Map<TypeKey, Grant>();
    for (const [index, type] of types.entries()) {
      const grant = intersectGrants(member[index] ?? noGrant, reached[index] ?? noGrant);
      basis.isCut ||= isCut(grant);
      if (!isNothing(grant)) byType.set(typeKey(type), grant);
    }
    return byType;
  }

  /**
   * The namespaces and names about which the gateway's authorizer is asked one by one, when it cannot list what it
   * allows.
   */
  #candidatesIn({ user, record, stored, verb, basis }: MemberQuestion, type: ScopedType): Candidates {
    const view = this.#options.mirror.view(stored.incarnation.id);
    basis.isMixed = true;
    try {
      const identity = this.#identityAt(user, record);
      const mentioned = identity === 'self' ? noGrant : view.grant(identity, verb, type);
      return { namespaces: view.namespaces, names: mentioned === 'all' ? [] : mentioned.names.map(({ name }) => name) };
    } catch {
      // The gateway's rules do not let it send requests to the cluster as this identity. #memberGrants reports the
      // reason.
      return { namespaces: view.namespaces, names: [] };
    }
  }

  /**
   * Finds what the cluster itself grants the user's identity: one grant for each type of the question, in the order of
   * the types, or the reason why the cluster is hidden.
   */
  async #memberGrants(question: MemberQuestion): Promise<readonly Grant[] | HiddenCluster> {
    const { user, record, stored, verb, types, basis } = question;
    const { modes, mirror, reviewer, confirmations } = this.#options;
    const { id } = stored.incarnation;
    try {
      const identity = this.#identityAt(user, record);
      if (identity === 'self') return await this.#ownGrants(question);
      if ((await modes.modeOf(record, id)) === 'review') {
        basis.isMixed = true;
        const asked = { record, incarnation: id, view: mirror.view(id) };
        const found = await Promise.all(types.map((type) => reviewer.grant(asked, identity, verb, type)));
        basis.untilMs = found.reduce((least, { untilMs }: TimedGrant) => Math.min(least, untilMs), basis.untilMs);
        return found.map(({ grant }) => grant);
      }
      // The copy of the cluster's RBAC is complete once each of these types was read.
      const confirmed = Math.min(...(await confirmations(id, rightsTypes)));
      const hidden = this.#hiddenByAge(record, confirmed, 'roles and bindings', basis);
      basis.subjects = subjectKeysOf(identity);
      return hidden ?? types.map((type) => this.#mirrored(record, id, identity, verb, type));
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return hide(record, error.code === 'IDENTITY_REFUSED' ? 'IdentityRefused' : 'RightsUnknown', error.message);
    }
  }

  /**
   * Grants for a gateway that runs with the person's own credential: everything, since the person could read every row
   * when it was fetched. The cluster is hidden when its rows were confirmed too long ago.
   */
  async #ownGrants({ record, stored, types, basis }: MemberQuestion): Promise<readonly Grant[] | HiddenCluster> {
    const confirmed = await this.#options.confirmations(stored.incarnation.id, types);
    const oldest = Math.min(...confirmed.filter((ms) => ms > 0));
    if (!Number.isFinite(oldest)) basis.untilMs = 0;
    const hidden = Number.isFinite(oldest) ? this.#hiddenByAge(record, oldest, 'rows', basis) : undefined;
    return hidden ?? types.map(() => 'all');
  }

  /**
   * Hides the cluster when its RBAC or its rows were last known to be up to date too long ago; otherwise returns
   * undefined.
   */
  #hiddenByAge(record: ClusterRecord, confirmedAtMs: number, what: string, basis: Basis): HiddenCluster | undefined {
    const { maxAgeMs, now } = this.#options;
    const nowMs = now();
    // When the clock was set back, `confirmedAtMs` can be in the future. So the earlier of `confirmedAtMs` and the
    // present time counts.
    if (confirmedAtMs > 0) basis.staleAtMs = Math.min(basis.staleAtMs, Math.min(confirmedAtMs, nowMs) + maxAgeMs);
    return hiddenByAge(record, what, { confirmedAtMs, nowMs, maxAgeMs });
  }

  /** The identity the cluster would see: after impersonation, and with the groups that an API server adds. */
  #identityAt(user: User, { spec }: ClusterRecord): User | 'self' {
    const identity = this.#options.outgoing(user, spec);
    return identity === 'self' ? identity : memberView(identity);
  }

  #mirrored(record: ClusterRecord, incarnation: string, identity: User, verb: RowVerb, type: ScopedType): Grant {
    const view = this.#options.mirror.view(incarnation);
    // `namespaced` is part of the key, because a CustomResourceDefinition can change it.
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
    // When the rights are unchanged, the same grant object is returned again, since stores keep data that they have
    // prepared for this object.
    const grant = known !== undefined && grantDigest(known.grant) === grantDigest(made) ? known.grant : made;
    this.#grants.set(key, { generation: view.generation, grant });
    this.#options.onDecision?.({ record, incarnation, view, identity, verb, type });
    return grant;
  }
}

function madeOn({ untilMs, staleAtMs, subjects, isMixed }: Basis) {
  return { untilMs, staleAtMs, subjects: isMixed ? undefined : subjects };
}
