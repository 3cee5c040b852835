// What one identity may see of one cluster: what the gateway lets it reach, and of that what the member lets the
// outgoing identity read. What cannot be decided shows nothing ("fail closed, serve stale").
import type { Authorizer } from '../../auth/rules/authorize.ts';
import { makeIdentityNumbers } from '../../auth/callers/identity-key.ts';
import { memberView } from '../../auth/rules/impersonation.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import type { ClusterRecord, ClusterSpec } from '../../cache/model/records.ts';
import type { User } from '../../cache/model/user.ts';
import { makeRecent } from '../../lib/recent.ts';
import { typeKey } from '../types.ts';
import type { ResourceType, TypeKey } from '../types.ts';
import { grantDigest, intersectGrants, isNothing, noGrant } from './grants.ts';
import type { Member } from './members.ts';
import type { RightsMirror, StoredIncarnation } from './mirror.ts';
import type { RightsModes } from './modes.ts';
import { subjectKeysOf } from './rbac.ts';
import type { SubjectKey } from './rbac.ts';
import type { RowVerb, ScopedType } from './rbac-view.ts';
import { reachOf } from './reach.ts';
import type { Candidates, Reach } from './reach.ts';
import type { Reviewer, TimedGrant } from './review.ts';
import type { Sampled } from './samples.ts';
import type { Grant } from './scope.ts';

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

/** Who asks for what, in any cluster. */
export interface RightsQuestion {
  readonly user: User;
  readonly verb: RowVerb;
  readonly types: readonly ResourceType[];
}

/** By incarnation id. */
export type IncarnationGrants = readonly (readonly [incarnation: string, ReadonlyMap<TypeKey, Grant>])[];

/** The answer of one cluster. */
export interface ClusterPart {
  /** Types that the gateway lets the user ask the cluster for. */
  readonly reached: ReadonlySet<TypeKey>;
  readonly isUnread: boolean;
  readonly grants: IncarnationGrants;
  readonly hidden: HiddenCluster | undefined;
  /**
   * The part is decided by mirrored RBAC for somebody with these keys, so that only changes for one of them matter;
   * undefined: any change may.
   */
  readonly subjects: readonly SubjectKey[] | undefined;
  /** `performance.now()` milliseconds from which on it must be decided anew although nothing was said to change. */
  readonly untilMs: number;
  /** The same in Unix milliseconds, for what depends on when a member has confirmed something. */
  readonly staleAtMs: number;
}

/** What rights in a cluster are decided by. */
export interface ClusterRightsOptions {
  readonly mirror: Pick<RightsMirror, 'view'>;
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

/** Narrowed while a part is made; see {@link ClusterPart}. */
interface Basis {
  untilMs: number;
  staleAtMs: number;
  subjects: readonly SubjectKey[] | undefined;
  /** Something beside the RBAC of the outgoing identity has decided. */
  isMixed: boolean;
}

interface RememberedGrant {
  readonly generation: number;
  readonly grant: Grant;
}

/** Grants by identity, incarnation, verb and type. */
const rememberedGrants = 50_000;
const rememberedGrantKeys = 16 * 1024 * 1024;
/** The longest that a part stands: members are asked again for their authorizers about as often. */
const longestMs = 5 * 60_000;
/** Parts that fall due at about the same time do so together. */
const dueStepMs = 10_000;
const nothingReached: ReadonlySet<TypeKey> = new Set();

const noGrants: IncarnationGrants = Object.freeze([]);

/** See the file comment. */
export class ClusterRights {
  readonly #options: ClusterRightsOptions;
  readonly #numberOf = makeIdentityNumbers();
  readonly #grants = makeRecent<RememberedGrant>({ maxEntries: rememberedGrants, maxKeyLength: rememberedGrantKeys });

  constructor(options: ClusterRightsOptions) {
    this.#options = options;
  }

  /** @throws GatewayError (rejects) as the gateway's authorizer does */
  async decide({ user, verb, types }: RightsQuestion, { record, stored }: Member): Promise<ClusterPart> {
    // Not all clusters at once again.
    const lastsMs = longestMs * (0.8 + 0.2 * Math.random());
    const untilMs = Math.ceil((performance.now() + lastsMs) / dueStepMs) * dueStepMs;
    const basis: Basis = { untilMs, staleAtMs: Infinity, subjects: undefined, isMixed: false };
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
    // Whatever hides a cluster may be over at any basis.
    if (hidden !== undefined) basis.untilMs = 0;
    return { reached, isUnread: false, grants: grants.length === 0 ? noGrants : grants, hidden, ...madeOn(basis) };
  }

  /**
   * Grants by the RBAC that the mirror has at this moment, of a cluster that is decided by nothing else.
   * @throws GatewayError when the identity may not go out
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

  /** The first type the gateway lets the user ask for, in a cluster the index holds nothing of, not even its RBAC. */
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
   * Grants in one incarnation; undefined when the gateway lets the user ask for none of the types. The types it lets
   * them ask for are added to `reachedTypes`.
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
      if (!isNothing(grant)) byType.set(typeKey(type), grant);
    }
    return byType;
  }

  /** Namespaces and names to ask the gateway's authorizer about, where it cannot list them itself. */
  #candidatesIn({ user, record, stored, verb, basis }: MemberQuestion, type: ScopedType): Candidates {
    const view = this.#options.mirror.view(stored.incarnation.id);
    basis.isMixed = true;
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
    const { user, record, stored, verb, types, basis } = question;
    const { modes, mirror, reviewer, confirmedAtMs } = this.#options;
    const { id } = stored.incarnation;
    try {
      const identity = this.#identityAt(user, record);
      if (identity === 'self') return this.#ownGrants(question);
      if ((await modes.modeOf(record, id)) === 'review') {
        basis.isMixed = true;
        const asked = { record, incarnation: id, view: mirror.view(id) };
        const found = await Promise.all(types.map((type) => reviewer.grant(asked, identity, verb, type)));
        basis.untilMs = found.reduce((least, { untilMs }: TimedGrant) => Math.min(least, untilMs), basis.untilMs);
        return found.map(({ grant }) => grant);
      }
      const hidden = this.#hiddenByAge(record, await confirmedAtMs(id), 'roles and bindings', basis);
      basis.subjects = subjectKeysOf(identity);
      return hidden ?? types.map((type) => this.#mirrored(record, id, identity, verb, type));
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return hide(record, error.code === 'IDENTITY_REFUSED' ? 'IdentityRefused' : 'RightsUnknown', error.message);
    }
  }

  /** With the person's own credential the index holds what that credential could read when it was last confirmed. */
  #ownGrants({ record, stored, types, basis }: MemberQuestion): readonly Grant[] | HiddenCluster {
    const confirmed = types.map((type) => stored.types.get(typeKey(type))?.position.confirmedAtMs ?? 0);
    const oldest = Math.min(...confirmed.filter((ms) => ms > 0));
    if (!Number.isFinite(oldest)) basis.untilMs = 0;
    const hidden = Number.isFinite(oldest) ? this.#hiddenByAge(record, oldest, 'rows', basis) : undefined;
    return hidden ?? types.map(() => 'all');
  }

  /** Undefined while what decides was confirmed recently enough. */
  #hiddenByAge(
    record: ClusterRecord,
    confirmedAtMs: number | undefined,
    what: string,
    basis: Basis,
  ): HiddenCluster | undefined {
    if (confirmedAtMs === undefined) return hide(record, 'RightsUnknown', `its ${what} have not been read yet`);
    const { maxAgeMs, now } = this.#options;
    basis.staleAtMs = Math.min(basis.staleAtMs, confirmedAtMs + maxAgeMs);
    const ageMs = now() - confirmedAtMs;
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

function madeOn({ untilMs, staleAtMs, subjects, isMixed }: Basis) {
  return { untilMs, staleAtMs, subjects: isMixed ? undefined : subjects };
}

function hide({ spec: { name } }: ClusterRecord, reason: HiddenCluster['reason'], why: string): HiddenCluster {
  return { cluster: name, reason, message: `nothing of cluster ${JSON.stringify(name)} is shown: ${why}` };
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
