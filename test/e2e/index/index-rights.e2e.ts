// Which rows of the index a user may see, against real members with controller-manager: the oracle asks the member
// itself about every object, as the identity the gateway would send. Easy to get wrong: the oracle must not share a
// line with what it judges, so it knows nothing of RBAC. INDEX_RIGHTS_USERS (100), INDEX_RIGHTS_MEMBERS (3) and
// INDEX_RIGHTS_SEED choose size and world.
// Landing tier: each cluster's RBAC on each row.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { allowAuthenticated, makeRulesAuthorizer } from '../../../auth/rules/authorize.ts';
import type { Authorizer } from '../../../auth/rules/authorize.ts';
import { makeIdentityExchange } from '../../../auth/outgoing/identity-exchange.ts';
import { parseIdentityRules } from '../../../auth/outgoing/identity-rules.ts';
import { makeOutgoingRules, outgoingIdentity } from '../../../auth/outgoing/outgoing.ts';
import { parseRules } from '../../../auth/rules/rules.ts';
import { GatewayError } from '../../../model/errors.ts';
import type { ClusterRecord } from '../../../model/records.ts';
import type { User } from '../../../model/user.ts';
import { allOf } from '../../../query/list-query.ts';
import { grantAllows } from '../../../query/scope/grants.ts';
import { testRecord } from '../../../rights/rights.fixture.ts';
import type { MemberReviews } from '../../../rights/review.ts';
import type { RowScope } from '../../../query/scope/scope.ts';
import { makeScopes } from '../../../rights/scopes.ts';
import type { OpenScopes, ScopesOptions } from '../../../rights/scopes.ts';
import { openSqliteStore } from '../../../store/sqlite/store.ts';
import type { IndexStore } from '../../../store/store.ts';
import { typeKey } from '../../../query/types.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane } from '../../controlplane/fixture.ts';
import { inParallel, makeRightsMember } from './index-rights-member.ts';
import type { RightsMember } from './index-rights-member.ts';
import { remembering, rowVerbs, visibleBy } from './index-rights-oracle.ts';
import { aggregationSettled, copyMember, fillMember, incarnationOf, rightsTypes } from './index-rights-site.ts';
import { makePick, pickingFor, randomRbac, randomUsers, worldNamespaces, worldTypes } from './index-rights-world.ts';
import type { WorldType } from './index-rights-world.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const userCount = Number(process.env['INDEX_RIGHTS_USERS'] ?? 100);
const memberCount = Number(process.env['INDEX_RIGHTS_MEMBERS'] ?? 3);
const seed = Number(process.env['INDEX_RIGHTS_SEED'] ?? 7);
const users = randomUsers(makePick(seed), userCount);
const pickFor = pickingFor(seed);

let plane: ControlPlane;
let members: readonly RightsMember[];
const directory = tempDir('rights');
let store: IndexStore;

/** Clusters see users of the group g4 as user-1 in the group g0, and user-3 in the groups g1 and g2. */
const exchangeFile = `
apiVersion: cluster.core.oam.dev/v1alpha1
kind: ClusterGatewayProxyConfiguration
spec:
  clientIdentityExchanger:
    rules:
    - {name: a, type: StaticMappingIdentityExchanger, source: {group: g4}, target: {user: user-1, groups: [g0]}}
    - {name: b, type: StaticMappingIdentityExchanger, source: {user: user-3}, target: {user: user-3, groups: [g1, g2]}}
`;
const limits = { privilegedUser: undefined, usernameOnly: false };
const outgoingRules = makeOutgoingRules({
  trust: { forwardSystemMasters: false, serviceAccountIdentity: 'prefixed' },
  exchange: makeIdentityExchange(parseIdentityRules(exchangeFile, 'exchange.yaml', limits), limits),
  extra: undefined,
  usernameOnly: false,
});
const outgoing = (user: User, record: ClusterRecord): User => outgoingIdentity(user, record.spec, outgoingRules);

before(async () => {
  plane = await startControlPlane({
    members: Array.from({ length: memberCount }, (_, index) => `rights-${index}`),
    controllerManager: true,
    scheduler: false,
    audit: false,
  });
  members = plane.members.map(makeRightsMember);
  store = await openSqliteStore({ directory });
  const prefixed = users.flatMap((user) => (user.origin === 'hub' ? (tryOutgoing(user, testRecord('any')) ?? []) : []));
  await Promise.all(
    members.map((member) => fillMember(member, [...users, ...prefixed], pickFor(member.name, 'first'))),
  );
  for (const member of members) await copyMember(store, member);
});

after(async () => {
  await store?.close();
  for (const member of members ?? []) member.close();
  await plane?.stop();
});

function tryOutgoing(user: User, record: ClusterRecord): User | undefined {
  try {
    return outgoing(user, record);
  } catch (error) {
    assert.ok(error instanceof GatewayError && error.code === 'IDENTITY_REFUSED', String(error));
    return undefined;
  }
}

interface Row {
  readonly namespace: string;
  readonly name: string;
}

/** Everything of the type that is in the store, but for namespaces the world does not speak of. */
async function rowsOf(member: RightsMember, type: WorldType): Promise<readonly Row[]> {
  const all = await store.versions(incarnationOf(member.name).id, type);
  return all.filter(({ namespace }) => !type.namespaced || worldNamespaces.includes(namespace));
}

/** What the store shows, through the scope, in small or large pages in some order. */
async function shownRows(member: RightsMember, type: WorldType, scope: RowScope): Promise<Set<string>> {
  const pick = pickFor(member.name, type.resource, scope.digest);
  const by = pick(['name', 'namespace', 'created_at', 'cluster'] as const);
  const query = { ...allOf(type), clusters: [member.name], order: [{ by, descending: pick([true, false]) }] };
  const limit = pick([3, 500]);
  const shown = new Set<string>();
  let count = 0;
  for (let after; ;) {
    const page = await store.list(query, scope, { limit, ...(after === undefined ? {} : { after }) });
    for await (const rows of page.chunks) {
      for (const { namespace, name } of rows) shown.add(JSON.stringify([namespace, name]));
      count += rows.length;
    }
    if (page.next === undefined) break;
    after = page.next;
  }
  assert.equal(shown.size, count, 'no row twice');
  assert.equal((await store.count(query, scope)).count, count);
  return shown;
}

function openScopes(given: Partial<ScopesOptions> = {}): OpenScopes {
  const records = members.map(({ name }) => testRecord(name));
  const nobody: MemberReviews = {
    isAllowed: () => Promise.reject(new Error('not asked for')),
    isIncomplete: async () => false,
  };
  return makeScopes({
    store,
    clusters: { list: () => records },
    authorizer: allowAuthenticated(),
    outgoing: (user, spec) => outgoingIdentity(user, spec, outgoingRules),
    maxAgeMs: 3_600_000,
    reviews: nobody,
    sampleRate: 0,
    ...given,
  });
}

interface Tally {
  users: number;
  rows: number;
  visible: number;
}

/**
 * Compares for these users: one verb of each type in each member, the oracle's every row with what the scope and the
 * store say.
 */
async function compare(scopes: OpenScopes, who: readonly User[], gatekeeper?: Authorizer): Promise<Tally> {
  const tally: Tally = { users: who.length, rows: 0, visible: 0 };
  const faults: string[] = [];
  for (const member of members) {
    const record = testRecord(member.name);
    const rows = new Map<WorldType, readonly Row[]>();
    for (const type of worldTypes) rows.set(type, await rowsOf(member, type));
    await inParallel(
      who,
      async (user) => {
        for (const type of worldTypes) {
          const verb = pickFor(user.name, member.name, type.resource)(rowVerbs);
          const { scope } = await scopes.scope(user, verb, [type]);
          const grant = scope.grants.get(incarnationOf(member.name).id)?.get(typeKey(type));
          const shown = await shownRows(member, type, scope);
          const identity = tryOutgoing(user, record);
          const byMember = remembering(async (asked, namespace, name) => {
            return identity !== undefined && (await member.isAllowed(identity, { verb: asked, type, namespace, name }));
          });
          const byGateway = remembering(async (asked, namespace, name) => {
            return (
              gatekeeper === undefined || (await gatewayAllows(gatekeeper, user, record, type, asked, namespace, name))
            );
          });
          for (const { namespace, name } of rows.get(type)!) {
            const expected =
              (await visibleBy(byGateway, verb, type, namespace, name)) &&
              (await visibleBy(byMember, verb, type, namespace, name));
            const granted = grant !== undefined && grantAllows(grant, namespace, name);
            const isShown = shown.has(JSON.stringify([namespace, name]));
            tally.rows += 1;
            if (expected) tally.visible += 1;
            if (granted === expected && isShown === expected) continue;
            const what = {
              member: member.name,
              user: user.name,
              groups: user.groups,
              verb,
              type: type.resource,
              namespace,
              name,
            };
            faults.push(
              `${JSON.stringify(what)}: the member says ${expected}, the scope ${granted}, the store ${isShown}`,
            );
          }
        }
      },
      8,
    );
  }
  assert.equal(faults.length, 0, `${faults.length} rows differ with seed ${seed}:\n${faults.slice(0, 10).join('\n')}`);
  // A world in which nearly nothing or nearly everything is visible would prove little.
  assert.ok(tally.visible > tally.rows / 100 && tally.visible < (tally.rows * 19) / 20, JSON.stringify(tally));
  return tally;
}

/** The question of the `authorize` step for that request through `/clusters/<name>/proxy`. */
async function gatewayAllows(
  gatekeeper: Authorizer,
  user: User,
  { spec }: ClusterRecord,
  type: WorldType,
  verb: string,
  namespace: string,
  name: string,
): Promise<boolean> {
  const decision = await gatekeeper.authorize({
    user,
    verb,
    cluster: { name: spec.name, uid: spec.uid, labels: spec.labels },
    outer: { group: 'gateway.portcullis.io', version: 'v1alpha1', resource: 'clusters', httpVerb: 'get' },
    resourceRequest: true,
    apiGroup: type.group,
    apiVersion: type.version,
    resource: type.resource,
    subresource: '',
    namespace,
    name,
    path: '',
  });
  return decision.allowed;
}

const sinceStart = performance.now();
const reported = (text: string): void => {
  const asked = members.reduce((sum, member) => sum + member.asked(), 0);
  process.stderr.write(
    `${text}; ${asked} questions to members, ${Math.round((performance.now() - sinceStart) / 1000)} s\n`,
  );
};

describe('rows of the index are those the members themselves let each user see', () => {
  test(`for ${userCount} random users, get, list and watch`, async () => {
    const scopes = openScopes();
    const tally = await compare(scopes, users);
    reported(`${tally.users} users, ${tally.rows} rows judged, ${tally.visible} visible`);
    scopes.close();
  });

  test('after roles and bindings were changed and taken away, in the scopes that were made before', async () => {
    const some = users.filter((_, index) => index % 4 === 0);
    const scopes = openScopes();
    for (const user of some) await scopes.scope(user, 'list', worldTypes);
    const seen = [...users];
    for (const member of members) {
      const pick = pickFor(member.name, 'second');
      const more = randomRbac(pick, seen, 'second');
      await member.make(more.filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole'));
      await member.make(more.filter(({ kind }) => kind.endsWith('Binding') && pick([true, false])));
      const bindings = [...(await member.list(rightsTypes[1]!)), ...(await member.list(rightsTypes[3]!))];
      const gone = bindings.filter(
        ({ metadata }) => /^(first|second)-/.test(metadata.name) && pick([true, false, false]),
      );
      await member.remove(
        gone.map(({ metadata: { name, namespace } }) => ({
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
          metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
        })),
      );
      await aggregationSettled(member);
      await copyMember(store, member);
    }
    const tally = await compare(scopes, some);
    reported(`${tally.users} users, ${tally.rows} rows judged after changes, ${tally.visible} visible`);
    scopes.close();
  });

  test('with rules of the gateway that allow clusters, verbs, namespaces and names in part', async () => {
    const gatekeeper = makeRulesAuthorizer(parseRules(gatewayRules(), 'rules.yaml'));
    const scopes = openScopes({ authorizer: gatekeeper });
    const some = users.filter((_, index) => index % 3 === 1);
    const tally = await compare(scopes, some, gatekeeper);
    reported(`${tally.users} users, ${tally.rows} rows judged with rules of the gateway, ${tally.visible} visible`);
    scopes.close();
  });

  test('a cluster of which reviews decide shows what its mirrored RBAC shows', async () => {
    const reviews: MemberReviews = {
      isIncomplete: async () => true,
      isAllowed: async ({ spec: { name } }, spec) => {
        const member = plane.member(name);
        const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
        const answer = await member.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
        return (JSON.parse(answer.body) as { status: { allowed: boolean } }).status.allowed;
      },
    };
    const byReview = openScopes({ reviews });
    const byRbac = openScopes();
    const some = users.slice(0, 4);
    for (const user of some) {
      for (const type of worldTypes) {
        for (const verb of rowVerbs) {
          const one = await byReview.scope(user, verb, [type]);
          const other = await byRbac.scope(user, verb, [type]);
          const shown = await Promise.all(members.map((member) => shownRows(member, type, one.scope)));
          const expected = await Promise.all(members.map((member) => shownRows(member, type, other.scope)));
          const what = JSON.stringify({ user: user.name, groups: user.groups, verb, type: type.resource });
          assert.deepEqual(
            shown.map((rows) => [...rows].sort()),
            expected.map((rows) => [...rows].sort()),
            what,
          );
        }
      }
    }
    byReview.close();
    byRbac.close();
  });
});

/** Everybody in most of it; other parts of the world only for some. */
function gatewayRules(): string {
  const rule = (parts: object): string =>
    `- ${JSON.stringify({ verbs: ['*'], apiGroups: ['*'], resources: ['*'], ...parts })}`;
  const everybody = [{ kind: 'Group', name: 'system:authenticated' }];
  const [first = '', second = '', third = ''] = members.map(({ name }) => name);
  const rules = [
    rule({ subjects: everybody, clusters: [first], verbs: ['list', 'get'] }),
    rule({ subjects: [{ kind: 'Group', name: 'g1' }], clusters: [first], verbs: ['watch'], namespaces: ['n0', 'n1'] }),
    rule({ subjects: everybody, clusters: [second === '' ? first : second], namespaces: ['n1', 'n2'] }),
    rule({ subjects: everybody, clusters: [second === '' ? first : second], resourceNames: ['a', 'n3'] }),
    rule({
      subjects: [{ kind: 'Group', name: 'g2' }],
      clusters: [third === '' ? first : third],
      resources: ['configmaps'],
    }),
  ];
  return `apiVersion: gateway.portcullis.io/v1alpha1\nkind: AuthorizationRules\nrules:\n${rules.join('\n')}\n`;
}
