// For tests of scopes: two clusters with some RBAC, and what the scopes say of them.
import { allowAuthenticated, makeRulesAuthorizer } from '../auth/rules/authorize.ts';
import type { Authorizer } from '../auth/rules/authorize.ts';
import { makeOutgoingRules, outgoingIdentity } from '../auth/outgoing/outgoing.ts';
import type { Rule } from '../auth/rules/rules.ts';
import { GatewayError } from '../model/errors.ts';
import type { ClusterRecord } from '../model/records.ts';
import type { User } from '../model/user.ts';
import {
  allowRule,
  binding,
  makeTestStore,
  role,
  rule,
  testIncarnation,
  testRecord,
  testUser,
} from './rights.fixture.ts';
import type { TestStore } from './rights.fixture.ts';
import { makeScopes } from './scopes.ts';
import type { OpenScopes, ScopesOptions } from './scopes.ts';

export const pods = { group: '', resource: 'pods' };
export const nodes = { group: '', resource: 'nodes' };
export const one = testIncarnation('one');
export const two = testIncarnation('two');
export const jane = testUser('jane');
export const nowMs = 1_000_000_000_000;
export const minute = 60_000;

export interface Site {
  readonly store: TestStore;
  readonly scopes: OpenScopes;
  readonly clock: { nowMs: number };
}

/** Two clusters, everybody authenticated may list pods in `one`'s namespace team and in all of `two`. */
export function site(given: Partial<ScopesOptions> & { readonly records?: readonly ClusterRecord[] } = {}): Site {
  const store = makeTestStore();
  const clock = { nowMs };
  for (const incarnation of [one, two]) {
    store.putAll(incarnation, [
      role('reader', undefined, rule('list', 'pods')),
      { kind: 'Namespace', metadata: { name: 'team' } },
      { kind: 'Namespace', metadata: { name: 'other' } },
    ]);
    store.confirm(incarnation, nowMs);
  }
  store.putAll(one, [binding('b', 'team', 'ClusterRole/reader', 'Group/system:authenticated')]);
  store.putAll(two, [binding('b', undefined, 'ClusterRole/reader', 'Group/system:authenticated')]);
  const outgoing = makeOutgoingRules({
    trust: { forwardSystemMasters: false, serviceAccountIdentity: 'prefixed' },
    exchange: { concerns: () => false, exchange: () => undefined, fault: () => undefined },
    extra: undefined,
    usernameOnly: false,
  });
  const records = given.records ?? [testRecord('one'), testRecord('two')];
  const scopes = makeScopes({
    store: store as unknown as ScopesOptions['store'],
    clusters: { list: () => records },
    authorizer: allowAuthenticated(),
    outgoing: (user, cluster) => outgoingIdentity(user, cluster, outgoing),
    outgoingGeneration: () => 0,
    maxAgeMs: 10 * minute,
    reviews: { isAllowed: unanswered, isIncomplete: async () => false },
    sampleRate: 0,
    now: () => clock.nowMs,
    ...given,
  });
  return { store, scopes, clock };
}

export function unanswered(): Promise<never> {
  return Promise.reject(new GatewayError('MEMBER_UNAVAILABLE', 'the cluster does not answer'));
}

export function allowing(...rules: readonly Partial<Rule>[]): Authorizer {
  return makeRulesAuthorizer({ file: 'rules', rules: rules.map(allowRule) });
}

/** Grants of pods by cluster name, in a form that is easy to compare. */
export async function podsOf(
  { scopes }: Site,
  user: User = jane,
  verb: 'get' | 'list' | 'watch' = 'list',
): Promise<object> {
  const { scope } = await scopes.scope(user, verb, [pods]);
  return Object.fromEntries(
    [...scope.grants].map(([incarnation, types]) => [
      incarnation.slice('uid-'.length, 'uid-one'.length),
      types.get('pods.'),
    ]),
  );
}

export const inTeam = { namespaces: ['team'], names: [] };
