// What answers about rights may lack is told: another authorizer, RBAC that was confirmed too long ago, groups that
// nobody named. And those who could come to a right are told with a way that works in the real cluster; kubectl finds
// the command as its plugin.
import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { request } from 'node:https';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runCommand } from '../../controlplane/processes.ts';
import { eventually } from '../../site/polling.ts';
import type { RightsMember } from '../index/index-rights-member.ts';
import { startWebhookAuthorizer } from '../index/webhook-authorizer.ts';
import type { WebhookAuthorizer } from '../index/webhook-authorizer.ts';
import { rightsLabel } from '../../../rights/modes.ts';
import { ask } from '../kubectl/kubectl-as.ts';
import { bound, rbac, role, root, startAccessSite, user } from './access-site.ts';
import type { AccessRow, AccessSite } from './access-site.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

/** Members that are well confirm their RBAC about once a minute (bookmarks). */
const maxAgeSeconds = 100;
const maker = { name: 'maker', groups: [], token: 'maker-at-the-gateway' };
const deletesSecrets = { verb: 'delete', group: '', resource: 'secrets', namespace: 'n1' };
const robot = { kind: 'ServiceAccount', namespace: 'n1', name: 'robot' };
const rule = (verb: string, group: string, ...resources: readonly string[]): object => ({
  ...{ verbs: [verb], apiGroups: [group], resources },
});

const folder = tempDir('access');
let webhook: WebhookAuthorizer;
let site: AccessSite;
let m1: RightsMember;

before(async () => {
  webhook = await startWebhookAuthorizer(folder, ({ user: name }) => name === 'wanda');
  site = await startAccessSite({
    members: ['m1', 'm2'],
    users: 0,
    seed: 1,
    gateway: { users: [maker], args: ['--index-rights-max-age', `${maxAgeSeconds}s`] },
    apiserverArgs: webhook.apiserverArgs,
    byRbac: ['m2'],
  });
  [m1] = site.members as [RightsMember];
  await m1.make([
    role('Role', 'cleaner', 'n1', rule('delete', '', 'secrets')),
    bound('cleaner', 'n1', 'Role/cleaner', robot, user('jane')),
    ...(
      [
        ['impersonator', rule('impersonate', '', 'users')],
        ['maker', rule('create', '', 'serviceaccounts/token')],
        ['runner', rule('create', 'batch', 'jobs')],
        ['binder', rule('bind', rbac, 'clusterroles')],
        ['climber', rule('escalate', rbac, 'roles')],
      ] as const
    ).flatMap(([name, each]) => [
      role('ClusterRole', name, undefined, each),
      bound(name, 'n1', `ClusterRole/${name}`, user(name)),
      bound(name, 'n2', `ClusterRole/${name}`, user('elsewhere')),
    ]),
    bound('impersonator', undefined, 'ClusterRole/impersonator', user('impersonator')),
  ]);
  await site.settled();
});

after(async () => {
  await site?.stop();
  webhook?.close();
});

describe('an answer about rights tells', () => {
  test('that a cluster has authorizers beside RBAC, and what its RBAC says all the same', async () => {
    const { items, incomplete } = await eventually('the other authorizer is noticed', async () => {
      const answer = await site.asked(root.token, 'whocan', { ...deletesSecrets, clusters: 'm1' });
      return answer.incomplete.length > 0 && answer;
    });
    assert.deepEqual(
      incomplete.map(({ cluster, reason }) => [cluster, reason]),
      [['m1', 'OtherAuthorizers']],
    );
    const names = items.filter(({ via }) => via?.binding.name === 'cleaner').map(({ subject }) => subject?.name);
    assert.deepEqual(names.toSorted(), ['jane', 'robot']);
  });

  test('of the clusters alone whose labels a selector matches', async () => {
    const clustersOf = async (clusterSelector: string): Promise<readonly string[]> => {
      const { items } = await site.asked(root.token, 'whocan', { ...deletesSecrets, clusterSelector });
      return [...new Set(items.map(({ cluster }) => cluster))].toSorted();
    };
    assert.deepEqual(await clustersOf(''), ['m1', 'm2']);
    assert.deepEqual(await clustersOf(`${rightsLabel}=rbac`), ['m2']);
    assert.deepEqual(await clustersOf(`!${rightsLabel}`), ['m1']);
    assert.deepEqual(await clustersOf(`${rightsLabel} notin (rbac),${rightsLabel}`), []);
    const { status } = await site.answer(root.token, 'whocan', { ...deletesSecrets, clusterSelector: 'a b' });
    assert.equal(status, 400);
  });

  test('that groups of a user were not given; of a ServiceAccount they are known', async () => {
    const reasons = async (query: Readonly<Record<string, string>>): Promise<readonly string[]> => {
      const { incomplete } = await site.asked(root.token, 'whatcan', { ...query, clusters: 'none' });
      return incomplete.map(({ reason }) => reason);
    };
    assert.deepEqual(await reasons({ user: 'jane' }), ['GroupsUnknown']);
    assert.deepEqual(await reasons({ user: 'jane', groups: 'team' }), []);
    assert.deepEqual(await reasons({ user: 'jane', groups: '' }), []);
    assert.deepEqual(await reasons({ user: 'system:serviceaccount:n1:robot' }), []);
    assert.deepEqual(await reasons({}), []);
  });

  test('who could come to the right, by which way, and the way works', async () => {
    const { mayBecome = [] } = await site.asked(root.token, 'whocan', { ...deletesSecrets, mayBecome: 'true' });
    const ours = mayBecome.filter(({ cluster, namespace, subject }) => {
      const isOfKubernetes = /^(?:system:|portcullis:|.*-controller$)/.test(subject?.name ?? '');
      return cluster === 'm1' && namespace !== undefined && !isOfKubernetes;
    });
    assert.deepEqual(ours.map(({ subject, way, namespace }) => `${subject?.name} ${way} ${namespace}`).toSorted(), [
      'binder Bind n1',
      'climber Escalate n1',
      'maker CreateToken n1',
      'runner CreatePod n1',
    ]);
    const all = mayBecome.filter(({ cluster, subject }) => cluster === 'm1' && subject?.name === 'impersonator');
    assert.deepEqual(
      all.map(({ way, becomes }) => [way, becomes.some(({ name }) => name === 'jane')]),
      [['Impersonate', true]],
    );

    const member = site.plane.member('m1');
    await member.apply(
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace: 'n1' } },
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'db', namespace: 'n1' } },
    );
    const secret = '/clusters/m1/proxy/api/v1/namespaces/n1/secrets/db';
    assert.equal((await ask(site.gateway, maker.token, 'DELETE', secret)).status, 403);
    const made = await ask(
      ...([site.gateway, maker.token, 'POST'] as const),
      '/clusters/m1/proxy/api/v1/namespaces/n1/serviceaccounts/robot/token',
      JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }),
    );
    const { status } = JSON.parse(made.body.toString('utf8')) as { readonly status: { readonly token: string } };
    const answer = await fetchAs(member, status.token, 'DELETE', '/api/v1/namespaces/n1/secrets/db');
    assert.equal(answer, 200);
  });

  test('the same through kubectl, as its plugin', async () => {
    const bin = join(import.meta.dirname, '../../../bin/portcullis.mjs');
    symlinkSync(bin, join(folder, 'kubectl-portcullis'));
    const { gateway } = site;
    const run = async (...args: readonly string[]) =>
      await runCommand(
        site.plane.binaries['kubectl']!,
        [
          ...['portcullis', ...args, '--clusters', 'm1'],
          ...['--server', gateway.url, '--certificate-authority', gateway.caFile, '--token', root.token],
        ],
        { env: { PATH: [folder, dirname(process.execPath), process.env['PATH']].join(delimiter), HOME: folder } },
      );
    const table = await run('who-can', 'delete', 'secrets', '-n', 'n1', '--may-become');
    assert.equal(table.code, 0, table.stderr);
    assert.match(table.stdout, /^CLUSTER +SUBJECT +NAMESPACE +BINDING +ROLE\n/);
    assert.match(table.stdout, /^m1 +User\/jane +n1 +RoleBinding\/cleaner +Role\/cleaner$/m);
    assert.match(table.stdout, /^m1 +ServiceAccount\/n1\/robot +n1 +RoleBinding\/cleaner +Role\/cleaner$/m);
    assert.match(table.stdout, /^m1 +User\/maker +n1 +CreateToken +ServiceAccount\/n1\/robot +RoleBinding\/maker$/m);
    assert.match(table.stderr, /Members of the group system:masters may do everything/);
    assert.match(table.stderr, /Incomplete: m1: it has authorizers beside RBAC/);
    const json = await run('what-can', 'system:serviceaccount:n1:robot', '-o', 'json');
    const { items } = JSON.parse(json.stdout) as { readonly items: readonly { readonly rule: object }[] };
    assert.ok(items.some((row) => JSON.stringify(row.rule) === JSON.stringify(rule('delete', '', 'secrets'))));
  });

  test('that RBAC was confirmed too long ago to be used, once a cluster is away', async () => {
    await site.plane.member('m2').kill();
    const items = await itemsOnceGap('m2', 'RightsStale');
    assert.ok(items.some(({ cluster }) => cluster === 'm1'));
  });

  test('that a cluster with other authorizers cannot be asked what the caller may read', async () => {
    await site.plane.member('m1').kill();
    assert.deepEqual(await itemsOnceGap('m1', 'RightsUnknown'), []);
  });
});

/** The rows of an answer that has this, and only this, to say of what is missing of a cluster. None is of it. */
async function itemsOnceGap(cluster: string, reason: string): Promise<readonly AccessRow[]> {
  const { items, incomplete } = await eventually(
    `${cluster} is ${reason}`,
    async () => {
      const answer = await site.asked(root.token, 'whocan', { verb: 'list', group: '', resource: 'pods' });
      return answer.incomplete.some((gap) => gap.cluster === cluster && gap.reason === reason) && answer;
    },
    { timeoutMs: (maxAgeSeconds + 60) * 1000, everyMs: 500 },
  );
  assert.equal(incomplete.filter((gap) => gap.cluster === cluster).length, 1);
  assert.ok(items.every((row) => row.cluster !== cluster));
  return items;
}

/** The status of a request to the member itself with this token. */
async function fetchAs(
  member: { readonly url: string; readonly caPem: string },
  token: string,
  method: string,
  path: string,
): Promise<number> {
  return await new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    request(member.url + path, { method, ca: member.caPem, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .once('error', reject)
      .end();
  });
}
