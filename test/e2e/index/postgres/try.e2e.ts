// The command of the how-to that starts two gateways and a PostgreSQL: it serves from one index, and leaves nothing.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startControlPlane } from '../../../controlplane/fixture.ts';
import type { ControlPlane } from '../../../controlplane/fixture.ts';
import { eventually } from '../../../site/polling.ts';
import { needsPostgres } from '../../../site/postgres.fixture.ts';

const run = promisify(execFile);
const script = new URL('../../../../packaging/try-postgres.sh', import.meta.url).pathname;
let plane: ControlPlane;
before(async () => {
  if (needsPostgres.skip === false) plane = await startControlPlane({ members: ['m1'], bare: ['m1'], audit: false });
});
after(() => plane?.stop());

test(
  'one command tries an index in PostgreSQL with two gateways, and Ctrl-C leaves nothing',
  needsPostgres,
  async () => {
    const flags = ['--index-resources', 'configmaps'];
    const child = spawn(script, [plane.member('m1').adminKubeconfig, ...flags], {
      detached: true,
      env: { ...process.env },
    });
    const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
    try {
      await eventually('both serve', () => said.includes('Both answer from one index'), { timeoutMs: 120_000 });
      const kubeconfigs = [...said.matchAll(/^replica \w+: kubectl --kubeconfig (\S+)/gm)].map(([, file]) => file!);
      assert.equal(kubeconfigs.length, 2);
      const made = await plane.member('m1').request('POST', '/api/v1/namespaces/team-a/configmaps', {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'tried' },
      });
      assert.equal(made.status, 201, made.body);
      for (const kubeconfig of kubeconfigs) {
        const args = ['--kubeconfig', kubeconfig, '--context', 'portcullis-all', '-n', 'team-a', 'get', 'configmaps'];
        const list = async (): Promise<boolean> =>
          (await run(plane.binaries['kubectl']!, [...args, '-o', 'name'])).stdout.includes('configmap/tried');
        await eventually('it is in the index', list, { timeoutMs: 60_000, everyMs: 500 });
      }
      // As a terminal sends Ctrl-C: to the whole group.
      process.kill(-child.pid!, 'SIGINT');
      assert.equal(await ended, 130, said);
      assert.ok(!existsSync(dirname(kubeconfigs[0]!)), said);
      const { stdout } = await run('ps', ['-eo', 'args']);
      assert.ok(!stdout.includes(dirname(kubeconfigs[0]!)), stdout);
    } finally {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGTERM');
      await ended;
    }
  },
);
