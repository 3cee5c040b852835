// A gateway that executes works and whose Lease cannot be used, because the namespace of the Lease is missing: the
// works that wait say so, `works list` and /readyz, too, and they are executed once the namespace is there.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { runCommand } from '../../controlplane/processes.ts';
import { gatewaySubject } from '../../hub/objects.ts';
import {
  configMap,
  configMapPath,
  eventually,
  hasCondition,
  manifestWork,
  put,
  read,
  startWorksSite,
} from './works-site.ts';
import { workPath, type WorksSite } from './works-site.ts';
import { grantedClusterRole } from '../../site/rbac.ts';

const executable = path.join(import.meta.dirname, '../../../bin/portcullis.mjs');
let site: WorksSite;

before(async () => {
  site = await startWorksSite({
    members: ['m1', 'm2'],
    unchosen: ['m2'],
    lease: 'absent/works',
    gateway: { env: { PORTCULLIS_TEST_TIME_SCALE: '0.1' } },
  });
  const rules = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] }];
  await site.hub.apply(...grantedClusterRole('leases', rules, gatewaySubject));
});
after(() => site?.stop());

test('a work says that the Lease cannot be used, and is executed once it can', async () => {
  const { hub, members, gateway } = site;
  const work = manifestWork('waits', [configMap('waited', { a: 'b' })]);
  await put(hub, work);
  await put(hub, manifestWork('of-an-agent', [configMap('waited', { a: 'b' })], {}, { namespace: 'm2' }));
  const reported = await eventually('the condition', async () => {
    const { status } = await read(hub, workPath('waits'));
    return status?.conditions?.[0];
  });
  assert.deepEqual([reported.type, reported.status, reported.reason], ['Applied', 'False', 'LeaseUnavailable']);
  assert.match(
    reported.message,
    /^no gateway does anything about this, because the Lease absent\/works cannot be used: .*"absent"/,
  );
  assert.equal((await read(hub, workPath('of-an-agent', 'm2'))).status, undefined, 'it is the agent’s');
  const { kubeconfig } = hub.users.carol;
  const listed = await runCommand(process.execPath, [
    executable,
    'works',
    'list',
    '-o',
    'wide',
    '--kubeconfig',
    kubeconfig,
  ]);
  assert.match(listed.stdout, /m1\s+waits\s+.*the Lease absent\/works cannot be used/, listed.stderr);
  const ready = await fetch(`${gateway.opsUrl}/readyz?verbose`);
  assert.match(await ready.text(), /leases.*works: the Lease absent\/works cannot be used/);

  await hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'absent' } });
  await hasCondition(hub, workPath('waits'), 'Applied', 'True');
  assert.deepEqual((await read(members[0]!, configMapPath('waited'))).data, { a: 'b' });
});
