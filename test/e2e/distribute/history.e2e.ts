// The command line about works, on a real hub and member: what state they are in, what executing one would change,
// which specs were executed, and the way back to one of them.
// Landing tier: the history of a work, and the way back.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { runCommand } from '../../controlplane/processes.ts';
import type { Member } from '../../controlplane/fixture.ts';
import {
  configFor,
  configMap,
  configMapPath,
  eventually,
  hasCondition,
  isGone,
  manifestWork,
  patch,
  put,
  read,
  startWorksSite,
  workPath,
  type WorksSite,
} from './works-site.ts';
import { grantedClusterRole, userSubject } from '../../site/rbac.ts';

const executable = path.join(import.meta.dirname, '../../../bin/portcullis.mjs');
let site: WorksSite;
let hub: Member;
let m1: Member;

before(async () => {
  site = await startWorksSite({ gateway: { args: ['--works-history', '3'] } });
  ({ hub } = site);
  m1 = site.members[0]!;
  // alice may change works of m1 on the hub and reach m1; in m1 she may change ConfigMaps of team-a alone.
  await hub.apply(
    ...grantedClusterRole(
      'works-editor',
      [
        {
          apiGroups: ['work.open-cluster-management.io'],
          resources: ['manifestworks'],
          verbs: ['get', 'list', 'patch'],
        },
        { apiGroups: ['gateway.portcullis.io'], resources: ['clusters/proxy'], verbs: ['*'] },
      ],
      userSubject('alice'),
    ),
  );
});

after(() => site?.stop());

async function works(user: 'alice' | 'bob' | 'carol', ...args: readonly string[]) {
  const { kubeconfig, token } = hub.users[user];
  const gateway = ['--server', site.gateway.url, '--certificate-authority', site.gateway.caFile, '--token', token];
  const all = ['works', ...args, '--kubeconfig', kubeconfig, ...(args[0] === 'diff' ? gateway : [])];
  return await runCommand(process.execPath, [executable, ...all]);
}

const inTeam = (name: string, data: Record<string, string>): object => configMap(name, data, { namespace: 'team-a' });
const secret = (password: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'key', namespace: 'ns1' },
  stringData: { password },
});

async function isExecuted(name: string): Promise<void> {
  await hasCondition(hub, workPath(name), 'Available', 'True');
  await eventually('its spec is recorded', async () => {
    const { metadata } = await read(hub, workPath(name));
    return metadata.annotations?.['gateway.portcullis.io/history']?.startsWith(`${metadata.generation}.`);
  });
}

test('the list tells the state of each work, to those who may list them', async () => {
  await put(hub, manifestWork('good', [configMap('good')]));
  await put(hub, manifestWork('bad', [configMap('bad', {}, { namespace: 'nowhere' })]));
  await hasCondition(hub, workPath('good'), 'Progressing', 'False');
  await hasCondition(hub, workPath('bad'), 'Applied', 'False');
  const { stdout, stderr, code } = await works('alice', 'list');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^CLUSTER +NAME +STATE +AGE +MESSAGE\n/);
  assert.match(stdout, /^m1 +good +Ready +\d+s *$/m);
  assert.match(stdout, /^m1 +bad +Failed +\d+s +ConfigMap\/bad: namespaces "nowhere" not found$/m);
  for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line);
  const refused = await works('bob', 'list');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /does not let you list all ManifestWorks \(403\).*\n.*--clusters/);
});

test('a work goes back to an earlier spec, and its cluster with it; a dry run changes nothing', async () => {
  for (const a of ['1', '2', '3', '4']) {
    await put(hub, manifestWork('web', [configMap('web', { a }), ...(a === '3' ? [configMap('extra')] : [])]));
    await isExecuted('web');
  }
  const { stdout } = await works('alice', 'history', 'm1/web');
  // The first one is gone, since three are kept.
  assert.match(
    stdout,
    /^REVISION +EXECUTED +MANIFESTS +CHANGE\n2 .*\n3 +\S+ ago +2 +1 added, 1 changed\n4 \* .*removed\n$/,
  );
  const dry = await works('alice', 'rollback', 'm1/web', '--to', '2', '--dry-run');
  assert.equal(dry.code, 0, dry.stderr);
  assert.match(dry.stdout, /-  a: "4"\n\+  a: "2"/);
  assert.equal((await read(hub, workPath('web'))).metadata.generation, 4);
  const done = await works('alice', 'rollback', 'm1/web');
  assert.equal(done.stdout, 'm1/web has the spec of revision 3 now, as generation 5\n', done.stderr);
  await isExecuted('web');
  assert.equal((await read(m1, configMapPath('web'))).data.a, '3');
  assert.ok(await read(m1, configMapPath('extra')));
  const back = await works('alice', 'rollback', 'm1/web', '--to', '4', '-o', 'json');
  assert.deepEqual(JSON.parse(back.stdout), {
    ...{ cluster: 'm1', name: 'web', revision: 4, generation: 6, changed: true, dryRun: false },
  });
  await isGone(m1, configMapPath('extra'));
  assert.equal((await read(m1, configMapPath('web'))).data.a, '4');
});

test('the history is the work’s own: who may not read the work does not read it, and a spec is told without Secrets', async () => {
  await put(hub, manifestWork('secret', [secret('first-password')]));
  await isExecuted('secret');
  await put(hub, manifestWork('secret', [secret('other-password')]));
  await isExecuted('secret');
  const shown = await works('alice', 'history', 'm1/secret', '--revision', '1');
  assert.match(shown.stdout, /password: "?\*\*\*/);
  const dry = await works('alice', 'rollback', 'm1/secret', '--dry-run');
  assert.match(dry.stdout, /password/);
  assert.doesNotMatch(shown.stdout + dry.stdout, /first|other/);
  for (const args of [
    ['history', 'm1/secret'],
    ['rollback', 'm1/secret'],
  ]) {
    const refused = await works('bob', ...args);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /does not let you get the ManifestWork m1\/secret \(403\)/);
  }
  assert.equal((await read(hub, workPath('secret'))).metadata.generation, 2);
});

test('a diff tells what the cluster would become, as the caller, and changes nothing there', async () => {
  const config = configFor('server', { updateStrategy: { type: 'ServerSideApply' } });
  const manifests = [
    inTeam('same', { a: '1' }),
    inTeam('drifted', { a: '1' }),
    configMap('server', { a: '1' }),
    configMap('left'),
  ];
  await put(hub, manifestWork('compared', manifests, { manifestConfigs: [config] }));
  await isExecuted('compared');
  const none = await works('carol', 'diff', 'm1/compared');
  assert.deepEqual([none.code, none.stdout], [0, ''], none.stderr);
  // Nobody executes meanwhile.
  await site.gateway.stop('SIGTERM');
  const gateway = await site.startGateway({ args: ['--works-default-executor', 'deny'] });
  const drift = { data: { a: 'theirs', b: 'theirs' } };
  await patch(m1, configMapPath('drifted', 'team-a'), drift);
  await put(
    hub,
    manifestWork('compared', [...manifests.slice(0, 2), configMap('server', { a: '2' }), configMap('new')], {
      manifestConfigs: [config],
    }),
  );
  const before = await read(m1, '/api/v1/configmaps');
  const mark = await m1.auditMark();
  const { kubeconfig } = hub.users.carol;
  const flags = ['--server', gateway.url, '--certificate-authority', gateway.caFile, '--kubeconfig', kubeconfig];
  const diff = await runCommand(process.execPath, [
    ...[executable, 'works', 'diff', 'm1/compared', ...flags, '--token', hub.users.carol.token],
  ]);
  assert.equal(diff.code, 0, diff.stderr);
  assert.match(diff.stdout, /live\/configmap\/team-a\/drifted[^]*-  a: theirs\n-  b: theirs\n\+  a: "1"/);
  assert.match(diff.stdout, /configmap\/ns1\/server[^]*-  a: "1"\n\+  a: "2"/);
  assert.match(diff.stdout, /applied\/configmap\/ns1\/new/);
  assert.doesNotMatch(diff.stdout, /team-a\/same/);
  assert.deepEqual((await read(m1, '/api/v1/configmaps')).items, before.items, 'nothing was changed');
  const writes = (await m1.audit(mark)).filter(
    ({ verb, userAgent }) => userAgent === 'portcullis-cli' && ['create', 'update', 'patch'].includes(verb),
  );
  assert.ok(writes.length >= 3);
  for (const { requestURI, impersonatedUser } of writes) {
    assert.match(requestURI, /dryRun=All/);
    assert.equal(impersonatedUser?.username, 'carol');
  }
  const partly = await runCommand(process.execPath, [
    ...[executable, 'works', 'diff', 'm1/compared', ...flags.slice(0, 4)],
    ...['--kubeconfig', hub.users.alice.kubeconfig, '--token', hub.users.alice.token],
  ]);
  assert.equal(partly.code, 1);
  assert.match(partly.stderr, /m1: configmap\/ns1\/new: .*cannot create.*\(403\)/);
  assert.match(partly.stderr, /does not say what would change/);
});
