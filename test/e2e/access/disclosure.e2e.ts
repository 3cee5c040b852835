// Somebody who asks who-can and what-can learns nothing of clusters that they may not reach, nor of roles and bindings
// that they may not read: whatever happens to those, each byte of each answer stays. About themselves, everybody may
// ask.
// Landing tier: who may do what is told to those who could read it.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { RightsMember } from '../index/index-rights-member.ts';
import { bound, rbac, role, root, startAccessSite, user } from './access-site.ts';
import type { AccessRow, AccessSite, Query } from './access-site.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const person = (name: string) => ({ name, groups: [], token: `${name}-at-the-gateway` });
/** Reads all RBAC of m1, that of one namespace of m2, and may not reach m3. */
const narrow = person('narrow');
/** Reaches every cluster, and may read RBAC nowhere. */
const outsider = person('outsider');
/** Has rights by bindings that only others may read. */
const alone = person('alone');
const readsRoles = { verbs: ['get', 'list', 'watch'], apiGroups: [rbac], resources: ['*'] };
const cleans = { verbs: ['get', 'delete'], apiGroups: [''], resources: ['secrets', 'pods', 'pods/exec'] };

const asks = ['indexes/whocan', 'indexes/whatcan'];
const folder = tempDir('access');
let site: AccessSite;
let m1: RightsMember;
let m2: RightsMember;
let m3: RightsMember;

before(async () => {
  const rules = join(folder, 'rules.json');
  writeFileSync(rules, JSON.stringify(gatewayRules()));
  site = await startAccessSite({
    members: ['m1', 'm2', 'm3'],
    users: 0,
    seed: 1,
    gateway: { users: [narrow, outsider, alone], args: ['--authorization-rules', rules] },
  });
  [m1, m2, m3] = site.members as [RightsMember, RightsMember, RightsMember];
  await m1.make([
    role('ClusterRole', 'reads-roles', undefined, readsRoles),
    bound('narrow', undefined, 'ClusterRole/reads-roles', user('narrow')),
  ]);
  await m2.make([
    role('ClusterRole', 'reads-roles', undefined, readsRoles),
    bound('narrow', 'n1', 'ClusterRole/reads-roles', user('narrow')),
    role('Role', 'cleaner', 'n1', cleans),
    bound('told', 'n1', 'Role/cleaner', user('jane')),
    role('Role', 'cleaner', 'n2', cleans),
    bound('alone', 'n2', 'Role/cleaner', user('alone')),
    bound('gone', 'n2', 'Role/cleaner', user('gone')),
    // This binding can be read, its role cannot.
    role('ClusterRole', 'secret', undefined, { verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }),
    bound('secret', 'n1', 'ClusterRole/secret', user('eve')),
  ]);
  await site.settled();
});

after(async () => {
  await site?.stop();
});

function gatewayRules(): object {
  const subjects = (...names: readonly string[]): object => ({
    subjects: names.map((name) => ({ kind: 'User', name })),
    ...{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  });
  return {
    apiVersion: 'gateway.portcullis.io/v1alpha1',
    kind: 'AuthorizationRules',
    rules: [
      subjects('outsider', 'alone'),
      { ...subjects('narrow'), clusters: ['m1', 'm2'] },
      // The index is in no cluster.
      { ...subjects('narrow'), verbs: ['get'], apiGroups: ['search.portcullis.io'], resources: asks },
    ],
  };
}
const secrets = { group: '', resource: 'secrets' };
const questions: readonly (readonly ['whocan' | 'whatcan', Query])[] = [
  ['whocan', { verb: 'delete', ...secrets }],
  ['whocan', { verb: 'delete', ...secrets, mayBecome: 'true' }],
  ['whocan', { verb: 'delete', ...secrets, namespace: 'n2', name: 'db', mayBecome: 'true' }],
  ['whocan', { verb: 'create', group: '', resource: 'pods', subresource: 'exec', namespace: 'n1', mayBecome: 'true' }],
  ['whocan', { verb: '*', group: '*', resource: '*' }],
  ['whocan', { verb: 'get', path: '/metrics', mayBecome: 'true' }],
  ['whocan', { verb: 'delete', ...secrets, clusters: 'm3' }],
  ['whatcan', { user: 'jane', groups: '' }],
  ['whatcan', { user: 'mole', groups: ['moles'] }],
  ['whatcan', { user: 'system:serviceaccount:n2:robot' }],
  ['whatcan', {}],
];

/** Everything that a caller gets to see of the answers, without what is new in each answer of any server. */
async function seenBy({ token }: { readonly token: string }): Promise<readonly string[]> {
  const seen: string[] = [];
  for (const [question, query] of questions) {
    const { status, headers, body } = await site.answer(token, question, query);
    const { date: _, 'audit-id': __, ...rest } = headers;
    seen.push(`${question} ${JSON.stringify(query)}: ${status} ${JSON.stringify(rest)} ${body.toString('utf8')}`);
  }
  return seen;
}

/** Many rights for many, by all ways, where `narrow` may not look. */
async function changeSecretly(): Promise<void> {
  const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
  const paths = { verbs: ['get'], nonResourceURLs: ['/metrics', '/version/*'] };
  const becomes = [
    { verbs: ['impersonate'], apiGroups: [''], resources: ['users', 'groups', 'serviceaccounts'] },
    { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token', 'pods'] },
    { verbs: ['bind', 'escalate'], apiGroups: [rbac], resources: ['roles', 'clusterroles'] },
  ];
  const subjects = [
    user('mole'),
    { kind: 'Group', apiGroup: rbac, name: 'moles' },
    { kind: 'ServiceAccount', namespace: 'n2', name: 'robot' },
  ];
  for (const member of [m2, m3]) {
    await member.make([
      role('ClusterRole', 'secret', undefined, everything, paths),
      role('ClusterRole', 'becomes', undefined, ...becomes),
      role('Role', 'secret', 'n2', cleans),
      bound('secret', undefined, 'ClusterRole/secret', ...subjects),
      bound('becomes', undefined, 'ClusterRole/becomes', user('climber')),
      bound('secret', 'n2', 'Role/secret', ...subjects),
      ...Array.from({ length: 100 }, (_, index) => bound(`s-${index}`, 'n2', 'Role/secret', user(`mole-${index}`))),
    ]);
  }
  await m2.remove([bound('gone', 'n2', 'Role/cleaner')]);
  await site.settled();
}

const short = (rows: readonly AccessRow[]): readonly string[] =>
  rows
    .map(({ cluster, namespace = '*', subject }) => `${cluster} ${namespace} ${subject?.name ?? 'untold'}`)
    .toSorted();

describe('an answer about rights', () => {
  test('names only what the caller may read, and in which clusters something may be missing', async () => {
    const { items, incomplete } = await site.asked(narrow.token, 'whocan', {
      verb: 'delete',
      ...secrets,
      namespace: 'n1',
    });
    assert.deepEqual(
      short(items).filter((row) => row.startsWith('m2')),
      ['m2 n1 jane'],
    );
    assert.deepEqual(
      incomplete.map(({ cluster, reason }) => [cluster, reason]),
      [['m2', 'NotReadable']],
    );
    const none = await site.asked(outsider.token, 'whocan', { verb: 'delete', ...secrets, mayBecome: 'true' });
    assert.deepEqual([none.items, none.mayBecome], [[], []]);
    assert.deepEqual(
      none.incomplete.map(({ cluster, reason }) => [cluster, reason]),
      ['m1', 'm2', 'm3'].map((cluster) => [cluster, 'NotReadable']),
    );
  });

  test('about a cluster that the caller may not reach is that about a cluster that is not there', async () => {
    for (const [question, query] of questions) {
      const of = async (clusters: string): Promise<string> => {
        const { status, body } = await site.answer(narrow.token, question, { ...query, clusters });
        return `${status} ${body.toString('utf8')}`;
      };
      assert.equal(await of('m3'), await of('nowhere'), `${question} ${JSON.stringify(query)}`);
      assert.equal(await of('m1,m3'), await of('m1'), `${question} ${JSON.stringify(query)}`);
    }
  });

  test('stays the same to the byte when roles and bindings change that the caller may not read', async () => {
    const before = { root: await seenBy(root), narrow: await seenBy(narrow), outsider: await seenBy(outsider) };
    await changeSecretly();
    assert.deepEqual(await seenBy(narrow), before.narrow);
    assert.deepEqual(await seenBy(outsider), before.outsider);
    const after = await seenBy(root);
    const changed = after.filter((answer, index) => answer !== before.root[index]);
    assert.ok(changed.length >= 9, 'they change for somebody who may read them');
    // And what the caller may read does change it.
    await m2.make([bound('more', 'n1', 'Role/cleaner', user('joe'))]);
    await site.settled();
    const { items } = await site.asked(narrow.token, 'whocan', { verb: 'delete', ...secrets, namespace: 'n1' });
    assert.deepEqual(
      short(items).filter((row) => row.startsWith('m2')),
      ['m2 n1 jane', 'm2 n1 joe'],
    );
  });
});

describe('everybody may ask about themselves', () => {
  const own = async (): Promise<readonly AccessRow[]> => {
    const { items } = await site.asked(alone.token, 'whatcan', {});
    return items.filter(({ rule }) => rule.resources?.includes('secrets') === true);
  };

  test('and gets the rules, not the bindings that they come from', async () => {
    assert.deepEqual(await own(), [{ cluster: 'm2', namespace: 'n2', rule: cleans }]);
  });

  test('in the name of nobody else: asked by name, somebody is told only what the asker may read', async () => {
    for (const asker of [alone, outsider, narrow]) {
      const { items } = await site.asked(asker.token, 'whatcan', { user: 'alone', groups: '' });
      assert.deepEqual(
        items.filter(({ cluster }) => cluster === 'm2'),
        [],
        asker.name,
      );
    }
  });

  test('unless the cluster itself would not tell them', async () => {
    await m2.remove([bound('system:basic-user', undefined, 'ClusterRole/system:basic-user')]);
    await site.settled();
    assert.deepEqual(await own(), []);
  });
});
