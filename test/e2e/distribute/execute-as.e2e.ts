// Who may have a work executed as which ServiceAccount: the hub's admission policies that the chart installs, and the
// question that the gateway asks again when it executes the work.
// Landing tier: who may not execute-as an account changes no work that does.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { Member } from '../../controlplane/fixture.ts';
import {
  conditionIn,
  configMap,
  configMapPath,
  eventually,
  hasCondition,
  manifestAt,
  manifestWork,
  patch,
  read,
  startWorksSite,
  workPath,
  type Json,
  type WorksSite,
} from './works-site.ts';

const rbac = 'rbac.authorization.k8s.io';
const works = workPath('x').slice(0, -2);
const stamp = 'gateway.portcullis.io/last-modifier';
let site: WorksSite;
let hub: Member;
let m1: Member;

before(async () => {
  site = await startWorksSite({
    gateway: { args: ['--authorization-webhook-cache-authorized-ttl', '0s'] },
  });
  ({ hub } = site);
  m1 = site.members[0]!;
  for (const file of ['works-execute-as', 'works-last-modifier']) {
    const text = readFileSync(path.join(import.meta.dirname, `../../../charts/portcullis/files/${file}.yaml`), 'utf8');
    await hub.apply(...parseAllDocuments(text).map((document) => document.toJS() as object));
  }
  const account = { kind: 'ServiceAccount', name: 'sa', namespace: 'executors' };
  await m1.apply({
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'executor' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'everything' },
    subjects: [account],
  });
  for (const name of ['alice', 'bob'])
    await hub.apply(...role(`write-${name}`, ['manifestworks'], ['get', 'create', 'update', 'patch'], name));
  await allow('alice');
});

after(() => site?.stop());

function role(
  name: string,
  resources: readonly string[],
  verbs: readonly string[],
  user: string,
  names?: readonly string[],
) {
  const metadata = { name, namespace: 'm1' };
  const apiGroups = ['work.open-cluster-management.io'];
  return [
    {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups, resources, verbs, ...(names && { resourceNames: names }) }],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name },
      subjects: [{ apiGroup: rbac, kind: 'User', name: user }],
    },
  ];
}

async function allow(user: string): Promise<void> {
  await hub.apply(
    ...role(`as-${user}`, ['manifestworks'], ['execute-as'], user, ['system:serviceaccount:executors:sa']),
  );
}

const executed = {
  executor: { subject: { type: 'ServiceAccount', serviceAccount: { namespace: 'executors', name: 'sa' } } },
};
const post = async (user: 'alice' | 'bob', work: object): Promise<{ status: number; body: string }> =>
  await request(user, 'POST', works, work);

/** As a user of the hub, by its own token. */
async function request(
  user: 'alice' | 'bob',
  method: string,
  target: string,
  body: object,
): Promise<{ status: number; body: string }> {
  const { stdout, stderr, code } = await hub.kubectl(
    [
      ...['--kubeconfig', hub.users[user].kubeconfig],
      ...(method === 'POST' ? ['create'] : ['replace']),
      '--raw',
      target,
      '-f',
      '-',
    ],
    { stdin: JSON.stringify(body) },
  );
  return { status: code === 0 ? 200 : 403, body: stdout + stderr };
}

/** Replaces a work as bob, again while the executor writes it in between. */
function replace(name: string, change: (work: Json) => object): Promise<{ status: number; body: string }> {
  return eventually(`${name} is answered for`, async () => {
    const answer = await request('bob', 'PUT', workPath(name), change(await read(hub, workPath(name))));
    return /the object has been modified/.test(answer.body) ? undefined : answer;
  });
}

test('who may not execute as the account can neither make such a work nor change what one applies', async () => {
  // Policies take effect a moment after they are made.
  await eventually('the policy is in effect', async () => {
    const refused = await post('bob', manifestWork('by-bob', [configMap('by-bob')], executed));
    return /cannot manipulate the Manifestwork with executor executors\/sa in namespace m1/.test(refused.body);
  });
  const made = await post('alice', manifestWork('shared', [configMap('shared', { a: '1' })], executed));
  assert.equal(made.status, 200, made.body);
  await hasCondition(hub, workPath('shared'), 'Available', 'True');
  const refused = await replace('shared', (work) => ({
    ...work,
    spec: { ...work.spec, workload: { manifests: [configMap('shared', { a: 'bob' })] } },
  }));
  assert.match(refused.body, /cannot manipulate the Manifestwork with executor executors\/sa/);
  assert.equal((await read(m1, configMapPath('shared'))).data.a, '1');
  const own = await post('bob', manifestWork('no-executor', [configMap('no-executor')]));
  assert.equal(own.status, 200, own.body);
});

test('the hub writes down who changed a work last, and nobody can write somebody else', async () => {
  const nameIn = async (name: string): Promise<string> =>
    JSON.parse((await read(hub, workPath(name))).metadata.annotations[stamp]).user;
  await eventually('it is written down', async () => {
    const name = `stamp-${Math.random().toString(36).slice(2)}`;
    await post('alice', manifestWork(name, [configMap('stamp')], executed));
    return (await read(hub, workPath(name)))?.metadata.annotations?.[stamp] !== undefined;
  });
  const forged = { annotations: { [stamp]: JSON.stringify({ user: 'admin', groups: ['system:masters'] }) } };
  const made = await post('bob', manifestWork('forged', [configMap('forged')], {}, forged));
  assert.equal(made.status, 200, made.body);
  assert.equal(await nameIn('forged'), 'bob');
  const refused = await replace('forged', (work) => ({ ...work, metadata: { ...work.metadata, ...forged } }));
  assert.match(refused.body, /is written by the hub/);
});

test('a work is not executed any more when who changed it last has lost the right', async () => {
  await allow('bob');
  await eventually('bob may', async () => {
    const name = `lost-${Math.random().toString(36).slice(2)}`;
    return (await post('bob', manifestWork(name, [configMap('lost')], executed))).status === 200;
  });
  await post('bob', manifestWork('lost', [configMap('lost-right', { a: '1' })], executed));
  await hasCondition(hub, workPath('lost'), 'Available', 'True');
  await hub.request('DELETE', `/apis/${rbac}/v1/namespaces/m1/rolebindings/as-bob`);
  let round = 0;
  await eventually('it is refused', async () => {
    round += 1;
    await patch(hub, workPath('lost'), { metadata: { labels: { round: String(round) } } });
    const found = await read(hub, workPath('lost'));
    return conditionIn(found.status, 'Applied').status === 'False';
  });
  const refused = await read(hub, workPath('lost'));
  assert.match(
    conditionIn(manifestAt(refused, 0), 'Applied').message,
    /user bob cannot manipulate the Manifestwork with executor executors\/sa in namespace m1/,
  );
  await patch(m1, configMapPath('lost-right'), { data: { a: 'changed' } });
  await hasCondition(hub, workPath('shared'), 'Applied', 'True');
  assert.equal((await read(m1, configMapPath('lost-right'))).data.a, 'changed');
});
